"""A PostgreSQL of one's own on loopback, where its server is installed."""

from __future__ import annotations

import shutil
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


@contextmanager
def running(bin_: Path) -> Iterator[str]:
    """A new server, which is gone afterwards; its URL.

    Args:
        bin_: :func:`programs`.
    """
    # Not in pytest's folder, which every other run of pytest makes private to this account again.
    with tempfile.TemporaryDirectory(prefix="benchlab-postgresql-") as name:
        directory = Path(name)
        port = free_port()
        # The server refuses to run as root.
        as_user: list[str] = []
        if (Path("/proc/self").stat().st_uid) == 0:
            as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            shutil.chown(directory, "postgres", "postgres")
        data = directory / "data"
        subprocess.run(
            [*as_user, bin_ / "initdb", "-D", data, "-A", "trust", "-U", "bench"],
            check=True,
            capture_output=True,
            cwd=directory,
        )
        log = (directory / "log").open("w")
        server = subprocess.Popen(
            [
                *(*as_user, str(bin_ / "postgres"), "-D", str(data), "-p", str(port)),
                *("-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="),
            ],
            cwd=directory,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            ready = [str(bin_ / "pg_isready"), "-h", "127.0.0.1", "-p", str(port)]
            while subprocess.run(ready, check=False, capture_output=True).returncode != 0:
                assert server.poll() is None, (directory / "log").read_text()
                time.sleep(0.05)
            yield f"postgresql+psycopg2://bench@127.0.0.1:{port}/postgres"
        finally:
            server.terminate()
            server.wait(30)
            log.close()
