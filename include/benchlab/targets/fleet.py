"""What targets with a fleet share: hosts reached over SSH, and a cluster for each side on them.

Load balancer and client run on the client's host. No process keeps the fleet's state: what leads to
its hosts is in the campaign's directory on this machine (see :mod:`benchlab.targets.fleet_files`),
so that any task can resume.
"""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from benchlab import engines, targets, workloads
from benchlab.engines import builds, slowdown_job
from benchlab.engines.cluster import BaseCluster, Wanted
from benchlab.engines.database import Database
from benchlab.errors import UnavailableError
from benchlab.home import Home
from benchlab.hosts.executor import Executor
from benchlab.hosts.fleet import MIRRORS, ROLES, Fleet, FleetHost, on_all
from benchlab.hosts.lock import Holder, MachineLock
from benchlab.hosts.logins import AUTHORISE
from benchlab.hosts.ssh.executor import SSHExecutor
from benchlab.plan.fields.builds import Build
from benchlab.plan.report_type import Side
from benchlab.plan.topology import Ec2Topology, HostsTopology, Topology, mirror_of
from benchlab.targets import fleet_files
from benchlab.targets.haproxy import even_threads
from benchlab.targets.target import LOAD_THREADS, Balancer, BaseTarget, OnTopology, Say, Taken

# Program -> the Debian package that has it. On every host, beside coreutils, grep and sed: jobs,
# locks, keys, and what a host says of itself.
HOST_TOOLS = {"awk": "mawk", "find": "findutils", "flock": "util-linux", "setsid": "util-linux"}
CLIENT_TOOLS = HOST_TOOLS | {
    "sysbench": "sysbench",
    "haproxy": "haproxy",
    "mariadb": "mariadb-client",
    "curl": "curl",
    "ssh-keygen": "openssh-client",
    "prlimit": "util-linux",
}
# TiUP copies with scp, unpacks with tar, and asks ss which ports are open.
SERVER_TOOLS = HOST_TOOLS | {"scp": "openssh-client", "tar": "tar", "ss": "iproute2"}
STORAGE_TOOLS = {"rsync": "rsync"}

# TiUP's own installer puts it on the PATH of login shells only.
TIUP = '$(command -v tiup || echo "${TIUP_HOME:-$HOME/.tiup}/bin/tiup")'

# More would only queue up at the storage; a guess, as high as the highest in published commands.
MOST_LOAD_THREADS = 64


