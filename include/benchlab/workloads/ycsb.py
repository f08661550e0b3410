"""The YCSB workloads A to F: the go-ycsb commands that load the table and run a trial.

:mod:`benchlab.workloads.ycsb_output` parses the output. Proportions and distributions are those of
YCSB's own workload files; go-ycsb's defaults differ (uniform keys, scans of one row), so every
property is written out. What go-ycsb 1.0.3 (``cmd/go-ycsb``, ``pkg/client``) requires besides:

* It prints all its properties, so a password would get into the raw output. So it uses an account
  without one, limited as :mod:`benchlab.workloads.tpcc` says.
* It has no option for the duration, only for the number of operations. So ``timeout`` interrupts
  it, upon which it prints its summary and exits with 0.
* It serves its profile on all addresses unless it is given one.
* It prints errors only with ``silence=false``, and goes on after each of them.
* It inserts whole batches, so a thread whose share is not a multiple of the batch loads too much.

Example:
    ``run_command("ycsb_a", Session(endpoint, "", Records(records=10_000), 8, Client()),
    seconds=60)``
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from benchlab.language import Message, message
from benchlab.plan.fields.dataset import Dataset
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

# The shape of a row, and how many rows are inserted at once.
FIELDS = 10
FIELD_BYTES = 100
BATCH = 100


class Records(Dataset):
    """YCSB's table, of rows with a key and ten fields of 100 bytes, loaded in whole batches.

    The load rate was measured with 4 threads and MariaDB on a machine of 2 cores. Rows take more
    than their 1,000 bytes because keys are inserted in no order and random letters hardly compress.
    """

    records: Annotated[int, Field(ge=BATCH, le=1_000_000_000, multiple_of=BATCH, title="Records")]

    LOCAL_LOAD_ROWS_PER_S: ClassVar = 20_000
    LOAD_ROWS_PER_S: ClassVar = 20_000
    ROW_BYTES: ClassVar = 2_900
    TIKV_ROW_BYTES: ClassVar = 1_300

    @property
    def rows_by_table(self) -> dict[str, int | None]:
        """The rows of the only table."""
        return {"usertable": self.records}

    @property
    def said(self) -> Message:
        """``10,000 records of YCSB``."""
        return message("dataset-records", records=f"{self.records:,}")


DATASET = Records
DATABASE = "ycsb"
TOOL = "go-ycsb"
METRICS = (
    *(metric for metric in sysbench.METRICS if metric.shown != "trial"),
    *OF_RUN,
)

# go-ycsb has no option that prints its version; the hash of its file stands in for it.
_HASH = 'program=$(command -v "$0") || exit 127; sha256sum "$program"'
TAKES_RATE = True
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

# The share of each operation. Keys follow a Zipf distribution; D prefers the latest.
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
# Every run inserts the same keys, by INSERT IGNORE: a second run would insert nothing.
FRESH = frozenset(name for name, shares in _SHARES.items() if "insert" in shares)
# A run, like a load, creates the table if it is missing.
CREATES = 1

_MOST_SCANNED = 100
# More than any run can do. In E it also widens the range of keys at which scans begin; keys are
# hashed, so a scan from a key that no row has finds as many rows as any other.
_OPERATIONS = 1_000_000_000
# D starts late: 10 million records took 1.3 s on one machine, and the gate on duration allows 1 s.
_SOON_COUNTED = 5_000_000
# After the interrupt go-ycsb lets its threads finish their operation, for up to 10 s.
_KILLED_AFTER_S = 30


def warnings(dataset: Dataset, threads: Sequence[int]) -> list[Message]:
    """Warn about more records than D can start with in time; any thread count is fine."""
    records = fitting(dataset, Records, "ycsb").records
    if records <= _SOON_COUNTED:
        return []
    return [message("warning-records", records=records, most=_SOON_COUNTED)]


def prepare_command(session: Session) -> list[str]:
    """The command that creates the table and fills it, in batches of rows.

    It uses the most threads that share the batches evenly: else some would insert too many rows.
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

    go-ycsb goes on after every error; ``ignore_errors`` is not used. The parser finds unexpected
    numbers in the output. At a rate, each thread waits after an operation until its next one is
    due; that latency begins with the operation, and leaves out what it waited for a late one.
    """
    is_workload(workload, NAMES)
    # `timeout` takes 0 for no limit.
    at_least("seconds", seconds, 1)
    shares, latest = _SHARES[workload], workload == "ycsb_d"
    return [
        # --foreground: else a second interrupt follows at once, and there is no summary.
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
        *([] if session.rate is None else _properties({"target": session.rate})),
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
