"""The YCSB workloads A to F: the commands of go-ycsb that load their table and run a trial.

:mod:`benchlab.workloads.ycsb_output` reads the output. The proportions and distributions are those
of YCSB's own workload files; go-ycsb's differ (uniform keys, scans of one row), so every property
is written out. What go-ycsb 1.0.3 asks for beside that (``cmd/go-ycsb``, ``pkg/client``):

* It prints all its properties, the password among them, and would bring it into the raw output. So
  it uses an account without one, limited as :mod:`benchlab.workloads.tpcc` says.
* It knows no duration, only a number of operations. So ``timeout`` interrupts it, upon which it
  prints its summary and ends with 0.
* It serves its profile on all addresses unless it is given one.
* It prints errors only with ``silence=false``, and goes on after each of them.
* A batch is inserted whole, so that a thread whose share is not a multiple of it loads too much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from benchlab.language import Message, message
from benchlab.plan.fields.dataset import Dataset
from benchlab.plan.metric import Metric
from benchlab.workloads import sysbench
from benchlab.workloads.client import (
    Program,
    Session,
    at_least,
    fitting,
    is_workload,
)
from benchlab.workloads.output import OF_RUN

# `x as x`: part of the `Workload` protocol, used only by its callers.
from benchlab.workloads.ycsb_output import load_faults as load_faults
from benchlab.workloads.ycsb_output import parse as parse

# Its rows, and how many of them are inserted at once.
FIELDS = 10
FIELD_BYTES = 100
BATCH = 100


class Records(Dataset):
    """YCSB's table, of rows with a key and ten fields of 100 bytes, loaded in whole batches.

    Rows were seen loaded with 4 threads and MariaDB on one machine of 2 cores. Keys are inserted in
    no order, and 1,000 random letters hardly compress.
    """

    records: Annotated[int, Field(ge=BATCH, le=1_000_000_000, multiple_of=BATCH, title="Records")]

    LOCAL_LOAD_ROWS_PER_S: ClassVar = 20_000
    LOAD_ROWS_PER_S: ClassVar = 20_000
    ROW_BYTES: ClassVar = 2_900
    TIKV_ROW_BYTES: ClassVar = 1_300

    @property
    def rows_by_table(self) -> dict[str, int | None]:
        """There is one table."""
        return {"usertable": self.records}

    @property
    def said(self) -> Message:
        """``10,000 records of YCSB``."""
        return message("dataset-records", records=f"{self.records:,}")


DATASET = Records
DATABASE = "ycsb"
TOOL = "go-ycsb"
METRICS = (
    *(metric for metric in sysbench.METRICS if metric.family or metric.name == "qps"),
    Metric("p50_ms", "ms", "figures-p50", shown="details"),
    Metric("p99_ms", "ms", "figures-p99", shown="details"),
    *OF_RUN,
)

# It can be asked for no version.
_HASH = 'program=$(command -v "$0") || exit 127; sha256sum "$program"'
PROGRAMS = (
    Program(
        name="go-ycsb",
        words=("go-ycsb",),
        asked_by=("sh", "-c", _HASH),
        version_arguments=(),
        version_pattern=r"^([0-9a-f]{12})",
        title="go-ycsb with the sha256 {}",
        takes_password=False,
    ),
)

# Of all operations, the share of each; keys are chosen by a Zipf distribution, in D the latest.
_SHARES = {
    "ycsb_a": {"read": 0.5, "update": 0.5},
    "ycsb_b": {"read": 0.95, "update": 0.05},
    "ycsb_c": {"read": 1.0},
    "ycsb_d": {"read": 0.95, "insert": 0.05},
    "ycsb_e": {"scan": 0.95, "insert": 0.05},
    "ycsb_f": {"read": 0.5, "readmodifywrite": 0.5},
}
_KINDS = ("read", "update", "insert", "scan", "readmodifywrite")
NAMES = tuple(_SHARES)
READ_ONLY = frozenset({"ycsb_c"})
# A run inserts the same keys as every other, by INSERT IGNORE: after another it inserts nothing.
FRESH = frozenset(name for name, shares in _SHARES.items() if "insert" in shares)
# It creates the table wherever there is none, in a run as well.
CREATES = 1

_MOST_SCANNED = 100
# More than any run can do. In E it also widens the range of the keys from which scans begin; keys
# are hashed, so a scan from a key that no row has finds as many rows as any other.
_OPERATIONS = 1_000_000_000
# 10 million records took 1.3 s on one machine; the gate of the duration allows 1 s.
_SOON_COUNTED = 5_000_000
# After the interrupt its threads end with their operation, and it gives itself 10 s.
_KILLED_AFTER_S = 30


def warnings(dataset: Dataset, threads: Sequence[int]) -> list[Message]:
    """A warning about so many records that D begins late; of threads any number is right."""
    records = fitting(dataset, Records, "ycsb").records
    if records <= _SOON_COUNTED:
        return []
    return [message("warning-records", records=records, most=_SOON_COUNTED)]


def prepare_command(session: Session) -> list[str]:
    """The command that creates the table and fills it, in batches of rows.

    As many threads as possible share the batches evenly: else some would insert too many.
    """
    batches = fitting(session.dataset, Records, "ycsb").records // BATCH
    threads = max(n for n in range(1, session.threads + 1) if batches % n == 0)
    command = ["go-ycsb", "load", *_connection(session), f"--threads={threads}"]
    return [*command, "--interval=10", *_properties({"batch.size": BATCH})]


def run_command(
    workload: str,
    session: Session,
    *,
    seconds: int,
    ignore_errors: Sequence[int] = (1213, 1205),
) -> list[str]:
    """The command that runs ``workload`` until it is interrupted after ``seconds`` seconds.

    go-ycsb goes on after every error. Those of numbers that are not in ``ignore_errors`` are found
    in the output.
    """
    is_workload(workload, NAMES)
    # `timeout` takes 0 for no limit.
    at_least("seconds", seconds, 1)
    shares, latest = _SHARES[workload], workload == "ycsb_d"
    return [
        # In the foreground: else a second interrupt follows at once, and there is no summary.
        *("timeout", "--foreground", "--preserve-status", "--signal=INT"),
        *(f"--kill-after={_KILLED_AFTER_S}", str(seconds)),
        *("go-ycsb", "run", *_connection(session)),
        *(f"--threads={session.threads}", f"--interval={session.client.report_interval}"),
        *_properties({f"{kind}proportion": shares.get(kind, 0) for kind in _KINDS}),
        *_properties(
            {
                "requestdistribution": "latest" if latest else "zipfian",
                "maxscanlength": _MOST_SCANNED,
                "operationcount": _OPERATIONS,
            }
        ),
    ]


def _connection(session: Session) -> list[str]:
    endpoint, size = session.endpoint, fitting(session.dataset, Records, "ycsb")
    if endpoint.password:
        raise ValueError(
            "password: go-ycsb prints it in its output, which is kept; give it an account without, "
            "as benchlab/workloads/ycsb.py says"
        )
    return [
        "mysql",
        *_properties(
            {
                "mysql.host": endpoint.host,
                "mysql.port": endpoint.port,
                "mysql.user": endpoint.user,
                "mysql.db": endpoint.database,
                "recordcount": size.records,
                "fieldcount": FIELDS,
                "fieldlength": FIELD_BYTES,
                "readallfields": "true",
                "insertorder": "hashed",
                "silence": "false",
                "debug.pprof": "127.0.0.1:0",
            }
        ),
    ]


def _properties(values: dict[str, str | int | float]) -> list[str]:
    return [f"--prop={name}={value}" for name, value in values.items()]
