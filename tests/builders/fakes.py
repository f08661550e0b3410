"""A host, servers and a load balancer that are fake.

Every builder takes what a test is about as an argument and fills in the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchlab.engines.database import SQL_LIMIT_S, USER, written
from benchlab.engines.server import Availability, BaseEngine, Instance
from benchlab.errors import CommandError, TargetError
from benchlab.hosts.executor import Completed, Executor, JobStatus, Space, tagged
from benchlab.hosts.lock import Holder
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import Side
from benchlab.plan.spending import Spending
from benchlab.targets.haproxy import Backend


def processes_with(variable: str) -> list[int]:
    """Pids whose environment has ``NAME=value``: what a test must find gone."""
    return list(tagged(variable))


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
        self.disk = Space("/fake", 2**40, 2**41)

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float = 60,
        check: bool = True,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """See :class:`benchlab.hosts.executor.Executor`."""
        self.commands.append(list(command))
        self.log.append(f"run {command[0]}")
        return Completed(0, self.answer(command, stdin), "")

    def start_job(
        self, job: str, command: Sequence[str], *, env: Mapping[str, str] | None = None
    ) -> bool:
        """See :class:`benchlab.hosts.executor.Executor`."""
        if job in self.jobs:
            return False
        self.commands.append(list(command))
        self.log.append(f"start {job}")
        self.jobs[job] = self.program(job, command)
        return True

    def space(self) -> Space:
        """There is room, unless the test says otherwise."""
        return self.disk

    def job_status(self, job: str) -> JobStatus:
        """See :class:`benchlab.hosts.executor.Executor`."""
        return self.jobs[job][0] if job in self.jobs else JobStatus("absent")

    def job_output(self, job: str) -> str:
        """See :class:`benchlab.hosts.executor.Executor`."""
        return self.jobs[job][1] if job in self.jobs else ""

    def ask_job_to_end(self, job: str) -> None:
        """See :class:`benchlab.hosts.executor.Executor`; it still runs until it is stopped."""
        self.log.append(f"ask {job}")

    def stop_job(self, job: str, *, timeout_s: float = 60) -> None:
        """See :class:`benchlab.hosts.executor.Executor`."""
        if self.job_status(job).state == "running":
            self.log.append(f"stop {job}")
            self.end_job(job, 143)

    def end_job(self, job: str, exit_code: int | None) -> None:
        """Let a job end by itself; without an exit code it is lost."""
        status = JobStatus("lost") if exit_code is None else JobStatus("complete", exit_code)
        self.jobs[job] = (status, self.job_output(job))

    def forget_job(self, job: str) -> None:
        """See :class:`benchlab.hosts.executor.Executor`."""
        if self.job_status(job).state == "running":
            raise TargetError(f"on {self.host}: job {job} is still running; stop it first")
        self.jobs.pop(job, None)

    def put(self, path: Path, text: str, *, private: bool = False) -> None:
        """See :class:`benchlab.hosts.executor.Executor`."""
        self.log.append(f"put {path.name}")
        self.files[path] = text
        self.private.discard(path)
        if private:
            self.private.add(path)

    def upload(self, source: Path, path: Path) -> None:
        """See :class:`benchlab.hosts.executor.Executor`."""
        self.log.append(f"upload {path.name}")

    def end_processes(self) -> int:
        """See :class:`benchlab.hosts.executor.Executor`."""
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
    def availability(cls, version: str, servers: Path, *, ask: bool = True) -> Availability:
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
        """None to report."""
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

    def _take_place(self) -> None:
        """It has none, and both sides run at once where a test loads them as a fleet does."""

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
        """Logged."""
        self.executor.log.append(f"configure balancer {self.side}")

    def beside(self) -> FakeBalancer:
        """On another port."""
        other = FakeBalancer(self.executor, self.side)
        other.entry_port += 100
        return other

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

    can = Capabilities()
    datasets: Any = None
    client_program: str | None = None
    client_path: str | None = None

    def __init__(self, plan: Plan, executor: FakeExecutor, password: str = "made up") -> None:
        self.executor = executor
        self.directory = Path("/fake")
        self.sides = tuple(plan.sides)
        self.client_host = executor.host
        self.client_alone = False
        self.spendings: list[Spending] = []
        self.lost_hosts: dict[str, str] = {}
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

    def acquire(self, origin: str) -> Holder | None:
        """Nobody else wants it."""

    def interrupt(self) -> None:
        """End everything on it."""
        self.executor.end_processes()

    def spending(self) -> Spending | None:
        """What the test says next; nothing is rented without that."""
        return self.spendings.pop(0) if self.spendings else None

    def lost(self) -> dict[str, str]:
        """What the test says."""
        return self.lost_hosts

    def instances(self) -> dict[str, str]:
        """The same name."""
        return {"tikv-1": "i-1"}

    def begin_deployment(self, number: int) -> None:
        """Nothing is in the way."""

    def nothing(self) -> None:
        """Has no effect here."""

    before_replacing = clear = nothing

    def engine(self, side: Side) -> FakeEngine:
        """The server of one side."""
        return self.engines[side]

    def balancer(self, side: Side) -> Any:
        """The load balancer in front of one side."""
        return self.balancers[side]
