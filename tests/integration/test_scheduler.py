"""The DAG under a real scheduler, as `make up` runs it: from the form's fields to the report, with
a task killed in a trial.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchlab_airflow.airflow_home import USER
from benchlab_airflow.services import Services
from tests.machine import SMALL, Machine, free_ports

RUN_LIMIT_S = 480.0


class Api:
    """Airflow's REST API, as the UI uses it."""

    def __init__(self, port: int, password: str) -> None:
        self._base = f"http://127.0.0.1:{port}"
        self._token = ""
        login = {"username": USER, "password": password}
        self._token = self.call("POST", "/auth/token", login)["access_token"]

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """One request; the answer's JSON."""
        request = urllib.request.Request(
            self._base + path,
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={
                "Content-Type": "application/json",
                **({"Authorization": f"Bearer {self._token}"} if self._token else {}),
            },
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            found: dict[str, Any] = json.loads(answer.read())
            return found


def wait(what: str, ready: Callable[[], Any], limit_s: float = RUN_LIMIT_S) -> Any:
    """What ``ready`` gives, once it gives something."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if found := ready():
            return found
        time.sleep(0.2)
    raise AssertionError(f"{what}: not within {limit_s:g} s")


@pytest.mark.timeout(900)
def test_a_campaign_from_the_form_survives_killed_tasks(machine: Machine) -> None:
    """Other threads, workloads and rounds than the report type's, and SIGKILL in two trials.

    Once of the task's process, once of its worker: the retries complete the campaign, no trial
    twice, no two clients at once.
    """
    port = free_ports()["entry"]
    services = Services(machine.here.root)
    services.up(port)
    try:
        api = Api(port, services.airflow.password())
        wait("the DAG", lambda: "sysbench_local" in dag_ids(api))
        conf = {
            "engine": "mariadb",
            "workloads": ["oltp_read_write", "oltp_insert"],
            "threads": [1, 3],
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
        machine.wait_for("from-the-form", "run", after=3)
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
        (workload, threads) for workload in ("oltp_read_write", "oltp_insert") for threads in (1, 3)
    }
    for earlier, later in itertools.pairwise(trials):
        assert earlier.ended_at <= later.started_at, "one at a time, in the plan's order"
    tried_again = [t for t in tasks if t["task_id"] == "trials" and t["try_number"] > 1]
    assert len(tried_again) == 2
    names = {t["rendered_map_index"] for t in tasks if t["task_id"] == "trials"}
    assert "round 1 · baseline · insert · 3 threads" in names
    assert (machine.here.reports / "from-the-form" / "report.html").exists()
    assert machine.left_running("from-the-form") == []
    assert machine.holder() is None


def dag_ids(api: Api) -> set[str]:
    """The DAGs that Airflow has parsed so far."""
    return {dag["dag_id"] for dag in api.call("GET", "/api/v2/dags")["dags"]}


def process_in_trial(fence: Path) -> int:
    """The process that holds the campaign's fence: the one that measures."""

    def holder() -> int | None:
        for directory in Path("/proc").glob("[0-9]*/fd"):
            try:
                if any(entry.readlink() == fence for entry in directory.iterdir()):
                    return int(directory.parent.name)
            except OSError:
                continue
        return None

    found: int = wait("a process in a trial", holder, 10)
    return found


def parent_of(pid: int) -> int:
    """The parent of a process (proc(5))."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
