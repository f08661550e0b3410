"""The decision rule: no change is claimed without evidence, none that is there is overlooked."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from benchlab.analysis.verdict.compare import WorkloadComparison, compare
from benchlab.analysis.verdict.variances import holm
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.records import TrialResult
from tests.builders import campaigns, plans
from tests.builders.comparisons import INDEX, POINT, THRESHOLD, measured, one, tps

MIRROR = {"regression": "improvement", "improvement": "regression"}


def log(percent: float) -> float:
    """A change in percent as the logarithm of a ratio."""
    return math.log1p(percent / 100)


def mapped(
    results: Sequence[TrialResult], figure: Callable[[TrialResult], float]
) -> list[TrialResult]:
    """The same results with other throughputs."""
    return [campaigns.trial_result(r.trial, attempt=r.attempt, tps=figure(r)) for r in results]


def log_ratios(plan: Plan, results: Sequence[TrialResult], workload: str) -> list[float]:
    """The d_r of the decision rule, written down once more and differently."""
    by_side = {
        side: {
            (r.trial.round, r.trial.threads): tps(r)
            for r in results
            if (r.trial.side, r.trial.workload) == (side, workload)
        }
        for side in SIDES
    }
    threads = {t.threads for t in plan.trials}
    return [
        sum(
            math.log(by_side["candidate"][n, count]) - math.log(by_side["baseline"][n, count])
            for count in threads
        )
        / len(threads)
        for n in range(1, plan.rounds + 1)
    ]


def outcome_of(percents: Sequence[float], threshold: float = THRESHOLD) -> WorkloadComparison:
    """The outcome of one workload whose rounds changed by these percentages."""
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=len(percents))

    def figure(trial: PlannedTrial) -> float:
        return 1000 * (1 + percents[trial.round - 1] / 100 if trial.side == "candidate" else 1)

    return one(compare(plan, campaigns.results_of(plan, tps=figure), threshold))


def test_workloads_and_thread_counts_are_in_the_order_of_the_report_type() -> None:
    """Whatever order was drawn for the trials: tables and curves are read by people."""
    fields: dict[str, Any] = {"workloads": [INDEX, POINT], "threads": [2, 8, 4]}
    for seed in range(5):
        plan = plans.plan(seed=seed, **fields)
        found = compare(plan, campaigns.results_of(plan), THRESHOLD).workloads
        assert [workload.name for workload in found] == fields["workloads"]
        for workload in found:
            assert [cell.threads for cell in workload.cells] == fields["threads"]


# ---------------------------------------------------------------- numbers


@settings(max_examples=40)
@given(measured())
def test_the_estimate_is_the_mean_of_the_log_ratios(case: tuple[Plan, list[TrialResult]]) -> None:
    """As written down once more and differently."""
    plan, results = case
    assume(plan.rounds >= 2)
    for workload in compare(plan, results, THRESHOLD).workloads:
        assert workload.estimate_pct is not None
        d = log_ratios(plan, results, workload.name)
        assert log(workload.estimate_pct) == pytest.approx(statistics.fmean(d), abs=1e-9)


@given(st.dictionaries(st.text(), st.floats(0, 1), max_size=8))
def test_holm_never_makes_a_p_value_smaller(p_values: dict[str, float]) -> None:
    """Adjusted values are at least the raw ones, at most 1, and keep their order."""
    adjusted = holm(p_values)
    assert adjusted.keys() == p_values.keys()
    for name, p in p_values.items():
        assert p <= adjusted[name] <= 1
        assert adjusted[name] <= min(1.0, p * len(p_values)) or len(p_values) > 1
    order = sorted(p_values, key=lambda name: p_values[name])
    values = [adjusted[name] for name in order]
    assert values == sorted(values)


def test_holm_on_a_known_example() -> None:
    """The example of R's p.adjust: 0.01, 0.04, 0.03, 0.005 become 0.03, 0.06, 0.06, 0.02."""
    adjusted = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert adjusted == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})


def test_the_arithmetic_mean_is_that_of_the_printed_percentages() -> None:
    """+10 % at one thread count and -4 % at the other are +3 %, as published reports average."""
    plan = plans.plan(workloads=[POINT], threads=[4, 8], rounds=2)
    changes = {4: 1.10, 8: 0.96}
    results = campaigns.results_of(
        plan, tps=lambda t: 500 * (changes[t.threads] if t.side == "candidate" else 1)
    )
    outcome = one(compare(plan, results, THRESHOLD))
    assert outcome.arithmetic_mean_pct == pytest.approx(3.0)
    assert outcome.estimate_pct == pytest.approx(100 * (math.sqrt(1.10 * 0.96) - 1))
    assert [c.improvement_pct for c in outcome.cells] == pytest.approx([10.0, -4.0])


# ---------------------------------------------------------------- invariances


@settings(max_examples=40)
@given(measured(), st.floats(0.01, 100))
def test_a_machine_twice_as_fast_changes_nothing(
    case: tuple[Plan, list[TrialResult]], factor: float
) -> None:
    """Scaling both sides alike leaves estimates, intervals and verdicts as they are."""
    plan, results = case
    before = compare(plan, results, THRESHOLD)
    after = compare(plan, mapped(results, lambda r: tps(r) * factor), THRESHOLD)
    for a, b in zip(before.workloads, after.workloads, strict=True):
        assert a.estimate_pct == pytest.approx(b.estimate_pct, abs=1e-6)
        assert (a.ci95_pct is None) == (b.ci95_pct is None)
        if clear_cut(a):
            assert a.verdict == b.verdict


