"""Versions of the engines: how they are written, and which one was current on a day.

TiDB's versions have a leading ``v`` (``v6.5.0``, ``v2.1.0-rc.2``), as TiUP writes them; MariaDB's
do not (``10.11.5``). Instead of a version, a report type may have a *version rule*, which names one
as of a day, from the releases of the calendar (releases.py).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, get_args

from benchlab.errors import NoReleaseError, SpecError
from benchlab.language import message

# Without leading zeros, so that there is only one way to write a version.
_NUMBER = "(?:0|[1-9][0-9]{0,3})"
_PATTERN = re.compile(rf"v?({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-[0-9A-Za-z.-]+)?")


@dataclass(frozen=True)
class Version:
    """One version, as text and as numbers; a pre-release has the numbers of its release."""

    text: str
    numbers: tuple[int, int, int]

    @property
    def series(self) -> tuple[int, int]:
        """Major and minor number: ``(6, 5)`` of v6.5.12."""
        return self.numbers[:2]

    @property
    def is_prerelease(self) -> bool:
        """Whether it is an alpha, a beta or a release candidate."""
        return "-" in self.text


def parse(text: str) -> Version:
    """Read one version: ``parse("v6.5.0").numbers`` is ``(6, 5, 0)``.

    Raises:
        SpecError: it is not of the form ``v6.5.0`` (TiDB) or ``10.11.5`` (MariaDB).
    """
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise SpecError(
            f"version: {text!r} is not a version; write v6.5.0 for TiDB or 10.11.5 for MariaDB"
        )
    major, minor, patch = match.groups()
    return Version(text, (int(major), int(minor), int(patch)))


ReleaseKind = Literal["GA", "LTS", "DMR", "patch", "pre-release"]
"""Kind of a release. GA (generally available), LTS (long-term support) and DMR (development
milestone) are the first release of a series."""
RELEASE_KINDS: tuple[ReleaseKind, ...] = get_args(ReleaseKind)
# What is compared unless a rule says otherwise: all releases that are meant for use.
FINAL: tuple[ReleaseKind, ...] = ("GA", "LTS", "DMR", "patch")
LTS_PATCH: Literal["LTS patch"] = "LTS patch"
ReleaseType = ReleaseKind | Literal["LTS patch"]
"""A kind of release, or ``LTS patch``: a patch whose series began with an LTS release."""

NEWEST = "newest"
OF_THE_DAY = "release of the day"
# TiUP's alias; not in the calendar, see resolution.py.
NIGHTLY = "nightly"
# What an existing server reports; not in the calendar, see campaign/resolving.py.
RUNNING = "running"
PREVIOUS = ("previous", "previous series", "previous patch", "previous LTS")
PREVIOUS_MEASURED, LAST_GOOD = "previous measured", "last good"
MEASURED = (PREVIOUS_MEASURED, LAST_GOOD)
"""Rules by what was measured, not by what was released; see :mod:`benchlab.plan.last_measured`."""
RELATIVE = (*PREVIOUS, *MEASURED)
RULES = (NEWEST, f"{NEWEST} LTS", f"{NEWEST} 6.5", OF_THE_DAY, *RELATIVE, NIGHTLY)
"""Version rules, for messages; ``LTS`` and ``6.5`` stand for any kind and any series."""
_NEWEST_OF = re.compile(
    rf"{NEWEST}(?: (?:(?P<kind>GA|LTS|DMR|patch)|(?P<series>{_NUMBER}\.{_NUMBER})))?"
)


@dataclass(frozen=True)
class Release:
    """One release: its version, the day it came out, and what it is."""

    version: Version
    day: date
    kind: ReleaseKind


@dataclass(frozen=True)
class VersionRule:
    """A rule that names a version as of a day.

    Attributes:
        text: as it is written, see :data:`RULES`.
        kinds: the kinds of releases that it considers.
        series: the only series that it considers; None: all.
    """

    text: str
    kinds: tuple[ReleaseKind, ...] = FINAL
    series: tuple[int, int] | None = None

    @property
    def is_relative(self) -> bool:
        """Whether it names a baseline relative to its candidate."""
        return self.text in RELATIVE


def is_rule(text: str) -> bool:
    """Whether this is a version rule, not a version."""
    return (
        text in (OF_THE_DAY, NIGHTLY, RUNNING, *RELATIVE) or _NEWEST_OF.fullmatch(text) is not None
    )


def parse_rule(text: str) -> VersionRule:
    """Read one version rule: ``parse_rule("newest 6.5").series`` is ``(6, 5)``.

    Raises:
        SpecError: it is not a version rule; lists them.
    """
    if text in (OF_THE_DAY, NIGHTLY, RUNNING, *RELATIVE):
        return VersionRule(text)
    match = _NEWEST_OF.fullmatch(text)
    if match is None:
        raise SpecError(f"version: {text!r} is not a version rule; known: {', '.join(RULES)}")
    if match["series"]:
        major, minor = match["series"].split(".")
        return VersionRule(text, series=(int(major), int(minor)))
    kinds = tuple(kind for kind in FINAL if match["kind"] in (None, kind))
    return VersionRule(text, kinds)


def resolve(
    rule: VersionRule,
    releases: Sequence[Release],
    on: date,
    candidate: Version | None = None,
    types_of_day: Sequence[ReleaseType] = FINAL,
    nth: int = 0,
) -> Release:
    """The release of the calendar that a version rule names on a day.

    Example:
        ``resolve(parse_rule("newest 6.5"), releases, date(2023, 3, 1)).version.text``

    Args:
        releases: of one engine.
        candidate: needed by a rule that is relative to it.
        types_of_day: the types that the `release of the day` may have.
        nth: which of several releases of that day, from 0 for the highest version; past the last
            one it is the highest again.

    Raises:
        NoReleaseError: no release fits; says what the calendar has.
        SpecError: the rule is relative to a candidate, and there is none.
    """
    there = [release for release in releases if release.day <= on]
    if rule.text == OF_THE_DAY:
        fit = of_types(there, types_of_day)
        last = max((release.day for release in fit), default=None)
        of_day = sorted(
            (release for release in fit if release.day == last),
            key=lambda release: order(release.version.text),
            reverse=True,
        )
        found = next(iter(of_day[nth:] or of_day), None)
    elif rule.is_relative:
        if candidate is None:
            raise SpecError(f"version: {rule.text!r} is relative to a candidate; there is none")
        found = _previous(rule, there, candidate)
    else:
        found = newest(there, rule.kinds, rule.series)
    if found is None:
        of = f" of {candidate.text}" if rule.is_relative and candidate else ""
        known = max((release.version for release in there), key=lambda v: v.numbers, default=None)
        has = message("calendar-newest", version=known.text) if known else message("calendar-none")
        rule_of = {"rule": f"{rule.text}{of}", "on": str(on)}
        # In words only if they are wanted: DAG files try the rules again and again.
        raise NoReleaseError(message("fault-no-release", has=has, **rule_of))
    return found


def of_types(releases: Sequence[Release], types: Iterable[ReleaseType]) -> tuple[Release, ...]:
    """The releases of these types; ``LTS patch`` needs the series' first release among them."""
    wanted = frozenset(types)
    lts = {release.version.series for release in releases if release.kind == "LTS"}
    return tuple(
        release
        for release in releases
        if release.kind in wanted
        or (LTS_PATCH in wanted and release.kind == "patch" and release.version.series in lts)
    )


