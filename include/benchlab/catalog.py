"""What this installation offers: report types, engines, workloads, targets and publishers.

Engines, workloads, targets and publishers are found by presence: a module in ``engines/``,
``workloads/``, ``targets/`` or ``publishers/`` is one, without a list to edit.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pydantic
import yaml

import benchlab.engines
import benchlab.publishers
import benchlab.targets
import benchlab.workloads
from benchlab import fit, language, pricing, resolution, versions
from benchlab import plan as planning
from benchlab import releases as calendars
from benchlab import spec as spec_module
from benchlab import topology as topologies
from benchlab.access import Access
from benchlab.engine import BaseEngine
from benchlab.errors import SpecError, UnavailableError
from benchlab.executor import Executor, LocalExecutor
from benchlab.home import Home
from benchlab.lock import fence
from benchlab.plan import Host, Plan
from benchlab.pricing import PriceList
from benchlab.publishers import BasePublisher, Options
from benchlab.releases import Calendar
from benchlab.resolution import Resolved
from benchlab.spec import SIDES, Destination, ReportSpec
from benchlab.topology import Topology
from benchlab.versions import Release

INSTALL_LIMIT_S = 3600.0
# Targets of which report types can be validated and planned, and why they cannot be run.
PLANNED_TARGETS = {
    "tidb_cloud": (
        "TiDB Cloud cannot be run on yet: its clusters are made and charged through an API that "
        "Benchlab does not call; `benchlab plan --commands` shows what to run there by hand"
    )
}


@cache
def engines() -> dict[str, type[BaseEngine]]:
    """Engine classes by name."""
    return {name: module.Engine for name, module in _modules(benchlab.engines).items()}


@cache
def targets() -> dict[str, Any]:
    """Target classes by name."""
    return {name: module.Target for name, module in _modules(benchlab.targets).items()}


@cache
def workloads() -> dict[str, ModuleType]:
    """Workload modules by the name of the workload; a module may have several."""
    return {
        name: module
        for module in _modules(benchlab.workloads).values()
        for name in getattr(module, "NAMES", ())
    }


@cache
def publishers() -> dict[str, type[BasePublisher]]:
    """Publisher classes by name."""
    return {name: module.Publisher for name, module in _modules(benchlab.publishers).items()}


def publisher(destination: Destination, home: Home, access: Access) -> BasePublisher:
    """What brings a report to a destination of a report type that :func:`check` has passed."""
    return publishers()[destination.to](_options(destination), home, access)


def place(destination: Destination) -> str:
    """Where a destination is, for people; see :attr:`benchlab.publishers.Options.place`."""
    return _options(destination).place


def _options(destination: Destination) -> Options:
    return publishers()[destination.to].options_model.model_validate(destination.options)


def module_of(spec: ReportSpec) -> ModuleType:
    """The workload module of a report type: its workloads are of one."""
    return workloads()[spec.workloads[0]]


def parsers() -> dict[str, Callable[[str], Any]]:
    """The functions that read a client's output, by the client's name."""
    return {module.TOOL: module.parse for module in workloads().values()}


def install(engine: str, version: str, home: Home, executor: Executor | None = None) -> None:
    """Fetch one version of an engine, if it is not here; one process at a time does.

    Raises:
        UnavailableError: it cannot be had.
    """
    with fence(home.servers / f"{engine}.fence", INSTALL_LIMIT_S):
        engines()[engine].install(
            executor or LocalExecutor(home.root, "install"), version, home.servers
        )


def plan(home: Home, spec: ReportSpec, engine: str, campaign: str) -> Plan:
    """Plan a campaign on the hosts of its topology, at the prices of ``configs/prices.csv``.

    Raises:
        SpecError: the topology does not validate, a price is missing, or a version rule is left.
    """
    if not spec.is_resolved:
        raise SpecError(f"{spec.report}: a version rule is no version; resolve it as of a day")
    topology, prices = _hosts_and_prices(home, spec)
    return planning.make(
        spec,
        engine,
        campaign,
        read_only_workloads(),
        topology=topology,
        prices=prices,
        metrics={name: module.METRIC for name, module in workloads().items()},
        warnings=module_of(spec).warnings(spec.dataset, spec.threads),
    )


def hosts(home: Home, spec: ReportSpec) -> tuple[Host, ...]:
    """The machines of a campaign that is planned now, whatever it may cost.

    Raises:
        SpecError: the topology or the price list does not validate.
    """
    return planning.hosts(*_hosts_and_prices(home, spec))


def _hosts_and_prices(home: Home, spec: ReportSpec) -> tuple[Topology | None, PriceList | None]:
    topology = load_topology(home, spec)
    return topology, pricing.load(home.configs / "prices.csv") if topology else None


def refuse_undecided(home: Home, spec: ReportSpec) -> None:
    """Refuse to run on a topology that leaves something open, before a person is asked to approve.

    Raises:
        SpecError: names all that is to be decided.
    """
    topology = load_topology(home, spec)
    if topology is None:
        return
    if undecided := targets()[spec.target].undecided(spec, topology):
        raise SpecError("\n".join(f"topology {spec.topology}: {what}" for what in undecided))


def load_topology(home: Home, spec: ReportSpec) -> Topology | None:
    """The hosts that a report type names, from ``configs/topologies/``; None where it needs none.

    Raises:
        SpecError: there is no such topology, or it is not of the kind that the target needs.
    """
    planned_only = spec.target in PLANNED_TARGETS
    kind = spec.target if planned_only else targets()[spec.target].topology
    if spec.topology is None or kind is None:
        if spec.topology is None and kind is None:
            return None
        wants = f"needs a topology of kind {kind}" if kind else "has no topology: leave it out"
        raise SpecError(f"topology: {spec.topology or 'missing'}; the target {spec.target} {wants}")
    path = home.configs / "topologies" / f"{spec.topology}.yaml"
    if not path.is_file():
        known = ", ".join(file.stem for file in sorted(path.parent.glob("*.yaml"))) or "none"
        raise SpecError(f"topology: {spec.topology}: there is no {path}; topologies: {known}")
    found = topologies.load(path)
    if found.kind != kind:
        raise SpecError(
            f"topology: {spec.topology} is of kind {found.kind}, the target {spec.target} needs "
            f"one of kind {kind}"
        )
    return found


def end(
    home: Home,
    campaign: str,
    access: Access,
    *,
    target: str | None = None,
    ask_driver: bool = False,
) -> str:
    """End a campaign wherever it runs, at work or left behind; repeatable, needs no store.

    Args:
        target: where it runs; None: as its directory says, or this machine.
        ask_driver: end the process of ``benchlab run`` that drives it, first.

    Returns:
        What was released, for people.
    """
    mark = home.campaign(campaign) / "target"
    name = target or (mark.read_text(encoding="utf-8") if mark.exists() else "local")
    released: str = targets()[name].end(home, campaign, access, ask_driver=ask_driver)
    return released


def read_only_workloads() -> frozenset[str]:
    """Workloads that leave the data as they found it."""
    return frozenset(name for name, module in workloads().items() if name in module.READ_ONLY)


def report_files(home: Home) -> list[Path]:
    """The YAML files of all report types, good or bad."""
    return sorted((home.configs / "reports").glob("*.yaml"))


def published_files(home: Home) -> list[Path]:
    """The YAML files of all published plans, good or bad."""
    return sorted((home.configs / "published").glob("*.yaml"))


def published_plans(home: Home, report: str) -> dict[Path, ReportSpec]:
    """The published plans of one report type, by file; files that do not validate are passed over.

    They are choices of that report type's form, which one bad file must not take away;
    `benchlab validate` names it.
    """
    found = {}
    for path in published_files(home):
        with contextlib.suppress(SpecError):
            plan = load(path)
            if plan.report == report:
                found[path] = plan
    return found


def topology_names(home: Home, kind: str) -> list[str]:
    """The topologies of one kind, by name; files that do not validate are passed over."""
    found = []
    for path in sorted((home.configs / "topologies").glob("*.yaml")):
        with contextlib.suppress(SpecError):
            if topologies.load(path).kind == kind:
                found.append(path.stem)
    return found


def calendar(home: Home) -> Calendar:
    """The release calendar of an installation; an empty one where it has none.

    Raises:
        SpecError: its file does not validate.
    """
    path = home.configs / "releases.csv"
    return calendars.load(path) if path.is_file() else Calendar(())


def releases_of(home: Home, spec: ReportSpec) -> tuple[Release, ...]:
    """What the calendar has of the engines that a report type may deploy, in order of the days.

    Raises:
        SpecError: the calendar does not validate.
    """
    owners = [engines()[name] for name in spec.deployable_engines]
    return calendar(home).of(lambda version: any(owner.owns(version) for owner in owners))


def resolve(home: Home, spec: ReportSpec, on: date, *, aa: bool = False) -> Resolved:
    """A report type with versions in place of its version rules, checked anew.

    Args:
        aa: an A/A campaign of what the candidate is.

    Raises:
        NoReleaseError: the calendar has no release that a rule names, or no pair of them.
        SpecError: what the rules name does not go together, as a parameter that a version refuses.
    """
    known = calendar(home)
    found = resolution.resolve(spec, lambda engine: known.of(engines()[engine].owns), on, aa=aa)
    check(found.spec, where=f"{spec.report} on {on}")
    return found


def find_report(home: Home, name: str) -> Path:
    """The file of a report type or a published plan, by its name or by the path of any YAML file.

    Raises:
        SpecError: there is none; names those that are.
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
    """Read a report type and check its names against what is there.

    Raises:
        SpecError: it does not validate, or names an engine, workload or target that is not there.
    """
    return check(spec_module.load(path), where=str(path))


