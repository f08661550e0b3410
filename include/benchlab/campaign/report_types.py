"""Finds and reads the report types of an installation, checked by :mod:`benchlab.campaign.fit`."""

from __future__ import annotations

import contextlib
import os
from datetime import date
from pathlib import Path

from benchlab import engines
from benchlab.bounded import read_text
from benchlab.campaign import fit
from benchlab.errors import NoReleaseError, SpecError
from benchlab.home import Home
from benchlab.plan import releases as calendars
from benchlab.plan import report_type, resolution
from benchlab.plan import topology as topologies
from benchlab.plan.fields import schedule
from benchlab.plan.fields.schedule import ORDINARY, OnRelease
from benchlab.plan.releases import Calendar
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.versions import Release


def report_files(home: Home) -> list[Path]:
    """The YAML files of all report types, valid or not."""
    return sorted((home.configs / "reports").glob("*.yaml"))


def published_files(home: Home) -> list[Path]:
    """The YAML files of all published plans, valid or not."""
    return sorted((home.configs / "published").glob("*.yaml"))


def published_plans(home: Home, report: str) -> dict[Path, ReportSpec]:
    """The published plans of one report type, by file; files that do not validate are skipped.

    The report type's trigger form offers them, and must not fail because of one bad file;
    `benchlab validate` names that.
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


def check_every_day(home: Home, path: Path) -> None:
    """Check the versions that a report type's version rules name on each day of the calendar.

    Example:
        ``check_every_day(home, find_report(home, "tpcc_ec2"))``

    A backfill uses those of past days, and would otherwise meet their faults on rented hosts.

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

    def owned(engine: str) -> tuple[Release, ...]:
        return known.owned(engines.by_name()[engine].owns)

    turns = {(release.day, ORDINARY) for release in releases}
    if isinstance(spec.schedule, OnRelease):
        moments = schedule.moments_of(calendars.days(releases, spec.schedule.types))
        turns |= {(at.date(), schedule.turn(spec.schedule, at)) for at in moments}
    for day, turn in sorted(turns, key=lambda found: (found[0], found[1].nth)):
        try:
            named = resolution.resolve(spec, owned, day, turn=turn)
            fit.check(named.spec, where=f"{spec.report} on {day}")
        except NoReleaseError:
            continue  # nothing would be measured on that day
        except SpecError as error:
            for line in str(error).splitlines():
                faults.setdefault(line.removeprefix(f"{spec.report} on {day}: "), day)
    if faults:
        raise SpecError("\n".join(f"{path}, as of {day}: {fault}" for fault, day in faults.items()))


def find_report(home: Home, name: str) -> Path:
    """The file of a report type or published plan, from its name or path: ``"tpcc_ec2"``.

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
    """Keep a copy of the report type with which a campaign begins, for :func:`last_planned`."""
    copy = _copy(home, path.stem)
    copy.parent.mkdir(parents=True, exist_ok=True)
    part = copy.with_name(f"{copy.name}.{os.getpid()}.part")
    part.write_text(read_text(path), encoding="utf-8")
    part.replace(copy)


def last_planned(home: Home, report: str) -> ReportSpec | None:
    """A report type as its last campaign began with it, even if the file has changed since.

    Returns:
        None if no campaign began with it, or the copy cannot be read.
    """
    with contextlib.suppress(SpecError):
        copy = _copy(home, report)
        return report_type.load(copy) if copy.is_file() else None
    return None


def _copy(home: Home, report: str) -> Path:
    return home.root / "report_types" / f"{report}.yaml"
