"""What trials show of the sides beside their figures, and what becomes of a verdict for it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchlab.analysis.verdict import calibration_checks, campaign_checks
from benchlab.analysis.verdict.by_side import error_p_values, excess, sign_test
from benchlab.analysis.verdict.compare import WorkloadComparison, compare, rounds_of
from benchlab.plan.order import PlannedTrial
from benchlab.report import gate_files
from benchlab.results.records import Campaign, GateResult, TrialResult
from tests.builders import campaigns, plans

GATES = gate_files.load_all(Path(__file__).parents[3] / "configs" / "quality")
WRITE = "oltp_update_index"
MADE = campaigns.campaign(workloads=[WRITE], threads=[4, 8, 16], rounds=6, deployments=3)


def outcome(results: Sequence[TrialResult], made: Campaign = MADE) -> WorkloadComparison:
    """The one workload's outcome, by the house's gates."""
    return compare(made.plan, results, 2.0, gates=GATES).workloads[0]


def said(found: WorkloadComparison) -> str:
    """Why the verdict is what it is."""
    return " ".join(map(str, found.reasons))


def equal(trial: PlannedTrial) -> float:
    """The throughput where nothing sets the sides apart."""
    return campaigns.known_change({}, 0.001)(trial)


def measured(change: Callable[[TrialResult], TrialResult] = lambda r: r) -> list[TrialResult]:
    """All trials, and what is to be told of each."""
    return [change(result) for result in campaigns.results_of(MADE.plan, equal)]


def with_gate(result: TrialResult, gate: GateResult) -> TrialResult:
    """One with a further gate."""
    return dataclasses.replace(result, gates=(*result.gates, gate))


# ---------------------------------------------------------------- rejected trials


def repeated(stalled: Callable[[PlannedTrial], bool], rate: float) -> list[TrialResult]:
    """Trials that had this share of their throughput; a gate rejected them, then all was well."""
    bad = GateResult("other_work", "fail", 0.5, "s")
    odd = [trial for trial in MADE.plan.trials if stalled(trial)]
    again = {trial.pair for trial in odd}
    return [
        *(
            campaigns.trial_result(t, tps=rate * equal(t), reasons=["busy"], gates=[bad])
            if t in odd
            else campaigns.trial_result(t, tps=equal(t))
            for t in MADE.plan.trials
        ),
        *(
            campaigns.trial_result(t, attempt=2, tps=equal(t))
            for t in MADE.plan.trials
            if t.pair in again
        ),
    ]


def test_trials_that_are_rejected_on_one_side_only_do_not_vanish() -> None:
    """Once in each of six rounds; the sentence says what the rejected figures would change."""
    found = outcome(repeated(lambda t: (t.side, t.threads) == ("candidate", 8), 0.5))
    assert (found.verdict, found.latency.verdict) == ("unstable", "unstable")
    assert (
        "6 trials failed validity gates on the candidate side against 0 on the other (p 0.031)"
        in said(found)
    )
    assert "throughput changes by -20.63% with the rejected figures" in said(found)


def test_a_few_rejected_trials_forbid_equivalent_where_their_figures_matter() -> None:
    """Two of a side are no doubt; equivalent is what holds with them as well."""
    few = (1, 2)
    mattered = outcome(repeated(lambda t: t.side == "candidate" and t.round in few, 0.5))
    assert mattered.verdict == "inconclusive"
    assert "validity gates failed more often on the candidate side, in 6 trials" in said(mattered)
    assert outcome(repeated(lambda t: t.round in few, 0.5)).verdict == "equivalent"
    assert outcome(repeated(lambda t: t.side == "candidate" and t.round in few, 1.0)).verdict == (
        "equivalent"
    )


@pytest.mark.parametrize("factor", [2.5, 0.8])
def test_what_forbids_equivalent_is_no_warning_where_nothing_is_equivalent(factor: float) -> None:
    """Beside an improvement of 150 % it says nothing; where it decides, it is said."""
    bad = GateResult("other_work", "fail", 0.5, "s")

    def measured(factor: float) -> list[TrialResult]:
        def tps(trial: PlannedTrial) -> float:
            return equal(trial) * (factor if trial.side == "candidate" else 1.0)

        odd = [t for t in MADE.plan.trials if t.side == "candidate" and t.round in (1, 2)]
        rejected = [
            campaigns.trial_result(t, tps=0.5 * tps(t), reasons=["busy"], gates=[bad]) for t in odd
        ]
        again = {t.pair for t in odd}
        first = [campaigns.trial_result(t, tps=tps(t)) for t in MADE.plan.trials if t not in odd]
        second = [
            campaigns.trial_result(t, attempt=2, tps=tps(t))
            for t in MADE.plan.trials
            if t.pair in again
        ]
        return [*rejected, *first, *second]

    def failed(factor: float) -> set[str]:
        found = compare(MADE.plan, measured(factor), 2.0, gates=GATES)
        return {g.gate for one in found.checks for g in one.gates if g.status == "fail"}

    assert "rejected_change" in failed(1.0)
    assert "rejected_change" not in failed(factor)


# ---------------------------------------------------------------- lost trials


@pytest.mark.parametrize(
    ("rounds", "verdict", "used"), [((1,), "equivalent", 5), ((1, 2, 3), "unstable", 6)]
)
def test_a_single_lost_trial_is_no_doubt(rounds: Sequence[int], verdict: str, used: int) -> None:
    """Its round takes no part, and that is said. In half of the rounds on one side it is one, and
    its thread count takes no part.
    """
    gone = ("candidate", 8)
    kept = [
        result
        for result in measured()
        if (result.trial.side, result.trial.threads) != gone or result.trial.round not in rounds
    ]
    found = outcome(kept)
    assert (found.verdict, found.rounds_used) == (verdict, used)
    assert "only on the candidate side" in said(found)


# ---------------------------------------------------------------- errors, headroom, threads


def errors_of(count: Callable[[PlannedTrial], float]) -> list[TrialResult]:
    """Trials with so many errors."""
    return [campaigns.trial_result(t, tps=equal(t), errors=count(t)) for t in MADE.plan.trials]


def test_errors_of_writes_are_a_doubt_where_a_side_has_more_in_every_round() -> None:
    """One storm of deadlocks may be chance, on whichever side it is."""
    storm = errors_of(lambda t: 5000.0 * (t.index == 3))
    assert outcome(storm).verdict == "equivalent"
    many = errors_of(lambda t: (400.0 if t.side == "candidate" else 2.0) + t.round)
    assert outcome(many).verdict == "unstable"
    assert "the client saw errors much more often on the candidate side" in said(outcome(many))


@pytest.mark.parametrize(("busy", "verdict"), [(0.7, "equivalent"), (0.85, "unstable")])
def test_a_client_at_its_limit_leaves_no_conclusion(busy: float, verdict: str) -> None:
    """At one thread count on one side already: what it hides is not known."""
    found = outcome(
        measured(
            lambda r: with_gate(
                r,
                GateResult("client_cpu", "pass", busy if r.trial.threads == 16 else 0.3, "s"),
            )
        )
    )
    assert found.verdict == verdict
    assert ("used 85% of the CPU available" in said(found)) == (verdict == "unstable")


def test_a_plateau_is_not_equivalent_where_nobody_saw_the_client() -> None:
    """A saturated server looks the same; with the client's CPU known it is one."""
    flat = campaigns.results_of(MADE.plan, lambda t: 1000 + t.round + t.threads)
    assert outcome(flat).verdict == "inconclusive"
    assert "a saturated client would look the same" in said(outcome(flat))
    seen = GateResult("client_cpu", "pass", 0.3, "s")
    assert outcome([with_gate(result, seen) for result in flat]).verdict == "equivalent"


