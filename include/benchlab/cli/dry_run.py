"""What ``benchlab plan --commands`` prints: the commands of a campaign, in order, each once.

The target, the databases and the load balancers are those of a campaign; their hosts only keep what
they are asked to run. What is only known later stands in angle brackets: ``<tidb-1>`` is the
address of that host, ``<password>`` the campaign's. Left out are the questions that a campaign asks
its hosts and servers, how rented hosts are made ready, and what ends a campaign.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from benchlab import engines, targets, workloads
from benchlab.campaign.stages import MAX_LOAD_THREADS
from benchlab.engines import slowdown
from benchlab.engines.cluster import Act, BaseCluster
from benchlab.engines.database import OPEN_USER, USER, Database
from benchlab.engines.server import BaseEngine, Instance
from benchlab.errors import EngineError, UnavailableError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.fleet import Fleet, FleetHost
from benchlab.hosts.rehearsal import Command, Rehearsal, shell
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.topology import CloudTopology, Ec2Topology, HostsTopology
from benchlab.targets import haproxy, local
from benchlab.targets.ec2.user_data import DATA
from benchlab.targets.fleet import FleetTarget
from benchlab.targets.haproxy import HAProxy
from benchlab.targets.target import BaseTarget
from benchlab.workloads.client import Endpoint, program_of

PACKAGE = Path(__file__).parents[1]
CAMPAIGN = "<campaign>"
PASSWORD = "<password>"
_LEFT_OUT = (
    "# Not listed: questions to hosts and servers, how hosts are made ready, how a campaign ends."
)


def commands_of(home: Home, spec: ReportSpec, plan: Plan) -> tuple[Command, ...]:
    """The commands of a campaign in order; of equal ones on equal hosts only the first.

    Raises:
        SpecError: the topology does not validate.
    """
    rehearsal = _Campaign(_Placeholders(home.project, home.root), spec, plan)
    topology = targets.load_topology(home, spec)
    if isinstance(topology, CloudTopology):
        rehearsal.on_cloud()
    else:
        rehearsal.on_target(None if topology is None else fleet_of(topology))
    return tuple(rehearsal.commands)


def render(commands: Iterable[Command]) -> str:
    """As text: a heading a stage and host, then the commands."""
    lines: list[str] = [_LEFT_OUT]
    heading = purpose = ""
    for command in commands:
        now = f"{command.stage}, on {command.host}"
        if now != heading:
            lines += ["", f"## {now}"]
            heading, purpose = now, ""
        if command.purpose and command.purpose != purpose:
            lines.append(f"# {command.purpose}")
        purpose = command.purpose
        lines.append(command.text.rstrip("\n"))
    return "\n".join(lines) + "\n"


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


class _Placeholders(Home):
    """An installation in which nothing is written for a campaign."""

    def campaign(self, campaign: str) -> Path:
        return Path(campaign)

    def password(self, campaign: str) -> str:
        return PASSWORD


class _Campaign:
    """A campaign whose hosts keep the commands in the order in which they are asked for.

    Attributes:
        commands: as the keys, in order.
    """

    def __init__(self, home: Home, spec: ReportSpec, plan: Plan) -> None:
        self._home, self._spec, self._plan = home, spec, plan
        self.commands: dict[Command, None] = {}
        self._stage = ""
        self._workload = workloads.workload_of(spec)
        # On hosts that are not there yet it is the program that the workload prefers.
        self._program = program_of(spec.client.program, self._workload.PROGRAMS)
        self._ignored = engines.by_name()[plan.engine].retryable_errors

    def on_target(self, fleet: Fleet | None) -> None:
        """On hosts; None: on this machine."""
        target = self._target(fleet)
        directory = str(target.directory)
        self._begin("provision", target.executor.host)
        self._install(directory)
        for side in target.sides:
            engine, balancer = target.engine(side), target.balancer(side)
            endpoint = self._endpoint(balancer.host, balancer.entry_port)
            self._begin("deploy", target.executor.host)
            self._act(engine, "deploy")
            balancer.configure()
            self._stage = "load"
            self._load(engine, endpoint, directory, balancer)
            self._keep_dataset(engine, "restore")
            self._stage = "analyze"
            engine.analyze(list(self._workload.tables(self._spec.dataset)))
            self._keep_dataset(engine, "backup")
            self._check(engine, f"{side}, after the load")
            self._stage = "back up"
            self._act(engine, "backup")
        self._stage = "measure"
        for trial in self._plan.trials:
            engine = target.engine(trial.side)
            if trial.restore:
                self._act(engine, "restore")
            self._act(engine, "start_for_trial")
            self._measure(endpoint, directory, trial.workload, trial.threads)
        for side in target.sides:
            self._check(target.engine(side), f"{side}, after its last trial")

    def on_cloud(self) -> None:
        """On a cluster of TiDB Cloud, where only the client is Benchlab's."""
        directory = str(DATA / "benchlab" / CAMPAIGN)
        instance = Instance(
            side="candidate",
            version="",
            parameters={},
            directory=Path(directory),
            host="<private-endpoint>",
            port=4000,
            status_port=0,
            max_connections=0,
            database=self._workload.DATABASE,
            password=PASSWORD,
        )
        host = self._rehearsal("client", "<client>")
        engine = engines.by_name()[self._plan.engine](host, instance, self._home.servers)
        endpoint = self._endpoint(instance.host, instance.port)
        self._begin("provision", "client")
        self._install(directory)
        self._stage = "load"
        self._load(engine, endpoint, directory)
        self._stage = "analyze"
        engine.analyze(list(self._workload.tables(self._spec.dataset)))
        self._stage = "measure"
        for workload, components in self._spec.engines[self._plan.engine].by_workload.items():
            for component, items in components.items():
                wanted = ", ".join(f"{key} = {str(value).lower()}" for key, value in items.items())
                self._keep("TiDB Cloud's support", f"{component}, before {workload}", wanted)
        for trial in self._plan.trials:
            self._measure(endpoint, directory, trial.workload, trial.threads)

    def _target(self, fleet: Fleet | None) -> BaseTarget:
        target = targets.by_name()[self._spec.target](
            self._home, CAMPAIGN, self._plan, self._spec, Access()
        )
        if isinstance(target, local.Target):
            target.executor = self._rehearsal("this machine", local.HOST)
        elif isinstance(target, FleetTarget) and fleet is not None:
            client = fleet.client.address
            target.rehearse_on(
                fleet, {host.name: self._rehearsal(_called(host), client) for host in fleet.hosts}
            )
        return target

    def _rehearsal(self, name: str, client: str) -> Rehearsal:
        cores = next((host.vcpu for host in self._plan.hosts if host.role == "client"), None)
        answers = {
            "nproc": str(cores or haproxy.MAX_THREADS),
            "id -u": str(os.geteuid()),
            "command -v tiup": "tiup",
            "SUBSTRING_INDEX(USER()": client,
            "SELECT 1": "1",
        }
        if self._plan.topology is not None:
            answers[".reflink-probe"] = ""  # rented hosts have XFS, where copies share blocks
        return Rehearsal(name, self._keep, answers, job_output=slowdown.AT_WORK)

    def _begin(self, stage: str, host: str) -> None:
        self._stage, self._host = stage, host

    def _keep(self, host: str, purpose: str, text: str) -> None:
        self.commands.setdefault(Command(self._stage, host, purpose, text))

    def _act(self, engine: Database, act: Act) -> None:
        if isinstance(engine, BaseCluster):
            engine.rehearse(act)
        elif isinstance(engine, BaseEngine):
            try:
                getattr(engine, act)()
            except (EngineError, UnavailableError) as error:  # its server has not been fetched
                self._keep(self._host, "known once the server is here", f"# {error}")
                engine.executor.start_job(engine.job, ["<server>"])
                if act != "deploy":
                    self._act(engine, act)

    def _keep_dataset(self, engine: Database, action: str) -> None:
        """A dataset snapshot, where the report type has them: restored instead of a load."""
        version = engine.instance.version
        if self._spec.snapshots is None or not isinstance(engine, BaseCluster):
            return
        if engine.no_dataset_snapshots(version) is None:
            copy = engine.load_dataset if action == "restore" else engine.save_dataset
            copy(f"{self._spec.snapshots}/<dataset>", "<region>")

    def _endpoint(self, host: str, port: int) -> Endpoint:
        user = USER if self._program.takes_password else OPEN_USER
        return Endpoint(host, port, user, "", self._workload.DATABASE)

    def _install(self, directory: str) -> None:
        """What the program needs beside its option file; nothing where it needs nothing."""
        for name, file in self._program.files.items():
            source = f"<benchlab>/{file.relative_to(PACKAGE)}"
            text = shell(["cp", source, f"{directory}/{name}"])
            self._keep(self._host, f"put {name} beside the option file", text)

    def _load(
        self, engine: Database, endpoint: Endpoint, directory: str, balancer: HAProxy | None = None
    ) -> None:
        engine.create_database()
        if endpoint.user == OPEN_USER:
            engine.open_account()
        if balancer is not None:
            balancer.launch()
        words = self._workload.prepare_command(
            endpoint,
            f"{directory}/workload.cnf",
            self._spec.dataset,
            threads=MAX_LOAD_THREADS,
            client=self._spec.client,
        )
        self._keep(self._host, f"load {self._spec.dataset}", shell(words))

    def _check(self, engine: Database, when: str) -> None:
        """Whether the dataset is consistent; nothing where the workload has no conditions."""
        self._stage = "check"
        if (consistency := self._workload.CONSISTENCY) is not None:
            statements = consistency.statements(self._spec.dataset)
            sql = "\n".join(f"{statement};" for statement in statements)
            self._keep(self._host, f"SQL in {engine.instance.database} of the {when}", sql)

    def _measure(self, endpoint: Endpoint, directory: str, workload: str, threads: int) -> None:
        title = f"{workload.removeprefix('oltp_')}, {threads} threads"
        for what, seconds in (("warm up", self._spec.warmup_seconds), ("run", self._spec.seconds)):
            if not seconds:
                continue
            words = self._workload.run_command(
                workload,
                endpoint,
                f"{directory}/workload.cnf",
                self._spec.dataset,
                threads=threads,
                seconds=seconds,
                client=self._spec.client,
                ignore_errors=self._ignored,
            )
            self._keep(self._host, f"{what} {title}", shell(words))


def _called(host: FleetHost) -> str:
    if "client" in host.roles:
        return "client"
    return "each storage host" if {"pd", "tikv"} & set(host.roles) else "each SQL host"
