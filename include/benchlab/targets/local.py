"""The target ``local``: both sides on this machine's loopback address, one running at a time."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import socket
from collections.abc import Iterable
from pathlib import Path

from benchlab import engines, workloads
from benchlab.engines import builds
from benchlab.engines.server import BaseEngine, Instance
from benchlab.errors import TargetError, UnavailableError, meaning_of
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.report_type import Side
from benchlab.plan.steps import GIB
from benchlab.targets.target import Balancer, Say
from benchlab.targets.this_machine import OnThisMachine

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
    "prlimit": "util-linux",
}


class Target(OnThisMachine):
    """This machine, for one campaign; AWS and SSH keys are not needed."""

    name = "local"
    place = "this machine"
    can = Capabilities(shares_machine=True, slows_down=True, deferrable=False)

    def preflight(self) -> None:
        """See :class:`BaseTarget`: tools, ports and disk."""
        check_tools()
        self._check_ports()
        self._check_disk()

    def provision(self, say: Say) -> None:
        for side in self.sides:
            of, engine = self.plan.sides[side], engines.by_name()[self.plan.engine]
            say(f"{self.plan.engine} {of.label}")
            if gone := builds.why_not_deployable(self.home, of):
                raise UnavailableError(gone)
            if (kept := self._kept(of)) is not None:
                engine.install_build(self.executor, kept)
            else:
                engines.install(self.plan.engine, of.version, self.home, self.executor)

    def interrupt(self) -> None:
        super().interrupt()
        for side in self.sides:
            self.engine(side).stop()  # else its server would count as one that ended by itself

    def engine(self, side: Side) -> BaseEngine:
        of = self.plan.sides[side]
        instance = Instance(
            side=side,
            version=of.version,
            parameters=of.parameters,
            directory=self.directory / side,
            host=HOST,
            port=self.spec.ports.server,
            status_port=self.spec.ports.status,
            max_connections=self.most_threads + 50,
            database=workloads.workload_of(self.spec).DATABASE,
            password=self.home.password(self.campaign),
            slowdown_pct=self.plan.slowdown_of(side),
            hashes={component: build.expected for component, build in of.builds.items()},
            build=self._kept(of),
        )
        return engines.by_name()[self.plan.engine](self.executor, instance, self.home.servers)

    def balancer(self, side: Side) -> Balancer:
        # One thread: more would compete with client and server for the same few cores.
        return self.haproxy(side, {f"{side}1": f"{HOST}:{self.spec.ports.server}"}, 1)

    def environment(self) -> dict[str, str]:
        engine = engines.by_name()[self.plan.engine]
        self.home.root.mkdir(parents=True, exist_ok=True)
        shown = self.executor.run(["df", "--output=fstype", str(self.home.root)]).stdout
        file_system = shown.split()[-1]
        facts = self.engine_facts(engine, engine.caveat) | {
            **system(),
            "filesystem": file_system.strip(),
        }
        tools = {"sysbench": "--version"}
        if self.spec.haproxy is not None:
            tools["haproxy"] = "-v"
        for tool, flag in tools.items():
            facts[tool] = self.executor.run([tool, flag]).stdout.splitlines()[0].strip()
        return facts

    def _kept(self, of: SideSpec) -> Path | None:
        """The directory of a side's build; None if its version's own server is deployed."""
        return next((builds.files(self.home, build) for build in of.builds.values()), None)

    def _check_ports(self) -> None:
        ports = self.spec.ports.model_dump()
        if not engines.by_name()[self.plan.engine].has_status_port:
            del ports["status"]
        if self.spec.load_balancer == "none":
            del ports["entry"], ports["stats"]
        for field, port in ports.items():
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((HOST, port))
                except OSError as error:
                    raise TargetError(
                        f"ports.{field}: port {port} on {HOST} is busy ({meaning_of(error)}); "
                        f"see who listens with `ss -ltnp 'sport = :{port}'`, or choose another: "
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


def check_tools(needed: Iterable[str] = tuple(TOOLS)) -> None:
    """Check that all programs that a campaign on this machine needs are installed.

    Raises:
        UnavailableError: names every missing one and the package that has it.
    """
    missing = {tool: TOOLS[tool] for tool in needed if shutil.which(tool) is None}
    if missing:
        raise UnavailableError(
            f"missing on this machine: {', '.join(missing)}; run `make setup`, or "
            f"`apt-get install {' '.join(sorted(set(missing.values())))}`"
        )


def machine() -> dict[str, str]:
    """What decides how fast this machine is: ``cpu``, ``cores``, ``memory`` (in GiB)."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    return {
        "cpu": _cpu_model(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.1f} GiB",
    }


def system() -> dict[str, str]:
    """:func:`machine`, with its ``kernel`` and ``os``."""
    return {**machine(), "kernel": platform.release(), "os": _os_name()}


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