def test_equal_on_average_is_not_equivalent() -> None:
    """+10 % at one thread count, -10 % at another."""
    factors = {4: 1.1, 8: 1.0, 16: 1 / 1.1}
    results = campaigns.results_of(
        MADE.plan, lambda t: equal(t) * (factors[t.threads] if t.side == "candidate" else 1)
    )
    found = outcome(results)
    assert found.estimate_pct == pytest.approx(0, abs=0.01)
    assert found.verdict == "inconclusive"
    assert "at 4 threads throughput changed by +10.0%" in said(found)


def test_the_columns_of_a_campaign_are_those_that_are_described() -> None:
    """And each of them is bounded by a gate, or is there for a reader."""
    described = {
        "workloads": re.findall(r"^``(\w+)``", campaign_checks.__doc__ or "", flags=re.M),
        "calibration": re.findall(r"^``(\w+)``", calibration_checks.__doc__ or "", flags=re.M),
    }
    judged = {table: {g.column for g in GATES if g.table == table} for table in described}
    assert judged["workloads"] == set(described["workloads"])
    assert judged["calibration"] == set(described["calibration"]) - {"aa_campaigns"}


# ---------------------------------------------------------------- the tests themselves


def test_the_sign_test_is_the_binomial_test() -> None:
    """Of scipy, two-sided; zeros do not count."""
    for up, down in ((6, 0), (1, 8), (4, 4), (0, 0)):
        p = stats.binomtest(up, up + down).pvalue if up + down else 1.0
        assert sign_test([*[2.0] * up, 0.0, *[-1.0] * down]) == pytest.approx(p)


