"""The command that names what is missing on this machine, and how to get it: doctor."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from benchlab import engines, targets
from benchlab.analysis.gates import gates
from benchlab.campaign import planning, report_types
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.cli import prices
from benchlab.errors import BenchlabError, SpecError, TargetError, UnavailableError
from benchlab.home import Home, find
from benchlab.hosts import metrics, steadiness
from benchlab.hosts.access import Access, aws_credentials
from benchlab.hosts.executor import TAG, Executor, LocalExecutor, tagged
from benchlab.hosts.lock import MachineLock
from benchlab.plan import pricing
from benchlab.plan import topology as topologies
from benchlab.plan.fields.builds import is_nightly
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Request, Versioned
from benchlab.plan.steps import GIB
from benchlab.plan.topology import Ec2Topology
from benchlab.plan.versions import FINAL
from benchlab.report import gate_files
from benchlab.report.notifications import notifiers
from benchlab.targets.ec2 import account
from benchlab.targets.local import TOOLS

app = typer.Typer()

# A maintained engine has releases more often than this, so an older calendar is out of date.
STALE = timedelta(weeks=26)

# The highest variation of what a machine computes in half a second; the server's adds to it.
STEADY = 0.03


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        blocks: whether a campaign cannot run until it is fixed.
    """

    what: str
    good: bool
    detail: str
    blocks: bool = False

    def __str__(self) -> str:
        mark = "ok  " if self.good else "MISS" if self.blocks else "note"
        return f"{mark}  {self.what}: {self.detail}"


def examine(home: Home) -> list[Check]:
    """Check tools, engines, report types, accounts, disk and leftovers of earlier campaigns.

    Example:
        ``[check.what for check in examine(find()) if check.blocks]`` is empty if a campaign can
        run.
    """
    specs, reports = _report_types(home)
    return [
        Check("python", True, sys.version.split()[0]),
        _airflow(),
        *map(_tool, TOOLS),
        *_engines(home, specs),
        *_clients(specs),
        *reports,
        *_aws(specs),
        _notifiers(home),
        *_calendar(home, specs),
        *_prices(home, specs),
        _disk(home),
        *_cpus(home),
        *_machine(),
    ]


def examine_aws(home: Home, name: str | None, access: Access) -> Iterator[Check]:
    """Check the AWS account for the fleet of one topology, or of each; starts nothing.

    Args:
        name: of the topology; None: each one that rents on EC2.

    Raises:
        SpecError: there is no such topology, or it rents nothing.
    """
    specs, _ = _report_types(home)
    for stem, topology in _rented(home, name).items():
        size = f"{len(topology.host_types())} hosts in {topology.region}"
        yield Check("topology", True, f"{stem}, {size}")
        for finding in account.examine(home, access, topology):
            good, wrong = finding.good is True, finding.good is False
            yield Check(finding.what, good, finding.detail, blocks=wrong)
        if topology.kind == "ec2":  # a client alone downloads no version
            yield from _mirror([spec for spec in specs if spec.topology == stem])


def _rented(home: Home, name: str | None) -> dict[str, Ec2Topology]:
    folder = home.configs / "topologies"
    found = (
        topologies.valid(folder)
        if name is None
        else {name: topologies.load(folder / f"{name}.yaml")}
    )
    rented = {stem: topologies.on_ec2(one) for stem, one in found.items()}
    if not any(rented.values()):
        which = f"topology {name} rents nothing" if name else f"no topology in {folder} rents"
        raise SpecError(f"{which} on EC2, so there is nothing to ask AWS about")
    return {stem: one for stem, one in rented.items() if one is not None}


def _mirror(specs: list[ReportSpec]) -> Iterator[Check]:
    """Check that the fleet can fetch the versions of the report types that use it."""
    wanted = {
        (engine, spec.side(engine, side).version)
        for spec in specs
        for engine in spec.deployable_engines
        for side in spec.measured_sides
        if not is_nightly(spec.side(engine, side).version)
    }
    for engine, version in sorted(wanted):
        offered = engines.by_name()[engine].offered(version)
        if offered is None:
            why = "not asked for: this machine has no `tiup`; its hosts will ask"
            yield Check(f"{engine} {version}", False, why)
        else:
            yield Check(
                f"{engine} {version}", offered.available, str(offered.how), not offered.available
            )


def _airflow() -> Check:
    if importlib.util.find_spec("airflow") is not None:
        return Check("airflow", True, "installed")
    missing = "not in this environment: `make setup`; the CLI works without it"
    return Check("airflow", False, missing)


