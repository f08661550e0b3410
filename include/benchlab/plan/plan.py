"""Makes a plan: trials in order, and estimates of steps, minutes, hosts, disk and dollars."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from benchlab.errors import SpecError
from benchlab.plan import order
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.fields.budget import Budget
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.metric import LATENCY, THROUGHPUT, Metric, of_kind
from benchlab.plan.order import PlannedTrial, seed_of
from benchlab.plan.pricing import PriceList, Rent
from benchlab.plan.rates import Learned
from benchlab.plan.report_type import ReportSpec, Side
from benchlab.plan.resolved import Resolved
from benchlab.plan.steps import (
    GIB,
    Basis,
    DatasetState,
    PlanStep,
    Written,
    deployment_minutes,
    disk_bytes,
    kept_bytes,
    page_minutes,
    plan_steps,
    repeat_minutes,
)
from benchlab.plan.topology import CloudTopology, Ec2Topology, HostsTopology, Nodes, Topology

# Estimates change from day to day, and the same trials may be drawn in another order: neither is a
# difference in what is measured.
_NOT_MEASURED = {
    *("minutes", "dollars", "disk_gib", "steps", "vcpus", "prices_as_of", "page_minutes"),
    *("seeded_minutes", "seeded_dollars", "repeat_minutes", "repeat_dollars", "most_dollars"),
    *("dataset", "learned", "warnings", "trials", "workloads", "threads", "s3_usd_a_month"),
    *("first_prepared", "first_ports", "interleave_minutes", "can", "metrics"),
    "serving_usd_per_hour",
}


@dataclass(frozen=True)
class Host:
    """One host of a plan, or the single machine.

    Attributes:
        role: several are joined by ``+``; ``all`` for a single machine.
        instance_type: EC2's, or the size of a TiDB Cloud node; None where nothing is rented.
        vcpu: None if unknown.
        name: its name in the fleet; empty for a single machine.
    """

    role: str
    instance_type: str | None
    vcpu: int | None
    name: str = ""


@dataclass(frozen=True)
class Plan:
    """What a campaign will do.

    Attributes:
        minutes: estimated wall time, the sum over the steps that do not confirm, without repeats.
        dollars: what that costs; None where nothing is rented, or the price is unknown (TiDB
            Cloud).
        disk_gib: estimated space for data and snapshots: on the machine, or on each storage host
            of a fleet.
        topology: name of the topology; None on one machine.
        vcpus: of all rented EC2 hosts, which the account's quota must allow; None without any.
        prices_as_of: day of the oldest price in ``dollars``, such as ``2025-01-31``.
        page_minutes: estimated time to follow a published plan by hand, as its page describes it;
            None for other plans.
        seeded_minutes, seeded_dollars: of the same plan if its dataset were on S3; None where it
            is already, or no fleet is rented.
        warnings: what a reader should know before it is run.
        metrics: those that its client prints for each trial.
        slowdown_pct: the percentage of the time for which the candidate's server is stopped on
            purpose.
        region: the AWS region in which hosts are rented; None where none are.
        repeat_minutes, repeat_dollars: the most that repeats can add, if every pair of blocks is
            measured again as often as allowed.
        dataset: whether the dataset is on S3; None where none is kept there.
        learned: times learned from earlier campaigns on this topology, by step, on which the
            estimate rests.
        workloads, threads: in the report type's order.
        s3_usd_a_month: what keeping one dataset snapshot costs, not part of ``dollars``; None
            where none is kept, or the price is unknown.
        deployments: how often each side is deployed and loaded anew.
        first_prepared: the side that is prepared first, by deployment; empty: the baseline.
        first_ports: the side with the first of the two port sets, by deployment; empty where the
            sides share no hosts, or no order is drawn.
        most_dollars: ``dollars`` with the dearest instance types and region that the topology
            allows; None where it allows none dearer.
        interleave_minutes: how many of ``minutes`` are due to ``interleave: trials``; None with
            ``interleave: blocks``.
        serving_usd_per_hour: of all hosts but the client's, without their root volumes; of TiDB
            Cloud its cluster's. None where ``dollars`` is.
        screening_rounds: with ``design: watch``, the rounds in which every workload is measured;
            the later ones confirm what they show. None with another design.
        looks: with ``design: release``, after which deployments it is decided which workloads are
            measured on; the last one ends the campaign. Empty with another design.
    """

    report: str
    engine: str
    target: str
    sides: dict[Side, SideSpec]
    rounds: int
    seed: int
    trials: tuple[PlannedTrial, ...]
    hosts: tuple[Host, ...]
    minutes: float
    dollars: float | None
    disk_gib: float
    can: Capabilities
    placement: str = "interleaved"
    topology: str | None = None
    steps: tuple[PlanStep, ...] = ()
    vcpus: int | None = None
    prices_as_of: str | None = None
    page_minutes: float | None = None
    seeded_minutes: float | None = None
    seeded_dollars: float | None = None
    warnings: tuple[Written, ...] = field(default=(), compare=False)
    metrics: tuple[Metric, ...] = ()
    slowdown_pct: float = 0.0
    region: str | None = None
    repeat_minutes: float = 0.0
    repeat_dollars: float | None = None
    dataset: DatasetState | None = None
    learned: dict[str, Learned] = field(default_factory=dict)
    workloads: tuple[str, ...] = ()
    threads: tuple[int, ...] = ()
    s3_usd_a_month: float | None = None
    most_dollars: float | None = None
    deployments: int = 1
    first_prepared: tuple[Side, ...] = ()
    first_ports: tuple[Side, ...] = ()
    interleave_minutes: float | None = None
    serving_usd_per_hour: float | None = None
    screening_rounds: int | None = None
    looks: tuple[int, ...] = ()

    def confirms(self, round_number: int) -> bool:
        """Whether a round is measured only for workloads that the screening flags."""
        return self.screening_rounds is not None and round_number > self.screening_rounds

    @property
    def confirming_rounds(self) -> int:
        """How many rounds confirm what the screening flags; 0 with ``design: fixed``."""
        return sum(self.confirms(number) for number in range(1, self.rounds + 1))

    def confirming(self, workloads: Collection[str]) -> Plan:
        """The plan with the confirming rounds of these workloads alone."""
        if self.screening_rounds is None:
            return self
        return replace(
            self,
            trials=tuple(
                trial
                for trial in self.trials
                if not self.confirms(trial.round) or trial.workload in workloads
            ),
        )

    def without(self, left: Mapping[str, int]) -> Plan:
        """The plan without what workloads would measure after the deployment that is their last.

        Args:
            left: that deployment, by workload; those that it lacks are measured in all of them.
        """
        if not left:
            return self
        kept = (
            trial
            for trial in self.trials
            if self.deployment_of(trial.round) <= left.get(trial.workload, self.deployments)
        )
        return replace(self, trials=tuple(kept))

    def minutes_until(self, deployment: int) -> float:
        """Minutes of a campaign whose last deployment is this one, from 1."""
        later = range(deployment + 1, self.deployments + 1)
        spared = sum(deployment_minutes(self.steps, number) for number in later)
        return self.minutes - spared

    def minutes_to_confirm(self, workloads: Collection[str]) -> float:
        """Minutes that the confirming rounds of these workloads add; none for none."""
        if not workloads:
            return 0.0
        steps = [step for step in self.steps if step.confirms]
        measured = sum(step.minutes for step in steps if step.stage == "measure")
        all_of_them = [trial.workload for trial in self.trials if self.confirms(trial.round)]
        share = sum(name in workloads for name in all_of_them) / max(len(all_of_them), 1)
        return sum(step.minutes for step in steps) - (1 - share) * measured

    @property
    def most_minutes(self) -> float:
        """``minutes``, and those that confirming every workload adds."""
        return self.minutes + self.minutes_to_confirm(self.workloads)

    @property
    def workloads_in_order(self) -> tuple[str, ...]:
        """The workloads, in the order of the report type."""
        return self.workloads

    def threads_in_order(self, workload: str) -> tuple[int, ...]:
        """The thread counts of a workload, in the order of the report type."""
        own = {trial.threads for trial in self.trials if trial.workload == workload}
        return tuple(count for count in self.threads if count in own)

    def deployment_of(self, round_number: int) -> int:
        """The deployment that measures a round, from 1."""
        return order.deployment_of(round_number, self.rounds, self.deployments)

    def in_order(self, deployment: int = 1) -> tuple[Side, ...]:
        """The sides of the plan, in the order in which a deployment prepares them."""
        first = self.first_prepared[deployment - 1] if self.first_prepared else "baseline"
        return tuple(sorted(self.sides, key=lambda side: side != first))

    def port_set(self, side: Side, deployment: int = 1) -> int:
        """The port set of a side in a deployment: 0 or 1."""
        first = self.first_ports[deployment - 1] if self.first_ports else "baseline"
        return int(side != first)

    def slowdown_of(self, side: Side) -> float:
        """For which percentage of the time the servers of a side are stopped on purpose."""
        return self.slowdown_pct if side == "candidate" else 0.0

    def measures_as(self, other: Plan) -> bool:
        """Whether both plans measure the same trials on the same hosts, in whatever order."""
        return not self.measured_otherwise(other)

    def measured_otherwise(self, other: Plan) -> list[str]:
        """The fields in which another plan measures otherwise, such as ``["hosts"]``.

        The order of trials and all estimates may differ, if the seed is the same.
        """
        ours, theirs = self.to_json(), other.to_json()
        for plan, written in ((self, ours), (other, theirs)):
            written["its trials"] = {(trial.id, trial.seconds) for trial in plan.trials}
        names = (name for name in {**ours, **theirs} if name not in _NOT_MEASURED)
        return [name for name in names if ours.get(name) != theirs.get(name)]

    @property
    def server_starts(self) -> int:
        """How many trials, without repeats, begin with the start of their server.

        That is after the other side's turn, for a restore, or for other configuration items.
        """
        sides = [None, *(trial.side for trial in self.trials)]
        return sum(
            trial.restore or trial.configure or trial.side != before
            for trial, before in zip(self.trials, sides, strict=False)
        )

    @property
    def basis(self) -> Basis:
        """What the estimate rests on."""
        return Basis(self.dataset, self.learned)

    @property
    def usd_per_minute(self) -> float | None:
        """Cost of all hosts per minute, at the plan's prices; None where nothing is priced."""
        return self.dollars / self.minutes if self.dollars is not None else None

    @property
    def most_usd_per_minute(self) -> float | None:
        """Cost per minute of the dearest hosts that may be rented."""
        if self.most_dollars is None:
            return self.usd_per_minute
        return self.most_dollars / self.minutes

    @property
    def throughput(self) -> Metric:
        """The metric that is decided as its throughput."""
        return of_kind(self.metrics, THROUGHPUT)

    @property
    def latency(self) -> Metric:
        """The metric that is decided as its latency."""
        return of_kind(self.metrics, LATENCY)

    def to_json(self) -> dict[str, Any]:
        """The plan as ``benchlab plan --json`` prints it, without empty optional fields."""
        document: dict[str, Any] = _adapter().dump_python(self, mode="json")
        for host in document["hosts"]:
            if not host["name"]:
                del host["name"]
        for one in (*document["steps"], *document["trials"]):
            for name, usual in (("confirms", False), ("warm_up", True), ("configure", False)):
                if one.get(name) == usual:
                    del one[name]
        if document["deployments"] == 1:
            del document["deployments"]
        for key in list(document)[list(document).index("region") :]:
            if not document[key]:
                del document[key]
        return document

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Plan:
        """The inverse of :meth:`to_json`."""
        return _adapter().validate_python(raw)


