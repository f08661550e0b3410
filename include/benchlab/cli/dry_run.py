"""Lists the commands of a campaign, in order, each once, for ``benchlab plan --commands``.

The stages are those of a real campaign (:mod:`benchlab.campaign.stages`), but its hosts only record
the commands, and its servers give the expected answers. Values that are unknown yet are in angle
brackets: ``<tidb-1>`` is that host's address, ``<password>`` the campaign's password.

Example:
    ``print(render(commands_of(home, spec, plan)))``
"""

from __future__ import annotations

import functools
import itertools
import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, get_args

from upath import UPath

from benchlab import targets
from benchlab.campaign import trial
from benchlab.campaign.deployment import TrialSetup
from benchlab.campaign.stages import CampaignRun
from benchlab.campaign.state import RunState
from benchlab.engines import slowdown
from benchlab.engines.cluster import Act, BaseCluster
from benchlab.engines.database import Database
from benchlab.errors import EngineError, UnavailableError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.counters import counters_job
from benchlab.hosts.executor import Completed, JobStatus
from benchlab.hosts.fleet import Fleet, FleetHost
from benchlab.hosts.metrics import sampler_job
from benchlab.hosts.server_login import ServerLogin, Tls
from benchlab.language import Said
from benchlab.plan.fields.engines import Components
from benchlab.plan.fields.load_balancer import MAX_THREADS
from benchlab.plan.open_loop import rate_of
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import ReportSpec, Side
from benchlab.plan.topology import CloudTopology, HostsTopology, Topology
from benchlab.results.records import Campaign, SideFacts
from benchlab.results.store import Store
from benchlab.targets import local
from benchlab.targets.ec2.user_data import DATA
from benchlab.workloads.client import Endpoint

CAMPAIGN = "<campaign>"
PASSWORD = "<password>"
CLOUD = FleetHost("tidb-cloud", ("tidb",), "<endpoint>", "", "", "", DATA)
Show = Callable[[str, str, str], None]
_LEFT_OUT = (
    "# Not listed: questions to hosts and servers, how hosts and clients are made ready, dataset\n"
    "# snapshots, what samples hosts and reads counters, how a campaign ends."
)


def commands_of(home: Home, spec: ReportSpec, plan: Plan) -> tuple[Command, ...]:
    """The commands of a campaign in order; a command that a stage repeats is listed once.

    Raises:
        SpecError: the topology does not validate.
    """
    topology = targets.load_topology(home, spec)
    with tempfile.TemporaryDirectory() as scratch:
        here = _Placeholders(home.project, home.root, Path(scratch))
        with Store("sqlite://", UPath(scratch)) as store:
            rehearsed = _Rehearsed(here, store, spec, plan, topology)
            if isinstance(topology, CloudTopology):
                rehearsed.on_cloud()
            elif spec.connections:
                rehearsed.on_servers_of_others()
            else:
                rehearsed.all_stages()
            return tuple(rehearsed.commands)


def render(commands: Iterable[Command]) -> str:
    """The commands as text, under a heading for each stage and host."""
    lines = [_LEFT_OUT]
    for (stage, host), there in itertools.groupby(commands, attrgetter("stage", "host")):
        lines += ["", f"## {stage}, on {host}"]
        for purpose, alike in itertools.groupby(there, attrgetter("purpose")):
            lines += [f"# {purpose}"] if purpose else []
            lines += [command.text.rstrip("\n") for command in alike]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Placeholders(Home):
    """An installation whose campaigns write only to a temporary directory."""

    scratch: Path

    def campaign(self, campaign: str) -> Path:
        return self.scratch / campaign

    def password(self, campaign: str) -> str:
        return PASSWORD


