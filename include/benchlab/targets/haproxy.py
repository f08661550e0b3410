"""HAProxy in front of one side's servers: its configuration, its job, its statistics; or none.

The configuration has ``nbthread`` instead of the published ``nbproc``, which HAProxy refuses since
2.5. A server counts as ready only after a successful health check: HAProxy calls an unchecked
server UP.
"""

from __future__ import annotations

import csv
import io
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchlab.errors import CommandError, TargetError
from benchlab.hosts.executor import Executor
from benchlab.language import templates
from benchlab.plan.fields.load_balancer import MAX_THREADS, HAProxySettings

JOB = "haproxy"
READY_LIMIT_S = 30.0
SIDE_STEP = 100


@dataclass(frozen=True)
class Backend:
    """One server as the statistics show it.

    Attributes:
        status: HAProxy's word for its state, as ``UP``.
        check_status: the result of the last health check, as ``L4OK``.
        sessions: the sessions that it was given since HAProxy started, without health checks; None
            if the counter is missing.
    """

    name: str
    status: str
    check_status: str
    sessions: int | None

    @property
    def up(self) -> bool:
        """Whether it is UP because a check succeeded, not by default."""
        return self.status == "UP" and self.check_status in ("L4OK", "L7OK")


@dataclass(frozen=True)
class HAProxy:
    """A load balancer on one host.

    Example:
        ``balancer.configure(); balancer.start(); balancer.statistics()``

    Args:
        executor: the host it runs on.
        directory: where its configuration is written.
        host: the address it listens on.
        entry_port: where clients connect.
        stats_port: where it serves its statistics.
        backends: ``host:port`` of each server, by name.
        maxconn: the most connections; above the largest thread count.
        threads: HAProxy's own threads; at most :data:`MAX_THREADS` are used.
        settings: the rest of its configuration.
        job: the name of its job and of its configuration.
    """

    executor: Executor
    directory: Path
    host: str
    entry_port: int
    stats_port: int
    backends: Mapping[str, str]
    maxconn: int
    threads: int
    settings: HAProxySettings = field(default_factory=HAProxySettings)
    job: str = JOB

    def beside(self) -> HAProxy:
        """One that can run beside another side's: on ports 100 higher, or lower near 65535."""
        step = (
            SIDE_STEP if max(self.entry_port, self.stats_port) + SIDE_STEP < 2**16 else -SIDE_STEP
        )
        return replace(
            self,
            entry_port=self.entry_port + step,
            stats_port=self.stats_port + step,
            job=f"{self.job}-beside",
        )

    def configure(self) -> None:
        """Write the configuration and have HAProxy check it.

        Raises:
            CommandError: HAProxy refuses it; quotes its message.
        """
        self.executor.put(self._config, self.render())
        self.executor.run(["haproxy", "-c", "-f", str(self._config)])

    def render(self) -> str:
        """The configuration's text."""
        here = templates.environment(
            "benchlab.targets", autoescape=False, keep_trailing_newline=True
        )
        return here.get_template("haproxy.cfg.j2").render(
            host=self.host,
            entry_port=self.entry_port,
            stats_port=self.stats_port,
            backends=self.backends,
            maxconn=self.maxconn,
            threads=min(self.threads, MAX_THREADS),
            settings=self.settings,
        )

    def start(self) -> None:
        """Start it and wait until a health check has found every backend UP.

        Raises:
            TargetError: HAProxy ended, or a backend is still down after :data:`READY_LIMIT_S`
                seconds; names it.
        """
        self.launch()
        deadline = time.monotonic() + READY_LIMIT_S
        while True:
            try:
                found = {b.name: b for b in self.statistics()}
                down = [f"{b.name} {b.status} {b.check_status}" for b in found.values() if not b.up]
                down += [f"{name} is not there" for name in self.backends if name not in found]
                if not down:
                    return
            except CommandError as error:
                down = [str(error)]
            if self.executor.job_status(self.job).state != "running":
                raise TargetError(
                    f"{self.executor.host}: HAProxy ended while starting: "
                    f"{self.executor.job_output(self.job)[-2000:]}"
                )
            if time.monotonic() > deadline:
                raise TargetError(
                    f"{self.executor.host}: HAProxy still finds backends down after "
                    f"{READY_LIMIT_S:g} s: {'; '.join(down)}"
                )
            time.sleep(0.03)

    def launch(self) -> None:
        """Start it without waiting."""
        self.executor.forget_job(self.job)
        self.executor.start_job(self.job, ["haproxy", "-db", "-f", str(self._config)])

    def stop(self) -> None:
        """Stop it, if it runs."""
        self.executor.stop_job(self.job, timeout_s=5)
        self.executor.forget_job(self.job)

    def statistics(self) -> list[Backend]:
        """The figures of every backend server.

        Raises:
            CommandError: nothing answers at the statistics port, or not HAProxy.
        """
        url = f"http://{self.host}:{self.stats_port}/;csv"
        command = ["curl", "-sS", "--fail", "--noproxy", "*", "--max-time", "5", url]
        page = self.executor.run(command).stdout
        try:
            return parse_statistics(page)
        except (ValueError, csv.Error) as error:
            raise CommandError(
                self.executor.host, shlex.join(command), 0, page, "not HAProxy's statistics"
            ) from error

    @property
    def _config(self) -> Path:
        return self.directory / f"{self.job}.cfg"