def newest_of_series(releases: Iterable[Release]) -> tuple[Release, ...]:
    """The newest release of each series, without pre-releases; the newest series first."""
    found: dict[tuple[int, int], Release] = {}
    for release in releases:
        there = found.get(release.version.series)
        if release.kind in FINAL and (
            there is None or there.version.numbers < release.version.numbers
        ):
            found[release.version.series] = release
    return tuple(found[series] for series in sorted(found, reverse=True))


def newest_before(releases: Iterable[Release], candidate: str) -> Release | None:
    """The newest release that is older than a candidate, which may be a build.

    Args:
        candidate: its label; v8.5.7 is older than its build ``v8.5.7@5c91a2b``.
    """
    return newest(release for release in releases if order(release.version.text) < order(candidate))


def newest(
    releases: Iterable[Release],
    kinds: Sequence[ReleaseKind] = FINAL,
    series: tuple[int, int] | None = None,
) -> Release | None:
    """The release with the highest version among these kinds and this series; None without one."""
    fit = [
        release
        for release in releases
        if release.kind in kinds and series in (None, release.version.series)
    ]
    return max(fit, key=lambda release: release.version.numbers, default=None)


def _previous(rule: VersionRule, releases: Sequence[Release], candidate: Version) -> Release | None:
    """The release that a candidate is compared with.

    Published reports compare with ``previous series``, the newest patch of the series before.
    """
    same = [release for release in releases if release.version.series == candidate.series]
    patch = newest(release for release in same if release.version.numbers < candidate.numbers)
    before = [release for release in releases if release.version.series < candidate.series]
    first = newest(before, kinds=("LTS",))
    lts = newest(releases, series=first.version.series) if first else None
    match rule.text:
        case "previous patch":
            return patch
        case "previous LTS":
            return lts
        case "previous series":
            return newest(before)
    return patch or lts or newest(before)


def is_same(one: str, other: str) -> bool:
    """Whether two texts are the same version, with or without ``v``: ``v5.1.1``, ``5.1.1``."""
    return _spelt_alike(one) == _spelt_alike(other)


@functools.lru_cache(maxsize=4096)  # a long view asks for the same few hundred very often
def order(text: str) -> tuple[tuple[int, ...], bool, str]:
    """A sort key for versions: a pre-release before its release, a hotfix or a build after it.

    Accepts any way of writing a version, including those of published pages and
    :func:`benchlab.plan.fields.builds.label`.

    Example:
        ``sorted(["v5.1.0", "v5.0.6", "v5.1.0-rc.1"], key=order)`` begins with ``v5.0.6`` and ends
        with ``v5.1.0``.
    """
    name, at, build = without_letter(text).partition("@")
    number, dash, suffix = name.partition("-")
    is_out = not dash or re.match(r"hotfix|\d{8}-", suffix) is not None
    return tuple(int(part) for part in re.findall("[0-9]+", number)), is_out, suffix + at + build


def without_letter(text: str) -> str:
    """A version in lower case, without its ``v`` and without anything in parentheses after it."""
    return text.partition("(")[0].strip().lower().removeprefix("v")


def _spelt_alike(text: str) -> str:
    return re.sub(r"\s", "", text).lower().removeprefix("v")