class FleetTarget(OnTopology, BaseTarget):
    """A fleet, for one campaign."""

    # What each kind does in its own way

    @abstractmethod
    def hosts(self, say: Say) -> Fleet:
        """The hosts, rented if need be; a repeated call finds those that are there."""

    @classmethod
    @abstractmethod
    def return_hosts(cls, taken: Taken) -> str:
        """Clean or end the hosts that the campaign's directory names; repeatable.

        Returns:
            What was given back, for people.

        Raises:
            TargetError: names what could not be given back.
        """

    def instance_type(self, host: FleetHost) -> str | None:
        """The instance type of a rented host; None for an owned one."""
        return None

    # What all share

    @classmethod
    def arrangements(cls, home: Home, topology: Any) -> list[str]:
        mirror, here = mirror_of(topology), os.environ.get(MIRRORS, "")
        if topology.tiup_mirror is not None:
            return [f"TiUP's mirror: {mirror}, as the topology says"]
        if here and mirror is None:
            why = (
                f"{MIRRORS} of this machine is not passed on, because it is not an http(s) address "
                "without a login"
            )
            return [f"TiUP's mirror: its default; {why}: write `tiup_mirror` into the topology"]
        return [f"TiUP's mirror: {mirror}, from {MIRRORS} of this machine"] if mirror else []

    @classmethod
    def give_back(cls, taken: Taken) -> str:
        if taken.ask_driver:
            fleet_files.end_driver(taken.state)
        said = cls.return_hosts(taken)
        fleet_files.forget(taken.state)
        return said

    def acquire(self, origin: str) -> Holder | None:
        """Keep a second process from driving this campaign; no other campaign uses its fleet."""
        self.state.mkdir(parents=True, exist_ok=True)
        self.hold(MachineLock(self.state / fleet_files.DRIVER_LOCK), origin)
        return None

    def provision(self, say: Say) -> None:
        self.keep(self.hosts(say))
        say(f"{len(self.fleet.hosts)} hosts: directories and programs")
        on_all(self.fleet.hosts, self._make_ready)
        self._let_client_log_in()

    @cached_property
    def fleet(self) -> Fleet:
        """The hosts; TargetError if there are none: not provisioned yet, or given back."""
        return fleet_files.read_fleet(self.state)

    @property
    def executor(self) -> Executor:
        """The client's host."""
        return self.executor_of(self.fleet.client)

    @property
    def directory(self) -> Path:
        """The campaign's directory on the client's host; each host has one below its ``data``."""
        return fleet_files.directory_on(self.fleet.client, self.campaign)

    @property
    def client_host(self) -> str:
        return self.fleet.client.name

    @property
    def client_alone(self) -> bool:
        return set(self.fleet.client.roles) == {"client"}

    def executor_of(self, host: FleetHost) -> Executor:
        """One host; its connection is opened on first use and shared."""
        if host.name not in self._executors:
            self._executors[host.name] = fleet_files.open_host(self.state, host)
        return self._executors[host.name]

    def executors(self) -> dict[str, Executor]:
        return {host.name: self.executor_of(host) for host in self.fleet.hosts}

    def interrupt(self) -> None:
        """End every process of the campaign on every host, except the servers."""
        if self.has_fleet():
            on_all(self.fleet.hosts, lambda host: self.executor_of(host).end_processes())

    def begin_deployment(self, number: int) -> None:
        """See :class:`DeploysClusters`: the sides may swap their ports."""
        if number == self._deployment():
            return
        self.clear()
        fleet_files.write(self.state / fleet_files.DEPLOYMENT_FILE, str(number))

    def clear(self) -> None:
        for side in self.sides:
            self._cluster(side).destroy()

    def _deployment(self) -> int:
        """The deployment that the hosts have, or are about to get."""
        file = self.state / fleet_files.DEPLOYMENT_FILE
        return int(file.read_text(encoding="ascii")) if file.exists() else 1

    def engine(self, side: Side) -> Database:
        return self._cluster(side)

    def _cluster(self, side: Side) -> BaseCluster:
        of = self.plan.sides[side]
        wanted = Wanted(
            side=side,
            of=of,
            package=lambda component: self._package(component, of.builds[component]),
            campaign=self.campaign,
            directory=self.directory,
            max_connections=self.most_threads + 50,
            port_set=self.plan.port_set(side, self._deployment()),
            database=workloads.workload_of(self.spec).DATABASE,
            level=self.spec.leaders == "level",
            slowdown_pct=self.plan.slowdown_of(side),
            password=self.home.password(self.campaign),
            logs=self.state / "server-logs",
        )
        cluster = engines.cluster_of(self.plan.engine)
        return cluster.on_fleet(self.fleet, self.executor_of, wanted)

    def _package(self, component: str, build: Build) -> Path:
        return builds.package(self.home, component, build)

    def balancer(self, side: Side) -> Balancer:
        port = self._cluster(side).instance.port
        backends = {host.name: f"{host.address}:{port}" for host in self.fleet.with_role("tidb")}
        threads = self._client_cores  # of a published plan, as its document has it
        if self.spec.published is None:
            threads = even_threads(threads, {trial.threads for trial in self.plan.trials})
        return self.haproxy(side, backends, threads)

    # How datasets are loaded

    @cached_property
    def load_threads(self) -> int:
        # A thread of a load waits for the servers most of the time.
        return max(LOAD_THREADS, min(2 * self._client_cores, MOST_LOAD_THREADS))

    def environment(self) -> dict[str, str]:
        engine = engines.by_name()[self.plan.engine]
        cluster = engines.cluster_of(self.plan.engine)
        facts = self.engine_facts(engine, cluster.caveat)
        facts["dataset"] = "load" if self.datasets is None else self.datasets.source()
        described = on_all(self.fleet.hosts, self._describe)
        for role in ROLES:
            if hosts := self.fleet.with_role(role):
                lines = sorted({described[host.name] for host in hosts})
                facts[f"{role}_hosts"] = f"{len(hosts)} x {' / '.join(lines)}"
        asked = {
            "sysbench": "sysbench --version",
            "haproxy": "haproxy -v",
            "tiup": f"{TIUP} --version",
            "tiup_mirror": f"{TIUP} mirror show",
        }
        if self.spec.load_balancer == "none":
            del asked["haproxy"]
        for tool, command in asked.items():
            said = self.executor.run(["sh", "-c", command], check=False).stdout.splitlines()
            if said:
                facts[tool] = said[0].strip()
        return facts

    def has_fleet(self) -> bool:
        """Whether there are hosts already."""
        return (self.state / fleet_files.FLEET_FILE).exists()

    def close(self) -> None:
        for executor in self._executors.values():
            if isinstance(executor, SSHExecutor):
                executor.close()
        self._executors.clear()
        vars(self).pop("fleet", None)

    @cached_property
    def named_topology(self) -> Topology:
        """The topology that the report type names, of the kind that the target needs."""
        found = targets.load_topology(self.home, self.spec)
        assert found is not None  # noqa: S101 - a fleet's report type names one, see campaign/fit
        return found

    @cached_property
    def _executors(self) -> dict[str, Executor]:
        return {}

    @cached_property
    def _client_cores(self) -> int:
        return int(self.executor.run(["nproc"]).stdout)

    def keep(self, fleet: Fleet) -> None:
        """Write the hosts to ``fleet.json``, for every process of the campaign."""
        mirror = mirror_of(cast(HostsTopology | Ec2Topology, self.named_topology))
        hosts = (
            replace(host, tiup_mirror=mirror) if "client" in host.roles else host
            for host in fleet.hosts
        )
        text = json.dumps(Fleet(tuple(hosts)).to_json(), indent=1)
        fleet_files.write(self.state / fleet_files.FLEET_FILE, text)
        vars(self).pop("fleet", None)

    def _make_ready(self, host: FleetHost) -> None:
        executor = self.executor_of(host)
        directory = fleet_files.directory_on(host, self.campaign)
        executor.run(["sudo", "-n", "install", "-d", "-o", host.user, str(directory)])
        wanted = (CLIENT_TOOLS if "client" in host.roles else {}) | (
            STORAGE_TOOLS if {"pd", "tikv"} & set(host.roles) else {}
        )
        wanted |= SERVER_TOOLS if {"pd", "tikv", "tidb"} & set(host.roles) else {}
        script = 'for tool; do command -v "$tool" >/dev/null || echo "$tool"; done'
        missing = executor.run(["sh", "-c", script, "sh", *wanted]).stdout.split()
        if missing:
            packages = " ".join(sorted({wanted[tool] for tool in missing}))
            raise UnavailableError(
                f"{executor.host}: missing: {', '.join(missing)}; on Debian: "
                f"`apt-get install {packages}`"
            )
        if self.plan.slowdown_pct and "tidb" in host.roles:
            slowdown_job.check_host(executor)

    def _let_client_log_in(self) -> None:
        """Make a key on the client's host, and let TiUP log in to every host with it."""
        key, mark = self.directory / "tiup_key", fleet_files.key_mark(self.state)
        make = 'test -f "$1" || ssh-keygen -q -t ed25519 -N "" -C "$2" -f "$1"'
        self.executor.run(["sh", "-c", make, "sh", str(key), mark])
        public = self.executor.run(["cat", f"{key}.pub"]).stdout.strip()
        on_all(
            self.fleet.hosts,
            lambda host: self.executor_of(host).run(["sh", "-c", AUTHORISE, "sh", public]),
        )

    def _describe(self, host: FleetHost) -> str:
        """One line on a host, the same for hosts that are alike."""
        script = (
            "model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1); "
            "memory=$(awk '/^MemTotal/ {printf \"%.1f\", $2 / 1048576}' /proc/meminfo); "
            '. /etc/os-release; printf "%s cores, %s GiB, %s, %s, kernel %s, data on %s" '
            '"$(nproc)" "$memory" "$model" "$PRETTY_NAME" "$(uname -r)" '
            '"$(df --output=fstype "$1" | tail -n 1)"'
        )
        executor = self.executor_of(host)
        kind = self.instance_type(host)
        line = executor.run(["sh", "-c", script, "sh", str(host.data)]).stdout.strip()
        return f"{kind}: {line}" if kind else line
