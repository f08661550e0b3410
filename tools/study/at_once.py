"""The decision rule on all simulated campaigns at once, which takes a hundredth of the time.

The variances are those of :func:`benchlab.analysis.verdict.variances.estimated`, which takes arrays
of campaigns; what is made of them is written down here once more. A test holds both together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchlab.analysis.verdict.decision import SHARES
from benchlab.analysis.verdict.variances import Squares, estimated
from benchlab.plan.metric import THROUGHPUT
from tools.study.rules import ALPHA, THRESHOLD_PCT, adjusted
from tools.study.worlds import Array, World, draw


@dataclass(frozen=True)
class Estimates:
    """Of the log ratios, each of shape (campaigns, workloads): means, their variances, and df.

    Attributes:
        share: of the 5 %, what their family may err; throughput's in a report with all families.
    """

    mean: Array
    variance: Array
    df: Array
    share: float = SHARES[THROUGHPUT]

    @property
    def p_values(self) -> Array:
        """Of each workload alone."""
        return np.asarray(2 * stats.t.sf(abs(self.mean) / np.sqrt(self.variance), self.df))

    @property
    def called(self) -> NDArray[np.int8]:
        """1 for an improvement, -1 for a regression, 0 for no change."""
        change = (adjusted(self.p_values) < self.share * ALPHA) & (
            abs(self._percent) >= THRESHOLD_PCT
        )
        return np.where(change, np.sign(self.mean), 0).astype(np.int8)

    @property
    def equivalent(self) -> NDArray[np.bool_]:
        """Where the 90 % interval lies inside the threshold, and no change is called."""
        low, high = self._percents(0.90)
        inside = (low > -THRESHOLD_PCT) & (high < THRESHOLD_PCT)
        return np.asarray(inside & (self.called == 0))

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Where the 95 % interval contains the truth, which is no change."""
        low, high = self._percents(0.95)
        return np.asarray((low <= 0) & (high >= 0))

    def moved(self, change: Array | float) -> Estimates:
        """The same with other means: what is truly changed adds to them."""
        return replace(self, mean=self.mean + change)

    @property
    def _percent(self) -> Array:
        return np.asarray(100 * np.expm1(self.mean))

    def _percents(self, confidence: float) -> tuple[Array, Array]:
        half = stats.t.ppf(0.5 + confidence / 2, self.df) * np.sqrt(self.variance)
        return 100 * np.expm1(self.mean - half), 100 * np.expm1(self.mean + half)


def ratios(
    world: World, campaigns: int, rng: np.random.Generator, rounds: int, deployments: int = 1
) -> Array:
    """Log ratios of rounds, of shape (campaigns, workloads, deployments, rounds of each)."""
    drawn = np.log(draw(world, campaigns, rng, rounds=rounds, deployments=deployments))
    means = (drawn[..., 1] - drawn[..., 0]).mean(-1)
    return np.asarray(means.reshape(*means.shape[:2], deployments, -1))


def known(
    world: World,
    campaigns: int,
    rng: np.random.Generator,
    aa_campaigns: int,
    rounds: int,
    deployments: int = 1,
) -> Array | None:
    """The log ratios of A/A campaigns before each campaign; their deployments one after another."""
    if not aa_campaigns:
        return None
    drawn = ratios(world, campaigns * aa_campaigns, rng, rounds, deployments)
    apart = drawn.reshape(campaigns, aa_campaigns, *drawn.shape[1:]).swapaxes(1, 2)
    return np.asarray(apart.reshape(*apart.shape[:2], -1, apart.shape[-1]))


def before(
    world: World, campaigns: int, rng: np.random.Generator, earlier: int, like: Array
) -> Squares | None:
    """What campaigns before each campaign show that compared two versions, deployed like it."""
    if not earlier:
        return None
    deployments, rounds = like.shape[2:]
    drawn = ratios(world, campaigns * earlier, rng, deployments * rounds, deployments)
    one = _squares(drawn, about_zero=False)

    def added_up(squares: Array) -> Array:
        return np.asarray(squares.reshape(campaigns, earlier, -1).sum(1))

    return Squares(
        within=added_up(one.within),
        within_df=earlier * one.within_df,
        between=added_up(one.between),
        between_df=earlier * one.between_df,
        inverse_rounds=one.inverse_rounds,
    )


def judged(own: Array, aa: Array | None = None, earlier: Squares | None = None) -> Estimates:
    """What the rule makes of campaigns, as :func:`ratios` and :func:`known` give them."""
    nothing = np.zeros(own.shape[1])
    shown = Squares(*[nothing] * 5) if aa is None else _squares(aa, about_zero=True)
    found = estimated(
        _squares(own, about_zero=False), shown, nothing + own.shape[2], earlier=earlier
    )
    return Estimates(own.mean(-1).mean(-1), found.versions, found.versions_df)


def _squares(values: Array, *, about_zero: bool) -> Squares:
    means, nothing = values.mean(-1), np.zeros(values.shape[1])
    deployments, rounds = values.shape[2:]
    center = 0.0 if about_zero else means.mean(-1, keepdims=True)
    return Squares(
        within=((values - means[..., None]) ** 2).sum((-1, -2)),
        within_df=nothing + deployments * (rounds - 1),
        between=((means - center) ** 2).sum(-1),
        between_df=nothing + deployments - (not about_zero),
        inverse_rounds=nothing + 1 / rounds,
    )
