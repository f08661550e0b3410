"""Deployments: every interval knows of them, by the campaign, A/A campaigns or the prior."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlab.analysis.verdict.compare import WorkloadComparison, judge
from benchlab.analysis.verdict.decision import shares
from benchlab.analysis.verdict.estimates import NO_CALIBRATION, Calibration, calibrate
from benchlab.analysis.verdict.rounds import Rounds, collect
from benchlab.analysis.verdict.variances import (
    Squares,
    Variance,
    by_workload,
    estimated,
    moderated,
    squares,
)
from benchlab.plan.metric import LATENCY, THROUGHPUT
from benchlab.plan.report_type import SIDES
from benchlab.workloads import sysbench, tpch

INSERT, SELECT = "oltp_insert", "oltp_point_select"


def rounds(
    d: Sequence[float], workload: str = INSERT, threads: Sequence[int] = (4,), p95: float = 1
) -> Rounds:
    """A workload whose rounds have these log ratios, in throughput, and the inverse in p95.

    Args:
        p95: how many times as much its latency changes; 0: it has none.
    """
    return collect(
        workload,
        sysbench.METRICS,
        range(1, len(d) + 1),
        threads,
        SIDES,
        (
            (
                number,
                count,
                side,
                {
                    "tps": 1000 * math.exp(ratio * (side == "candidate")),
                    "p95_ms": 5 * math.exp(-p95 * ratio * (side == "candidate")) if p95 else None,
                },
            )
            for number, ratio in enumerate(d, 1)
            for count in threads
            for side in SIDES
        ),
    )


def campaigns(
    means: Sequence[float], spread: float = 0.001, **fields: object
) -> dict[str, list[Rounds]]:
    """A/A campaigns of four rounds with these estimates."""
    steps = (-3, -1, 1, 3)
    return {
        f"aa{number}": [rounds([mean + spread * step for step in steps], **fields)]  # type: ignore[arg-type]
        for number, mean in enumerate(means)
    }


MEANS = (-0.02, -0.01, 0.0, 0.01, 0.02)


def log_interval(found: tuple[float, float] | None) -> tuple[float, float]:
    """An interval in percent as logarithms."""
    assert found is not None
    return math.log1p(found[0] / 100), math.log1p(found[1] / 100)


D_QUIET = (-0.001, 0.001, 0.0, 0.0)
D = (-0.029, -0.030, -0.031, -0.030)


def expected(count: int, squares: float) -> tuple[float, float]:
    """The standard error and degrees of freedom of D, by hand, as the rule's formulas have them.

    Args:
        count: of A/A campaigns with four rounds of 0.001 * (-3, -1, 1, 3) about their means.
        squares: sum of these means' squares.
    """
    within = sum((d - statistics.fmean(D)) ** 2 for d in D) + count * 20e-6
    s2, df = within / (3 + 3 * count), 3 + 3 * count
    tau2 = 2 * 0.01**2
    u0 = tau2 + s2 / 4
    f0 = min(8, u0**2 / (tau2**2 / 4 + (s2 / 4) ** 2 / df))
    seen = squares / u0
    level = (f0 + seen) / (f0 + count)
    shared = (f0 * level + seen) / (f0 + count)
    return math.sqrt(u0 * max(shared, seen / max(count, 1))), f0 + count


def judged(calibration: Calibration | None = None) -> WorkloadComparison:
    """The rounds of D, decided."""
    return judge([rounds(D)], 2.0, calibration=calibration)[0]


@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_the_interval_is_students_with_the_variance_of_prior_and_aa_campaigns(count: int) -> None:
    """By hand, from no A/A campaign on: each of them counts, about zero."""
    means = MEANS[:count]
    error, df = expected(count, math.fsum(mean**2 for mean in means))
    found = judged(calibrate(campaigns(means)))
    low, high = scipy.stats.t.interval(0.95, df, statistics.fmean(D), error)
    assert log_interval(found.ci95_pct) == pytest.approx((low, high))
    alone = 2 * scipy.stats.t.sf(0.03 / error, df)
    assert found.p_adjusted == pytest.approx(alone / shares((THROUGHPUT, LATENCY))[THROUGHPUT])
    assert (found.aa_campaigns, found.basis) == (count, "A/A campaigns" if count > 2 else "prior")


def test_a_change_that_one_deployment_may_be_is_no_change_once_it_is_known() -> None:
    """The same rounds: a regression if A/A campaigns agree, inconclusive if they differ."""
    differing = judged(calibrate(campaigns(MEANS)))
    agreeing = judged(calibrate(campaigns([0.0005] * 5)))
    assert (agreeing.verdict, differing.verdict) == ("regression", "inconclusive")
    assert agreeing.estimate_pct == differing.estimate_pct
    assert agreeing.rounds_ci95_pct == differing.rounds_ci95_pct


def test_what_deployments_are_known_not_to_differ_by_can_be_equivalent() -> None:
    """Rounds without a change: nothing is ruled out by the prior, and by A/A campaigns it is."""
    still = rounds([0.001, -0.001, 0.0, 0.0005])
    known = judge([still], 2.0, calibration=calibrate(campaigns([0.0005] * 5)))[0]
    assert (known.verdict, judge([still], 2.0)[0].verdict) == ("equivalent", "inconclusive")


def test_a_bias_of_one_side_is_part_of_what_deployments_differ_by() -> None:
    """Five A/A campaigns that all find -3 % agree about the bias: another -3 % is no change."""
    assert judged(calibrate(campaigns([-0.03] * 5))).verdict == "inconclusive"


def test_the_rounds_alone_have_students_interval_beside_it() -> None:
    """One workload has nothing to moderate it: scipy's paired t test."""
    wanted = scipy.stats.ttest_1samp(D, 0).confidence_interval(0.95)
    assert log_interval(judged().rounds_ci95_pct) == pytest.approx(tuple(wanted))


