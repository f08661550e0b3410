"""Whether a report type fits the installation: target, engine, workloads, parameters, publishers.

:mod:`benchlab.plan.report_type` checks a report type by itself. This checks it against the
installation, so that no fault is found only on hosts that cost money.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import pydantic

from benchlab import engines, home, language, targets, workloads
from benchlab.campaign import planning
from benchlab.engines import forbidden
from benchlab.engines.server import BaseEngine
from benchlab.errors import SpecError
from benchlab.plan import documents
from benchlab.plan.report_type import (
    Components,
    EngineSpec,
    ReportSpec,
    SideSpec,
    VersionParameters,
)
from benchlab.plan.topology import Ec2Topology, HostsTopology
from benchlab.plan.versions import RUNNING
from benchlab.report import publish
from benchlab.workloads import sysbench, sysbench_faults
from benchlab.workloads.client import program_of
from benchlab.workloads.workload import Workload

# Connections that Benchlab opens in addition to the client's.
OWN_SESSIONS = 10


def check(spec: ReportSpec, where: str) -> ReportSpec:
    """Check a report type against the installation, and return it unchanged.

    Args:
        where: the first words of each message, such as the report type's file.

    Raises:
        SpecError: names every unknown name, and everything that does not go together.

    Example:
        ``fit.check(spec, "sysbench_local.yaml")``
    """
    checks = (
        *(_names, _workloads, _versions, _builds, _parameters, _target, _connections_of_sides),
        *(_slowdown, _schedule),
        *(_languages, _publishing),
    )
    if faults := [f"{where}: {fault}" for check_one in checks for fault in check_one(spec)]:
        raise SpecError("\n".join(faults))
    return spec


def _names(spec: ReportSpec) -> Iterator[str]:
    known: tuple[tuple[str, Iterable[str], Iterable[str]], ...] = (
        ("target", [spec.target], [*targets.by_name()]),
        ("engine", [spec.engine], [*engines.by_name(), "auto"]),
        ("engines", spec.engines, engines.by_name()),
        ("workloads", spec.workloads, workloads.by_name()),
        ("threads_by_workload", spec.threads_by_workload, workloads.by_name()),
        ("published.tables.workloads", _in_tables(spec), workloads.by_name()),
    )
    for field, names, there in known:
        if unknown := [name for name in names if name not in there]:
            yield f"{field}: unknown: {', '.join(unknown)}; there are: {', '.join(there)}"


def _in_tables(spec: ReportSpec) -> tuple[str, ...]:
    tables = spec.published.tables if spec.published else None
    return tables.workloads if tables else ()


def _workloads(spec: ReportSpec) -> Iterator[str]:
    """Workloads of one report type share a client and a dataset, so they are of one module."""
    modules = {n: workloads.by_name()[n] for n in spec.workloads if n in workloads.by_name()}
    if len(modules) < len(spec.workloads):
        return
    first = modules[spec.workloads[0]]
    if strangers := [name for name, module in modules.items() if module is not first]:
        yield (
            f"workloads: {', '.join(strangers)} and {spec.workloads[0]} are of different clients, "
            "which share no dataset; write a report type for each client"
        )
    if not isinstance(spec.dataset, first.DATASET):
        wanted = ", ".join(first.DATASET.model_fields)
        yield f"dataset: {spec.workloads[0]} needs {wanted}, found {spec.dataset}"
    try:
        program_of(spec.client.program, first.PROGRAMS)
    except ValueError as fault:
        yield str(fault)
    yield from _client(spec, first)
    yield from _fresh(spec, [name for name, module in modules.items() if name in module.FRESH])


def _client(spec: ReportSpec, workload: Workload) -> Iterator[str]:
    client = spec.client
    if workload.TOOL == sysbench.TOOL:
        yield from sysbench_faults.faults(spec)
        return
    for field in ("rand_type", "options", "script"):
        if getattr(client, field):
            yield (
                f"client.{field}: only sysbench's workloads have one, and {spec.workloads[0]} is "
                "none of them; leave it out"
            )
    if (client.path or client.version) and client.program is None and len(workload.PROGRAMS) > 1:
        names = ", ".join(program.name for program in workload.PROGRAMS)
        yield (
            "client.program: missing; client.path and client.version are those of one program: "
            f"write which, one of {names}"
        )


def _fresh(spec: ReportSpec, names: list[str]) -> Iterator[str]:
    """Workloads that find the dataset as it was loaded: restored before each, and not warmed up."""
    why = f"{', '.join(names)} would find rows that an earlier run inserted, and insert none"
    if names and spec.restore not in ("every_trial", "after_writes"):
        yield f"restore: {spec.restore}: {why}; write every_trial or after_writes"
    if names and spec.warmup_seconds:
        yield f"warmup_seconds: {spec.warmup_seconds}: {why}; write 0, and make `seconds` longer"


def _versions(spec: ReportSpec) -> Iterator[str]:
    for name, entry in spec.engines.items():
        for side in spec.measured_sides:
            chosen = getattr(entry, side)
            if chosen.is_resolved and name in engines.by_name():
                yield from _foreign(name, f"{side}.version", chosen.version)
        for number, written in enumerate(entry.by_version):
            for field, version in (("since", written.since), ("until", written.until)):
                if version and name in engines.by_name():
                    yield from _foreign(name, f"by_version.{number}.{field}", version)


def _builds(spec: ReportSpec) -> Iterator[str]:
    for name, entry in spec.engines.items():
        if (engine := engines.by_name().get(name)) is None:
            continue
        # On one machine there is one server.
        there = engine.components if spec.topology is not None else engine.components[:1]
        for side in filter(None, (entry.baseline, entry.candidate)):
            for component in side.builds:
                if component not in there:
                    yield (
                        f"engines.{name}: builds.{component}: on the target {spec.target} there "
                        f"can be a build of: {', '.join(there) or 'nothing'}"
                    )


def _foreign(engine: str, field: str, version: str) -> Iterator[str]:
    if not engines.by_name()[engine].owns(version):
        yield f"engines.{engine}.{field}: {version!r} is not a version of {engine}"


def _parameters(spec: ReportSpec) -> Iterator[str]:
    vcpu = _storage_vcpu(spec)
    for name, entry in spec.engines.items():
        if (engine := engines.by_name().get(name)) is None:
            continue
        written = [
            entry.parameters,
            *(versions.parameters for versions in entry.by_version),
            *(getattr(entry, side).parameters for side in spec.measured_sides),
        ]
        for key in dict.fromkeys(key for parameters in written for key in parameters):
            if key.replace("-", "_") in engine.reserved:
                yield (
                    f"engines.{name}: parameter {key} is set by Benchlab itself and cannot be "
                    "chosen"
                )
        yield from _forbidden(name, engine, entry)
        for side in spec.measured_sides:
            chosen = spec.side(name, side)
            if not chosen.is_resolved or not engine.owns(chosen.version):
                continue  # for a version rule, this is checked once the version is known
            sets: list[Components] = [chosen.components, *entry.by_workload.values()]
            refused = dict.fromkeys(
                fault
                for components in sets
                for fault in engine.parameter_faults(
                    chosen.version, chosen.parameters, components, storage_vcpu=vcpu
                )
            )
            yield from (f"engines.{name}.{side}: {fault}" for fault in refused)
            yield from (
                f"engines.{name}.{side}: {fault}" for fault in _connections(spec, engine, chosen)
            )


def _storage_vcpu(spec: ReportSpec) -> int | None:
    """vCPUs of the smallest TiKV host that the topology allows; None where they are not known.

    What is wrong with the topology itself is for the plan to say.
    """
    if spec.topology is None:
        return None
    with contextlib.suppress(SpecError, KeyError):
        return min(planning.storage_vcpus(home.find(), spec), default=None)
    return None


def _sql_servers(spec: ReportSpec) -> int:
    """SQL servers of the topology; 0 where unknown: the plan says what is wrong with it."""
    with contextlib.suppress(SpecError, KeyError):
        topology = targets.load_topology(home.find(), spec)
        if isinstance(topology, HostsTopology):
            return len(topology.fleet().with_role("tidb"))
        if isinstance(topology, Ec2Topology):
            return topology.roles["tidb"].count
    return 0


def _forbidden(name: str, engine: type[BaseEngine], entry: EngineSpec) -> Iterator[str]:
    """Parameters of any side, version, component or workload that reach beyond the server."""
    layers: list[EngineSpec | VersionParameters | SideSpec] = [entry, *entry.by_version]
    layers += filter(None, (entry.baseline, entry.candidate))
    sets = [layer.parameters for layer in layers]
    for components in (*(layer.components for layer in layers), *entry.by_workload.values()):
        sets += components.values()
    found = {
        key: reason
        for parameters in sets
        for key, value in parameters.items()
        if (reason := forbidden.why(key, value, short_names=engine.short_names))
    }
    for key, reason in found.items():
        yield f"engines.{name}: parameter {key} may not be set: it {reason}"


def _connections(spec: ReportSpec, engine: type[BaseEngine], side: SideSpec) -> Iterator[str]:
    """Limits too low for the client, whose connections would be refused in the first trial.

    Not checked on a fleet: there the load balancer spreads them over servers not known here.
    """
    if spec.topology is not None:
        return
    most = max(spec.thread_counts)
    needed = most + OWN_SESSIONS
    for key in sorted(engine.connection_limits & side.parameters.keys()):
        limit = side.parameters[key]
        if isinstance(limit, int) and 0 < limit < needed:
            yield (
                f"parameter {key} is {limit}; {most} threads need a connection each "
                f"and Benchlab {OWN_SESSIONS}: write {needed} or more, or leave it out"
            )


def _target(spec: ReportSpec) -> Iterator[str]:
    if spec.target not in targets.by_name():
        return
    target = targets.by_name()[spec.target]
    if target.one_side:
        yield from _one_side(spec)
        return
    for name, entry in spec.engines.items():
        if entry.by_workload:
            yield (
                f"engines.{name}.by_workload: the target {spec.target} deploys a side once, with "
                "the same configuration for all workloads; write a report type for each set"
            )
    if target.topology is None:
        yield from _one_machine(spec)
    else:
        yield from _fleet(spec)


def _one_side(spec: ReportSpec) -> Iterator[str]:
    """What cannot be done with a cluster of which somebody else chooses version and configuration.

    Configuration by workload is refused when a campaign begins: it can be planned.
    """
    where = f"the target {spec.target}"
    balancer, sides = spec.load_balancer, spec.sides
    faults = {
        f"topology: missing; {where} needs one of configs/topologies": spec.topology is None,
        f"sides: {sides}: nobody can choose a version on {where}; write single": sides != "single",
        f"engine: {spec.engine}: {where} has tidb only; write tidb": spec.engine != "tidb",
        "budget: missing; what a campaign may cost has no default": spec.budget is None,
        f"load_balancer: {balancer}: {where} has its own endpoint; write none": balancer != "none",
        f"deployments: {spec.deployments}: {where} makes one cluster; write 1": spec.deployments
        > 1,
        f"snapshots: {where} restores by loading again; leave it out": spec.snapshots is not None,
    }
    yield from (fault for fault, is_so in faults.items() if is_so)
    yield from _secret(spec)
    for name, entry in spec.engines.items():
        for field in ("parameters", "components", "builds"):
            if getattr(entry.baseline, field) or getattr(entry, field, None):
                yield f"engines.{name}.{field}: {where} configures its clusters; leave it out"


def _connections_of_sides(spec: ReportSpec) -> Iterator[str]:
    if spec.target not in targets.by_name():
        return
    if not targets.by_name()[spec.target].deploys:
        yield from _servers_that_exist(spec)
        return
    if spec.connections:
        yield f"connections: the target {spec.target} deploys its own servers; leave it out"
    for name, entry in spec.engines.items():
        for side in spec.measured_sides:
            if getattr(entry, side).version == RUNNING:
                yield (
                    f"engines.{name}.{side}.version: {RUNNING}: the target {spec.target} deploys a "
                    "server, which has to have a version; name one"
                )


def _servers_that_exist(spec: ReportSpec) -> Iterator[str]:
    """What cannot be done with servers that are not the campaign's own."""
    wanted = set(spec.measured_sides)
    if set(spec.connections) != wanted:
        yield (
            f"connections: {', '.join(spec.connections) or 'missing'}: name the Airflow Connection "
            f"of each side that is measured: {', '.join(spec.measured_sides)}"
        )
    elif len(set(spec.connections.values())) < len(wanted):
        yield (
            "connections: both sides are the same server; write `sides: single`, and compare two "
            "campaigns with `benchlab compare --before --after`"
        )
    if spec.sides == "same":
        yield "sides: same: a server that exists is not deployed twice; write different or single"
    if spec.load_balancer != "none":
        yield (
            f"load_balancer: {spec.load_balancer}: the client connects to the address of the "
            "Connection, which may be a load balancer's; write none"
        )
    if spec.deployments > 1:
        yield f"deployments: {spec.deployments}: nothing is deployed; write 1, or leave it out"
    if spec.schedule is not None:
        yield "schedule: a server that exists has no releases to follow; leave it out"
    yield from _secret(spec)
    for name, entry in spec.engines.items():
        yield from _left_as_it_is(spec, name, entry)


