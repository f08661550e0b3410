"""How noisy a trial on one machine is, and whether a side has an advantage by its place.

One MariaDB against itself, as two sides that are loaded separately. A way is how the client reaches
the server, and where all three run. Every way is measured in each round, with the sides in turn, so
that other work on this machine meets all of them.
"""

from __future__ import annotations

import os
import secrets
import shutil
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchlab import engines
from benchlab.engines.database import USER
from benchlab.engines.mariadb import CONFIG, Engine
from benchlab.engines.server import Instance
from benchlab.errors import BenchlabError
from benchlab.home import Home
from benchlab.hosts.executor import LocalExecutor
from benchlab.plan.fields.client import Client
from benchlab.plan.fields.dataset import Dataset
from benchlab.plan.report_type import SIDES, Side
from benchlab.targets.direct import Direct
from benchlab.targets.haproxy import JOB, HAProxy
from benchlab.targets.target import Balancer
from benchlab.workloads import sysbench
from benchlab.workloads.client import Endpoint, Session
from tests.bench.row import Row
from tests.ports import free_ports

NAME = "noise"
VERSION = "10.2.11"
DATASET = Dataset(tables=4, table_size=10_000)
THREADS = 4
DATABASE = "sbtest"
RUN_LIMIT_S = 120
# The largest coefficient of variation of a trial, in percent, by workload.
TARGETS = {"oltp_point_select": 3.0, "oltp_update_index": 5.0}


@dataclass(frozen=True)
class Way:
    """How the client reaches the server.

    Attributes:
        threads: of HAProxy; 0: there is none.
        apart: whether each side's server has a port of its own.
        pinned: whether client and HAProxy are kept on the first core, the server on the others.
    """

    name: str
    threads: int
    apart: bool = False
    pinned: bool = False


WAYS = (
    Way("HAProxy with 2 threads, each side its port", 2, apart=True),
    Way("HAProxy with 2 threads", 2),
    Way("HAProxy with 1 thread", 1),
    Way("no load balancer", 0),
    Way("HAProxy with 1 thread, pinned", 1, pinned=True),
    Way("no load balancer, pinned", 0, pinned=True),
)


@dataclass(frozen=True)
class Ports:
    """Where things listen."""

    entry: int
    stats: int
    baseline: int
    candidate: int


def measure(home: Home, work: Path, quick: bool) -> list[Row]:
    """Coefficients of variation, each with the candidate's advantage over its own twin.

    Raises:
        BenchlabError: a run was not complete; quotes why.
    """
    engines.install("mariadb", VERSION, home)
    folder = work / NAME
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    bench = _Bench(home, folder, seconds=2 if quick else 3)
    rates: dict[tuple[Way, str, Side], list[float]] = defaultdict(list)
    try:
        for side in SIDES:
            bench.load(side)
        for way, workload, side in _trials(rounds=3 if quick else 16):
            rates[way, workload, side].append(bench.run(way, workload, side))
    finally:
        bench.executor.end_processes()
        shutil.rmtree(folder)
    return [
        _row(way, workload, *(rates[way, workload, side] for side in SIDES))
        for workload in TARGETS
        for way in WAYS
    ]


def _trials(rounds: int) -> Iterator[tuple[Way, str, Side]]:
    """Each way on both sides once a round; the side that comes first changes in every round."""
    for number in range(rounds):
        for workload in TARGETS:
            for way in WAYS:
                for side in SIDES if number % 2 == 0 else reversed(SIDES):
                    yield way, workload, side


