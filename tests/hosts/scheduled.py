"""A scheduler with the DAGs of rented fleets, and the test fleet that they rent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchlab.campaign.progress import ProgressLog
from benchlab_airflow.local.services import Services
from tests.hosts.rented import TOPOLOGY, Rented, rented_in
from tests.ports import free_port
from tests.scheduler import Api, dag_ids, wait

DAG = "sysbench_ec2"
ENDED = ("success", "failed")


@dataclass
class Airflow:
    """A scheduler of its own, and what its campaigns rent from."""

    rented: Rented
    api: Api

    def trigger(self, campaign: str, **fields: Any) -> str:
        """Start a run of sysbench as the trigger form does; its path in the API."""
        small = {"workloads": ["oltp_update_index"], "tables": 1, "table_size": 1000}
        return self.trigger_dag(DAG, campaign, **{**small, **fields})

    def trigger_dag(self, dag: str, campaign: str, **fields: Any) -> str:
        """The same of any DAG that rents."""
        conf = {
            "baseline": "v5.1.1",
            "candidate": "v5.2.0",
            "topology": TOPOLOGY,
            "threads": [2],
            "rounds": 1,
            "seconds": 3,
            "warmup_seconds": 0,
            "campaign": campaign,
            # The stand-in for a cluster has none of TiDB's own variables.
            "overrides": {"engines.tidb.parameters": {}, "engines.tidb.by_version": []},
            **fields,
        }
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


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory, servers: Path) -> Iterator[Airflow]:
    """One scheduler for all runs of this file."""
    with rented_in(tmp_path_factory.mktemp("dag"), servers) as rented:
        services = Services(rented.machine.here.root)
        port = free_port()
        services.up(port)
        try:
            api = Api(port, services.airflow.password())
            wait("the DAG", lambda: DAG in dag_ids(api))
            # What is run by the calendar begins paused.
            api.call("PATCH", f"/api/v2/dags/{DAG}", {"is_paused": False})
            yield Airflow(rented, api)
        finally:
            services.down()
