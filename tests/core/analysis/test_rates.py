"""The rule over thousands of campaigns made from A/A campaigns: the same verdicts, exact limits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlab.analysis.error_rates.resampling import (
    MOST_CHANGE_PCT,
    NoiseModel,
    Resampled,
    changed,
    found_from,
    noise_of,
    outcome,
    power,
    resample,
    share_ci95,
    smallest,
)
from benchlab.analysis.verdict.compare import judge
from benchlab.analysis.verdict.estimates import NO_CALIBRATION, Calibration, calibrate
from benchlab.analysis.verdict.rounds import Rounds, collect
from benchlab.analysis.verdict.variances import PRIOR_VARIANCE, deployment_variance
from benchlab.plan.metric import LATENCY, THROUGHPUT
from benchlab.workloads import sysbench

THRESHOLD = 2.0


def campaign(d: np.ndarray, p95: np.ndarray | None = None) -> list[Rounds]:
    """A campaign with log ratios of the throughput (and p95), of shape (rounds, workloads)."""
    latency = d if p95 is None else p95
    numbers = range(1, len(d) + 1)
    return [
        collect(
            f"w{column}",
            sysbench.METRICS,
            numbers,
            [4],
            ("baseline", "candidate"),
            [
                figure
                for number in numbers
                for figure in (
                    (number, 4, "baseline", {"tps": 1000.0, "p95_ms": 2.0}),
                    (
                        number,
                        4,
                        "candidate",
                        {
                            "tps": 1000 * np.exp(d[number - 1, column]),
                            "p95_ms": 2 * np.exp(latency[number - 1, column]),
                        },
                    ),
                )
            ],
        )
        for column in range(d.shape[1])
    ]


def aa(
    count: int = 5, rounds: int = 6, width: int = 3, noise: float = 0.02, deployment: float = 0.0
) -> dict[str, list[Rounds]]:
    """A/A campaigns of normal noise, as standard deviations of log ratios."""
    random = np.random.default_rng((count, rounds, width))
    return {
        f"aa{n}": campaign(
            random.normal(0, noise, (rounds, width)) + random.normal(0, deployment, width)
        )
        for n in range(count)
    }


def made_of(d: np.ndarray) -> Resampled:
    """Given campaigns, of shape (campaigns, rounds, workloads), as if they had been resampled."""
    rounds = d.shape[1]
    none = np.zeros((len(d), d.shape[2]))
    return Resampled(rounds, d.mean(axis=1), d.var(axis=1, ddof=1) / rounds, none)


def verdicts(d: np.ndarray, kind: str, known: Calibration) -> list[str]:
    """What the rule says of one campaign, of shape (rounds, workloads)."""
    found = judge(campaign(d), THRESHOLD, calibration=known)
    return [w.verdict if kind == "throughput" else w.latency.verdict for w in found]


CALIBRATED = calibrate(aa(count=8, width=4, deployment=0.01))


def noise_with(kind: str, known: Calibration, width: int) -> NoiseModel:
    """Noise with the deployment variances of a calibration."""
    return noise_of(aa(count=5, width=width), kind, known)


any_campaign = given(
    seed=st.integers(0, 2**32),
    rounds=st.integers(3, 8),
    width=st.integers(1, 4),
    kind=st.sampled_from((THROUGHPUT, LATENCY)),
    known=st.sampled_from([NO_CALIBRATION, CALIBRATED]),
)


@settings(max_examples=40)
@any_campaign
def test_the_rule_over_arrays_is_the_rule(
    seed: int, rounds: int, width: int, kind: str, known: Calibration
) -> None:
    """Every workload of every campaign is called a change by both or by neither."""
    random = np.random.default_rng(seed)
    scale = random.choice([0.003, 0.02, 0.08])
    shift = random.choice([0.0, 0.02, 0.1], size=(5, 1, width))
    d = random.normal(0, scale, (5, rounds, width)) + shift
    found = changed(made_of(d), noise_with(kind, known, width), THRESHOLD)
    for one, flags in zip(d, found, strict=True):
        is_change = [v in ("regression", "improvement") for v in verdicts(one, kind, known)]
        assert is_change == flags.tolist()


@settings(max_examples=40)
@any_campaign
def test_a_slowdown_is_found_from_its_limit_on_and_not_below(
    seed: int, rounds: int, width: int, kind: str, known: Calibration
) -> None:
    """The candidate slowed down by a hair more is a regression; by a hair less it is none."""
    random = np.random.default_rng(seed)
    d = random.normal(0, random.choice([0.003, 0.02]), (3, rounds, width))
    d += random.choice(
        [0.0, 0.0, 0.2, -0.2], size=(3, 1, width)
    )  # of the others, some have changed
    found = found_from(made_of(d), noise_with(kind, known, width), THRESHOLD)
    for one, limits in zip(d, found, strict=True):
        for column, limit in enumerate(limits):
            for factor, expected in ((1 + 1e-6, True), (1 - 1e-6, False)):
                slowed = one.copy()
                change = factor * limit / 100
                slowed[:, column] += np.log1p(change if kind == LATENCY else -change)
                is_found = verdicts(slowed, kind, known)[column] == "regression"
                assert is_found == expected or limit == 0


def test_resampled_campaigns_scatter_as_the_rounds_did() -> None:
    """Their rounds have the pool's variance, and their means no drift to either side."""
    noise = noise_of(aa(count=6, rounds=4), "throughput", NO_CALIBRATION)
    made = resample(noise, 5)
    of_rounds = made.variances.mean(axis=0) * 5
    assert of_rounds == pytest.approx(noise.round_variances, rel=0.05)
    assert made.means.var(axis=0) == pytest.approx(noise.round_variances / 5, rel=0.05)
    assert (abs(made.means.mean(axis=0)) < 0.02 * np.sqrt(noise.round_variances)).all()


