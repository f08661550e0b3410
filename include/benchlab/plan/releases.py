"""The release calendar: ``configs/releases.csv``, every release with the day it came out.

Columns ``version``, ``release_date`` (``2022-12-29``) and ``type``
(:data:`benchlab.plan.versions.ReleaseKind`), sorted by day, then version. The engine of a release
follows from the form of its version.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path

from benchlab.errors import SpecError
from benchlab.plan import versions
from benchlab.plan.documents import Row, csv_rows, read_csv, write_text
from benchlab.plan.versions import RELEASE_KINDS, Release, ReleaseKind, ReleaseType, Version

COLUMNS = ("version", "release_date", "type")
# In a list of releases, the type of those from before versions had numbers, such as `rc1`.
BEFORE_VERSIONS = "pre-GA"


@dataclass(frozen=True)
class Calendar:
    """All known releases, in the order of their days."""

    releases: tuple[Release, ...]

    def owned(self, owns: Callable[[str], bool]) -> tuple[Release, ...]:
        """The releases of one engine; ``owns`` says whether a version is one of its own."""
        return tuple(found for found in self.releases if owns(found.version.text))

    def to_csv(self) -> str:
        """The calendar as CSV, as :func:`load` reads it."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows((r.version.text, r.day, r.kind) for r in self.releases)
        return text.getvalue()