@pytest.mark.parametrize(
    "aa",
    [
        campaigns(MEANS, threads=[4, 8]),
        campaigns(MEANS, workload=SELECT),
        {f"aa{n}": [rounds([0.01])] for n in range(9)},
    ],
    ids=["other threads", "another workload", "one round each"],
)
def test_only_campaigns_of_the_same_cells_with_two_rounds_count(
    aa: dict[str, list[Rounds]],
) -> None:
    """Others change nothing."""
    assert judged(calibrate(aa)) == judged()


def test_campaigns_of_a_quieter_period_count_for_more_noise() -> None:
    """Rounds that scatter ten times as much: the A/A campaigns' squares grow, and it is said."""
    noisy = rounds([-0.06, 0.0, -0.05, 0.01])
    quiet = calibrate(campaigns([0.001, -0.001, 0.0, 0.001, -0.001]))
    (found,) = judge([noisy], 2.0, calibration=quiet)
    assert found.ci95_pct is not None
    assert found.rounds_ci95_pct is not None
    assert any("vary more" in str(reason) for reason in found.reasons)
    assert not any("vary more" in str(reason) for reason in judged(quiet).reasons)


def test_what_others_show_makes_no_interval_narrower() -> None:
    """One whose A/A campaigns differ by far more than those of three others keeps its own width."""
    apart = {
        f"aa{number}": [
            rounds([noisy + d for d in D_QUIET], SELECT),
            *(rounds([quiet + d for d in D_QUIET], name) for name in ("a", "b", INSERT)),
        ]
        for number, (noisy, quiet) in enumerate(zip(np.multiply(MEANS, 4), MEANS, strict=True))
    }
    names = (SELECT, "a", "b", INSERT)
    judgements = judge([rounds(D, n) for n in names], 2.0, calibration=calibrate(apart))
    low, high = log_interval(judgements[0].ci95_pct)
    own = math.sqrt(statistics.fmean(np.square(np.multiply(MEANS, 4))))
    assert high - low > 2 * 1.96 * own
    assert all(
        np.diff(log_interval(other.ci95_pct)) < high - low  # and they are not as wide
        for other in judgements[1:]
    )


