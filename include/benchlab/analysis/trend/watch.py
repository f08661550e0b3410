"""Whether a workload has become slower than an anchor: the evidence of several cheap weeks.

The design ``watch`` compares a build with the same *anchor* every week, in few deployments of one
round. One such week shows little. But what is lost stays lost, and the mean of the k weeks since
then has the k-th part of a week's variance. Nobody knows k, so every run of weeks that ends now is
looked at, and the strongest one counts.

What it flags is measured again on *fresh* deployments. The verdict and its interval rest on these
alone: that the strongest of several runs was chosen costs dollars, and no false alarms. What is
confirmed becomes the level with which later weeks are compared; what is refuted ends the runs, as
if the watch began in the next week.

A week's variance is learned from the watch itself:

* from its deployments, about the mean of their week;
* from the differences between neighbouring weeks, half of whose mean square it is (von Neumann,
  Kent, Bellinson and Hart 1941). Steps that were confirmed are no noise and are left out. One that
  was not yet adds its square to one of many differences, so that it still stands out;
* from what the noise of published reports suggests, which counts for four degrees of freedom.

Deployments and weeks are pooled unless the weeks differ by more than their deployments explain (F
test at 10 %), as where each build has an own layout of its code; then the weeks alone count. Half a
year is remembered. Where the deployments of the latest weeks scatter more than those before (the
same test), as on a fleet that has become noisy, they alone count.

Example:
    A workload that loses 5 % after ten quiet weeks, of deployments that scatter by 1 %::

        watch = Watch()
        for week in range(10):
            watch.add([0.002, -0.006]).flag   # None
        watch.add([-0.05, -0.06]).flag        # "slower"
        watch.confirm([-0.05, -0.04, -0.06, -0.05]).verdict    # "slower"
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal, NamedTuple

from benchlab.analysis.verdict.variances import PRIOR_DF, PRIOR_VARIANCE, round_variance
from benchlab.arrays import special

Flag = Literal["slower", "faster"]
_UNLIKE = 0.1
# Weeks that are remembered, and those of them that are asked whether all is noisier now.
_MEMORY, _LATEST = 26, 8


@dataclass(frozen=True)
class Rule:
    """What is flagged, and what is confirmed.

    Attributes:
        slower, faster: a run is flagged if the chance of one as extreme is below this, one-sided.
        longest: weeks of a run.
        confirmed: of a fresh measurement, two-sided.
        prior: the variance of one deployment's log ratio, of a round of three thread counts, where
            nothing is known.
    """

    slower: float = 0.01
    faster: float = 0.0025
    longest: int = 8
    confirmed: float = 0.05
    prior: float = PRIOR_VARIANCE + round_variance(3)


RULE = Rule()


@dataclass(frozen=True)
class Variance:
    """A variance that was estimated with so many degrees of freedom."""

    value: float
    df: float


class Squares(NamedTuple):
    """A sum of squares and its degrees of freedom."""

    total: float
    df: float


@dataclass(frozen=True)
class Evidence:
    """What the weeks up to now say.

    Attributes:
        weeks: of the strongest run.
        change: its mean, from the level that is known, as a logarithm.
        p: the chance of a run as extreme if nothing changed, one-sided, of this run alone.
    """

    weeks: int
    change: float
    p: float
    flag: Flag | None


@dataclass(frozen=True)
class Confirmation:
    """What fresh deployments say of a flag: the change from the known level, as a logarithm."""

    change: float
    low: float
    high: float
    verdict: Flag | None


@dataclass
class Watch:
    """One figure of one workload, week after week against one anchor.

    Attributes:
        means, sizes: of each week since the level was known: the mean log ratio of its deployments,
            and how many these were.
        ended: how many of these weeks belong to runs that were refuted.
        level: what is known to differ from the anchor, as a logarithm, and how surely (a variance).
    """

    rule: Rule = RULE
    means: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    ended: int = 0
    level: float = 0.0
    level_variance: float = 0.0
    _within: list[Squares] = field(default_factory=list)
    _between: list[Squares] = field(default_factory=list)

    def add(self, ratios: Sequence[float]) -> Evidence:
        """Take a week's log ratios, one for each deployment; what all weeks say now."""
        mean = fmean(ratios)
        self._within.append(_squares(ratios))
        if self.means and self.sizes[-1] == len(ratios):
            # Differences of neighbours overlap: each has two thirds of a degree of freedom.
            self._between.append(Squares((mean - self.means[-1]) ** 2 / 3, 2 / 3))
        self.means.append(mean)
        self.sizes.append(len(ratios))
        return self.evidence()

    def evidence(self) -> Evidence:
        """The strongest run of weeks that ends with the last one; flagged ones come first."""
        longest = min(self.rule.longest, len(self.means) - self.ended)
        noise = self.week(self.sizes[-1])
        runs = [self._run(weeks, noise) for weeks in range(1, longest + 1)]
        return min(runs, key=lambda run: (run.flag is None, run.p))

    def _run(self, weeks: int, noise: Variance) -> Evidence:
        level, variance = self._level_before(weeks, noise.value)
        change = fmean(self.means[-weeks:]) - level
        t = change / math.sqrt(noise.value / weeks + variance)
        p = float(special.stdtr(noise.df, -abs(t)))
        flag: Flag = "slower" if change < 0 else "faster"
        enough = p < (self.rule.slower if flag == "slower" else self.rule.faster)
        return Evidence(weeks, change, p, flag if enough else None)

    def _level_before(self, weeks: int, noise: float) -> tuple[float, float]:
        """The level before a run, and its variance: by fresh deployments and the weeks since."""
        earlier = self.means[:-weeks]
        if self.level_variance == 0 or not earlier:
            return self.level, self.level_variance
        fresh, later = 1 / self.level_variance, len(earlier) / noise
        return (
            (fresh * self.level + later * fmean(earlier)) / (fresh + later),
            1 / (fresh + later),
        )

    def deployment(self) -> Variance:
        """Of one deployment's log ratio."""
        prior = Squares(PRIOR_DF * self.rule.prior, PRIOR_DF)
        latest = _pooled(self._within[-_LATEST:])
        before = _pooled([prior, *self._within[-_MEMORY:-_LATEST]])
        if latest.df and _is_larger(latest, before):
            return latest
        return _pooled([prior, *self._within[-_MEMORY:]])

    def week(self, deployments: int) -> Variance:
        """Of a week's mean."""
        one = self.deployment()
        alone = Variance(one.value / deployments, one.df)
        if not self._between:
            return alone
        weeks = _pooled(self._between[-_MEMORY:])
        if _is_larger(weeks, alone):
            return weeks
        total = alone.df * alone.value + weeks.df * weeks.value
        return Variance(total / (alone.df + weeks.df), alone.df + weeks.df)

    def confirm(self, fresh: Sequence[float]) -> Confirmation:
        """Judge a flag by fresh deployments' log ratios; what is confirmed is the new level."""
        weeks = self.evidence().weeks
        level, of_level = self._level_before(weeks, self.week(self.sizes[-1]).value)
        mean, own = fmean(fresh), _squares(fresh)
        self._within.append(own)
        one = self.deployment()
        # A noisier day is believed at once, a quieter one is not.
        if own.df and _is_larger(today := Variance(own.total / own.df, own.df), one):
            one = today
        change, variance = mean - level, one.value / len(fresh) + of_level
        half = float(special.stdtrit(one.df, 1 - self.rule.confirmed / 2)) * math.sqrt(variance)
        verdict: Flag | None = "slower" if change < -half else "faster" if change > half else None
        if verdict:
            self.level, self.level_variance = mean, one.value / len(fresh)
            self.means, self.sizes, self.ended = [], [], 0
        else:
            self.ended = len(self.means)
        return Confirmation(change, change - half, change + half, verdict)


def _squares(ratios: Sequence[float]) -> Squares:
    mean = fmean(ratios)
    return Squares(sum((ratio - mean) ** 2 for ratio in ratios), float(len(ratios) - 1))


def _pooled(squares: Sequence[Squares]) -> Variance:
    df = math.fsum(one.df for one in squares)
    total = math.fsum(one.total for one in squares)
    return Variance(total / df if df else 0.0, df)


def _is_larger(one: Variance, other: Variance) -> bool:
    """Whether a variance is larger than another one by more than chance."""
    ratio = one.value / other.value if other.value else math.inf
    return float(special.fdtrc(one.df, other.df, ratio)) < _UNLIKE
