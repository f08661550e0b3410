"""For tests: campaigns, plans and results with known figures; a host and servers that are fake.

Everything here is deterministic. Every builder takes what a test is about as an argument and
fills in the rest.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from benchlab import plan as planning
from benchlab.database import SQL_LIMIT_S, USER, written
from benchlab.engine import Availability, BaseEngine, Instance
from benchlab.errors import CommandError, TargetError
from benchlab.executor import Completed, Executor, JobStatus, tagged
from benchlab.loadbalancer.haproxy import Backend
from benchlab.plan import Plan, PlannedTrial
from benchlab.pricing import Price, PriceList
from benchlab.results import (
    Campaign,
    Condition,
    GateResult,
    InstanceFacts,
    Moment,
    Sample,
    SideFacts,
    TrialResult,
)
from benchlab.spec import ReportSpec, Side
from benchlab.topology import Ec2Topology, Topology

START = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
READ_ONLY = ("oltp_point_select",)
METRICS = {"tpcc": "tpmc"}
ON_EC2 = {
    "pd": ("m5.xlarge", 3, "4 cores, 15.3 GiB, Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz"),
    "tikv": ("i3.4xlarge", 3, "16 cores, 120.0 GiB, Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz"),
    "tidb": ("c5.4xlarge", 3, "16 cores, 30.8 GiB, Intel(R) Xeon(R) Platinum 8275CL CPU @ 3.00GHz"),
    "client": ("c5.9xlarge", 1, "36 cores, 69.1 GiB, Intel(R) Xeon(R) Platinum 8275CL CPU"),
}
QUERIES_PER_TRANSACTION = {"oltp_read_write": 20}


def spec(**fields: Any) -> ReportSpec:
    """A small valid report type; ``fields`` replace its own."""
    return ReportSpec.model_validate(
        {
            "report": "sysbench_test",
            "title": "Two releases compared",
            "target": "local",
            "engine": "mariadb",
            "engines": {
                "mariadb": {
                    "baseline": {"version": "10.2.11"},
                    "candidate": {"version": "10.11.5"},
                }
            },
            "dataset": {"tables": 4, "table_size": 10_000},
            "workloads": ["oltp_point_select", "oltp_update_index"],
            "threads": [4, 8],
            "rounds": 3,
            "seconds": 4,
            "warmup_seconds": 1,
            "restore": "every_trial",
            "seed": 1,
            **fields,
        }
    )


def plan(report_type: ReportSpec | None = None, campaign_id: str = "c1", **fields: Any) -> Plan:
    """The plan of a report type, or of :func:`spec` with ``fields``."""
    report_type = report_type or spec(**fields)
    engine = next(iter(report_type.engines)) if report_type.engine == "auto" else report_type.engine
    return planning.make(report_type, engine, campaign_id, READ_ONLY, metrics=METRICS)


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
        spec=report_type.model_dump(mode="json"),
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
        facts={side: side_facts(each.version) for side, each in made.sides.items()}
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
        environment: replaces or adds to what its hosts tell.
        variables: the sides' effective variables and configuration items.
        fields: of :func:`fleet_spec`.
    """
    report_type = report_type or fleet_spec(**fields)
    planned = planning.make(
        report_type,
        "tidb",
        id,
        READ_ONLY,
        topology=topology or ec2_topology(),
        prices=prices(),
        metrics=METRICS,
    )
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


