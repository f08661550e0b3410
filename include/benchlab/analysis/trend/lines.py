"""The lines of versions that the campaigns of one setting follow; each has a chain of its own.

Where candidates of an old and a new series take turns, neither has one level at a time: a change
in the old one would look like a change of all that is measured after it. So a chain follows one
line, in which no candidate is older than one before it:

- the line `newest` has the campaigns whose candidate is at least as new as every earlier candidate
  of that line,
- any other is in the line of its candidate's own series, such as `6.5`.

Planned campaigns are placed first, those that a person started afterwards: a build that somebody
tried does not end a line.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Protocol, TypeVar

NEWEST = "newest"
_PLACED_BY = (
    "measure it with `--on DAY`, or add its versions to the release calendar (`benchlab releases "
    "update`)"
)

Age = tuple[tuple[int, ...], bool, str]
Order = tuple[datetime, Age, Age, str]
"""The order of a chain's points: time, candidate, baseline, id of the campaign."""


class Measured(Protocol):
    """A campaign with its place in time."""

    @property
    def versions(self) -> tuple[str, str]:
        """The baseline's and the candidate's version."""

    @property
    def order(self) -> Order:
        """Its place among the points of a chain."""

    @property
    def is_planned(self) -> bool:
        """Whether it was planned for a moment; otherwise a person started it."""


M = TypeVar("M", bound=Measured)


@dataclass(frozen=True)
class Line(Generic[M]):
    """Campaigns that follow one line of versions.

    Attributes:
        name: `newest`, or a series.
        members: by time; at least one.
    """

    name: str
    members: tuple[M, ...]


def lines(campaigns: Iterable[M]) -> tuple[tuple[Line[M], ...], dict[str, str]]:
    """The lines of one setting, `newest` first, then the newer series before the older.

    Returns:
        The lines, and by id why a campaign is in none.

    Example:
        ``made, why = lines(campaigns); made[0].name`` is `newest`.
    """
    planned_first = sorted(campaigns, key=lambda one: (not one.is_planned, one.order))
    newest = _Growing[M]()
    older: dict[tuple[int, ...], _Growing[M]] = {}
    why: dict[str, str] = {}
    for campaign in planned_first:
        line, name = newest, NEWEST
        if not newest.is_followed_by(campaign):
            series = _candidate(campaign)[0][:2]
            line, name = older.setdefault(series, _Growing()), _name(series)
        fault = line.fault(campaign, name)
        if fault is None:
            line.add(campaign)
        else:
            why[campaign.order[-1]] = f"{fault}; {_PLACED_BY}"
    made = [Line(NEWEST, tuple(newest.members))]
    made += [Line(_name(key), tuple(older[key].members)) for key in sorted(older, reverse=True)]
    return tuple(line for line in made if line.members), why


@dataclass
class _Growing(Generic[M]):
    """A line that campaigns are being put into.

    So that each version has one level, it is a candidate first and a baseline afterwards, or a
    baseline only.
    """

    members: list[M] = field(default_factory=list)
    as_baseline: dict[Age, Order] = field(default_factory=dict)
    as_candidate: dict[Age, Order] = field(default_factory=dict)

    def is_followed_by(self, campaign: M) -> bool:
        """Whether no candidate before it is newer, and none after it older."""
        place = self._place(campaign)
        before, after = self.members[:place][-1:], self.members[place:][:1]
        ages = [_candidate(member) for member in (*before, campaign, *after)]
        return ages == sorted(ages)

    def fault(self, campaign: M, name: str) -> str | None:
        """Why a campaign cannot be in this line, which has the name ``name``; None if it can."""
        _, candidate, baseline, _ = order = campaign.order
        first, second = campaign.versions
        if not self.is_followed_by(campaign):
            return f"its candidate {second} is out of the order of versions in line {name}"
        if candidate not in self.as_candidate and order > self.as_baseline.get(candidate, order):
            return f"its candidate {second} was a baseline before"
        if order < self.as_candidate.get(baseline, order):
            return f"its baseline {first} becomes a candidate later"
        return None

    def add(self, campaign: M) -> None:
        """Put a campaign at its place."""
        _, candidate, baseline, _ = order = campaign.order
        self.members.insert(self._place(campaign), campaign)
        for seen, version in ((self.as_baseline, baseline), (self.as_candidate, candidate)):
            seen[version] = min(order, seen.get(version, order))

    def _place(self, campaign: M) -> int:
        return bisect(self.members, campaign.order, key=lambda member: member.order)


def _candidate(campaign: Measured) -> Age:
    return campaign.order[1]


def _name(series: tuple[int, ...]) -> str:
    return ".".join(map(str, series))
