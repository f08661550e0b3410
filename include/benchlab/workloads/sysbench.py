"""The sysbench workloads: the commands that load their dataset and run a trial.

They are built only here, so that the command shown in a report is the one that ran. They fit
sysbench 1.0.20 and 1.1. :mod:`benchlab.workloads.sysbench_output` parses the output.

Example:
    ``run_command("oltp_insert", Session(endpoint, "a.cnf", dataset, 8, Client()), seconds=60)``
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from benchlab.language import Message, message
from benchlab.plan.fields.dataset import Dataset
from benchlab.plan.metric import LATENCY, THROUGHPUT, Metric
from benchlab.workloads.client import Program, Session, at_least, fitting, is_workload
from benchlab.workloads.output import OF_RUN
from benchlab.workloads.sysbench_options import at_rate, chosen, connection, measured

# `x as x`: part of the `Workload` protocol, used only by its callers.
from benchlab.workloads.sysbench_options import config_file_text as config_file_text
from benchlab.workloads.sysbench_output import parse as parse


class Tables(Dataset):
    """sysbench's tables ``sbtest1`` to ``sbtest<tables>``."""

    tables: Annotated[int, Field(ge=1, le=1024, title="Tables")]
    table_size: Annotated[int, Field(ge=1, le=1_000_000_000, title="Rows a table")]

    WHY_UNLIKE: ClassVar = "contents-sysbench"

    @property
    def rows_by_table(self) -> dict[str, int | None]:
        """The rows of each table, all equally many."""
        return {f"sbtest{number}": self.table_size for number in range(1, self.tables + 1)}

    @property
    def said(self) -> Message:
        """``4 tables of 10,000 rows``."""
        return message("dataset-tables", tables=f"{self.tables:,}", rows=f"{self.table_size:,}")


DATASET = Tables
DATABASE = "sbtest"
TOOL = "sysbench"
# It counts latencies in 1,024 buckets from 0.001 ms to 100 s (sb_histogram): ln(1e8) / 1023.
METRICS = (
    Metric("qps", "1/s", "QPS", shown="table"),
    Metric("tps", "1/s", "TPS", THROUGHPUT, "table"),
    Metric("p95_ms", "ms", "figures-p95", LATENCY, "table", less_is_better=True, step=0.018),
    *OF_RUN,
    Metric("p50_ms", "ms", "figures-p50", shown="details", less_is_better=True, step=0.018),
    Metric("p99_ms", "ms", "figures-p99", shown="details", less_is_better=True, step=0.018),
    Metric("rate", "1/s", "figures-rate", shown="details"),
    Metric("reconnects", "1"),
)
# Which of the servers' counts are decided: those that are a property of the transaction, whatever
# the load (docs/guide/counts.md).
COUNTS = {
    "mariadb": ("rows_read", "rows_written", "redo_bytes", "server_cpu"),
    "tidb": (
        *("tidb_allocated_bytes", "tidb_allocated_objects"),
        *("kv_get", "kv_cop", "kv_pessimistic_lock", "kv_prewrite", "kv_commit"),
        *("written_keys", "applied_bytes", "raft_log_bytes"),
        *("tidb_cpu", "tikv_cpu"),
    ),
}
TAKES_RATE = True
PROGRAMS = (
    Program(
        name="sysbench",
        words=("sysbench",),
        version_arguments=("--version",),
        version_pattern=r"sysbench (\S+)",
        title="sysbench {}",
    ),
)

NAMES = (
    "oltp_point_select",
    "oltp_read_write",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_read_only",
    "oltp_write_only",
    "oltp_delete",
    "select_random_points",
    "select_random_ranges",
)
# Per transaction (oltp_common.lua): 10 selects by key, 4 by range, 2 updates, a delete and an
# insert, as far as a script has them, between BEGIN and COMMIT.
_LONG = {"oltp_read_only": 16, "oltp_write_only": 6, "oltp_read_write": 20}
QUERIES = {**dict.fromkeys(NAMES, 1), **_LONG}

READ_ONLY = frozenset(
    {"oltp_point_select", "oltp_read_only", "select_random_points", "select_random_ranges"}
)
"""Workloads that leave the dataset as they found it, so that no restore is needed after them."""

MYSQL_IGNORED_ERRORS = (1213, 1020, 1205)
"""sysbench's own list: deadlock, record changed since last read, lock wait timeout."""

_DUPLICATE_KEY = 1062


def prepare_command(session: Session) -> list[str]:
    """The command that creates and fills the tables: one dataset for all workloads.

    One thread loads each table, so at most one thread per table is started.
    """
    size = fitting(session.dataset, Tables, "sysbench")
    fewer = replace(session, threads=min(session.threads, size.tables))
    # With the script that all others build on, as in the published documents.
    return [*_common(fewer, "oltp_common"), "prepare"]


def run_command(
    workload: str,
    session: Session,
    *,
    seconds: int,
    ignore_errors: Sequence[int] = MYSQL_IGNORED_ERRORS,
) -> list[str]:
    """The command that runs ``workload`` for ``seconds`` seconds.

    A transaction that meets an error in ``ignore_errors`` is retried and counted as an ignored
    error; any other error ends the run. The list replaces sysbench's own. Without
    ``client.auto_inc``, ``oltp_insert`` numbers its rows itself. A warm-up is a separate run:
    sysbench 1.0.20 has no option for it. At a rate, transactions arrive at random (a Poisson
    process), and their latencies include the wait for a thread.
    """
    is_workload(workload, NAMES)
    # To sysbench, 0 means no limit.
    at_least("seconds", seconds, 1)
    numbered_by_client = workload == "oltp_insert" and not session.client.auto_inc
    if numbered_by_client:
        # It takes random 32-bit numbers, some of which existing rows have.
        ignore_errors = (*ignore_errors, _DUPLICATE_KEY)
    return [
        *_common(session, workload),
        *(["--auto-inc=off"] if numbered_by_client else []),
        *at_rate(session),
        *measured(seconds, session.client, ignore_errors),
    ]


def _common(session: Session, workload: str) -> list[str]:
    size = fitting(session.dataset, Tables, "sysbench")
    # Options whose defaults differ between releases (rand-type, percentile), or that decide what is
    # measured, are always written out, so that the command shows them.
    return [
        "sysbench",
        workload,
        *connection(session),
        f"--tables={size.tables}",
        f"--table-size={size.table_size}",
        f"--threads={session.threads}",
        *chosen(session.client, workload),
    ]