@pytest.mark.parametrize("deployment_sd", [0.0, 0.02])
def test_aa_campaigns_with_other_rounds_count_for_what_their_rounds_leave_over(
    deployment_sd: float,
) -> None:
    """Six deployments of one round, known from twenty A/A campaigns of six: the truth is found."""
    s2, tau2, nothing = 4e-4, deployment_sd**2, np.zeros(5)
    own = Squares(nothing, nothing, nothing + 5 * (tau2 + s2), nothing + 5, nothing + 1)
    aa = Squares(
        *(nothing + 100 * s2, nothing + 100),
        *(nothing + 20 * (tau2 + s2 / 6), nothing + 20, nothing + 1 / 6),
    )
    found = estimated(own, aa, nothing + 6)
    assert found.versions == pytest.approx((tau2 + s2) / 6, rel=0.15)
    assert found.quieter == 1


def test_deployments_that_differ_more_than_those_of_aa_campaigns_are_noticed() -> None:
    """Where the campaign has several; the rounds are alike."""
    s2, nothing = 1e-4, np.zeros(5)
    own = Squares(nothing + 6 * s2, nothing + 6, nothing + 5e-3, nothing + 5, nothing + 0.5)
    aa = Squares(nothing + 60 * s2, nothing + 60, nothing + 20e-4, nothing + 20, nothing + 0.5)
    (quieter,) = estimated(own, aa, nothing + 6).quieter
    assert quieter == pytest.approx(10)
    assert quieter > scipy.stats.f.ppf(0.9, 25, 100)


def test_deployments_of_the_campaign_itself_widen_by_what_they_differ() -> None:
    """Six deployments of a round each: their mean's own t interval, the units being deployments."""
    d = [-0.03, -0.01, -0.05, -0.02, -0.04, -0.03]
    measured = dataclasses.replace(rounds(d), deployments=[1, 2, 3, 4, 5, 6])
    (found,) = judge([measured], 2.0)
    wanted = scipy.stats.ttest_1samp(d, 0).confidence_interval(0.95)
    assert log_interval(found.ci95_pct) == pytest.approx(tuple(wanted))
    assert (found.basis, found.rounds_ci95_pct) == ("deployments", None)


def test_deployments_that_differ_more_than_rounds_give_a_wider_interval() -> None:
    """The same six rounds: alike within two deployments, or as one."""
    d = [-0.04, -0.041, -0.039, -0.01, -0.011, -0.009]
    one = judge([rounds(d)], 2.0)[0]
    two = judge([dataclasses.replace(rounds(d), deployments=[1, 1, 1, 2, 2, 2])], 2.0)[0]
    assert two.estimate_pct == pytest.approx(one.estimate_pct)
    assert two.basis == "deployments"
    assert two.rounds_ci95_pct is not None
    assert one.rounds_ci95_pct is not None
    assert np.diff(two.rounds_ci95_pct) < np.diff(one.rounds_ci95_pct), "within deployments"
    assert np.diff(log_interval(two.ci95_pct)) > 10 * np.diff(log_interval(two.rounds_ci95_pct))


@pytest.mark.parametrize("df", [5, 2])
def test_moderation_pulls_up_and_never_down(df: int) -> None:
    """Of equal ones each knows one degree more; the noisiest keeps its own variance."""
    alike, alike_df = moderated(np.full(5, 1e-4), np.full(5, df))
    assert alike_df == pytest.approx(df + 1)
    assert (alike >= 1e-4).all()
    values = np.array([1e-6, 1e-4, 1e-2])
    unlike, unlike_df = moderated(values, np.full(3, df))
    assert unlike[-1] == values[-1]
    assert unlike[0] > values[0]
    assert ((df < unlike_df) & (unlike_df < df + 1)).all()


def test_the_prior_of_variances_is_that_of_limma() -> None:
    """Drawn from a scaled inverse chi-square with one degree of freedom: 4,000 find it."""
    rng = np.random.default_rng(1)
    truth = 1e-4 / rng.chisquare(1, 4000)
    _, df = moderated(truth * rng.chisquare(5, 4000) / 5, np.full(4000, 5))
    assert 2 * (df[0] - 5) == pytest.approx(1, rel=0.1)


