"""A MariaDB server that is not Benchlab's: started, upgraded and stopped by the test."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.ports import free_port

LIMIT_S = 60.0
# TiDB's own function, for a server that calls itself one; MariaDB has no function outside a schema
# but such a one.
TIDB_VERSION = """
static char text[] = "Release Version: REPORTS\\nEdition: Stand-in\\nGit Commit Hash: COMMIT";
char tidb_version_init(void *init, void *arguments, char *message) { return 0; }
char *tidb_version(void *init, void *arguments, char *result, unsigned long *length, char *no) {
    *length = sizeof text - 1;
    return text;
}
"""


class GivenServer:
    """One server, whose data outlive it; ``tls`` makes it offer encrypted connections."""

    def __init__(
        self, servers: Path, folder: Path, *, tls: bool = False, address: str = "127.0.0.1"
    ) -> None:
        self.servers, self.folder, self.port = servers, folder, free_port()
        self.address = address
        self.socket = folder / "s"
        self.tls = tls
        if tls:
            certificate(folder / "server", address)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, version: str, reports: str | None = None) -> None:
        """Start a version on the data that are there; makes them where there are none.

        Args:
            reports: what it calls itself, where that is not its own version.
        """
        base = self.servers / "mariadb" / version
        if not (self.folder / "data").exists():
            shutil.copytree(base / "empty-data", self.folder / "data")
            (self.folder / "tmp").mkdir()
        program = next(p for n in ("mariadbd", "mysqld") if (p := base / "bin" / n).exists())
        options = {
            "basedir": base,
            "datadir": self.folder / "data",
            "tmpdir": self.folder / "tmp",
            "socket": self.socket,
            "pid-file": self.folder / "pid",
            "port": self.port,
            "bind-address": self.address,
            "innodb-flush-log-at-trx-commit": 0,
        }
        if reports is not None:
            options["version"] = reports
            options["skip-name-resolve"] = "ON"  # its root comes by an address
            options["plugin-dir"] = self.folder
        if self.tls:
            options |= {f"ssl-{what}": self.folder / f"server.{what}" for what in ("cert", "key")}
        words = [f"--{name}={value}" for name, value in options.items()]
        root = ["--user=root"] if os.geteuid() == 0 else []
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(program), "--no-defaults", *words, *root],
                env={**os.environ, "LD_LIBRARY_PATH": str(base / "libs")},
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + LIMIT_S
        while not self._answers():
            ended = self._process.poll() is not None or time.monotonic() > deadline
            assert not ended, (self.folder / "log").read_text()
            time.sleep(0.1)
        if reports is not None:
            self._be_asked_as_tidb(reports.rpartition("TiDB-")[2])

    def stop(self) -> None:
        """Stop it, as for an upgrade."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(LIMIT_S)
            self._process = None

    def upgrade(self, version: str) -> None:
        """Another version on the same data, as an administrator does it in place."""
        self.stop()
        self.start(version)

    def sql(self, statement: str) -> str:
        """What a statement of its administrator prints."""
        done = self._mariadb(statement)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def account(self, name: str, password: str, *, grant: str = "ALL ON *.*") -> None:
        """An account that can log in from anywhere, with these rights only."""
        quoted = password.replace("\\", "\\\\").replace("'", "''")
        self.sql(
            f"DROP USER IF EXISTS '{name}'@'%'; CREATE USER '{name}'@'%' IDENTIFIED BY '{quoted}';"
            f"GRANT {grant} TO '{name}'@'%'"
        )

    def _be_asked_as_tidb(self, version: str) -> None:
        source = TIDB_VERSION.replace("REPORTS", version).replace("COMMIT", "0" * 40)
        library = self.folder / "tidb_version.so"
        compiler = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
        subprocess.run(compiler, input=source, text=True, check=True)
        self.sql(f"CREATE FUNCTION tidb_version RETURNS STRING SONAME '{library.name}'")

    def _answers(self) -> bool:
        return self._mariadb("SELECT 1").returncode == 0

    def _mariadb(self, statement: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                *("mariadb", "--no-defaults", f"--socket={self.socket}", "--user=root"),
                *("--batch", "--skip-column-names", "--default-character-set=utf8mb4"),
            ],
            input=statement,
            text=True,
            capture_output=True,
        )


def certificate(path: Path, address: str) -> None:
    """A certificate that is its own authority: ``path.cert`` and ``path.key``."""
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-keyout", f"{path}.key", "-out", f"{path}.cert", "-subj", "/CN=test"),
            *("-addext", f"subjectAltName=IP:{address}"),
        ],
        check=True,
        capture_output=True,
    )


@contextmanager
def running(
    servers: Path,
    folder: Path,
    version: str,
    *,
    tls: bool = False,
    reports: str | None = None,
    address: str = "127.0.0.1",
) -> Iterator[GivenServer]:
    """A server that runs as long as the caller needs it; anybody without a name is locked out."""
    server = GivenServer(servers, folder, tls=tls, address=address)
    try:
        server.start(version, reports)
        for host in server.sql("SELECT host FROM mysql.user WHERE user = ''").split():
            server.sql(f"DROP USER ''@'{host}'")
        yield server
    finally:
        server.stop()
