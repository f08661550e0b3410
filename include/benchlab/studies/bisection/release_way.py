"""The way from one release to another: those between them, in the order of their versions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from benchlab.errors import SpecError
from benchlab.plan.versions import FINAL, Release, ReleaseKind, Version

# How many releases are suggested for one that is not in the calendar.
_NEAREST = 4


@dataclass(frozen=True)
class Way:
    """Releases in order.

    Attributes:
        releases: their versions; the first and the last were asked for.
        left_out: why releases whose version lies between are not on the way.
        not_in_calendar: which of the first and the last the calendar lacks, with the nearest
            releases of its series; empty where the calendar does not know the series.
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
    """The way from one version to another; neither has to be in the calendar.

    Each series begins with the code of the one before it. A patch that came out after the next
    series had begun is on a branch of its own, though its version lies between: what it brought,
    such as a fix backported from a later series, need not be in the next release.

    Args:
        kinds: of the releases in between.
        first_of_series: take the first final release of each series instead, whatever its kind.

    Raises:
        SpecError: the first version is not the older one.

    Example:
        ``between(releases, parse("v6.1.0"), parse("v6.3.0")).releases`` is
        ``("v6.1.0", "v6.2.0", "v6.3.0")``.
    """
    if _place(first) >= _place(last):
        raise SpecError(
            f"{first.text} is not before {last.text}: give the good release first, then the bad "
            "one; the way between them follows the order of versions"
        )
    in_order = sorted(releases, key=lambda release: _place(release.version))
    wanted: Collection[Release] = [release for release in in_order if release.kind in kinds]
    if first_of_series:
        final = [release for release in in_order if release.kind in FINAL]
        wanted = {release.version.series: release for release in reversed(final)}.values()
    inside = [
        release
        for release in in_order
        if release in wanted and _place(first) < _place(release.version) < _place(last)
    ]
    left_out = _on_a_branch(releases, inside, last)
    versions = [release.version.text for release in inside]
    known = {release.version.text for release in releases}
    return Way(
        (first.text, *(version for version in versions if version not in left_out), last.text),
        left_out,
        {end.text: _nearest(in_order, end) for end in (first, last) if end.text not in known},
    )


def _nearest(in_order: Iterable[Release], version: Version) -> tuple[str, ...]:
    """Up to four final releases of its series, in order: those with the nearest numbers."""
    series = [
        release.version
        for release in in_order
        if release.version.series == version.series and release.kind in FINAL
    ]
    nearest = sorted(series, key=lambda known: abs(known.numbers[2] - version.numbers[2]))
    return tuple(known.text for known in series if known in nearest[:_NEAREST])


def _on_a_branch(
    releases: Iterable[Release], inside: Iterable[Release], last: Version
) -> dict[str, str]:
    """The patches that came out after a later series, up to the last one's, had begun; why."""
    began: dict[tuple[int, int], date] = {}
    for release in releases:
        series = release.version.series
        if release.kind in FINAL and series <= last.series:
            began[series] = min(release.day, began.get(series, release.day))
    left_out = {}
    for patch in (release for release in inside if release.kind == "patch"):
        later = min((series for series in began if series > patch.version.series), default=None)
        if later and patch.day > began[later]:
            left_out[patch.version.text] = (
                f"released {patch.day}, after the series {later[0]}.{later[1]} began "
                f"({began[later]})"
            )
    return left_out


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