def test_throughput_and_latency_do_not_widen_each_other() -> None:
    """However much more one of them differs between deployments than the other."""
    plain = judged(calibrate(campaigns(MEANS, p95=0)))
    assert judged(calibrate(campaigns(MEANS, p95=20))).ci95_pct == plain.ci95_pct


def test_equal_ratios_still_have_a_width_and_a_p_value() -> None:
    """Rounds that are exactly alike do not make an estimate exact."""
    (found,) = judge([rounds([-0.03] * 4)], 2.0)
    assert found.p_adjusted is not None
    assert found.p_adjusted > 1e-6
    for interval in (found.ci95_pct, found.rounds_ci95_pct):
        low, high = log_interval(interval)
        assert low < -0.03 < high


def test_a_latency_is_not_known_better_than_it_is_printed() -> None:
    """Equal in all rounds, of a client that prints in steps: the interval has the step in it."""
    printed = rounds([0.02, 0.02, 0.02])
    exact_metrics = tuple(dataclasses.replace(one, step=0.0) for one in printed.metrics)
    exact = dataclasses.replace(printed, metrics=exact_metrics)
    (known,), (coarse,) = judge([exact], 2.0), judge([printed], 2.0)
    low, high = log_interval(coarse.latency.rounds_ci95_pct)
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(2 * 0.018**2 / 12), rel=0.01)
    assert coarse.ci95_pct == known.ci95_pct, "throughput is printed finely"


def test_a_throughput_that_follows_from_a_coarse_mean_has_its_step_in_the_interval() -> None:
    """Of TPC-H: the quicker the query, the less is known of it; each thread count has its own."""

    def half_width(qpm: float) -> float:
        figures = [
            (number, count, side, {"qpm": qpm * count, "p95_ms": 60_000 / qpm})
            for number in (1, 2, 3)
            for count in (1, 4)
            for side in SIDES
        ]
        of_query = collect("tpch_q1", tpch.METRICS, (1, 2, 3), (1, 4), SIDES, figures)
        (found,) = judge([of_query], 2.0)
        assert found.latency.rounds_ci95_pct == found.rounds_ci95_pct, "both rest on the same step"
        low, high = log_interval(found.rounds_ci95_pct)
        return (high - low) / 2

    slow, quick = half_width(6), half_width(60)
    assert slow == pytest.approx(1.96 * math.sqrt(2 / 12 / 2) * 67.1 / 10_000, rel=0.01)
    assert quick == pytest.approx(10 * slow, rel=0.01)


def test_a_thread_count_that_most_rounds_lack_does_not_drop_the_rounds() -> None:
    """The others are compared, and the report names what is left out."""
    whole = rounds([-0.03, -0.031, -0.029], threads=[4, 8])
    tps = whole.values["tps"].copy()
    tps[:, 1, :] = math.nan
    (found,) = judge([dataclasses.replace(whole, values={"tps": tps})], 2.0)
    assert found.rounds_used == 3
    assert any("8 threads" in str(reason) for reason in found.reasons)


def test_what_this_plan_cannot_decide_is_told_with_what_could() -> None:
    """An interval wider than the threshold on both sides, whatever the estimate."""
    (found,) = judge([rounds([0.2, -0.2, 0.1, -0.1])], 2.0)
    assert found.verdict == "inconclusive"
    assert "this plan cannot decide" in str(found.reasons[-1])
    assert "more than 100 rounds" in str(found.reasons[-1])


def test_a_change_near_the_threshold_comes_with_the_winners_curse() -> None:
    """And a large one without."""
    quiet = calibrate(campaigns([0.003, -0.003, 0.003, -0.003, 0.0]))
    near = judge([rounds(D)], 2.6, calibration=quiet)[0]
    far = judge([rounds([d - 0.2 for d in D])], 2.6, calibration=quiet)[0]
    assert (near.verdict, far.verdict) == ("regression", "regression")
    assert "winner's curse" in str(near.reasons[-1])
    assert not far.reasons


