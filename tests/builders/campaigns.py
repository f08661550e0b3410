"""Campaigns and results with known figures, for tests.

Every builder takes what a test is about as an argument and fills in the rest.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from benchlab.campaign.stages import CampaignRun
from benchlab.engines import mariadb_counts
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan import plan as planning
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import ReportSpec, Side
from benchlab.plan.topology import Topology
from benchlab.results.records import (
    Campaign,
    Condition,
    GateResult,
    InstanceFacts,
    Moment,
    Sample,
    SideFacts,
    TrialResult,
)
from benchlab.results.store import Store
from benchlab.workloads import sysbench, tpcc, tpch, ycsb
from tests.builders import plans
from tests.builders.plans import (
    ON_EC2,
    QUERIES_PER_TRANSACTION,
    START,
    ec2_topology,
    fleet_spec,
    plan,
    prices,
    spec,
)

UNITS = {
    metric.name: metric.unit
    for workload in (sysbench, tpcc, tpch, ycsb)
    for metric in workload.METRICS
} | {count.name: count.unit for count in mariadb_counts.COUNTS}


def campaign(
    report_type: ReportSpec | None = None,
    *,
    id: str = "c1",  # noqa: A002 - the field's name
    plan_: Plan | None = None,
    facts: dict[Side, SideFacts] | None = None,
    environment: dict[str, str] | None = None,
    **fields: Any,
) -> Campaign:
    """A complete campaign of a report type, or of :func:`spec` with ``fields``."""
    report_type = report_type or spec(**fields)
    made = plan_ or plan(report_type, id)
    return Campaign(
        id=id,
        plan=made,
        report_type=report_type,
        engine_reason="the report type names it",
        origin="benchlab run",
        state="complete",
        started_at=START,
        ended_at=START + timedelta(minutes=9, seconds=30),
        environment={
            "cores": "2",
            "memory": "8 GiB",
            "kernel": "6.1.0",
            "sysbench": "1.0.20",
            "engine_title": {"mariadb": "MariaDB", "tidb": "TiDB"}.get(made.engine, made.engine),
            "ignored_errors": "1213,1020,1205",
        }
        if environment is None
        else environment,
        facts={side: side_facts(planned.version) for side, planned in made.sides.items()}
        if facts is None
        else facts,
    )


def fleet_campaign(
    report_type: ReportSpec | None = None,
    *,
    topology: Topology | None = None,
    id: str = "sysbench_ec2-20240102T030405",  # noqa: A002 - the field's name
    environment: Mapping[str, str] | None = None,
    variables: Mapping[Side, Mapping[str, str]] | None = None,
    **fields: Any,
) -> Campaign:
    """A complete campaign of two TiDB clusters on the ten EC2 hosts of the published pages.

    Args:
        topology: another fleet than that one.
        environment: replaces or adds to what its hosts report.
        variables: the sides' effective variables and configuration items.
        fields: of :func:`fleet_spec`.
    """
    report_type = report_type or fleet_spec(**fields)
    resolved = plans.resolved(
        report_type, "tidb", topology=topology or ec2_topology(), prices=prices()
    )
    planned = planning.make(resolved, id)
    made = campaign(report_type, plan_=planned, id=id)
    return dataclasses.replace(
        made,
        ended_at=START + timedelta(minutes=planned.minutes),
        environment={**fleet_environment(planned), **(environment or {})},
        facts={
            side: cluster_facts(planned, side, dict((variables or {}).get(side, {})))
            for side in planned.sides
        },
    )


def tpcc_campaign(
    *,
    consistency: Mapping[Side, dict[Moment, tuple[Condition, ...]]] | None = None,
    environment: Mapping[str, str] | None = None,
    **fields: Any,
) -> Campaign:
    """A complete campaign of TPC-C on the fleet of :func:`fleet_campaign`, by ``tiup bench``.

    Args:
        consistency: the conditions of the sides' datasets; without, they were not checked.
        environment: replaces or adds to what its hosts and its client report.
        fields: of :func:`fleet_spec`.
    """
    report_type = fleet_spec(
        **{
            "report": "tpcc_ec2",
            "dataset": {"warehouses": 5000},
            "workloads": ["tpcc"],
            "threads": [50, 100, 200, 400],
            "rounds": 4,
            "restore": "every_trial",
            "budget": {"approve_above": 20, "limit": 400},
            **fields,
        }
    )
    told = {"client_program": "tiup", "client_version": "tiup bench v1.12.0", **(environment or {})}
    made = fleet_campaign(report_type, id="tpcc_ec2-20240102T030405", environment=told)
    rows = {"warehouse": 5000, "district": 50_000, "item": 100_000, "customer": 150_000_000}
    return dataclasses.replace(
        made,
        facts={
            side: dataclasses.replace(
                facts, rows=rows, consistency=dict((consistency or {}).get(side, {}))
            )
            for side, facts in made.facts.items()
        },
    )


def tpcc_result(
    trial: PlannedTrial, tpmc: float | None, *, reasons: Sequence[str] = (), **metrics: float | None
) -> TrialResult:
    """One executed trial of TPC-C; its latencies follow from its throughput by Little's law."""
    mean = None if tpmc is None else trial.threads * 60_000 / (tpmc / 0.45)
    latency = {
        f"new_order_p{n}_ms": None if mean is None else mean * times
        for n, times in ((50, 1.2), (90, 2.0), (95, 2.4), (99, 3.6))
    }
    values = {
        "tpmc": tpmc,
        "tpm_total": None if tpmc is None else tpmc / 0.45,
        "avg_ms": mean,
        **latency,
        "duration_s": float(trial.seconds),
        "errors": 0.0,
        **metrics,
    }
    samples = tuple(
        Sample(metric, value, UNITS.get(metric, "")) for metric, value in values.items()
    )
    return dataclasses.replace(trial_result(trial, reasons=reasons), samples=samples)


