"""Campaigns that were measured, drawn at random, and their comparisons."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison
from benchlab.plan.plan import Plan
from benchlab.results.records import TrialResult
from tests.builders import campaigns, plans

POINT, INDEX = "oltp_point_select", "oltp_update_index"
THRESHOLD = 2.0


@st.composite
def measured(draw: st.DrawFn, spread: float = 0.5) -> tuple[Plan, list[TrialResult]]:
    """A plan and one valid result of each of its trials, scattered by at most ``spread``."""
    plan = plans.plan(
        rounds=draw(st.integers(1, 4)),
        threads=draw(st.sampled_from([[4], [4, 300]])),
    )
    size = len(plan.trials)
    swing = st.floats(-spread, spread)
    swings = draw(st.lists(swing, min_size=size, max_size=size))
    base = draw(st.floats(1, 1e5))
    return plan, campaigns.results_of(plan, tps=lambda t: base * math.exp(swings[t.index]))


def tps(result: TrialResult) -> float:
    """A result's throughput."""
    value = result.value("tps")
    assert value is not None
    return value


def one(comparison: Comparison, workload: str = POINT) -> WorkloadComparison:
    """One workload's outcome."""
    return next(w for w in comparison.workloads if w.name == workload)
