"""The way from one release to another: those between them, in the order of their versions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from benchlab.errors import SpecError
from benchlab.plan.versions import FINAL, Release, ReleaseKind, Version

# Releases that are named where one that was asked for is not in the calendar.
_NEAREST = 4


@dataclass(frozen=True)
class Way:
    """Releases in order.

    Attributes:
        releases: their versions; the first and the last are those that were asked for.
        left_out: why releases whose version lies between are not on the way.
        not_in_calendar: which of the first and the last the calendar does not have, each with the
            nearest releases of its series that it has; with none where it does not know the series.
    """

    releases: tuple[str, ...]
    left_out: Mapping[str, str]
    not_in_calendar: Mapping[str, tuple[str, ...]]


def between(
    releases: Sequence[Release],
    first: Version,
    last: Version,
    kinds: Collection[ReleaseKind] = FINAL,
    *,
    first_of_series: bool = False,
) -> Way:
    """The way from one version to another, whether the calendar has these two or not.

    Code goes from one series into the next where that begins. A patch that came out after the next
    series had begun is on a branch of its own, though its version lies between: what it brought, as
    a fix taken back from a later series, need not have come into the next release with it.

    Args:
        releases: of one engine.
        kinds: of the releases in between.
        first_of_series: of each series only the first release of any final kind.

    Raises:
        SpecError: the first version is not the older one.
    """
    if _place(first) >= _place(last):
        raise SpecError(
            f"{first.text} is not before {last.text}: give the good release first, then the bad "
            "one; the way from one to the other is that of their versions"
        )
    inside = sorted(
        (each for each in releases if _place(first) < _place(each.version) < _place(last)),
        key=lambda each: _place(each.version),
    )
    wanted = _begins(releases) if first_of_series else [e for e in releases if e.kind in kinds]
    inside = [each for each in inside if each in wanted]
    left_out = _on_a_branch(releases, inside, last)
    return Way(
        (
            first.text,
            *(each.version.text for each in inside if each.version.text not in left_out),
            last.text,
        ),
        left_out,
        _not_in_calendar(releases, (first, last)),
    )


def _not_in_calendar(
    releases: Sequence[Release], ends: Iterable[Version]
) -> dict[str, tuple[str, ...]]:
    known = {each.version.text for each in releases}
    return {end.text: _nearest(releases, end) for end in ends if end.text not in known}


def _nearest(releases: Iterable[Release], version: Version) -> tuple[str, ...]:
    """Up to four final releases of its series, in order: those with the nearest numbers."""
    series = [r.version for r in releases if r.version.series == version.series and r.kind in FINAL]
    series.sort(key=lambda each: abs(each.numbers[2] - version.numbers[2]))
    return tuple(each.text for each in sorted(series[:_NEAREST], key=_place))


def _on_a_branch(
    releases: Iterable[Release], inside: Iterable[Release], last: Version
) -> dict[str, str]:
    """The patches that came out after the next series up to the last one's had begun, and why."""
    began: dict[tuple[int, int], date] = {}
    for each in releases:
        series = each.version.series
        if each.kind in FINAL and series <= last.series:
            began[series] = min(each.day, began.get(series, each.day))
    left_out = {}
    for patch in (each for each in inside if each.kind == "patch"):
        later = min((series for series in began if series > patch.version.series), default=None)
        if later and patch.day > began[later]:
            left_out[patch.version.text] = (
                f"released {patch.day}, after the series {later[0]}.{later[1]} began "
                f"({began[later]})"
            )
    return left_out


def _begins(releases: Iterable[Release]) -> Collection[Release]:
    """The first final release of each series."""
    final = [each for each in releases if each.kind in FINAL]
    newest_first = sorted(final, key=lambda each: _place(each.version), reverse=True)
    return {each.version.series: each for each in newest_first}.values()


def _place(
    version: Version,
) -> tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]:
    """By number; a pre-release before its release, ``rc.2`` before ``rc.10``."""
    suffix = version.text.partition("-")[2]
    parts = tuple(
        (part.isdigit(), int(part) if part.isdigit() else 0, part)
        for part in re.findall(r"[0-9]+|[A-Za-z]+", suffix)
    )
    return version.numbers, not version.is_prerelease, parts
