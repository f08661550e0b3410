"""The contract of an engine: a database that is one server on this machine, run as a job.

An engine's class ``Engine`` derives from :class:`BaseEngine`. It says how a version is obtained and
how its server is deployed and started. An engine that can also be deployed as a cluster on a fleet
names that class in ``Engine.cluster``.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from benchlab.engines.cluster import BaseCluster
from benchlab.engines.database import Database, Deployed
from benchlab.engines.slowdown_job import SlowdownJob
from benchlab.errors import CommandError, EngineError, SpecError
from benchlab.hosts import snapshot as snapshot_module
from benchlab.hosts.executor import Executor
from benchlab.language import Message, Said
from benchlab.plan.fields.builds import Nightly
from benchlab.plan.fields.engines import Parameters
from benchlab.plan.report_type import SIDES, Side
from benchlab.results import ended_servers

STOP_LIMIT_S = 120.0
PLACE = "server"


@dataclass(frozen=True, kw_only=True)
class Instance(Deployed):
    """One side's server on one host; ``directory`` also holds its ``data`` and ``snapshot``.

    Both sides have the same port, because only one of them runs at a time.

    Attributes:
        status_port: for an engine with :attr:`BaseEngine.has_status_port`.
        slowdown_pct: the percentage of the time for which the server is stopped on purpose while it
            is measured; 0: never.
        build: the directory of the build that replaces the version's server; None: there is none.
    """

    status_port: int
    slowdown_pct: float = 0.0
    build: Path | None = None


@dataclass(frozen=True)
class Availability:
    """Whether a version is available on this machine; ``how`` says from where, or why not."""

    available: bool
    how: Said


class BaseEngine(Database):
    """One side's server.

    Args:
        executor: the host it runs on.
        instance: its version and place.
        servers: directory of downloaded server binaries.

    Example:
        ``engines.by_name()["mariadb"].owns("10.11.5")`` is True.
    """

    #: Whether its server also listens on the status port.
    has_status_port: ClassVar[bool] = False
    #: Parameters that Benchlab sets itself and a report type may not.
    reserved: ClassVar[frozenset[str]] = frozenset()
    #: The options that every server is started with, beside parameters, addresses and directories.
    own_options: ClassVar[tuple[str, ...]] = ()
    #: Whether its server accepts abbreviated option names, and prefixes such as ``skip-``.
    short_names: ClassVar[bool] = False
    #: Parameters that limit the number of connections; 0 is no limit.
    connection_limits: ClassVar[frozenset[str]] = frozenset()
    #: The components that builds can replace; on one machine only the first.
    components: ClassVar[tuple[str, ...]] = ()
    #: The class of its clusters on a fleet; None if it runs only on one machine.
    cluster: ClassVar[type[BaseCluster] | None] = None

    def __init__(self, executor: Executor, instance: Instance, servers: Path) -> None:
        self.executor: Executor = executor
        self.instance: Instance = instance
        self.servers = servers

    # What each engine does in its own way

    @classmethod
    def parameter_faults(
        cls,
        version: str,
        parameters: Parameters,
        components: Mapping[str, Parameters],
        *,
        storage_vcpu: int | None = None,
    ) -> list[str]:
        """Why a version would refuse these parameters, as sentences; empty if none is known.

        Args:
            storage_vcpu: vCPUs of a storage host; None if it is not known.
        """
        return []

    @classmethod
    @abstractmethod
    def owns(cls, version: str) -> bool:
        """Whether a version is written as this engine writes its versions."""

    @classmethod
    @abstractmethod
    def availability(cls, version: str, servers: Path, *, ask: bool = True) -> Availability:
        """Whether the version is here or can be fetched; starts no download.

        Args:
            ask: whether a mirror may be asked; otherwise it is taken to have the version.
        """

    @classmethod
    def offered(cls, version: str) -> Availability | None:
        """Whether a fleet's hosts can fetch the version; None if this machine cannot ask."""
        return None

    @classmethod
    def not_published(cls, version: str, servers: Path) -> Said | None:
        """Why there is no such version, as a sentence: the place that it is fetched from lacks it.

        May ask over the network, which mostly takes a few seconds.

        Returns:
            None if there is such a version, and if this machine cannot ask.

        Raises:
            UnavailableError: that place does not answer.
        """
        return None

    @classmethod
    @abstractmethod
    def install(cls, executor: Executor, version: str, servers: Path) -> None:
        """Fetch the version unless it is here.

        Raises:
            UnavailableError: it cannot be fetched.
        """

    @classmethod
    def nightly(cls, *, on_fleet: bool) -> Nightly:
        """The current nightly.

        Args:
            on_fleet: whether all of its components are wanted, not only the first.

        Raises:
            SpecError: the engine has none.
            UnavailableError: it cannot be known on this machine; says what to do.
        """
        raise SpecError(f"version: there is no nightly of {cls.title}; name a version")

    # Builds; called only for an engine's own components

    @classmethod
    def program_in(cls, source: Path) -> Path:
        """The file whose hash identifies a build: the source itself, if it is a file."""
        return source

    @classmethod
    def check_build(cls, component: str, source: Path) -> None:
        """Check, without running it, that a file is a build of a component.

        Raises:
            SpecError: it is not; says what it should be.
        """

    @classmethod
    def keep_build(cls, component: str, source: Path, into: Path) -> None:
        """Copy a checked build into an empty directory, in the form that is deployed from there."""
        raise SpecError(f"{cls.title} cannot be deployed from a build")

    @classmethod
    def build_hash(cls, component: str, kept: Path) -> str | None:
        """The commit that a build's program reports; None if it does not, or cannot run here."""
        return None

    @classmethod
    def install_build(cls, executor: Executor, kept: Path) -> None:
        """Get a kept build ready to be deployed on this machine."""

    @abstractmethod
    def initialise(self) -> None:
        """Write the configuration and prepare an empty data directory."""

    @abstractmethod
    def server_command(self) -> tuple[list[str], dict[str, str]]:
        """The server's command line, and variables to add to its environment.

        Raises:
            UnavailableError: the server's program is gone.
        """

    @abstractmethod
    def secure(self) -> None:
        """On a new server: create the client's account and close all others."""

    # What all share

    @property
    def job(self) -> str:
        """The job under which the server runs."""
        return _job(self.instance.side)

    @property
    def data(self) -> Path:
        """The data directory, in the side's own directory."""
        return self.instance.directory / "data"

    @property
    def place(self) -> Path:
        """The path by which a running server knows its side's directory, the same for both sides.

        It is a link that each start sets. No data move, so whatever is interrupted, a side's data
        are in its own directory.
        """
        return self.instance.directory.with_name(PLACE)

    @property
    def snapshot(self) -> Path:
        """The snapshot of the loaded, analyzed, stopped server."""
        return self.instance.directory / "snapshot"

    def deploy(self) -> None:
        self.stop()
        self.executor.run(["rm", "-rf", str(self.instance.directory)], timeout_s=600)
        self.executor.run(["mkdir", "-p", "-m", "700", str(self.instance.directory)])
        self.executor.put(self.client_config, self._client_options(), private=True)
        self.initialise()
        self._launch()
        self.secure()
        self.wait_until_ready()

    def start(self) -> None:
        self._launch()
        self.wait_until_ready()

    def start_for_trial(self) -> None:
        """See :class:`Database`; slows the server down if the plan wants that.

        Raises:
            EngineError: the slowdown did not begin; quotes its output.
        """
        if self._slowdown.has_ended():
            self.stop()  # a slowdown that was killed may have left the server stopped
        self.start()
        if self.instance.slowdown_pct:
            self._slowdown.begin()

    def stop(self) -> None:
        self._stop_server()
        self.executor.forget_job(self.job)

    def stop_soon(self) -> None:
        if not self.instance.slowdown_pct:  # a slowdown has to end before its server
            self.executor.ask_job_to_end(self.job)

    def running(self) -> bool:
        return self._runs(self.instance.side)

    def _runs(self, side: Side) -> bool:
        return self.executor.job_status(_job(side)).state == "running"

    def gone(self, error: CommandError) -> str | None:
        status = self.executor.job_status(self.job)
        if status.state == "running":
            return None
        return f"the server ended while starting (exit code {status.exit_code})"

    def backup(self) -> None:
        self._stop_server()
        if (status := self.executor.job_status(self.job)).exit_code != 0:
            raise EngineError(
                f"{self._name()}: the server did not stop cleanly before the snapshot (exit code "
                f"{status.exit_code}); its last output:\n{self.log_tail()}"
            )
        self.executor.forget_job(self.job)
        snapshot_module.copy(self.executor, self.data, self.snapshot)

    def restore(self) -> None:
        self.stop()
        snapshot_module.copy(self.executor, self.snapshot, self.data)

    def log_tail(self) -> str:
        return "\n".join(self.executor.job_output(self.job).splitlines()[-12:])

    def columns(self) -> Mapping[str, float | None]:
        """See :class:`Database`.

        Raises:
            EngineError: the slowdown ended during the trial.
        """
        if self.instance.slowdown_pct:
            self._slowdown.check()
        return super().columns()

    def ended_servers(self) -> Sequence[Message]:
        status = self.executor.job_status(self.job)
        if status.state in ("absent", "running"):
            return []
        how = ended_servers.by_exit_code(status.exit_code)
        log = self.log_tail().splitlines()
        secrets = [self.instance.password]
        return [ended_servers.ended(self.name, self.executor.host, how, log, secrets)]

    @property
    def _slowdown(self) -> SlowdownJob:
        return SlowdownJob(
            executor=self.executor,
            job=f"slowdown-{self.instance.side}",
            program=self.instance.directory / "slowdown.py",
            find=f"cat ../{self.job}/pid",
            percent=self.instance.slowdown_pct,
            python=sys.executable,
        )

    def _stop_server(self) -> None:
        self._slowdown.end()
        self.executor.stop_job(self.job, timeout_s=STOP_LIMIT_S)

    def _launch(self) -> None:
        if self.running():
            return
        self._take_place()
        self.executor.forget_job(self.job)
        command, env = self.server_command()
        self.executor.start_job(self.job, command, env=env)

    def _take_place(self) -> None:
        """Let the link :attr:`place` lead to this side.

        Raises:
            EngineError: the other side's server runs, and would be taken for this one.
        """
        for side in SIDES:
            if side != self.instance.side and self._runs(side):
                raise EngineError(
                    f"{self._name()}: the server of {side} still runs, on the port of both: end it "
                    "first, as `benchlab give-back` does"
                )
        self.executor.run(["ln", "-sfnT", self.instance.directory.name, str(self.place)])


def _job(side: Side) -> str:
    return f"server-{side}"
