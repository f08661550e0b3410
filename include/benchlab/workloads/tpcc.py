"""The TPC-C workload: how its warehouses are loaded and checked and how one trial is run.

Commands are argument lists for go-tpc, started by TiUP as ``tiup bench``, to be started without a
shell. What comes back is read by ``benchlab.workloads.tpcc_output``; the exit status is 0 even
for a misspelt option or a server that died.

go-tpc takes a password from its command line only (``-p``): it reads no file, no environment and
no standard input, and a shell that put a file's content there would still show it to every user
of the host, and to TiUP, which keeps a history of its commands. So there is no password: the
account this client uses has none, may do nothing outside the schema ``tpcc``, and is valid from
the load balancer's own address only (``'user'@'<address>'``), on a load balancer that listens on
loopback. Who can use it then is who could have read the process list. Client certificates would
be the alternative, at the price of measuring TLS.

The check of a fresh load takes minutes even for one warehouse: the tables have no statistics yet,
and ``history`` no index on the customer that it is joined by. So load without the check, analyze,
create an index on ``history (h_c_w_id, h_c_d_id, h_c_id)``, check, and drop the index, which is
not part of what is measured.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchlab.dataset import AnyDataset, Warehouses
from benchlab.spec import Client
from benchlab.workloads.client import Endpoint, at_least, fitting, is_workload
from benchlab.workloads.tpcc_output import parse

__all__ = [
    "DATABASE",
    "DATASET",
    "NAMES",
    "READ_ONLY",
    "TAKES_PASSWORD",
    "Endpoint",
    "check_command",
    "config_file_text",
    "parse",
    "prepare_command",
    "run_command",
    "tables",
]

NAMES = ("tpcc",)
READ_ONLY: frozenset[str] = frozenset()
DATASET = Warehouses
DATABASE = "tpcc"
TAKES_PASSWORD = False

# Rows per warehouse (TPC-C 5.11, clause 1.2.1); `item` has its rows once.
_ITEMS = 100_000
_PER_WAREHOUSE = {
    "warehouse": 1,
    "district": 10,
    "customer": 30_000,
    "history": 30_000,
    "orders": 30_000,
    "new_order": 9_000,
    "stock": 100_000,
}


def config_file_text(endpoint: Endpoint) -> str:
    """Nothing: go-tpc reads no file.

    Raises ValueError, without quoting it, if there is a password to be handed over.
    """
    _without_password(endpoint)
    return ""


def tables(dataset: AnyDataset) -> dict[str, int | None]:
    """Rows of each table after the load; an order has 5 to 15 lines at random.

    Raises ValueError if the dataset is not TPC-C's.
    """
    warehouses = fitting(dataset, Warehouses, "tpcc").warehouses
    fixed = {table: rows * warehouses for table, rows in _PER_WAREHOUSE.items()}
    return {**fixed, "item": _ITEMS, "order_line": None}


def prepare_command(
    endpoint: Endpoint, config_path: str, dataset: AnyDataset, *, threads: int
) -> list[str]:
    """Create and fill the tables, without the check that belongs to it by default.

    ``config_path`` is not used.

    Raises ValueError naming the argument that is out of range.
    """
    return [*_common("prepare", endpoint, dataset, threads), "--no-check"]


def check_command(
    endpoint: Endpoint, config_path: str, dataset: AnyDataset, *, threads: int
) -> list[str]:
    """Check the consistency conditions (TPC-C 5.11, clause 3.3.2) of every warehouse.

    ``config_path`` is not used. The exit status is 0 also where one does not hold.

    Raises ValueError naming the argument that is out of range.
    """
    return _common("check", endpoint, dataset, threads)


def run_command(
    workload: str,
    endpoint: Endpoint,
    config_path: str,
    dataset: AnyDataset,
    *,
    threads: int,
    seconds: int,
    client: Client = Client(),  # noqa: B008 - frozen
    ignore_errors: Sequence[int] = (1213, 1205),
) -> list[str]:
    """Run the five transactions in TPC-C's shares with ``threads`` connections for ``seconds``.

    go-tpc cannot tell errors apart: with any ``ignore_errors`` no error ends a worker, and what
    must not be survived is found in the output; without, every error ends the worker that met it.
    A server that is gone then fills the output with megabytes a second until the time is up.
    ``config_path`` and ``client.auto_inc`` are not used.

    Raises ValueError naming the argument that is out of range.
    """
    is_workload(workload, NAMES)
    # 0 would end the run before it begins.
    at_least("seconds", seconds, 1)
    for number in ignore_errors:
        at_least("ignore_errors", number, 1)
    return [
        *_common("run", endpoint, dataset, threads),
        f"--time={seconds}s",
        f"--interval={client.report_interval}s",
        *(["--ignore-error"] if ignore_errors else []),
    ]


def _common(action: str, endpoint: Endpoint, dataset: AnyDataset, threads: int) -> list[str]:
    _without_password(endpoint)
    at_least("threads", threads, 1)
    # Also where they are go-tpc's defaults (10 warehouses, 1 thread): those differ by release,
    # and a run on fewer warehouses than were loaded is another workload.
    return [
        "tiup",
        "bench",
        "tpcc",
        action,
        f"--host={endpoint.host}",
        f"--port={endpoint.port}",
        f"--user={endpoint.user}",
        f"--db={endpoint.database}",
        f"--warehouses={fitting(dataset, Warehouses, 'tpcc').warehouses}",
        f"--threads={threads}",
    ]


def _without_password(endpoint: Endpoint) -> None:
    if endpoint.password:
        raise ValueError(
            "password: go-tpc takes one on its command line only, where every user of the host "
            "can read it; give it an account without, as benchlab/workloads/tpcc.py says"
        )
