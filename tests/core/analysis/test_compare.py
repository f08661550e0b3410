"""The decision rule: no change is claimed without evidence, none that is there is overlooked."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Sequence

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import stats

from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison, compare
from benchlab.analysis.verdict.paired import holm
from benchlab.analysis.verdict.usable_trials import invalid_pairs, usable_trials
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES
from benchlab.results.records import Condition, TrialResult, inconsistencies
from tests.builders import campaigns, plans

POINT, INDEX = "oltp_point_select", "oltp_update_index"
THRESHOLD = 2.0
figures = st.floats(0.01, 1e6)
MIRROR = {"regression": "improvement", "improvement": "regression"}


def log(percent: float) -> float:
    """A change in percent as the logarithm of a ratio."""
    return math.log1p(percent / 100)


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


def mapped(
    results: Sequence[TrialResult], figure: Callable[[TrialResult], float]
) -> list[TrialResult]:
    """The same results with other throughputs."""
    return [campaigns.trial_result(r.trial, attempt=r.attempt, tps=figure(r)) for r in results]


def tps(result: TrialResult) -> float:
    """A result's throughput."""
    value = result.value("tps")
    assert value is not None
    return value


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


def one(comparison: Comparison, workload: str = POINT) -> WorkloadComparison:
    """One workload's outcome."""
    return next(w for w in comparison.workloads if w.name == workload)


def outcome_of(percents: Sequence[float], threshold: float = THRESHOLD) -> WorkloadComparison:
    """The outcome of one workload whose rounds changed by these percentages."""
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=len(percents))

    def figure(trial: PlannedTrial) -> float:
        return 1000 * (1 + percents[trial.round - 1] / 100 if trial.side == "candidate" else 1)

    return one(compare(plan, campaigns.results_of(plan, tps=figure), threshold))


# ---------------------------------------------------------------- numbers


@settings(deadline=None, max_examples=40)
@given(measured())
def test_the_numbers_are_those_of_an_independent_paired_t_test(
    case: tuple[Plan, list[TrialResult]],
) -> None:
    """Estimate, interval and p value agree with scipy's paired t test on the same logarithms."""
    plan, results = case
    assume(plan.rounds >= 2)
    outcome = compare(plan, results, THRESHOLD)
    p_values = []
    for workload in outcome.workloads:
        d = log_ratios(plan, results, workload.name)
        assume(statistics.stdev(d) > 1e-9)
        test = stats.ttest_rel(d, [0.0] * len(d))
        low, high = test.confidence_interval(0.95)
        assert workload.estimate_pct is not None
        assert workload.ci95_pct is not None
        assert log(workload.estimate_pct) == pytest.approx(statistics.fmean(d), abs=1e-9)
        assert log(workload.ci95_pct[0]) == pytest.approx(low, rel=1e-6, abs=1e-9)
        assert log(workload.ci95_pct[1]) == pytest.approx(high, rel=1e-6, abs=1e-9)
        p_values.append(float(test.pvalue))
    # Two workloads: Holm doubles the smaller, and the other is at least that.
    small, large = sorted(p_values)
    wanted = [min(1.0, 2 * small), max(min(1.0, 2 * small), large)]
    found = sorted(w.p_adjusted for w in outcome.workloads if w.p_adjusted is not None)
    assert found == pytest.approx(wanted, rel=1e-6, abs=1e-12)


def test_a_worked_example() -> None:
    """By hand: rounds of -10, -11 and -12 %: t = -31.5 with 2 degrees of freedom, p = 0.0010."""
    outcome = outcome_of([-10, -11, -12])
    d = [math.log(0.90), math.log(0.89), math.log(0.88)]
    mean = sum(d) / 3
    error = math.sqrt(sum((x - mean) ** 2 for x in d) / 2 / 3)
    t = abs(mean) / error
    # Student's distribution with 2 degrees of freedom has a closed form.
    assert outcome.p_adjusted == pytest.approx(1 - t / math.sqrt(2 + t * t), rel=1e-9)
    assert outcome.estimate_pct == pytest.approx(100 * (math.exp(mean) - 1))
    half = 4.302652729911275 * error  # t(0.975, 2), from any table
    assert outcome.ci95_pct == pytest.approx(
        (100 * (math.exp(mean - half) - 1), 100 * (math.exp(mean + half) - 1))
    )
    assert outcome.verdict == "regression"


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


@settings(deadline=None, max_examples=40)
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


