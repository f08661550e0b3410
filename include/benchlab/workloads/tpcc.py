"""The TPC-C workload: the commands that load its warehouses and run a trial.

Three programs can run it: go-tpc as installed by TiUP (``tiup bench``), go-tpc itself, and for
hosts that have neither, sysbench with ``tpcc.lua`` beside this file (``embedded``). They print the
same format, which :mod:`benchlab.workloads.tpcc_output` parses; their figures are not comparable.
go-tpc exits with 0 even after a misspelt option or if the server died.

go-tpc takes a password only on its command line (``-p``), not from a file, the environment or
standard input. Every user of the host could read it there, and TiUP keeps a history of its
commands. So go-tpc uses an account without a password. The account may do nothing outside the
schema ``tpcc``, and is valid only from the load balancer's own address (``'user'@'<address>'``);
the load balancer listens on loopback. Anyone who can use it could have read the process list
anyway. Client certificates would be the alternative, but then TLS would be measured. sysbench
reads its password from a file.

go-tpc's own check of a fresh load takes minutes even for one warehouse, because the tables have no
statistics yet, and ``history`` has no index on the customer. So the load skips it, and
:mod:`benchlab.workloads.tpcc_consistency` checks the dataset.

Example:
    ``run_command("tpcc", Session(endpoint, "a.cnf", dataset, 8, Client()), seconds=60)`` begins
    with ``["tiup", "bench", "tpcc", "run", "--host=127.0.0.1", ...]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar

from pydantic import Field

from benchlab.language import Message, message
from benchlab.plan.fields.dataset import Dataset
from benchlab.plan.metric import LATENCY, THROUGHPUT, Metric
from benchlab.workloads import sysbench, tpcc_consistency
from benchlab.workloads.client import Program, Session, at_least, fitting, is_workload, program_of
from benchlab.workloads.output import OF_RUN

# `x as x`: part of the `Workload` protocol, used only by its callers.
from benchlab.workloads.sysbench_options import config_file_text as config_file_text
from benchlab.workloads.sysbench_options import connection, measured
from benchlab.workloads.tpcc_messages import Messages, lines_of
from benchlab.workloads.tpcc_output import parse as parse

# Rows per warehouse (TPC-C 5.11, clause 1.2.1); the rows of `item` do not depend on it.
_ITEMS = 100_000
_PER_WAREHOUSE = {
    "stock": 100_000,
    "customer": 30_000,
    "history": 30_000,
    "orders": 30_000,
    "new_order": 9_000,
    "district": 10,
    "warehouse": 1,
}
# Of the consistency conditions: aggregates over orders and order lines, which are most of the rows,
# by eight concurrent statements; one alone is assumed to do a third of that.
_CHECK_ROWS_PER_S = 3_000_000
# Checking one warehouse's customers, including the index that this needs; measured on one machine.
_CUSTOMERS_CHECK_S = 1.5


class Warehouses(Dataset):
    """TPC-C's nine tables, scaled by the number of warehouses.

    The constants are measurements: sixteen threads loaded a warehouse in 4 s, and in TiKV it took
    75 MiB. Estimates do not assume that the client's host has cores for more threads.
    """

    warehouses: Annotated[int, Field(ge=1, le=100_000, title="Warehouses")]

    LOAD_ROWS_PER_S: ClassVar = 125_000
    TIKV_ROW_BYTES: ClassVar = 158
    WHY_UNLIKE: ClassVar = "contents-tpcc"

    @property
    def rows_by_table(self) -> dict[str, int | None]:
        """The rows of each table; None for ``order_line``, whose number is random."""
        fixed = {table: rows * self.warehouses for table, rows in _PER_WAREHOUSE.items()}
        return {"order_line": None, **fixed, "item": _ITEMS}

    @property
    def rows(self) -> int:
        """The approximate number of rows of all tables (TPC-C 5.11, table 1.2.1).

        Example:
            ``Warehouses(warehouses=10).rows`` is 5,090,110.
        """
        return _ITEMS + 499_011 * self.warehouses

    @property
    def check_s(self) -> float:
        """The seconds of checking all conditions; customers are checked for few warehouses only."""
        few = self.warehouses <= tpcc_consistency.CUSTOMERS_CHECKED_UP_TO
        customers_s = _CUSTOMERS_CHECK_S * self.warehouses if few else 0.0
        return self.rows / _CHECK_ROWS_PER_S + customers_s

    @property
    def said(self) -> Message:
        """``10 warehouses of TPC-C``."""
        return message("dataset-warehouses", warehouses=f"{self.warehouses:,}")


NAMES = ("tpcc",)
DATASET = Warehouses
DATABASE = "tpcc"
TOOL = "go-tpc"
# go-tpc's latency buckets are 3 to 6 % wide above 17 ms, and wider below; the embedded client's are
# 2 % wide.
_NEW_ORDER = {
    percentile: Metric(
        f"new_order_{percentile}_ms", "ms", f"figures-new-order-{percentile}", shown="details"
    )
    for percentile in ("p50", "p90", "p95", "p99")
}
_NEW_ORDER["p95"] = replace(_NEW_ORDER["p95"], family=LATENCY, less_is_better=True, step=0.045)
METRICS = (
    Metric("tpmc", "1/min", "tpmC", THROUGHPUT, "table", note="client-tpmc"),
    Metric("tpm_total", "1/min", shown="files"),
    *_NEW_ORDER.values(),
    Metric("efficiency_pct", "%"),
    Metric("tps", "1/s"),
    *(metric for metric in OF_RUN if metric.name != "min_ms"),
)
CONSISTENCY = tpcc_consistency.check

SCRIPT = Path(__file__).with_name("tpcc.lua")
# TiUP's installer puts it on the PATH of login shells only. `--help` downloads the component in the
# wanted version if it is missing; the mirror is asked for the component first, since a private
# mirror may lack it. Since v1.12 the component is a program that starts the go-tpc beside it. That
# go-tpc is started directly: else the CPU of a program that only waits would be measured.
_LOCATE_BENCH = """
home=${TIUP_HOME:-$HOME/.tiup}
tiup=$(command -v tiup || ls "$home/bin/tiup" 2> /dev/null) || exit 127
component=bench${1:+:$1}
if ! ls -d "$home/components/bench/"${1:-v*} > /dev/null 2>&1; then
    if ! listed=$("$tiup" list bench); then
        "$tiup" list > /dev/null || exit 1
        echo "neither it nor its mirror has the component bench" >&2
        exit 127
    fi
    if [ "$2" = look ]; then
        newest=$(printf '%s\n' "$listed" | awk '/^v/ { newest = $1 } END { print newest }')
        echo "$home/components/bench/${1:-$newest}/tiup-bench"
        exit
    fi
