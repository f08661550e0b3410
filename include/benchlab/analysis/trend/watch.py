"""Whether a workload has become worse than an anchor: the evidence of several cheap weeks.

The design ``watch`` compares a build with the same *anchor* every week, in few deployments of one
round. One such week shows little. But what is lost stays lost, and the mean of the k weeks since
then has the k-th part of a week's variance. Nobody knows k, so every run of weeks that ends now is
looked at, and the strongest one counts.

What it flags is measured again on *fresh* deployments. The verdict and its interval rest on these
alone: that the strongest of several runs was chosen costs dollars, and no false alarms. What is
confirmed becomes the level with which later weeks are compared. What is refuted ends the runs, as
if the watch began in the next week. Where the fresh deployments lean the same way, by half of the
least change that is told, nothing is decided: they join their week, and the runs go on.

Builds differ by themselves: another layout of the same code may cost one per cent, and the next
build has another layout. So a confirmed change is one *of this build*, until weeks of other builds
show it, too, and it counts as *lasting*. Where they show that it is gone, the level before it
holds again.

An anchor is renewed by a *bridge*: both anchors are measured against each other, and the level is
from then on the one against the new anchor, as surely as the bridge is.

A week's variance is learned from the watch itself:

* from its deployments, about the mean of their week;
* from the differences between neighbouring weeks, half of whose mean square it is (von Neumann,
  Kent, Bellinson and Hart 1941). Steps that were confirmed are no noise and are left out, and so
  is the one with which the run begins that is looked at;
* from what the noise of published reports suggests, which counts for four degrees of freedom.

Deployments and weeks are pooled unless the weeks differ by more than their deployments explain (F
test at 10 %), as where each build has an own layout of its code; then the weeks alone count. Half a
year is remembered. Where the deployments of the latest weeks (4, 8 or more) scatter more than those
before (the same test), as on a fleet that has become noisy, they alone count.

All figures are *gains*: log ratios of candidate to anchor, of a latency or count with the sign
changed, so that less than zero is worse.

Example:
    A workload that loses 5 % after ten quiet weeks, of deployments that scatter by 1 %::

        watch = Watch()
        for week in range(10):
            watch.add([0.002, -0.006]).flag   # None
        watch.add([-0.05, -0.06]).flag        # "worse"
        watch.confirm([-0.05, -0.04, -0.06, -0.05]).verdict    # "worse"
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import mul
from statistics import fmean
from typing import Literal, NamedTuple

from benchlab.analysis.verdict.variances import (
    PRIOR_DF,
    PRIOR_VARIANCE,
    Variance,
    round_variance,
)
from benchlab.arrays import special

Flag = Literal["worse", "better"]
_UNLIKE, _CERTAIN = 0.1, 0.01
# Of a day whose fresh deployments scatter more: the chance, and what counts of what was known.
_NOISIER, _KNOWN_DF = 0.25, 4.0
# Weeks that are remembered, and how many of the latest are asked whether all is noisier now.
_MEMORY, _LATEST = 26, (4, 8, 12, 16, 20)
# One-sided: whether weeks of other builds show a confirmed change, or that it is gone.
_SHOWN_AGAIN = 0.05


@dataclass(frozen=True)
class Rule:
    """What is flagged, and what is confirmed.

    Attributes:
        worse, better: a run is flagged if the chance of one as extreme is below this, one-sided.
        longest: weeks of a run.
        confirmed: of a fresh measurement, two-sided.
        beside: the same of a figure that was not flagged itself, but is measured as well.
        least: the smallest change that is confirmed, as a logarithm.
        prior: the variance of one deployment's gain, of a round of three thread counts, where
            nothing is known.
    """

    worse: float = 0.018
    better: float = 0.001
    longest: int = 8
    confirmed: float = 0.05
    beside: float = 0.05
    least: float = math.log1p(0.02)
    prior: float = PRIOR_VARIANCE + round_variance(3)


RULE = Rule()


class Squares(NamedTuple):
    """A sum of squares and its degrees of freedom."""

    total: float
    df: float


NOTHING = Squares(0.0, 0.0)


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
    """What fresh deployments say of a flag.

    Attributes:
        change, low, high: from the level that was known, as logarithms.
        p: two-sided.
        goes_on: whether it is neither confirmed nor refuted.
    """

    change: float
    low: float
    high: float
    p: float
    verdict: Flag | None
    goes_on: bool = False


@dataclass(frozen=True)
class Level:
    """By how much a figure is known to differ from the anchor, as a logarithm.

    Attributes:
        variance: how surely.
        build: in which a change was confirmed that made it; empty: none has.
        before: the level before that change; None: it is the anchor's own, or the change lasts.
    """

    value: float = 0.0
    variance: float = 0.0
    build: str = ""
    before: Level | None = None

    @property
    def lasts(self) -> bool:
        """Whether the change that made it was shown by more than one build."""
        return bool(self.build) and self.before is None


@dataclass
class Watch:
    """One figure of one workload, week after week against one anchor.

    Attributes:
        means, sizes, builds: of each week since the level is known: the mean gain of its
            deployments, how many these were (more where nothing was decided), and the build.
        ended: how many of these weeks belong to runs that were refuted.
    """

    rule: Rule = RULE
    means: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    builds: list[str] = field(default_factory=list)
    ended: int = 0
    level: Level = Level()
    _within: list[Squares] = field(default_factory=list)
    _between: list[Squares] = field(default_factory=list)
    _known: Variance | None = None

    def add(self, gains: Sequence[float], build: str = "") -> Evidence:
        """Take a week's gains, one for each deployment; what all weeks say now."""
        self.take(gains, build)
        return self.evidence()

    def take(self, gains: Sequence[float], build: str = "") -> None:
        """Take a week's gains, without asking what they say."""
        mean = fmean(gains)
        self._learn(_squares(gains))
        step = NOTHING
        if self.means and self.sizes[-1] == len(gains):
            # Differences of neighbours overlap: each has two thirds of a degree of freedom.
            step = Squares((mean - self.means[-1]) ** 2 / 3, 2 / 3)
        self._between.append(step)
        self.means.append(mean)
        self.sizes.append(len(gains))
        self.builds.append(build)
        self._ask_other_builds()

    def evidence(self) -> Evidence:
        """The strongest run of weeks that ends with the last one; flagged ones come first."""
        longest = min(self.rule.longest, len(self.means) - self.ended)
        runs = [self._run(weeks) for weeks in range(1, longest + 1)]
        return min(runs, key=lambda run: (run.flag is None, run.p))

    def _run(self, weeks: int) -> Evidence:
        noise, sizes = self.week(self.sizes[-1], begins=weeks), self.sizes[-weeks:]
        level, of_level = self._level_before(weeks, noise.value)
        shares = [size / sum(sizes) for size in sizes]
        change = sum(map(mul, shares, self.means[-weeks:])) - level
        each = (self._week_of(size, noise.value) for size in sizes)
        variance = sum(share**2 * of_week for share, of_week in zip(shares, each, strict=True))
        p = _chance(change, variance + of_level, noise.df)
        flag: Flag = "worse" if change < 0 else "better"
        enough = p < (self.rule.worse if flag == "worse" else self.rule.better)
        return Evidence(weeks, change, p, flag if enough else None)

    def _week_of(self, size: int, last: float) -> float:
        """The variance of the mean of a week of another size than the last one, whose it is."""
        own, one = self.sizes[-1], self.deployment().value
        return max(last * own / size, last + one / size - one / own)

    def _level_before(self, weeks: int, noise: float) -> tuple[float, float]:
        """The level before a run, and its variance: as it is known, and by the weeks since."""
        earlier, level = self.means[:-weeks], self.level
        if level.variance == 0 or not earlier:
            return level.value, level.variance
        known, later = 1 / level.variance, len(earlier) / noise
        mean = (known * level.value + later * fmean(earlier)) / (known + later)
        return mean, 1 / (known + later)

    def _ask_other_builds(self) -> None:
        """Whether a confirmed change lasts, or is gone, by the weeks of other builds since."""
        level, before = self.level, self.level.before
        others = [
            mean
            for mean, build in zip(self.means, self.builds, strict=True)
            if build != level.build
        ]
        if before is None or not others:
            return
        noise, mean = self.week(self.sizes[-1]), fmean(others)
        of_mean, change = noise.value / len(others), level.value - before.value

        def differs(other: Level, towards: float) -> bool:
            apart = mean - other.value
            p = _chance(apart, of_mean + other.variance, noise.df)
            return p < _SHOWN_AGAIN and apart * towards > 0

        if differs(before, change):
            self.level = Level(level.value, level.variance, level.build)
        elif differs(level, -change):
            self.level = before

    def _learn(self, found: Squares) -> None:
        self._within.append(found)
        self._known = None

    def deployment(self) -> Variance:
        """Of one deployment's gain."""
        if self._known is None:
            self._known = self._now()
        return self._known

    def _now(self) -> Variance:
        """By the latest weeks alone, if they scatter more than those before them."""
        prior = Squares(PRIOR_DF * self.rule.prior, PRIOR_DF)
        kept = [prior, *self._within[-_MEMORY:]]
        found, least = _pooled(kept), _UNLIKE
        for latest in _LATEST:
            if latest < len(kept) and (own := _pooled(kept[-latest:])).df:
                chance = _chance_of(own, _pooled(kept[:-latest]))
                found, least = (own, chance) if chance < least else (found, least)
        return found

    def week(self, deployments: int, begins: int = 0) -> Variance:
        """Of a week's mean.

        Args:
            begins: so many weeks ago something may have changed; 0: nothing has.
        """
        steps = self._between[-_MEMORY:]
        if 0 < begins <= len(steps):
            steps[-begins] = NOTHING
        one, weeks = self.deployment(), _pooled(steps)
        alone = Variance(one.value / deployments, one.df)
        if weeks.df and _is_larger(weeks, alone):
            return weeks
        total = alone.df * alone.value + weeks.df * weeks.value
        return Variance(total / (alone.df + weeks.df), alone.df + weeks.df)

    def _mean_of(self, deployments: Variance, count: int, weeks: Variance, size: int) -> Variance:
        """Of a mean over fresh deployments, which have a week of their own in common.

        Where weeks differ by more than their deployments explain, more deployments do not help.

        Args:
            weeks: of the mean of a week with so many (``size``) deployments.
        """
        alone = Variance(deployments.value / count, deployments.df)
        more = weeks.value - self.deployment().value / size
        if not _is_larger(weeks, Variance(deployments.value / size, deployments.df), _CERTAIN):
            return alone
        return alone + Variance(more, weeks.df)

    def confirm(self, fresh: Sequence[float], *, flagged: bool = True) -> Confirmation:
        """Judge by fresh deployments' gains; what is confirmed is the new level.

        Args:
            flagged: whether they were deployed for it, and not for another figure.
        """
        limit = self.rule.confirmed if flagged else self.rule.beside
        seen = self.evidence()
        weeks = seen.weeks
        noise = self.week(self.sizes[-1], begins=weeks)
        level, of_level = self._level_before(weeks, noise.value)
        mean, own = fmean(fresh), _squares(fresh)
        self._learn(own)
        one = self.deployment()
        # A noisier day is soon believed, beside some of what was known; a quieter one is not.
        if own.df and _is_larger(Variance(own.total / own.df, own.df), one, _NOISIER):
            known = min(_KNOWN_DF, one.df)
            df = own.df + known
            one = Variance((own.total + known * one.value) / df, df)
        change, of_mean = mean - level, self._mean_of(one, len(fresh), noise, self.sizes[-1])
        variance = of_mean.value + of_level
        half = float(special.stdtrit(of_mean.df, 1 - self.rule.confirmed / 2)) * math.sqrt(variance)
        p = 2 * _chance(change, variance, of_mean.df)
        # What is flagged as worse, and measured as better, is refuted.
        same_way = change * seen.change > 0 or not flagged
        verdict: Flag | None = None
        if same_way and p < limit and abs(change) >= self.rule.least:
            verdict = "worse" if change < 0 else "better"
        goes_on = flagged and same_way and not verdict and abs(change) > self.rule.least / 2
        if goes_on:
            size = self.sizes[-1]
            self.means[-1] = (size * self.means[-1] + len(fresh) * mean) / (size + len(fresh))
            self.sizes[-1] += len(fresh)
        elif verdict is None:
            self.ended = len(self.means) if flagged else self.ended
        else:
            self._between[-weeks] = NOTHING
            before = Level(level, of_level)
            self.level = Level(mean, of_mean.value, self.builds[-1], before)
            self.means, self.sizes, self.builds, self.ended = [], [], [], 0
        return Confirmation(change, change - half, change + half, p, verdict, goes_on)

    def bridge(self, gains: Sequence[float]) -> None:
        """Go on with a new anchor, which has these gains to the old one, by its deployments."""
        apart = fmean(gains)
        self._learn(_squares(gains))
        added = self.deployment().value / len(gains)

        def moved(level: Level) -> Level:
            before = level.before and moved(level.before)
            return Level(level.value - apart, level.variance + added, level.build, before)

        self.level = moved(self.level)
        self.means, self.sizes, self.builds, self.ended = [], [], [], 0

    def told_within(self, weeks: int, change: float, deployments: int, fresh: int) -> float:
        """The least chance that such a change would be flagged and confirmed by then.

        By the run of all weeks since it began, and by noncentral t; shorter runs add to it.

        Args:
            weeks: from the one in which it began, 1 for that week.
            change: as a logarithm.
            deployments, fresh: of a week, and of a confirmation.
        """
        noise = self.week(deployments)
        of_fresh = self._mean_of(self.deployment(), fresh, noise, deployments)
        level = self.rule.worse if change < 0 else self.rule.better
        of_run = noise.value / min(weeks, self.rule.longest) + self.level.variance
        flagged = _power(change, Variance(of_run, noise.df), level)
        error = Variance(of_fresh.value + self.level.variance, of_fresh.df)
        confirmed = _power(change, error, self.rule.confirmed / 2)
        large = float(special.ndtr((abs(change) - self.rule.least) / math.sqrt(error.value)))
        return flagged * min(confirmed, large)


