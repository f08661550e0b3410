"""The embedded TPC-C client: what it loads, what it does to it, and how its runs end."""

from __future__ import annotations

import dataclasses
import math
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchlab.engines.database import USER
from benchlab.engines.mariadb import Engine
from benchlab.plan.fields.client import Client
from benchlab.workloads import tpcc
from benchlab.workloads.client import Endpoint, Session
from benchlab.workloads.tpcc import Warehouses
from tests import warehouses
from tests.machine import VERSIONS

DATASET = Warehouses(warehouses=2)
EMBEDDED = Client(program="embedded")
CLIENT_LIMIT_S = 120
SECONDS = 4

# What TPC-C 5.11 demands at any time, as the number of warehouses or districts that break it.
CONDITIONS = {
    "3.3.2.1": """SELECT COUNT(*) FROM warehouse JOIN
        (SELECT d_w_id, SUM(d_ytd) ytd FROM district GROUP BY d_w_id) d ON d_w_id = w_id
        WHERE w_ytd <> ytd""",
    "3.3.2.2": """SELECT COUNT(*) FROM district
        JOIN (SELECT o_w_id, o_d_id, MAX(o_id) last FROM orders GROUP BY o_w_id, o_d_id) o
        ON o_w_id = d_w_id AND o_d_id = d_id
        JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) last FROM new_order GROUP BY no_w_id, no_d_id) n
        ON no_w_id = d_w_id AND no_d_id = d_id
        WHERE d_next_o_id - 1 <> o.last OR d_next_o_id - 1 <> n.last""",
    "3.3.2.3": """SELECT COUNT(*) FROM (SELECT MAX(no_o_id) - MIN(no_o_id) + 1 - COUNT(*) gap
        FROM new_order GROUP BY no_w_id, no_d_id) n WHERE gap <> 0""",
    "3.3.2.4": """SELECT COUNT(*) FROM
        (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) wanted FROM orders GROUP BY o_w_id, o_d_id) o
        JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) found FROM order_line GROUP BY ol_w_id, ol_d_id) l
        ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE wanted <> found""",
}


@dataclass
class Loaded:
    """A real MariaDB with what `prepare` loaded, and the client's files."""

    server: Engine
    folder: Path
    rows: dict[str, int]
    broken: dict[str, int]
    database: str = warehouses.DATABASE

    @property
    def endpoint(self) -> Endpoint:
        """Where the client connects."""
        port = self.server.instance.port
        return Endpoint("127.0.0.1", port, USER, warehouses.PASSWORD, self.database)

    def number(self, statement: str) -> int:
        """The one number that a statement gives."""
        return int(self.server.sql(f"USE {warehouses.DATABASE}; {statement}")[0][0])

    def violations(self) -> dict[str, int]:
        """By condition, how many warehouses or districts break it."""
        return {clause: self.number(statement) for clause, statement in CONDITIONS.items()}

    def count(self) -> dict[str, int]:
        """The rows of each table."""
        return {
            table: self.number(f"SELECT COUNT(*) FROM {table}") for table in DATASET.rows_by_table
        }

    def prepare(self) -> subprocess.CompletedProcess[str]:
        """`prepare`, to its end."""
        config = str(self.folder / "sysbench.cfg")
        # Two threads is what the product starts for two warehouses; the script is made for more.
        command = tpcc.prepare_command(Session(self.endpoint, config, DATASET, 4, EMBEDDED))
        command = [word if "threads" not in word else "--threads=4" for word in command]
        return subprocess.run(
            command, check=False, text=True, timeout=CLIENT_LIMIT_S, stdout=subprocess.PIPE
        )

    def start(
        self, *, threads: int = 4, seconds: int = SECONDS, dataset: Warehouses = DATASET
    ) -> subprocess.Popen[str]:
        """`run`, going on."""
        command = tpcc.run_command(
            "tpcc",
            Session(self.endpoint, str(self.folder / "sysbench.cfg"), dataset, threads, EMBEDDED),
            seconds=seconds,
            ignore_errors=Engine.retryable_errors,
        )
        return subprocess.Popen(command, text=True, stdout=subprocess.PIPE)


