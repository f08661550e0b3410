"""One side as a campaign sees it, whether one server or a cluster.

It is deployed, started, stopped, backed up and restored as a whole, and queried by SQL through the
``mariadb`` client.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeVar

from benchlab.engines.counts import Count, Counters
from benchlab.engines.statements import StatementSummary, unescaped
from benchlab.errors import CommandError, EngineError
from benchlab.hosts.counters import Source
from benchlab.hosts.executor import Executor
from benchlab.hosts.server_login import option
from benchlab.language import Message, Said
from benchlab.plan.fields.builds import has_commit, is_nightly
from benchlab.plan.fields.engines import Components, Parameters
from benchlab.plan.report_type import Side
from benchlab.plan.versions import parse
from benchlab.results.diagnosis import Kind
from benchlab.results.records import SideFacts

USER = "bench"
# The account for a client to which a password cannot be given in private.
OPEN_USER = "bench_open"
START_LIMIT_S = 120.0
# Analyzing TPC-C's largest table takes an hour.
SQL_LIMIT_S = 4 * 3600.0
CHECK_LIMIT_S = 24 * 3600.0
# The longest answer expected is a server's settings, a thousand rows; even an empty row takes 150
# bytes of memory here.
MOST_ROWS = 1_000_000
# Bytes. A disk with less free is as good as full: logs and temporary files grow by as much at once.
LEAST_FREE = 2.0**28

Found = TypeVar("Found")


class BackgroundJobs(NamedTuple):
    """Counts of the ANALYZE, DDL and backup statements of a running server, from any client.

    Example:
        ``after.begun - before.ended`` is how many were running at some time in between.

    Attributes:
        begun: how many have begun so far.
        ended: how many of those have ended.
        of_statements: whether statements that found nothing to do are counted as well.
    """

    begun: int
    ended: int
    of_statements: bool = False


class Regions(NamedTuple):
    """The regions of a cluster's storage servers, at one moment.

    Attributes:
        leaders: how many regions each store leads, by host.
        beyond: by how many leaders the spread over the stores exceeds what levelling (or PD, if
            they are not levelled) leaves; None: not known.
        unsettled: how many regions lack a leader or a peer, or have a peer that is down or behind,
            plus the operators with which PD still moves regions.
    """

    leaders: Mapping[str, int]
    beyond: float | None
    unsettled: int


class Profiled(NamedTuple):
    """The servers of a side that are profiled.

    Attributes:
        sources: their commands print a profile in base64, or else a complaint.
        lacking: why the others are not, by role.
    """

    sources: Sequence[Source]
    lacking: Mapping[str, Said]


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """One side's version, place and account, as its database needs them.

    Attributes:
        parameters: configuration items and global variables, as in the report type.
        directory: this side's directory on the executor's host: configuration, logs.
        host, port: the address of one server that answers SQL.
        max_connections: how many the client opens at most.
        database: the schema that holds the dataset.
        password: that of the client's account; made for this campaign.
        hashes: for each component that is a build, the commit that its servers have to report, or
            the beginning of it; None if that is not known.
    """

    side: Side
    version: str
    parameters: Parameters
    directory: Path
    host: str
    port: int
    max_connections: int
    database: str
    password: str = field(repr=False)  # an instance may be logged
    hashes: Mapping[str, str | None] = field(default_factory=dict)


class Database(ABC):
    """One side: a server or a cluster.

    Args:
        executor: the host from which it is queried.
        instance: its version and place.

    Example:
        ``database.deploy(); database.create_database(); database.sql("SELECT 1")`` gives
        ``[["1"]]``.
    """

    name: ClassVar[str]
    #: Its name for people.
    title: ClassVar[str]
    #: Id of the message that says what limits figures from this database; None if nothing does.
    caveat: ClassVar[str | None] = None
    #: What its servers count of a query; empty where they are not asked.
    counts: ClassVar[tuple[Count, ...]] = ()
    #: The count of the queries themselves; None where they are not counted.
    queries: ClassVar[Count | None] = None
    #: What they count that changes the state which later queries meet: a column each, for gates.
    changes: ClassVar[tuple[Count, ...]] = ()
    #: For how many seconds idle servers are watched, once a campaign, to know what they count
    #: without any query.
    idle_s: ClassVar[float] = 0.0
    #: Errors that a client may meet under load without being broken (deadlocks, conflicts).
    retryable_errors: ClassVar[tuple[int, ...]]
    #: How many tables are analyzed, counted and checked at the same time.
    tables_at_once: ClassVar[int] = 1

    executor: Executor
    instance: Deployed

    # What each database does in its own way

    @abstractmethod
    def deploy(self) -> None:
        """Deploy a running, empty database with the client's account.

        Anything that an earlier, interrupted deployment left is removed first.
        """

    @abstractmethod
    def start(self) -> None:
        """Start it, unless it is running, and wait until it is ready."""

    def start_for_trial(self) -> None:
        """Start it for a trial: as :meth:`start`, and with what only trials need."""
        self.start()

    @abstractmethod
    def stop(self) -> None:
        """Stop it and wait until it has ended; does nothing if it is not running."""

    def stop_soon(self) -> None:  # noqa: B027 - a cluster is stopped by a command that waits
        """Begin to stop it without waiting, if that is possible; :meth:`stop` has to follow."""

    @abstractmethod
    def running(self) -> bool:
        """Whether all of its servers are running."""

    def with_components(self, items: Components) -> Database:
        """The same side with these configuration items in addition to its own.

        Raises:
            EngineError: a database of this kind cannot be reconfigured.
        """
        raise EngineError(
            f"{self._name()}: its configuration cannot be changed after it is deployed"
        )

    def configured(self) -> bool:
        """Whether its servers were given all the configuration items that it should have."""
        return True

    def configure(self) -> None:  # noqa: B027 - what is always configured needs none
        """Give its servers, which are stopped, the configuration items that it should have."""

    @abstractmethod
    def backup(self) -> None:
        """Stop it and take the snapshot of its data.

        Raises:
            EngineError: it did not stop cleanly, so every restored copy would need recovery.
        """

    @abstractmethod
    def restore(self) -> None:
        """Stop it and restore the snapshot."""

    @abstractmethod
    def git_hash(self) -> str | None:
        """The commit that the running server was built from; None if it is not reported."""

    @abstractmethod
    def log_tail(self) -> str:
        """The last lines that its server printed."""

    def gone(self, error: CommandError) -> str | None:
        """Why waiting is useless after this error; None while it may still answer."""
        return None

    def columns(self) -> Mapping[str, float | None]:
        """What it reports for the gates after a trial, by column; None for what is not known."""
        return {
            "wrong_version_servers": self._wrong_versions(),
            "ineffective_parameters": float(len(self.ineffective(self.variables()))),
        }

    def ended_servers(self) -> Sequence[Message]:
        """The servers that ended by themselves since they were started here, a message on each.

        Servers that run again are among them; a side that was stopped has none. The messages are
        those of :mod:`benchlab.results.ended_servers`.
        """
        return []

    def go_on(self) -> None:
        """Get servers that ended by themselves to run again; they then count as started anew."""
        self.start()

    def background_jobs(self) -> BackgroundJobs | None:
        """The background statements so far; None if the version does not report them."""
        return None

    def regions(self) -> Regions | None:
        """The regions of its storage servers; None if its storage has no regions."""
        return None

    def write_stalls(self) -> Mapping[str, float | None]:
        """A number for each storage server that grows whenever the server holds writes back.

        Only its growth means something. None for a server that does not report it; empty if the
        database has no such servers.
        """
        return {}

    def stall_lag_s(self) -> float:
        """By how many seconds :meth:`write_stalls` may be behind."""
        return 0.0

    def counter_sources(self) -> Sequence[Source]:
        """The servers whose counters are read beside a trial's client, and how."""
        return []

    def profile_sources(self, kind: Kind, seconds: int) -> Profiled:
        """The servers that are profiled beside a trial's client, and how; and which are not."""
        return Profiled((), {})

    @classmethod
    def read_counters(cls, role: str, answer: str) -> Counters:
        """The counters in what a source's command printed; empty where it is no such answer."""
        return {}

    def statements(self) -> StatementSummary | None:
        """How its servers are asked what statements take; None if they keep nothing of them."""
        return None

    def least_free(self, host: str, capacity: float) -> float:
        """How many bytes of a host's disk have to stay free while the database works.

        Args:
            host: the name of any host in the fleet.
            capacity: the size of its disk in bytes.
        """
        return LEAST_FREE

    # What all share

    @property
    def client_config(self) -> Path:
        """Option file of the mariadb client, with the password; readable by its owner only."""
        return self.instance.directory / "client.cnf"

    def wait_until_ready(self, *, user: str = USER) -> None:
        """Wait until the server answers SQL.

        Raises:
            EngineError: it ended, or did not answer within two minutes; quotes its log.
        """
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            try:
                self.sql("SELECT 1", user=user, timeout_s=10)
                return
            except CommandError as error:
                if (why := self.gone(error)) is not None:
                    raise EngineError(
                        f"{self._name()}: {why}; its last output:\n{self.log_tail()}"
                    ) from error
                if time.monotonic() > deadline:
                    raise EngineError(
                        f"{self._name()}: no answer on port {self.instance.port} after "
                        f"{START_LIMIT_S:g} s: {error}\nits log:\n{self.log_tail()}"
                    ) from error
            time.sleep(0.05)

    def sql(
        self, statement: str, *, user: str = USER, timeout_s: float = SQL_LIMIT_S
    ) -> list[list[str]]:
        """Run SQL through the mariadb client; returns rows of text columns.

        The statement goes through standard input, so that a password in it is on no command line.

        Raises:
            CommandError: the server does not answer, or refuses the statement.
            EngineError: the answer has more than :data:`MOST_ROWS` rows.
        """
        completed = self.executor.run(
            self.client_command(user=user), stdin=statement, timeout_s=timeout_s
        )
        if completed.stdout.count("\n") > MOST_ROWS:
            raise EngineError(f"{self._name()}: the answer has more than {MOST_ROWS:,} rows")
        return [line.split("\t") for line in completed.stdout.splitlines()]

    def client_command(self, *, user: str = USER) -> list[str]:
        """The mariadb client that runs SQL on this side, and prints rows of text columns."""
        options = (
            [f"--defaults-file={self.client_config}"]
            if user == USER
            else ["--no-defaults", "--skip-ssl", f"--host={self.instance.host}", f"--user={user}"]
        )
        return [
            "mariadb",
            *options,
            "--protocol=tcp",
            f"--port={self.instance.port}",
            "--batch",
            # Without it the client itself holds the whole answer in memory.
            "--quick",
            "--skip-column-names",
            "--connect-timeout=5",
        ]

    def query(self, statement: str) -> list[list[str]]:
        """Run a statement that may take a day in the dataset's schema; raises as :meth:`sql`."""
        use = f"USE {self.instance.database}"
        return self.sql(f"{use}; {statement}", timeout_s=CHECK_LIMIT_S)

    def row(self, statement: str, columns: int = 1, *, timeout_s: float = SQL_LIMIT_S) -> list[str]:
        """Run SQL whose answer has to be one row of ``columns`` columns; raises as :meth:`sql`.

        Raises:
            EngineError: the answer is anything else.
        """
        rows = self.sql(statement, timeout_s=timeout_s)
        if [len(row) for row in rows] != [columns]:
            raise self.unreadable(statement)
        return rows[0]

    def whole(self, statement: str, text: str) -> int:
        """Read a whole number from a statement's answer; EngineError if it is not one."""
        try:
            # A sum may be written as 3.0 or 3e10.
            return int(text) if text.lstrip("-").isdecimal() else int(float(text))
        except (OverflowError, ValueError):
            raise self.unreadable(statement) from None

    def unreadable(self, statement: str) -> EngineError:
        """The error for an answer that cannot be one to this statement."""
        return EngineError(f"{self._name()}: the server does not answer `{statement[:80]}`")

    def select(self, columns: Sequence[str], rest: str) -> list[dict[str, str]]:
        """The rows of a SELECT by column, with line feeds and tabs in their texts as they are.

        Example:
            ``database.select(["id"], "FROM t WHERE id < 2")`` gives ``[{"id": "1"}]``.

        Raises:
            EngineError: a row has another number of columns.
        """
        statement = f"SELECT {', '.join(columns)} {rest}"
        rows = self.sql(statement)
        if any(len(row) != len(columns) for row in rows):
            raise self.unreadable(statement)
        return [dict(zip(columns, map(unescaped, row), strict=True)) for row in rows]

    def create_database(self) -> None:
        """Create the dataset's schema, empty; drops an existing one."""
        database = self.instance.database
        self.sql(f"DROP DATABASE IF EXISTS {database}; CREATE DATABASE {database}")

    def open_account(self) -> None:
        """Create an account without a password, for a client that cannot be given one in private.

        It has no rights outside the dataset's schema and can connect from one address only: the one
        from which the server sees Benchlab's own SQL come, which is the load balancer's host.
        """
        (address,) = self.row("SELECT SUBSTRING_INDEX(USER(), '@', -1)")
        account = f"'{OPEN_USER}'@'{address}'"
        self.sql(
            f"DROP USER IF EXISTS {account}; CREATE USER {account}; "
            f"GRANT ALL ON {self.instance.database}.* TO {account}"
        )

    def analyze(self, tables: Sequence[str]) -> None:
        """ANALYZE every table, so that no side plans its queries without statistics.

        Raises:
            EngineError: a table's analysis did not report success.
        """

        def analyze(table: str) -> None:
            for row in self.sql(f"ANALYZE TABLE {self.instance.database}.{table}"):
                if len(row) >= 4 and row[2].lower() == "error":
                    raise EngineError(f"{self._name()}: ANALYZE TABLE {table}: {row[3]}")

        self._of_each(tables, analyze)

    def row_counts(self, tables: Sequence[str]) -> dict[str, int]:
        """Rows of each table, counted."""
        return self._of_each(tables, self.row_count)

    def row_count(self, table: str) -> int:
        """Rows of one table, counted."""
        statement = f"SELECT COUNT(*) FROM {self.instance.database}.{table}"
        return self.whole(statement, *self.row(statement))

    def checksum(self, tables: Sequence[str]) -> str:
        """:meth:`table_checksum` of every table, as one string."""
        found = self._of_each(tables, self.table_checksum)
        return " ".join(f"{table}:{checksum}" for table, checksum in found.items())

    def table_checksum(self, table: str) -> str:
        """Row count and sum of row hashes, whatever the order of rows: ``<count>:<sum>``.

        By SQL, because the engines' own checksums differ, and TiDB's embedded storage answers its
        own statement with a constant. NULL differs from an empty text.
        """
        name = f"{self.instance.database}.{table}"
        columns = [f"COALESCE({row[0]}, '\\0')" for row in self.sql(f"SHOW COLUMNS FROM {name}")]
        count, total = self.row(
            f"SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS('#', {', '.join(columns)}))), 0) "
            f"FROM {name}",
            2,
        )
        return f"{count}:{total}"

    def _of_each(self, tables: Sequence[str], work: Callable[[str], Found]) -> dict[str, Found]:
        """The result of ``work`` on each table, several at once; the first error ends the rest."""
        with ThreadPoolExecutor(self.tables_at_once, thread_name_prefix="tables") as pool:
            return dict(zip(tables, pool.map(work, tables), strict=True))

    def facts(self) -> SideFacts:
        """What the running server reports about itself: version, source, settings."""
        return SideFacts(self.version(), self.git_hash(), self.variables(), about=self.about())

    def about(self) -> dict[str, str]:
        """What else the server says about its build, by name: ``Edition``, ``Git Branch``."""
        return {}

    def version(self) -> str:
        """What the server calls itself: ``10.11.5-MariaDB``, ``5.7.25-TiDB-v6.5.0``."""
        (version,) = self.row("SELECT VERSION()")
        return version

    def misfits(self) -> list[str]:
        """Which servers are not what was asked for, as sentences; see :func:`identity_fault`.

        Raises:
            CommandError, EngineError: a server does not answer.
        """
        version, git_hash = self.instance.version, self.git_hash()
        fault = identity_fault(self.name, version, self.instance.hashes, self.version(), git_hash)
        commit = has_commit(version) if self.name not in self.instance.hashes else None
        if not fault and commit and git_hash and not git_hash.startswith(commit):
            fault = f"is built from {git_hash}, not from {commit}, as the name {version} says"
        return [f"the server {fault}"] if fault else []

    def _wrong_versions(self) -> float | None:
        if self.misfits():
            return 1.0
        return 0.0 if is_comparable(self.name, self.instance.hashes, self.git_hash()) else None

    def variables(self) -> dict[str, str]:
        """The effective settings, by the names that ``parameters`` use."""
        return {row[0]: row[1] if len(row) > 1 else "" for row in self.sql("SHOW GLOBAL VARIABLES")}

    def requested(self) -> Parameters:
        """The requested parameters, by the names that :meth:`variables` uses."""
        return self.instance.parameters

    def ineffective(self, variables: dict[str, str]) -> dict[str, str]:
        """Requested parameters that did not take effect, with their actual values."""
        requested = self.requested()
        found = {
            key: variables.get(key.replace("-", "_"), variables.get(key, "no such setting"))
            for key in requested
        }
        return {
            key: value for key, value in found.items() if _normal(value) != _normal(requested[key])
        }

    def _client_options(self) -> str:
        fields = {"host": self.instance.host, "user": USER, "password": self.instance.password}
        return "\n".join(["[client]", *starmap(option, fields.items()), "skip-ssl", ""])

    def _name(self) -> str:
        return f"{self.instance.side} ({self.name} {self.instance.version})"