def _secret(spec: ReportSpec) -> Iterator[str]:
    """A client that can only be given a password where everybody sees it."""
    with contextlib.suppress(KeyError, ValueError):  # unknown names are faults of their own
        programs = workloads.by_name()[spec.workloads[0]].PROGRAMS
        chosen = program_of(spec.client.program, programs)
        if not chosen.takes_password:
            able = ", ".join(program.name for program in programs if program.takes_password)
            yield f"client.program: {chosen.name} cannot hide a password; write {able}"


def _left_as_it_is(spec: ReportSpec, name: str, entry: EngineSpec) -> Iterator[str]:
    for side in spec.measured_sides:
        written = getattr(entry, side)
        if not written.is_resolved and written.version != RUNNING:
            yield (
                f"engines.{name}.{side}.version: {written.version}: a server that exists has the "
                f"version that it has; write {RUNNING}"
            )
        for field in ("parameters", "components", "builds"):
            if getattr(written, field) or getattr(entry, field, None):
                yield (
                    f"engines.{name}.{field}: a server that exists is left as it is; configure it "
                    "yourself, and leave it out"
                )
                break


def _slowdown(spec: ReportSpec) -> Iterator[str]:
    able = [name for name, target in targets.by_name().items() if target.slows_down]
    if spec.slowdown_pct and spec.target not in able:
        yield (
            f"slowdown_pct: {spec.slowdown_pct:g}: the target {spec.target} cannot slow a side "
            f"down on purpose, {' or '.join(able)} can; leave it out"
        )