def override(spec: ReportSpec, overrides: Mapping[str, Any]) -> ReportSpec:
    """Change fields of a report type, as the trigger form and the command line do.

    Keys as in :meth:`ReportSpec.with_overrides`; besides, ``baseline`` and ``candidate`` are
    versions, and go to the engine that owns them, or version rules.

    Raises:
        SpecError: an unknown key or a bad value.
    """
    dotted = {key: value for key, value in overrides.items() if key not in SIDES}
    sides = {key: str(overrides[key]) for key in SIDES if key in overrides}
    # A version tells the engine, which a rule does not.
    for key, version in sorted(sides.items(), key=lambda item: versions.is_rule(item[1])):
        wanted = dotted.get("engine", spec.engine)
        engine = _owner(spec, key, version, wanted)
        if wanted not in ("auto", engine):
            raise SpecError(
                f"{key}: {version!r} is a version of {engine}, and the engine of this campaign is "
                f"{wanted}: both sides have to be of one engine"
            )
        dotted["engine"] = engine
        dotted[f"engines.{engine}.{key}.version"] = version
    return check(spec.with_overrides(dotted), where="override")


def parse_assignments(assignments: list[str]) -> dict[str, Any]:
    """``key=value`` from a command line, the value as YAML: ``threads=[2,8]``, ``rounds=2``.

    A list may be written without brackets (``threads=2,8``).

    Raises:
        SpecError: one is not of this form.
    """
    overrides: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key:
            raise SpecError(f"--set {assignment}: write it as field=value, such as rounds=2")
        if key in overrides:
            raise SpecError(f"--set {key}: given twice")
        if key in SIDES:
            overrides[key] = text
            continue
        as_list = key in ("threads", "workloads", "languages") and not text.startswith("[")
        try:
            overrides[key] = yaml.safe_load(f"[{text}]" if as_list else text)
        except (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError) as error:
            # PyYAML's own for values that their tag does not fit: a 45th of a month, `!!int x`.
            raise SpecError(f"--set {assignment}: not YAML: {error}") from error
    return overrides