def is_version(wanted: str, reported: str) -> bool:
    """Whether a server has the requested version, in whatever form it reports it.

    Neither the pre-release ``v9.0.0-beta.1`` nor TiDB's ``v9.0.0-serverless`` is ``v9.0.0``. A
    build's suffix (``-log``, ``-dirty``), MySQL's version before TiDB's and a missing ``v`` do not
    matter. Servers report neither a nightly's name nor the day and commit in a version name of
    TiUP's: of such versions only the numbers are compared.

    Example:
        ``is_version("v6.5.0", "5.7.25-TiDB-v6.5.0")`` is True.
    """
    if is_nightly(wanted) or has_commit(wanted):
        major, minor, patch = parse(wanted).numbers
        ours = rf"(?<![\d.]){major}\.{minor}\.{patch}(?![\d.]*\d)"
        return re.search(ours, reported.rpartition("TiDB-")[2]) is not None
    _, tidb, own = reported.rpartition("TiDB-")
    number = re.escape(wanted.removeprefix("v"))
    another = "-(?!dirty|log)[A-Za-z]" if tidb else "-(?:alpha|beta|rc)"
    return re.search(rf"(?<![\d.]){number}(?![\d.]|{another})", own) is not None


def identity_fault(
    component: str,
    version: str,
    hashes: Mapping[str, str | None],
    reported: str,
    git_hash: str | None,
) -> str | None:
    """Why a server is not what was asked for, as the end of a sentence; None if it is.

    A build is known by its commit, whatever it calls itself: between releases a server's version is
    made by ``git describe`` (``v9.0.0-beta.2.pre-1895-g5c91a2b``), and TiUP calls it
    ``v9.0.0-beta.2.pre-nightly``. A version without a build is known by its name.

    Example:
        ``identity_fault("tidb", "v6.5.0", {}, "5.7.25-TiDB-v6.1.0", None)`` is
        ``"is version 5.7.25-TiDB-v6.1.0, not v6.5.0"``.

    Args:
        hashes: the commits that builds have to report, see :class:`Deployed`.
        reported, git_hash: what the server says of itself.
    """
    expected = hashes.get(component)
    if expected is not None and git_hash is not None:
        # Either may be shortened.
        if git_hash.startswith(expected) or expected.startswith(git_hash):
            return None
        return f"is built from {git_hash}, not from {expected}"
    if component in hashes or is_version(version, reported):
        return None
    return f"is version {reported}, not {version}"


