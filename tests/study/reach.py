"""What other rules would reach on the same campaigns: how variances are shared, and the prior.

The rule is a choice between finding more and being wrong of some workloads. These tables show what
was not chosen. The variances of Benchlab are those of
:func:`benchlab.analysis.verdict.variances.estimated`, for all campaigns at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import digamma

from benchlab.analysis.verdict import variances
from benchlab.analysis.verdict.variances import Squares
from tests.study.figures import Share, share_of
from tests.study.rules import ALPHA, THRESHOLD_PCT, adjusted
from tests.study.worlds import DEPLOYMENT, NOISE, WORKLOADS, Array, World, draw, unlike

SEED = 20290801
CAMPAIGNS = 5000

Estimates = tuple[Array, Array, Array]
"""Means of log ratios, their variances and degrees of freedom, of shape (campaigns, workloads)."""

APART = unlike("x0.4 to x2.5", np.geomspace(0.4, 2.5, len(WORKLOADS)))
ONE = unlike("one three times as noisy", (1, 1, 1, 1, 3))
SPLIT = 6
PRIORS = ((0.7, 4), (0.7, 2), (1.0, 4), (1.0, 3), (1.5, 4))
"""Standard deviation of a side's deployment in percent, and degrees of freedom."""
DEPLOYMENTS = (0.7, 1.0, 1.5)
CALIBRATED = 5


def sharing() -> dict[tuple[str, str], Share]:
    """By rule and what is counted: six deployments of one round, and nothing known."""
    found = {}
    for name, rule in SHARING.items():
        for world, percent in ((NOISE, -2.5), (DEPLOYMENT, -5.0)):
            estimates = rule(_ratios(world, SPLIT), world)
            found[name, f"{percent:g} % found, {world.name}"] = _found(estimates, percent)
        for world in (APART, ONE):
            estimates = rule(_ratios(world, SPLIT), world)
            found[name, f"the noisiest covered, {world.name}"] = _covered(
                estimates, slice(-1, None)
            )
    return found


def priors() -> dict[tuple[str, str], Share]:
    """By prior and what is counted: one deployment of six rounds."""
    found = {}
    for percent, df in PRIORS:
        name = f"{percent:g} %, {df} degrees of freedom"
        prior = {"PRIOR_VARIANCE": 2 * (percent / 100) ** 2, "PRIOR_DF": float(df)}
        with mock.patch.multiple(variances, **prior):
            for sd in DEPLOYMENTS:
                estimates = _estimated(_ratios(replace(DEPLOYMENT, deployment_sd=sd / 100), 1))
                found[name, f"called a change, deployments of {sd:g} %"] = _called(estimates)
                found[name, f"covered, deployments of {sd:g} %"] = _covered(estimates, slice(None))
            for change in (-5.0, -7.5):
                estimates = _estimated(_ratios(DEPLOYMENT, 1))
                found[name, f"{change:g} % found, no A/A"] = _found(estimates, change)
            known = _ratios(DEPLOYMENT, CALIBRATED, CALIBRATED * 6)
            estimates = _estimated(_ratios(DEPLOYMENT, 1), known)
            found[name, f"-5 % found, {CALIBRATED} A/A"] = _found(estimates, -5.0)
    return found


def _ratios(world: World, deployments: int, rounds: int = 6) -> Array:
    """Log ratios of rounds, of shape (campaigns, workloads, deployments, rounds of each).

    The same for the same arguments, whichever rule judges them.
    """
    random = np.random.default_rng([SEED, deployments, rounds])
    drawn = np.log(draw(world, CAMPAIGNS, random, rounds=rounds, deployments=deployments))
    means = (drawn[..., 1] - drawn[..., 0]).mean(-1)
    return np.asarray(means.reshape(*means.shape[:2], deployments, -1))


def _squares(ratios: Array, *, about_zero: bool) -> Squares:
    means, nothing = ratios.mean(-1), np.zeros(len(WORKLOADS))
    deployments, rounds = ratios.shape[2:]
    center = 0.0 if about_zero else means.mean(-1, keepdims=True)
    return Squares(
        within=((ratios - means[..., None]) ** 2).sum((-1, -2)),
        within_df=nothing + deployments * (rounds - 1),
        between=((means - center) ** 2).sum(-1),
        between_df=nothing + deployments - (not about_zero),
        inverse_rounds=nothing + 1 / rounds,
    )


def _estimated(ratios: Array, known: Array | None = None) -> Estimates:
    """As Benchlab does."""
    nothing = np.zeros(len(WORKLOADS))
    aa = Squares(*[nothing] * 5) if known is None else _squares(known, about_zero=True)
    own = _squares(ratios, about_zero=False)
    found = variances.estimated(own, aa, nothing + ratios.shape[2])
    return ratios.mean((-1, -2)), found.versions, found.versions_df


def _alone(ratios: Array) -> tuple[Array, Array, int]:
    """Means of deployments, their variances, and the degrees of freedom of these."""
    means = ratios.mean(-1)
    count = means.shape[-1]
    return means.mean(-1), means.var(-1, ddof=1) / count, count - 1


def _own_t(ratios: Array, _: World) -> Estimates:
    mean, variance, df = _alone(ratios)
    return mean, variance, np.full(mean.shape, df)


def _moderated_t(ratios: Array, _: World) -> Estimates:
    """Smyth (2004) as it is: to either side, as far as the variances are alike."""
    mean, variance, df = _alone(ratios)
    d0, log = variances._alike(variance, np.full(len(WORKLOADS), float(df)), 1e4)
    s0 = np.exp(log + digamma(d0 / 2) - np.log(d0 / 2))
    total = np.minimum(d0 + df, len(WORKLOADS) * df)
    return mean, (d0 * s0 + df * variance) / (d0 + df), total + np.zeros_like(mean)


def _oracle(ratios: Array, world: World) -> Estimates:
    """Knows the variances."""
    rounds = ratios.shape[-1]
    side = world.deployment_sd**2 + (world.block_sd**2 + world.cell_sd**2 / 6) / rounds
    variance = 2 * np.square(world.scales) * side / ratios.shape[2]
    mean = ratios.mean((-1, -2))
    return mean, variance + np.zeros_like(mean), np.full(mean.shape, 1e6)


SHARING: dict[str, Callable[[Array, World], Estimates]] = {
    "each workload's own t": _own_t,
    "Benchlab": lambda ratios, _: _estimated(ratios),
    "moderated t (Smyth 2004)": _moderated_t,
    "oracle: the variances are known": _oracle,
}


def _changes(mean: Array, variance: Array, df: Array) -> NDArray[np.bool_]:
    """Which are called a change."""
    p = adjusted(2 * stats.t.sf(abs(mean) / np.sqrt(variance), df))
    return (p < ALPHA) & (100 * abs(np.expm1(mean)) >= THRESHOLD_PCT)


def _called(estimates: Estimates) -> Share:
    return share_of(_changes(*estimates).any(axis=1))


def _found(estimates: Estimates, percent: float) -> Share:
    """A loss of the first workload."""
    mean, variance, df = estimates
    moved = mean.copy()
    moved[:, 0] += np.log1p(percent / 100)
    return share_of(_changes(moved, variance, df)[:, 0] & (moved[:, 0] < 0))


def _covered(estimates: Estimates, workloads: slice) -> Share:
    mean, variance, df = estimates
    half = stats.t.ppf(0.975, df) * np.sqrt(variance)
    return share_of((abs(mean) <= half)[:, workloads])
