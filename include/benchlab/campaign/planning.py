"""What a campaign needs besides versions: hosts, and decisions that only a person can make."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

from benchlab import targets, workloads
from benchlab.errors import SpecError, TargetError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.executor import LocalExecutor
from benchlab.language import Said, message, said_by
from benchlab.plan import plan as planning
from benchlab.plan import pricing
from benchlab.plan.plan import Host
from benchlab.plan.pricing import PriceList
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.topology import Ec2Topology, Topology
from benchlab.targets.target import OnTopology
from benchlab.workloads import program


def hosts(home: Home, spec: ReportSpec) -> tuple[Host, ...]:
    """The hosts of a campaign planned now; this machine is one host with the role ``all``.

    Raises:
        SpecError: the topology or the price list does not validate.
    """
    return planning.hosts(*_hosts_and_prices(home, spec))


def storage_vcpus(home: Home, spec: ReportSpec) -> list[int]:
    """vCPUs of each host, or type of host, that TiKV may get, if known. Raises as :func:`hosts`."""
    topology, prices = _hosts_and_prices(home, spec)
    if isinstance(topology, Ec2Topology) and prices is not None:
        kinds, places = topology.roles["tikv"].types, topology.regions
        return [prices.vcpu(kind, region) for kind in kinds for region in places]
    found = planning.hosts(topology, prices)
    return [host.vcpu for host in found if host.role == "tikv" and host.vcpu is not None]


def _hosts_and_prices(home: Home, spec: ReportSpec) -> tuple[Topology | None, PriceList | None]:
    topology = targets.load_topology(home, spec)
    return topology, pricing.load(home.prices) if topology else None


def undecided(home: Home, spec: ReportSpec, access: Access | None = None) -> list[Said]:
    """What a person must decide before a campaign; see :func:`left_open`.

    Raises:
        SpecError: the topology does not validate.
    """
    return left_open(spec, targets.load_topology(home, spec), access)


def left_open(spec: ReportSpec, topology: Topology | None, access: Access | None) -> list[Said]:
    """What a report type and its topology leave a person to decide, a sentence for each.

    Connections of existing servers that are missing or not valid count as well.

    Args:
        access: looks up the Connections of existing servers; None to skip that.
    """
    missing: list[Said] = [*_without_login(spec, access)] if access else []
    if topology is None:
        return missing
    found = _on_topology(spec).undecided(spec, topology)
    topology_of = {"topology": str(spec.topology)}
    return [*missing, *(message("fault-topology", why=what, **topology_of) for what in found)]


def arrangements(home: Home, spec: ReportSpec) -> list[str]:
    """How the hosts let this machine in, and how they get TiUP, a line each.

    Raises:
        SpecError: the topology does not validate.
        TargetError: what this machine knows of TiUP's install script cannot be read.
    """
    topology = targets.load_topology(home, spec)
    return [] if topology is None else _on_topology(spec).arrangements(home, topology)


def _on_topology(spec: ReportSpec) -> type[OnTopology]:
    return cast(type[OnTopology], targets.by_name()[spec.target])


def _without_login(spec: ReportSpec, access: Access) -> Iterator[Said]:
    for connection in spec.connections.values():
        try:
            access.server(connection)
        except TargetError as error:
            yield said_by(error)


def refuse_undecided(home: Home, spec: ReportSpec, access: Access | None = None) -> None:
    """Refuse a report type that leaves anything undecided, before approval is asked.

    Raises:
        SpecError: names everything that :func:`undecided` finds.
    """
    if missing := undecided(home, spec, access):
        raise SpecError(*missing)


def client_here(spec: ReportSpec) -> str | None:
    """Which of several clients a campaign on this machine would use, and why. Fetches nothing.

    Returns:
        None if there is no choice, or another host runs the client.

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
