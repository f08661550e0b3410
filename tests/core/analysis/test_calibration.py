"""Deployments: what A/A campaigns show about them is added to every interval, and never guessed."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
import scipy.stats

from benchlab.analysis.verdict.calibration import MIN_CAMPAIGNS, NO_CALIBRATION, calibrate
from benchlab.analysis.verdict.compare import judge
from benchlab.analysis.verdict.decision import KINDS
from benchlab.analysis.verdict.paired import Variance, estimate
from benchlab.analysis.verdict.rounds import Rounds, collect
from benchlab.plan.report_type import SIDES

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
        "tps",
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


def test_the_deployment_variance_is_what_the_rounds_do_not_explain() -> None:
    """By hand: the variance of the five estimates, less the mean of s^2 / R."""
    found = calibrate(campaigns(MEANS)).deployment(rounds([0.0, 0.0]), "throughput")
    assert found is not None
    within = (0.001**2 * 20 / 3) / 4
    assert found.value == pytest.approx(0.00025 - within)
    assert 1 <= found.df <= MIN_CAMPAIGNS - 1


def test_a_deployment_variance_is_known_as_well_as_satterthwaite_says() -> None:
    """By hand, of five campaigns whose rounds scatter by different amounts, and then in the
    interval of a comparison: Student's, of the sum of both variances.
    """
    spreads = (0.001, 0.002, 0.004, 0.002, 0.001)
    aa = {
        f"aa{n}": campaigns([mean], spread)["aa0"]
        for n, (mean, spread) in enumerate(zip(MEANS, spreads, strict=True))
    }
    # Rounds at -3, -1, 1 and 3 spreads: s^2 is 20/3 of the square; its mean has a quarter of it.
    own = [20 / 3 * spread**2 / 4 for spread in spreads]
    within = sum(own) / 5
    df_within = sum(own) ** 2 / sum(v**2 / 3 for v in own)
    value = 0.00025 - within
    df = value**2 / (0.00025**2 / 4 + within**2 / df_within)
    found = calibrate(aa).deployment(rounds([0.0, 0.0]), "throughput")
    assert found is not None
    assert (found.value, found.df) == pytest.approx((value, df))

    d = [-0.029, -0.030, -0.031, -0.030]
    square = statistics.variance(d) / 4
    total = (square + value) ** 2 / (square**2 / 3 + value**2 / df)
    low, high = scipy.stats.t.interval(0.95, total, -0.03, math.sqrt(square + value))
    (judged,) = judge([rounds(d)], 2.0, calibration=calibrate(aa))
    assert judged.ci95_pct == pytest.approx((100 * math.expm1(low), 100 * math.expm1(high)))


def test_a_deployment_variance_has_one_degree_of_freedom_at_least() -> None:
    """Where the rounds explain nearly all of it Satterthwaite's would be far below one."""
    means = [mean * math.sqrt(1.01 * 20 / 3 / 4) * 0.01 / math.sqrt(0.00025) for mean in MEANS]
    found = calibrate(campaigns(means, 0.01)).deployment(rounds([0.0]), "throughput")
    assert found is not None
    assert (found.value, found.df) == pytest.approx((0.01 * 0.01**2 * 20 / 3 / 4, 1))


def test_more_workloads_do_not_make_more_deployments() -> None:
    """Where one of three agrees it takes their mean, known as well as one deployment variance.

    The mean of two times 0.00025 with 4 degrees of freedom, and of 0, would have 8 by itself.
    """
    agreeing = "oltp_delete"
    aa = {
        f"aa{n}": [
            *(rounds([mean, mean], workload=name) for name in (INSERT, SELECT)),
            rounds([0.0, 0.0], workload=agreeing),
        ]
        for n, mean in enumerate(MEANS)
    }
    found = calibrate(aa).deployment(rounds([0.0], workload=agreeing), "throughput")
    assert found is not None
    assert (found.value, found.df) == pytest.approx((0.0005 / 3, 4))


def test_a_change_that_one_deployment_may_be_is_no_change_once_it_is_known() -> None:
    """The same rounds: a regression of this deployment, inconclusive for the versions."""
    measured = rounds([-0.029, -0.030, -0.031, -0.030])
    alone = judge([measured], 2.0)[0]
    known = judge([measured], 2.0, calibration=calibrate(campaigns(MEANS)))[0]
    assert (alone.verdict, alone.scope) == ("regression", "this deployment")
    assert (known.verdict, known.scope) == ("inconclusive", "versions")
    assert known.estimate_pct == alone.estimate_pct
    assert known.ci95_pct is not None
    assert alone.ci95_pct is not None
    assert known.ci95_pct[0] < alone.ci95_pct[0]
    assert known.ci95_pct[1] > 0


def test_deployments_that_differ_by_nothing_widen_nothing() -> None:
    """Where the rounds explain it all the interval is Student's own."""
    aa = campaigns([0.0] * 6, spread=0.01)
    measured = rounds([-0.03, -0.031, -0.032, -0.03])
    plain, known = judge([measured], 2.0)[0], judge([measured], 2.0, calibration=calibrate(aa))[0]
    assert known.ci95_pct == plain.ci95_pct
    assert known.scope == "versions"


