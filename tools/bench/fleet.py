"""A fleet against a single host: deploying a cluster, and laying its snapshot back.

The hosts are those of ``tests/hosts``: network namespaces with a real sshd, the stand-in for TiUP
on the client's host. Both fleets are there all the time and are measured in turns.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from benchlab import engines
from benchlab.engines.tidb.cluster import Cluster, ClusterInstance
from benchlab.engines.tidb.topology import Ports
from benchlab.home import Home
from benchlab.hosts.fleet import Fleet, FleetHost, Role, on_all
from benchlab.hosts.ssh.executor import SSHExecutor
from tests.hosts import standin
from tests.hosts.conftest import missing
from tests.hosts.namespaces import USER, NamespaceHost, Namespaces, new_key, unused
from tools.bench.row import Row, ratio

NAMES = ("deploy on a fleet", "restore on a fleet")
DEPLOY_TARGET = 1.5
RESTORE_TARGET = 1.3
# They share this machine's cores: with more hosts than cores the ratio would measure how many cores
# there are. Hosts of one's own have cores, and disks, of their own.
HOSTS = max(2, min(os.cpu_count() or 2, 5))
# Deployments take seconds, restores less than one, and single ones differ much.
DEPLOYS, RESTORES = 7, 15
QUICK_DEPLOYS, QUICK_RESTORES = 3, 7

DATA = Path("/data/benchlab")
KEY = Path(f"/home/{USER}/tiup-key")
SERVER: tuple[Role, ...] = ("pd", "tikv", "tidb")
VERSION = "v5.2.0"
# What a storage host has; a trial has changed all of it when it is restored.
FILES, FILE_MIB = 10, 30


@dataclass
class Bench:
    """One cluster and its hosts."""

    hosts: tuple[FleetHost, ...]
    inside: dict[str, NamespaceHost]
    private: str
    executors: dict[str, SSHExecutor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.executors = {
            host.name: SSHExecutor(host, self.private, "bench", Path(f"/home/{USER}/benchlab"))
            for host in self.hosts
        }
        self.fleet = Fleet(self.hosts)
        self.cluster = Cluster(self.fleet, lambda host: self.executors[host.name], self._instance())

    def _instance(self) -> ClusterInstance:
        return ClusterInstance(
            side="baseline",
            version=VERSION,
            parameters={},
            components={},
            cluster_name="bench-baseline",
            directory=Path(f"/home/{USER}/benchlab/baseline"),
            subdirectory=PurePosixPath("bench") / "baseline",
            ports=Ports.of_set(0),
            host=self.fleet.with_role("tidb")[0].address,
            port=Ports.of_set(0).tidb,
            max_connections=100,
            database="sbtest",
            password="not-a-secret",
            tiup_key=KEY,
            user=USER,
        )

    def fill(self) -> None:
        """Data of the size that matters, on every storage host, and a snapshot of it."""
        self.cluster.stop()
        self._on_storage(
            f"for n in $(seq {FILES}); do head -c {FILE_MIB}M /dev/urandom > $n.sst; done; "
            f"chown {USER}: *.sst"
        )
        self.cluster.backup()

    def change(self) -> None:
        """What a trial does to the data: files are written anew, with other contents."""
        self._on_storage(
            f"for n in $(seq {FILES}); do head -c {FILE_MIB}M /dev/zero > $n.sst; done; sync"
        )

    def same(self) -> bool:
        """Whether the data are the snapshot's on every storage host."""
        root = DATA / "bench/baseline"
        command = f"diff -rq {root}/snapshot {root}/data"
        done = [self.inside[h.name].run(command, check=False) for h in self.fleet.with_role("tikv")]
        return all(one.returncode == 0 for one in done)

    def _on_storage(self, script: str) -> None:
        place = DATA / "bench/baseline/data/tikv-20160"
        on_all(
            self.fleet.with_role("tikv"),
            lambda host: self.inside[host.name].run(f"cd {place} && {script}").stdout,
        )


def measure(home: Home, work: Path, quick: bool) -> list[Row]:
    """Deploy and restore, on one host and on :data:`HOSTS`, in turns."""
    if reason := missing():
        return [Row.not_measured(name, reason) for name in NAMES]
    engines.install("mariadb", standin.MARIADB, home)
    deploying, restoring = (QUICK_DEPLOYS, QUICK_RESTORES) if quick else (DEPLOYS, RESTORES)
    with _benches(work / "fleet") as (one, many):
        benches = {"1 host": one, f"{HOSTS} hosts": many}
        deploys = _in_turns(benches, deploying, lambda _: None, lambda b: b.cluster.deploy())
        for bench in benches.values():
            bench.fill()
        restores = _in_turns(
            benches, restoring, lambda b: b.change(), lambda b: b.cluster.restore()
        )
        assert all(bench.same() for bench in benches.values())
        for bench in benches.values():
            bench.cluster.destroy()
    single, several = benches
    return [
        ratio(name, (several, times[several]), (single, times[single]), target)
        for name, times, target in (
            (NAMES[0], deploys, DEPLOY_TARGET),
            (NAMES[1], restores, RESTORE_TARGET),
        )
    ]


def _in_turns(
    benches: dict[str, Bench],
    repeats: int,
    prepare: Callable[[Bench], object],
    work: Callable[[Bench], object],
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in benches}
    for number in range(1 + repeats):
        # Each comes first every other time; the first time opens the connections.
        for name in sorted(benches, reverse=bool(number % 2)):
            prepare(benches[name])
            began = time.monotonic()
            work(benches[name])
            if number:
                times[name].append(time.monotonic() - began)
    return times


@contextmanager
def _benches(folder: Path) -> Iterator[tuple[Bench, Bench]]:
    """A cluster on one host and one on several, each with a client's host of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    with ExitStack() as stack:
        namespaces = stack.enter_context(unused(folder))
        private, public = new_key()
        one = _bench(namespaces, private, public, 1, first=11)
        many = _bench(namespaces, private, public, HOSTS, first=21)
        for bench in (one, many):
            for executor in bench.executors.values():
                stack.callback(executor.close)
        yield one, many
    shutil.rmtree(folder, ignore_errors=True)


def _bench(namespaces: Namespaces, private: str, public: str, servers: int, first: int) -> Bench:
    network = namespaces.network.rsplit(".", 1)[0]
    roles = {f"kv-{number + 1}": SERVER for number in range(servers)} | {"client-1": ("client",)}
    hosts: list[FleetHost] = []
    inside: dict[str, NamespaceHost] = {}
    for number, (name, served) in enumerate(roles.items(), start=first):
        address = f"{network}.{number}"
        host = inside[name] = namespaces.add(address, public)
        host.run(f"mkdir -p {DATA} && chown {USER}: {DATA}")
        hosts.append(FleetHost(name, served, address, address, USER, host.host_key, DATA))
    bench = Bench(tuple(hosts), inside, private)
    standin.install(inside["client-1"])
    bench.executors["client-1"].put(KEY, private, private=True)
    return bench
