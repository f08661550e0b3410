"""The report types of an installation: found, read and checked by :mod:`benchlab.campaign.fit`."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from benchlab import engines
from benchlab.campaign import fit, planning, running
from benchlab.engines import builds
from benchlab.errors import NoReleaseError, SpecError, UnavailableError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.language import message
from benchlab.plan import last_measured, report_type, resolution, versions
from benchlab.plan import releases as calendars
from benchlab.plan import topology as topologies
from benchlab.plan.documents import read_text
from benchlab.plan.fields import schedule
from benchlab.plan.fields.builds import Nightly
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.fields.schedule import OnRelease, Turn
from benchlab.plan.last_measured import Measured
from benchlab.plan.plan import Plan
from benchlab.plan.releases import Calendar
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab.plan.resolution import ORDINARY, Resolved
from benchlab.plan.versions import MEASURED, NEWEST, NIGHTLY, PREVIOUS, RUNNING, Release
from benchlab.results.records import Campaign
from benchlab.workloads import lua_script

# A run of a day may begin after its midnight, having waited for another.
NIGHTLY_LASTS = timedelta(days=1)
EVERYDAY = Access()


def report_files(home: Home) -> list[Path]:
    """The YAML files of all report types, valid or not."""
    return sorted((home.configs / "reports").glob("*.yaml"))


def published_files(home: Home) -> list[Path]:
    """The YAML files of all published plans, valid or not."""
    return sorted((home.configs / "published").glob("*.yaml"))


def published_plans(home: Home, report: str) -> dict[Path, ReportSpec]:
    """The published plans of one report type, by file; files that do not validate are skipped.

    The report type's trigger form offers them, and one bad file must not take the form away;
    `benchlab validate` names the file.
    """
    found = {}
    for path in published_files(home):
        with contextlib.suppress(SpecError):
            plan = report_type.load(path)
            if plan.report == report:
                found[path] = fit.check(plan, where=str(path))
    return found


def topology_names(home: Home, kind: str) -> list[str]:
    """The names of the topologies of one kind; files that do not validate are skipped."""
    found = topologies.valid(home.configs / "topologies")
    return [name for name, topology in found.items() if topology.kind == kind]


def calendar(home: Home) -> Calendar:
    """The release calendar of an installation; empty if it has none.

    Raises:
        SpecError: its file does not validate.
    """
    path = home.releases
    return calendars.load(path) if path.is_file() else Calendar(())


def releases_of(home: Home, spec: ReportSpec) -> tuple[Release, ...]:
    """The releases, by day, of the engines that a report type may deploy.

    Raises:
        SpecError: the calendar does not validate.
    """
    return _owned(calendar(home), spec)


def _owned(known: Calendar, spec: ReportSpec) -> tuple[Release, ...]:
    owners = [engines.by_name()[name] for name in spec.deployable_engines]
    return known.owned(lambda version: any(owner.owns(version) for owner in owners))


def resolve(
    home: Home,
    spec: ReportSpec,
    on: date,
    *,
    turn: Turn = ORDINARY,
    measured: Measured = last_measured.nothing,
    to_run: bool = True,
    access: Access = EVERYDAY,
) -> Resolved:
    """A report type with versions in place of its version rules, checked again.

    Args:
        on: the day as of which the rules are resolved.
        turn: what the schedule wants of the run's moment.
        measured: what the report type has measured; see
            :func:`benchlab.campaign.measured_versions.measured_by`.
        to_run: False if the campaign is only planned: where nobody can say which the nightly is,
            the newest release stands in for it.
        access: by which servers that exist are asked for their version.

    Raises:
        NoReleaseError: the calendar has no release that a rule names, or no pair of them.
        UnavailableError: the nightly cannot be asked for on this machine.
        TargetError: a server that exists cannot be asked; says what to do.
        SpecError: the versions do not fit, for example one refuses a parameter, or a build's file
            is missing or is no build.
    """
    spec, running_notes = running.with_running(hashed(home, spec), access)
    # Asked once, so that both sides of an A/A campaign have the same.
    known = calendar(home)
    nightly_of = functools.cache(lambda engine, on: _nightly(spec, engine, on, known, to_run))
    found = _resolve(known, spec, on, turn, measured, nightly_of)
    return dataclasses.replace(found, notes=(*running_notes, *found.notes))


def estimate(home: Home, spec: ReportSpec, on: date) -> Plan:
    """The plan of a report type as it stands, for its time and price; nobody is asked anything.

    A release stands in for what only a run can name: a nightly, and a version that was measured.
    With ``engine: auto`` the first engine is taken.

    Example:
        ``estimate(home, spec, date.today()).dollars``

    Raises:
        SpecError: the topology, the prices or the calendar do not allow one.
    """
    engine = spec.deployable_engines[0]
    changes: dict[str, Any] = {"engine": engine}
    for side in spec.measured_sides:
        version = getattr(spec.engines[engine], side).version
        for rules, release in (((NIGHTLY, RUNNING), NEWEST), (MEASURED, PREVIOUS[0])):
            if version in rules:
                changes[f"engines.{engine}.{side}.version"] = release
    resolved = resolve(home, spec.with_overrides(changes), on, to_run=False).spec
    return planning.plan(home, resolved, engine, spec.report)


def hashed(home: Home, spec: ReportSpec) -> ReportSpec:
    """A report type whose files on this machine have hashes, by which what was measured is known.

    Example:
        ``hashed(home, spec)`` twice reads a build's file once.

    Raises:
        SpecError, UnavailableError: see :func:`benchlab.engines.builds.pinned`.
    """
    spec = lua_script.pinned(home.project, spec)
    sides: list[SideSpec] = [
        getattr(spec.engines[name], side)
        for name in spec.deployable_engines
        for side in spec.measured_sides
    ]
    if all(build.sha256 for side in sides for build in side.builds.values()):
        return spec
    return builds.pinned(home, spec, Access(), fetch=False)


def as_begun(spec: ReportSpec, begun: Campaign, on: date) -> Resolved:
    """The report type with the versions and builds of a campaign that has begun.

    Nothing is resolved anew: since then, the calendar may have a release, or the mirror a nightly.

    Example:
        ``as_begun(spec, store.campaign("c1"), on).spec`` resumes ``c1``.

    Raises:
        SpecError: the report type has changed so that the versions do not fit it.
    """
    engine = begun.plan.engine
    changes: dict[str, Any] = {
        f"engines.{engine}.{name}.{field}": value
        for name, side in begun.plan.sides.items()
        for field, value in _pinned(side).items()
    }
    if spec.connections:  # the servers said which engine it is
        changes["engine"] = engine
    if begun.report_type.sides == "same" != spec.sides:  # an A/A campaign of the candidate
        chosen = spec.engines[engine].candidate or spec.engines[engine].baseline
        side = {**chosen.model_dump(mode="json"), **_pinned(begun.plan.sides["baseline"])}
        changes = {"sides": "same", **{f"engines.{engine}.{name}": side for name in SIDES}}
    note = message("rule-resumed", campaign=begun.id)
    return Resolved(fit.check(spec.with_overrides(changes), begun.id), on, (note,))


def _pinned(side: SideSpec) -> dict[str, Any]:
    kept = {name: build.model_dump(mode="json") for name, build in side.builds.items()}
    return {"version": side.version, "builds": kept}


def _resolve(
    known: Calendar,
    spec: ReportSpec,
    on: date,
    turn: Turn,
    measured: Measured,
    nightly_of: Callable[[str, date], Nightly] | None = None,
) -> Resolved:
    def owned(engine: str) -> tuple[Release, ...]:
        return known.owned(engines.by_name()[engine].owns)

    found = resolution.resolve(spec, owned, on, turn=turn, measured=measured, nightly_of=nightly_of)
    fit.check(found.spec, where=f"{spec.report} on {on}")
    return found


def _nightly(spec: ReportSpec, engine: str, on: date, known: Calendar, to_run: bool) -> Nightly:
    """The nightly that stands for a day; for a plan perhaps a release in its place.

    Raises:
        NoReleaseError: the day is past: the mirror overwrites one nightly with the next.
        UnavailableError, SpecError: see :meth:`BaseEngine.nightly`.
    """
    if on < datetime.now(UTC).date() - NIGHTLY_LASTS:
        raise NoReleaseError(
            f"{NIGHTLY} on {on}: the nightly of a past day cannot be had any more: each overwrites "
            "the one before; name a build that was kept (`benchlab builds`)"
        )
    owner = engines.by_name()[engine]
    try:
        return owner.nightly(on_fleet=spec.topology is not None)
    except UnavailableError as error:
        there = [release for release in known.owned(owner.owns) if release.day <= on]
        if to_run or (newest := versions.newest(there)) is None:
            raise
        return Nightly(newest.version.text, newest.day, {}, stands_in=str(error))


def check_every_day(home: Home, path: Path) -> None:
    """Check the versions that a report type's version rules name on any day of the calendar.

    A backfill comes to the past ones, and finds on rented hosts what they refuse otherwise.

    Raises:
        SpecError: some do not fit; names each fault with the first day that has it.
    """
    spec = load(path)
    sides = [
        getattr(entry, side) for entry in spec.engines.values() for side in spec.measured_sides
    ]
    if all(side.is_resolved for side in sides):
        return
    known = calendar(home)
    faults: dict[str, date] = {}
    releases = _owned(known, spec)
    turns = {(release.day, ORDINARY) for release in releases}
    if isinstance(spec.schedule, OnRelease):
        moments = schedule.moments_of(calendars.days(releases, spec.schedule.types))
        turns |= {(at.date(), schedule.turn(spec.schedule, at)) for at in moments}
    for day, turn in sorted(turns, key=lambda found: (found[0], found[1].nth)):
        try:
            _resolve(known, spec, day, turn, last_measured.nothing)
        except NoReleaseError:
            continue  # nothing would be measured on that day
        except SpecError as error:
            for line in str(error).splitlines():
                faults.setdefault(line.removeprefix(f"{spec.report} on {day}: "), day)
    if faults:
        raise SpecError("\n".join(f"{path}, as of {day}: {fault}" for fault, day in faults.items()))


def find_report(home: Home, name: str) -> Path:
    """The file of a report type or published plan, from its name or its path.

    Raises:
        SpecError: there is none; lists the known names.
    """
    folders = (home.configs / "reports", home.configs / "published")
    for path in (Path(name), *(folder / f"{name}.yaml" for folder in folders)):
        if path.is_file():
            return path
    known = ", ".join(path.stem for path in report_files(home)) or "none"
    published = ", ".join(path.stem for path in published_files(home)) or "none"
    raise SpecError(
        f"{name}: no such file and no such report type; report types: {known}; published plans: "
        f"{published}"
    )


def load(path: Path) -> ReportSpec:
    """Read a report type and check it: ``load(find_report(home, "sysbench_local"))``.

    Raises:
        SpecError: it does not validate, or does not fit the installation.
    """
    return fit.check(report_type.load(path), where=str(path))


def keep_planned(home: Home, path: Path) -> None:
    """Keep a copy of a report type by which a campaign begins, for :func:`last_planned`."""
    copy = _copy(home, path.stem)
    copy.parent.mkdir(parents=True, exist_ok=True)
    part = copy.with_name(f"{copy.name}.{os.getpid()}.part")
    part.write_text(read_text(path), encoding="utf-8")
    part.replace(copy)


def last_planned(home: Home, report: str) -> ReportSpec | None:
    """A report type as the last campaign began by it, whatever its file is now; None: by none."""
    with contextlib.suppress(SpecError):
        copy = _copy(home, report)
        return report_type.load(copy) if copy.is_file() else None
    return None


def _copy(home: Home, report: str) -> Path:
    return home.root / "report_types" / f"{report}.yaml"
