"""Brings the release calendar up to date from TiUP's mirror.

TiUP knows which versions there are and when its mirror got them. It does not know whether the first
release of a series has long-term support, and its days are not always those of the releases: so it
only adds, and what the calendar has stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from benchlab.campaign import report_types
from benchlab.engines import tidb
from benchlab.home import Home
from benchlab.plan import releases as calendars
from benchlab.plan.releases import Calendar
from benchlab.plan.versions import Release, ReleaseKind, Version

NO_TIUP = (
    "there is no `tiup` on this machine, on the PATH or in TIUP_HOME, so that nobody was asked for "
    "new releases; `benchlab releases update FILE.csv` adds a list"
)
_SHOWN = 10


@dataclass(frozen=True)
class Update:
    """What an update has done.

    Attributes:
        added: releases that the calendar did not have, with the mirror's days.
        differing: those whose day is another on the mirror, with that day; they stay as they are.
        others: what the mirror has that is no release.
    """

    calendar: Calendar
    added: tuple[Release, ...]
    differing: tuple[tuple[Release, date], ...]
    others: tuple[str, ...]

    def sentences(self) -> Iterator[str]:
        """What was done, and what a person has to decide."""
        for release in self.added:
            yield f"added: {release.version.text} of {release.day} ({release.kind})"
        for release in self.added:
            if release.kind == "GA":
                yield (
                    f"{release.version.text} is entered as GA, because TiUP does not say whether "
                    f"it is LTS or DMR; `benchlab releases type {release.version.text} LTS` (or "
                    "DMR) corrects it: only patches of an LTS series are `LTS patch`"
                )
        if self.differing:
            days = [f"{known.version.text} {known.day} ({day})" for known, day in self.differing]
            yield (
                "TiUP's mirror got these on other days (in parentheses), and the calendar's stay: "
                f"{_some(days)}"
            )
        if self.others:
            yield f"left out, because they are no releases: {_some(self.others)}"
        yield f"{len(self.calendar.releases)} releases; {len(self.added)} added"


def from_tiup(home: Home) -> Update | None:
    """Add what ``tiup list tidb --all`` has and the calendar has not; None without ``tiup``.

    Example:
        ``from_tiup(find()).added``

    Raises:
        UnavailableError: TiUP cannot ask its mirror.
        SpecError: the calendar does not validate, or its file cannot be written.
    """
    if (mirror := tidb.Engine.published()) is None:
        return None
    before = report_types.calendar(home)
    there = {release.version.text.casefold(): release for release in before.releases}
    new, differing = list[Release](), list[tuple[Release, date]]()
    for version, day in mirror.releases:
        known = there.get(version.text.casefold())
        if known is None:
            new.append(Release(version, day, _kind(version)))
        elif known.day != day:
            differing.append((known, day))
    merged = calendars.merge(before, new)
    if merged.added:
        calendars.write(merged.calendar, home.releases)
    return Update(merged.calendar, merged.added, tuple(differing), mirror.others)


def _kind(version: Version) -> ReleaseKind:
    if version.is_prerelease:
        return "pre-release"
    return "patch" if version.numbers[2] else "GA"


def _some(names: list[str] | tuple[str, ...]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
