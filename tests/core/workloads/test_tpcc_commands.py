"""The TPC-C commands are complete and contain no secret."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchlab.plan.fields.client import Client
from benchlab.workloads import tpcc
from benchlab.workloads.client import Endpoint, Session
from benchlab.workloads.sysbench import Tables
from benchlab.workloads.tpcc import Warehouses

ENDPOINT = Endpoint("127.0.0.1", 3390, "bench", "", "tpcc")
SIZE = Warehouses(warehouses=5000)
RUN: dict[str, Any] = {"threads": 50, "seconds": 300}
USUAL = Client()


def prepare_command(
    endpoint: Endpoint, config: str, dataset: Any, *, threads: int, client: Client = USUAL
) -> list[str]:
    """The command that loads a dataset."""
    return tpcc.prepare_command(Session(endpoint, config, dataset, threads, client))


def run_command(
    workload: str,
    endpoint: Endpoint,
    config: str,
    dataset: Any,
    *,
    threads: int,
    client: Client = USUAL,
    **options: Any,
) -> list[str]:
    """The command that runs a workload."""
    session = Session(endpoint, config, dataset, threads, client)
    return tpcc.run_command(workload, session, **options)


def test_a_run_is_spelled_out() -> None:
    """A run names warehouses and threads, whose defaults would make another workload."""
    command = run_command(
        "tpcc", ENDPOINT, "/run/workload.cnf", SIZE, **RUN, client=Client(report_interval=10)
    )
    assert command == [
        *("tiup", "bench", "tpcc", "run"),
        *("--host=127.0.0.1", "--port=3390", "--user=bench", "--db=tpcc"),
        *("--warehouses=5000", "--threads=50"),
        *("--time=300s", "--interval=10s", "--ignore-error"),
    ]


def test_without_errors_to_ignore_a_worker_ends_at_its_first() -> None:
    """go-tpc's own default, used by published reports, is still possible."""
    command = run_command("tpcc", ENDPOINT, "c", SIZE, **RUN, ignore_errors=())
    assert "--ignore-error" not in command


def test_a_load_has_no_check() -> None:
    """go-tpc's own check would take hours; Benchlab checks the conditions by SQL."""
    prepare = prepare_command(ENDPOINT, "c", SIZE, threads=16)
    assert (prepare[3], prepare[-1]) == ("prepare", "--no-check")
    assert {"--warehouses=5000", "--threads=16"} <= set(prepare)


def test_the_load_is_known_table_by_table() -> None:
    """Rows follow TPC-C's scaling rules; the number of order lines is random."""
    found = Warehouses(warehouses=2).rows_by_table
    assert found == {
        "warehouse": 2,
        "district": 20,
        "customer": 60_000,
        "history": 60_000,
        "orders": 60_000,
        "new_order": 18_000,
        "stock": 200_000,
        "item": 100_000,
        "order_line": None,
    }


@pytest.mark.parametrize(
    "make",
    [
        lambda endpoint: run_command("tpcc", endpoint, "c", SIZE, **RUN),
        lambda endpoint: prepare_command(endpoint, "c", SIZE, threads=1),
    ],
)
def test_a_password_is_refused_rather_than_shown(make: Callable[[Any], object]) -> None:
    """go-tpc cannot take one in private, so a password is an error, not silently left out."""
    endpoint = Endpoint("127.0.0.1", 3390, "bench", "s3cr3t", "tpcc")
    with pytest.raises(ValueError, match=r"^password: go-tpc takes one on its") as caught:
        make(endpoint)
    assert "s3cr3t" not in str(caught.value)
    assert tpcc.config_file_text(ENDPOINT) == ""


@pytest.mark.parametrize(
    ("argument", "value"),
    [("threads", 0), ("threads", True), ("seconds", 0), ("seconds", 1.5), ("ignore_errors", (0,))],
)
def test_bad_arguments_are_named(argument: str, value: object) -> None:
    """An impossible run is refused before it starts, naming the argument."""
    with pytest.raises(ValueError, match=rf"^{argument}: "):
        run_command("tpcc", ENDPOINT, "c", SIZE, **{**RUN, argument: value})


EMBEDDED = Client(program="embedded")


def test_go_tpc_is_called_as_tiup_calls_it() -> None:
    """The commands differ only in the program's name."""
    commands = [
        run_command("tpcc", ENDPOINT, "c", SIZE, **RUN, client=Client(program=program))
        for program in ("tiup", "go-tpc")
    ]
    assert commands[0][:3] == ["tiup", "bench", "tpcc"]
    assert commands[1][:2] == ["go-tpc", "tpcc"]
    assert commands[0][3:] == commands[1][2:]


def test_the_embedded_client_is_a_script_beside_its_option_file() -> None:
    """sysbench runs it with the password in that file, and with every option written out."""
    secret = Endpoint("127.0.0.1", 3390, "bench", "s3cr3t", "tpcc")
    command = run_command(
        "tpcc", secret, "/c1/workload.cnf", SIZE, **RUN, client=EMBEDDED, ignore_errors=(1213, 8028)
    )
    assert command == [
        *("sysbench", "/c1/tpcc.lua", "--config-file=/c1/workload.cnf", "--db-driver=mysql"),
        *("--mysql-host=127.0.0.1", "--mysql-port=3390", "--mysql-user=bench", "--mysql-db=tpcc"),
        *("--warehouses=5000", "--threads=50", "--mysql-ignore-errors=1213,8028"),
        *("--time=300", "--report-interval=1", "--percentile=95", "--histogram=on", "run"),
    ]
    with pytest.raises(ValueError, match=r"^config_path: empty"):
        run_command("tpcc", secret, "", SIZE, **RUN, client=EMBEDDED)


def test_the_embedded_client_loads_with_all_threads() -> None:
    """Even with more threads than warehouses."""
    size = Warehouses(warehouses=3)
    command = prepare_command(ENDPOINT, "c", size, threads=16, client=EMBEDDED)
    assert "--threads=16" in command
    assert command[-1] == "prepare"


def test_there_is_a_warning_if_threads_would_wait_for_each_other() -> None:
    """With the reason and what to do."""
    few = Warehouses(warehouses=4)
    assert tpcc.warnings(few, (2, 4)) == []
    (told,) = tpcc.warnings(few, (2, 8))
    assert str(told).startswith("dataset.warehouses: 4 for 8 threads: ")
    assert "as many warehouses as threads" in str(told)


def test_another_workload_or_dataset_is_refused() -> None:
    """A misspelt name and sysbench's tables are errors that say what to write."""
    with pytest.raises(ValueError, match=r"^workload: 'tpc' is not one of tpcc$"):
        run_command("tpc", ENDPOINT, "c", SIZE, **RUN)
    sysbench = Tables(tables=4, table_size=100)
    with pytest.raises(ValueError, match=r"^dataset: tpcc loads `\{warehouses: \.\.\.\}`, found 4"):
        prepare_command(ENDPOINT, "c", sysbench, threads=1)
