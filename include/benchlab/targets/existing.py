"""The target ``existing``: servers or clusters that somebody else runs.

The client runs on this machine, or on the host of the report type's ``client.connection``.

A report type names an Airflow Connection for each side. Nothing is deployed, stopped, configured or
restarted there; see :mod:`benchlab.engines.given`. While a campaign is at work, its directory has
what giving back needs: the login of each side, readable by its owner only.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from benchlab import engines, workloads
from benchlab.bounded import read_text
from benchlab.engines import given
from benchlab.engines.given import Given, GivenInstance
from benchlab.errors import CommandError, EngineError, TargetError, noting
from benchlab.hosts.access import Access
from benchlab.hosts.executor import Executor, LocalExecutor
from benchlab.hosts.server_login import ServerLogin, Tls
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.report_type import SIDES, ReportSpec, Side
from benchlab.targets import fleet_files, local, owned
from benchlab.targets.fleet import FleetTarget
from benchlab.targets.haproxy import Direct
from benchlab.targets.lent_client import LentClient, visited
from benchlab.targets.target import Balancer, Say, Taken
from benchlab.targets.this_machine import SCHEMA_FILE, OnThisMachine
from benchlab.workloads.client import Endpoint, Session, program_of
from benchlab.workloads.program import choose
from benchlab.workloads.sysbench_options import connection

TOOLS = ("mariadb", "setsid", "prlimit")
FILL_LIMIT_S = 24 * 3600.0
# Logs in as a trial's client does, with its options, and prints the cipher of the connection.
_LOGIN_SCRIPT = """
function event()
  local connection = sysbench.sql.driver():connect()
  local row = connection:query("SHOW STATUS LIKE 'Ssl_cipher'"):fetch_row()
  print("cipher=" .. tostring(row and row[2] or ""))
end
"""


class _OfClient:
    """A member taken from the lent client's host or, without one, from this machine."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, target: Target | None, owner: type) -> Any:
        if target is None:
            return self
        host = target._host
        return getattr(super(Target, target) if host is None else host, self._name)


def _of_client() -> Any:
    return _OfClient()