@cache
def _adapter() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)


def make(resolved: Resolved, campaign: str) -> Plan:
    """Plan a campaign from what was resolved; reads no file and asks no server.

    Example:
        ``make(Resolver(home).resolve(Request(spec, date.today())), "c1").minutes``

    Args:
        campaign: its id; its hash is the seed where the report type has none.

    Raises:
        SpecError: a price is missing, a rented fleet has no budget, or the plan costs more than its
            limit; says how the cost adds up.
    """
    spec, engine, can = resolved.spec, resolved.engine, resolved.can
    topology, prices, basis = resolved.topology, resolved.prices, resolved.basis
    read_only = resolved.read_only
    seed = spec.seed if spec.seed is not None else seed_of(campaign)
    trials = tuple(order.trials(spec, seed, read_only, configures=can.administers))
    if spec.snapshots is not None and basis.dataset is None:
        basis = replace(basis, dataset="unknown")
    prepared = order.first_prepared(spec, seed) if order.is_drawn(spec) else ()
    steps = plan_steps(spec, trials, topology, basis, prepared)
    by_hand = page_minutes(spec, spec.published, topology) if spec.published else None
    sides = {side: spec.side(engine, side) for side in spec.measured_sides}
    made = Plan(
        report=spec.report,
        engine=engine,
        target=spec.target,
        can=can,
        sides=sides,
        rounds=spec.rounds,
        seed=seed,
        trials=trials,
        hosts=hosts(topology, prices),
        minutes=_minutes(steps),
        dollars=None,
        disk_gib=round(disk_bytes(spec, topology, sides.values()) / GIB, 2),
        placement=spec.placement,
        topology=spec.topology,
        steps=tuple(replace(step, minutes=round(step.minutes, 2)) for step in steps),
        page_minutes=None if by_hand is None else round(by_hand, 1),
        warnings=(*resolved.warnings, *basis.notes),
        metrics=resolved.metrics,
        slowdown_pct=spec.slowdown_pct,
        repeat_minutes=round(repeat_minutes(steps, spec.repeat_limit), 1),
        dataset=basis.dataset,
        learned=dict(basis.learned),
        workloads=spec.workloads,
        threads=spec.thread_counts,
        looks=spec.looks,
    )
    if order.is_drawn(spec):
        made = replace(made, deployments=spec.deployments, first_prepared=prepared)
    if spec.design == "watch":
        made = replace(made, screening_rounds=spec.screening_rounds)
    if isinstance(topology, Ec2Topology | HostsTopology) and order.is_drawn(spec):
        made = replace(made, first_ports=order.first_ports(spec, seed))
    if spec.interleave == "trials":
        by_blocks = spec.model_copy(update={"interleave": "blocks"})
        as_blocks = tuple(order.trials(by_blocks, seed, read_only, configures=can.administers))
        less = _minutes(plan_steps(by_blocks, as_blocks, topology, basis))
        made = replace(made, interleave_minutes=round(made.minutes - less, 1))
    if isinstance(topology, CloudTopology):
        return _priced_cloud(made, spec, topology, prices)
    return (
        _priced(made, spec, topology, prices, basis) if isinstance(topology, Ec2Topology) else made
    )