# The columns of its statistics that are read.
_READ = ("pxname", "svname", "status", "check_status", "stot")


def even_threads(cores: int, connections: Iterable[int]) -> int:
    """The most threads of HAProxy, at most one a core, that treat all connections alike.

    HAProxy gives a connection to the thread with the fewest (``tune.listener.multi-queue``, on by
    default; 50 connections were seen as 25 times 2 on 25 threads, and as 1 or 2 on 36). So all
    connections share their threads with equally many others if the threads divide the connections,
    and with none if there are at least as many threads.

    Args:
        connections: how many there are at once, in each kind of trial.

    Example:
        For 50, 100 and 300 connections on 36 cores: 25. For 1, 16 and 64: 32.
    """
    most, counts = min(cores, MAX_THREADS), tuple(connections)
    alike = (n for n in range(most, 1, -1) if all(c <= n or c % n == 0 for c in counts))
    return next(alike, 1)


def connection_spread(backends: Sequence[Backend]) -> float | None:
    """The largest number of sessions of any server minus the smallest.

    `roundrobin` gives each connection to the next server, which keeps the spread at 1 or less;
    `leastconn`, which goes by open connections, would not.

    Returns:
        None without servers, or if a count is missing.

    Example:
        Servers that were given 5 and 3 sessions have a spread of 2.0.
    """
    sessions = [backend.sessions for backend in backends if backend.sessions is not None]
    if not backends or len(sessions) != len(backends):
        return None
    return float(max(sessions) - min(sessions))


def parse_statistics(page: str) -> list[Backend]:
    """The servers of the proxy ``sql`` in HAProxy's statistics CSV.

    Raises:
        ValueError, csv.Error: it is not that, or a row is cut.
    """
    reader = csv.DictReader(io.StringIO(page.removeprefix("# ")))
    rows, named = list(reader), reader.fieldnames or () if page.startswith("# ") else ()
    if set(_READ) - {*named} or any(row[column] is None for row in rows for column in _READ):
        raise ValueError("a column or a cell is missing")
    return [
        Backend(
            name=row["svname"],
            status=row["status"].split(" ")[0],
            check_status=row["check_status"].removeprefix("* "),
            sessions=int(row["stot"]) if row["stot"] else None,
        )
        for row in rows
        if row["pxname"] == "sql" and row["svname"] not in ("FRONTEND", "BACKEND")
    ]


@dataclass(frozen=True)
class Direct:
    """No load balancer: the client connects to a side's only server.

    It has the methods of :class:`HAProxy`, so that a trial takes the same steps. The engine waits
    until the server is ready.

    Attributes:
        host, entry_port: where the server listens.
    """

    host: str
    entry_port: int

    def beside(self) -> Direct:
        """The same: if both sides are loaded at once, their servers have their own addresses."""
        return self

    def configure(self) -> None:
        """Do nothing."""

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def statistics(self) -> Sequence[Backend]:
        """No backends, so that gates on them are not evaluated."""
        return ()