def test_variances_are_added_with_satterthwaites_degrees_of_freedom() -> None:
    """Equal ones with f degrees each have 2 f; one that is zero adds nothing."""
    assert Variance(2.0, 5) + Variance(2.0, 5) == Variance(4.0, 10)
    assert Variance(2.0, 5) + Variance(0.0, 3) == Variance(2.0, 5)
    assert Variance(0.0, 5) + Variance(0.0, 3) == Variance(0.0, 5)


def test_one_round_is_no_estimate() -> None:
    """Not even with A/A campaigns: nothing shows how the rounds scatter."""
    single = judge([rounds([0.3])], 2.0, calibration=calibrate(campaigns(MEANS)))[0]
    assert (single.verdict, single.ci95_pct) == ("inconclusive", None)


def test_no_calibration_knows_nothing() -> None:
    """Its default neither knows nor counts."""
    assert NO_CALIBRATION.deployment(rounds([0.0]), "throughput") is None
    assert NO_CALIBRATION.count(rounds([0.0])) == 0


@settings(max_examples=100)
@given(
    seed=st.integers(0, 2**32),
    deployments=st.integers(1, 4),
    each=st.integers(1, 4),
    width=st.integers(1, 4),
)
def test_no_interval_is_narrower_than_that_of_the_rounds_alone(
    seed: int, deployments: int, each: int, width: int
) -> None:
    """Of few rounds that agree by chance the prior knew too well how they scatter."""
    random = np.random.default_rng(seed)
    scale = random.choice([0.002, 0.02, 0.2])
    measured = [
        dataclasses.replace(
            rounds(random.normal(0, scale, deployments * each).tolist(), f"w{number}"),
            deployments=[1 + place // each for place in range(deployments * each)],
        )
        for number in range(width)
    ]
    for workload in judge(measured, 2.0):
        for one in (workload, workload.latency):
            if one.rounds_ci95_pct is None:
                assert deployments * each < 3 or each == 1
                continue
            (low, high), (least, most) = map(log_interval, (one.ci95_pct, one.rounds_ci95_pct))
            assert low <= least + 1e-12
            assert high >= most - 1e-12


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_no_interval_of_equivalence_is_narrower_than_that_of_the_rounds_alone(seed: int) -> None:
    """Two deployments that agree by chance: wider at 95 %, and once narrower at 90 %."""
    random, nothing = np.random.default_rng(seed), np.zeros(4)
    own = by_workload([squares(list(random.normal(0, 0.2, (2, 4)))) for _ in range(4)])
    found = estimated(own, Squares(nothing, nothing, nothing, nothing, nothing), nothing + 2)
    for quantile in (0.975, 0.95):
        half, least = (
            scipy.stats.t.ppf(quantile, df) * np.sqrt(variance)
            for variance, df in (
                (found.versions, found.versions_df),
                (found.rounds, found.rounds_df),
            )
        )
        assert (half >= least * (1 - 1e-9)).all()


def test_noisy_rounds_that_agree_by_chance_are_no_regression() -> None:
    """-7.2 %, where the rounds alone say -19 to +6: they once made a regression of it."""
    (found,) = judge([rounds([-0.02, -0.075, -0.129])], 2.0)
    assert found.verdict == "inconclusive"
    assert found.ci95_pct == found.rounds_ci95_pct
    assert found.ci95_pct is not None
    assert found.ci95_pct == pytest.approx((-19.0, 6.3), abs=0.2)


def test_two_workloads_do_not_vouch_for_each_others_noise() -> None:
    """Two variances that happen to be alike say nothing of being so; three do."""
    alike, df = np.full(3, 1e-4), np.full(3, 2.0)
    assert moderated(alike[:2], df[:2])[1].tolist() == [2.0, 2.0]
    assert moderated(alike, df)[1].tolist() == [3.0, 3.0, 3.0]