class Target(OnThisMachine):
    """Existing servers, for one campaign."""

    name = "existing"
    place = "servers that exist"
    can: ClassVar[Capabilities] = Capabilities(deploys=False, administers=False, deferrable=False)

    def preflight(self) -> None:
        """See :class:`BaseTarget`: tools, logins, rights, versions; writes nothing on a server."""
        self._check_tools()
        for side in self.sides:
            engine = self.engine(side)
            engine.check()
            if self.spec.client.archive is None:  # else it has yet to be built
                self._check_login(side)
            schema = {
                "connection": self._connection(side),
                "host": engine.instance.host,
                "port": engine.instance.port,
                "database": engine.instance.database,
            }
            (self.state / side).mkdir(parents=True, exist_ok=True)
            fleet_files.write(self.state / side / SCHEMA_FILE, json.dumps(schema))

    def provision(self, say: Say) -> None:
        for side in self.sides:
            say(f"{side}: connection {self._connection(side)}")

    def check_client(self) -> None:
        for side in self.sides:
            self._check_login(side)

    # The client's host

    @cached_property
    def _host(self) -> FleetTarget | None:
        """The client's host; None if it is this machine."""
        if self.spec.client.connection is None:
            return None
        return LentClient(self.home, self.campaign, self.plan, self.spec, self.access)

    # With a lent host, this machine and its lock are free for other campaigns.
    executor, directory, client_host, client_alone, load_threads, acquire, interrupt = (
        _of_client() for _ in range(7)
    )

    def executors(self) -> dict[str, Executor]:
        return {self.client_host: self.executor}

    def close(self) -> None:
        if self._host is not None:
            self._host.close()

    def changed(self, side: Side) -> str | None:
        """See :class:`ServersOfOthers`."""
        engine = self.engine(side)
        try:
            engine.start()  # it is down while it is upgraded
            misfits = engine.misfits()
        except (CommandError, EngineError):  # the trial says what is wrong
            return None
        return "; ".join(f"{side}: {misfit}" for misfit in misfits) or None

    def endpoint(self, side: Side) -> Endpoint:
        login, database = self._login(side), workloads.workload_of(self.spec).DATABASE
        return Endpoint(login.host, login.port, login.user, login.password, database, login.tls)

    def engine(self, side: Side) -> Given:
        return _given(
            self._login(side),
            side,
            self.directory / side,
            self.executor,
            engine=self.plan.engine,
            version=self.plan.sides[side].version,
            database=workloads.workload_of(self.spec).DATABASE,
            campaign=self.campaign,
            home=self.home.mark,
            fill=lambda: self._fill(side),
        )

    def balancer(self, side: Side) -> Balancer:
        login = self._login(side)
        return Direct(login.host, login.port)

    def environment(self) -> dict[str, str]:
        servers = [self.engine(side) for side in self.sides]
        products = {given.product_of(server.version()) for server in servers}
        limits = (limit for server in servers if (limit := server.limits()))
        return {
            **self.engine_facts(engines.by_name()[self.plan.engine], next(limits, None)),
            **self._client_facts(),
            "engine_title": " / ".join(sorted(products)),
        }

    def _client_facts(self) -> dict[str, str]:
        """Facts of the client's host, and the version of its sysbench."""
        printed = self.executor.run([self._sysbench, "--version"]).stdout
        system = self._host.facts() if isinstance(self._host, LentClient) else local.system()
        return {**system, "sysbench": printed.splitlines()[0].strip()}

    @property
    def _sysbench(self) -> str:
        """The client's program: every client that can hide a password is sysbench."""
        return self.client_path or "sysbench"

    def _check_tools(self) -> None:
        """Check that the client's host has what a campaign needs."""
        if isinstance(self._host, LentClient):
            self._host.preflight()
            self._host.make_ready()
        else:
            local.check_tools(TOOLS)
        client, workload = self.spec.client, workloads.workload_of(self.spec)
        if client.archive is None:
            choose(
                self.executor, workload, client.program, path=client.path, version=client.version
            )

    @classmethod
    def return_others(cls, taken: Taken) -> list[str]:
        """Drop its schemas, each only with the campaign's own mark.

        It needs no Connection: the logins are in the campaign's directory.
        """
        lent = (taken.state / fleet_files.FLEET_FILE).exists()
        if lent and taken.ask_driver:
            fleet_files.end_driver(taken.state)
        removed, faults = 0, list[str]()
        for side in SIDES:
            with noting(faults), _client_of(taken, lent) as (executor, directory):
                removed += _remove_schema(taken, side, directory / side, executor)
        if faults:
            raise TargetError(
                f"{taken.campaign}: its schema was not dropped: {'; '.join(faults)}; "
                f"`benchlab give-back {taken.campaign}` tries again"
            )
        said = [f"{removed} schema{'s' * (removed != 1)} dropped"]
        if lent:
            owned.give_back(taken.state, taken.access)
            fleet_files.forget(taken.state)
            said.append("the client's host cleaned")
        return said

    def _login(self, side: Side) -> ServerLogin:
        if side not in self._logins:
            self._logins[side] = self._with_own_ca(side, self.access.server(self._connection(side)))
        return self._logins[side]

    @cached_property
    def _logins(self) -> dict[Side, ServerLogin]:
        return {}

    def _connection(self, side: Side) -> str:
        return self.spec.connections[side]

    def _with_own_ca(self, side: Side, login: ServerLogin) -> ServerLogin:
        """The login with a copy of the CA's file: giving back must not need the original."""
        return _with_ca_at(self.directory / f"ca-{side}.pem", login, self.executor)

    def _check_login(self, side: Side) -> None:
        """Log in as a trial's client does: sysbench has its own way to read passwords and TLS."""
        name, session = f"{side}: connection {self._connection(side)}", self._session(side)
        try:
            text = workloads.workload_of(self.spec).config_file_text(session.endpoint)
        except ValueError as error:
            raise TargetError(f"{name}: {error}") from error
        self.executor.put(Path(session.config_path), text, private=True)
        script = self.directory / "log_in.lua"
        self.executor.put(script, _LOGIN_SCRIPT)
        anywhere = replace(session.endpoint, database="information_schema")
        once = ["--threads=1", "--events=1", "--time=0", "run"]
        options = [*connection(replace(session, endpoint=anywhere)), *once]
        done = self.executor.run([self._sysbench, str(script), *options], check=False)
        printed = done.stdout + done.stderr
        if "cipher=" not in printed:
            raise TargetError(f"{name}: sysbench cannot log in: {given.refusal(printed)}")
        if session.endpoint.tls is not None and "cipher=\n" in printed:
            raise TargetError(
                f"{name}: sysbench's connection is not encrypted; it has to be linked with "
                "MariaDB's client library, as Debian's is"
            )

    def _session(self, side: Side) -> Session:
        return Session(
            self.endpoint(side),
            str(self.directory / f"workload-{side}.cnf"),
            self.spec.dataset,
            self.load_threads,
            self.spec.client.model_copy(update={"program": self.client_program}),
        )

    def _fill(self, side: Side) -> None:
        """Load the dataset with the client, as the stage `load` does."""
        module, session = workloads.workload_of(self.spec), self._session(side)
        program = program_of(session.client.program, module.PROGRAMS)
        command = program.started(module.prepare_command(session), self.client_path)
        done = self.executor.run(command, timeout_s=FILL_LIMIT_S)
        if faults := module.load_faults(done.stdout + done.stderr):
            raise TargetError(f"{side}: the load failed: {'; '.join(faults)}")


