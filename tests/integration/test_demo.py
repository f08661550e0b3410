"""The DAG as `make demo` runs it: Airflow in one process, real servers."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import time
from contextlib import closing

import pytest

from benchlab_airflow.local.airflow_home import AirflowHome
from tests.builders import fakes
from tests.machine import LIMIT_S, LOOK_AGAIN_S, Machine

DEMO = ("benchlab_airflow.local.demo", "sysbench_local")


def campaign_of(machine: Machine) -> str:
    """The one campaign of this home."""
    (directory,) = (machine.here.root / "campaigns").iterdir()
    return directory.name


def runs_in_grid(machine: Machine) -> list[tuple[str, str]]:
    """Id and state of each run that the Airflow of `make up` has."""
    with closing(sqlite3.connect(AirflowHome(machine.here.root).database)) as database:
        return database.execute("SELECT run_id, state FROM dag_run").fetchall()


def test_the_dag_measures_and_publishes_what_was_asked_for(machine: Machine) -> None:
    """`make demo` with other workloads and rounds: a green run, plain progress, the report.

    A later `make up` has the run in its grid, with the logs of its tasks.
    """
    # Not read, as the process that shows the outcome could not read it where it is in a database.
    machine.environment["AIRFLOW_CONN_BENCHLAB_RESULTS"] = "http://elsewhere"
    output = machine.run(
        *DEMO, *machine.settings(workloads="oltp_point_select", rounds=2, languages="zh,en")
    )
    campaign, trials = machine.outcome(campaign_of(machine))
    ((run, state),) = runs_in_grid(machine)
    assert (campaign.origin, state) == (f"Airflow run {run}", "success")
    assert run.startswith("manual__")
    compared = f"dag_id=sysbench_local/run_id={run}/task_id=compare/attempt=1.log"
    assert "Point Select" in (AirflowHome(machine.here.root).root / "logs" / compared).read_text()
    assert campaign.state == "complete"
    assert [result.trial.index for result in trials] == [0, 1, 2, 3]
    started = [result.started_at for result in trials]
    assert started == sorted(started), "in the plan's order, whatever order Airflow takes tasks in"
    assert all(result.valid for result in trials), [result.reasons for result in trials]
    assert re.search(r"trial 4 of 4 · round 2 · \w+ · point_select · 2 threads · .* left", output)
    assert "Point Select" in output
    for name in ("report.md", "report.html", "comparison.csv", "report.json"):
        assert str(machine.here.reports / campaign.id / name) in output
    reports = machine.here.reports / campaign.id
    assert "性能对比测试报告" in (reports / "report.md").read_text()
    assert "Performance Test Report" in (reports / "en" / "report.md").read_text()
    assert machine.verified(campaign.id).outcome == "holds"
    assert machine.left_running(campaign.id) == []
    assert machine.holder() is None


@pytest.mark.fault(
    "Ctrl-C in `make demo`",
    promise="Airflow, servers and client are gone",
    of="airflow",
)
def test_ctrl_c_leaves_nothing_and_the_next_run_is_clean(machine: Machine) -> None:
    """Interrupted in a trial: Airflow, servers and client are gone; it says what comes next.

    Until then `make up` is refused, because its scheduler would go on with the run.
    """
    demo = machine.start(*DEMO, *machine.settings(seconds=30))
    while not list((machine.here.root / "campaigns").glob("*/jobs/client-*/pid")):
        assert demo.poll() is None, demo.communicate()[0]
        time.sleep(LOOK_AGAIN_S)
    refused = machine.run("benchlab_airflow.local.services", "up", code=1)
    assert (
        f"`make demo` is at work in this Airflow, with campaign {campaign_of(machine)}" in refused
    )
    assert [state for _, state in runs_in_grid(machine)] == ["running"]
    os.kill(demo.pid, signal.SIGINT)
    output, _ = demo.communicate(timeout=LIMIT_S)
    assert demo.returncode == 130
    assert "everything has ended; the next run starts clean" in output
    campaign = campaign_of(machine)
    assert machine.left_running(campaign) == []
    assert not fakes.processes_with(f"BENCHLAB_HOME={machine.here.root}")
    assert machine.holder() is None
    assert machine.outcome(campaign)[0].state == "failed"
    assert [state for _, state in runs_in_grid(machine)] == ["failed"]


def test_a_run_that_could_not_measure_is_red_and_says_why(machine: Machine) -> None:
    """A server that refuses its parameters fails the run; the reason reaches the terminal."""
    refused = machine.settings(engines__mariadb__parameters='{"no_such_option": 1}')
    output = machine.run(*DEMO, *refused, code=1)
    assert "error: task prepare_first.deploy: " in output
    assert "no_such_option" in output
    campaign = campaign_of(machine)
    assert machine.outcome(campaign)[0].state == "failed"
    assert machine.left_running(campaign) == []
    assert machine.holder() is None


def test_bad_input_is_refused_before_airflow_starts(machine: Machine) -> None:
    """A wrong override is one line that names the field; no campaign, no database is made."""
    output = machine.run(*DEMO, "--set", "threads=0", code=1)
    assert "error: threads.0: must be at least 1, found 0" in output
    assert not AirflowHome(machine.here.root).root.exists()
    assert not (machine.here.root / "campaigns").exists()
