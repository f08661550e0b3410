"""Counts: exact where they do not vary, else by the usual rule with their own limits and share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
import scipy.stats

from benchlab.analysis.verdict.calibration_checks import calibration_checks, round_means
from benchlab.analysis.verdict.compare import WorkloadComparison, judge
from benchlab.analysis.verdict.decision import Decision, shares
from benchlab.analysis.verdict.estimates import NO_CALIBRATION, estimates
from benchlab.analysis.verdict.exact import RESOLUTION, exact
from benchlab.analysis.verdict.rounds import Rounds, collect
from benchlab.engines.counts import Count
from benchlab.language import Message, message
from benchlab.plan.metric import COUNT, LATENCY, THROUGHPUT, Metric
from benchlab.plan.report_type import SIDES, Side
from benchlab.workloads import sysbench

THRESHOLD = 2.0
THREADS = (4, 8)
READS = Count("handler_reads", "mariadb", ()).metric()
Value = Callable[[int, int, Side], float | None]
"""By round, thread count and side."""


def rounds(value: Value, *metrics: Metric, workload: str = "oltp_insert", count: int = 6) -> Rounds:
    """A workload whose throughput and latency stay as they are; all its counts have this value."""
    metrics = metrics or (READS,)
    return collect(
        workload,
        (*sysbench.METRICS, *metrics),
        range(1, count + 1),
        THREADS,
        SIDES,
        [
            (
                *(number, threads, side),
                {"tps": 1000.0, "p95_ms": 2.0}
                | {metric.name: value(number, threads, side) for metric in metrics},
            )
            for number in range(1, count + 1)
            for threads in THREADS
            for side in SIDES
        ],
    )


def sides(baseline: float, candidate: float) -> Value:
    """The same in every trial of a side; a little less with more threads."""
    own = {"baseline": baseline, "candidate": candidate}
    return lambda _, threads, side: own[side] * (1 - threads / 1e3)


def ratios(percents: Sequence[float]) -> Value:
    """A count that is another one in each round, on the candidate by these percentages more."""

    def value(number: int, threads: int, side: Side) -> float:
        more = 1 + percents[number - 1] / 100 if side == "candidate" else 1.0
        return threads * (1 + number / 10) * more

    return value


def judged(found: Rounds, **fields: object) -> WorkloadComparison:
    """The decisions on one workload."""
    return judge([found], THRESHOLD, **fields)[0]  # type: ignore[arg-type]


def decided(value: Value, metric: Metric = READS, count: int = 6) -> Decision:
    """The decision on its count."""
    return judged(rounds(value, metric, count=count)).beside[metric.name]


def ids(found: Decision) -> list[str]:
    """Its reasons, by their messages."""
    return [reason.id if isinstance(reason, Message) else reason for reason in found.reasons]


# ---------------------------------------------------------------- exactly


def test_a_count_that_is_the_same_in_every_trial_is_equivalent() -> None:
    """Without noise and without a prior: by as much as counters can be read."""
    found = decided(sides(12.5, 12.5))
    assert (found.verdict, found.estimate_pct, found.p_adjusted) == ("equivalent", 0, 1)
    assert found.ci95_pct == pytest.approx((-0.1, 0.1), abs=0.001)
    assert [str(reason) for reason in found.reasons] == [
        "both sides take the same in every trial: 12.43"
    ]
    assert found.rounds_used == 6


@pytest.mark.parametrize(
    ("metric", "candidate", "verdict"),
    [
        (READS, 3.0, "regression"),
        (READS, 0.5, "improvement"),
        (replace(READS, less_is_better=False), 3.0, "improvement"),
        (replace(READS, less_is_better=False), 0.5, "regression"),
        (READS, 1.009, "equivalent"),
        (READS, 1.011, "regression"),
    ],
)
def test_one_that_differs_by_construction_is_a_change_from_its_threshold_on(
    metric: Metric, candidate: float, verdict: str
) -> None:
    """Both values are in the reason; which direction is better is the metric's to say."""
    found = decided(sides(1000, 1000 * candidate), metric)
    assert (found.verdict, found.p_adjusted) == (verdict, 0)
    assert found.estimate_pct == pytest.approx(100 * (candidate - 1))
    (reason,) = map(str, found.reasons)
    assert "994 in every trial of one side" in reason
    assert f"{994 * candidate:.4g} of the other" in reason


@pytest.mark.parametrize(
    ("baseline", "candidate", "verdict"), [(0, 2.0, "regression"), (2.0, 0, "improvement")]
)
def test_none_on_one_side_has_no_ratio_and_is_a_change(
    baseline: float, candidate: float, verdict: str
) -> None:
    """The estimate is missing, not infinite; both values are said, and all rounds are used."""
    found = decided(sides(baseline, candidate))
    assert (found.verdict, found.p_adjusted, found.rounds_used) == (verdict, 0, 6)
    assert (found.estimate_pct, found.ci95_pct) == (None, None)
    (reason,) = map(str, found.reasons)
    assert reason == "one side takes none in any trial, the other about 1.988 in each"


