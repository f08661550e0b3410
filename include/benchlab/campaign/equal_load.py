"""The rate at which a workload at equal load is sent, the same in all its trials."""

from __future__ import annotations

from collections.abc import Sequence

from benchlab.errors import TargetError
from benchlab.plan.open_loop import rate_of, saturated
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.results.records import TrialResult


def rate(plan: Plan, planned: PlannedTrial, results: Sequence[TrialResult]) -> int | None:
    """How many transactions a second a trial is sent; None: as many as are answered.

    A share is of the slower side's highest throughput in the first round in which it has one. Once
    a trial was measured at a rate, the workload keeps it.

    Raises:
        TargetError: a side has no throughput yet.

    Example:
        With 1,000 and 800 transactions a second, ``tpcc_at_60pct`` is sent 480.
    """
    if (wanted := rate_of(planned.workload)) is None:
        return None
    if wanted.per_s:
        return wanted.per_s
    for result in results:
        if result.trial.workload == planned.workload and (known := result.value("rate")):
            return int(known)
    return wanted.of(min(_highest(plan, planned, results, side) for side in plan.sides))


def _highest(plan: Plan, planned: PlannedTrial, results: Sequence[TrialResult], side: str) -> float:
    """A side's highest throughput a second: of its first valid round, or else of its first."""
    workload, metric = saturated(planned.workload), plan.throughput
    per_s = 60 if metric.unit == "1/min" else 1
    found = [
        (not result.valid, result.trial.round, -value / per_s)
        for result in results
        if (result.trial.workload, result.trial.side) == (workload, side)
        and (value := result.value(metric.name))
    ]
    if not found:
        raise TargetError(
            f"rate: no trial of {workload} on the {side} has a throughput yet, of which a share "
            "could be sent; its trials say why"
        )
    return -min(found)[2]