def check(spec: ReportSpec, where: str) -> ReportSpec:
    """Check a report type against what is there; see :mod:`benchlab.fit`.

    Raises:
        SpecError: it names what is unknown, or what does not go together; all faults at once.
    """
    offer = fit.Offer(engines(), targets(), workloads(), PLANNED_TARGETS)
    if found := [*fit.faults(spec, offer), *_publishing(spec)]:
        raise SpecError("\n".join(f"{where}: {fault}" for fault in found))
    return spec


def _publishing(spec: ReportSpec) -> Iterator[str]:
    """What is wrong with the languages of the report, and with where it is published."""
    if unknown := [code for code in spec.languages if code not in language.codes()]:
        there = ", ".join(language.codes())
        yield f"languages: unknown: {', '.join(unknown)}; there are: {there}"
    places = set()
    for number, destination in enumerate(spec.publish):
        if destination.to not in publishers():
            there = ", ".join(publishers())
            yield f"publish.{number}.to: unknown: {destination.to}; there are: {there}"
            continue
        try:
            found = place(destination)
        except pydantic.ValidationError as error:
            yield from spec_module.faults(error, within=("publish", number))
            continue
        if found in places:
            yield f"publish.{number}: {found} is named twice"
        places.add(found)


def choose_engine(spec: ReportSpec, home: Home, *, to_run: bool = True) -> tuple[str, str]:
    """The engine to deploy, and the sentence that says why.

    A fleet gets its servers from elsewhere, so nothing has to be on this machine for it.

    Args:
        to_run: False where the campaign is only planned.

    Raises:
        SpecError: it is to be run on a target that can only be planned for.
        UnavailableError: a version of it cannot be had here; says how to get it.
    """
    if to_run and spec.target in PLANNED_TARGETS:
        raise SpecError(f"target: {spec.target}: {PLANNED_TARGETS[spec.target]}")
    if spec.topology is not None and spec.engine != "auto":
        if to_run:
            _refuse_undeployable(spec)
        return spec.engine, "the report type names it"
    candidates = [spec.engine] if spec.engine != "auto" else list(spec.engines)
    reasons: list[str] = []
    for name in candidates:
        missing = _missing(spec, name, home)
        if missing is None:
            if spec.engine != "auto":
                return name, "the report type names it"
            return name, "; ".join([*reasons, f"{name} can be had on this machine"])
        reasons.append(f"{name} cannot be had: {missing}")
    raise UnavailableError(f"engine: {spec.engine}: " + "; ".join(reasons))