def _minutes(steps: Iterable[PlanStep]) -> float:
    return round(sum(step.minutes for step in steps if not step.confirms), 1)


def _priced(
    plan: Plan, spec: ReportSpec, fleet: Ec2Topology, prices: PriceList | None, basis: Basis
) -> Plan:
    if prices is None:
        raise SpecError("prices: a rented fleet cannot be planned without a price list")
    rent, dearest = prices.rent(fleet), prices.dearest(fleet)
    dollars, most = rent.dollars(plan.minutes), dearest.dollars(plan.minutes)
    _check_budget(spec.budget, dearest, plan.minutes, most)
    _check_confirming(plan, spec.budget, most / plan.minutes)
    priced = replace(
        plan,
        dollars=dollars,
        vcpus=rent.vcpus,
        prices_as_of=min(rent.as_of, dearest.as_of).isoformat(),
        serving_usd_per_hour=float(rent.serving_usd_per_hour),
        region=fleet.region,
        repeat_dollars=round(rent.dollars(plan.minutes + plan.repeat_minutes) - dollars, 2),
        most_dollars=most if most > dollars else None,
    )
    if spec.snapshots is not None:
        kept = prices.s3_dollars_a_month(kept_bytes(spec) / GIB, fleet.region)
        priced = replace(priced, s3_usd_a_month=kept)
    if basis.dataset == "kept":
        return priced
    seeded = spec.model_copy(update={"snapshots": "s3://snapshots"})
    minutes = _minutes(plan_steps(seeded, plan.trials, fleet, replace(basis, dataset="kept")))
    return replace(priced, seeded_minutes=minutes, seeded_dollars=rent.dollars(minutes))