def test_even_three_rounds_never_agree_by_being_the_same_one() -> None:
    """Else the rule would see campaigns without any noise."""
    made = resample(noise_of(aa(count=1, rounds=3), "throughput", NO_CALIBRATION), 3)
    assert (made.variances > 0).all()


def test_the_workloads_of_a_round_stay_together() -> None:
    """Workloads that are disturbed alike are so in resampled campaigns as well."""
    d = np.random.default_rng(1).normal(0, 0.02, (12, 1))
    alike = {"aa": campaign(np.concatenate([d, 2 * d], axis=1))}
    made = resample(noise_of(alike, "throughput", NO_CALIBRATION), 4)
    assert made.means[:, 1] == pytest.approx(2 * made.means[:, 0])


def test_each_resampled_campaign_is_a_deployment_of_its_own() -> None:
    """Its estimates are off by what A/A campaigns show; without any by the prior."""
    campaigns = aa(count=20, deployment=0.01)
    known = calibrate(campaigns)
    noise = noise_of(campaigns, "throughput", known)
    variances = deployment_variance(noise.known)
    assert variances == pytest.approx([1e-4] * 3, rel=0.9)
    assert resample(noise, 3).deployments.var(axis=0) == pytest.approx(variances, rel=0.05)
    unknown = noise_of(campaigns, "throughput", NO_CALIBRATION)
    assert resample(unknown, 3).deployments.var(axis=0) == pytest.approx(
        [PRIOR_VARIANCE] * 3, rel=0.05
    )


def test_the_family_wise_rate_is_what_the_rule_promises() -> None:
    """With noise far above the threshold: throughput's 8/9 of 5 %, latency's 1/9, and no more."""
    campaigns = aa(count=40, noise=0.2)
    for kind, most in ((THROUGHPUT, 0.055), (LATENCY, 0.01)):
        found = outcome(noise_of(campaigns, kind, NO_CALIBRATION), 6, THRESHOLD)
        assert found is not None
        assert found.any_false_alarm / found.campaigns < most
        for alarms in found.false_alarms.values():
            assert alarms <= found.any_false_alarm


def test_the_smallest_change_is_the_one_that_four_of_five_campaigns_find() -> None:
    """Its power is 80 %, and anything smaller has less."""
    found = outcome(noise_of(aa(), "throughput", NO_CALIBRATION), 6, THRESHOLD)
    assert found is not None
    for name, limit in found.smallest.items():
        assert limit is not None
        assert limit > THRESHOLD
        at, below = power(found.found[name], [limit, limit * (1 - 1e-9)])
        assert below < 0.8 <= at
        curve = power(found.found[name], np.linspace(0, 50, 40).tolist())
        assert curve == sorted(curve)
        assert 0 <= curve[0] <= curve[-1] <= 1


