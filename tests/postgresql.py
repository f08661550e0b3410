"""A PostgreSQL of one's own on loopback, where its server is installed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.ports import free_port


def programs() -> Path | None:
    """Where the newest server's programs are; None where it is not installed."""
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


class Server:
    """A server that can be stopped and started again.

    Args:
        bin_: :func:`programs`.
        directory: of its data and log.
        as_user: the command that runs others as its account.
    """

    def __init__(self, bin_: Path, directory: Path, as_user: list[str]) -> None:
        self._bin, self._directory, self._as_user = bin_, directory, as_user
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql+psycopg2://bench@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        log = self._directory / "log"
        with log.open("a") as output:
            self._process = subprocess.Popen(
                [
                    *self._as_user,
                    *(str(self._bin / "postgres"), "-D", str(self._directory / "data")),
                    *("-p", str(self._port), "-c", "listen_addresses=127.0.0.1"),
                    *("-c", "unix_socket_directories="),
                ],
                cwd=self._directory,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        ready = [str(self._bin / "pg_isready"), "-h", "127.0.0.1", "-p", str(self._port)]
        while subprocess.run(ready, check=False, capture_output=True).returncode != 0:
            assert self._process.poll() is None, log.read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        """End it with all its connections, and wait until it is gone."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(30)


@contextmanager
def running(bin_: Path) -> Iterator[str]:
    """The URL of a new server, which is gone afterwards."""
    with server(bin_) as found:
        yield found.url


@contextmanager
def server(bin_: Path) -> Iterator[Server]:
    """A new server, which is gone afterwards.

    Args:
        bin_: :func:`programs`.
    """
    # Not in pytest's folder, which every other run of pytest makes private to this account again.
    with tempfile.TemporaryDirectory(prefix="benchlab-postgresql-") as name:
        directory = Path(name)
        # The server refuses to run as root.
        as_user: list[str] = []
        if (Path("/proc/self").stat().st_uid) == 0:
            as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            shutil.chown(directory, "postgres", "postgres")
        subprocess.run(
            [*as_user, bin_ / "initdb", "-D", directory / "data", "-A", "trust", "-U", "bench"],
            check=True,
            capture_output=True,
            cwd=directory,
        )
        made = Server(bin_, directory, as_user)
        try:
            made.start()
            yield made
        finally:
            made.stop()