def _priced_cloud(
    plan: Plan, spec: ReportSpec, cluster: CloudTopology, prices: PriceList | None
) -> Plan:
    """The plan with its cost, where the topology says what such a cluster costs."""
    if cluster.usd_per_hour is None or cluster.priced_on is None:
        return plan
    hourly = Decimal(str(cluster.usd_per_hour))
    said = (f"the cluster at ${hourly}, as its topology says",)
    rent = Rent(hourly, hourly, 0, cluster.priced_on, said)
    if cluster.fleet is not None and prices is not None:
        rent = rent.with_hosts(prices.rent(cluster.fleet))
        plan = replace(plan, region=cluster.region, vcpus=rent.vcpus)
    dollars = rent.dollars(plan.minutes)
    _check_budget(spec.budget, rent, plan.minutes, dollars)
    return replace(
        plan,
        dollars=dollars,
        prices_as_of=rent.as_of.isoformat(),
        serving_usd_per_hour=float(rent.serving_usd_per_hour),
        repeat_dollars=round(rent.dollars(plan.minutes + plan.repeat_minutes) - dollars, 2),
    )


# How often a workload in which nothing has changed is flagged and measured again (`make study`).
FLAGGED_BY_CHANCE = 0.033


def mean_quiet_minutes(plan: Plan) -> float:
    """Minutes of a campaign with ``design: watch`` in which nothing has changed, on average."""
    each = [plan.minutes_to_confirm([name]) for name in plan.workloads]
    any_flagged = 1 - (1 - FLAGGED_BY_CHANCE) ** len(each)
    return plan.minutes + any_flagged * sum(each) / len(each)


