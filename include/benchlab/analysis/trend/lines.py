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

from benchlab.analysis.trend.chain import Age, Order, Ratio
from benchlab.language import Message, message
from benchlab.plan.versions import order

NEWEST = "newest"


def lines(campaigns: Iterable[Ratio]) -> tuple[dict[str, tuple[Ratio, ...]], dict[str, Message]]:
    """The lines of one setting by name, `newest` first, then the newer series before the older.

    Returns:
        The campaigns of each line, by time, at least one; and by id why a campaign is in none.

    Example:
        ``lines(campaigns)[0]["newest"][-1].candidate``
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
    """A line that campaigns are being put into.

    So that each version has one level, it is a candidate first and a baseline afterwards, or a
    baseline only.
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
        """Why a campaign cannot be in this line, which has the name ``name``; None if it can."""
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
