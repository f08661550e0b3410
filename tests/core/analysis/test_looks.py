"""Looks while a campaign runs: published bounds, and what they promise of simulated campaigns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchlab.analysis.verdict.looks import levels, sequential_p, unbiased

SEED = 21
EIGHTHS = tuple(k / 8 for k in range(3, 9))
RHOS = [1.0, 1.5, 2.0, 3.0]


def simulated(fractions: Sequence[float], theta: float, campaigns: int) -> np.ndarray:
    """z values of the looks, of shape (campaigns, looks); theta is the mean of the last."""
    steps = np.diff(fractions, prepend=0.0)
    random = np.random.default_rng(SEED)
    parts = random.normal(theta * steps, np.sqrt(steps), (campaigns, len(steps)))
    return np.asarray(parts.cumsum(axis=1) / np.sqrt(fractions))


def two_sided(z: np.ndarray) -> np.ndarray:
    """p values."""
    return np.asarray(2 * stats.norm.sf(np.abs(z)))


def inside(fractions: Sequence[float], lower: np.ndarray, upper: np.ndarray, theta: float) -> float:
    """How often all z values are within limits, by scipy's multivariate normal distribution."""
    t = np.array(fractions)
    found = stats.multivariate_normal.cdf(
        upper,
        theta * np.sqrt(t),
        np.sqrt(np.minimum.outer(t, t) / np.maximum.outer(t, t)),
        abseps=1e-4,
        releps=1e-4,
        lower_limit=lower,
        rng=np.random.default_rng(SEED),
    )
    return float(found)


@pytest.mark.parametrize(
    ("fractions", "alpha", "rho", "bounds"),
    [
        # Casper, Cook and Perez, ldbounds 2.0 (vignette, section 5.5): iuse = 3, alpha = 0.05.
        ((0.2, 0.4, 0.6, 0.8, 1.0), 0.05, 1.0, (2.5758, 2.4919, 2.4108, 2.3391, 2.2754)),
        # Reboussin, DeMets, Kim and Lan (2000), as in the same vignette and ldPower's manual.
        (
            (0.2292, 0.3333, 0.4375, 0.5833, 0.7083, 0.8333),
            0.05,
            1.0,
            (2.53, 2.61, 2.57, 2.47, 2.43, 2.38),
        ),
        # rpact's tests of getDesignInverseNormal: asHSD with gamma 0 is rho 1; asKD. One-sided 3 %.
        ((0.2, 0.4, 1.0), 0.06, 1.0, (2.5121443, 2.4228747, 2.0280392)),
        ((0.3, 0.7, 1.0), 0.06, 2.2, (2.8594012, 2.2435708, 1.9735737)),
    ],
)
def test_bounds_are_those_published(
    fractions: tuple[float, ...], alpha: float, rho: float, bounds: tuple[float, ...]
) -> None:
    """To the digits that are printed; ldbounds is coarser, by 1e-4 and a little more."""
    found = stats.norm.isf(np.array(levels(fractions, alpha, rho=rho)) / 2)
    exact = 2e-7 if len(fractions) == 3 else 2e-4 if bounds[0] > 2.55 else 0.005
    assert found == pytest.approx(bounds, abs=exact)


