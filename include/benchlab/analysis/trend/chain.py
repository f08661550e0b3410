"""Within-campaign ratios of one workload, chained along one line of versions.

The throughputs of two campaigns are never compared: hosts differ by more than versions do. A
campaign shows d = ln(candidate / baseline), and its point in the chain is at

    level = level of the baseline + d

where the level of a version is the mean of the earlier points in which it was the candidate. This
is the chained index of price statistics (ILO, *Consumer Price Index Manual*, 2020, chapter 2),
with every link measured.

A baseline that was never a candidate is *bridged*: it takes the level of the newest older version
of its own series (major.minor) that was measured before, else of the newest older version. That
step was not measured; the levels count it as zero, and the point names the version. Where nothing
older was measured, the chain begins at level 0. The baseline keeps the level that it took first: a
version has one level in a chain.

Every level is a sum of measured ratios, so that the errors of all levels follow exactly from those
of the ratios (:meth:`Chain.weights`).

Where candidates of an old and a new series alternate, a change in the old series would look like a
change in everything measured after it. So a chain follows one line, in which no candidate is older
than one before it:

- the line `newest` has the campaigns whose candidate is at least as new as every earlier candidate
  of that line,
- any other campaign is in the line of its candidate's own series, such as `6.5`.

Planned campaigns are placed first, then those that a person started: a build that somebody tried
does not end a line.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from benchlab.arrays import Array, np
from benchlab.language import Message, message
from benchlab.plan.versions import order

Age = tuple[tuple[int, ...], bool, str]
"""Orders versions: what :func:`benchlab.plan.versions.order` returns."""
Order = tuple[datetime, Age, Age, str]


@dataclass(frozen=True)
class Ratio:
    """What one campaign found for one workload.

    Attributes:
        at: the time that it was planned for; with a time zone.
        log_ratio: ln(candidate / baseline), the mean over thread counts and rounds.
        standard_error: of ``log_ratio``; None if unknown.
        df: its degrees of freedom.
        is_planned: whether it was planned for this time; if not, a person started it.
    """

    campaign: str
    at: datetime
    baseline: str
    candidate: str
    log_ratio: float
    standard_error: float | None
    is_planned: bool = True
    df: float = math.inf

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
        before: indices of the earlier points whose mean level is its baseline's; empty where the
            chain begins.
        bridged_from: the version whose level the baseline takes; None where the baseline was
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
        return self._sums()[0][:, : len(self.points)]

    def way(self, first: str, second: str) -> Way | None:
        """How the level of the second version follows from that of the first.

        Example:
            ``chain(ratios).way("v8.1.0", "v8.5.1")``

        Returns:
            Unmeasured steps are those between the two. None if one of them is not in the chain, or
            if nothing connects them: a chain begins again where nothing older had been measured.
        """
        sums, bridged, origins = self._sums()
        here, there = self._level(first, sums), self._level(second, sums)
        if here is None or there is None or origins[order(first)] != origins[order(second)]:
            return None
        weights, steps = np.split(there - here, [len(self.points)])
        return Way(
            weights,
            tuple(name for name, step in zip(bridged, steps, strict=True) if abs(step) > 1e-9),
        )

    def _sums(self) -> tuple[Array, list[str], dict[Age, Age]]:
        """Every level as a sum of the ratios, by point, and of the bridged steps.

        Also the baselines with such a step, and by version the baseline where its level starts.
        """
        size = len(self.points)
        bridged = list(dict.fromkeys(one.ratio.baseline for one in self.points if one.bridged_from))
        sums = np.eye(size, size + len(bridged))
        origins: dict[Age, Age] = {}
        for index, point in enumerate(self.points):
            baseline = order(point.ratio.baseline)
            if point.before:
                sums[index] += sums[list(point.before)].mean(axis=0)
            if point.bridged_from is not None:
                sums[index, size + bridged.index(point.ratio.baseline)] += 1
                origins.setdefault(baseline, origins[order(point.bridged_from)])
            origin = origins.setdefault(baseline, baseline)
            origins.setdefault(order(point.ratio.candidate), origin)
        return sums, bridged, origins

    def _level(self, version: str, sums: Array) -> Array | None:
        """The mean of the points in which a version was the candidate, else its own as baseline."""
        age = order(version)
        points = list(zip(self.points, sums, np.eye(*sums.shape), strict=True))
        if own := [row for point, row, _ in points if order(point.ratio.candidate) == age]:
            return np.asarray(np.mean(own, axis=0))
        before = (row - its for point, row, its in points if order(point.ratio.baseline) == age)
        return next(before, None)


def chain(ratios: Sequence[Ratio]) -> Chain:
    """Chain the ratios of one workload, one for each campaign; their order does not matter.

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
    """The versions so far, each with the points that have it as candidate, if any."""

    points: dict[Age, list[int]] = field(default_factory=dict)
    names: dict[Age, str] = field(default_factory=dict)
    bridges: dict[Age, tuple[tuple[int, ...], str | None]] = field(default_factory=dict)

    def add(self, ratio: Ratio, index: int) -> None:
        for version in (ratio.baseline, ratio.candidate):
            self.points.setdefault(order(version), [])
            self.names.setdefault(order(version), version)
        self.points[order(ratio.candidate)].append(index)

    def links_of(self, version: Age) -> tuple[tuple[int, ...], str | None]:
        """The points whose mean is a version's level, and the version it was bridged from."""
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


