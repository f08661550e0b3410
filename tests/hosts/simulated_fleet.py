"""Fleets of two clusters on hosts that the test cloud rents, whose servers and clients are fake.

Renting, replacing and giving back are Benchlab's own, with AWS's answers; only what runs on the
hosts is made up. A campaign's processes may die at any act, and other work may come in between::

    with World(folder, cloud) as world:
        fleet = world.campaign("c1")
        world.work(lambda: fleet.opened().provision(), dies_at=7)
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
import sqlalchemy as sa
import yaml

from benchlab.campaign import preparation, sequence
from benchlab.campaign.stages import CampaignRun
from benchlab.campaign.state import RunState, StateFile
from benchlab.engines.server import Instance
from benchlab.errors import EngineError, UnreachableError
from benchlab.hosts import lock
from benchlab.hosts.access import Access
from benchlab.hosts.executor import Executor, JobStatus
from benchlab.hosts.fleet import FleetHost
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES, ReportSpec, Side
from benchlab.results.records import TrialResult
from benchlab.results.store import Store
from benchlab.targets import rented
from benchlab.targets.ec2 import calls, inventory
from tests.builders import campaigns, plans
from tests.builders.fakes import FakeBalancer, FakeEngine, FakeExecutor
from tests.builders.installation import Here
from tests.hosts.cloud import Cloud

GOLDEN = Path(__file__).parents[1] / "golden" / "sysbench"
GOOD = (GOLDEN / "sysbench_read_write_t4.txt").read_text()
KILLED = (GOLDEN / "sysbench_killed_midrun.txt").read_text()
TPS = "2576   (514.33 per sec.)"
PREPARED = ["deploy", "load", "analyze", "back up"]
ROWS = 10_000
TOPOLOGY = {
    "kind": "ec2",
    "region": "us-west-2",
    "image": {"ssm_parameter": "/aws/service/debian/release/12/latest/amd64"},
    "user": "admin",
    "ssh_by": "public",
    "ssh_from": "203.0.113.7/32",
    "tiup": "image",
    "roles": {
        "pd": {"instance_type": "m5.large", "count": 1, "root_gib": 20},
        "tikv": {"instance_type": "i3.large", "count": 1, "root_gib": 20, "capacity": "spot"},
        "tidb": {"instance_type": "c5.large", "count": 1, "root_gib": 20},
        "client": {"instance_type": "c5.xlarge", "count": 1, "root_gib": 20},
    },
}
STORAGE = ("pd-1", "tikv-1", "tidb-1")
SPEC: dict[str, Any] = {
    "topology": "simulated",
    "dataset": {"tables": 1, "table_size": ROWS},
    "workloads": ["oltp_read_write"],
    "threads": [4],
    "seconds": 5,
    "warmup_seconds": 0,
    "rounds": 2,
    "deployments": 2,
    "restore": "every_trial",
    "budget": {"approve_above": 20, "limit": 80},
}
# Nothing here needs time.
SOON = {"ready_s": 60.0, "gone_s": 20.0, "known_s": 5.0, "poll_s": 0.01}


class Killed(BaseException):
    """What SIGKILL is to a process."""


@dataclass
class Process:
    """One process of a campaign.

    Attributes:
        dies_at: the act before which it is killed, from 0; None: it lives.
        meanwhile: what another process does before an act, by the act's number.
    """

    dies_at: int | None = None
    meanwhile: dict[int, Callable[[], None]] = field(default_factory=dict)
    acts: int = 0


@dataclass
class Data:
    """One side's data: what was done since its deployment, where, and the deployment's number."""

    done: list[str]
    hosts: dict[str, str]
    number: int
    deployed: int


@dataclass(frozen=True)
class Measured:
    """What a client found: which deployments of both sides there were, on which hosts."""

    trial: str
    attempt: int
    deployed: tuple[int, ...]
    hosts: tuple[str, ...]


class World:
    """All that outlives the processes of campaigns: the cloud, the hosts, a home and its store.

    Attributes:
        measured: what each client found, by the rate that it printed.
        untimely: clients that were started on sides that were not prepared for them.
        failing: how many connections (``down``), clients, starts of servers and statements of
            the store (``away``) fail from now on.
    """

    def __init__(self, folder: Path, cloud: Cloud) -> None:
        self.cloud, self.here = cloud, Here(folder)
        self.home = self.here.home
        text = yaml.safe_dump(TOPOLOGY)
        (self.home.configs / "topologies" / "simulated.yaml").write_text(text)
        self.processes: list[Process] = []
        self.hosts: dict[str, Host] = {}
        self.lost: set[str] = set()
        self.data: dict[tuple[str, Side], Data] = {}
        self.measured: dict[float, Measured] = {}
        self.untimely: list[str] = []
        self.failing = Counter[str]()
        self._numbers = itertools.count(1)
        self.target = type("SimulatedTarget", (Target,), {"world": self})
        self._guard = threading.Lock()
        self._heard: set[int] = set()

    def __enter__(self) -> Self:
        self._patched = pytest.MonkeyPatch()
        no_wait = partial(_fence_at_once, lock.fence)
        for module in (sequence, preparation):
            self._patched.setattr(module, "fence", no_wait)
        for name, seconds in SOON.items():
            self._patched.setitem(vars(calls.PATIENT), name, seconds)
        self._patched.setattr(calls, "FIRST_POLL_S", 0.01)
        self._patched.setattr(
            "botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0
        )
        self.store = Store(self.home.store_url, self.home.objects)

        @sa.event.listens_for(self.store.database.engine, "before_cursor_execute")
        def _asked(*_: object) -> None:
            self.act("store", alone=True)
            if self.processes and self._fails("away"):
                raise sa.exc.OperationalError("a statement", None, Exception("lost connection"))

        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.store.close()
        self._patched.undo()

    # ------------------------------------------------------------ processes

    def work(self, do: Callable[[], object], process: Process | None = None) -> object:
        """Do something in a process of its own; raises Killed if that is killed."""
        self.processes.append(process or Process())
        try:
            return do()
        finally:
            self.processes.pop()

    def act(self, what: str, *, alone: bool = False) -> None:
        """The process at work is about to act; it may be dead, or killed now.

        Args:
            alone: it keeps all others from working, for a moment.
        """
        if not self.processes:
            return
        with self._guard:
            process = self.processes[-1]
            number, process.acts = process.acts, process.acts + 1
        if process.dies_at is not None and number >= process.dies_at:
            raise Killed(f"before act {number}: {what}")
        in_thread = threading.current_thread() is not threading.main_thread()
        if not (alone or in_thread) and (other := self._due(process, number)):
            other()

    @staticmethod
    def _due(process: Process, number: int) -> Callable[[], None] | None:
        due = next((at for at in sorted(process.meanwhile) if at <= number), None)
        return None if due is None else process.meanwhile.pop(due)

    def _fails(self, what: str) -> bool:
        with self._guard:
            left = self.failing[what]
            self.failing[what] = max(left - 1, 0)
        return bool(left)

    def heal(self) -> None:
        """No more faults."""
        self.cloud.heal()
        self.failing.clear()

    # ------------------------------------------------------------ the cloud and its hosts

    @property
    def access(self) -> Access:
        """AWS, whose calls are acts: one before it is sent, one when its answer is there."""

        def aws(service: str, region: str) -> Any:
            client = self.cloud.client(service, region)
            if id(client) not in self._heard:
                self._heard.add(id(client))
                for event in ("before-send", "after-call"):
                    client.meta.events.register(f"{event}.*.*", partial(self._asked, event))
            return client

        return Access(aws=aws)

    def _asked(self, event: str, **_: object) -> None:
        self.act(event)

    def living(self, campaign: str) -> dict[str, list[str]]:
        """The instances of a campaign that live, by host name."""
        found: dict[str, list[str]] = {}
        with self.cloud.without_faults():
            listed = inventory.of_campaign(self.cloud.client("ec2"), campaign)
        for one in listed:
            if one.living:
                found.setdefault(one.name, []).append(one.id)
        return found

    def host(self, of: FleetHost, program: Callable[..., tuple[JobStatus, str]]) -> Host:
        """A host, which keeps its jobs and files while its instance lives."""
        with self._guard:
            if of.instance not in self.hosts:
                self.hosts[str(of.instance)] = Host(self, of.name, str(of.instance), program)
            return self.hosts[str(of.instance)]

    def lose(self, instance: str) -> None:
        """AWS takes an instance."""
        self.cloud.kill(instance, "Server.SpotInstanceTermination: Spot instance termination")
        self.lost.add(instance)

    # ------------------------------------------------------------ campaigns

    def campaign(self, name: str) -> SimulatedCampaign:
        """A new campaign."""
        return SimulatedCampaign(self, name)

    def forget(self) -> None:
        """What is known of campaigns that have ended."""
        for known in (self.hosts, self.lost, self.data, self.measured):
            known.clear()

    def next_number(self) -> int:
        """Another one at each call."""
        return next(self._numbers)


def _fence_at_once(fence: Any, path: Path, limit_s: float) -> Any:
    """What waits for another process of these tests would wait for ever."""
    return fence(path, 0.0)


class Host(FakeExecutor):
    """One host; it cannot be reached once its instance is gone, or while its link is down."""

    def __init__(
        self, world: World, name: str, instance: str, program: Callable[..., tuple[JobStatus, str]]
    ) -> None:
        super().__init__(_said, program)
        self.world, self.host, self.instance = world, name, instance

    def reach(self, what: str) -> None:
        """An act of the process at work."""
        self.world.act(f"{self.host}: {what}")
        if self.instance in self.world.lost or self.world._fails("down"):
            raise UnreachableError(self.host, "the link is down")

    def run(self, command: Sequence[str], **options: Any) -> Any:
        """See :class:`FakeExecutor`."""
        self.reach(f"run {command[0]}")
        return super().run(command, **options)

    def start_job(self, job: str, command: Sequence[str], **options: Any) -> bool:
        """See :class:`FakeExecutor`."""
        self.reach(f"start {job}")
        return super().start_job(job, command, **options)

    def job_status(self, job: str) -> JobStatus:
        """See :class:`FakeExecutor`."""
        self.reach(f"ask {job}")
        return super().job_status(job)

    def put(self, path: Path, text: str, *, private: bool = False) -> None:
        """See :class:`FakeExecutor`."""
        self.reach(f"put {path.name}")
        super().put(path, text, private=private)


def _said(command: Sequence[str], stdin: str) -> str:
    return {"nproc": "4", "sysbench": "sysbench 1.0.20"}.get(command[0], "")


class Cluster(FakeEngine):
    """One side's cluster, whose data are the world's."""

    def __init__(self, target: Target, side: Side, executor: Host, instance: Instance) -> None:
        super().__init__(executor, instance)
        self.host, self.target, self.side, self.world = executor, target, side, target.world
        self.key = (target.campaign, side)

    def did(self, what: str) -> None:
        """It has been done to its data."""
        self.host.reach(what)
        if (data := self.world.data.get(self.key)) is None or not self.is_whole(data):
            raise EngineError(f"{self.side}: there are no data to {what}")
        data.done.append(what)

    def is_whole(self, data: Data) -> bool:
        """Whether the hosts that have its data are those of the fleet, and live."""
        return data.hosts == self.target.instances() and not (
            self.world.lost & {data.hosts[name] for name in STORAGE}
        )

    def deploy(self) -> None:
        """Empty."""
        self.world.data.pop(self.key, None)
        super().deploy()
        number = self.target.deployment
        deployed = self.world.next_number()
        self.world.data[self.key] = Data(["deploy"], self.target.instances(), number, deployed)

    def start(self) -> None:
        """Not without its hosts."""
        if self.world._fails("broken_servers"):
            raise EngineError(f"{self.side}: the server does not start")
        data = self.world.data.get(self.key)
        if data is None or not self.is_whole(data):
            raise EngineError(f"{self.side}: its data are not there")
        super().start()

    start_for_trial = start

    def create_database(self) -> None:
        """Its tables are filled next."""
        self.did("load")

    def analyze(self, tables: Sequence[str]) -> None:
        """Counted."""
        self.did("analyze")

    def backup(self) -> None:
        """Stopped, with a snapshot."""
        self.stop()
        self.did("back up")

    def destroy(self) -> None:
        """Nothing of it is left."""
        self.stop()
        self.host.reach("destroy")
        self.world.data.pop(self.key, None)

    def row_count(self, table: str) -> int:
        """All that were asked for."""
        return ROWS


class Target(rented.Target):
    """A fleet that is rented as ever; its hosts, servers and load balancers are the world's."""

    world: World

    def executor_of(self, host: FleetHost) -> Executor:
        """See :class:`FleetTarget`."""
        return self.world.host(host, self._program)

    def _probe(self, host: FleetHost) -> str | None:
        return None

    @property
    def deployment(self) -> int:
        """The number of the deployment for which there is room."""
        return self._deployment()

    def engine(self, side: Side) -> Cluster:
        """See :class:`BaseTarget`."""
        of = self.plan.sides[side]
        instance = Instance(
            side=side,
            version=of.version,
            parameters=of.parameters,
            directory=self.directory / side,
            host="127.0.0.1",
            port=4000,
            status_port=10080,
            max_connections=100,
            database="sbtest",
            password=self.home.password(self.campaign),
        )
        (tidb,) = self.fleet.with_role("tidb")
        return Cluster(self, side, self.world.host(tidb, self._program), instance)

    _cluster: Any = engine

    def balancer(self, side: Side) -> Any:
        """See :class:`BaseTarget`."""
        return FakeBalancer(self.world.host(self.fleet.client, self._program), side)

    def _program(self, job: str, command: Sequence[str]) -> tuple[JobStatus, str]:
        """Servers run; a client finds data, and prints a count that no other one prints."""
        if not job.startswith("client"):
            return JobStatus("running"), ""
        (trial,) = (trial for trial in self.plan.trials if f"client-{trial.id}-a" in job)
        attempt = int(job.rpartition("-a")[2])
        found = {side: self.world.data.get((self.campaign, side)) for side in SIDES}
        own = found[trial.side]
        broken = self.world._fails("broken_clients")
        if own is None or not self.engine(trial.side).is_whole(own) or broken:
            return JobStatus("complete", 1), KILLED
        self._note_untimely(job, trial, own)
        number = self.world.next_number()
        deployed = tuple(data.deployed if data else 0 for data in found.values())
        hosts = tuple(own.hosts.values())
        self.world.measured[rate_of(number)] = Measured(trial.id, attempt, deployed, hosts)
        return JobStatus("complete", 0), printed(number)

    def _note_untimely(self, job: str, trial: PlannedTrial, own: Data) -> None:
        done = [what for what, _ in itertools.groupby(own.done)]
        wanted = self.plan.deployment_of(trial.round)
        if done != PREPARED or own.number != wanted:
            self.world.untimely.append(f"{job}: {done} in deployment {own.number}")