@pytest.fixture(scope="module")
def loaded(servers: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    """Two warehouses, loaded once; the tests leave them larger, but consistent."""
    folder = tmp_path_factory.mktemp("tpcc")
    with warehouses.running(VERSIONS[-1], servers, folder) as server:
        # The load is not to wait for this machine's disk.
        server.sql(
            f"CREATE DATABASE IF NOT EXISTS {warehouses.DATABASE};"
            "CREATE DATABASE IF NOT EXISTS empty;"
            "SET GLOBAL innodb_flush_log_at_trx_commit = 0;"
            "SET GLOBAL innodb_buffer_pool_size = 512 * 1024 * 1024"
        )
        found = Loaded(server, folder, {}, {})
        (folder / "sysbench.cfg").write_text(tpcc.config_file_text(found.endpoint))
        shutil.copy(tpcc.SCRIPT, folder)
        done = found.prepare()
        assert done.returncode == 0, done.stdout
        found.rows, found.broken = found.count(), found.violations()
        yield found


def test_prepare_loads_the_rows_of_the_standard(loaded: Loaded) -> None:
    """Every table has its cardinality; an order has 5 to 15 lines, 10 on average."""
    expected = {name: rows for name, rows in DATASET.rows_by_table.items() if rows is not None}
    assert {name: loaded.rows[name] for name in expected} == expected
    assert loaded.rows["order_line"] == pytest.approx(10 * loaded.rows["orders"], rel=0.02)


def test_a_fresh_load_is_consistent(loaded: Loaded) -> None:
    """The four conditions that every kit has to show hold after `prepare`."""
    assert loaded.broken == dict.fromkeys(CONDITIONS, 0)


def test_a_run_is_whole_and_leaves_the_data_consistent(loaded: Loaded) -> None:
    """Its figures agree with each other and with the tables, and no condition is broken."""
    before = loaded.count()
    client = loaded.start()
    text = _output(client)
    assert client.returncode == 0
    found = tpcc.parse(text)
    assert (found.status, found.reasons) == ("complete", ())
    assert found.duration_s is not None
    assert found.duration_s > SECONDS - 0.5
    new_orders, payments = found.operations["NEW_ORDER"], found.operations["PAYMENT"]
    assert found.tpmc == pytest.approx(new_orders.count * 60 / found.duration_s, rel=0.15)
    assert found.transactions is not None
    chance = 4 * math.sqrt(0.45 * 0.55 / found.transactions)  # four standard errors
    assert new_orders.count / found.transactions == pytest.approx(0.45, abs=chance)
    assert payments.count / found.transactions == pytest.approx(0.43, abs=chance)
    for one in found.operations.values():
        assert one.p50_ms <= one.p95_ms <= one.p999_ms <= one.max_ms
        assert one.sum_ms == pytest.approx(one.avg_ms * one.count, abs=0.06 * one.count)
    # Threads that never wait are in a transaction all the time.
    busy_s = sum(one.sum_ms for one in found.operations.values()) / 1000
    assert busy_s == pytest.approx(4 * SECONDS, rel=0.1)

    after = loaded.count()
    assert loaded.violations() == dict.fromkeys(CONDITIONS, 0)
    assert after["history"] - before["history"] == payments.count
    # 1 % is rolled back, which is counted as done; of few on a busy machine perhaps none.
    written = after["orders"] - before["orders"]
    assert 0.95 * new_orders.count < written <= new_orders.count


def test_a_run_has_a_series_without_gaps(loaded: Loaded) -> None:
    """One value a second, the last one too, and together they are the summary's."""
    found = tpcc.parse(_output(loaded.start()))
    assert [one.t for one in found.series] == pytest.approx(range(1, SECONDS + 1), abs=0.5)
    assert found.tps is not None
    assert sum(one.tps for one in found.series) / SECONDS == pytest.approx(found.tps, rel=0.1)


def test_one_line_and_payment_in_some_is_remote(loaded: Loaded) -> None:
    """1 % of the lines (2.4.1.5) and 15 % of the payments (2.5.1.2) go to another warehouse."""
    _output(loaded.start(threads=8))
    payments = loaded.number("SELECT COUNT(*) FROM history") - loaded.rows["history"]
    remote = loaded.number("SELECT COUNT(*) FROM history WHERE h_c_w_id <> h_w_id")
    assert remote / payments == pytest.approx(0.15, abs=0.05)
    lines = loaded.number("SELECT COUNT(*) FROM order_line WHERE ol_o_id > 3000")
    remote = loaded.number("SELECT COUNT(*) FROM order_line WHERE ol_supply_w_id <> ol_w_id")
    assert remote / lines == pytest.approx(0.01, abs=0.005)
    taken = loaded.number("SELECT SUM(s_remote_cnt) FROM stock")
    assert taken == remote


def test_deadlocks_are_counted_and_survived(loaded: Loaded) -> None:
    """Their transactions are rolled back, the run goes on, and each is in the summary."""
    client = loaded.start(threads=8)
    time.sleep(1)
    # Against the clients' order, which is district before stock; the fewest changes are undone.
    loaded.server.sql(
        f"USE {loaded.database}; BEGIN; SELECT COUNT(*) FROM stock FOR UPDATE;"
        "SELECT SLEEP(0.3); UPDATE district SET d_ytd = d_ytd; ROLLBACK"
    )
    found = tpcc.parse(_output(client))
    assert client.returncode == 0
    assert found.status == "complete", found.reasons
    assert found.error_numbers.get("1213", 0) > 0
    assert found.errors == sum(found.error_numbers.values())
    assert found.operations["NEW_ORDER_ERR"].count > 0
    assert loaded.violations() == dict.fromkeys(CONDITIONS, 0)


def test_a_run_whose_server_is_killed_has_failed(loaded: Loaded) -> None:
    """It ends long before its minute is over: an exit code, the server's error and no summary."""
    client = loaded.start(seconds=60)
    head = _until_figures(client)
    os.kill(int((loaded.server.data / "mysql.pid").read_text()), signal.SIGKILL)
    text = head + _output(client)
    assert text.count("[Current] STOCK_LEVEL -") < 30, "it prints one each second"
    loaded.server.stop()
    loaded.server.start()
    assert client.returncode not in (0, -signal.SIGSEGV)
    found = tpcc.parse(text)
    assert found.status == "failed"
    assert found.tpmc is None
    assert any("execute run failed, err Error 2013" in reason for reason in found.reasons)


def test_a_run_that_was_killed_is_incomplete(loaded: Loaded) -> None:
    """What it printed until then is no measurement."""
    client = loaded.start(seconds=60)
    head = _until_figures(client)
    client.kill()
    found = tpcc.parse(head + _output(client))
    assert (found.status, found.tpmc) == ("incomplete", None)


def test_another_number_of_warehouses_is_refused(loaded: Loaded) -> None:
    """A run on fewer warehouses than were loaded would be another workload."""
    client = loaded.start(dataset=Warehouses(warehouses=1))
    text = _output(client)
    assert client.returncode == 1
    assert "FATAL" in text
    assert "--warehouses is 1 and the database holds 2: give the number that was loaded" in text
    assert tpcc.parse(text).status == "failed"


def test_a_run_without_tables_is_refused(loaded: Loaded) -> None:
    """The sentence says what is missing and what to do."""
    client = dataclasses.replace(loaded, database="empty").start()
    text = _output(client)
    assert client.returncode == 1
    assert "the table warehouse cannot be read (Error 1146: " in text
    assert "run `prepare` with --warehouses=2 on this database first" in text


def test_a_load_into_a_full_database_fails(loaded: Loaded) -> None:
    """With an exit code, which sysbench forgets when a thread of a command fails."""
    done = loaded.prepare()
    assert done.returncode == 1
    assert "FATAL: prepare failed: Error 1050: " in done.stdout
    assert loaded.number("SELECT COUNT(*) FROM item") == loaded.rows["item"]


def _output(client: subprocess.Popen[str]) -> str:
    """The rest of what a client prints; it has ended then."""
    assert client.stdout is not None
    with client:
        text = client.stdout.read()
        client.wait(CLIENT_LIMIT_S)
    return text


def _until_figures(client: subprocess.Popen[str]) -> str:
    """What a client prints until its first interval is over."""
    assert client.stdout is not None
    text = ""
    while "STOCK_LEVEL" not in text:
        line = client.stdout.readline()
        assert line, text
        text += line
    return text