class _Bench:
    """Two sides of one version on this machine."""

    def __init__(self, home: Home, folder: Path, seconds: int) -> None:
        self.executor = LocalExecutor(folder, f"bench-{NAME}-{os.getpid()}")
        self._servers, self._folder, self._seconds = home.servers, folder, seconds
        self._ports, self._password = Ports(*free_ports(4)), secrets.token_hex(16)
        self._options = folder / "sysbench.cfg"
        text = sysbench.config_file_text(Endpoint("", 0, "", self._password, DATABASE))
        self.executor.put(self._options, text, private=True)

    def load(self, side: Side) -> None:
        """Deploy a side, load it, take its snapshot."""
        engine = self._engine(side, apart=False)
        engine.deploy()
        engine.create_database()
        session = self._session(Direct("127.0.0.1", engine.instance.port))
        self.executor.run(sysbench.prepare_command(session), timeout_s=RUN_LIMIT_S)
        engine.analyze(list(sysbench.tables(DATASET)))
        engine.backup()

    def run(self, way: Way, workload: str, side: Side) -> float:
        """Transactions a second of one trial, from the snapshot and after a second of warm-up."""
        engine = self._engine(side, apart=way.apart)
        engine.restore()
        options = str(engine.instance.directory / CONFIG)
        self.executor.run(["sed", "-i", f"s/^port=.*/port={engine.instance.port}/", options])
        engine.start()
        balancer = self._balancer(way, engine)
        balancer.configure()
        balancer.start()
        if way.pinned:
            self._pin(engine.job, range(1, os.cpu_count() or 1))
            if way.threads:
                self._pin(JOB, [0])
        self._client(way, workload, balancer, 1)
        rate = self._client(way, workload, balancer, self._seconds)
        balancer.stop()
        engine.stop()
        return rate

    def _client(self, way: Way, workload: str, balancer: Balancer, seconds: int) -> float:
        command = sysbench.run_command(workload, self._session(balancer), seconds=seconds)
        pinned = ["taskset", "-c", "0"] if way.pinned else []
        done = self.executor.run([*pinned, *command], timeout_s=RUN_LIMIT_S)
        found = sysbench.parse(done.stdout)
        if found.status != "complete" or found.tps is None:
            raise BenchlabError(f"{way.name}, {workload}: {' '.join(found.reasons)}")
        return found.tps

    def _pin(self, job: str, cores: Sequence[int]) -> None:
        pid = (self._folder / "jobs" / job / "pid").read_text().strip()
        self.executor.run(["taskset", "-acp", ",".join(map(str, cores)), pid])

    def _session(self, to: Balancer) -> Session:
        endpoint = Endpoint(to.host, to.entry_port, USER, self._password, DATABASE)
        return Session(endpoint, str(self._options), DATASET, THREADS, Client())

    def _engine(self, side: Side, *, apart: bool) -> Engine:
        instance = Instance(
            side=side,
            version=VERSION,
            parameters={"innodb_buffer_pool_size": 268_435_456},
            directory=self._folder / side,
            host="127.0.0.1",
            port=getattr(self._ports, side if apart else "baseline"),
            status_port=0,
            max_connections=100,
            database=DATABASE,
            password=self._password,
        )
        return Engine(self.executor, instance, self._servers)

    def _balancer(self, way: Way, engine: Engine) -> Balancer:
        if not way.threads:
            return Direct(engine.instance.host, engine.instance.port)
        return HAProxy(
            executor=self.executor,
            directory=self._folder,
            host="127.0.0.1",
            entry_port=self._ports.entry,
            stats_port=self._ports.stats,
            backends={"server": f"127.0.0.1:{engine.instance.port}"},
            maxconn=100,
            threads=way.threads,
        )


def _row(way: Way, workload: str, baseline: list[float], candidate: list[float]) -> Row:
    """The coefficient of variation within the sides, and the mean of the rounds' ratios."""
    within = [
        statistics.variance(rates) / statistics.mean(rates) ** 2 for rates in (baseline, candidate)
    ]
    ratios = [100 * (b / a - 1) for a, b in zip(baseline, candidate, strict=True)]
    error = statistics.stdev(ratios) / len(ratios) ** 0.5
    advantage = f"candidate {statistics.mean(ratios):+.1f} % (standard error {error:.1f})"
    return Row(
        name=f"noise, {workload}: {way.name}",
        compared=f"{statistics.mean(baseline):,.0f} transactions/s; {advantage}",
        figure=100 * statistics.mean(within) ** 0.5,
        unit="%",
        target=None if way.apart or way.pinned or way.threads > 1 else TARGETS[workload],
        seconds={"baseline, transactions/s": baseline, "candidate, transactions/s": candidate},
    )