def printed(number: int) -> str:
    """What sysbench prints, with a rate that no other number has: :func:`rate_of`."""
    assert TPS in GOOD
    rate = rate_of(number)
    return GOOD.replace(TPS, f"{rate * 5.0079:.0f}   ({rate:.2f} per sec.)")


def rate_of(number: int) -> float:
    """Transactions a second, near those that were recorded."""
    return round(500 + number / 100, 2)


class SimulatedState(StateFile):
    """A state file; each change of it is an act."""

    def __init__(self, directory: Path, world: World) -> None:
        super().__init__(directory)
        self.world = world

    def write(self, state: RunState, transition: str) -> None:
        """See :class:`StateFile`."""
        self.world.act(f"begin to write {transition}", alone=True)
        super().write(state, transition)
        self.world.act(f"have written {transition}", alone=True)


Stage = Callable[[CampaignRun], object]


def _prepare(stage: str, *of: Any) -> object:
    *arguments, work = of
    return getattr(work.deployments, stage)(*arguments)


def _measure(attempt: int, work: CampaignRun) -> object:
    return work.sequence.measure_next(attempt)


class SimulatedCampaign:
    """A campaign whose every stage is a process of its own, as the DAG's tasks are."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.id = world, name
        spec: ReportSpec = plans.fleet_spec(**SPEC)
        self.plan: Plan = campaigns.begin(world.home, world.store, spec, name, world.access).plan
        self.directory = world.home.campaign(name)
        self.state = SimulatedState(self.directory, world)
        self.stages = [*self._stages()]
        self.wanted = {host.name for host in self.plan.hosts}

    def opened(self) -> CampaignRun:
        """In another process."""
        record = self.world.store.campaign(self.id)
        of = (self.world.home, self.id, self.plan, record.report_type, self.world.access)
        return CampaignRun(
            self.world.home,
            self.world.store,
            record,
            self.world.access,
            target=self.world.target(*of),
            state=self.state,
        )

    def _stages(self) -> Iterator[tuple[str, Stage]]:
        """Those of the DAG, with a trial each."""
        yield "register", CampaignRun.register
        yield "provision", CampaignRun.provision
        sides = self.plan.in_order(1)
        for side in sides:
            yield f"deploy {side}", partial(_prepare, "deploy", side)
        yield "load", partial(_prepare, "load", *sides)
        for side in sides:
            yield f"analyze {side}", partial(_prepare, "analyze", side)
            yield f"check {side}", partial(_prepare, "check", side, "load")
            yield f"back up {side}", partial(_prepare, "back_up", side)
        for number in range(len(self.plan.trials)):
            yield f"trial {number}", partial(_measure, 1)
        for attempt in (2, 3):
            for number in range(2):
                yield f"repeat {attempt} {number}", partial(_measure, attempt)
        yield "check after trials", CampaignRun.check_after_trials
        yield "verdict", CampaignRun.finish
        yield "give back", CampaignRun.give_back

    def do(self, stage: Stage, process: Process | None = None) -> object:
        """A stage in a process of its own."""
        return self.world.work(lambda: stage(self.opened()), process)

    # ------------------------------------------------------------ what must hold

    def results(self) -> list[TrialResult]:
        """What is stored."""
        return self.world.store.trials(self.id)

    def check_hosts(self) -> None:
        """Never more hosts than wanted."""
        living = self.world.living(self.id)
        assert living.keys() <= self.wanted, f"{self.id}: {living}"
        assert all(len(ids) == 1 for ids in living.values()), f"{self.id}: {living}"

    def rate(self, result: TrialResult) -> float:
        """What the client of a valid trial printed."""
        (rate,) = (s.value for s in result.samples if s.metric == "tps")
        assert rate is not None
        return rate

    def measured(self, result: TrialResult) -> Measured:
        """What that client found."""
        return self.world.measured[self.rate(result)]

    def nothing_left(self) -> list[str]:
        """What there is of it, and should not be; for a campaign that was given back."""
        left = [f"instances {found}" for found in [self.world.living(self.id)] if found]
        for name in ("ssh_key", "password", "fleet.json", "rental.json"):
            left += [name] * (self.directory / name).exists()
        held = self.directory / "driver.lock"
        left += ["driver.lock"] * (held.exists() and held.read_text() != "")
        return left