def fleet_environment(plan: Plan) -> dict[str, str]:
    """What a fleet reports about its hosts, in the form of a fleet's target."""
    told = {}
    for role, (kind, _, line) in ON_EC2.items():
        number = sum(role in host.role.split("+") for host in plan.hosts)
        kinds = f"{kind}: " if plan.target == "ec2" else ""
        told[f"{role}_hosts"] = (
            f"{number} x {kinds}{line}, Debian GNU/Linux 12 (bookworm), kernel "
            f"6.1.0-18-cloud-amd64, data on {'xfs' if role == 'tikv' else 'ext4'}"
        )
    return {
        "engine_title": "TiDB",
        "ignored_errors": "1213,1020,1205,9007,8002,8005,8028,8022",
        "benchlab": "0.2.0",
        "dataset": "loaded by the client",
        **told,
        "sysbench": "sysbench 1.0.20",
        "haproxy": "HAProxy version 2.6.12-1+deb12u1 2023/12/16",
    }


def cluster_facts(plan: Plan, side: Side, variables: dict[str, str]) -> SideFacts:
    """The facts of a side that is a cluster: a server per host and role, peers alike."""
    version = plan.sides[side].version
    number = version.removeprefix("v")
    written_as = {"pd": version, "tikv": number, "tidb": f"5.7.25-TiDB-{version}"}
    instances = tuple(
        InstanceFacts(
            host=host.name,
            component=component,
            version=reported,
            git_hash=hashlib.sha256(f"{component} {version}".encode()).hexdigest()[:40],
            config_digest=hashlib.sha256(component.encode()).hexdigest()[:16],
        )
        for component, reported in written_as.items()
        for host in plan.hosts
        if component in host.role.split("+")
    )
    return side_facts(
        written_as["tidb"],
        git_hash=instances[-1].git_hash,
        variables=variables,
        dataset_checksum=f"160000000-{hashlib.sha256(side.encode()).hexdigest()[:12]}",
        rows={f"sbtest{n}": 10_000_000 for n in range(1, 17)},
        instances=instances,
    )


def side_facts(version: str, **fields: Any) -> SideFacts:
    """The facts of one side; ``fields`` replace what is made up."""
    made: dict[str, Any] = {
        "version": version,
        "git_hash": None,
        "variables": {"version": version, "port": "13410", "autocommit": "ON"},
        "dataset_checksum": "40000-5eed",
        "rows": {f"sbtest{n}": 10_000 for n in range(1, 5)},
    }
    return SideFacts(**{**made, **fields})