@pytest.mark.parametrize(
    ("varies", "verdict"), [(1.02, "regression"), (1.9, "regression"), (3.0, "inconclusive")]
)
def test_what_only_one_side_does_is_a_change_though_it_varies(varies: float, verdict: str) -> None:
    """One-phase commits against others: no Commit request, against about one in each trial."""

    def value(number: int, threads: int, side: Side) -> float:
        return 0.0 if side == "baseline" else 1.0 if number % 2 else varies

    assert decided(value).verdict == verdict


def test_none_on_both_sides_is_the_same() -> None:
    """Where nothing is too little to be compared."""
    found = decided(sides(0, 0), replace(READS, floor=0))
    assert (found.verdict, found.estimate_pct, found.rounds_used) == ("equivalent", 0, 6)
    assert ids(found) == ["reason-the-same"]


@pytest.mark.parametrize(("most", "is_decided"), [(0.0099, False), (0.0101, True)])
def test_what_a_transaction_hardly_takes_is_not_decided(most: float, is_decided: bool) -> None:
    """0.0001 against 0.005 is fifty times as much, and nothing: one side has to reach the floor."""
    factor = 1 / (1 - THREADS[0] / 1e3)
    found = judged(rounds(sides(1e-4, factor * most)))
    assert (READS.name in found.beside) == is_decided
    assert set(found.beside) >= {LATENCY}


def test_a_side_varies_from_just_where_counters_can_be_read() -> None:
    """By half of the range; one trial is enough."""
    for factor, same in ((0.999, True), (1.001, False)):
        values = np.full((6, 2, 2), 100.0)
        values[2, 1, 1] *= (1 + factor * RESOLUTION) / (1 - factor * RESOLUTION)
        assert (exact(values) is not None) == same


@pytest.mark.parametrize(
    ("planned", "lost", "complete"), [(2, [], 2), (3, [2], 2), (3, [], 3), (4, [2], 3)]
)
def test_fewer_than_three_complete_rounds_show_nothing_exactly(
    planned: int, lost: list[int], complete: int
) -> None:
    """Nor does one that is complete for one thread count only; used are the complete ones."""

    def value(number: int, threads: int, side: Side) -> float | None:
        return None if number in lost and (threads, side) == (8, "candidate") else 3.0

    found = decided(value, count=planned)
    assert found.rounds_used == complete
    assert found.verdict == ("equivalent" if complete >= 3 else "inconclusive")
    assert ("reason-lost-beside-one-side" in ids(found)) == bool(lost)
    assert ("reason-rounds" in ids(found)) == (complete < 3)


def test_a_doubt_outweighs_exactness() -> None:
    """Errors on one side: transactions that were tried again may have made the count."""
    doubts = {"oltp_insert": [message("reason-plateau", fewer=4, threads=8)]}
    for value in (sides(1, 3), sides(1, 1), sides(0, 1)):
        found = judged(rounds(value), doubts_of_counts=doubts).beside[READS.name]
        assert found.verdict == "unstable"
        assert "reason-plateau" in ids(found)


def test_a_doubt_about_throughput_leaves_counts_decided() -> None:
    """A client at its limit hides how fast the servers are, not what a transaction takes."""
    doubts = {"oltp_insert": [message("reason-plateau", fewer=4, threads=8)]}
    found = judged(rounds(sides(1, 3)), doubts=doubts, not_equivalent=doubts)
    assert found.verdict == "unstable"
    assert found.beside[READS.name].verdict == "regression"
    same = judged(rounds(sides(1, 1)), doubts=doubts, not_equivalent=doubts)
    assert same.beside[READS.name].verdict == "equivalent"


# ---------------------------------------------------------------- by the usual rule

NOISY = (1.4, 1.5, 1.6, 1.5, 1.45, 1.55)


def test_a_count_that_varies_is_decided_by_its_own_limits() -> None:
    """By hand: a prior of 0.1 % a side, a threshold of 1 %, and a tenth of the 5 %."""
    d = [math.log1p(percent / 100) for percent in NOISY]
    of_rounds = float(np.var(d, ddof=1)) / 6
    tau2 = 2 * 0.001**2
    df = min(8, (tau2 + of_rounds) ** 2 / (tau2**2 / 4 + of_rounds**2 / 5))
    mean, error = float(np.mean(d)), math.sqrt(tau2 + of_rounds)
    found = decided(ratios(NOISY))
    assert found.verdict == "regression"
    assert found.p_adjusted == pytest.approx(2 * scipy.stats.t.sf(mean / error, df) / 0.1)
    low, high = scipy.stats.t.interval(0.95, df, mean, error)
    assert found.ci95_pct == pytest.approx((100 * math.expm1(low), 100 * math.expm1(high)))
    assert decided(ratios(NOISY), replace(READS, side_sd=0.01)).verdict == "inconclusive"
    assert decided(ratios(NOISY), replace(READS, threshold_pct=None)).verdict == "equivalent"
    assert decided(ratios([p - 0.9 for p in NOISY])).verdict == "equivalent"


