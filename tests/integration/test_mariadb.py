"""What real MariaDB servers of each release count as background work, and leave to others."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchlab.engines.mariadb import EMPTY, Engine
from benchlab.hosts.executor import LocalExecutor
from tests import warehouses
from tests.machine import LIMIT_S, VERSIONS

OF_ANOTHER_SERVER = "#sql-temptable-73bc-1-4.MAD"


@pytest.fixture(scope="module", params=VERSIONS)
def server(
    request: pytest.FixtureRequest, servers: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """A server of each release."""
    folder = tmp_path_factory.mktemp("server")
    (shared := folder / "shared").mkdir()
    (shared / OF_ANOTHER_SERVER).touch()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TMPDIR", str(shared))
        with warehouses.running(request.param, servers, folder) as found:
            found.sql("CREATE DATABASE IF NOT EXISTS work; CREATE TABLE work.t (a INT PRIMARY KEY)")
            found.sql("INSERT INTO work.t VALUES (1), (2)")
            yield found


def test_the_temporary_tables_of_another_server_stay(server: Engine) -> None:
    """A server removes those in its directory when it starts, so it gets one of its own."""
    shared = server.instance.directory.parent / "shared"
    assert [file.name for file in shared.iterdir()] == [OF_ANOTHER_SERVER]
    ((tmpdir,),) = server.sql("SELECT @@tmpdir")
    assert Path(tmpdir).resolve().is_relative_to(server.instance.directory.resolve())


def begun_by(server: Engine, statement: str) -> int:
    """How many jobs a statement is."""
    before, *_ = server.background_jobs() or (0, 0)
    server.sql(statement)
    after = server.background_jobs()
    assert after is not None
    assert after.ended == after.begun, "none is left at work"
    return after.begun - before


@pytest.mark.parametrize(
    "statement",
    [
        *("ANALYZE TABLE work.t", "OPTIMIZE TABLE work.t", "CHECK TABLE work.t"),
        *("ALTER TABLE work.t ADD COLUMN b INT", "ALTER TABLE work.t DROP COLUMN b"),
        *("CREATE INDEX i ON work.t (a)", "DROP INDEX i ON work.t"),
        *("CREATE TABLE work.u (a INT)", "TRUNCATE TABLE work.u", "DROP TABLE work.u"),
    ],
)
def test_background_work_is_counted(server: Engine, statement: str) -> None:
    """Whatever comes between a client and its rows, no matter who sent it."""
    assert begun_by(server, statement) == 1


def test_a_clients_own_work_is_not(server: Engine) -> None:
    """Reads, writes and transactions are what is measured."""
    work = "SELECT * FROM t; UPDATE t SET a = a + 10; INSERT INTO t VALUES (7); DELETE FROM t"
    assert begun_by(server, f"USE work; BEGIN; {work}; COMMIT") == 0
    server.sql("INSERT INTO work.t VALUES (1), (2)")


def test_what_is_still_at_work_has_not_ended(server: Engine) -> None:
    """An ALTER that waits for a lock began before the run and works in it."""
    port = f"--port={server.instance.port}"
    client = ["mariadb", f"--defaults-file={server.client_config}", "--protocol=tcp", port]
    with subprocess.Popen(
        [*client, "--batch", "--unbuffered"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdin.write("BEGIN; SELECT * FROM work.t;\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "a\n", "its transaction has the table"
        waiting = [*client, "--execute", "ALTER TABLE work.t COMMENT 'waited'"]
        with subprocess.Popen(waiting):
            deadline = time.monotonic() + LIMIT_S
            while (found := server.background_jobs()) is None or found.begun == found.ended:
                assert time.monotonic() < deadline, "it was never seen at work"
                time.sleep(0.05)
            # It may have begun while the first answer was given; now it waits.
            found = server.background_jobs()
            assert found is not None
            assert found.begun - found.ended == 1
            holder.stdin.close()
    after = server.background_jobs()
    assert after is not None
    assert after.begun == after.ended == found.begun


def test_two_campaigns_at_once_make_the_system_tables_of_a_version(
    servers: Path, tmp_path: Path
) -> None:
    """Whoever is second finds them whole, and nothing half-made stays."""
    version = VERSIONS[0]
    base = tmp_path / "mariadb" / version
    base.mkdir(parents=True)
    for part in ("bin", "libs", "scripts", "share"):
        (base / part).symlink_to(servers / "mariadb" / version / part)
    executors = [LocalExecutor(tmp_path / name, name) for name in ("one", "two")]
    with ThreadPoolExecutor() as campaigns:
        for done in [campaigns.submit(Engine.install, e, version, tmp_path) for e in executors]:
            done.result()
    assert [path.name for path in base.glob(f"{EMPTY}*")] == [EMPTY]
    assert (base / EMPTY / "mysql").is_dir()