fi
"$tiup" "$component" --help > /dev/null || exit 1
bench=$("$tiup" --binary "$component") || exit 1
ls "$(dirname "$bench")/go-tpc" 2> /dev/null || printf '%s\\n' "$bench"
"""
# Until go-tpc 1.0.9 (pingcap/go-tpc#143), a summary had no tpmTotal.
PROGRAMS = (
    Program(
        name="tiup",
        words=("tiup", "bench"),
        locate=_LOCATE_BENCH,
        version_arguments=None,
        version_pattern=r"/bench/(v[^/]+)/",
        title="tiup bench {}",
        takes_password=False,
        least="v1.12.0",
    ),
    Program(
        name="go-tpc",
        words=("go-tpc",),
        version_arguments=("version",),
        version_pattern=r"(?i)release version: *(\S+)",
        title="go-tpc {}",
        takes_password=False,
        least="v1.0.9",
    ),
    replace(
        sysbench.PROGRAMS[0],
        name="embedded",
        title="Benchlab's tpcc.lua on sysbench {}",
        files={SCRIPT.name: SCRIPT},
    ),
)


def warnings(dataset: Dataset, threads: Sequence[int]) -> list[Message]:
    """Warn if there are more threads than warehouses, so that threads wait for each other.

    Every Payment, 43 % of the transactions, updates the row of its warehouse (TPC-C 5.11, clause
    2.5.2.2), and each thread chooses a warehouse at random.
    """
    warehouses = fitting(dataset, Warehouses, "tpcc").warehouses
    if max(threads) <= warehouses:
        return []
    return [message("warning-warehouses", warehouses=warehouses, threads=max(threads))]


def load_faults(text: str) -> list[str]:
    """What went wrong in a load; go-tpc exits with 0 even if it could not connect."""
    messages = Messages()
    for line in lines_of(text):
        if not messages.take_error(line):
            messages.take_other(line)
    return [*messages.deaths(), *messages.possible_causes()]


def prepare_command(session: Session) -> list[str]:
    """The command that creates and fills the tables, without go-tpc's own check.

    Only the embedded client uses ``config_path``; its script is beside that file. go-tpc loads a
    warehouse with one thread (its ``prepareWorkload``), so it gets at most one thread for each.
    """
    if _embedded(session):
        return [*_sysbench(session), "prepare"]
    warehouses = fitting(session.dataset, Warehouses, "tpcc").warehouses
    fewer = replace(session, threads=min(session.threads, warehouses))
    return [*go_tpc("tpcc", "prepare", fewer), *_size(fewer), "--no-check"]


def run_command(
    workload: str,
    session: Session,
    *,
    seconds: int,
    ignore_errors: Sequence[int] = (1213, 1205),
) -> list[str]:
    """The command that runs the five transactions of TPC-C for ``seconds`` seconds.

    go-tpc cannot distinguish errors. If ``ignore_errors`` is empty, every error ends the worker
    that met it. Otherwise no error does, and the parser finds unexpected numbers in the output; if
    the server is gone, go-tpc then prints megabytes a second until the time is up.
    ``client.auto_inc`` is not used.
    """
    is_workload(workload, NAMES)
    # 0 would end the run before it begins.
    at_least("seconds", seconds, 1)
    # Called for go-tpc too, since it checks the error numbers.
    ending = measured(seconds, session.client, ignore_errors)
    if _embedded(session):
        return [*_sysbench(session), *ending]
    return [
        *go_tpc("tpcc", "run", session),
        *_size(session),
        f"--time={seconds}s",
        f"--interval={session.client.report_interval}s",
        *(["--ignore-error"] if ignore_errors else []),
    ]


def _embedded(session: Session) -> bool:
    return program_of(session.client.program, PROGRAMS).name == "embedded"


def _sysbench(session: Session) -> list[str]:
    options = connection(session)
    return [
        "sysbench",
        str(PurePosixPath(session.config_path).with_name(SCRIPT.name)),
        *options,
        *_size(session),
    ]


def _size(session: Session) -> tuple[str, str]:
    # go-tpc's defaults (10 warehouses, 1 thread) are never relied on: they differ by release, and
    # a run on fewer warehouses than were loaded is another workload.
    size = fitting(session.dataset, Warehouses, "tpcc")
    return f"--warehouses={size.warehouses}", f"--threads={session.threads}"


def go_tpc(benchmark: str, action: str, session: Session) -> list[str]:
    """The start of a go-tpc command: its program, benchmark, action and connection.

    Args:
        benchmark: ``tpcc`` or ``tpch``.
        action: ``prepare`` or ``run``.

    Raises:
        ValueError: the endpoint has a password.
    """
    endpoint = session.endpoint
    if endpoint.password:
        raise ValueError(
            "password: go-tpc takes one on its command line only, where every user of the host "
            "can read it; give it an account without, as benchlab/workloads/tpcc.py says"
        )
    return [
        *program_of(session.client.program, PROGRAMS).words,
        benchmark,
        action,
        f"--host={endpoint.host}",
        f"--port={endpoint.port}",
        f"--user={endpoint.user}",
        f"--db={endpoint.database}",
    ]
