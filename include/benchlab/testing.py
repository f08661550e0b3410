"""For tests: campaigns, plans and results with known figures; a host and servers that are fake.

Everything here is deterministic. Every builder takes what a test is about as an argument and
fills in the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchlab import plan as planning
from benchlab.engine import SQL_LIMIT_S, USER, Availability, BaseEngine, Instance, written
from benchlab.errors import CommandError, TargetError
from benchlab.executor import Completed, Executor, JobStatus, tagged
from benchlab.loadbalancer.haproxy import Backend
from benchlab.plan import Plan, PlannedTrial
from benchlab.results import Campaign, GateResult, Sample, SideFacts, TrialResult
from benchlab.spec import ReportSpec, Side

START = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
READ_ONLY = ("oltp_point_select",)
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
    return planning.make(report_type, engine, campaign_id, READ_ONLY)


def campaign(
    report_type: ReportSpec | None = None,
    *,
    id: str = "c1",  # noqa: A002 - the field's name
    facts: dict[Side, SideFacts] | None = None,
    environment: dict[str, str] | None = None,
    **fields: Any,
) -> Campaign:
    """A complete campaign of a report type, or of :func:`spec` with ``fields``."""
    report_type = report_type or spec(**fields)
    made = plan(report_type, id)
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

    host, entry_port = "127.0.0.1", 13390

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
                    password=password,
                ),
            )
            for number, (side, spec) in enumerate(plan.sides.items())
        }
        self.balancers = {side: FakeBalancer(executor, side) for side in plan.sides}

    def engine(self, side: Side) -> FakeEngine:
        """The server of one side."""
        return self.engines[side]

    def balancer(self, side: Side) -> Any:
        """The load balancer in front of one side."""
        return self.balancers[side]
