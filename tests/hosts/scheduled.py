"""Runs of the DAGs that rent, under a real scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchlab.campaign.progress import ProgressLog
from benchlab_airflow.local.services import Services
from tests.hosts.rented import Rented
from tests.ports import free_port
from tests.scheduler import Api, dag_ids, wait

ENDED = ("success", "failed")


@contextmanager
def scheduler_of(rented: Rented, dag: str) -> Iterator[Api]:
    """A scheduler that knows a DAG; what is run by the calendar begins paused, but not this one."""
    services = Services(rented.machine.here.root)
    port = free_port()
    services.up(port)
    try:
        api = Api(port, services.airflow.password())
        wait("the DAG", lambda: dag in dag_ids(api))
        api.call("PATCH", f"/api/v2/dags/{dag}", {"is_paused": False})
        yield api
    finally:
        services.down()


@dataclass
class Scheduled:
    """What campaigns rent from, and the scheduler that runs them."""

    rented: Rented
    api: Api

    def start(self, dag: str, conf: dict[str, Any]) -> str:
        """Start a run of any DAG with these fields of the form alone; its path in the API."""
        runs = f"/api/v2/dags/{dag}/dagRuns"
        made = self.api.call("POST", runs, {"logical_date": None, "conf": conf})
        return f"{runs}/{made['dag_run_id']}"

    def ended(self, run: str) -> str:
        """The final state of a run."""

        def state() -> str | None:
            found = str(self.api.call("GET", run)["state"])
            return found if found in ENDED else None

        return str(wait(f"the end of {run}", state))

    def tasks(self, run: str) -> dict[str, list[dict[str, Any]]]:
        """The tasks of a run by id; a mapped one has several."""
        found: dict[str, list[dict[str, Any]]] = {}
        answer = self.api.call("GET", f"{run}/taskInstances?limit=100")
        for task in answer["task_instances"]:
            found.setdefault(task["task_id"], []).append(task)
        return found

    def story(self, run: str, campaign: str) -> str:
        """What did not go well in a run, for a message."""
        states = [
            f"{name}: {[str(task['state']) for task in found]}"
            for name, found in self.tasks(run).items()
            if {task["state"] for task in found} - {"success", "skipped"}
        ]
        log = ProgressLog(self.rented.machine.here.campaign(campaign) / "progress.jsonl")
        steps = [
            f"{s.stage} {s.phase} {s.note}"
            for s in log.read()[0]
            if s.phase == "failed" or s.stage == "failed"
        ]
        return "\n".join([*states, *steps])
