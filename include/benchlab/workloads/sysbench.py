"""The sysbench workloads: how their dataset is prepared and how one trial is run.

Commands are argument lists for sysbench 1.0.20, to be started without a shell. They are
built here and nowhere else, so that the command shown in a report is the one that ran.
What comes back is read by ``benchlab.workloads.sysbench_output``.

The password travels in a file (``config_file_text``), never on a command line, where every
user of the host could read it in the process list.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchlab.plan.dataset import AnyDataset, Dataset
from benchlab.plan.report_type import Client
from benchlab.workloads.client import Endpoint, Program, at_least, fitting, is_workload

# `x as x`: named for the contract of a workload, and used by its callers only.
from benchlab.workloads.sysbench_options import config_file_text as config_file_text
from benchlab.workloads.sysbench_options import connection, measured
from benchlab.workloads.sysbench_output import parse as parse

DATASET = Dataset
DATABASE = "sbtest"
TOOL = "sysbench"
METRIC = "tps"
CONSISTENCY = None
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
)

READ_ONLY = frozenset({"oltp_point_select"})
"""Workloads that leave the dataset as they found it, and so need no restore after them."""

# Any workload would do: all create and fill the same tables, by oltp_common.lua.
_PREPARED_BY = "oltp_read_write"

MYSQL_IGNORED_ERRORS = (1213, 1020, 1205)
"""sysbench's own list: deadlock, record changed since last read, lock wait timeout."""

_DUPLICATE_KEY = 1062

# Distributes the indexed column `k` when it is loaded and the rows that a run asks for.
_RAND_TYPE = "uniform"


def tables(dataset: AnyDataset) -> dict[str, int | None]:
    """Rows of each table after the load.

    Raises ValueError if the dataset is not sysbench's.
    """
    size = fitting(dataset, Dataset, "sysbench")
    return {f"sbtest{number}": size.table_size for number in range(1, size.tables + 1)}


def warnings(dataset: AnyDataset, threads: Sequence[int]) -> list[str]:
    """None: any number of threads finds rows of its own."""
    return []


def load_faults(text: str) -> list[str]:
    """None: sysbench says by its exit status whether it has loaded."""
    return []


def prepare_command(
    endpoint: Endpoint,
    config_path: str,
    dataset: AnyDataset,
    *,
    threads: int,
    client: Client = Client(),  # noqa: B008 - frozen
) -> list[str]:
    """Create and fill the tables: one dataset for all workloads.

    A table is loaded by one thread: more ``threads`` than tables are not started.

    Raises ValueError naming the argument that is out of range.
    """
    at_least("threads", threads, 1)
    threads = min(threads, fitting(dataset, Dataset, "sysbench").tables)
    return [*_common(endpoint, config_path, _PREPARED_BY, dataset, threads), "prepare"]


def run_command(
    workload: str,
    endpoint: Endpoint,
    config_path: str,
    dataset: AnyDataset,
    *,
    threads: int,
    seconds: int,
    client: Client = Client(),  # noqa: B008 - frozen
    ignore_errors: Sequence[int] = MYSQL_IGNORED_ERRORS,
) -> list[str]:
    """Run ``workload`` with ``threads`` connections for ``seconds`` (counted from their start).

    ``ignore_errors`` are the server's error numbers after which a transaction is tried again and
    counted as an ignored error; any other ends the run. sysbench replaces its own list by this
    one. Without ``client.auto_inc``, ``oltp_insert`` numbers its rows itself. A warm-up is a run
    of its own: sysbench 1.0.20 has no option for it.

    Raises ValueError naming the argument that is out of range.
    """
    is_workload(workload, NAMES)
    # 0 would mean: without limit.
    at_least("seconds", seconds, 1)
    numbered_by_client = workload == "oltp_insert" and not client.auto_inc
    if numbered_by_client:
        # Its numbers are random ones of 32 bits: some are those of rows that are there.
        ignore_errors = (*ignore_errors, _DUPLICATE_KEY)
    return [
        *_common(endpoint, config_path, workload, dataset, threads),
        *(["--auto-inc=off"] if numbered_by_client else []),
        *measured(seconds, client, ignore_errors),
    ]


def _common(
    endpoint: Endpoint, config_path: str, workload: str, dataset: AnyDataset, threads: int
) -> list[str]:
    size = fitting(dataset, Dataset, "sysbench")
    at_least("threads", threads, 1)
    # Defaults that differ between sysbench releases (rand-type, percentile) or that decide
    # what is measured are always written out, so that the command alone says what was run.
    return [
        "sysbench",
        workload,
        *connection(endpoint, config_path),
        f"--tables={size.tables}",
        f"--table-size={size.table_size}",
        f"--threads={threads}",
        f"--rand-type={_RAND_TYPE}",
    ]