@settings(deadline=None, max_examples=40)
@given(measured(spread=0.05))
def test_swapping_the_sides_mirrors_the_verdict(case: tuple[Plan, list[TrialResult]]) -> None:
    """What is a regression one way is an improvement the other way, by the same distance."""
    plan, results = case
    figures_of = {
        (r.trial.round, r.trial.workload, r.trial.threads, r.trial.side): tps(r) for r in results
    }

    def of_other_side(result: TrialResult) -> float:
        trial = result.trial
        other = "baseline" if trial.side == "candidate" else "candidate"
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


@settings(deadline=None, max_examples=40)
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
        ([-2.5, -2.6, -2.4, -2.5], "regression"),
        ([-1.5, -1.6, -1.4, -1.5], "equivalent"),  # real, but below the threshold
        ([0, 0.1, -0.1, 0], "equivalent"),
        ([0, 0, 0], "equivalent"),
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


def test_one_round_is_inconclusive_and_says_why() -> None:
    """Without a second round there is no telling a change from noise, however large it is."""
    outcome = outcome_of([-90])
    assert outcome.verdict == "inconclusive"
    assert outcome.p_adjusted is None
    assert outcome.ci95_pct is None
    assert any("at least two" in str(reason) for reason in outcome.reasons)


def test_the_threshold_is_the_report_types() -> None:
    """A change of 4 % is a regression at 2 %, and none at 5 %."""
    percents = [-4.0, -4.1, -3.9, -4.0]
    assert outcome_of(percents, threshold=2).verdict == "regression"
    assert outcome_of(percents, threshold=5).verdict == "equivalent"


def test_many_workloads_make_it_harder_to_claim_a_change() -> None:
    """A p value of 0.03 counts alone, and not as one of five workloads."""
    swings = {1: -0.045, 2: -0.030, 3: -0.075, 4: -0.020}

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
    assert one_of_five.p_adjusted == pytest.approx(5 * single.p_adjusted)
    assert one_of_five.verdict == "inconclusive"


# ---------------------------------------------------------------- missing and invalid


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Plan, list[TrialResult]]:
    """A campaign of which anything may be missing, invalid, zero, or measured again."""
    plan, results = draw(measured())
    kept = []
    for result in results:
        attempts = draw(st.sampled_from([(), (1,), (1,), (1,), (1, 2), (2,), (1, 2, 3)]))
        for attempt in attempts:
            figure = draw(st.sampled_from([tps(result)] * 4 + [0.0, None, float("nan"), -1.0]))
            kept.append(
                campaigns.trial_result(
                    result.trial,
                    attempt=attempt,
                    tps=figure,
                    p95_ms=draw(st.sampled_from([2.0, None, 0.0])),
                    reasons=draw(st.sampled_from([(), (), (), ("the server ended",)])),
                )
            )
    return plan, kept


@settings(deadline=None, max_examples=60)
@given(damaged())
@example((plans.plan(), []))
def test_missing_data_never_becomes_a_verdict(case: tuple[Plan, list[TrialResult]]) -> None:
    """Whatever is missing: no crash, and no verdict of change with fewer than two whole rounds."""
    plan, results = case
    outcome = compare(plan, results, THRESHOLD)
    for workload in outcome.workloads:
        if workload.rounds_used < 2:
            assert workload.verdict in ("inconclusive", "unstable")
            assert workload.reasons
            assert workload.p_adjusted is None
        assert workload.rounds_used <= plan.rounds
        assert (workload.estimate_pct is None) == (workload.rounds_used == 0)


@settings(deadline=None, max_examples=60)
@given(damaged())
def test_every_measured_trial_is_used_or_excluded_with_a_reason(
    case: tuple[Plan, list[TrialResult]],
) -> None:
    """Nothing is dropped silently, nothing invalid is used, and no pair mixes its attempts."""
    plan, results = case
    used, excluded = usable_trials(plan, results)
    taken = {(r.trial.id, r.attempt) for r in used}
    left = {(e.trial, e.attempt) for e in excluded}
    assert taken | left == {(r.trial.id, r.attempt) for r in results}
    assert not taken & left
    assert all(r.valid for r in used)
    assert all(e.reasons for e in excluded)
    attempts: dict[tuple[int, str], set[int]] = {}
    for result in used:
        attempts.setdefault(result.trial.pair, set()).add(result.attempt)
    assert all(len(numbers) == 1 for numbers in attempts.values())
    missing = set(compare(plan, results, THRESHOLD).missing)
    assert missing == {t.id for t in plan.trials} - {r.trial.id for r in used}