def needs_approval(plan: Plan, budget: Budget | None) -> bool:
    """Whether a person must approve a plan before anything is rented, at the most it may cost."""
    hourly = plan.most_usd_per_minute
    if plan.dollars is None or hourly is None or budget is None:
        return plan.dollars is not None
    dollars = plan.dollars if plan.most_dollars is None else plan.most_dollars
    dollars += hourly * (plan.most_minutes - plan.minutes)
    return min(dollars, budget.limit) > budget.approve_above


def _check_budget(budget: Budget | None, rent: Rent, minutes: float, dollars: float) -> None:
    if budget is None:
        raise SpecError(
            "budget: missing; a report type that rents hosts needs budget.approve_above, the "
            "cost above which a person has to approve it, and budget.limit, the cost above "
            "which it is refused"
        )
    if dollars > budget.limit:
        raise SpecError(
            f"budget.limit: the plan costs ${dollars:.2f}, more than the limit of "
            f"${budget.limit:.2f}: {minutes / 60:.2f} hours at ${rent.usd_per_hour:.4f} an hour "
            f"({', '.join(rent.arithmetic)}; prices of {rent.as_of.isoformat()}). Use fewer "
            "rounds, threads or workloads, shorter trials or smaller hosts, or raise the limit"
        )


def _check_confirming(plan: Plan, budget: Budget | None, usd_per_minute: float) -> None:
    """Refuse a limit with which whatever is flagged would stay unconfirmed."""
    if plan.screening_rounds is None or budget is None:
        return
    one = min(plan.minutes_to_confirm([name]) for name in plan.workloads)
    if (needed := (plan.minutes + one) * usd_per_minute) > budget.limit:
        raise SpecError(
            f"budget.limit: {budget.limit:.2f} dollars does not pay for confirming a single "
            f"workload: a campaign that does takes {(plan.minutes + one) / 60:.1f} hours and "
            f"{needed:.2f} dollars. Raise the limit, keep dataset snapshots (`snapshots`), or use "
            "fewer threads or shorter trials"
        )


def hosts(topology: Topology | None, prices: PriceList | None) -> tuple[Host, ...]:
    """The hosts of a plan; a single one where there is no topology.

    Raises:
        SpecError: the price list lacks an instance type, or its number of vCPUs.
    """
    match topology:
        case Ec2Topology() if prices is not None:
            return tuple(
                Host(role, kind, prices.vcpu(kind, topology.region), name)
                for name, role, kind in topology.host_types()
            )
        case HostsTopology():
            return tuple(
                Host("+".join(host.roles), None, None, host.name) for host in topology.hosts
            )
        case CloudTopology():
            here = (Host("client", None, None, "client-1"),)
            return (
                *_nodes("tidb", topology.tidb),
                *_nodes("tikv", topology.tikv),
                *(here if topology.fleet is None else hosts(topology.fleet, prices)),
            )
        case _:
            return (Host("all", None, None),)


def _nodes(role: str, nodes: Nodes) -> list[Host]:
    vcpu = int(nodes.size.partition("C")[0])
    return [Host(role, nodes.size, vcpu, f"{role}-{n}") for n in range(1, nodes.count + 1)]