@dataclass(frozen=True)
class NewReleases:
    """The releases in a list that is to be merged into the calendar.

    Attributes:
        releases: in the order of the list.
        left_out: lines that name no version, such as ``line 2: rc1 (pre-GA)``.
    """

    releases: tuple[Release, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Merged:
    """A calendar into which the releases of a list were merged.

    Attributes:
        changed: releases whose day or type has changed, as pairs of before and after.
    """

    calendar: Calendar
    added: tuple[Release, ...]
    changed: tuple[tuple[Release, Release], ...]


def days(releases: Sequence[Release], types: Iterable[ReleaseType]) -> tuple[date, ...]:
    """The day of each release of these types, in order; a day with two releases is there twice."""
    return tuple(sorted(release.day for release in versions.of_types(releases, types)))


def load(path: Path) -> Calendar:
    """Read a calendar: ``load(path).releases[-1]`` is its last release.

    Raises:
        SpecError: it cannot be read, or lines are wrong: a version, day or type, the order, or a
            repeated version; names the file and each wrong line.
    """
    return _read(path, read_csv(path))


# Cached, as a DAG file asks the calendar many times for every report type; by text, so that a
# change of the file is seen.
@functools.lru_cache(maxsize=4)
def _read(path: Path, text: str) -> Calendar:
    columns, rows = csv_rows(path, text)
    if columns != COLUMNS:
        raise SpecError(f"{path}: line 1: the columns must be {','.join(COLUMNS)}")
    releases = _releases(path, rows)
    faults = [
        f"{path}: line {second}: {after.version.text} ({after.day}) belongs before "
        f"{before.version.text} ({before.day}) of line {first}; the order is by day, then version"
        for (first, before), (second, after) in pairwise(releases)
        if _place(before) > _place(after)
    ]
    _refuse(faults)
    return Calendar(tuple(release for _, release in releases))


def read_new(path: Path) -> NewReleases:
    """Read a list of releases in any order, with a calendar's columns and perhaps others.

    A missing type follows from the version: with a ``-`` it is a pre-release, with a patch number
    above 0 a patch.

    Raises:
        SpecError: as :func:`load`, except for the order; or a missing type cannot be inferred.
    """
    columns, rows = csv_rows(path, read_csv(path))
    if missing := [column for column in COLUMNS[:2] if column not in columns]:
        raise SpecError(
            f"{path}: line 1: has no column {', '.join(missing)}; a list of releases has at least "
            f"{', '.join(COLUMNS[:2])}"
        )
    named = [(line, row) for line, row in rows if row.get("type") != BEFORE_VERSIONS]
    left_out = tuple(
        f"line {line}: {row['version']} ({BEFORE_VERSIONS})"
        for line, row in rows
        if row.get("type") == BEFORE_VERSIONS
    )
    return NewReleases(tuple(release for _, release in _releases(path, named)), left_out)


def merge(calendar: Calendar, new: Iterable[Release], *, replace: bool = False) -> Merged:
    """Merge releases, in any order, into a calendar.

    Args:
        new: each version once.
        replace: whether their day and type replace those of the calendar.

    Raises:
        SpecError: the calendar has another day or type for a version, and ``replace`` is not set;
            names all such versions, with both entries.
    """
    there = {_name(release): release for release in calendar.releases}
    new = sorted(new, key=_place)
    added = tuple(release for release in new if _name(release) not in there)
    changed = tuple((there[_name(now)], now) for now in new if there.get(_name(now), now) != now)
    if changed and not replace:
        _refuse(
            [
                f"the calendar has {_shown(was)}, the list {_shown(now)}; --replace takes the "
                "list's"
                for was, now in changed
            ]
        )
    merged = {**there, **{_name(release): release for release in new}}
    return Merged(Calendar(tuple(sorted(merged.values(), key=_place))), added, changed)


def retyped(calendar: Calendar, version: str, kind: str) -> Merged:
    """Change the type of one release of a calendar.

    Raises:
        SpecError: it has no such release, or the release cannot be of this type.
    """
    known = next((r for r in calendar.releases if _name(r) == version.casefold()), None)
    if known is None:
        raise SpecError(f"{version}: not in the calendar; `benchlab releases` lists what it has")
    found = Release(known.version, known.day, _kind(known.version, kind))
    return merge(calendar, [found], replace=True)


def write(calendar: Calendar, path: Path) -> None:
    """Write a calendar, as a whole or not at all.

    Raises:
        SpecError: it cannot be written; names the file.
    """
    write_text(path, calendar.to_csv())


def _name(release: Release) -> str:
    """The key of a release, in lower case: `-RC.1` is `-rc.1`."""
    return release.version.text.casefold()


def _shown(release: Release) -> str:
    return f"{release.version.text} of {release.day} ({release.kind})"


def _place(release: Release) -> tuple[date, tuple[int, int, int], str]:
    return release.day, release.version.numbers, release.version.text


def _releases(path: Path, rows: Iterable[tuple[int, Row]]) -> list[tuple[int, Release]]:
    """The release of each row with its line; names all faults at once."""
    faults = list[str]()
    found = dict[str, tuple[int, Release]]()
    for line, row in rows:
        try:
            release = _release(row)
        except SpecError as fault:
            faults.append(f"{path}: line {line}: {fault}")
            continue
        name = _name(release)
        if name in found:
            there, version = found[name][0], release.version.text
            faults.append(f"{path}: line {line}: {version} is in line {there} already")
        else:
            found[name] = (line, release)
    _refuse(faults)
    return list(found.values())


def _release(row: Row) -> Release:
    version = versions.parse(row["version"])
    return Release(version, _day(row["release_date"]), _kind(version, row.get("type", "")))


def _day(text: str) -> date:
    with contextlib.suppress(ValueError):
        # Python also reads 20221229 and 2022-W52-4; a calendar has one way to write a day.
        if (day := date.fromisoformat(text)).isoformat() == text:
            return day
    raise SpecError(f"release_date: {text!r} is not a date such as 2022-12-29")


def kind_by_name(version: Version) -> ReleaseKind | None:
    """The kind that follows from a version's text; None for the first release of a series."""
    if version.is_prerelease:
        return "pre-release"
    return "patch" if version.numbers[2] > 0 else None


def _kind(version: Version, text: str) -> ReleaseKind:
    is_patch = version.numbers[2] > 0
    kind = text or kind_by_name(version)
    if not kind:
        raise SpecError(
            f"type: missing, and it does not follow from {version.text}; write one of "
            f"{', '.join(RELEASE_KINDS)}"
        )
    if kind not in RELEASE_KINDS:
        raise SpecError(f"type: unknown: {kind!r}; known: {', '.join(RELEASE_KINDS)}")
    if (version.is_prerelease and kind != "pre-release") or (kind == "patch" and not is_patch):
        raise SpecError(f"type: {kind!r} cannot be the type of {version.text}")
    return kind


def _refuse(faults: Sequence[str]) -> None:
    if faults:
        raise SpecError("\n".join(faults))
