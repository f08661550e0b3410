"""The embedded TPC-C client against go-tpc, on one MariaDB server: loading, and New Orders.

A client is slow where it keeps the server waiting. Each has its own warehouses, loaded by itself;
runs are in turns, so that other work on this machine meets both.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from benchlab import engines
from benchlab.engines.mariadb import Engine
from benchlab.errors import BenchlabError
from benchlab.home import Home
from benchlab.plan.fields.client import Client
from benchlab.plan.fields.dataset import Warehouses
from benchlab.workloads import tpcc
from benchlab.workloads.client import Endpoint, Session
from tests import warehouses
from tests.bench.machine import timed
from tests.bench.row import Row, ratio

NAME = "tpcc"
LOAD_TARGET = 1.5
RUN_TARGET = 1.0
VERSION = "10.11.5"
PROGRAMS = ("embedded", "go-tpc")
THREADS = (1, 4, 16)
LOAD_THREADS = 4
RUN_LIMIT_S = 120
# go-tpc takes no password but from its command line.
USER = "without_password"


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    dataset: Warehouses
    rounds: int
    seconds: int


FULL = Size(Warehouses(warehouses=10), rounds=7, seconds=6)
QUICK = Size(Warehouses(warehouses=2), rounds=3, seconds=4)


def measure(home: Home, work: Path, quick: bool) -> list[Row]:
    """Load the warehouses by each client, then run each at each thread count, in turns.

    Raises:
        BenchlabError: a load left rows out, or a run was not complete; quotes why.
    """
    missing = [name for name in ("go-tpc", "sysbench") if shutil.which(name) is None]
    if missing:
        return [Row.not_measured(NAME, f"{' and '.join(missing)} not on PATH")]
    size = QUICK if quick else FULL
    engines.install("mariadb", VERSION, home)
    folder = work / NAME
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        with warehouses.running(VERSION, home.servers, folder) as server:
            _configure(server)
            loads = {program: [_load(server, program, folder, size)] for program in PROGRAMS}
            rates = _runs(server, folder, size)
    finally:
        shutil.rmtree(folder)
    embedded, go_tpc = PROGRAMS
    name = f"tpcc, load {size.dataset.warehouses} warehouses"
    return [
        ratio(name, (embedded, loads[embedded]), (go_tpc, loads[go_tpc]), LOAD_TARGET),
        *(_row(threads, rates[embedded, threads], rates[go_tpc, threads]) for threads in THREADS),
    ]


def _configure(server: Engine) -> None:
    """The server must not wait for the disk: that would hide how long the clients take."""
    server.sql(
        "SET GLOBAL innodb_flush_log_at_trx_commit = 2; SET GLOBAL max_connections = 100;"
        "SET GLOBAL innodb_buffer_pool_size = 3 * 1024 * 1024 * 1024;"
        "SET GLOBAL innodb_log_file_size = 1024 * 1024 * 1024;"
        "SET GLOBAL innodb_io_capacity_max = 40000; SET GLOBAL innodb_io_capacity = 20000"
    )
    server.sql(f"CREATE USER '{USER}'@'127.0.0.1'")
    for program in PROGRAMS:
        database = _database(program)
        server.sql(f"CREATE DATABASE {database}")
        server.sql(f"GRANT ALL ON {database}.* TO '{USER}'@'127.0.0.1'")


def _database(program: str) -> str:
    return "tpcc_" + program.replace("-", "_")


def _endpoint(server: Engine, program: str) -> Endpoint:
    return Endpoint("127.0.0.1", server.instance.port, USER, "", _database(program))


def _config(folder: Path) -> str:
    """The file of sysbench's options, with the script beside it."""
    path = folder / "sysbench.cfg"
    path.touch()
    shutil.copy(tpcc.SCRIPT, folder)
    return str(path)


def _load(server: Engine, program: str, folder: Path, size: Size) -> float:
    """The seconds that loading takes; all rows must be there then."""
    command = tpcc.prepare_command(
        Session(
            _endpoint(server, program),
            _config(folder),
            size.dataset,
            min(LOAD_THREADS, size.dataset.warehouses),
            Client(program=program),
        )
    )
    seconds = timed(command, os.environ, folder / f"load-{program}")
    for table, rows in tpcc.tables(size.dataset).items():
        found = int(server.sql(f"SELECT COUNT(*) FROM {_database(program)}.{table}")[0][0])
        if rows is not None and found != rows:
            raise BenchlabError(f"{program} loaded {found} rows into {table}, not {rows}")
    # The next load must not pay for writes that this one left behind.
    while int(server.sql("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")[0][1]) > 1000:
        server.sql("SET GLOBAL innodb_max_dirty_pages_pct = 0")
        time.sleep(0.5)
    server.sql("SET GLOBAL innodb_max_dirty_pages_pct = 90")
    return seconds


def _runs(server: Engine, folder: Path, size: Size) -> dict[tuple[str, int], list[float]]:
    """New Orders a minute by program and threads; which program is first changes every round."""
    rates: dict[tuple[str, int], list[float]] = defaultdict(list)
    for turn in range(size.rounds):
        for threads in THREADS:
            for program in PROGRAMS if turn % 2 == 0 else reversed(PROGRAMS):
                rates[program, threads].append(_run(server, program, folder, size, threads))
    return rates


def _run(server: Engine, program: str, folder: Path, size: Size, threads: int) -> float:
    command = tpcc.run_command(
        "tpcc",
        Session(
            _endpoint(server, program),
            _config(folder),
            size.dataset,
            threads,
            Client(program=program),
        ),
        seconds=size.seconds,
        ignore_errors=Engine.retryable_errors,
    )
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=RUN_LIMIT_S)
    found = tpcc.parse(done.stdout)
    if found.status != "complete" or found.tpmc is None:
        raise BenchlabError(f"{program}, {threads} threads: {' '.join(found.reasons)}")
    return found.tpmc


def _row(threads: int, ours: list[float], other: list[float]) -> Row:
    mid, other_mid = statistics.median(ours), statistics.median(other)
    return Row(
        name=f"tpcc, {threads} thread{'s' if threads > 1 else ''}",
        compared=f"embedded ({mid:,.0f} New Orders/min) / go-tpc ({other_mid:,.0f})",
        figure=mid / other_mid,
        target=RUN_TARGET,
        bound="at least",
        seconds={"embedded, New Orders/min": ours, "go-tpc, New Orders/min": other},
    )
