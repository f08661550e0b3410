"""The command that says what is missing on this machine, and how to get it: doctor."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import typer

from benchlab import engines, targets
from benchlab.campaign import planning, report_types
from benchlab.errors import BenchlabError, SpecError
from benchlab.home import Home, find
from benchlab.hosts.access import aws_credentials
from benchlab.hosts.executor import TAG, tagged
from benchlab.hosts.lock import MachineLock
from benchlab.language import REFERENCE, codes, load
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab.plan.steps import GIB
from benchlab.plan.versions import FINAL
from benchlab.report.charts import fonts
from benchlab.report.notifications import notifiers
from benchlab.targets.local import TOOLS

app = typer.Typer()

# Engines that are maintained have a release more often than this.
STALE = timedelta(weeks=26)


@dataclass(frozen=True)
class Check:
    """One thing looked at; ``blocks``: no local campaign can run until it is fixed."""

    what: str
    good: bool
    detail: str
    blocks: bool = False

    def __str__(self) -> str:
        mark = "ok  " if self.good else "MISS" if self.blocks else "note"
        return f"{mark}  {self.what}: {self.detail}"


def examine(home: Home) -> list[Check]:
    """Look at tools, engines, report types, accounts, disk and what earlier campaigns left."""
    return [
        *_python(),
        *_tools(),
        *_engines(home),
        *_reports(home),
        *_aws(home),
        *_notifiers(home),
        *_calendar(home),
        *_disk(home),
        *_fonts(),
        *_machine(),
    ]


def _python() -> Iterator[Check]:
    good = sys.version_info >= (3, 11)
    yield Check(
        "python", good, f"{sys.version.split()[0]} (3.11 or newer is needed)", blocks=not good
    )
    found = importlib.util.find_spec("airflow") is not None
    yield Check(
        "airflow",
        found,
        "installed" if found else "not in this environment: `make setup`; the CLI works without",
    )


def _tools() -> Iterator[Check]:
    for tool, package in TOOLS.items():
        path = shutil.which(tool)
        detail = path or f"not found; `make setup`, or `apt-get install {package}`"
        yield Check(tool, path is not None, detail, blocks=path is None)


def _engines(home: Home) -> Iterator[Check]:
    """The servers of this machine; a fleet gets its own from elsewhere."""
    for spec in _good_reports(home):
        if spec.topology is not None:
            continue
        for engine in spec.deployable_engines:
            for version in sorted({spec.side(engine, side).version for side in SIDES}):
                found = engines.by_name()[engine].availability(version, home.servers)
                yield Check(f"{spec.report}: {engine} {version}", found.available, found.how)


def _good_reports(home: Home) -> Iterator[ReportSpec]:
    """The report types as of today; those that do not validate are named by :func:`_reports`."""
    for path in report_types.report_files(home):
        with contextlib.suppress(BenchlabError):
            yield _as_of_today(home, path)


def _as_of_today(home: Home, path: Path) -> ReportSpec:
    return report_types.resolve(home, report_types.load(path), datetime.now(UTC).date()).spec


def _reports(home: Home) -> Iterator[Check]:
    for path in report_types.report_files(home):
        try:
            spec = _as_of_today(home, path)
            engine, _ = planning.choose_engine(spec, home)
        except BenchlabError as error:
            yield Check(f"report type {path.stem}", False, str(error), blocks=True)
        else:
            yield _report(home, spec, engine)


def _report(home: Home, spec: ReportSpec, engine: str) -> Check:
    what = f"report type {spec.report}"
    try:
        planning.refuse_undecided(home, spec)
    except SpecError as error:
        return Check(what, False, f"cannot run yet: {'; '.join(str(error).splitlines())}")
    if spec.topology is None:
        return Check(what, True, f"can run, with {engine}")
    asked = "what it rents" if targets.by_name()[spec.target].rents else "its hosts"
    return Check(
        what, True, f"is complete, with {engine}; a campaign looks at {asked} when it begins"
    )


def _aws(home: Home) -> Iterator[Check]:
    """Whether there are credentials at all, where a report type rents; AWS itself is not asked."""
    renting = {name for name, target in targets.by_name().items() if target.rents}
    wanting = [spec.report for spec in _good_reports(home) if spec.target in renting]
    if not wanting:
        return
    try:
        found = aws_credentials()
    except BenchlabError as error:
        yield Check("aws", False, str(error))
        return
    if found is None:
        yield Check(
            "aws",
            False,
            "boto3 finds no credentials (environment, profile, the machine's role), and "
            f"{', '.join(wanting)} cannot be run from the command line; Airflow may have them in "
            "its Connection benchlab_aws",
        )
    else:
        yield Check("aws", True, f"boto3 finds credentials ({found}); AWS was not asked")


def _notifiers(home: Home) -> Iterator[Check]:
    path = home.configs / notifiers.FILE
    try:
        found = notifiers.load(path, {file.stem for file in report_types.report_files(home)})
    except BenchlabError as error:
        yield Check("notifiers", False, str(error))
        return
    places = "; ".join(each.place for each in found) or "nobody is told of anything"
    yield Check("notifiers", True, f"{len(found)} in {path}: {places}")


def _calendar(home: Home) -> Iterator[Check]:
    """A schedule has nothing new to compare where nobody updates the calendar."""
    for engine, reports in sorted(_scheduled(home).items()):
        known = report_types.calendar(home).owned(engines.by_name()[engine].owns)
        final = [each for each in known if each.kind in FINAL]
        last = max(final, key=lambda each: each.day, default=None)
        told = f"last release: {last.version.text} of {last.day}" if last else "no release"
        recent = last is not None and datetime.now(UTC).date() - last.day <= STALE
        if not recent:
            told += (
                f"; none in the last {STALE.days // 7} weeks, so that {', '.join(sorted(reports))} "
                "may miss new ones: add them with `benchlab releases update`"
            )
        yield Check(f"release calendar: {engine}", recent, told)


def _scheduled(home: Home) -> dict[str, list[str]]:
    """The report types that have a schedule, by engine."""
    found: dict[str, list[str]] = {}
    for spec in _good_reports(home):
        if spec.schedule is not None:
            for engine in spec.deployable_engines:
                found.setdefault(engine, []).append(spec.report)
    return found


def _disk(home: Home) -> Iterator[Check]:
    home.root.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(home.root).free / GIB
    yield Check("disk", free > 2, f"{free:.1f} GiB free under {home.root}")


def _fonts() -> Iterator[Check]:
    for language in (load(code) for code in codes() if code != REFERENCE):
        good = fonts.language_of_charts(language) is language
        package = language.say("chart-package")
        yield Check(
            f"font {language.code}",
            good,
            ", ".join(fonts.families(language))
            if good
            else "no font has its letters, so that the charts of reports in this language are in "
            f"English; `make setup`, or `apt-get install {package}`",
        )


def _machine() -> Iterator[Check]:
    try:
        holder = MachineLock().holder()
    except BenchlabError as error:
        yield Check("machine", False, str(error), blocks=True)
        return
    if holder is None:
        yield Check("machine", True, "free: no campaign holds it")
    elif (gone := holder.left_behind()) is not None:
        yield Check("machine", True, f"free: {holder} is over ({gone})")
    else:
        yield Check("machine", False, f"held by {holder}")
    if left := list(tagged(f"{TAG}=")):
        yield Check(
            "processes",
            False,
            f"{len(left)} processes of campaigns are running: {', '.join(map(str, left))}; "
            "`benchlab give-back <campaign>` ends one campaign's",
        )


@app.command()
def doctor() -> None:
    """Say what is missing on this machine and how to get it.

    Exit code 1 if a campaign could not run.
    """
    checks = examine(find())
    for check in checks:
        print(check)
    if any(check.blocks for check in checks):
        raise typer.Exit(1)