@settings(deadline=None, max_examples=40)
@given(damaged())
def test_a_pair_is_measured_again_until_one_attempt_is_whole(
    case: tuple[Plan, list[TrialResult]],
) -> None:
    """Exactly the pairs without a whole, valid attempt are asked for again, in plan order."""
    plan, results = case
    again = invalid_pairs(plan, results)
    for pair in dict.fromkeys(t.pair for t in plan.trials):
        ids = {t.id for t in plan.trials if t.pair == pair}
        whole = any(
            {r.trial.id for r in results if r.attempt == n and r.trial.pair == pair and r.valid}
            == ids
            for n in (1, 2, 3)
        )
        assert (pair in again) == (not whole)
    order = list(dict.fromkeys(t.pair for t in plan.trials))
    assert again == [pair for pair in order if pair in again]


def test_a_repeated_pair_replaces_itself_and_is_counted() -> None:
    """The figures of an attempt with an invalid trial never enter, not even its valid trials'."""
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=3)
    results = campaigns.results_of(plan)
    bad = dataclasses.replace(results[0], valid=False, reasons=("the server ended",))
    partner = campaigns.trial_result(results[1].trial, tps=1.0)
    again = [campaigns.trial_result(r.trial, attempt=2) for r in results[:2]]
    outcome = compare(plan, [bad, partner, *results[2:], *again], THRESHOLD)
    assert one(outcome).estimate_pct == pytest.approx(0)
    assert outcome.repeated_pairs == 1
    assert outcome.missing == ()
    told = {(e.trial, e.attempt): tuple(map(str, e.reasons)) for e in outcome.excluded}
    assert told == {
        (bad.trial.id, 1): ("the server ended",),
        (partner.trial.id, 1): ("its pair of blocks was measured again",),
    }


def test_a_pair_measured_three_times_is_one_repeated_pair() -> None:
    """Pairs are counted, not how often they were measured."""
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=3)
    results = [
        *(
            campaigns.trial_result(t, attempt=n, reasons=["the server ended"] if n < 3 else ())
            for t in plan.trials
            for n in (1, 2, 3)
            if t.round == 1
        ),
        *(campaigns.trial_result(t) for t in plan.trials if t.round > 1),
    ]
    outcome = compare(plan, results, THRESHOLD)
    assert outcome.repeated_pairs == 1
    assert outcome.missing == ()


def test_trials_missing_on_one_side_only_are_unstable() -> None:
    """A side that cannot be measured is not compared by the rounds in which it could."""
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=4)
    results = campaigns.results_of(plan)
    gone = next(r for r in results if r.trial.side == "candidate")
    outcome = one(compare(plan, [r for r in results if r is not gone], THRESHOLD))
    assert outcome.verdict == "unstable"
    assert "candidate" in str(outcome.reasons[0])


@pytest.mark.parametrize("change", [-0.3, 0.0, 0.3])
def test_a_side_that_is_unsound_leaves_no_verdict_and_all_figures(change: float) -> None:
    """However clear the figures, nothing is concluded from a dataset that went wrong."""
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=4)
    results = campaigns.results_of(plan, campaigns.known_change({POINT: change}, 0.001))
    sound, unsound = (
        one(compare(plan, results, THRESHOLD, reasons))
        for reasons in ({}, {"candidate": ("its rows are gone", "so are its keys")})
    )
    assert sound == one(compare(plan, results, THRESHOLD))
    assert sound.verdict in ("regression", "improvement", "equivalent")
    assert unsound.verdict == "unstable"
    assert tuple(map(str, unsound.reasons)) == (
        "on the candidate side its rows are gone",
        "on the candidate side so are its keys",
    )
    assert dataclasses.replace(unsound, verdict=sound.verdict, reasons=(), p95=sound.p95) == sound


def test_an_unsound_side_hides_no_missing_trial() -> None:
    """What is missing is told beside it, on one side or on both."""
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=3)
    results = [r for r in campaigns.results_of(plan) if r.trial.round != 2]
    outcome = one(compare(plan, results, THRESHOLD, {"baseline": ("it is not whole",)}))
    assert outcome.verdict == "unstable"
    assert tuple(map(str, outcome.reasons)) == (
        "2 planned trials have no valid result (1 on the baseline side, 1 on the candidate side)",
        "on the baseline side it is not whole",
    )


def test_the_plan_says_which_metric_decides() -> None:
    """TPC-C is compared by its new orders, sysbench by its transactions, both as planned."""
    plan = campaigns.tpcc_campaign(threads=[4, 8]).plan
    change = campaigns.known_change({"tpcc": 0.1}, 0.002)

    def misleading(trial: PlannedTrial) -> TrialResult:
        return campaigns.tpcc_result(trial, change(trial), tps=1 / change(trial))

    outcome = one(compare(plan, [misleading(t) for t in plan.trials], THRESHOLD), "tpcc")
    assert (outcome.metric, outcome.verdict) == ("tpmc", "improvement")
    assert outcome.estimate_pct == pytest.approx(10, abs=0.1)
    cell = outcome.cells[0]
    assert cell.improvement_pct == pytest.approx(10, abs=0.1)
    assert set(cell.sides["baseline"].means) == {
        *("tpmc", "tpm_total"),
        *(f"new_order_p{n}_ms" for n in (50, 90, 95, 99)),
    }
    by_tps = one(compare(dataclasses.replace(plan, metrics={}), [], THRESHOLD), "tpcc")
    assert by_tps.metric == "tps"


