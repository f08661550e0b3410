"""Checks that the target can do what a report type asks of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from benchlab import engines, home, targets
from benchlab.campaign.fit import client, existing
from benchlab.errors import SpecError
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.topology import Ec2Topology, HostsTopology


def faults(spec: ReportSpec) -> Iterator[str]:
    """Faults of what the target cannot do; see :mod:`benchlab.campaign.fit`."""
    yield from _target(spec)
    yield from _by_workload(spec)
    yield from existing.faults(spec)
    yield from _slowdown(spec)
    yield from _leaders(spec)


def _target(spec: ReportSpec) -> Iterator[str]:
    if spec.target not in targets.by_name():
        return
    can = targets.by_name()[spec.target].can
    if spec.snapshots is not None and not can.keeps_datasets:
        yield f"snapshots: the target {spec.target} always loads its dataset; leave it out"
    if not can.chooses_version:
        yield from _one_side(spec)
        return
    if can.topology is None:
        yield from _one_machine(spec)
    else:
        yield from _fleet(spec)


def _one_side(spec: ReportSpec) -> Iterator[str]:
    """What is impossible on a cluster whose version and configuration somebody else chooses.

    Configuration by workload is refused only when a campaign begins: it can be planned.
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
    }
    yield from (fault for fault, is_so in faults.items() if is_so)
    yield from client.password_faults(spec)
    for name, entry in spec.engines.items():
        for field in ("parameters", "components", "builds"):
            if getattr(entry.baseline, field) or getattr(entry, field, None):
                yield f"engines.{name}.{field}: {where} configures its clusters; leave it out"


def _one_machine(spec: ReportSpec) -> Iterator[str]:
    if spec.topology is not None:
        yield f"topology: {spec.topology}: the target {spec.target} has none; leave it out"
    for name in spec.engines:
        if any(spec.side(name, side).components for side in spec.measured_sides):
            yield (
                f"engines.{name}.components: on the target {spec.target} there is one server and "
                "no other component; use `parameters`"
            )


def _fleet(spec: ReportSpec) -> Iterator[str]:
    can = targets.by_name()[spec.target].can
    if spec.topology is None:
        yield f"topology: missing; the target {spec.target} needs one of configs/topologies"
    if spec.engine == "auto":
        yield (
            f"engine: auto: on the target {spec.target} the engine has to be named, so that "
            "plans are reproducible"
        )
    if can.rents and spec.budget is None:
        yield "budget: missing; what a campaign may cost has no default where hosts are rented"
    if spec.load_balancer == "none" and (servers := _sql_servers(spec)) > 1:
        yield (
            f"load_balancer: none: topology {spec.topology} has {servers} SQL servers, and the "
            "client connects to one address; write haproxy, or take a topology with one"
        )
    for name in spec.engines:
        if name in engines.by_name() and engines.by_name()[name].cluster is None:
            yield f"engines.{name}: runs on one machine only, the target {spec.target} is a fleet"


def _by_workload(spec: ReportSpec) -> Iterator[str]:
    """Faults of configuration by workload: only clusters allow it, for items not bound to data."""
    for name, entry in spec.engines.items():
        for workload, items in entry.by_workload.items():
            where = f"engines.{name}.by_workload.{workload}"
            advice = "write a report type for each set"
            if spec.topology is None:
                yield (
                    f"{where}: on the target {spec.target} a server has the same configuration for "
                    f"all workloads; {advice}"
                )
            elif name in engines.by_name() and (cluster := engines.by_name()[name].cluster):
                for bound in cluster.bound_to_data(items):
                    yield f"{where}.{bound}, and all workloads share their data; {advice}"


def _sql_servers(spec: ReportSpec) -> int:
    """The number of SQL servers of the topology; 0 if it is faulty, which the plan reports."""
    with contextlib.suppress(SpecError, KeyError):
        topology = targets.load_topology(home.find(), spec)
        if isinstance(topology, HostsTopology):
            return len(topology.fleet().with_role("tidb"))
        if isinstance(topology, Ec2Topology):
            return topology.roles["tidb"].count
    return 0


def _leaders(spec: ReportSpec) -> Iterator[str]:
    if spec.target not in targets.by_name():
        return
    can = targets.by_name()[spec.target].can
    if spec.leaders == "as_placed" and not can.deploys_clusters:
        yield (
            "leaders: as_placed: leaders are moved only on clusters that Benchlab deploys, and "
            f"the target {spec.target} deploys none; leave it out"
        )


def _slowdown(spec: ReportSpec) -> Iterator[str]:
    able = [name for name, target in targets.by_name().items() if target.can.slows_down]
    every = getattr(spec.schedule, "canary_every", 0)
    if every and spec.sides == "single":
        yield (
            f"schedule.canary_every: {every}: only a candidate can be slowed down, and `sides: "
            "single` has none; leave it out"
        )
    asked = {"slowdown_pct": spec.slowdown_pct, "schedule.canary_every": every}
    for field, value in asked.items():
        if value and spec.target not in able:
            yield (
                f"{field}: {value:g}: the target {spec.target} cannot slow a side down on purpose, "
                f"{' or '.join(able)} can; leave it out"
            )
