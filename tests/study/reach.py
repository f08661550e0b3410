"""What other rules would reach on the same campaigns: how variances are shared, and the prior.

The rule is a choice between finding more and being wrong of some workloads. These tables show what
was not chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from unittest import mock

import numpy as np
from scipy.special import digamma

from benchlab.analysis.verdict import variances
from tests.study import at_once
from tests.study.at_once import Estimates
from tests.study.figures import Key, Share, share_of
from tests.study.worlds import DEPLOYMENT, NOISE, ROUNDS, WORKLOADS, Array, World, unlike

SEED = 20290801
CAMPAIGNS = 5000

APART = unlike("x0.4 to x2.5", np.geomspace(0.4, 2.5, len(WORKLOADS)).tolist())
ONE = unlike("one three times as noisy", (1, 1, 1, 1, 3))
SPLIT = 6
PRIORS = ((0.7, 4), (0.7, 2), (1.0, 4), (1.0, 3), (1.5, 4))
"""Standard deviation of a side's deployment in percent, and degrees of freedom."""
DEPLOYMENTS = (0.7, 1.0, 1.5)
CALIBRATED = 5


def sharing() -> dict[Key, Share]:
    """By rule and what is counted: six deployments of one round, and nothing known."""
    found: dict[Key, Share] = {}
    for name, rule in SHARING.items():
        for world, percent in ((NOISE, -2.5), (DEPLOYMENT, -5.0)):
            estimates = rule(_ratios(world, SPLIT), world)
            found[name, f"{percent:g} % found, {world.name}"] = _found(estimates, percent)
        for world in (APART, ONE):
            estimates = rule(_ratios(world, SPLIT), world)
            covered = share_of(estimates.covered[:, -1])
            found[name, f"the noisiest covered, {world.name}"] = covered
    return found


def priors() -> dict[Key, Share]:
    """By prior and what is counted: one deployment of six rounds."""
    found: dict[Key, Share] = {}
    random = np.random.default_rng(SEED)
    aa = at_once.known(DEPLOYMENT, CAMPAIGNS, random, CALIBRATED, ROUNDS)
    own = _ratios(DEPLOYMENT, 1)
    for percent, df in PRIORS:
        name = f"{percent:g} %, {df} degrees of freedom"
        with mock.patch.multiple(
            variances, PRIOR_VARIANCE=2 * (percent / 100) ** 2, PRIOR_DF=float(df)
        ):
            for sd in DEPLOYMENTS:
                world = replace(DEPLOYMENT, deployment_sd=sd / 100)
                estimates = at_once.judged(_ratios(world, 1))
                called = share_of((estimates.called != 0).any(axis=1))
                found[name, f"called a change, deployments of {sd:g} %"] = called
                found[name, f"covered, deployments of {sd:g} %"] = share_of(estimates.covered)
            for change in (-5.0, -7.5):
                found[name, f"{change:g} % found"] = _found(at_once.judged(own), change)
            found[name, f"-5 % found, {CALIBRATED} A/A"] = _found(at_once.judged(own, aa), -5.0)
    return found


def _ratios(world: World, deployments: int) -> Array:
    """The same for the same arguments, whichever rule judges them."""
    random = np.random.default_rng([SEED, deployments])
    return at_once.ratios(world, CAMPAIGNS, random, ROUNDS, deployments)


def _alone(ratios: Array) -> tuple[Array, Array, int]:
    """Means of deployments, their variances, and the degrees of freedom of these."""
    means = ratios.mean(-1)
    count = means.shape[-1]
    return means.mean(-1), means.var(-1, ddof=1) / count, count - 1


def _own_t(ratios: Array, _: World) -> Estimates:
    mean, variance, df = _alone(ratios)
    return Estimates(mean, variance, np.full(mean.shape, float(df)))


def _moderated_t(ratios: Array, _: World) -> Estimates:
    """Smyth (2004) as it is: to either side, as far as the variances are alike."""
    mean, variance, df = _alone(ratios)
    d0, log = variances._alike(variance, np.full(len(WORKLOADS), float(df)), 1e4)
    s0 = np.exp(log + digamma(d0 / 2) - np.log(d0 / 2))
    total = np.minimum(d0 + df, len(WORKLOADS) * df)
    return Estimates(mean, (d0 * s0 + df * variance) / (d0 + df), total + np.zeros_like(mean))


def _oracle(ratios: Array, world: World) -> Estimates:
    """Knows the variances."""
    deployments, rounds = ratios.shape[2:]
    side = world.deployment_sd**2 + (world.block_sd**2 + world.cell_sd**2 / 6) / rounds
    mean = ratios.mean((-1, -2))
    variance = 2 * np.square(world.scales) * side / deployments + np.zeros_like(mean)
    return Estimates(mean, variance, np.full(mean.shape, 1e6))


SHARING: dict[str, Callable[[Array, World], Estimates]] = {
    "each workload's own t": _own_t,
    "Benchlab": lambda ratios, _: at_once.judged(ratios),
    "moderated t (Smyth 2004)": _moderated_t,
    "oracle: the variances are known": _oracle,
}


def _found(estimates: Estimates, percent: float) -> Share:
    """A loss of the first workload."""
    change = np.zeros(len(WORKLOADS))
    change[0] = np.log1p(percent / 100)
    return share_of(estimates.moved(change).called[:, 0] == -1)
