"""The queries of TPC-H: the go-tpc commands that load the tables and repeat one query.

Each query is a workload of its own, with its own trials, figures and verdict.
:mod:`benchlab.workloads.tpch_output` parses the output. go-tpc is called as for TPC-C
(:mod:`benchlab.workloads.tpcc`), with an account without a password. What its source
(``cmd/go-tpc/tpch.go``, ``cmd/go-tpc/misc.go``, ``tpch/``) requires besides:

* On TiDB 7.1 and later it sets three session variables, in one of its connections only. An option
  that it has since 1.0.10 turns this off.
* Each run replaces the view of query 15, whichever query it runs.
* Up to 1.0.12 it waits, when the time is up, for the queries that are still running.
* It silently skips a batch of rows that the server refused, so the loaded rows are counted.

Example:
    ``run_command("tpch_q1", Session(endpoint, "", dataset, 2, Client()), seconds=60)``
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from benchlab.language import Message, message
from benchlab.plan.fields.dataset import Dataset
from benchlab.plan.metric import LATENCY, THROUGHPUT, Metric
from benchlab.workloads import tpcc
from benchlab.workloads.client import Session, at_least, fitting, is_workload
from benchlab.workloads.output import OF_RUN

# `x as x`: part of the `Workload` protocol, used only by its callers.
from benchlab.workloads.tpcc import config_file_text as config_file_text
from benchlab.workloads.tpcc import load_faults as load_faults
from benchlab.workloads.tpch_output import STEP_MS
from benchlab.workloads.tpch_output import parse as parse

# Rows at scale factor 1 (TPC-H 3.0.1, clause 4.2.5), and of the tables of fixed size.
_SCALED = {
    "orders": 1_500_000,
    "partsupp": 800_000,
    "part": 200_000,
    "customer": 150_000,
    "supplier": 10_000,
}
_FIXED = {"nation": 25, "region": 5}
# The rows of `lineitem` follow no formula; clause 4.2.5 lists them for some scale factors.
_LINE_ITEMS = {
    1: 6_001_215,
    10: 59_986_052,
    30: 179_998_372,
    100: 600_037_902,
    300: 1_799_989_091,
    1000: 5_999_989_709,
}


class ScaleFactor(Dataset):
    """TPC-H's eight tables; at scale factor 1 they are about 1 GB of text.

    The constants are estimates. go-tpc generates rows with one thread: 22,000 and 37,000 a second
    were measured with 4 connections and MariaDB on two shared cores. A row is 120 bytes of text on
    average, and is assumed to take as much in TiKV: compressed, with its key and room for
    compaction.
    """

    scale_factor: Annotated[int, Field(ge=1, le=100_000, title="Scale factor")]

    LOCAL_LOAD_ROWS_PER_S: ClassVar = 30_000
    LOAD_ROWS_PER_S: ClassVar = 30_000
    TIKV_ROW_BYTES: ClassVar = 120

    @property
    def rows_by_table(self) -> dict[str, int | None]:
        """The rows of each table; None for ``lineitem`` at scale factors that TPC-H omits."""
        scaled = {table: rows * self.scale_factor for table, rows in _SCALED.items()}
        return {"lineitem": _LINE_ITEMS.get(self.scale_factor), **scaled, **_FIXED}

    @property
    def rows(self) -> int:
        """The approximate number of rows of all tables (TPC-H 3.0.1, clause 4.2.5)."""
        return 30 + 8_661_215 * self.scale_factor

    @property
    def said(self) -> Message:
        """``TPC-H at scale factor 10``."""
        return message("dataset-scale-factor", factor=f"{self.scale_factor:,}")


NAMES = tuple(f"tpch_q{number}" for number in range(1, 23))
READ_ONLY = frozenset(NAMES)
VIEWS = 1
DATASET = ScaleFactor
DATABASE = "tpch"
TOOL = "go-tpc-tpch"
# go-tpc counts all latencies in equal steps, and the throughput follows from their mean.
METRICS = (
    Metric("qpm", "1/min", "QPM", THROUGHPUT, "table", step_ms=STEP_MS, note="client-qpm"),
    replace(OF_RUN[0], shown="table"),
    Metric("p95_ms", "ms", "figures-p95", LATENCY, "table", less_is_better=True, step_ms=STEP_MS),
    *(metric for metric in OF_RUN[1:] if metric.name != "duration_s"),
)
# The first whose output is read; the embedded client is for TPC-C alone.
_LEAST = {"tiup": "v1.12.0", "go-tpc": "v1.0.10"}
PROGRAMS = tuple(
    replace(program, least=_LEAST[program.name])
    for program in tpcc.PROGRAMS
    if program.name in _LEAST
)

# Short enough for a line per query; two queries that end within it share a line.
INTERVAL = "2ms"
# go-tpc prints neither its query nor its threads, so the shell prints its command first.
_SHOWN = ("sh", "-c", 'printf "%s\\n" "$*"; exec "$@"', "sh")


def prepare_command(session: Session) -> list[str]:
    """The command that creates the eight tables and fills them, with a connection per thread."""
    return [*_go_tpc("prepare", session), f"--threads={session.threads}"]


def run_command(
    workload: str, session: Session, *, seconds: int, ignore_errors: Sequence[int] = ()
) -> list[str]:
    """The command that repeats one query in each thread for ``seconds`` seconds.

    ``ignore_errors`` is not used: it lists write conflicts, which a query cannot meet. The first
    error ends the thread that met it, and the run counts as failed.
    """
    is_workload(workload, NAMES)
    # 0 would end the run before it begins.
    at_least("seconds", seconds, 1)
    return [
        *_SHOWN,
        *_go_tpc("run", session),
        f"--threads={session.threads}",
        f"--queries={workload.removeprefix('tpch_')}",
        f"--time={seconds}s",
        f"--interval={INTERVAL}",
        "--enable-query-tuning=false",
    ]


def _go_tpc(action: str, session: Session) -> list[str]:
    factor = fitting(session.dataset, ScaleFactor, "tpch").scale_factor
    return [*tpcc.go_tpc("tpch", action, session), f"--sf={factor}"]