class _Rehearsed(CampaignRun):
    """A campaign whose hosts record their commands instead of running them.

    Attributes:
        commands: the commands in order, as keys.
    """

    def __init__(
        self, home: Home, store: Store, spec: ReportSpec, plan: Plan, topology: Topology | None
    ) -> None:
        cloud = isinstance(topology, CloudTopology)
        # Without dataset snapshots, which would be looked up on S3. For TiDB Cloud, the target of
        # owned hosts stands in: its client is reached in the same way.
        spec = spec.model_copy(
            update={"snapshots": None, "target": "hosts" if cloud else spec.target}
        )
        now = datetime.now(UTC)
        path = {"client_path": "<built sysbench>"} if spec.client.archive else {}
        record = Campaign(CAMPAIGN, plan, spec, "", "", "running", now, None, path, {})
        store.add_campaign(record)
        super().__init__(home, store, record, Access(server=_login))
        self.commands: dict[Command, None] = {}
        self._stage, self._scratch = "", f"{self.directory.parent}/"
        cores = next((host.vcpu for host in plan.hosts if host.role == "client"), None)
        fixed = spec.haproxy is not None and spec.haproxy.nbthread is not None
        self._cores = MAX_THREADS if topology is None or fixed else cores
        tables = spec.dataset.rows_by_table
        self._rows = {table: rows or 0 for table, rows in tables.items()}
        self.directory.mkdir()
        self.state.write(RunState("provisioned"), "end provision")
        if topology is None:
            names = [f"{side}1" for side in plan.sides]
            here = self._host("this machine", local.HOST, names)
            vars(self.target)["executor"] = here
        else:
            fleet = _fleet(topology)
            names = [host.name for host in fleet.with_role("tidb")]
            client = fleet.client.address
            hosts = {h.name: self._host(_called(h), client, names) for h in fleet.hosts}
            vars(self.target).update(fleet=fleet, _executors=hosts)
        vars(self.deployments)["_at_once"] = _one_by_one
        # Set on the instance, so that the target's class needs no code for it.
        vars(self.target)["acquire"] = lambda origin: None
        vars(self.target)["_package"] = lambda component, _: Path(f"<{component}.tar.gz>")
        deployed, given = self.target.engine, dict[Side, Components]()

        def silent(side: Side) -> _Silent:
            database = deployed(side)
            vars(database)["query"] = self._ask
            return _Silent(database, self._rows, self._keep, given)

        vars(self.target)["engine"] = silent

    def note(self, stage: str, phase: str, note: Said = "") -> None:
        """Record further commands under this stage, without its side."""
        self._stage = phase.removesuffix(" baseline").removesuffix(" candidate")

    def all_stages(self) -> None:
        """Record all stages from the first deployment to the check after the last trial."""
        self.deployments.prepare()
        self._stage = "measure"
        setup = self.sequence.setup(self.plan.trials[0])
        cells = {(t.side, t.workload, t.threads, t.restore): t for t in self.plan.trials[::-1]}
        for planned in sorted(cells.values(), key=lambda planned: planned.index):
            trial.begin(
                _sent(setup, planned),
                planned,
                1,
                earlier=None,
                restore=planned.restore,
                check_dataset=False,
                repeated=False,
                on_new=_none,
                on_phase=_none,
            )
        for side in self.target.sides:
            for transition in ("try", "measure"):
                self.state.to(transition, side, trial="any", attempt=1)
        self.check_after_trials()

    def on_cloud(self) -> None:
        """Record the commands against a cluster of TiDB Cloud."""
        (side,) = self.target.sides
        balancer = replace(self.target.balancer(side), host=CLOUD.address, entry_port=4000)
        vars(self.target)["balancer"] = lambda side: balancer
        authority = self.target.directory / f"ca-{side}.pem"
        login = ("root", PASSWORD, self.workload.DATABASE, Tls(authority))
        to = Endpoint(CLOUD.address, 4000, *login)
        vars(self.target).update(endpoint=lambda side: to, changed=_none, check_client=_none)
        self.on_servers_of_others()

    def on_servers_of_others(self) -> None:
        """Record the commands of a campaign in which only the client is Benchlab's."""
        client = self.target.executor.host
        for side in self.target.sides:
            which = f" {side}" * (len(self.target.sides) > 1)
            self._stage = f"load{which}"
            engine = self.target.engine(side)
            engine.create_database()
            self._keep(client, "", shell(self.deployments.prepare_command(side)))
            self._stage = f"analyze{which}"
            engine.analyze(list(self._rows))
        self._stage = "measure"
        for workload, components in self.spec.engines[self.plan.engine].by_workload.items():
            for component, items in components.items():
                wanted = ", ".join(f"{key} = {str(value).lower()}" for key, value in items.items())
                self._keep("TiDB Cloud's support", f"{component}, before {workload}", wanted)
        setup = self.sequence.setup(self.plan.trials[0])
        for planned in self.plan.trials:
            command = trial.run_command(_sent(setup, planned), planned, planned.seconds)
            self._keep(client, "", shell(command))

    def _host(self, name: str, client: str, backends: Iterable[str]) -> Rehearsal:
        up = [f"sql,{backend},UP,L4OK,0" for backend in backends]
        answers = {
            "nproc": str(self._cores or MAX_THREADS),
            "id -u": str(os.geteuid()),
            "command -v tiup": "tiup",
            "SUBSTRING_INDEX(USER()": client,
            "SELECT 1": "1",
            "information_schema.schemata": "0",
            "/;csv": "\n".join(["# pxname,svname,status,check_status,stot", *up]),
        }
        if self.plan.topology is not None:
            answers[".reflink-probe"] = ""  # rented hosts have XFS, where copies share blocks
        return Rehearsal(name, self._keep, answers, job_output=slowdown.AT_WORK)

    def _keep(self, host: str, purpose: str, text: str) -> None:
        if self._cores is None:  # owned hosts report their cores only when a campaign runs
            text = re.sub(r"(?<=nbthread )\d+", f"<cores of client, at most {MAX_THREADS}>", text)
            if self._stage.startswith("load"):  # twice the cores, but 16 to 64
                text = re.sub(r"(?<=--threads=)(1[7-9]|[2-6]\d)\b", "<by cores of client>", text)
        purpose, text = purpose.replace(self._scratch, ""), text.replace(self._scratch, "")
        self.commands.setdefault(Command(self._stage, host, purpose, text))

    def _ask(self, statement: str) -> list[list[Any]]:
        """Record a query; answer that the dataset is as loaded and violates no condition."""
        host = self.target.executor.host
        # Ranges of warehouses are queried concurrently, in any order.
        text = re.sub(r"BETWEEN \S+ AND -?\d+", "BETWEEN <first> AND <last>", statement)
        self._keep(host, f"SQL in {self.workload.DATABASE}", f"{text};")
        table = re.fullmatch(r"SELECT COUNT\(\*\) FROM (\w+)", statement)
        return [[self._rows[table[1]] if table else 0]]


