"""HAProxy in front of one side's servers: rendered, checked, run as a job, watched.

``nbthread`` instead of the published ``nbproc``, which HAProxy refuses since 2.5. A server counts
as ready only when a health check has succeeded: HAProxy calls an unchecked one UP.
"""

from __future__ import annotations

import csv
import io
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from benchlab.errors import CommandError, TargetError
from benchlab.hosts.executor import Executor

JOB = "haproxy"
READY_LIMIT_S = 30.0
MAX_THREADS = 64


@dataclass(frozen=True)
class Backend:
    """One server as the statistics show it: its state, last check and sessions so far.

    Attributes:
        sessions: given to it since HAProxy started, health checks left out; None where the
            counter is missing.
    """

    name: str
    status: str
    check_status: str
    sessions: int | None

    @property
    def up(self) -> bool:
        """UP by a check that succeeded, not by default."""
        return self.status == "UP" and self.check_status in ("L4OK", "L7OK")


@dataclass(frozen=True)
class HAProxy:
    """A load balancer on one host.

    Args:
        backends: ``host:port`` of each server, by name.
        maxconn: above the largest thread count.
        threads: of HAProxy itself, at most 64.
    """

    executor: Executor
    directory: Path
    host: str
    entry_port: int
    stats_port: int
    backends: Mapping[str, str]
    maxconn: int
    threads: int

    def configure(self) -> None:
        """Write the configuration and let HAProxy check it.

        Raises:
            CommandError: HAProxy refuses it; quotes what it says.
        """
        self.executor.put(self._config, self.render())
        self.executor.run(["haproxy", "-c", "-f", str(self._config)])

    def render(self) -> str:
        """The configuration's text."""
        templates = Environment(
            loader=PackageLoader("benchlab.targets", "."),
            undefined=StrictUndefined,
            autoescape=False,  # noqa: S701 - not HTML
            keep_trailing_newline=True,
        )
        return templates.get_template("haproxy.cfg.j2").render(
            host=self.host,
            entry_port=self.entry_port,
            stats_port=self.stats_port,
            backends=self.backends,
            maxconn=self.maxconn,
            threads=min(self.threads, MAX_THREADS),
        )

    def start(self) -> None:
        """Start it and wait until a health check has found every backend UP.

        Raises:
            TargetError: HAProxy ended, or a backend stays down; names it.
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
            if self.executor.job_status(JOB).state != "running":
                raise TargetError(
                    f"{self.executor.host}: HAProxy ended while starting: "
                    f"{self.executor.job_output(JOB)[-2000:]}"
                )
            if time.monotonic() > deadline:
                raise TargetError(
                    f"{self.executor.host}: HAProxy still finds backends down after "
                    f"{READY_LIMIT_S:g} s: {'; '.join(down)}"
                )
            time.sleep(0.03)

    def launch(self) -> None:
        """Start it, and wait for nothing."""
        self.executor.forget_job(JOB)
        self.executor.start_job(JOB, ["haproxy", "-db", "-f", str(self._config)])

    def stop(self) -> None:
        """Stop it; nothing happens where it does not run."""
        self.executor.stop_job(JOB, timeout_s=5)
        self.executor.forget_job(JOB)

    def statistics(self) -> list[Backend]:
        """Every backend server's figures.

        Raises:
            CommandError: the statistics page does not answer, or something else does.
        """
        url = f"http://{self.host}:{self.stats_port}/;csv"
        command = ["curl", "-sS", "--fail", "--max-time", "5", url]
        page = self.executor.run(command).stdout
        if not page.startswith("# pxname,"):
            raise CommandError(
                self.executor.host, shlex.join(command), 0, page, "not HAProxy's statistics"
            )
        return parse_statistics(page)

    @property
    def _config(self) -> Path:
        return self.directory / "haproxy.cfg"


def connection_spread(backends: Sequence[Backend]) -> float | None:
    """The most sessions of a server less the fewest; None without servers or with a count missing.

    Example:
        Servers that were given 5 and 3 sessions have a spread of 2.0.

    `roundrobin` gives the next connection to the next server and so keeps it at 1 or less;
    `leastconn`, which looks at what is open, would not.
    """
    sessions = [backend.sessions for backend in backends if backend.sessions is not None]
    if not backends or len(sessions) != len(backends):
        return None
    return float(max(sessions) - min(sessions))


def parse_statistics(page: str) -> list[Backend]:
    """Read HAProxy's statistics CSV; the servers of the proxy ``sql`` only."""
    rows = csv.DictReader(io.StringIO(page.removeprefix("# ")))
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
