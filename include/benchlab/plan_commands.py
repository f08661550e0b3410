"""Every command that a campaign would run, in order, each once; nothing is started.

The texts come from what makes the commands of a campaign: the workloads, the load balancer and the
engine. What is only known later stands in angle brackets: ``<tidb-1>`` is the address of that
host, ``<password>`` the campaign's.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from types import ModuleType

from benchlab import catalog, slowdown
from benchlab.campaign import MAX_LOAD_THREADS
from benchlab.command import Command, shell
from benchlab.database import OPEN_USER, USER, open_account_statements
from benchlab.ec2.user_data import DATA
from benchlab.engine import BaseEngine, Instance
from benchlab.fleet import Fleet, FleetHost
from benchlab.home import Home
from benchlab.loadbalancer.haproxy import MAX_THREADS, HAProxy
from benchlab.plan import Plan
from benchlab.rehearsal import Rehearsal
from benchlab.spec import ReportSpec, Side
from benchlab.topology import CloudTopology, Ec2Topology, HostsTopology
from benchlab.workloads.client import Endpoint, program_of

DIRECTORY = PurePosixPath("benchlab/<campaign>")
ENTRY = "127.0.0.1"
CLOUD_ENTRY = ("<private-endpoint>", 4000)
CLOUD_CLIENT = "<client>"
PACKAGE = Path(__file__).parent
PASSWORD = "<password>"
# Room beside the client's connections, in the load balancer and in a server.
SPARE_CONNECTIONS = 100
SPARE_SESSIONS = 50


def of(home: Home, spec: ReportSpec, plan: Plan) -> tuple[Command, ...]:
    """The commands of a campaign in order; of equal ones on equal hosts only the first.

    Raises:
        SpecError: the topology does not validate.
    """
    topology = catalog.load_topology(home, spec)
    match topology:
        case CloudTopology():
            made = _cloud(spec, plan)
        case None:
            made = _local(home, spec, plan)
        case _:
            made = _fleet(spec, plan, fleet_of(topology))
    return tuple(dict.fromkeys(made))


def render(commands: Iterable[Command]) -> str:
    """As text: a heading a stage and host, then the commands."""
    lines: list[str] = []
    heading = ""
    for command in commands:
        now = f"{command.stage}, on {command.host}"
        if now != heading:
            lines += ["", f"## {now}"]
            heading = now
        lines += [f"# {command.purpose}", command.text.rstrip("\n")]
    return "\n".join(lines).lstrip("\n") + "\n"


def haproxy_config(spec: ReportSpec, plan: Plan, fleet: Fleet, port: int) -> str:
    """HAProxy's configuration in front of one side's servers."""
    balancer = HAProxy(
        executor=Rehearsal(),
        directory=Path(),
        host=ENTRY,
        entry_port=spec.ports.entry,
        stats_port=spec.ports.stats,
        backends={host.name: f"{host.address}:{port}" for host in fleet.of("tidb")},
        maxconn=max(trial.threads for trial in plan.trials) + SPARE_CONNECTIONS,
        threads=next((host.vcpu for host in plan.hosts if host.role == "client"), None)
        or MAX_THREADS,
    )
    return balancer.render()


def fleet_of(topology: Ec2Topology | HostsTopology) -> Fleet:
    """The fleet of a topology; addresses of rented hosts are their names in angle brackets."""
    if isinstance(topology, HostsTopology):
        return topology.fleet()
    return Fleet(
        tuple(
            FleetHost(
                name=name,
                roles=(role,),
                address=f"<{name}>",
                ssh_address=f"<{name}>",
                user=topology.user,
                host_key="",
                data=DATA,
            )
            for name, role, _ in topology.host_types()
        )
    )


def _fleet(spec: ReportSpec, plan: Plan, fleet: Fleet) -> Iterator[Command]:
    module = importlib.import_module(f"benchlab.engines.{plan.engine}.commands")
    clusters = {
        side: module.ClusterCommands(fleet, side, plan.sides[side], DIRECTORY)
        for side in plan.sides
    }
    client = _Client(
        spec,
        plan,
        directory=str(fleet.client.data / DIRECTORY),
        entry=(ENTRY, spec.ports.entry),
        address=fleet.client.address,
    )
    yield from client.install()
    for side, cluster in clusters.items():
        yield from cluster.deploy()
        directory = f"{fleet.client.data / DIRECTORY / side}"
        yield from _balancer(side, directory, haproxy_config(spec, plan, fleet, cluster.port))
        yield from client.create()
        yield from client.load()
        if spec.snapshots is not None:
            yield cluster.seed(f"{spec.snapshots}/<dataset>", client.database)
        yield from client.analyze()
        if spec.snapshots is not None:
            yield cluster.keep(f"{spec.snapshots}/<dataset>", client.database)
        yield from client.check(f"{side}, after the load")
        if spec.restore != "never":
            yield from cluster.back_up()
    for trial in plan.trials:
        if trial.restore:
            yield from clusters[trial.side].restore()
        yield from client.measure(trial.workload, trial.threads)
    for side in clusters:
        yield from client.check(f"{side}, after its last trial")
    for cluster in clusters.values():
        yield from cluster.release()


def _cloud(spec: ReportSpec, plan: Plan) -> Iterator[Command]:
    client = _Client(
        spec, plan, directory=str(DATA / DIRECTORY), entry=CLOUD_ENTRY, address=CLOUD_CLIENT
    )
    yield from client.install()
    yield from client.create()
    yield from client.load()
    yield from client.analyze()
    for workload, components in spec.engines[plan.engine].by_workload.items():
        for component, items in components.items():
            wanted = ", ".join(f"{key} = {str(value).lower()}" for key, value in items.items())
            yield Command(
                "measure", "TiDB Cloud's support", f"{component}, before {workload}", wanted
            )
    for trial in plan.trials:
        yield from client.measure(trial.workload, trial.threads)


def _local(home: Home, spec: ReportSpec, plan: Plan) -> Iterator[Command]:
    directory = Path("<campaign>")
    client = _Client(
        spec, plan, directory=str(directory), entry=(ENTRY, spec.ports.entry), address=ENTRY
    )
    yield from client.install()
    threads = max(trial.threads for trial in plan.trials)
    rehearsal = Rehearsal()
    engines: dict[Side, BaseEngine] = {}
    for side, of_side in plan.sides.items():
        port: int = getattr(spec.ports, side)
        engines[side] = engine = catalog.engines()[plan.engine](
            rehearsal,
            Instance(
                side=side,
                version=of_side.version,
                parameters=of_side.parameters,
                directory=directory / side,
                host=ENTRY,
                port=port,
                status_port=spec.ports.status,
                max_connections=threads + SPARE_SESSIONS,
                database=client.database,
                password=PASSWORD,
            ),
            home.servers,
        )
        yield from rehearsal.of("deploy", engine.deploy)
        config = HAProxy(
            executor=rehearsal,
            directory=directory / side,
            host=ENTRY,
            entry_port=spec.ports.entry,
            stats_port=spec.ports.stats,
            backends={f"{side}1": f"{ENTRY}:{port}"},
            maxconn=threads + SPARE_CONNECTIONS,
            threads=os.cpu_count() or 1,
        ).render()
        yield from _balancer(side, str(directory / side), config, "this machine")
        yield from client.create()
        yield from client.load()
        yield from client.analyze()
        yield from client.check(f"{side}, after the load")
        yield from rehearsal.of("back up", engine.backup)
    for trial in plan.trials:
        if trial.restore:
            yield from rehearsal.of("measure", engines[trial.side].restore)
        yield from rehearsal.of("measure", engines[trial.side].start)
        if plan.slowdown_pct and trial.side == "candidate":
            words = slowdown.command(engines["candidate"].job, plan.slowdown_pct)
            yield Command(
                "measure", "this machine", "slow it down, in the background", shell(words)
            )
        yield from client.measure(trial.workload, trial.threads)
    for side in engines:
        yield from client.check(f"{side}, after its last trial")


def _balancer(side: Side, directory: str, config: str, host: str = "client") -> Iterator[Command]:
    yield Command("deploy", host, f"haproxy.cfg of the {side}", config)
    file = f"{directory}/haproxy.cfg"
    yield Command("deploy", host, "check it", shell(["haproxy", "-c", "-f", file]))
    yield Command("load", host, "balance the load", shell(["haproxy", "-db", "-f", file]))


class _Client:
    """What runs the workloads, on the client's host.

    Args:
        directory: the campaign's, on that host.
        entry: host and port to which it connects.
        address: from which the servers see it, or the load balancer before it, connect.
    """

    def __init__(
        self, spec: ReportSpec, plan: Plan, *, directory: str, entry: tuple[str, int], address: str
    ) -> None:
        self._spec, self._plan, self._address = spec, plan, address
        self._module: ModuleType = catalog.workloads()[spec.workloads[0]]
        self.database: str = self._module.DATABASE
        # On hosts that are not there yet it is the program that the workload prefers.
        self._program = program_of(spec.client.program, self._module.PROGRAMS)
        user = USER if self._program.takes_password else OPEN_USER
        self._endpoint = Endpoint(*entry, user, "", self.database)
        self._directory = directory
        self._config = f"{directory}/workload.cnf"
        self._host = "this machine" if plan.topology is None else "client"
        self._ignored = catalog.engines()[plan.engine].retryable_errors

    def install(self) -> Iterator[Command]:
        """What the program needs beside its option file; nothing where it needs nothing."""
        for name, file in self._program.files.items():
            source = f"<benchlab>/{file.relative_to(PACKAGE)}"
            text = shell(["cp", source, f"{self._directory}/{name}"])
            yield Command("provision", self._host, f"put {name} beside the option file", text)

    def create(self) -> Iterator[Command]:
        """The empty schema, and the account without a password where the client takes none."""
        sql = f"DROP DATABASE IF EXISTS {self.database}; CREATE DATABASE {self.database};"
        yield Command("load", self._host, "SQL", sql)
        if self._endpoint.user == OPEN_USER:
            statements = open_account_statements(self.database, self._address)
            sql = "\n".join(f"{statement};" for statement in statements)
            yield Command("load", self._host, "SQL, an account without a password", sql)

    def load(self) -> Iterator[Command]:
        words = self._module.prepare_command(
            self._endpoint,
            self._config,
            self._spec.dataset,
            threads=MAX_LOAD_THREADS,
            client=self._spec.client,
        )
        yield Command("load", self._host, f"load {self._spec.dataset}", shell(words))

    def analyze(self) -> Iterator[Command]:
        tables = self._module.tables(self._spec.dataset)
        sql = "\n".join(f"ANALYZE TABLE {self.database}.{table};" for table in tables)
        yield Command("analyze", self._host, "SQL", sql)

    def check(self, when: str) -> Iterator[Command]:
        """Whether the dataset is consistent; nothing where the workload has no conditions."""
        if (consistency := getattr(self._module, "CONSISTENCY", None)) is not None:
            statements = consistency.statements(self._spec.dataset)
            sql = "\n".join(f"{statement};" for statement in statements)
            yield Command("check", self._host, f"SQL in {self.database} of the {when}", sql)

    def measure(self, workload: str, threads: int) -> Iterator[Command]:
        title = f"{workload.removeprefix('oltp_')}, {threads} threads"
        seconds = {"warm up": self._spec.warmup_seconds, "run": self._spec.seconds}
        for what, length in seconds.items():
            if not length:
                continue
            words = self._module.run_command(
                workload,
                self._endpoint,
                self._config,
                self._spec.dataset,
                threads=threads,
                seconds=length,
                client=self._spec.client,
                ignore_errors=self._ignored,
            )
            yield Command("measure", self._host, f"{what} {title}", shell(words))