def test_missing_figures_are_said() -> None:
    """With the side that lacks them, and the name of the count."""

    def value(number: int, threads: int, side: Side) -> float | None:
        lost = (number, threads, side) == (2, 4, "candidate")
        return None if lost else ratios(NOISY)(number, threads, side)

    found = decided(value)
    assert (found.verdict, found.rounds_used) == ("regression", 5)
    assert ids(found)[0] == "reason-lost-beside-one-side"
    assert "only on the candidate side" in str(found.reasons[0])


def test_a_count_that_is_sometimes_none_is_not_equal_where_it_is_some() -> None:
    """Three rounds without any have no ratio: they are said, and forbid `equivalent`."""

    def value(number: int, threads: int, side: Side) -> float | None:
        return (
            0.0 if side == "candidate" and number % 2 else ratios([0.01] * 6)(number, threads, side)
        )

    found = decided(value)
    assert (found.verdict, found.rounds_used) == ("inconclusive", 3)
    assert ids(found) == ["reason-lost-beside-one-side"]
    assert "6 trials" in str(found.reasons[0])


def test_a_count_without_any_figure_is_inconclusive() -> None:
    """Its servers do not have it."""
    found = decided(lambda *_: None)
    assert (found.verdict, found.estimate_pct, found.rounds_used) == ("inconclusive", None, 0)


# ---------------------------------------------------------------- families


def test_what_each_family_may_err_adds_up_to_all_of_it() -> None:
    """0.8, 0.1 and 0.1; a family that a report lacks leaves its share to the others."""
    assert shares((THROUGHPUT, LATENCY, COUNT)) == pytest.approx(
        {"throughput": 0.8, "latency": 0.1, "count": 0.1}
    )
    assert shares((THROUGHPUT, LATENCY)) == pytest.approx({"throughput": 8 / 9, "latency": 1 / 9})
    assert shares((THROUGHPUT, COUNT)) == pytest.approx({"throughput": 8 / 9, "count": 1 / 9})
    assert shares((LATENCY,)) == {"latency": 1}
    assert shares((THROUGHPUT, LATENCY, COUNT, "memory")) == pytest.approx(
        {"throughput": 8 / 11, "latency": 1 / 11, "count": 1 / 11, "memory": 1 / 11}
    )


def test_holm_is_over_all_counts_of_all_workloads() -> None:
    """And over nothing else: throughput's p does not know how many counts there are."""
    counts = [replace(READS, name=f"count_{letter}") for letter in "abc"]
    for own in (counts[:1], counts):
        both = [rounds(ratios(NOISY), *own, workload=name) for name in ("one", "other")]
        alone = estimates(both, "count_a", NO_CALIBRATION)["one"].versions.p_value
        assert 0 < alone < 0.1 / 6
        for workload in judge(both, THRESHOLD):
            found = workload.beside["count_a"].p_adjusted
            assert found == pytest.approx(2 * len(own) * alone / 0.1)
            assert workload.p_adjusted == 1


def test_an_exact_change_does_not_cost_another_count_a_step_of_holms() -> None:
    """Its p is zero, so it comes first."""
    other = replace(READS, name="other")
    both = rounds(ratios(NOISY), READS, other)
    changed = np.where(np.arange(2) == 1, 3.0, 1.0) * np.ones((6, len(THREADS), 2))
    exactly = replace(both, values={**both.values, "other": changed})
    alone = judged(rounds(ratios(NOISY))).beside[READS.name]
    found = judged(exactly)
    assert found.beside["other"].verdict == "regression"
    assert found.beside[READS.name].p_adjusted == alone.p_adjusted


def test_a_family_of_a_users_own_workload_is_decided_by_the_report_types_threshold() -> None:
    """With a tenth as a count has, the prior of 1 %, and never exactly."""
    memory = Metric("peak_mb", "MB", family="memory", less_is_better=True)
    found = judged(rounds(sides(1000, 1300), memory)).beside
    assert set(found) == {LATENCY, "memory"}
    assert found["memory"].verdict == "regression"
    assert found["memory"].p_adjusted is not None
    assert 0 < found["memory"].p_adjusted < 0.05
    assert judged(rounds(sides(1000, 1015), memory)).beside["memory"].verdict == "inconclusive"


# ---------------------------------------------------------------- what A/A campaigns say


def test_aa_campaigns_have_a_row_for_throughput_and_latency_and_none_for_counts() -> None:
    """A handful of counts of each workload would be more gates than anybody reads."""
    own = rounds(ratios(NOISY), READS, replace(READS, name="other"))
    began = datetime(2027, 1, 2, tzinfo=UTC)
    means = round_means([own])
    assert {kind for *_, kind in means} == {THROUGHPUT, LATENCY}
    rows = list(calibration_checks([own], began, {began: means}))
    assert [kind for _, kind, _ in rows] == [THROUGHPUT, LATENCY]