def _schedule(spec: ReportSpec) -> Iterator[str]:
    """A schedule compares two versions, and takes them from the releases of one engine."""
    if spec.schedule is not None and spec.sides == "single":
        yield (
            "schedule: with sides: single one version is measured, and a schedule compares two; "
            "leave it out"
        )
    if spec.schedule is not None and len(spec.deployable_engines) > 1:
        yield (
            f"schedule: with engine: {spec.engine} it is not known whose releases are meant; write "
            f"which engine it is: {' or '.join(spec.engines)}"
        )


def _one_machine(spec: ReportSpec) -> Iterator[str]:
    if spec.topology is not None:
        yield f"topology: {spec.topology}: the target {spec.target} has none; leave it out"
    if spec.snapshots is not None:
        yield f"snapshots: the target {spec.target} always loads its dataset; leave it out"
    for name in spec.engines:
        if any(spec.side(name, side).components for side in spec.measured_sides):
            yield (
                f"engines.{name}.components: on the target {spec.target} there is one server and "
                "no other component; use `parameters`"
            )


def _fleet(spec: ReportSpec) -> Iterator[str]:
    target = targets.by_name()[spec.target]
    if spec.topology is None:
        yield f"topology: missing; the target {spec.target} needs one of configs/topologies"
    if spec.engine == "auto":
        yield f"engine: auto: on the target {spec.target} write which, so that plans are the same"
    if target.rents and spec.budget is None:
        yield "budget: missing; what a campaign may cost has no default where hosts are rented"
    if spec.snapshots is not None and not target.rents:
        yield f"snapshots: the target {spec.target} always loads its dataset; leave it out"
    if spec.load_balancer == "none" and (servers := _sql_servers(spec)) > 1:
        yield (
            f"load_balancer: none: topology {spec.topology} has {servers} SQL servers, and the "
            "client connects to one address; write haproxy, or take a topology with one"
        )
    for name in spec.engines:
        if name in engines.by_name() and engines.by_name()[name].cluster is None:
            yield f"engines.{name}: runs on one machine only, the target {spec.target} is a fleet"


def _languages(spec: ReportSpec) -> Iterator[str]:
    if unknown := [code for code in spec.languages if code not in language.codes()]:
        there = ", ".join(language.codes())
        yield f"languages: unknown: {', '.join(unknown)}; there are: {there}"


def _publishing(spec: ReportSpec) -> Iterator[str]:
    places = set()
    for number, destination in enumerate(spec.publish):
        if destination.to not in publish.by_name():
            there = ", ".join(publish.by_name())
            yield f"publish.{number}.to: unknown: {destination.to}; there are: {there}"
            continue
        try:
            found = publish.place(destination)
        except pydantic.ValidationError as error:
            yield from documents.faults(error, within=("publish", number))
            continue
        if found in places:
            yield f"publish.{number}: {found} is named twice"
        places.add(found)