def asked(spec: ReportSpec, access: Access) -> dict[Side, str]:
    """What the server of each side calls itself now: ``5.7.25-TiDB-v6.5.0``.

    Raises:
        TargetError: there is no such Connection, or the server does not answer; says what to do.
    """
    with _asking(spec, access) as (executor, directory):
        found = {}
        for side, name in spec.connections.items():
            login = _with_ca_at(directory / f"ca-{side}.pem", access.server(name), executor)
            found[side] = _given(login, side, directory / side, executor).reported()
        return found


@contextmanager
def _asking(spec: ReportSpec, access: Access) -> Iterator[tuple[Executor, Path]]:
    """The client's host before there is a campaign, and a directory there, removed at the end."""
    if spec.client.connection is not None:
        with visited(access, spec.client.connection) as (executor, directory):
            yield executor, directory
        return
    with tempfile.TemporaryDirectory(prefix="benchlab-") as folder:
        yield LocalExecutor(Path(folder), ""), Path(folder)


@contextmanager
def _client_of(taken: Taken, lent: bool) -> Iterator[tuple[Executor, Path]]:
    """The client's host of a campaign, and its directory there."""
    if not lent:
        yield LocalExecutor(taken.state, taken.campaign), taken.state
        return
    client = fleet_files.read_fleet(taken.state).client
    with fleet_files.open_host(taken.state, client) as executor:
        yield executor, fleet_files.directory_on(client, taken.campaign)


def _with_ca_at(copy: Path, login: ServerLogin, executor: Executor) -> ServerLogin:
    """The login with a copy of its CA's file on the client's host, which has no other."""
    if login.tls is None or login.tls.ca is None:
        return login
    executor.put(copy, read_text(login.tls.ca))
    return replace(login, tls=Tls(copy))


def _given(
    login: ServerLogin,
    side: Side,
    directory: Path,
    executor: Executor,
    *,
    engine: str = "mariadb",
    version: str = "",
    database: str = "",
    campaign: str = "",
    home: str = "",
    fill: Callable[[], None] = lambda: None,
) -> Given:
    instance = GivenInstance(
        side=side,
        version=version,
        parameters={},
        directory=directory,
        host=login.host,
        port=login.port,
        max_connections=0,
        database=database,
        password=login.password,
        campaign=campaign,
        home=home,
        login=login,
    )
    return given.CLASSES[engine](executor, instance, fill)


def _remove_schema(taken: Taken, side: Side, directory: Path, executor: Executor) -> bool:
    """Drop a side's schema; False if the campaign has none. The note on it goes with it."""
    note = taken.state / side / SCHEMA_FILE
    if not note.exists():
        return False
    noted = json.loads(note.read_text(encoding="utf-8"))
    # Account and password are in the client's option file.
    login = ServerLogin(noted["connection"], noted["host"], noted["port"], "", "")
    server = _given(
        login,
        side,
        directory,
        executor,
        database=noted["database"],
        campaign=taken.campaign,
        home=taken.home.mark,
    )
    dropped = server.remove()
    note.unlink()
    return dropped
