"""Reading a server's counters twice a trial: what it costs client and server, against the trial."""

from __future__ import annotations

import os
import resource
import shlex
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path

from benchlab import engines
from benchlab.engines.database import USER
from benchlab.engines.mariadb import Engine
from benchlab.engines.server import Instance
from benchlab.home import Home
from benchlab.hosts.executor import LocalExecutor
from benchlab.plan.fields.client import Client
from benchlab.workloads import sysbench
from benchlab.workloads.client import Endpoint, Session
from tools.bench.machine import NAME
from tools.bench.row import Row

VERSION = "10.11.5"
TARGET_PCT = 1.0
READINGS = 2
READS, QUICK_READS = 60, 10
# As short as in `make demo`, whose trials have the least work of all report types.
SECONDS, THREADS = 3, 4
PORT = 23410


def measure(home: Home, work: Path, quick: bool) -> list[Row]:
    """A trial of point selects, then readings of a server that does nothing else."""
    engines.install("mariadb", VERSION, home)
    directory = work / "counting"
    shutil.rmtree(directory, ignore_errors=True)
    executor = LocalExecutor(directory, NAME)
    instance = Instance(
        side="baseline",
        version=VERSION,
        parameters={},
        directory=directory / "baseline",
        host="127.0.0.1",
        port=PORT,
        status_port=PORT,
        max_connections=20,
        database=sysbench.DATABASE,
        password="made-up-for-the-bench",
    )
    engine = Engine(executor, instance, home.servers)
    try:
        engine.deploy()
        engine.create_database()
        session = _session(directory, engine)
        executor.run(sysbench.prepare_command(session), timeout_s=60)
        run = sysbench.run_command("oltp_point_select", session, seconds=SECONDS)
        jobs = directory / "jobs" / engine.job
        trial_s = _used(jobs, lambda: executor.run(run, timeout_s=60))
        count = QUICK_READS if quick else READS
        reads = [_read(executor, engine, jobs) for _ in range(count)]
    finally:
        executor.end_processes()
        shutil.rmtree(directory, ignore_errors=True)
    read_s = statistics.fmean(reads)  # of many: a tick is longer than what one takes
    return [
        Row(
            name="reading the counters",
            compared=f"CPU of {READINGS} readings, client and server "
            f"({1000 * READINGS * read_s:.3g} ms) / the server's in a trial of {SECONDS} s "
            f"({trial_s:.3g} s)",
            figure=100 * READINGS * read_s / trial_s,
            unit="%",
            target=TARGET_PCT,
            seconds={"a reading": reads, "a trial": [trial_s]},
        )
    ]


def _session(directory: Path, engine: Engine) -> Session:
    made = engine.instance
    endpoint = Endpoint(made.host, made.port, USER, made.password, made.database)
    options = directory / "sysbench.cnf"
    options.write_text(sysbench.config_file_text(endpoint), encoding="utf-8")
    dataset = sysbench.Tables(tables=1, table_size=10_000)
    return Session(endpoint, str(options), dataset, THREADS, Client())


def _read(executor: LocalExecutor, engine: Engine, job: Path) -> float:
    """CPU seconds of a reading, of the programs that read and of the server."""
    (source,) = engine.counter_sources()
    command = ["sh", "-c", f"cd {shlex.quote(str(job))} && {source.command}"]
    before = _of_children()
    of_server = _used(job, lambda: executor.run(command))
    return of_server + _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _used(job: Path, work: Callable[[], object]) -> float:
    """CPU seconds of the server in the meantime."""
    stat = Path("/proc", (job / "pid").read_text().strip(), "stat")
    before = _cpu_s(stat)
    work()
    return _cpu_s(stat) - before


def _cpu_s(stat: Path) -> float:
    """User and system time of a process with its threads, also those that ended (proc(5))."""
    ticks: int = sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13]))
    per_s: int = os.sysconf("SC_CLK_TCK")
    return ticks / per_s