def fleet_spec(**fields: Any) -> ReportSpec:
    """A small valid report type on a rented fleet; ``fields`` replace its own."""
    return spec(
        **{
            "report": "sysbench_ec2",
            "target": "ec2",
            "topology": "ec2_published",
            "engine": "tidb",
            "engines": {
                "tidb": {"baseline": {"version": "v5.1.1"}, "candidate": {"version": "v5.2.0"}}
            },
            "dataset": {"tables": 16, "table_size": 10_000_000},
            "threads": [150, 600],
            "seconds": 300,
            "restore": "per_workload",
            "budget": {"approve_above": 20, "limit": 80},
            **fields,
        }
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
        environment: replaces or adds to what its hosts and its client tell.
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
    samples = tuple(Sample(metric, value) for metric, value in values.items())
    return dataclasses.replace(trial_result(trial, reasons=reasons), samples=samples)


def ec2_topology() -> Ec2Topology:
    """The ten hosts of the published pages."""
    return Ec2Topology.model_validate(
        {
            "kind": "ec2",
            "region": "us-west-2",
            "image": {"id": "ami-0123456789abcdef0"},
            "tiup": "image",
            "user": "admin",
            "ssh_from": "172.31.0.0/16",
            "roles": {
                role: {"instance_type": kind, "count": count}
                for role, (kind, count, _) in ON_EC2.items()
            },
        }
    )


def prices() -> PriceList:
    """A list price of every instance type of :func:`ec2_topology`."""
    dollars = {"m5.xlarge": "0.192", "i3.4xlarge": "1.248", "c5.4xlarge": "0.68",
               "c5.9xlarge": "1.53", "gp3": "0.0001096"}  # fmt: skip
    vcpus = {kind: int(line.split()[0]) for kind, _, line in ON_EC2.values()}
    return PriceList(
        Path("prices.csv"),
        {
            (kind, "us-west-2"): Price(
                kind, "us-west-2", vcpus.get(kind), Decimal(price), date(2024, 1, 1), "made up"
            )
            for kind, price in dollars.items()
        },
    )


def fleet_environment(plan: Plan) -> dict[str, str]:
    """What a fleet tells of its hosts, in the form of a fleet's target."""
    told = {}
    for role, (kind, _, line) in ON_EC2.items():
        number = sum(role in host.role.split("+") for host in plan.hosts)
        kinds = f"{kind}: " if plan.target == "ec2" else ""
        told[f"{role}_hosts"] = (
            f"{number} x {kinds}{line}, Debian GNU/Linux 12 (bookworm), kernel "
            f"6.1.0-18-cloud-amd64, data on {'xfs' if role == 'tikv' else 'ext2/ext3'}"
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
        samples=tuple(Sample(metric, value) for metric, value in values.items()),
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


def processes_with(variable: str) -> list[int]:
    """Pids whose environment has ``NAME=value``: what a test must find gone."""
    return list(tagged(variable))


# Fakes: a host, a server, a load balancer and a target that run nothing. They keep a log of what
# was done to them, so that the order of things can be tested without any of them.

Program = Callable[[str, Sequence[str]], tuple[JobStatus, str]]
Answer = Callable[[Sequence[str], str], str]


class FakeExecutor:
    """A host that runs nothing, and remembers what it was asked to run.

    Args:
        answer: what a command prints, from the command and its standard input; it may raise.
        program: how a job stands once it is started, and what it printed, from the job's name
            and its command. By default every job runs until it is stopped.

    Attributes:
        log: everything in order: ``run sysbench``, ``start server-baseline``, ``put my.cnf``, ...
        commands: every command line that any user of the host could have seen.
        files: the text of every file; those in ``private`` are readable by their owner only.
    """

    host = "fake"

    def __init__(
        self,
        answer: Answer = lambda command, stdin: "",
        program: Program = lambda job, command: (JobStatus("running"), ""),
    ) -> None:
        self.answer, self.program = answer, program
        self.log: list[str] = []
        self.commands: list[list[str]] = []
        self.files: dict[Path, str] = {}
        self.private: set[Path] = set()
        self.jobs: dict[str, tuple[JobStatus, str]] = {}

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float = 60,
        check: bool = True,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """See :class:`benchlab.executor.Executor`."""
        self.commands.append(list(command))
        self.log.append(f"run {command[0]}")
        return Completed(0, self.answer(command, stdin), "")

    def start_job(
        self, job: str, command: Sequence[str], *, env: Mapping[str, str] | None = None
    ) -> bool:
        """See :class:`benchlab.executor.Executor`."""
        if job in self.jobs:
            return False
        self.commands.append(list(command))
        self.log.append(f"start {job}")
        self.jobs[job] = self.program(job, command)
        return True

    def job_status(self, job: str) -> JobStatus:
        """See :class:`benchlab.executor.Executor`."""
        return self.jobs[job][0] if job in self.jobs else JobStatus("absent")

    def job_output(self, job: str) -> str:
        """See :class:`benchlab.executor.Executor`."""
        return self.jobs[job][1] if job in self.jobs else ""

    def stop_job(self, job: str, *, timeout_s: float = 60) -> None:
        """See :class:`benchlab.executor.Executor`."""
        if self.job_status(job).state == "running":
            self.log.append(f"stop {job}")
            self.end_job(job, 143)

    def end_job(self, job: str, exit_code: int | None) -> None:
        """Let a job end by itself; without an exit code it is lost."""
        status = JobStatus("lost") if exit_code is None else JobStatus("complete", exit_code)
        self.jobs[job] = (status, self.job_output(job))

    def forget_job(self, job: str) -> None:
        """See :class:`benchlab.executor.Executor`."""
        if self.job_status(job).state == "running":
            raise TargetError(f"on {self.host}: job {job} is still running; stop it first")
        self.jobs.pop(job, None)

    def put(self, path: Path, text: str, *, private: bool = False) -> None:
        """See :class:`benchlab.executor.Executor`."""
        self.log.append(f"put {path.name}")
        self.files[path] = text
        self.private.discard(path)
        if private:
            self.private.add(path)

    @contextlib.contextmanager
    def reach(self, host: str, port: int) -> Iterator[tuple[str, int]]:
        """See :class:`benchlab.executor.Executor`."""
        yield host, port

    def release(self) -> int:
        """See :class:`benchlab.executor.Executor`."""
        running = [job for job, (status, _) in self.jobs.items() if status.state == "running"]
        for job in running:
            self.stop_job(job)
        return len(running)


class FakeEngine(BaseEngine):
    """A server without a program; its answers are attributes, to be changed by a test.

    Attributes:
        reported: what it calls itself.
        settings: its effective variables; by default just what was asked for.
        content: stands for all of its data, and so makes up its checksum.
    """

    name = "fake"
    title = "Fake"
    retryable_errors = (1213,)

    def __init__(self, executor: FakeExecutor, instance: Instance) -> None:
        super().__init__(executor, instance, Path("/fake/servers"))
        self.fake = executor
        self.reported = f"{instance.version}-Fake"
        self.settings = {key: written(value) for key, value in instance.parameters.items()}
        self.content = "1"

    @classmethod
    def owns(cls, version: str) -> bool:
        """Any."""
        return True

    @classmethod
    def availability(cls, version: str, servers: Path) -> Availability:
        """Always."""
        return Availability(True, "made up")

    @classmethod
    def install(cls, executor: Executor, version: str, servers: Path) -> None:
        """Nothing to fetch."""

    def initialise(self) -> None:
        """Nothing to write."""

    def server_command(self) -> tuple[list[str], dict[str, str]]:
        """Told apart by its port."""
        return ["fake-server", f"--port={self.instance.port}"], {}

    def secure(self) -> None:
        """Nobody can connect."""

    def git_hash(self) -> str | None:
        """None to tell."""
        return None

    def sql(
        self, statement: str, *, user: str = USER, timeout_s: float = SQL_LIMIT_S
    ) -> list[list[str]]:
        """Answers while it runs; every row count and hash is its content."""
        if not self.running():
            raise CommandError(self.executor.host, "mariadb", 1, "Can't connect")
        if statement == "SELECT VERSION()":
            return [[self.reported]]
        if statement == "SHOW GLOBAL VARIABLES":
            return [list(item) for item in self.settings.items()]
        return [["1", self.content]]

    def restore(self) -> None:
        """Logged; the content is the snapshot's by definition."""
        self.stop()
        self.fake.log.append(f"restore {self.instance.side}")


class FakeBalancer:
    """A load balancer that forwards nothing; ``up`` is what it says of its one server."""

    host, entry_port, threads = "127.0.0.1", 13390, 2

    def __init__(self, executor: FakeExecutor, side: Side) -> None:
        self.executor, self.side, self.up = executor, side, True

    def configure(self) -> None:
        """Nothing to write."""

    def start(self) -> None:
        """Logged."""
        self.executor.log.append(f"balance {self.side}")

    def stop(self) -> None:
        """Not logged: it is always there."""

    def statistics(self) -> list[Backend]:
        """Its one server."""
        return [Backend(f"{self.side}1", *(("UP", "L4OK") if self.up else ("DOWN", "L4CON")), 1)]


class FakeDeployment:
    """Both sides of a plan, deployed on a :class:`FakeExecutor`."""

    def __init__(self, plan: Plan, executor: FakeExecutor, password: str = "made up") -> None:
        self.executor = executor
        self.directory = Path("/fake")
        self.sides = tuple(plan.sides)
        self.client_host = executor.host
        self.client_alone = self.dedicated = False
        self.engines = {
            side: FakeEngine(
                executor,
                Instance(
                    side=side,
                    version=spec.version,
                    parameters=spec.parameters,
                    directory=Path("/fake") / side,
                    host="127.0.0.1",
                    port=13410 + 10 * number,
                    status_port=13430,
                    max_connections=100,
                    database="sbtest",
                    password=password,
                ),
            )
            for number, (side, spec) in enumerate(plan.sides.items())
        }
        self.balancers = {side: FakeBalancer(executor, side) for side in plan.sides}

    def executors(self) -> dict[str, Executor]:
        """The one host."""
        return {self.executor.host: self.executor}

    def interrupt(self) -> None:
        """End everything on it."""
        self.executor.release()

    def engine(self, side: Side) -> FakeEngine:
        """The server of one side."""
        return self.engines[side]

    def balancer(self, side: Side) -> Any:
        """The load balancer in front of one side."""
        return self.balancers[side]
