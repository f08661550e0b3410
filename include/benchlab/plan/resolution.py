"""Replaces a report type's version rules with versions as of a day."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from benchlab.errors import NoReleaseError
from benchlab.plan import versions
from benchlab.plan.builds import Nightly
from benchlab.plan.report_type import SIDES, EngineSpec, ReportSpec, Side, SideSpec
from benchlab.plan.schedule import OnRelease
from benchlab.plan.versions import FINAL, Release, Version


@dataclass(frozen=True)
class Resolved:
    """A report type as of a day.

    Attributes:
        spec: with a version on each side that may be deployed.
        notes: which rule named which version, as sentences; empty where there was no rule.
    """

    spec: ReportSpec
    on: date
    notes: tuple[str, ...]


def resolve(
    spec: ReportSpec,
    releases_of: Callable[[str], Sequence[Release]],
    on: date,
    *,
    aa: bool = False,
    nightly_of: Callable[[str, date], Nightly] | None = None,
) -> Resolved:
    """A report type with its version rules replaced by versions.

    Example:
        ``resolve(spec, lambda engine: releases, date(2022, 12, 31)).spec.is_resolved`` is true.

    Args:
        releases_of: gives the releases of an engine by its name.
        aa: whether to make it an A/A campaign of the candidate, with the candidate on both sides.
            Only with `sides: different`; with `sides: same` every campaign is an A/A campaign, of
            the baseline.
        nightly_of: gives the nightly of an engine on a day, NoReleaseError where it is not to be
            had; None: never.

    Raises:
        NoReleaseError: the calendar has no release that a rule names, or both sides' rules name
            the same one; names the field.
    """
    aa = aa and spec.sides == "different"
    notes: list[str] = []
    changes: dict[str, Any] = {}
    for name in spec.deployable_engines:
        entry = spec.engines[name]
        sides: dict[Side, SideSpec] = {"baseline": entry.baseline}
        if entry.candidate is not None:
            sides = {
                "candidate": entry.candidate,
                "baseline": entry.candidate if aa else entry.baseline,
            }
        candidate: Version | None = None
        rule: str | None
        for side, chosen in sides.items():
            if chosen.version == versions.NIGHTLY:
                chosen, rule = _nightly(name, side, chosen, on, nightly_of)
                version = versions.parse(chosen.version)
            else:
                version, rule = _version(spec, name, side, chosen, releases_of(name), on, candidate)
            if side == "candidate":
                candidate = version
            changes[f"engines.{name}.{side}"] = {
                **chosen.model_dump(mode="json"),
                "version": version.text,
            }
            # With `sides: same` the candidate's version only serves to find the baseline's.
            if rule and not (spec.sides == "same" and side == "candidate"):
                notes.append(f"{'both sides' if spec.sides == 'same' else side}: {rule}")
        if spec.sides == "different" and not aa:
            _refuse_no_pair(name, entry, changes, on)
    if aa:
        changes["sides"] = "same"
        notes.append("an A/A campaign: the candidate against itself, to know the noise")
    return Resolved(spec.with_overrides(changes), on, tuple(dict.fromkeys(notes)))


def _nightly(
    engine: str,
    side: Side,
    chosen: SideSpec,
    on: date,
    nightly_of: Callable[[str, date], Nightly] | None,
) -> tuple[SideSpec, str]:
    """A side with the nightly of a day; builds that it names itself replace the nightly's."""
    try:
        if nightly_of is None:
            raise NoReleaseError(f"{versions.NIGHTLY} on {on}: it cannot be asked for here")
        found = nightly_of(engine, on)
    except NoReleaseError as error:
        raise NoReleaseError(f"engines.{engine}.{side}.version: {error}", side) from error
    of = {"version": found.version, "builds": {**found.builds, **chosen.builds}}
    made = chosen.model_copy(update=of)
    return made, f"{versions.NIGHTLY} on {on} is {made.label}, of {found.day}"


def _refuse_no_pair(engine: str, entry: EngineSpec, changes: Mapping[str, Any], on: date) -> None:
    baseline, candidate = (changes[f"engines.{engine}.{side}"] for side in SIDES)
    if baseline == candidate and entry.candidate is not None:
        raise NoReleaseError(
            f"engines.{engine}: no pair on {on}: `{entry.baseline.version}` of the baseline and "
            f"`{entry.candidate.version}` of the candidate are both {baseline['version']}"
        )


def _version(
    spec: ReportSpec,
    engine: str,
    side: Side,
    chosen: SideSpec,
    releases: Sequence[Release],
    on: date,
    candidate: Version | None,
) -> tuple[Version, str | None]:
    """A side's version, and a sentence on the rule that named it; None where there is no rule."""
    if chosen.is_resolved:
        return versions.parse(chosen.version), None
    # The release of the day is one of the kinds for which the schedule has runs.
    kinds = spec.schedule.types if isinstance(spec.schedule, OnRelease) else FINAL
    try:
        rule = versions.parse_rule(chosen.version)
        release = versions.resolve(rule, releases, on, candidate, kinds)
    except NoReleaseError as error:
        raise NoReleaseError(f"engines.{engine}.{side}.version: {error}", side) from error
    version = release.version
    return version, f"{chosen.version} on {on} is {version.text}, released {release.day}"
