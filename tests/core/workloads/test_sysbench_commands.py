"""The commands that are run are the ones that are shown, and contain no secret."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.plan.fields.client import Client
from benchlab.workloads import sysbench
from benchlab.workloads.client import Endpoint, Session
from benchlab.workloads.sysbench import (
    MYSQL_IGNORED_ERRORS,
    NAMES,
    READ_ONLY,
    Tables,
    config_file_text,
)
from benchlab.workloads.sysbench_faults import OWNED
from benchlab.workloads.sysbench_options import options_of
from benchlab.workloads.tpcc import Warehouses

SECRET = "hunter2, it's"
ENDPOINT = Endpoint("127.0.0.1", 3390, "bench", SECRET, "sbtest")
SIZE = Tables(tables=4, table_size=10000)
RUN: dict[str, Any] = {"threads": 4, "seconds": 5}
USUAL = Client()


def prepare_command(
    endpoint: Endpoint, config: str, dataset: Any, *, threads: int, client: Client = USUAL
) -> list[str]:
    """The command that loads a dataset."""
    return sysbench.prepare_command(Session(endpoint, config, dataset, threads, client))


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
    return sysbench.run_command(workload, session, **options)


def with_password(password: str) -> Endpoint:
    """The endpoint with another password."""
    return dataclasses.replace(ENDPOINT, password=password)


def read_as_sysbench(text: str) -> str:
    """The password that sysbench 1.0.20 takes from a file (`read_config` in sb_options.c)."""
    name, _, value = text.partition("=")
    assert name == "mysql-password"
    assert len(text.encode()) <= 255
    value = value.lstrip(" \t\n\v\f\r")
    if value[0] in "'\"":
        return value[1 : value.index(value[0], 1)]
    assert value[0] != "#"
    end = next(i for i, char in enumerate(value) if char == "," or char in " \t\n\v\f\r")
    return value[:end]


def test_a_run_is_spelled_out() -> None:
    """A run names every setting that decides what is measured, whatever sysbench's defaults are."""
    assert run_command("oltp_read_write", ENDPOINT, "/run/bench.cnf", SIZE, **RUN) == [
        "sysbench",
        "oltp_read_write",
        "--config-file=/run/bench.cnf",
        "--db-driver=mysql",
        "--mysql-host=127.0.0.1",
        "--mysql-port=3390",
        "--mysql-user=bench",
        "--mysql-db=sbtest",
        "--tables=4",
        "--table-size=10000",
        "--threads=4",
        "--rand-type=uniform",
        "--mysql-ignore-errors=1213,1020,1205",
        "--time=5",
        "--report-interval=1",
        "--percentile=95",
        "--histogram=on",
        "run",
    ]


def test_one_dataset_serves_every_workload() -> None:
    """Preparing needs no workload, and asks for the same tables and distribution as a run."""
    prepare = prepare_command(ENDPOINT, "c", SIZE, threads=4)
    assert prepare[-1] == "prepare"
    for workload in NAMES:
        run = run_command(workload, ENDPOINT, "c", SIZE, **RUN)
        for option in ("--tables=4", "--table-size=10000", "--rand-type=uniform"):
            assert option in run
            assert option in prepare


def test_a_workload_that_writes_never_counts_as_read_only() -> None:
    """Else its trials would follow each other without a restore."""
    assert set(NAMES) - READ_ONLY == {
        *("oltp_read_write", "oltp_update_index", "oltp_update_non_index", "oltp_insert"),
        *("oltp_write_only", "oltp_delete"),
    }


def test_chosen_options_go_to_the_scripts_that_have_them() -> None:
    """sysbench ends with `invalid option` where a script does not have one."""
    options: dict[str, Any] = {"random-points": 5, "skip-trx": True, "rand-spec-pct": 20}
    client = Client(rand_type="special", options=options)
    load = prepare_command(ENDPOINT, "c", SIZE, threads=4, client=client)
    points = run_command("select_random_points", ENDPOINT, "c", SIZE, **RUN, client=client)
    for command in (load, points):
        assert [word for word in command if word.startswith("--rand-")] == [
            *("--rand-type=special", "--rand-spec-pct=20")
        ]
        assert "--skip-trx=on" in command
    assert "--random-points=5" in points
    assert "--random-points=5" not in load


@given(st.text(min_size=1, max_size=60))
def test_the_password_is_on_no_command_line_and_in_no_repr(password: str) -> None:
    """Neither the process list nor a log can show the password."""
    secret = f"s3cr3t{password}"
    endpoint = with_password(secret)
    command = [
        *prepare_command(endpoint, "c", SIZE, threads=4),
        *run_command("oltp_insert", endpoint, "c", SIZE, **RUN),
    ]
    shown = "\n".join([*command, repr(endpoint), str(endpoint), f"{endpoint}"])
    assert "s3cr3t" not in shown


@given(st.text(max_size=80) | st.text("a'\" ,#=\n", max_size=300))
def test_a_password_arrives_unchanged_or_is_refused(password: str) -> None:
    """A password that sysbench would read differently is refused, without quoting it."""
    try:
        text = config_file_text(with_password(f"s3cr3t{password}"))
    except ValueError as error:
        said = str(error)
    else:
        said = "password: accepted"
        assert read_as_sysbench(text) == f"s3cr3t{password}"
    assert said.startswith("password: ")
    assert "s3cr3t" not in said