# Lines

NEWEST = "newest"


def lines(campaigns: Iterable[Ratio]) -> tuple[dict[str, tuple[Ratio, ...]], dict[str, Message]]:
    """The lines of one setting by name: `newest`, then the series from the newest on.

    Example:
        ``lines(campaigns)[0]["newest"][-1].candidate``

    Returns:
        The campaigns of each line, by time, at least one; and why others are in no line, by id.
    """
    newest = _Growing()
    older: dict[tuple[int, ...], _Growing] = {}
    why: dict[str, Message] = {}
    for campaign in sorted(campaigns, key=lambda one: (not one.is_planned, one.order)):
        line, name = newest, NEWEST
        if not newest.is_followed_by(campaign):
            series = order(campaign.candidate)[0][:2]
            line, name = older.setdefault(series, _Growing()), _name(series)
        fault = line.fault(campaign, name)
        if fault is None:
            line.add(campaign)
        else:
            why[campaign.campaign] = message("left-out-of-line", fault=fault)
    made = {NEWEST: newest, **{_name(key): older[key] for key in sorted(older, reverse=True)}}
    return {name: tuple(line.members) for name, line in made.items() if line.members}, why


@dataclass
class _Growing:
    """A line while campaigns are put into it.

    So that each version has one level, it is a candidate before it is a baseline, or a baseline
    only.
    """

    members: list[Ratio] = field(default_factory=list)
    as_baseline: dict[Age, Order] = field(default_factory=dict)
    as_candidate: dict[Age, Order] = field(default_factory=dict)

    def is_followed_by(self, campaign: Ratio) -> bool:
        """Whether no candidate before it is newer, and none after it older."""
        place = self._place(campaign)
        before, after = self.members[:place][-1:], self.members[place:][:1]
        ages = [order(member.candidate) for member in (*before, campaign, *after)]
        return ages == sorted(ages)

    def fault(self, campaign: Ratio, name: str) -> Message | None:
        """Why a campaign cannot be in this line, called ``name``; None if it can."""
        _, candidate, baseline, _ = place = campaign.order
        first, second = campaign.baseline, campaign.candidate
        if not self.is_followed_by(campaign):
            return message("line-order", candidate=second, line=name)
        if candidate not in self.as_candidate and place > self.as_baseline.get(candidate, place):
            return message("line-baseline-before", candidate=second)
        if place < self.as_candidate.get(baseline, place):
            return message("line-candidate-later", baseline=first)
        return None

    def add(self, campaign: Ratio) -> None:
        """Put a campaign at its place."""
        _, candidate, baseline, _ = place = campaign.order
        self.members.insert(self._place(campaign), campaign)
        for seen, version in ((self.as_baseline, baseline), (self.as_candidate, candidate)):
            seen[version] = min(place, seen.get(version, place))

    def _place(self, campaign: Ratio) -> int:
        return bisect(self.members, campaign.order, key=lambda member: member.order)


def _name(series: tuple[int, ...]) -> str:
    return ".".join(map(str, series))
