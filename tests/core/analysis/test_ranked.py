"""Ranked counts: what moved with a change is named, grouped and in order; nothing else is."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest

from benchlab.analysis.cause.ranked import Ranked, ranked
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.engines.counts import Count
from benchlab.plan.report_type import SIDES
from tools.study import causes

SHAPE = (6, 2, 2)
Change = tuple[float, float]
"""A count's noise and by how much the candidate has more, as logarithms."""


def noise(seed: int) -> np.ndarray:
    """Of every trial, with a standard deviation of 1."""
    return np.random.default_rng(seed).normal(size=SHAPE)


def campaign(**values: np.ndarray) -> Rounds:
    """A workload with these counts; those that begin with ``load`` depend on the load."""
    return Rounds(
        "oltp_insert",
        tuple(Count(name, "tidb", (), of_load=name.startswith("load")).metric() for name in values),
        range(1, SHAPE[0] + 1),
        (4, 8),
        SIDES,
        values,
    )


def count(sd: float, change: float, seed: int, base: float = 100.0) -> np.ndarray:
    """A count's values."""
    logs = sd * noise(seed)
    logs[..., 1] += change
    return base * np.exp(logs)


def quiet(number: int = 20) -> Mapping[str, np.ndarray]:
    """Counts that do not change, each with its own noise of 0.5 %."""
    return {f"quiet{seed}": count(0.005, 0.0, 1000 + seed) for seed in range(number)}


def names(found: Ranked) -> list[list[str]]:
    """The counts of the clusters."""
    return [[one.metric.name for one in (each.leading, *each.others)] for each in found.clusters]


def test_what_moved_is_ranked_by_the_least_that_its_interval_allows() -> None:
    """A large change that is certain comes before a small one, and what did not move is left out.

    A still larger estimate that may be chance is left out.
    """
    moved = {
        "small": count(0.001, 0.02, 1),
        "large": count(0.005, 0.3, 2),
        "vague": count(0.15, 0.35, 3),
    }
    found = ranked(campaign(**quiet(), **moved))
    assert names(found) == [["large"], ["small"]]
    assert found.counts == 23
    assert not any(name.startswith("quiet") for own in names(found) for name in own)


def test_what_appeared_or_vanished_is_first() -> None:
    """It has no ratio, and is no smaller change for that."""
    ones = np.ones(SHAPE)
    appeared, vanished = ones * [0, 3.0], ones * [2.0, 0]
    found = ranked(campaign(**quiet(), large=count(0.005, 0.7, 2), a=appeared, v=vanished))
    assert names(found) == [["a"], ["v"], ["large"]]
    first, second, _ = (cluster.leading for cluster in found.clusters)
    assert (first.pct, first.change, first.after) == (None, math.inf, 3.0)
    assert (second.pct, second.change, second.before) == (None, -math.inf, 2.0)


def test_a_trace_of_what_reads_the_counters_is_none() -> None:
    """One scan in ten thousand queries against one in each is no change of a million per cent."""
    scans = np.ones(SHAPE) * [1e-4, 1.0] * (1 + 0.1 * noise(1) * [1.0, 0.0])
    (cluster,) = ranked(campaign(**quiet(), scans=scans)).clusters
    assert (cluster.leading.before, cluster.leading.pct) == (0.0, None)


def test_counts_that_do_not_vary_are_compared_exactly() -> None:
    """Twice the rows have moved; 0.5 % more have not, however alike all trials are."""
    rows, hardly = np.ones(SHAPE) * [10.0, 20.0], np.ones(SHAPE) * [10.0, 10.05]
    found = ranked(campaign(**quiet(), rows=rows, hardly=hardly, same=np.ones(SHAPE)))
    assert names(found) == [["rows"]]
    assert found.clusters[0].leading.pct == pytest.approx(100)
    assert found.counts == 23


def test_counts_that_go_together_are_one_line() -> None:
    """Pages and bytes of the same reads are no two findings; each keeps its own change."""
    both = 0.01 * noise(1)
    both[..., 1] += 0.2
    twice = {"pages": 10 * np.exp(both), "bytes": 16384 * np.exp(1.01 * both)}
    found = ranked(campaign(**quiet(), **twice))
    (cluster,) = found.clusters
    assert sorted(names(found)[0]) == ["bytes", "pages"]
    assert found.moved == 2
    assert cluster.others[0].pct == pytest.approx(22, abs=2)


def test_what_depends_on_the_load_is_last_and_by_itself() -> None:
    """CPU halves because the throughput doubles: that is no cause, however clear it is."""
    both = 0.001 * noise(1)
    both[..., 1] += 0.5
    found = ranked(campaign(**quiet(), load_cpu=np.exp(both), rows=count(0.005, 0.05, 2)))
    assert names(found) == [["rows"], ["load_cpu"]]


def test_what_is_missing_is_not_compared() -> None:
    """A count of two complete rounds is neither moved nor among those that could have."""
    few = count(0.001, 0.5, 1)
    few[2:, :, 0] = np.nan
    found = ranked(campaign(**quiet(), few=few))
    assert (found.counts, names(found)) == (20, [])
    assert ranked(campaign(few=few)) == Ranked(0, ())


def test_a_sporadic_zero_leaves_its_round_out() -> None:
    """A trial without a lock wait has no ratio; the others still show the change."""
    waits = count(0.01, 0.4, 1)
    waits[0, 0, 0] = 0.0
    assert names(ranked(campaign(**quiet(), waits=waits))) == [["waits"]]


@pytest.mark.parametrize("world", causes.WORLDS[:3], ids=lambda world: world.name)
def test_equal_sides_have_nothing_to_name_and_a_planted_cause_is_among_the_first(
    world: causes.World,
) -> None:
    """With limits that chance exceeds in one of some hundred runs; the study has the figures."""
    found = causes.count(world, 20)
    assert found.any_moved <= 4
    assert found.found >= 15
