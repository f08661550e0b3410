"""The engine port: what a database must be able to do to be measured.

Each module in ``engines/`` has one class ``Engine`` that derives from :class:`BaseEngine`. It
says how a version is obtained and how its server is deployed and started; everything that all
of them share (SQL by the ``mariadb`` client, waiting, snapshots, checksums) is here.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from benchlab import snapshot
from benchlab.errors import CommandError, EngineError
from benchlab.executor import Executor
from benchlab.results import SideFacts
from benchlab.spec import Parameters, Side

USER = "bench"
DATABASE = "sbtest"
START_LIMIT_S = 120.0
STOP_LIMIT_S = 120.0
SQL_LIMIT_S = 3600.0


@dataclass(frozen=True)
class Instance:
    """One side's server on one host.

    Attributes:
        directory: everything of this side: ``data``, ``snapshot``, configuration, logs.
        password: of the account that the client uses; made for this campaign.
    """

    side: Side
    version: str
    parameters: Parameters
    directory: Path
    host: str
    port: int
    status_port: int
    max_connections: int
    password: str

    def __repr__(self) -> str:
        """Without the password: an instance may be logged."""
        return f"Instance({self.side}, {self.version}, {self.host}:{self.port})"


@dataclass(frozen=True)
class Availability:
    """Whether a version can be had on this machine, and how or why not."""

    available: bool
    how: str


class BaseEngine(ABC):
    """One side's server.

    Args:
        executor: the host it runs on.
        instance: which version, where.
        servers: directory of downloaded server binaries.
    """

    name: ClassVar[str]
    #: Its name for people.
    title: ClassVar[str]
    #: Whether its server listens on the status port, too.
    has_status_port: ClassVar[bool] = False
    #: What a reader must know of figures from this engine; None where there is nothing.
    caveat: ClassVar[str | None] = None
    #: Parameters that Benchlab sets itself, so that a report type may not.
    reserved: ClassVar[frozenset[str]] = frozenset()
    #: Errors that a client may meet under load without being broken (deadlocks, conflicts).
    retryable_errors: ClassVar[tuple[int, ...]]

    def __init__(self, executor: Executor, instance: Instance, servers: Path) -> None:
        self.executor, self.instance, self.servers = executor, instance, servers

    # What each engine says of itself

    @classmethod
    @abstractmethod
    def owns(cls, version: str) -> bool:
        """Whether a version is written as this engine's are."""

    @classmethod
    @abstractmethod
    def availability(cls, version: str, servers: Path) -> Availability:
        """Whether the version is here or can be fetched; starts no download."""

    @classmethod
    @abstractmethod
    def install(cls, executor: Executor, version: str, servers: Path) -> None:
        """Fetch the version if it is not here.

        Raises:
            UnavailableError: it cannot be had.
        """

    @abstractmethod
    def initialise(self) -> None:
        """Write the configuration and an empty data directory."""

    @abstractmethod
    def server_command(self) -> tuple[list[str], dict[str, str]]:
        """The server's command line and environment."""

    @abstractmethod
    def secure(self) -> None:
        """On the fresh server: create the client's account and database, close the others."""

    @abstractmethod
    def git_hash(self) -> str | None:
        """The commit that the running server was built from; None where it does not tell."""

    # What all share

    @property
    def job(self) -> str:
        """The job under which the server runs."""
        return f"server-{self.instance.side}"

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.instance.directory / "data"

    @property
    def snapshot(self) -> Path:
        """The snapshot of the loaded, analyzed, stopped server."""
        return self.instance.directory / "snapshot"

    @property
    def client_config(self) -> Path:
        """Option file of the mariadb client; holds the password, readable by its owner only."""
        return self.instance.directory / "client.cnf"

    def deploy(self) -> None:
        """From nothing to a running, empty server with the client's account.

        What an earlier, interrupted deployment left is removed first.
        """
        self.stop()
        self.executor.run(["rm", "-rf", str(self.instance.directory)], timeout_s=600)
        self.executor.run(["mkdir", "-p", "-m", "700", str(self.instance.directory)])
        self.executor.put(self.client_config, self._client_options(), private=True)
        self.initialise()
        self.start(secured=False)
        self.secure()
        self.wait_until_ready()

    def start(self, *, secured: bool = True) -> None:
        """Start the server, unless it runs, and wait until it answers."""
        if self.executor.job_status(self.job).state != "running":
            self.executor.forget_job(self.job)
            command, env = self.server_command()
            self.executor.start_job(self.job, command, env=env)
        if secured:
            self.wait_until_ready()

    def stop(self) -> None:
        """Stop the server and wait until it has ended; nothing happens where none runs."""
        self.executor.stop_job(self.job, timeout_s=STOP_LIMIT_S)
        self.executor.forget_job(self.job)

    def running(self) -> bool:
        """Whether the server process is there."""
        return self.executor.job_status(self.job).state == "running"

    def wait_until_ready(self, *, user: str = USER) -> None:
        """Wait until the server answers SQL.

        Raises:
            EngineError: it ended, or did not answer in time; quotes its log.
        """
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            try:
                self.sql("SELECT 1", user=user, timeout_s=10)
                return
            except CommandError as error:
                status = self.executor.job_status(self.job)
                if status.state != "running":
                    raise EngineError(
                        f"{self._name()}: the server ended while starting "
                        f"(exit code {status.exit_code}); its last output:\n{self.log_tail()}"
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
        """Run SQL through the mariadb client; rows of text columns.

        The statement goes through standard input, so that a password in it is on no command
        line.
        """
        options = (
            [f"--defaults-file={self.client_config}"]
            if user == USER
            else ["--no-defaults", "--skip-ssl", f"--host={self.instance.host}", f"--user={user}"]
        )
        completed = self.executor.run(
            [
                "mariadb",
                *options,
                "--protocol=tcp",
                f"--port={self.instance.port}",
                "--batch",
                "--skip-column-names",
                "--connect-timeout=5",
            ],
            stdin=statement,
            timeout_s=timeout_s,
        )
        return [line.split("\t") for line in completed.stdout.splitlines()]

    def analyze(self, tables: Sequence[str]) -> None:
        """ANALYZE every table, so that no side plans its queries by guess.

        Raises:
            EngineError: a table's analysis did not report success.
        """
        for table in tables:
            for row in self.sql(f"ANALYZE TABLE {DATABASE}.{table}"):
                if len(row) >= 4 and row[2].lower() == "error":
                    raise EngineError(f"{self._name()}: ANALYZE TABLE {table}: {row[3]}")

    def row_count(self, table: str) -> int:
        """Rows of one table, counted."""
        ((rows,),) = self.sql(f"SELECT COUNT(*) FROM {DATABASE}.{table}")
        return int(rows)

    def checksum(self, tables: Sequence[str]) -> str:
        """Row count and an order-free sum of row hashes of every table, as one string.

        By SQL, because what engines offer themselves differs, and TiDB's embedded storage
        answers its own statement with a constant.
        """
        parts = []
        for table in tables:
            ((count, total),) = self.sql(
                "SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS('#', id, k, c, pad))), 0) "
                f"FROM {DATABASE}.{table}"
            )
            parts.append(f"{table}:{count}:{total}")
        return " ".join(parts)

    def facts(self) -> SideFacts:
        """What the running server says of itself."""
        return SideFacts(self.version(), self.git_hash(), self.variables())

    def version(self) -> str:
        """What the server calls itself: ``10.11.5-MariaDB``, ``5.7.25-TiDB-v6.5.0``."""
        ((version,),) = self.sql("SELECT VERSION()")
        return version

    def is_requested_version(self, reported: str) -> bool:
        """Whether what the server calls itself has the requested version in it, as a whole.

        Of ``v9.0.0`` a pre-release, ``v9.0.0-beta.1``, is another version; a build's own suffix
        (``-log``, ``-dirty``) makes no other one.
        """
        wanted = re.escape(self.instance.version)
        found = re.search(rf"(?<![\d.]){wanted}(?![\d.]|-(alpha|beta|rc))", reported)
        return found is not None

    def variables(self) -> dict[str, str]:
        """The effective settings, by the names under which ``parameters`` set them."""
        return {row[0]: row[1] if len(row) > 1 else "" for row in self.sql("SHOW GLOBAL VARIABLES")}

    def ineffective(self, variables: dict[str, str]) -> dict[str, str]:
        """Of the requested parameters, those with another effective value, with that value."""
        found = {
            key: variables.get(key.replace("-", "_"), variables.get(key, "no such setting"))
            for key in self.instance.parameters
        }
        return {
            key: value
            for key, value in found.items()
            if _normal(value) != _normal(self.instance.parameters[key])
        }

    def backup(self) -> None:
        """Stop the running server and take the snapshot of its data.

        Raises:
            EngineError: it did not stop cleanly: every restore would have to recover.
        """
        self.executor.stop_job(self.job, timeout_s=STOP_LIMIT_S)
        if (status := self.executor.job_status(self.job)).exit_code != 0:
            raise EngineError(
                f"{self._name()}: the server did not stop cleanly before the snapshot (exit code "
                f"{status.exit_code}); its last output:\n{self.log_tail()}"
            )
        self.executor.forget_job(self.job)
        snapshot.copy(self.executor, self.data, self.snapshot)

    def restore(self) -> None:
        """Stop the server and lay the snapshot back."""
        self.stop()
        snapshot.copy(self.executor, self.snapshot, self.data)

    def log_tail(self) -> str:
        """The last lines the server printed."""
        return "\n".join(self.executor.job_output(self.job).splitlines()[-12:])

    def _client_options(self) -> str:
        return (
            f"[client]\nhost={self.instance.host}\nuser={USER}\n"
            f"password={self.instance.password}\nskip-ssl\n"
        )

    def _name(self) -> str:
        return f"{self.instance.side} ({self.name} {self.instance.version})"


def written(value: object) -> str:
    """A parameter's value as option files have it."""
    return ("ON" if value else "OFF") if isinstance(value, bool) else str(value)


def _normal(value: object) -> str:
    """A value in the form in which both sides compare: booleans as ON/OFF, sizes in bytes."""
    text = written(value).strip().upper()
    if match := re.fullmatch(r"(\d+)([KMG])I?B?", text):
        return str(int(match[1]) * 1024 ** ("KMG".index(match[2]) + 1))
    if re.fullmatch(r"-?\d+\.\d+", text):  # servers print 90.500000 for 90.5
        text = text.rstrip("0").rstrip(".")
    return {"TRUE": "ON", "FALSE": "OFF", "1": "ON", "0": "OFF"}.get(text, text)