@pytest.mark.parametrize(
    ("looks", "rho", "inflation", "expected"),
    [
        (3, 1.0, 111.7, (109.9, 103.4, 81.2, 56.5)),
        (10, 2.0, 108.1, (106.6, 99.7, 76.2, 51.0)),
        (2, 3.0, 101.0, (100.7, 98.9, 89.5, 70.7)),
    ],
)
def test_sample_sizes_are_those_of_jennison_and_turnbull(
    looks: int, rho: float, inflation: float, expected: tuple[float, ...]
) -> None:
    """Two-sided 5 %, power 80 %, in percent of one test, with 0, 0.5, 1 and 1.5 times the effect.

    Jennison and Turnbull (2000), chapter 7, as gsDesign's tests quote them (test.JT.Power.symm).
    """
    fractions = tuple(k / looks for k in range(1, looks + 1))
    bounds = stats.norm.isf(np.array(levels(fractions, 0.05, rho=rho)) / 2)
    theta = math.sqrt(inflation / 100) * (stats.norm.ppf(0.975) + stats.norm.ppf(0.8))
    unseen = inside(fractions, np.full(looks, -8.0), bounds, theta)
    assert 1 - unseen == pytest.approx(0.8, abs=3e-4)
    for times, size in zip((0, 0.5, 1, 1.5), expected, strict=True):
        continued = sum(
            inside(fractions[:k], -bounds[:k], bounds[:k], times * theta) for k in range(1, looks)
        )
        assert inflation / looks * (1 + continued) == pytest.approx(size, abs=0.11)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_all_looks_together_err_alpha(rho: float, alpha: float) -> None:
    """No more, and hardly less, of campaigns without any change."""
    campaigns = 40_000
    p = two_sided(simulated(EIGHTHS, 0.0, campaigns))
    error = (p <= levels(EIGHTHS, alpha, rho=rho)).any(axis=1).mean()
    assert error == pytest.approx(alpha, abs=3 * math.sqrt(alpha * (1 - alpha) / campaigns))


def test_t_tests_err_little_more() -> None:
    """Their p values are held against the same levels; with 8 to 13 degrees of freedom here."""
    random = np.random.default_rng(SEED)
    campaigns, known_df = 40_000, 6
    values = random.normal(size=(campaigns, 8))
    known = random.chisquare(known_df, campaigns)
    significant = np.zeros(campaigns, dtype=bool)
    for count, level in zip(range(3, 9), levels(EIGHTHS, 0.05), strict=True):
        seen, df = values[:, :count], count - 1 + known_df
        squares = known + (count - 1) * seen.var(axis=1, ddof=1)
        t = seen.mean(axis=1) / np.sqrt(squares / df / count)
        significant |= 2 * stats.t.sf(np.abs(t), df) <= level
    assert 0.045 < significant.mean() < 0.058


@pytest.mark.parametrize("rho", RHOS)
def test_a_larger_alpha_raises_every_level(rho: float) -> None:
    """What is significant at 1 % is so at 5 %, at whichever look."""
    alphas = np.exp(np.linspace(math.log(1e-12), 0, 40)).tolist()
    for fractions in (EIGHTHS, (1 / 3, 2 / 3, 1.0), tuple(k / 20 for k in range(1, 21))):
        found = np.array([levels(fractions, alpha, rho=rho) for alpha in alphas])
        assert (np.diff(found, axis=0) > 0).all()
        assert (found <= np.array(alphas)[:, None]).all()


def test_one_look_is_an_ordinary_test() -> None:
    """Nothing is paid where nothing was looked at before."""
    assert levels((1.0,), 0.05) == pytest.approx((0.05,))
    for p in (1e-12, 0.003, 0.05, 0.7, 1.0):
        assert sequential_p((p,), (1.0,)) == pytest.approx(p)
        assert unbiased(p, 0, (1.0,), 0.05) == 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.floats(0, 1), st.sampled_from(RHOS))
def test_a_sequential_p_value_only_falls(p: list[float], factor: float, rho: float) -> None:
    """By further looks and by smaller p values; it is never below the smallest of them."""
    found = sequential_p(p, EIGHTHS, rho=rho)
    assert min(p) * (1 - 1e-4) <= found <= 1
    assert found <= sequential_p(p[:1], EIGHTHS, rho=rho)
    assert sequential_p([*p[:-1], p[-1] * factor], EIGHTHS, rho=rho) <= found


@pytest.mark.parametrize("alpha", [1e-9, 0.004, 0.05, 0.3])
@pytest.mark.parametrize("look", range(6))
def test_a_sequential_p_value_is_the_alpha_of_the_level_reached(alpha: float, look: int) -> None:
    """Together with the looks before, which showed nothing."""
    p = [1.0] * look + [levels(EIGHTHS, alpha)[look]]
    assert sequential_p(p, EIGHTHS) == pytest.approx(alpha, rel=2e-4)