def _tool(tool: str) -> Check:
    path = shutil.which(tool)
    missing = f"not found; `make setup`, or `apt-get install {TOOLS[tool]}`"
    return Check(tool, path is not None, path or missing, blocks=path is None)


def _report_types(home: Home) -> tuple[list[ReportSpec], list[Check]]:
    """The valid report types as of today, and a check of each report type."""
    specs, checks = [], []
    for path in report_types.report_files(home):
        try:
            today = datetime.now(UTC).date()
            written = report_types.load(path)
            found = Resolver(home, asks=Asks.MIRRORS).versions(Request(written, today))
            specs.append(found.spec)
            checks.append(_report(home, written, found))
        except TargetError as error:  # blocks nothing: perhaps nobody uses this report type
            checks.append(Check(f"report type {path.stem}", False, f"cannot run yet: {error}"))
        except BenchlabError as error:
            checks.append(Check(f"report type {path.stem}", False, str(error), blocks=True))
    return specs, checks


def _report(home: Home, written: ReportSpec, found: Versioned) -> Check:
    spec, engine = found.spec, found.engine
    what = f"report type {spec.report}"
    try:
        Resolver(home, asks=Asks.TO_RUN).versions(Request(written, found.on))
    except UnavailableError as error:  # without TiUP here, the nightly's version is unknown
        return Check(what, False, f"cannot run yet: {error}")
    try:
        planning.refuse_undecided(home, spec)
    except SpecError as error:
        return Check(what, False, f"cannot run yet: {'; '.join(str(error).splitlines())}")
    if spec.topology is None:
        return Check(what, True, f"can run, with {engine}")
    asked = "what it rents" if targets.by_name()[spec.target].can.rents else "its hosts"
    return Check(
        what, True, f"is complete, with {engine}; a campaign looks at {asked} when it begins"
    )


def _engines(home: Home, specs: list[ReportSpec]) -> Iterator[Check]:
    """Check the servers on this machine; a fleet's hosts fetch their own."""
    for spec in specs:
        for engine in spec.deployable_engines if spec.topology is None else ():
            sides = (spec.side(engine, side) for side in spec.measured_sides)
            for version in sorted({side.version for side in sides if not side.builds}):
                found = engines.by_name()[engine].availability(version, home.servers)
                yield Check(f"{spec.report}: {engine} {version}", found.available, str(found.how))


def _clients(specs: list[ReportSpec]) -> Iterator[Check]:
    """Check which of several clients a campaign would use whose client is on this machine."""
    for spec in specs:
        what = f"{spec.report}: client"
        try:
            if (chosen := planning.client_here(spec)) is not None:
                yield Check(what, True, chosen)
        except UnavailableError as error:
            yield Check(what, False, str(error))


def _aws(specs: list[ReportSpec]) -> Iterator[Check]:
    """Check for AWS credentials, if a report type rents on EC2; AWS is not called."""
    if not (wanting := _renting(specs)):
        return
    try:
        found = aws_credentials()
    except BenchlabError as error:
        yield Check("aws", False, str(error))
        return
    detail = (
        f"boto3 finds credentials ({found}); AWS itself was not asked"
        if found
        else "boto3 finds no credentials (environment, profile, the machine's role), so "
        f"{', '.join(wanting)} cannot be run from the command line; Airflow may have them "
        "in its Connection benchlab_aws"
    )
    yield Check("aws", found is not None, detail)


def _renting(specs: list[ReportSpec]) -> list[str]:
    kinds = targets.by_name()
    return [s.report for s in specs if s.target in kinds and kinds[s.target].can.topology == "ec2"]


def _prices(home: Home, specs: list[ReportSpec]) -> Iterator[Check]:
    """Check the age of the prices, if a report type rents hosts on EC2."""
    if not _renting(specs):
        return
    try:
        known = pricing.load(home.prices)
    except SpecError as error:
        yield Check("prices", False, str(error))
        return
    today, oldest = datetime.now(UTC).date(), known.oldest()
    is_recent = oldest is not None and today - oldest <= pricing.OLD
    yield Check("prices", is_recent, prices.age(known, today))


def _notifiers(home: Home) -> Check:
    path = home.notifications
    try:
        found = notifiers.load(path, {file.stem for file in report_types.report_files(home)})
    except BenchlabError as error:
        return Check("notifiers", False, str(error))
    names = "; ".join(notifier.name for notifier in found) or "nobody is notified of anything"
    return Check("notifiers", True, f"{len(found)} in {path}: {names}")


