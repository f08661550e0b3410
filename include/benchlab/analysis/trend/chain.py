"""Within-campaign ratios of one workload, chained along one line of versions.

The throughputs of two campaigns are never compared: hosts differ by more than versions do. A
campaign shows d = ln(candidate / baseline), and its point in the chain is at

    level = level of the baseline + d

where the level of a version is the mean of the earlier points in which it was the candidate. This
is the chained index of price statistics (ILO, *Consumer Price Index Manual*, 2020, chapter 2),
with every link measured. :mod:`benchlab.analysis.trend.lines` says which campaigns follow one line.

A baseline that was never a candidate is *bridged*: it takes the level of the newest version of its
own series (major.minor) that was measured before and is older, else of the newest older version.
That step was not measured; the levels count it as zero, and the point names the version.
Where nothing older was measured, the chain begins at level 0. The baseline keeps the level that it
took first: a version has one level in a chain.

Every level is a sum of measured ratios, so that the errors of all levels follow exactly from those
of the ratios (:meth:`Chain.weights`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from benchlab.arrays import Array, np
from benchlab.plan.versions import order

Age = tuple[tuple[int, ...], bool, str]
"""Orders versions: what :func:`benchlab.plan.versions.order` returns."""
Order = tuple[datetime, Age, Age, str]


@dataclass(frozen=True)
class Ratio:
    """What one campaign found of one workload.

    Attributes:
        campaign: its id.
        at: the time that it was planned for; with a time zone.
        log_ratio: ln(candidate / baseline), the mean over thread counts and rounds.
        standard_error: of ``log_ratio``; None where it is not known.
        is_planned: it was planned for this time; otherwise a person started it.
    """

    campaign: str
    at: datetime
    baseline: str
    candidate: str
    log_ratio: float
    standard_error: float | None
    is_planned: bool = True

    @property
    def order(self) -> Order:
        """Its place among the points of a chain."""
        # At the same time the older candidate comes first: it may be the other's baseline.
        return self.at, order(self.candidate), order(self.baseline), self.campaign


@dataclass(frozen=True)
class Point:
    """One campaign in the chain.

    Attributes:
        level: ln of the candidate's throughput relative to the first baseline of the chain.
        before: indices of the earlier points whose mean level its baseline has; empty where the
            chain begins.
        bridged_from: the version whose level the baseline has taken; None where the baseline was
            measured itself, or begins the chain.
    """

    ratio: Ratio
    level: float
    before: tuple[int, ...]
    bridged_from: str | None


@dataclass(frozen=True)
class Way:
    """How one version's level follows from another's, along a chain.

    Attributes:
        weights: of shape (points): the difference of the levels is ``weights @ log_ratios``.
        unmeasured: baselines on the way whose own step was bridged, so that it counts as zero.
    """

    weights: Array
    unmeasured: tuple[str, ...]


@dataclass(frozen=True)
class Chain:
    """The points in order of time; at the same time, in order of their versions."""

    points: tuple[Point, ...]

    @property
    def versions(self) -> tuple[str, ...]:
        """All versions that it compares, the oldest first."""
        ratios = [point.ratio for point in self.points]
        names = {
            order(version): version
            for ratio in ratios
            for version in (ratio.baseline, ratio.candidate)
        }
        return tuple(names[age] for age in sorted(names))

    def weights(self) -> Array:
        """How the levels follow from the ratios: ``levels = weights @ log_ratios``.

        Of shape (points, points), lower triangular with ones on the diagonal.
        """
        weights = np.eye(len(self.points))
        for index, point in enumerate(self.points):
            if point.before:
                weights[index] += weights[list(point.before)].mean(axis=0)
        return weights

    def way(self, first: str, second: str) -> Way | None:
        """How the level of the second version follows from that of the first.

        A step that was not measured is named only where it lies between the two.

        Returns:
            None if one of them is not in the chain, or if nothing connects them: a chain begins
            again where nothing older had been measured.

        Example:
            ``chain(ratios).way("v8.1.0", "v8.5.1")``
        """
        levels = _Levels.along(self)
        here, there = levels.of(first), levels.of(second)
        if here is None or there is None or here.origin != there.origin:
            return None
        steps = there.steps - here.steps
        unmeasured = [
            name for name, step in zip(levels.bridged, steps, strict=True) if abs(step) > 1e-9
        ]
        return Way(np.asarray(there.weights - here.weights), tuple(unmeasured))


def chain(ratios: Sequence[Ratio]) -> Chain:
    """Chain the ratios of one workload, one of each campaign; their order does not matter.

    Example:
        ``chain([Ratio("c1", at, "v8.1.0", "v8.1.1", 0.02, 0.01)]).points[0].level`` is 0.02.
    """
    points: list[Point] = []
    measured = _Measured()
    for ratio in sorted(ratios, key=lambda ratio: ratio.order):
        before, bridged_from = measured.links_of(order(ratio.baseline))
        level = math.fsum(points[index].level for index in before) / max(1, len(before))
        measured.add(ratio, len(points))
        points.append(Point(ratio, level + ratio.log_ratio, before, bridged_from))
    return Chain(tuple(points))


@dataclass
class _Measured:
    """The versions so far, each with the points in which it was the candidate, if any."""

    points: dict[Age, list[int]] = field(default_factory=dict)
    names: dict[Age, str] = field(default_factory=dict)
    bridges: dict[Age, tuple[tuple[int, ...], str | None]] = field(default_factory=dict)

    def add(self, ratio: Ratio, index: int) -> None:
        for version in (ratio.baseline, ratio.candidate):
            self.points.setdefault(order(version), [])
            self.names.setdefault(order(version), version)
        self.points[order(ratio.candidate)].append(index)

    def links_of(self, version: Age) -> tuple[tuple[int, ...], str | None]:
        """The points whose mean is a version's level, and the version that it was bridged from."""
        if points := self.points.get(version):
            return tuple(points), None
        if version not in self.bridges:
            older = self._bridge(version)
            links, _ = self.links_of(older) if older else ((), None)
            self.bridges[version] = links, self.names[older] if older else None
        return self.bridges[version]

    def _bridge(self, version: Age) -> Age | None:
        older = [measured for measured in self.points if measured < version]
        same_series = [measured for measured in older if measured[0][:2] == version[0][:2]]
        return max(same_series or older, default=None)