def _power(change: float, error: Variance, level: float) -> float:
    """The chance that a mean of this change is significant, one-sided, by noncentral t."""
    limit = special.stdtrit(error.df, 1 - level)
    return 1 - float(special.nctdtr(error.df, abs(change) / math.sqrt(error.value), limit))


def _chance(change: float, variance: float, df: float) -> float:
    """Of a mean as far from zero on its side, one-sided."""
    if variance == 0:
        return 0.5 if change == 0 else 0.0
    return float(special.stdtr(df, -abs(change) / math.sqrt(variance)))


def _squares(gains: Sequence[float]) -> Squares:
    mean = fmean(gains)
    return Squares(sum((gain - mean) ** 2 for gain in gains), float(len(gains) - 1))


def _pooled(squares: Sequence[Squares]) -> Variance:
    df = math.fsum(one.df for one in squares)
    total = math.fsum(one.total for one in squares)
    return Variance(total / df if df else 0.0, df)


def _is_larger(one: Variance, other: Variance, chance: float = _UNLIKE) -> bool:
    """Whether a variance is larger than another one by more than chance."""
    return _chance_of(one, other) < chance


def _chance_of(one: Variance, other: Variance) -> float:
    """Of a variance as much larger than another one, if they are the same."""
    ratio = one.value / other.value if other.value else math.inf
    return float(special.fdtrc(one.df, other.df, ratio))
