"""This machine: both sides deployed beside each other on loopback, one running at a time."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import socket
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import ClassVar

from benchlab import engines, workloads
from benchlab.engines.server import BaseEngine, Instance
from benchlab.errors import TargetError, UnavailableError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.executor import TAG as CAMPAIGN_TAG
from benchlab.hosts.executor import Executor, LocalExecutor, end_process, end_tagged
from benchlab.hosts.lock import LEASE_S, Holder, MachineLock
from benchlab.plan.plan import GIB, Plan
from benchlab.plan.report_type import SIDES, ReportSpec, Side
from benchlab.plan.topology import Topology
from benchlab.targets.dataset_snapshots import Source
from benchlab.targets.haproxy import HAProxy
from benchlab.targets.target import BaseTarget

HOST = "127.0.0.1"

# Program -> the package that has it, on Debian and Ubuntu.
TOOLS = {
    "sysbench": "sysbench",
    "haproxy": "haproxy",
    "rsync": "rsync",
    "mariadb": "mariadb-client",
    "curl": "curl",
    "unzip": "unzip",
    "setsid": "util-linux",
}


class Target:
    """This machine, for one campaign.

    Args:
        home: where state is kept.
        campaign: its id; the tag of every process.
        plan: what it will do.
        spec: its report type.
        access: not needed here.
    """

    name: ClassVar[str] = "local"
    #: Which kind of topology it needs.
    topology: ClassVar[str | None] = None
    #: Whether it costs money.
    rents: ClassVar[bool] = False
    #: Whether a trial's task can be set aside while the client runs.
    deferrable: ClassVar[bool] = False
    #: Whether it can slow the candidate down on purpose.
    slows_down: ClassVar[bool] = True

    def __init__(
        self, home: Home, campaign: str, plan: Plan, spec: ReportSpec, access: Access
    ) -> None:
        self.home, self.campaign, self.plan, self.ports = home, campaign, plan, spec.ports
        self.sides = spec.measured_sides
        self._database: str = workloads.workload_of(spec).DATABASE
        self.directory = home.campaign(campaign)
        self.executor: Executor = LocalExecutor(self.directory, campaign)
        self.lock = MachineLock()
        # The servers share this machine with the client, and whatever else runs on it.
        self.client_host = self.executor.host
        self.client_alone = self.dedicated = False
        self.client_program: str | None = None

    @classmethod
    def undecided(cls, spec: ReportSpec, topology: Topology) -> list[str]:
        """Nothing: this machine is as it is."""
        return []

    def preflight(self) -> None:
        """Refuse before anything starts: missing tools, busy ports, too little disk.

        Raises:
            UnavailableError, TargetError: names what is missing or busy, and what to do.
        """
        check_tools()
        self._check_ports()
        self._check_disk()

    def acquire(self, origin: str) -> Holder | None:
        """Take the machine's lock and end what a dead campaign left running on it.

        Called again by every stage and trial, it renews the lease.

        Returns:
            The dead campaign's entry, if there was one.

        Raises:
            LockHeldError: another campaign is at work.
        """
        # The process that drives the campaign to its end, where there is one: when it is gone,
        # the machine is free. Under a scheduler there is none, and the lease decides.
        driver = os.environ.get("BENCHLAB_DRIVER")
        displaced = self.lock.acquire(
            self.campaign,
            origin,
            self.home.root,
            int(driver) if driver else None,
            # No stage or trial is longer than twice the whole plan.
            LEASE_S + 2 * 60 * self.plan.minutes,
        )
        if displaced is not None:
            end_tagged(f"{CAMPAIGN_TAG}={displaced.campaign}")
            remove_data(Home(self.home.project, Path(displaced.home)), displaced.campaign)
        return displaced

    def provision(self, say: Callable[[str], None]) -> None:
        """Fetch the servers."""
        for side in self.sides:
            version = self.plan.sides[side].version
            say(f"{self.plan.engine} {version}")
            engines.install(self.plan.engine, version, self.home, self.executor)

    def dataset_source(self) -> Source:
        """Always loaded: on one machine that is quick."""
        return "load"

    def load_dataset(self, side: Side) -> None:
        """Never asked for."""
        raise TargetError(f"{side}: there are no dataset snapshots on one machine")

    def keep_dataset(self, side: Side, checksum: str | None) -> str | None:
        """Nothing to keep for the next campaign."""
        return None

    def interrupt(self) -> None:
        """End every process of the campaign."""
        self.executor.end_processes()

    def executors(self) -> dict[str, Executor]:
        """This machine."""
        return {self.executor.host: self.executor}

    def close(self) -> None:
        """Nothing: this machine needs no connection."""

    @classmethod
    def give_back(
        cls, home: Home, campaign: str, access: Access, *, ask_driver: bool = False
    ) -> str:
        """End a campaign of this machine, at work or left behind; repeatable, needs no store.

        Args:
            ask_driver: end the process that drives it first, so that it does not start anew what
                is ended here. Not from inside that process.

        Returns:
            What was given back, for people.
        """
        lock = MachineLock()
        holder = lock.holder()
        ended = 0
        if holder is not None and holder.campaign == campaign:
            home = Home(home.project, Path(holder.home))
            if ask_driver and holder.driver is not None and holder.left_behind() is None:
                ended += end_process(holder.driver)
        ended += end_tagged(f"{CAMPAIGN_TAG}={campaign}")
        remove_data(home, campaign)
        lock.release(campaign)
        return f"{ended} processes ended"

    def engine(self, side: Side) -> BaseEngine:
        """The server of one side."""
        instance = Instance(
            side=side,
            version=self.plan.sides[side].version,
            parameters=self.plan.sides[side].parameters,
            directory=self.directory / side,
            host=HOST,
            port=getattr(self.ports, side),
            status_port=self.ports.status,
            max_connections=self._most_threads() + 50,
            database=self._database,
            password=self.home.password(self.campaign),
            slowdown_pct=self.plan.slowdown_pct if side == "candidate" else 0.0,
        )
        return engines.by_name()[self.plan.engine](self.executor, instance, self.home.servers)

    def balancer(self, side: Side) -> HAProxy:
        """The load balancer in front of one side."""
        return HAProxy(
            executor=self.executor,
            directory=self.directory / side,
            host=HOST,
            entry_port=self.ports.entry,
            stats_port=self.ports.stats,
            backends={f"{side}1": f"{HOST}:{getattr(self.ports, side)}"},
            maxconn=self._most_threads() + 100,
            threads=os.cpu_count() or 1,
        )

    def environment(self) -> dict[str, str]:
        """Facts of the machine, for the report."""
        engine = engines.by_name()[self.plan.engine]
        facts = {
            "engine_title": engine.title,
            "ignored_errors": ",".join(map(str, engine.retryable_errors)),
            **({"engine_caveat": engine.caveat} if engine.caveat else {}),
            **machine(),
            "kernel": platform.release(),
            "os": _os_name(),
            "filesystem": _file_system(self.executor, self.home.root),
            "benchlab": metadata.version("benchlab"),
        }
        for tool in ("sysbench", "haproxy"):
            flag = "-v" if tool == "haproxy" else "--version"
            facts[tool] = self.executor.run([tool, flag]).stdout.splitlines()[0].strip()
        return facts

    def _most_threads(self) -> int:
        return max(trial.threads for trial in self.plan.trials)

    def _check_ports(self) -> None:
        ports = self.ports.model_dump()
        if not engines.by_name()[self.plan.engine].has_status_port:
            del ports["status"]
        for field, port in ports.items():
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((HOST, port))
                except OSError as error:
                    raise TargetError(
                        f"ports.{field}: port {port} on {HOST} is busy ({error.strerror}); see who "
                        f"listens with `ss -ltnp 'sport = :{port}'`, or choose another: "
                        f"--set ports.{field}=<port>"
                    ) from error

    def _check_disk(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        free_gib = shutil.disk_usage(self.directory).free / GIB
        if free_gib < self.plan.disk_gib:
            raise TargetError(
                f"{self.directory}: data and snapshots of both sides need about "
                f"{self.plan.disk_gib:.2f} GiB, {free_gib:.2f} GiB are free; free some, take a "
                "smaller dataset, or set BENCHLAB_HOME to a larger disk"
            )


def check_tools() -> None:
    """All programs that a campaign on this machine needs.

    Raises:
        UnavailableError: names every missing one and the package that has it.
    """
    missing = {tool: package for tool, package in TOOLS.items() if shutil.which(tool) is None}
    if missing:
        raise UnavailableError(
            f"missing on this machine: {', '.join(missing)}; run `make setup`, or "
            f"`apt-get install {' '.join(sorted(set(missing.values())))}`"
        )


def remove_data(home: Home, campaign: str) -> None:
    """Remove a campaign's data, snapshots and password; logs and progress stay."""
    directory = home.campaign(campaign)
    for side in SIDES:
        for part in ("data", "snapshot"):
            shutil.rmtree(directory / side / part, ignore_errors=True)
        (directory / side / "client.cnf").unlink(missing_ok=True)
    for name in ("password", "workload.cnf"):
        (directory / name).unlink(missing_ok=True)


def machine() -> dict[str, str]:
    """What of this machine decides how fast it is: ``cpu``, ``cores``, ``memory`` (GiB)."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    return {
        "cpu": _cpu_model(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.1f} GiB",
    }


def _cpu_model() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def _os_name() -> str:
    with contextlib.suppress(OSError):
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    return platform.system()


def _file_system(executor: Executor, directory: Path) -> str:
    directory.mkdir(parents=True, exist_ok=True)
    return executor.run(["stat", "-f", "-c", "%T", str(directory)]).stdout.strip()


_checked: type[BaseTarget] = Target