class _Silent:
    """A database without servers: it records its acts and gives the expected answers.

    Args:
        given: the configuration items of each side's components, as last set.
    """

    def __init__(
        self,
        database: Database,
        rows: dict[str, int],
        show: Show,
        given: dict[Side, Components],
    ) -> None:
        self._database, self._rows, self._show, self._given = database, rows, show, given
        self._side = database.instance.side
        self._items: Components = getattr(database.instance, "components", {})
        vars(database)["tables_at_once"] = 1  # recorded in a fixed order
        version = database.instance.version
        self._answers = {
            "version": version,
            "facts": SideFacts(version, None, {}),
            "checksum": "",
            "row_counts": rows,
            "variables": {},
            "ineffective": {},
            "misfits": [],
            "running": False,
            "configured": given.setdefault(self._side, self._items) == self._items,
            "background_jobs": None,
            "regions": None,
            "write_stalls": {},
            "start": None,
            "stop": None,
        }

    def __getattr__(self, name: str) -> Any:
        if name in self._answers:
            return lambda *_: self._answers[name]
        found = getattr(self._database, name)
        return functools.partial(self._act, name) if name in get_args(Act) else found

    def with_components(self, items: Components) -> _Silent:
        changed = self._database.with_components(items)
        return _Silent(changed, self._rows, self._show, self._given)

    def _act(self, act: Any) -> None:
        database = self._database
        self._given[self._side] = self._items
        if isinstance(database, BaseCluster):
            database.rehearse(act)
            return
        try:
            getattr(database, act)()
        except (EngineError, UnavailableError) as error:  # its server is not installed yet
            self._show("this machine", "known once the server is here", f"# {error}")
            database.executor.start_job(f"server-{database.instance.side}", ["<server>"])
            if act != "deploy":
                self._act(act)


def _fleet(topology: Topology) -> Fleet:
    """The fleet of a topology; an address that is unknown yet is a name in angle brackets."""
    if isinstance(topology, HostsTopology):
        return topology.fleet()
    if isinstance(topology, CloudTopology):
        return Fleet((FleetHost("client", ("client",), "<client>", "", "", "", DATA), CLOUD))
    hosts = [(name, role) for name, role, _ in topology.host_types()]
    return Fleet(
        tuple(FleetHost(n, (role,), f"<{n}>", "", topology.user, "", DATA) for n, role in hosts)
    )


def _login(connection: str) -> ServerLogin:
    return ServerLogin(connection, f"<{connection}>", 4000, "<account>", PASSWORD)


def _none(*_: object) -> None: ...


def _one_by_one(work: Mapping[Side, Callable[[], None]]) -> None:
    for do in work.values():  # in a fixed order
        do()


