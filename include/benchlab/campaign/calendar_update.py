"""Adds new releases from TiUP's mirror to the release calendar.

TiUP knows which versions exist and when its mirror got them. It does not know whether the first
release of a series has long-term support, and its days may differ from the release days. So
releases are only added, and existing entries stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchlab.campaign import report_types
from benchlab.engines import tidb
from benchlab.home import Home
from benchlab.plan import releases as calendars
from benchlab.plan.releases import Merged
from benchlab.plan.versions import Release

NO_TIUP = (
    "`tiup` is neither on the PATH nor in TIUP_HOME, so new releases could not be looked up; "
    "`benchlab releases update FILE.csv` adds a list"
)
_SHOWN = 10


def from_tiup(home: Home) -> list[str] | None:
    """Add the releases of ``tiup list tidb --all`` that the calendar lacks; None without ``tiup``.

    Returns:
        Sentences on what was done and what a person has to decide, such as
        ``added: v8.5.8 of 2026-11-20 (patch)``.

    Raises:
        UnavailableError: TiUP cannot ask its mirror.
        SpecError: the calendar does not validate, or its file cannot be written.
    """
    if (mirror := tidb.Engine.published()) is None:
        return None
    before = report_types.calendar(home)
    there = {release.version.text.casefold(): release for release in before.releases}
    new, differing = list[Release](), list[str]()
    for version, day in mirror.releases:
        known = there.get(version.text.casefold())
        if known is None:
            new.append(Release(version, day, calendars.kind_by_name(version) or "GA"))
        elif known.day != day:
            differing.append(f"{version.text} {known.day} ({day})")
    merged = calendars.merge(before, new)
    if merged.added:
        calendars.write(merged.calendar, home.releases)
    return [*_added(merged), *_left(differing, mirror.others), f"{len(merged.added)} added"]


def _added(merged: Merged) -> Iterator[str]:
    for release in merged.added:
        yield f"added: {release.version.text} of {release.day} ({release.kind})"
    for name in [release.version.text for release in merged.added if release.kind == "GA"]:
        yield (
            f"{name} is entered as GA, because TiUP does not say whether it is LTS or DMR; "
            f"`benchlab releases type {name} LTS` (or DMR) corrects it: only patches of an LTS "
            "series are `LTS patch`"
        )


def _left(differing: Sequence[str], others: Sequence[str]) -> Iterator[str]:
    if differing:
        yield (
            "TiUP's mirror has other days for these (in parentheses); the calendar keeps its "
            f"own: {_some(differing)}"
        )
    if others:
        yield f"left out, because they are not releases: {_some(others)}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