def gate(name: str = "summary", status: str = "pass", sentence: str = "") -> GateResult:
    """One gate's result."""
    observed = None if status == "not evaluated" else 1.0
    return GateResult(name, status, observed, sentence or f"The {name} is as it should be")  # type: ignore[arg-type]


def trial_result(
    trial: PlannedTrial,
    *,
    attempt: int = 1,
    reasons: Sequence[str] = (),
    gates: Sequence[GateResult] | None = None,
    **metrics: float | None,
) -> TrialResult:
    """One executed trial with ``metrics``; invalid where there are ``reasons``.

    Without metrics it has 1,000 transactions per second and a p95 latency of 2 ms. QPS follows
    from the workload unless given.
    """
    values: dict[str, float | None] = {"tps": 1000.0, "p95_ms": 2.0, **metrics}
    tps, factor = values["tps"], QUERIES_PER_TRANSACTION.get(trial.workload, 1)
    values = {
        "qps": None if tps is None else tps * factor,
        "duration_s": float(trial.seconds),
        "errors": 0.0,
        "reconnects": 0.0,
        **values,
    }
    started = START + timedelta(minutes=20 * (attempt - 1), seconds=10 * trial.index)
    name = f"{trial.id}-a{attempt}"
    return TrialResult(
        trial=trial,
        attempt=attempt,
        valid=not reasons,
        reasons=tuple(reasons),
        samples=tuple(
            Sample(metric, value, UNITS.get(metric, "")) for metric, value in values.items()
        ),
        gates=tuple(gates) if gates is not None else (gate(),),
        started_at=started,
        ended_at=started + timedelta(seconds=8),
        phases={"restore": 0.4, "run": float(trial.seconds)},
        raw=f"c1/{name}/client.txt",
        series=f"c1/{name}/series.json",
    )


def results_of(
    plan: Plan,
    tps: Callable[[PlannedTrial], float | None] = lambda trial: 1000.0,
    p95_ms: Callable[[PlannedTrial], float | None] = lambda trial: 2.0,
) -> list[TrialResult]:
    """One valid result of every planned trial."""
    return [trial_result(t, tps=tps(t), p95_ms=p95_ms(t)) for t in plan.trials]


def counting(made: Campaign, *counts: str) -> Campaign:
    """The same campaign, whose servers' counts of these names are decided."""
    # Decided without a rate as well, for these tests.
    own = tuple(
        dataclasses.replace(count.metric(), of_load=False)
        for count in mariadb_counts.COUNTS
        if count.name in counts
    )
    assert len(own) == len(counts)
    plan = dataclasses.replace(made.plan, metrics=(*made.plan.metrics, *own))
    return dataclasses.replace(made, plan=plan)


def taking(
    results: Sequence[TrialResult], **counts: Callable[[PlannedTrial], float | None]
) -> list[TrialResult]:
    """The same results, with what a transaction took of the servers in each trial."""
    return [
        dataclasses.replace(
            result,
            samples=(
                *result.samples,
                *(Sample(name, value(result.trial), UNITS[name]) for name, value in counts.items()),
            ),
        )
        for result in results
    ]


def known_change(
    changes: Mapping[str, float], noise: float = 0.0, base: float = 1000.0
) -> Callable[[PlannedTrial], float]:
    """Throughputs in which the candidate's ratio to the baseline is known by workload.

    Args:
        changes: the candidate's change, as a fraction: -0.1 is 10 % slower.
        noise: how far rounds scatter, as a fraction; balanced, so that it cancels over an
            even number of rounds.
        base: the baseline's throughput at one thread.
    """

    def tps(trial: PlannedTrial) -> float:
        value = base * math.sqrt(trial.threads)
        if trial.side == "candidate":
            swing = (1 if trial.round % 2 else -1) * noise
            value *= (1 + changes.get(trial.workload, 0.0)) * (1 + swing)
        return value

    return tps


def begin(
    home: Home,
    store: Store,
    report_type: ReportSpec,
    id: str = "c1",  # noqa: A002 - the field's name
    access: Access = Access(),  # noqa: B008 - immutable
) -> CampaignRun:
    """A campaign of today, planned and written to the store; nothing is started."""
    resolved = plans.to_run(home, store, report_type, access)
    return CampaignRun.create(home, store, resolved, id, "a test", access)