def test_figures_that_no_trial_has_are_missing() -> None:
    """A client that printed no percentiles leaves them out; none becomes zero."""
    plan = campaigns.tpcc_campaign(threads=[4]).plan
    results = [campaigns.tpcc_result(t, 1000.0, new_order_p95_ms=None) for t in plan.trials]
    side = one(compare(plan, results, THRESHOLD), "tpcc").cells[0].sides["baseline"]
    assert side.means["new_order_p95_ms"] is None
    assert side.by_round("new_order_p95_ms") == {}
    assert side.means["tpmc"] == pytest.approx(1000.0)


def test_conditions_that_no_longer_hold_become_sentences() -> None:
    """Those after the last trial only: what the load left wrong is the business of a gate."""
    sums, orders = (Condition(f"3.3.2.{n}", "the sums agree", n - 1) for n in (1, 2))
    lines = Condition("3.3.2.4", "lines are counted", 1234)
    checked = campaigns.side_facts("1", consistency={"load": (orders,), "last trial": (sums,)})
    spoilt = campaigns.side_facts("1", consistency={"last trial": (sums, orders, lines)})
    assert inconsistencies({"baseline": checked, "candidate": campaigns.side_facts("1")}) == {}
    found = inconsistencies({"baseline": checked, "candidate": spoilt})
    assert {side: tuple(map(str, told)) for side, told in found.items()} == {
        "candidate": (
            (
                "after the last trial condition 3.3.2.2 of TPC-C does not hold: the sums agree "
                "(1 violation)"
            ),
            (
                "after the last trial condition 3.3.2.4 of TPC-C does not hold: lines are counted "
                "(1,234 violations)"
            ),
        )
    }


def test_a_round_without_one_cell_takes_no_part() -> None:
    """A missing cell is not averaged away: its round is left out of its workload as a whole."""
    plan = plans.plan(workloads=[POINT], threads=[4, 8], rounds=3)
    results = campaigns.results_of(
        plan, tps=lambda t: 1.0 if (t.round, t.threads) == (2, 8) else 1000.0
    )
    left = [r for r in results if (r.trial.round, r.trial.threads) != (2, 4)]
    outcome = one(compare(plan, left, THRESHOLD))
    assert outcome.rounds_used == 2
    assert outcome.estimate_pct == pytest.approx(0)


def test_a_trial_of_zero_throughput_is_not_an_infinite_change() -> None:
    """Zero has no logarithm: its round is left out instead of deciding everything."""
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=3)
    results = campaigns.results_of(
        plan, tps=lambda t: 0.0 if (t.round, t.side) == (1, "candidate") else 1000.0
    )
    outcome = one(compare(plan, results, THRESHOLD))
    assert outcome.rounds_used == 2
    assert outcome.estimate_pct == pytest.approx(0)


def test_a_gate_that_no_trial_could_evaluate_is_listed() -> None:
    """A reader is told what was not checked, and not told so where one trial could check it."""
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=1)
    blind, seeing = campaigns.gate("clock", "not evaluated"), campaigns.gate("clock", "pass")
    steal = campaigns.gate("steal", "not evaluated")
    results = [
        campaigns.trial_result(plan.trials[0], gates=(blind, steal)),
        campaigns.trial_result(plan.trials[1], gates=(seeing, steal)),
    ]
    assert compare(plan, results, THRESHOLD).not_evaluated == ("steal",)


def test_the_gates_are_those_of_all_trials_in_plan_order() -> None:
    """A failed gate excludes its trial, and is still there to be told."""
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=1)
    good, bad = campaigns.gate("summary"), campaigns.gate("summary", "fail")
    first, second = plan.trials
    results = [
        campaigns.trial_result(first, attempt=2, gates=[good]),
        campaigns.trial_result(second, gates=[good]),
        campaigns.trial_result(first, reasons=["no summary"], gates=[bad]),
        campaigns.trial_result(second, attempt=2, gates=[good]),
    ]
    outcome = compare(plan, results, THRESHOLD)
    assert outcome.gates == (bad, good, good, good)
    assert {(e.trial, e.attempt) for e in outcome.excluded} == {(first.id, 1), (second.id, 1)}
