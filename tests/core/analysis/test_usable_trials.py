"""Missing and invalid trials: which figures count, and that their lack never becomes a verdict."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchlab.analysis.verdict.compare import compare
from benchlab.analysis.verdict.usable_trials import invalid_pairs, usable_trials
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.results.records import Condition, TrialResult, inconsistencies
from tests.builders import campaigns, plans
from tests.builders.comparisons import POINT, THRESHOLD, measured, one, tps


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


@settings(max_examples=60)
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


@settings(max_examples=60)
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


@settings(max_examples=40)
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
        (partner.trial.id, 1): ("its block was measured again",),
    }


@pytest.mark.parametrize(
    ("attempts", "counts", "whole"),
    [
        ("++ ++", 1, True),
        ("++ +x", 1, True),
        ("++ +.", 1, True),
        ("+x ++ ++", 2, True),
        ("xx ++", 2, True),
        ("+. ++ +x", 2, True),
        ("+. .+", 2, False),
        ("+x x+ +.", 3, False),
    ],
)
def test_the_first_whole_attempt_counts_and_without_one_the_last(
    attempts: str, counts: int, whole: bool
) -> None:
    """Two trials of a pair: valid (+), invalid (x), not there (.). No later attempt is preferred,
    or figures could be chosen by their result.
    """
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=1)
    results = [
        campaigns.trial_result(trial, attempt=number, reasons=["it ended"] if mark == "x" else ())
        for number, marks in enumerate(attempts.split(), 1)
        for trial, mark in zip(plan.trials, marks, strict=True)
        if mark != "."
    ]
    for listed in (results, results[::-1]):
        used, _ = usable_trials(plan, listed)
        assert {result.attempt for result in used} == {counts}
        assert len(used) == attempts.split()[counts - 1].count("+")
        assert invalid_pairs(plan, listed) == ([] if whole else [plan.trials[0].pair])


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


@pytest.mark.parametrize(("rounds", "verdict"), [((1,), "equivalent"), ((1, 3), "unstable")])
def test_trials_missing_on_one_side_in_half_of_the_rounds_are_unstable(
    rounds: tuple[int, ...], verdict: str
) -> None:
    """A side that cannot be measured is not compared by the rounds in which it could."""
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=4, deployments=4)
    kept = [
        result
        for result in campaigns.results_of(plan)
        if result.trial.side == "baseline" or result.trial.round not in rounds
    ]
    outcome = one(compare(plan, kept, THRESHOLD))
    assert outcome.verdict == verdict
    assert "candidate" in str(outcome.reasons[0])


@pytest.mark.parametrize("change", [-0.3, 0.0, 0.3])
def test_a_side_that_is_unsound_leaves_no_verdict_and_all_figures(change: float) -> None:
    """However clear the figures, nothing is concluded from a dataset that went wrong."""
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=4, deployments=4)
    results = campaigns.results_of(plan, campaigns.known_change({POINT: change}, 0.001))
    lost = ("its rows are gone", "so are its keys")
    sound = one(compare(plan, results, THRESHOLD))
    unsound = one(compare(plan, results, THRESHOLD, {"candidate": lost}))
    assert sound == one(compare(plan, results, THRESHOLD))
    assert sound.verdict in ("regression", "improvement", "equivalent")
    assert unsound.verdict == "unstable"
    assert tuple(map(str, unsound.reasons)) == (
        "on the candidate side its rows are gone",
        "on the candidate side so are its keys",
    )
    assert (
        dataclasses.replace(unsound, verdict=sound.verdict, reasons=(), beside=sound.beside)
        == sound
    )


def test_an_unsound_side_hides_no_missing_trial() -> None:
    """What is missing is named beside it, on one side or on both."""
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=3)
    results = [r for r in campaigns.results_of(plan) if r.trial.round != 2]
    outcome = one(compare(plan, results, THRESHOLD, {"baseline": ("it is not whole",)}))
    assert outcome.verdict == "unstable"
    assert tuple(map(str, outcome.reasons)) == (
        "2 trials have no valid result (1 on the baseline side, 1 on the candidate side)",
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
    """The report says what was never checked, but not if a single trial was."""
    plan = plans.plan(workloads=[POINT], threads=[4], rounds=1)
    blind, seeing = campaigns.gate("clock", "not evaluated"), campaigns.gate("clock", "pass")
    steal = campaigns.gate("steal", "not evaluated")
    results = [
        campaigns.trial_result(plan.trials[0], gates=(blind, steal)),
        campaigns.trial_result(plan.trials[1], gates=(seeing, steal)),
    ]
    assert compare(plan, results, THRESHOLD).not_evaluated == ("steal",)


def test_the_gates_are_those_of_all_trials_in_plan_order() -> None:
    """A failed gate excludes its trial, and is still reported."""
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