@settings(max_examples=40)
@given(measured(spread=0.05))
def test_swapping_the_sides_mirrors_the_verdict(case: tuple[Plan, list[TrialResult]]) -> None:
    """What is a regression one way is an improvement the other way, by the same distance."""
    plan, results = case
    figures_of = {
        (r.trial.round, r.trial.workload, r.trial.threads, r.trial.side): tps(r) for r in results
    }

    def of_other_side(result: TrialResult) -> float:
        trial = result.trial
        other: Side = "baseline" if trial.side == "candidate" else "candidate"
        return figures_of[trial.round, trial.workload, trial.threads, other]

    there = compare(plan, results, THRESHOLD)
    back = compare(plan, mapped(results, of_other_side), THRESHOLD)
    for a, b in zip(there.workloads, back.workloads, strict=True):
        assert a.estimate_pct is not None
        assert b.estimate_pct is not None
        assert log(a.estimate_pct) == pytest.approx(-log(b.estimate_pct), abs=1e-9)
        if clear_cut(a) and clear_cut(b):
            assert b.verdict == MIRROR.get(a.verdict, a.verdict)


def clear_cut(outcome: WorkloadComparison) -> bool:
    """Not so near a bound that rounding, or -2 % being more than +2 % back, could decide."""
    if outcome.ci95_pct is None or outcome.p_adjusted is None or outcome.estimate_pct is None:
        return True
    middle, half = log(outcome.estimate_pct), log(outcome.ci95_pct[1]) - log(outcome.estimate_pct)
    if half < 1e-6:  # all rounds alike: p is 0 or 1 by rounding
        return False
    degrees = outcome.rounds_used - 1
    half90 = half * float(stats.t.ppf(0.95, degrees) / stats.t.ppf(0.975, degrees))
    bounds = [log(-THRESHOLD), log(THRESHOLD), -log(-THRESHOLD), -log(THRESHOLD)]
    distances = [
        abs(value - bound)
        for value in (middle, middle - half90, middle + half90)
        for bound in bounds
    ]
    return min(distances) > 1e-3 and abs(outcome.p_adjusted - 0.05) > 1e-6


@settings(max_examples=40)
@given(measured(), st.randoms(use_true_random=False))
def test_the_order_of_results_does_not_matter(
    case: tuple[Plan, list[TrialResult]], chance: object
) -> None:
    """A store may give its rows in any order."""
    plan, results = case
    shuffled = list(results)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert compare(plan, shuffled, THRESHOLD) == compare(plan, results, THRESHOLD)


# ---------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("percents", "verdict"),
    [
        ([-10, -11, -12, -10], "regression"),
        ([10, 11, 12, 10], "improvement"),
        ([-2.5, -2.6, -2.4, -2.5], "inconclusive"),
        ([-1.5, -1.6, -1.4, -1.5], "inconclusive"),
        ([0, 0.1, -0.1, 0], "inconclusive"),
        ([0, 0, 0], "inconclusive"),
        ([-5, -5, -5], "regression"),  # all rounds exactly alike
        ([-10, 10, -12, 9], "inconclusive"),
        ([-20, 3, -9, 1], "inconclusive"),  # a large estimate alone is no regression
        ([-30], "inconclusive"),
        ([30], "inconclusive"),
        ([0], "inconclusive"),
    ],
)
def test_verdicts(percents: list[float], verdict: str) -> None:
    """Each verdict at its plainest."""
    assert outcome_of(percents).verdict == verdict


@pytest.mark.parametrize("percents", [[-90], [-90, -90.1]])
def test_too_few_rounds_are_inconclusive_and_say_why(percents: list[float]) -> None:
    """Two that agree may do so by chance, however large the change is."""
    outcome = outcome_of(percents)
    assert outcome.verdict == "inconclusive"
    assert outcome.p_adjusted is None
    assert outcome.ci95_pct is None
    assert any("at least three" in str(reason) for reason in outcome.reasons)


def test_the_threshold_is_the_report_types() -> None:
    """A change of 4.2 % is a regression at 2 %, and none at 8 %."""
    percents = [-4.2, -4.3, -4.1, -4.2]
    assert outcome_of(percents, threshold=2).verdict == "regression"
    assert outcome_of(percents, threshold=8).verdict == "equivalent"


def test_many_workloads_make_it_harder_to_claim_a_change() -> None:
    """A p value of 0.03 counts alone, and not as one of five workloads."""
    swings = {1: -0.045, 2: -0.035, 3: -0.055, 4: -0.030}

    def figure(trial: PlannedTrial) -> float:
        if trial.workload == POINT:
            return 1000 * (1 + (swings[trial.round] if trial.side == "candidate" else 0))
        # The others scatter without a direction.
        return 1000 * (1 + (0.02 if (trial.round + (trial.side == "candidate")) % 2 else 0))

    alone = plans.plan(workloads=[POINT], threads=[4], rounds=4)
    among = plans.plan(
        workloads=[POINT, INDEX, "oltp_read_write", "oltp_insert", "oltp_update_non_index"],
        threads=[4],
        rounds=4,
    )
    single = one(compare(alone, campaigns.results_of(alone, figure), THRESHOLD))
    one_of_five = one(compare(among, campaigns.results_of(among, figure), THRESHOLD))
    assert single.p_adjusted is not None
    assert 0.01 < single.p_adjusted < 0.05
    assert single.verdict == "regression"
    assert one_of_five.p_adjusted is not None
    assert one_of_five.p_adjusted > 3 * single.p_adjusted
    assert one_of_five.verdict == "inconclusive"