@dataclass(frozen=True)
class _Level:
    """A level as sums: of the ratios by point, and of the bridged steps; and where it begins."""

    weights: Array
    steps: Array
    origin: Age


@dataclass(frozen=True)
class _Levels:
    """The levels of all points of a chain, each as sums.

    Attributes:
        bridged: the baselines with a bridged step, in the order of the sums.
    """

    points: tuple[Point, ...]
    levels: tuple[_Level, ...]
    bridged: tuple[str, ...]

    @classmethod
    def along(cls, made: Chain) -> _Levels:
        bridged = list(
            dict.fromkeys(
                point.ratio.baseline for point in made.points if point.bridged_from is not None
            )
        )
        weights, steps = made.weights(), np.zeros((len(made.points), len(bridged)))
        origins: dict[Age, Age] = {}
        levels = []
        for index, point in enumerate(made.points):
            if point.before:
                steps[index] += steps[list(point.before)].mean(axis=0)
            baseline = order(point.ratio.baseline)
            if point.bridged_from is not None:
                steps[index, bridged.index(point.ratio.baseline)] += 1
                origins.setdefault(baseline, origins[order(point.bridged_from)])
            origin = origins.setdefault(baseline, baseline)
            origins.setdefault(order(point.ratio.candidate), origin)
            levels.append(_Level(weights[index], steps[index], origin))
        return cls(made.points, tuple(levels), tuple(bridged))

    def of(self, version: str) -> _Level | None:
        """A version's level: the mean of the points in which it was the candidate, else its own
        where it was the baseline.
        """
        age = order(version)
        own = [
            level
            for point, level in zip(self.points, self.levels, strict=True)
            if order(point.ratio.candidate) == age
        ]
        if own:
            weights = np.mean([level.weights for level in own], axis=0)
            return _Level(weights, np.mean([level.steps for level in own], axis=0), own[0].origin)
        for index, (point, level) in enumerate(zip(self.points, self.levels, strict=True)):
            if order(point.ratio.baseline) == age:
                return _Level(
                    level.weights - np.eye(len(self.points))[index], level.steps, level.origin
                )
        return None