def _calendar(home: Home, specs: list[ReportSpec]) -> Iterator[Check]:
    """Check that the calendar is up to date for the engines of schedules."""
    scheduled: dict[str, list[str]] = {}
    for spec in specs:
        for engine in spec.deployable_engines if spec.schedule is not None else ():
            scheduled.setdefault(engine, []).append(spec.report)
    for engine, reports in sorted(scheduled.items()):
        known = report_types.calendar(home).owned(engines.by_name()[engine].owns)
        final = [release for release in known if release.kind in FINAL]
        last = max(final, key=lambda release: release.day, default=None)
        age = datetime.now(UTC).date() - last.day if last else None
        detail = (
            f"last release: {last.version.text} of {last.day}, {age.days} days ago"
            if last and age is not None
            else "no release"
        )
        recent = age is not None and age <= STALE
        if not recent:
            detail += (
                f"; none in the last {STALE.days // 7} weeks, so {', '.join(sorted(reports))} "
                "may miss new ones"
            )
        source = "--from tiup" if engine == "tidb" else f"FILE.csv --engine {engine}"
        detail += f"; `benchlab releases update {source}` adds new ones"
        yield Check(f"release calendar: {engine}", recent, detail)


def _disk(home: Home) -> Check:
    home.root.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(home.root).free / GIB
    return Check("disk", free > 2, f"{free:.1f} GiB free under {home.root}")


def _cpus(home: Home) -> Iterator[Check]:
    yield (calm := _cpu(home, {"this machine": LocalExecutor(home.root, "doctor")}))
    if calm.good:
        yield _steadiness()


def _steadiness() -> Check:
    """Check that the machine computes evenly; if it does not, trials vary at least as much."""
    found = steadiness.variation()
    detail = f"what its cores compute in half a second varied by {found:.1%}"
    if found > STEADY:
        detail += (
            ", though nothing else was running here; it may share its cores with other "
            "machines. Intervals will be wide: use more rounds, or a machine that shares no "
            "cores"
        )
    return Check("cpu steadiness", found <= STEADY, detail)


def _cpu(home: Home, executors: Mapping[str, Executor]) -> Check:
    """Check that the machine's background load is low enough for valid trials."""
    try:
        most = gates.most(
            gate_files.load_all(home.configs / "quality"), "other_work_ratio", fleet=False
        )
    except SpecError as error:
        return Check("gates", False, str(error), blocks=True)
    ((host, busy),) = metrics.other_work(executors).items()
    if busy is None:
        return Check("cpu", False, f"{host} does not report how busy it is (/proc/stat)")
    calm = most is None or busy <= most
    detail = f"{busy:.0%} of it was in use within a second"
    if not calm:
        detail += (
            f"; trials alongside more than {most:.0%} background load are invalid: `top` "
            "shows what it is"
        )
    return Check("cpu", calm, detail)


def _machine() -> Iterator[Check]:
    try:
        holder = MachineLock().holder()
    except BenchlabError as error:
        yield Check("machine", False, str(error), blocks=True)
        return
    gone = holder.left_behind() if holder else None
    if holder is None:
        yield Check("machine", True, "free: no campaign holds it")
    else:
        detail = f"free: {holder} is over ({gone})" if gone else f"held by {holder}"
        yield Check("machine", gone is not None, detail)
    if left := list(tagged(f"{TAG}=")):
        yield Check(
            "processes",
            False,
            f"{len(left)} processes of campaigns are running: {', '.join(map(str, left))}; "
            "`benchlab give-back <campaign>` ends one campaign's",
        )


@app.command()
def doctor(
    aws: Annotated[
        bool,
        typer.Option(
            "--aws", help="instead: try an AWS account for the fleets of the topologies; rents none"
        ),
    ] = False,
    topology: Annotated[
        str | None, typer.Option(help="with --aws: one topology of configs/topologies/")
    ] = None,
) -> None:
    """Name what is missing on this machine, and how to get it.

    Exit code 1 if a campaign could not run.

    Example: benchlab doctor --aws
    """
    home = find()
    if topology is not None and not aws:
        raise SpecError("doctor: --topology goes with --aws")
    faulty = False
    for check in examine_aws(home, topology, Access.for_a_person()) if aws else examine(home):
        print(check)
        faulty = faulty or check.blocks
    if faulty:
        raise typer.Exit(1)