def _refuse_undeployable(spec: ReportSpec) -> None:
    cluster = engines()[spec.engine].cluster
    for side in spec.measured_sides:
        if fault := cluster.not_deployable(spec.side(spec.engine, side).version):
            raise SpecError(f"engines.{spec.engine}.{side}.version: {fault}")


def _missing(spec: ReportSpec, engine: str, home: Home) -> str | None:
    for side in spec.measured_sides:
        version = spec.side(engine, side).version
        availability = engines()[engine].availability(version, home.servers)
        if not availability.available:
            return availability.how
    return None


def _owner(spec: ReportSpec, side: str, version: str, wanted: str) -> str:
    if versions.is_rule(version):
        if wanted != "auto" or len(spec.engines) == 1:
            return wanted if wanted != "auto" else next(iter(spec.engines))
        raise SpecError(
            f"{side}: {version!r} names a version of every engine ({', '.join(spec.engines)}); "
            "say which is meant with engine="
        )
    for name in spec.engines:
        if name in engines() and engines()[name].owns(version):
            return name
    raise SpecError(
        f"{side}: {version!r} is not a version of any engine of this report type "
        f"({', '.join(spec.engines)}); TiDB's are written v6.5.0, MariaDB's 10.11.5"
    )


def _modules(package: ModuleType) -> dict[str, ModuleType]:
    return {
        found.name: importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
    }
