"""The DAGs of rented fleets under a real scheduler, on the test fleet: from the trigger form to the
published report.
"""

from __future__ import annotations

import os
import signal

from tests.hosts.cloud import NOTHING
from tests.hosts.scheduled import Airflow, airflow
from tests.machine import servers
from tests.scheduler import process_in_trial

__all__ = ["airflow", "servers"]  # fixtures

TPCC_DAG = "tpcc_ec2"


def test_a_campaign_from_the_form_to_the_report_leaves_nothing(airflow: Airflow) -> None:
    """Green, with a task killed in a trial: its client is adopted, and measured once."""
    machine = airflow.rented.machine
    run = airflow.trigger("form")
    machine.wait_for("form", "run")
    os.kill(process_in_trial(machine.here.campaign("form") / "trial.fence"), signal.SIGKILL)
    assert airflow.ended(run) == "success", airflow.story(run, "form")
    assert airflow.rented.cloud.holdings() == NOTHING
    assert airflow.rented.namespaces.addresses == ()
    campaign, trials = machine.outcome("form")
    assert campaign.state == "complete"
    assert sorted(t.trial.id for t in trials) == sorted(t.id for t in campaign.plan.trials)
    assert all(t.valid for t in trials), [t.reasons for t in trials]
    assert (machine.here.reports / "form" / "report.html").exists()
    found = machine.verified("form")
    assert found.outcome == "holds", found.lines()
    tasks = airflow.tasks(run)
    assert tasks["approve"][0]["state"] == "success"
    assert [t.adopted for t in trials].count(True) == 1
    labels = {task["rendered_map_index"] for task in tasks["trials"]}
    assert "round 1 · baseline · update_index · 2 threads" in labels


def test_tpc_c_on_a_fleet_is_checked_through_ssh(airflow: Airflow) -> None:
    """By the embedded client: nothing else is there. The worker asks the servers by a forward."""
    machine = airflow.rented.machine
    run = airflow.trigger_dag(TPCC_DAG, "tpcc", warehouses=1, client="embedded")
    assert airflow.ended(run) == "success", airflow.story(run, "tpcc")
    assert airflow.rented.cloud.holdings() == NOTHING
    campaign, trials = machine.outcome("tpcc")
    assert campaign.state == "complete"
    assert campaign.environment["client_program"] == "embedded"
    assert [t.valid for t in trials] == [True, True], [t.reasons for t in trials]
    for facts in campaign.facts.values():
        for moment in ("load", "last trial"):
            found = facts.consistency[moment]
            assert {f"3.3.2.{n}" for n in (1, 2, 3, 4)} <= {c.clause for c in found}
            assert not [c for c in found if c.violations]
    assert "tpmC" in (machine.here.reports / "tpcc" / "report.md").read_text()