@pytest.mark.parametrize("password", ["a\nb", "a\0b", "\"a'b c", "#'\"", "x" * 255, "ü" * 120])
def test_unreadable_passwords_are_refused(password: str) -> None:
    """A password that sysbench's file format cannot hold is an error before anything starts."""
    with pytest.raises(ValueError, match=r"^password: "):
        config_file_text(with_password(password))


def test_no_password_needs_no_line() -> None:
    """An account without a password works with an empty file."""
    assert config_file_text(with_password("")) == ""


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("threads", 0),
        ("threads", True),
        ("seconds", 0),
        ("seconds", 1.5),
        ("dataset", Warehouses(warehouses=4)),
        ("ignore_errors", (1213, 2013)),
        ("ignore_errors", (0,)),
    ],
)
def test_bad_arguments_are_named(argument: str, value: object) -> None:
    """An impossible run is refused before it starts, naming the argument."""
    with pytest.raises(ValueError, match=rf"^{argument}: "):
        run_command(
            "oltp_insert",
            ENDPOINT,
            "c",
            **{"dataset": SIZE, **RUN, argument: value},
        )


def test_unknown_workloads_and_missing_files_are_refused() -> None:
    """A misspelt workload or an absent password file is an error that says so."""
    with pytest.raises(ValueError, match=r"^workload: 'oltp_read' is not one of oltp_po"):
        run_command("oltp_read", ENDPOINT, "c", SIZE, **RUN)
    with pytest.raises(ValueError, match=r"^config_path: "):
        run_command("oltp_insert", ENDPOINT, "", SIZE, **RUN)


def test_another_dataset_is_refused_with_what_to_write() -> None:
    """sysbench cannot load warehouses, and says which fields its own dataset has."""
    warehouses = Warehouses(warehouses=4)
    message = r"^dataset: sysbench loads `\{tables: \.\.\., table_size: \.\.\.\}`, found 4 wareh"
    with pytest.raises(ValueError, match=message):
        prepare_command(ENDPOINT, "c", warehouses, threads=1)


def test_the_load_is_known_table_by_table() -> None:
    """Tables and their rows can be counted after the load; the load has no idle thread."""
    assert Tables(tables=2, table_size=7).rows_by_table == {"sbtest1": 7, "sbtest2": 7}
    command = prepare_command(ENDPOINT, "c", Tables(tables=2, table_size=7), threads=16)
    assert "--threads=2" in command


def test_rows_can_be_numbered_by_the_client() -> None:
    """If the report type says so, and only for the workload that inserts."""
    client = Client(auto_inc=False, report_interval=10)
    for workload in NAMES:
        command = run_command(workload, ENDPOINT, "c", SIZE, **RUN, client=client)
        assert ("--auto-inc=off" in command) == (workload == "oltp_insert")
        assert "--report-interval=10" in command
    assert "--auto-inc=off" not in run_command("oltp_insert", ENDPOINT, "c", SIZE, **RUN)


def test_randomly_numbered_rows_may_exist_already() -> None:
    """A duplicate number (1062) does not end the run; other runs do not ignore it."""
    client = Client(auto_inc=False)
    for workload in NAMES:
        command = run_command(workload, ENDPOINT, "c", SIZE, **RUN, client=client)
        (ignored,) = (word for word in command if word.startswith("--mysql-ignore-errors="))
        assert ("1062" in ignored.partition("=")[2].split(",")) == (workload == "oltp_insert")


def test_the_caller_chooses_the_errors_to_ignore() -> None:
    """An explicit list replaces sysbench's own, which is the default; it may be empty."""
    numbers = (*MYSQL_IGNORED_ERRORS, 9007)
    command = run_command("oltp_insert", ENDPOINT, "c", SIZE, **RUN, ignore_errors=numbers)
    assert "--mysql-ignore-errors=1213,1020,1205,9007" in command
    none = run_command("oltp_insert", ENDPOINT, "c", SIZE, **RUN, ignore_errors=())
    assert "--mysql-ignore-errors=" in none


@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
@pytest.mark.parametrize("workload", NAMES)
def test_sysbench_knows_every_option(workload: str, tmp_path: Path) -> None:
    """The installed sysbench accepts every option that can be chosen: only then does it fail."""
    config = tmp_path / "bench.cnf"
    config.write_text(config_file_text(ENDPOINT))
    # Nothing listens on port 1: the options are read, the connection is refused.
    nowhere = dataclasses.replace(ENDPOINT, port=1)
    options: dict[str, Any] = dict.fromkeys(options_of(workload, None) - OWNED.keys(), 1)
    options |= {"db-ps-mode": "disable", "mysql-storage-engine": "innodb"}
    client = Client(rand_type="pareto", options=options)
    command = run_command(workload, nowhere, str(config), SIZE, **RUN, client=client)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "Number of threads: 4" in done.stdout
    assert "unable to connect to MySQL server on host '127.0.0.1', port 1" in done.stdout
    assert done.stderr == ""
