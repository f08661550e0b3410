"""What becomes of a rented fleet when a run of its DAG does not end as it should."""

from __future__ import annotations

from tests.hosts.cloud import NOTHING, Cloud
from tests.hosts.scheduled import Airflow, airflow
from tests.machine import servers
from tests.scheduler import wait

__all__ = ["airflow", "servers"]  # fixtures

REAPER = "/api/v2/dags/reap_expired_fleets/dagRuns"


def test_a_run_that_is_marked_failed_gives_everything_back(airflow: Airflow) -> None:
    """As an operator ends a campaign in the UI, in the middle of a trial."""
    machine = airflow.rented.machine
    run = airflow.trigger("marked", seconds=120)
    machine.wait_for("marked", "run")
    # Not at the very moment at which Airflow sets the task aside: that would be lost.
    wait(
        "the trial to wait for its client",
        lambda: any(t["state"] == "deferred" for t in airflow.tasks(run)["trials"]),
    )
    airflow.api.call("PATCH", run, {"state": "failed"})
    wait("the fleet's end", lambda: airflow.rented.cloud.holdings() == NOTHING)
    assert airflow.rented.namespaces.addresses == ()
    wait("the teardown", lambda: airflow.tasks(run)["give_back"][0]["state"] == "success")
    assert airflow.ended(run) == "failed", "it does not turn green by its teardown"
    campaign, _ = machine.outcome("marked")
    assert campaign.state == "failed"
    assert not (machine.here.campaign("marked") / "ssh_key").exists()


def test_nothing_is_rented_while_a_person_is_asked(airflow: Airflow) -> None:
    """And a run that is marked failed meanwhile is red, its campaign over."""
    rentals = len(airflow.rented.cloud.requests("RunInstances"))
    budget = {"budget": {"approve_above": 0, "limit": 60}, "engines.tidb.parameters": {}}
    run = airflow.trigger("unasked", overrides=budget)
    wait("the question", lambda: airflow.tasks(run)["approve"][0]["state"] == "awaiting_input")
    airflow.api.call("PATCH", run, {"state": "failed"})
    assert airflow.ended(run) == "failed"
    campaign, _ = airflow.rented.machine.outcome("unasked")
    assert campaign.state == "failed"
    assert len(airflow.rented.cloud.requests("RunInstances")) == rentals


def test_what_a_failed_teardown_leaves_is_reaped(airflow: Airflow) -> None:
    """AWS refuses to terminate: the run is red, and the reaper ends the fleet at its expiry."""
    machine, cloud = airflow.rented.machine, airflow.rented.cloud
    cloud.fault("TerminateInstances", "UnauthorizedOperation", times=-1)
    run = airflow.trigger("leaked")
    assert airflow.ended(run) == "failed", "a leaked machine never looks green"
    assert airflow.tasks(run)["give_back"][0]["state"] == "failed"
    assert cloud.holdings()["instances"]
    cloud.heal()
    said = machine.run("benchlab.cli.main", "reap")
    assert "nothing to end" in said, "it has not expired"
    expire(cloud)
    reaped = str(airflow.api.call("POST", REAPER, {"logical_date": None})["dag_run_id"])
    wait("the reaper", lambda: cloud.holdings() == NOTHING)
    wait("its end", lambda: airflow.api.call("GET", f"{REAPER}/{reaped}")["state"] == "success")
    assert airflow.rented.namespaces.addresses == ()


def expire(cloud: Cloud) -> None:
    """As if the time of all that is rented were over."""
    ec2 = cloud.client("ec2")
    ours = [{"Name": "tag:benchlab:project", "Values": ["benchlab"]}]
    listed = ec2.describe_instances(Filters=ours)["Reservations"]
    instances = [i["InstanceId"] for group in listed for i in group["Instances"]]
    groups = [g["GroupId"] for g in ec2.describe_security_groups(Filters=ours)["SecurityGroups"]]
    past = "2020-01-01T00:00:00Z"
    tags = [{"Key": f"benchlab:{name}", "Value": past} for name in ("created_at", "expires_at")]
    ec2.create_tags(Resources=[*instances, *groups], Tags=tags)
