"""A report type with `design: watch` in Airflow, on real servers."""

from __future__ import annotations

import yaml

from benchlab_airflow.local.airflow_home import AirflowHome
from tests.machine import Machine

INDEX = "oltp_update_index"
WATCH = {"report": "watch_local", "design": "watch", "rounds": 6, "deployments": 6}


def test_what_a_dag_flags_is_measured_again_and_decided(machine: Machine) -> None:
    """Index updates of these two releases differ by more than any noise: a change is confirmed on
    four fresh deployments, in tasks of its own, and the bundle can be verified.
    """
    reports = machine.here.configs / "reports"
    own = yaml.safe_load((reports / "sysbench_local.yaml").read_text())
    (reports / "watch_local.yaml").write_text(yaml.safe_dump({**own, **WATCH}))
    output = machine.run(
        *("benchlab_airflow.local.demo", "watch_local"),
        *machine.settings(workloads=INDEX, rounds=6),
    )
    (directory,) = (machine.here.root / "campaigns").iterdir()
    name = directory.name
    campaign, trials = machine.outcome(name)
    assert campaign.screening is not None
    assert campaign.screening.confirming == (INDEX,)
    assert {trial.trial.round for trial in trials} == set(range(1, 7))
    (workload,) = machine.comparison(name)["workloads"]
    assert workload["verdict"] == "improvement"
    assert workload["rounds_used"] == 4
    found = machine.verified(name)
    assert found.outcome == "holds", found.lines()
    log = AirflowHome(machine.here.root).root / "logs" / "dag_id=watch_local"
    (screened,) = log.glob("run_id=*/task_id=confirm.screen/attempt=1.log")
    assert f"flagged: {INDEX}, throughput" in screened.read_text()
    assert "1 improvement" in output
    assert machine.left_running(name) == []
