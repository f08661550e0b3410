"""Report types with `design: watch` and `design: release` in Airflow, on real servers."""

from __future__ import annotations

import yaml

from benchlab_airflow.local.airflow_home import AirflowHome
from tests.machine import Machine

INDEX = "oltp_update_index"
WATCH = {
    "report": "watch_local",
    "design": "watch",
    "rounds": 6,
    "deployments": 6,
    "screening_rounds": 3,
}
RELEASE = {"report": "release_local", "design": "release", "rounds": 5, "deployments": 5}


def test_a_dag_measures_again_what_it_flags_and_nothing_else(machine: Machine) -> None:
    """The older release does half of the index updates, which is flagged unless the machine is too
    noisy. Either way nothing is missing, the bundle can be verified, and nothing is left.
    """
    reports = machine.here.configs / "reports"
    own = yaml.safe_load((reports / "sysbench_local.yaml").read_text())
    (reports / "watch_local.yaml").write_text(yaml.safe_dump({**own, **WATCH}))
    output = machine.run(
        *("benchlab_airflow.local.demo", "watch_local"),
        *machine.settings(
            workloads=INDEX, rounds=6, seconds=2, baseline="10.11.5", candidate="10.2.11"
        ),
    )
    (directory,) = (machine.here.root / "campaigns").iterdir()
    name = directory.name
    campaign, trials = machine.outcome(name)
    assert campaign.screening is not None
    is_flagged = campaign.screening.confirming == (INDEX,)
    assert {trial.trial.round for trial in trials} == set(range(1, 7 if is_flagged else 4))
    (workload,) = machine.comparison(name)["workloads"]
    assert workload["verdict"] in ("inconclusive", "unstable", *["regression"] * is_flagged)
    assert workload["rounds_used"] == 3
    found = machine.verified(name)
    assert found.outcome == "holds", found.lines()
    log = AirflowHome(machine.here.root).root / "logs" / "dag_id=watch_local"
    (screened,) = log.glob("run_id=*/task_id=confirm.screen/attempt=1.log")
    said = f"flagged: {INDEX}, " if is_flagged else "nothing is measured again"
    assert said in screened.read_text()
    assert "learned from the campaigns before" in output
    assert machine.left_running(name) == []


def test_a_dag_ends_its_deployments_once_everything_is_decided(machine: Machine) -> None:
    """The newer release does twice the index updates, which three deployments show; two are spared.

    Tasks of trials that are no longer needed end green and say so.
    """
    reports = machine.here.configs / "reports"
    own = yaml.safe_load((reports / "sysbench_local.yaml").read_text())
    (reports / "release_local.yaml").write_text(yaml.safe_dump({**own, **RELEASE}))
    machine.run(
        *("benchlab_airflow.local.demo", "release_local"),
        *machine.settings(
            workloads=INDEX, rounds=5, seconds=2, baseline="10.2.11", candidate="10.11.5"
        ),
    )
    (directory,) = (machine.here.root / "campaigns").iterdir()
    campaign, trials = machine.outcome(directory.name)
    (workload,) = machine.comparison(directory.name)["workloads"]
    last = max(trial.trial.round for trial in trials)
    # A noisy machine may need them all, or show that all of them would not decide it.
    why = {one.after: one.left[INDEX] for one in campaign.looks if one.left}
    assert last == min([*why, 5])
    assert workload["rounds_used"] == last
    told = {"improvement": "improvement", "out of reach": "inconclusive"}
    assert [workload["verdict"]] == [told[one] for one in why.values()] or last == 5
    found = machine.verified(directory.name)
    assert found.outcome == "holds", found.lines()
    log = AirflowHome(machine.here.root).root / "logs" / "dag_id=release_local"
    spared = log.glob("run_id=*/task_id=trials/map_index=*/attempt=1.log")
    said = [path for path in spared if "every workload is decided" in path.read_text()]
    assert len(said) == len(campaign.plan.trials) - len(campaign.wanted.trials)
    assert machine.left_running(directory.name) == []