def _called(host: FleetHost) -> str:
    if "client" in host.roles:
        return "client"
    return "each storage host" if {"pd", "tikv"} & set(host.roles) else "each SQL host"


def _sent(setup: TrialSetup, planned: PlannedTrial) -> TrialSetup:
    """The setup with a trial's rate; a share of a throughput is not known yet."""
    if (rate := rate_of(planned.workload)) is None:
        return setup
    return replace(setup, rate=rate.per_s or f"<{100 * (rate.share or 0):.0f}-percent>")


# Words that need no quoting, including placeholders in `<` and `>`.
_PLAIN = re.compile(r"[\w@%+=:,./<>-]+")


@dataclass(frozen=True)
class Command:
    """One command, SQL text or file.

    Attributes:
        stage: the step of the plan to which it belongs.
        host: where it runs: ``this machine``, ``client``, ``each storage host``.
        purpose: what it is for; empty if the text is clear.
        text: a command line, SQL, or the text of a file; never contains a secret.
    """

    stage: str
    host: str
    purpose: str
    text: str


class Rehearsal:
    """A :class:`benchlab.hosts.executor.Executor` that records commands instead of running them.

    Every command succeeds without output, except probes (``check=False``), which fail and are not
    recorded unless a shell runs them. Jobs run until they are stopped; what samples hosts or reads
    counters ends at once and is not recorded.

    Args:
        host: its name in the list of commands.
        keep: called with host, purpose and text of each command.
        answers: output by a string that the command or its SQL contains. Such a command is only a
            question, so it is not recorded.
        job_output: what every job prints.

    Example:
        ``Rehearsal("client", keep, {}).run(["sync"])`` calls ``keep("client", "", "sync")``.
    """

    def __init__(
        self,
        host: str,
        keep: Callable[[str, str, str], None],
        answers: Mapping[str, str],
        job_output: str = "",
    ) -> None:
        self.host, self._keep, self._answers = host, keep, answers
        self._job_output = job_output
        self._jobs: dict[str, JobStatus] = {}

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float = 60,
        check: bool = True,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        text = _shown(command, env)
        for asked, answer in self._answers.items():
            if asked in text or asked in stdin:
                return Completed(0, answer, "")
        if check or command[0] == "sh":  # a warm-up may fail; it runs through a shell
            if command[0] == "mariadb":
                self._keep(self.host, "SQL", _statements(stdin))
            else:
                self._keep(self.host, "", f"{text} <<'END'\n{stdin}\nEND" if stdin else text)
        return Completed(0 if check else 1, "", "")

    def start_job(
        self, job: str, command: Sequence[str], *, env: Mapping[str, str] | None = None
    ) -> bool:
        if job.startswith((sampler_job(""), counters_job(""))):
            self._jobs[job] = JobStatus("complete", 0)
        else:
            self._jobs[job] = JobStatus("running")
            self._keep(self.host, "start, in the background", _shown(command, env))
        return True

    def job_status(self, job: str) -> JobStatus:
        return self._jobs.get(job, JobStatus("absent"))

    def job_output(self, job: str) -> str:
        return self._job_output

    def ask_job_to_end(self, job: str) -> None:
        pass  # it is stopped later, and a command is shown for neither

    def stop_job(self, job: str, *, timeout_s: float = 60) -> None:
        if job in self._jobs:
            self._jobs[job] = JobStatus("complete", 0)

    def forget_job(self, job: str) -> None:
        self._jobs.pop(job, None)

    def put(self, path: Path, text: str, *, private: bool = False) -> None:
        if path.name != ".reflink-probe":
            self._keep(self.host, f"write {path}", text)

    def upload(self, source: Path, path: Path) -> None:
        self._keep(self.host, f"copy {source.name} to {path}", "")

    def end_processes(self) -> int:
        return 0


def shell(words: Iterable[str]) -> str:
    """A command line, quoted for a shell; placeholders such as ``<tidb-1>`` stay unquoted.

    Example:
        ``shell(["ping", "<tidb-1>", "a b"])`` is ``ping <tidb-1> 'a b'``.
    """
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)


def _shown(command: Sequence[str], env: Mapping[str, str] | None) -> str:
    variables = ["env", *(f"{key}={value}" for key, value in env.items())] if env else []
    return shell([*variables, *command])


def _statements(sql: str) -> str:
    """One statement per line, each with its semicolon."""
    return "".join(f"{statement.strip()};\n" for statement in sql.rstrip("; ").split(";"))