def is_comparable(component: str, hashes: Mapping[str, str | None], git_hash: str | None) -> bool:
    """Whether :func:`identity_fault` has anything to compare.

    A build is compared by commit alone, which has to be known here and reported by the server: one
    made outside of git reports none.
    """
    return component not in hashes or None not in (hashes[component], git_hash)


def written(value: object) -> str:
    """A parameter's value as written in option files; booleans are ``ON`` and ``OFF``."""
    return ("ON" if value else "OFF") if isinstance(value, bool) else str(value)


def sql_value(value: object) -> str:
    """A parameter's value as an SQL literal: ``sql_value("it's")`` is ``'it''s'``."""
    if isinstance(value, bool | int | float):
        return written(value)
    return "'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"


def _normal(value: object) -> str:
    """A value in a form that can be compared: booleans as ON/OFF, sizes in bytes."""
    text = written(value).strip().upper()
    if match := re.fullmatch(r"(\d+)([KMG])I?B?", text):
        return str(int(match[1]) * 1024 ** ("KMG".index(match[2]) + 1))
    if re.fullmatch(r"-?\d+\.\d+", text):  # servers print 90.500000 for 90.5
        text = text.rstrip("0").rstrip(".")
    return {"TRUE": "ON", "FALSE": "OFF", "1": "ON", "0": "OFF"}.get(text, text)