def test_sequential_p_values_hold_whenever_one_stops() -> None:
    """They are below a in a share a of cases at most, even with all looks, when they are least."""
    campaigns = 20_000
    p = two_sided(simulated(EIGHTHS, 0.0, campaigns))
    found = np.array([sequential_p(row, EIGHTHS) for row in p.tolist()])
    for a in (0.01, 0.05, 0.1, 0.3):
        assert (found <= a).mean() == pytest.approx(a, abs=3 * math.sqrt(a * (1 - a) / campaigns))


def test_one_sided_sequential_p_values_hold() -> None:
    """Half of what twice the one-sided p values give: below 5 % in 5 % of cases."""
    campaigns = 20_000
    p = stats.norm.sf(simulated(EIGHTHS, 0.0, campaigns))
    found = np.array([sequential_p(row, EIGHTHS) for row in (2 * p).tolist()]) / 2
    error = (p <= np.array(levels(EIGHTHS, 0.10)) / 2).any(axis=1)
    assert ((found <= 0.05) == error).mean() > 0.9999
    assert error.mean() == pytest.approx(0.05, abs=3 * math.sqrt(0.05 * 0.95 / campaigns))


@pytest.mark.parametrize("look", [1, 2, 5])
@pytest.mark.parametrize("p", [1e-6, 0.004, 0.02, 0.2, 0.7])
def test_half_of_campaigns_with_the_unbiased_effect_show_more(look: int, p: float) -> None:
    """A bound crossed earlier, or more at the same look: by scipy's multivariate distribution."""
    upper = stats.norm.isf(np.array([*levels(EIGHTHS, 0.05)[:look], p]) / 2)
    factor = unbiased(p, look, EIGHTHS, 0.05)
    theta = factor * upper[-1] / math.sqrt(EIGHTHS[look])
    less = inside(EIGHTHS[: look + 1], np.full(look + 1, -8.0), upper, theta)
    assert 0 < factor < 1
    assert less == pytest.approx(0.5, abs=2e-4)


@pytest.mark.parametrize(
    ("theta", "uncorrected"), [(0.0, 0.5), (1.5, 0.5), (2.8, 0.59), (4.0, 0.58)]
)
def test_half_of_the_estimates_are_too_high(theta: float, uncorrected: float) -> None:
    """Wherever campaigns end: at a bound or at the last look. Uncorrected, more are too high."""
    campaigns = 2_000
    p = two_sided(z := simulated(EIGHTHS, theta, campaigns))
    significant = p <= levels(EIGHTHS, 0.05)
    last = np.where(significant.any(axis=1), significant.argmax(axis=1), len(EIGHTHS) - 1)
    rows = np.arange(campaigns)
    estimates = z[rows, last] / np.sqrt(np.array(EIGHTHS)[last])
    factors = np.array(
        [unbiased(*at, EIGHTHS, 0.05) for at in zip(p[rows, last].tolist(), last, strict=True)]
    )
    band = 3 * math.sqrt(0.25 / campaigns)
    assert (factors * estimates > theta).mean() == pytest.approx(0.5, abs=band)
    assert (estimates > theta).mean() == pytest.approx(uncorrected, abs=band)
    assert np.abs(factors * estimates).max() <= np.abs(estimates).max()


@pytest.mark.parametrize(
    "fractions", [(0.5, 0.5), (0.6, 0.4), (0.0, 1.0), (0.5, 1.1), (0.5, 0.501)]
)
def test_fractions_ascend(fractions: tuple[float, ...]) -> None:
    """Each look has more data than the last, and none more than all."""
    with pytest.raises(ValueError, match="do not ascend"):
        levels(fractions, 0.05)


def test_what_cannot_be_is_refused() -> None:
    """An alpha that is no share, and more p values than looks, or none."""
    for alpha in (0.0, 1.01):
        with pytest.raises(ValueError, match="alpha"):
            levels(EIGHTHS, alpha)
    for p in ((), (0.1, 0.1)):
        with pytest.raises(ValueError, match="p values of 1 looks"):
            sequential_p(p, (1.0,))


def test_alpha_is_spent_later_with_a_larger_rho() -> None:
    """The first look has less of it, and the last more."""
    for less, more in pairwise(levels(EIGHTHS, 0.05, rho=rho) for rho in RHOS):
        assert more[0] < less[0]
        assert more[-1] > less[-1]