def test_more_rounds_and_less_noise_find_smaller_changes() -> None:
    """And a rule that does not even find 50 % is said to find none."""
    noise = noise_of(aa(), "throughput", NO_CALIBRATION)

    def finds(made: Resampled) -> Sequence[float | None]:
        return smallest(found_from(made, noise, THRESHOLD))

    def scaled(made: Resampled, factor: float) -> Resampled:
        means, variances = made.means * factor, made.variances * factor**2
        return dataclasses.replace(made, means=means, variances=variances)

    few, many = finds(resample(noise, 3)), finds(resample(noise, 12))
    calm = finds(scaled(resample(noise, 3), 0.2))
    for a, b, c in zip(few, many, calm, strict=True):
        assert a is not None
        assert b is not None
        assert c is not None
        assert b < a > c
    assert finds(scaled(resample(noise, 2), 50)) == [None, None, None]
    assert smallest(np.full((10, 1), MOST_CHANGE_PCT)) == [MOST_CHANGE_PCT]


def test_the_same_campaigns_give_the_same_figures_in_any_order() -> None:
    """A seed decides the resampling, and ids the order of the pool."""
    campaigns = aa()
    backwards: Mapping[str, list[Rounds]] = dict(reversed(campaigns.items()))
    first, second = (
        resample(noise_of(order, LATENCY, NO_CALIBRATION), 4) for order in (campaigns, backwards)
    )
    assert (first.means == second.means).all()
    assert (first.variances == second.variances).all()


def test_what_is_missing_is_left_out_and_counted() -> None:
    """A round that lacks a workload takes no part; a workload without rounds is not there."""
    campaigns = aa(count=2, rounds=4)
    campaigns["aa0"][0].values["tps"][1, 0, 1] = np.nan
    for workloads in campaigns.values():
        workloads[2].values["tps"][:] = np.nan
    noise = noise_of(campaigns, "throughput", NO_CALIBRATION)
    assert noise.workloads == ("w0", "w1")
    assert noise.residuals.shape == (7, 2)
    assert noise.left_out == 1
    assert np.isfinite(noise.residuals).all()


@pytest.mark.parametrize("campaigns", [{}, {"aa": []}, aa(count=3, rounds=1)])
def test_without_two_complete_rounds_nothing_is_said(
    campaigns: dict[str, list[Rounds]],
) -> None:
    """No rate and no change is made of nothing."""
    noise = noise_of(campaigns, "throughput", NO_CALIBRATION)
    assert noise.workloads == ()
    assert outcome(noise, 6, THRESHOLD) is None


def test_with_one_round_nothing_is_ever_called_a_change() -> None:
    """There is nothing to resample: the rule needs two."""
    assert outcome(noise_of(aa(), "throughput", NO_CALIBRATION), 1, THRESHOLD) is None


def test_rounds_that_agree_to_the_last_digit_are_no_error() -> None:
    """p95 latencies come in steps: their differences may all be nothing."""
    noise = noise_of({"aa": campaign(np.zeros((4, 2)))}, LATENCY, NO_CALIBRATION)
    found = outcome(noise, 4, THRESHOLD)
    assert found is not None
    assert found.any_false_alarm == 0
    assert all(limit is not None and limit >= THRESHOLD for limit in found.smallest.values())


def test_a_share_has_its_exact_interval() -> None:
    """Clopper and Pearson's, as tables have it."""
    assert share_ci95(0, 20) == pytest.approx((0, 0.1684), abs=1e-4)
    assert share_ci95(20, 20) == pytest.approx((0.8316, 1), abs=1e-4)
    assert share_ci95(5, 50) == pytest.approx((0.0333, 0.2181), abs=1e-4)


def test_a_p95_that_is_longer_and_a_throughput_that_is_less_are_found_alike() -> None:
    """In logarithms the two limits differ by the threshold's asymmetry alone, at one level."""
    campaigns = aa(noise=0.05)
    rate, latency = (
        outcome(dataclasses.replace(noise_of(campaigns, kind, NO_CALIBRATION), level=0.05), 6, 2.0)
        for kind in (THROUGHPUT, LATENCY)
    )
    assert rate is not None
    assert latency is not None
    for name, less in rate.smallest.items():
        longer = latency.smallest[name]
        assert less is not None
        assert longer is not None
        assert longer == pytest.approx(100 * less / (100 - less), rel=0.05)
