"""From a report type to its plan: engine, hosts and prices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchlab import engines, targets, workloads
from benchlab.errors import SpecError, TargetError, UnavailableError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.executor import LocalExecutor
from benchlab.language import Message, Said, joined, message
from benchlab.language.numbers import MISSING
from benchlab.plan import plan as planning
from benchlab.plan import pricing, rates, versions
from benchlab.plan import releases as calendars
from benchlab.plan.plan import Host, Plan
from benchlab.plan.pricing import PriceList
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.steps import NOTHING_KNOWN, Basis, sizes
from benchlab.plan.topology import Ec2Topology, Topology
from benchlab.workloads import program, sysbench_faults

if TYPE_CHECKING:
    from benchlab.results.store import Store


def plan(
    home: Home, spec: ReportSpec, engine: str, campaign: str, basis: Basis = NOTHING_KNOWN
) -> Plan:
    """Plan a campaign on the hosts of its topology, at the prices of ``configs/prices.csv``.

    Example:
        ``plan(home, spec, choose_engine(spec, home)[0], "c1").minutes``

    Args:
        basis: what the estimate rests on, as :func:`known` finds it.

    Raises:
        SpecError: the topology does not validate, a price is missing, or the report type still
            has a version rule.
    """
    if not spec.is_resolved:
        raise SpecError(f"{spec.report}: a version rule is no version; resolve it as of a day")
    topology, prices = _hosts_and_prices(home, spec)
    return planning.make(
        spec,
        engine,
        campaign,
        workloads.read_only(),
        topology=topology,
        prices=prices,
        metrics={name: module.METRIC for name, module in workloads.by_name().items()},
        warnings=[
            *workloads.workload_of(spec).warnings(spec.dataset, spec.thread_counts),
            *sysbench_faults.warnings(spec),
            *([message("warning-not-set", engine=engine)] if spec.leaves_unset(engine) else ()),
        ],
        basis=basis,
    )


def known(home: Home, spec: ReportSpec, engine: str, store: Store | None, access: Access) -> Basis:
    """What an estimate can rest on: what earlier campaigns took, and whether the dataset is on S3.

    Example:
        ``plan(home, spec, "tidb", "c1", known(home, spec, "tidb", store, Access())).dollars``

    Args:
        store: where earlier campaigns are; None: nothing is learned from any.
        access: S3 is asked with it; that it cannot be is a note, and the dataset then counts as
            one that has to be loaded.

    Raises:
        SpecError, StoreError: the topology does not validate, or the store cannot be read.
    """
    basis = NOTHING_KNOWN if store is None else learned(home, spec, engine, store)
    if spec.snapshots is None:
        return basis
    kept = replace(basis, dataset="kept")
    # The cheapest plan of all: another one may be refused, which is not to be decided here.
    planned = plan(home, spec, engine, spec.report, kept)
    target = targets.by_name()[spec.target](home, spec.report, planned, spec, access)
    try:
        return kept if target.datasets_are_kept() else replace(basis, dataset="missing")
    except TargetError as error:
        note = message("warning-dataset-unknown", why=str(error))
        return replace(basis, dataset="unknown", notes=(note,))


def learned(home: Home, spec: ReportSpec, engine: str, store: Store) -> Basis:
    """What an estimate can rest on without asking anybody: what earlier campaigns took.

    Raises:
        SpecError, StoreError: the topology does not validate, or the store cannot be read.
    """
    times = store.step_times(spec.topology or spec.target, engine)
    large = sizes(spec, targets.load_topology(home, spec)) if times else {}
    return replace(NOTHING_KNOWN, learned=rates.learned(times, large))


def hosts(home: Home, spec: ReportSpec) -> tuple[Host, ...]:
    """The hosts of a campaign that is planned now; this machine is one host with the role ``all``.

    Raises:
        SpecError: the topology or the price list does not validate.
    """
    return planning.hosts(*_hosts_and_prices(home, spec))


def storage_vcpus(home: Home, spec: ReportSpec) -> list[int]:
    """vCPUs of every host that may be one of TiKV, if known. Raises as :func:`hosts`."""
    topology, prices = _hosts_and_prices(home, spec)
    if isinstance(topology, Ec2Topology) and prices is not None:
        kinds, places = topology.roles["tikv"].types, topology.regions
        return [prices.vcpu(kind, region) for kind in kinds for region in places]
    found = planning.hosts(topology, prices)
    return [host.vcpu for host in found if host.role == "tikv" and host.vcpu is not None]


def _hosts_and_prices(home: Home, spec: ReportSpec) -> tuple[Topology | None, PriceList | None]:
    topology = targets.load_topology(home, spec)
    return topology, pricing.load(home.prices) if topology else None


def undecided(home: Home, spec: ReportSpec, access: Access | None = None) -> list[str]:
    """What a campaign needs and only a person can say, a sentence for each.

    Args:
        access: by which the Connections of servers that exist are looked up; None: they are not.

    Raises:
        SpecError: the topology does not validate.
    """
    missing = [*_without_login(spec, access)] if access else []
    topology = targets.load_topology(home, spec)
    if topology is None:
        return missing
    found = targets.by_name()[spec.target].undecided(spec, topology)
    return [*missing, *(f"topology {spec.topology}: {what}" for what in found)]


def arrangements(home: Home, spec: ReportSpec) -> list[str]:
    """How hosts let this machine in and get TiUP, a line each.

    Raises:
        SpecError: the topology does not validate.
        TargetError: what this machine knows of TiUP's install script cannot be read.
    """
    topology = targets.load_topology(home, spec)
    return [] if topology is None else targets.by_name()[spec.target].arrangements(home, topology)


def _without_login(spec: ReportSpec, access: Access) -> Iterator[str]:
    for connection in spec.connections.values():
        try:
            access.server(connection)
        except TargetError as error:
            yield str(error)


def refuse_undecided(home: Home, spec: ReportSpec, access: Access | None = None) -> None:
    """Refuse what :func:`undecided` finds, before a person is asked to approve.

    Raises:
        SpecError: names everything that is to be decided.
    """
    if left_open := undecided(home, spec, access):
        raise SpecError("\n".join(left_open))


def refuse_unpublished(home: Home, spec: ReportSpec, engine: str) -> tuple[Message, ...]:
    """Refuse versions that do not exist, before anything is stored, taken or rented.

    A release of the calendar is there. For any other version, the place that the engine fetches it
    from is asked; where it does not answer, the version is not refused.

    Example:
        ``refuse_unpublished(home, spec, "mariadb")`` refuses MariaDB 99.9.9.

    Returns:
        Which versions could not be asked for, as warnings.

    Raises:
        SpecError: names each side with its version, and the newest release that is known.
    """
    if spec.connections:
        return ()  # it is there
    owner = engines.by_name()[engine]
    known = calendars.load(home.releases).owned(owner.owns) if home.releases.is_file() else ()
    released = {release.version.text for release in known}
    newest = versions.newest(known)
    faults, unchecked = list[str](), list[Message]()
    for side in spec.measured_sides:
        chosen = spec.side(engine, side)
        if chosen.builds or not chosen.is_resolved or chosen.version in released:
            continue
        which = {"side": side, "version": chosen.version}
        try:
            why = owner.not_published(chosen.version, home.servers)
        except UnavailableError as error:
            unchecked.append(message("warning-not-checked", why=error.args[0], **which))
            continue
        if why:
            has = newest.version.text if newest else MISSING
            faults.append(str(message("fault-not-published", newest=has, why=why, **which)))
    if faults:
        raise SpecError("\n".join(faults))
    return tuple(unchecked)


def client_here(spec: ReportSpec) -> str | None:
    """Which of several clients a campaign would use that is driven from here, and why.

    Returns:
        None where there is no choice, or another host is the client's. Nothing is fetched.

    Raises:
        UnavailableError: none can be used; says what to do.

    Example:
        ``client_here(spec)`` is ``go-tpc v1.0.12; no tiup``.
    """
    workload, client = workloads.workload_of(spec), spec.client
    if spec.topology is not None or len(workload.PROGRAMS) == 1:
        return None
    here, wanted = LocalExecutor(Path(), "client"), client.program
    at = {"path": client.path, "version": client.version}
    return program.told(program.choose(here, workload, wanted, **at, look=True)[1])


def choose_engine(spec: ReportSpec, home: Home, *, to_run: bool = True) -> tuple[str, Said]:
    """The engine to deploy, and why.

    On this machine the servers of both versions must be obtainable; a fleet installs its own.

    Args:
        to_run: False if the campaign is only planned.

    Raises:
        SpecError: the target cannot deploy a version.
        UnavailableError: a version cannot be had on this machine; says how to get it.
    """
    if spec.connections:
        name = spec.deployable_engines[0]
        of_mysql = [message("engine-mysql")] if name == "mariadb" else []
        return name, joined([message("engine-of-servers"), *of_mysql])
    if spec.topology is not None and spec.engine != "auto":
        if to_run and not targets.by_name()[spec.target].one_side:
            _refuse_undeployable(spec)
        return spec.engine, message("engine-named")
    candidates = [spec.engine] if spec.engine != "auto" else list(spec.engines)
    reasons: list[Message] = []
    for name in candidates:
        missing = _missing(spec, name, home)
        if missing is None:
            if spec.engine != "auto":
                return name, message("engine-named")
            return name, joined([*reasons, message("engine-there", engine=name)])
        reasons.append(message("engine-absent", engine=name, why=missing))
    raise UnavailableError(str(message("fault-engine", engine=spec.engine, why=joined(reasons))))


def _refuse_undeployable(spec: ReportSpec) -> None:
    cluster = engines.cluster_of(spec.engine)
    for side in spec.measured_sides:
        if fault := cluster.not_deployable(spec.side(spec.engine, side).version):
            raise SpecError(f"engines.{spec.engine}.{side}.version: {fault}")


def _missing(spec: ReportSpec, engine: str, home: Home) -> Said | None:
    for side in spec.measured_sides:
        chosen = spec.side(engine, side)
        if chosen.builds:
            continue  # fetched and checked when the campaign is planned
        availability = engines.by_name()[engine].availability(chosen.version, home.servers)
        if not availability.available:
            return availability.how
    return None