def test_a_workload_that_leans_the_other_way_is_not_doubted() -> None:
    """The test is over the campaign; one that leans to neither side may have been lucky."""
    found = excess({"a": [1] * 8, "b": [-1], "c": [0]})
    p = pytest.approx(stats.binomtest(8, 9).pvalue)
    assert found == {"a": p, "b": 1.0, "c": p}


def test_error_rates_are_compared_by_the_paired_t_test() -> None:
    """Of scipy, on log rates; two workloads are adjusted by Holm; no errors are no difference."""
    errors = np.array([[3.0, 9], [1, 4], [0, 5], [2, 2]])
    transactions = np.array([[100.0, 90], [100, 80], [110, 100], [100, 70]])
    half = 0.5 / transactions.mean(axis=1, keepdims=True)
    logs = np.log(errors / transactions + half)
    p = stats.ttest_rel(logs[:, 1], logs[:, 0]).pvalue
    found = error_p_values({"a": (errors, transactions), "b": (0 * errors, transactions)})
    assert found == {"a": pytest.approx(2 * p), "b": 1.0}


def test_what_calibrates_is_compared_with_what_it_calibrates() -> None:
    """Their mean by the t test and the rounds' variances by the F test of scipy; their age."""
    dice = np.random.default_rng(1)
    made = campaigns.campaign(workloads=[WRITE], threads=[4], rounds=8)

    def rounds(sd: float) -> list[TrialResult]:
        return campaigns.results_of(
            made.plan, lambda t: float(1000 * np.exp(sd * dice.standard_normal()))
        )

    own = rounds_of(made.plan, rounds(0.05))
    others = [rounds_of(made.plan, rounds(0.01)) for _ in range(4)]
    starts = [plans.START.replace(day=day) for day in (1, 2, 3, 4)]
    means = map(calibration_checks.round_means, others)
    row, _ = calibration_checks.calibration_checks(
        own, plans.START.replace(day=9), dict(zip(starts, means, strict=True))
    )
    d = [other[0].log_ratios("throughput").mean(axis=1) for other in others]
    ratio = own[0].log_ratios("throughput").var(ddof=1) / np.mean([x.var(ddof=1) for x in d])
    assert row == (
        WRITE,
        "throughput",
        {
            "aa_campaigns": 4.0,
            "aa_mean_p": pytest.approx(stats.ttest_1samp([x.mean() for x in d], 0).pvalue),
            "round_variance_p": pytest.approx(2 * stats.f.sf(ratio, 7, 28)),
            "newest_age_days": 5.0,
        },
    )


# ---------------------------------------------------------------- counts


@pytest.mark.parametrize(
    ("gate", "verdict"), [("stalls", "equivalent"), ("reconnects", "unstable")]
)
def test_counts_are_doubted_for_what_is_done_twice_alone(gate: str, verdict: str) -> None:
    """A transaction takes the same in a trial that stalls; one that is tried again takes more."""
    counting = campaigns.counting(MADE, "rows_read")
    symptom = GateResult(gate, "fail", 0.5, "s", "symptom")
    seen = [
        with_gate(result, symptom) if result.trial.side == "candidate" else result
        for result in campaigns.taking(measured(), rows_read=lambda trial: 10 + trial.round / 1e3)
    ]
    found = outcome(seen, counting)
    assert found.verdict == "unstable"
    assert found.beside["rows_read"].verdict == verdict