@pytest.mark.parametrize(
    ("aa", "count"),
    [
        (campaigns(MEANS[:4]), 4),
        ({}, 0),
        (campaigns(MEANS, threads=[4, 8]), 0),
        (campaigns(MEANS, workload=SELECT), 0),
        ({f"aa{n}": [rounds([0.01])] for n in range(9)}, 0),
    ],
    ids=["four", "none", "other threads", "another workload", "one round each"],
)
def test_with_too_few_the_verdict_holds_for_this_deployment(
    aa: dict[str, list[Rounds]], count: int
) -> None:
    """Fewer than five, of another setting, or of one round: nothing is added, and it is said."""
    measured = rounds([-0.03, -0.031])
    calibration = calibrate(aa)
    found = judge([measured], 2.0, calibration=calibration)[0]
    assert calibration.deployment(measured, "throughput") is None
    assert (found.scope, found.aa_campaigns) == ("this deployment", count)
    assert found.ci95_pct == judge([measured], 2.0)[0].ci95_pct


def test_p95_latency_has_a_variance_of_its_own() -> None:
    """If A/A campaigns have no latency, throughput is calibrated and p95 is not."""
    calibration = calibrate(campaigns(MEANS, p95=0))
    measured = rounds([-0.03, -0.031, -0.029])
    assert calibration.deployment(measured, "throughput") is not None
    assert calibration.deployment(measured, "p95") is None
    assert calibrate(campaigns(MEANS)).deployment(measured, "p95") is not None


@pytest.mark.parametrize("times", [20, 0.05])
def test_throughput_and_latency_do_not_widen_each_other(times: float) -> None:
    """However much more, or less, one of them differs between deployments than the other."""
    found = calibrate(campaigns(MEANS, p95=times))
    rate, latency = (found.deployment(rounds([0.0]), kind) for kind in KINDS)
    assert rate is not None
    assert latency is not None
    assert rate == calibrate(campaigns(MEANS, p95=0)).deployment(rounds([0.0]), "throughput")
    assert latency.value == pytest.approx(times**2 * rate.value)


def test_a_workload_whose_deployments_agree_by_chance_takes_the_mean_of_all() -> None:
    """Five campaigns of one workload that agree are luck where the other workload's differ."""
    aa = {
        name: [*found, rounds([0.001, -0.001, 0.001, -0.001], workload=SELECT)]
        for name, found in campaigns(MEANS).items()
    }
    calibration = calibrate(aa)
    differing = calibration.deployment(rounds([0.0]), "throughput")
    agreeing = calibration.deployment(rounds([0.0], workload=SELECT), "throughput")
    assert differing is not None
    assert agreeing is not None
    excess = [0.00025 - (0.001**2 * 20 / 3) / 4, 0 - (0.001**2 * 4 / 3) / 4]
    assert agreeing.value == pytest.approx(np.mean(excess))
    assert differing.value > agreeing.value > 0


def test_a_latency_is_not_known_better_than_it_is_printed() -> None:
    """Equal in all rounds, of a client that prints in steps: the interval has the step in it."""
    printed = rounds([0.02, 0.02, 0.02])
    exact = dataclasses.replace(printed, latency_step=0.0)
    (known,), (coarse,) = judge([exact], 2.0), judge([printed], 2.0)
    assert known.p95.ci95_pct == pytest.approx((known.p95.estimate_pct,) * 2, abs=1e-9)
    low, high = coarse.p95.ci95_pct or (0.0, 0.0)
    half = 100 * 1.96 * math.sqrt(2 * 0.018**2 / 12)
    assert high - low == pytest.approx(2 * half, rel=0.05)
    assert coarse.ci95_pct == known.ci95_pct, "throughput is printed finely"


def test_a_verdict_on_p95_that_is_not_calibrated_keeps_the_scope() -> None:
    """A/A campaigns without latencies say nothing about them; unmeasured ones are not missed."""
    calibration = calibrate(campaigns(MEANS, p95=0))
    d = [-0.03, -0.031, -0.029]
    (both,) = judge([rounds(d)], 2.0, calibration=calibration)
    (alone,) = judge([rounds(d, p95=0)], 2.0, calibration=calibration)
    assert (both.scope, alone.scope) == ("this deployment", "versions")


def test_variances_are_added_with_satterthwaites_degrees_of_freedom() -> None:
    """Equal ones with f degrees each have 2 f; one that is zero adds nothing."""
    assert Variance(2.0, 5) + Variance(2.0, 5) == Variance(4.0, 10)
    assert Variance(2.0, 5) + Variance(0.0, 3) == Variance(2.0, 5)
    assert Variance(0.0, 5) + Variance(0.0, 3) == Variance(0.0, 5)


def test_rounds_that_agree_to_the_last_digit_are_sure() -> None:
    """Without scatter the interval is the estimate, and any change but none is significant."""
    for mean, p in ((0.5, 0.0), (-0.5, 0.0), (0.0, 1.0)):
        found = estimate([mean, mean])
        assert found is not None
        assert (found.mean, found.variance) == (mean, Variance(0.0, 1))
        assert found.p_value == p
        assert found.interval(0.95) == (mean, mean)
    faster, slower, same = (
        judge([rounds([mean, mean], p95=0)], 2.0)[0].verdict for mean in (0.5, -0.5, 0.0)
    )
    assert (faster, slower, same) == ("improvement", "regression", "equivalent")


def test_one_value_is_no_estimate() -> None:
    """Not even with a deployment variance: nothing shows how the rounds scatter."""
    assert estimate([0.3], Variance(0.1, 4)) is None
    single = judge([rounds([0.3])], 2.0, calibration=calibrate(campaigns(MEANS)))[0]
    assert (single.verdict, single.ci95_pct) == ("inconclusive", None)


def test_no_calibration_knows_nothing() -> None:
    """Its default neither knows nor counts."""
    assert NO_CALIBRATION.deployment(rounds([0.0]), "throughput") is None
    assert NO_CALIBRATION.count(rounds([0.0])) == 0
