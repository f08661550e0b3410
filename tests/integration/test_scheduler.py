"""The DAG under a real scheduler, as `make up` runs it: from the form's fields to the report, with
a task killed in a trial.
"""

from __future__ import annotations

import itertools
import os
import signal

import pytest

from benchlab_airflow.local.services import Services
from tests.machine import SMALL, Machine
from tests.ports import free_port
from tests.scheduler import Api, dag_ids, parent_of, process_in_trial, wait


def test_a_campaign_from_the_form_survives_killed_tasks(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other threads, workloads and rounds than the report type's, and SIGKILL in two trials.

    Once of the task's process, once of its worker: the retries complete the campaign, no trial
    twice, no two clients at once.
    """
    monkeypatch.setenv("BENCHLAB_DATA_DOCS", "yes")
    port = free_port()
    services = Services(machine.here.root)
    services.up(port)
    try:
        api = Api(port, services.airflow.password())
        wait("the DAG", lambda: "sysbench_local" in dag_ids(api))
        conf = {
            "engine": "mariadb",
            "workloads": ["oltp_read_write", "oltp_insert"],
            "threads": [3],
            "rounds": 1,
            "seconds": 3,
            "warmup_seconds": 0,
            "tables": 1,
            "table_size": int(SMALL["dataset.table_size"]),
            "campaign": "from-the-form",
            "overrides": {f"ports.{name}": value for name, value in machine.ports.items()},
        }
        runs = "/api/v2/dags/sysbench_local/dagRuns"
        run = api.call("POST", runs, {"logical_date": None, "conf": conf})["dag_run_id"]
        machine.wait_for("from-the-form", "run")
        fence = machine.here.campaign("from-the-form") / "trial.fence"
        os.kill(process_in_trial(fence), signal.SIGKILL)
        machine.wait_for("from-the-form", "run", after=2)
        # Its worker: the task process outlives it and measures on beside the retry.
        os.kill(parent_of(process_in_trial(fence)), signal.SIGKILL)
        states = ("success", "failed")
        state = wait(
            "the run",
            lambda: (s := api.call("GET", f"{runs}/{run}")["state"]) in states and s,
        )
        tasks = api.call("GET", f"{runs}/{run}/taskInstances?limit=100")["task_instances"]
        assert state == "success", [(t["task_id"], t["state"]) for t in tasks]
    finally:
        services.down()
    campaign, trials = machine.outcome("from-the-form")
    assert campaign.state == "complete"
    assert sorted(r.trial.id for r in trials) == sorted(t.id for t in campaign.plan.trials)
    assert {(r.trial.workload, r.trial.threads) for r in trials} == {
        ("oltp_read_write", 3),
        ("oltp_insert", 3),
    }
    for earlier, later in itertools.pairwise(trials):
        assert earlier.ended_at <= later.started_at, "one at a time, in the plan's order"
    tries = [t["try_number"] for t in tasks if t["task_id"] == "trials"]
    assert sum(tries) == len(tries) + 2, "each kill cost one try"
    names = {t["rendered_map_index"] for t in tasks if t["task_id"] == "trials"}
    assert "round 1 · baseline · insert · 3 threads" in names
    reports = machine.here.reports / "from-the-form"
    assert (reports / "report.html").exists()
    assert (reports / "quality" / "index.html").exists()
    assert machine.left_running("from-the-form") == []
    assert machine.holder() is None
