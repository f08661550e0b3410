"""The rate of a workload at equal load: of the slower side, and the same in all its trials."""

from __future__ import annotations

import pytest

from benchlab.campaign.equal_load import rate
from benchlab.errors import TargetError
from benchlab.plan.order import PlannedTrial
from benchlab.results.records import TrialResult
from tests.builders import plans
from tests.builders.campaigns import trial_result

READ = "oltp_point_select"
PLAN = plans.plan(plans.spec(workloads=[READ], rate="50 %"))
AT_RATE = [trial for trial in PLAN.trials if trial.workload != READ]


def measured(**tps: float) -> list[TrialResult]:
    """The first round without a rate, by side and threads: ``baseline_4=1000``."""
    return [
        trial_result(trial, tps=tps[name])
        for trial in PLAN.trials
        if trial.round == 1
        and trial.workload == READ
        and (name := f"{trial.side}_{trial.threads}") in tps
    ]


def of(number: int) -> PlannedTrial:
    """The first trial at a rate in a round."""
    return next(trial for trial in AT_RATE if trial.round == number)


WHOLE = measured(baseline_4=900, baseline_8=1000, candidate_4=800, candidate_8=600)


def test_a_share_is_of_the_slower_sides_best() -> None:
    """Of the thread counts, the one at which it did most."""
    assert rate(PLAN, of(1), WHOLE) == 400


def test_a_rate_that_was_used_stays() -> None:
    """Whatever is measured again later, all trials of a workload have one rate."""
    before = trial_result(of(1), rate=333.0)
    assert rate(PLAN, of(2), [*WHOLE, before]) == 333


def test_invalid_trials_count_only_where_a_side_has_no_other() -> None:
    """A trial that met an error may still say how fast the side is."""
    fast = trial_result(
        next(t for t in PLAN.trials if t.side == "candidate" and t.workload == READ),
        tps=100.0,
        reasons=["lost"],
    )
    assert rate(PLAN, of(1), [*WHOLE, fast]) == 400
    alone = [one for one in WHOLE if one.trial.side == "baseline"]
    assert rate(PLAN, of(1), [*alone, fast]) == 50


def test_without_a_throughput_there_is_no_rate() -> None:
    """It says which side, and of which workload."""
    with pytest.raises(TargetError, match=f"rate: no trial of {READ} on the candidate"):
        rate(PLAN, of(1), measured(baseline_4=900))


def test_other_trials_have_none_and_a_number_is_one() -> None:
    """A number depends on nobody."""
    assert rate(PLAN, PLAN.trials[0], []) is None
    plan = plans.plan(plans.spec(workloads=[READ], rate=70))
    at_rate = next(trial for trial in plan.trials if trial.workload != READ)
    assert rate(plan, at_rate, []) == 70
