"""The DAGs that rent under a real scheduler, on the test fleet and a stand-in for TiDB Cloud.

From the trigger form to the published report, and what becomes of what was rented when a run does
not end as it should.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlab.campaign.progress import ProgressLog, ProgressNote
from benchlab.results.records import Campaign, rows_of
from tests.builders import given_server
from tests.builders import tidb_cloud as fake
from tests.builders.tidb_cloud import FakeCloud
from tests.hosts import published
from tests.hosts.cloud import NOTHING, Cloud
from tests.hosts.rented import (
    SPOT_TOPOLOGY,
    TOPOLOGY,
    Rented,
    bucket_for,
    rented_in,
)
from tests.hosts.scheduled import Scheduled, scheduler_of
from tests.machine import servers
from tests.scheduler import process_in_trial, wait

__all__ = ["servers"]  # a fixture

DAG = "sysbench_ec2"
SNAPSHOTS = "s3://datasets/dag"
CLOUD_DAG = "sysbench_cloud"
OLD_VERSION = "7.1.3"
TPCC_DAG = "tpcc_ec2"
REAPER = "/api/v2/dags/reap_expired_fleets/dagRuns"


@dataclass
class Airflow(Scheduled):
    """A scheduler of its own, and what its campaigns rent from."""

    bucket: Any
    tidb_cloud: FakeCloud

    def trigger(self, campaign: str, **fields: Any) -> str:
        """Start a run of sysbench as the trigger form does; its path in the API."""
        conf = {
            "baseline": "v5.1.1",
            "candidate": "v5.2.0",
            "topology": TOPOLOGY,
            "workloads": ["oltp_update_index"],
            "tables": 1,
            "table_size": 1000,
            "threads": [2],
            "rounds": 1,
            "seconds": 3,
            "warmup_seconds": 0,
            "campaign": campaign,
            "snapshots": None,
            **fields,
        }
        return self.start(DAG, conf)


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory, servers: Path) -> Iterator[Airflow]:
    """One scheduler for all runs of this file."""
    given = tmp_path_factory.mktemp("cluster")
    with (
        rented_in(tmp_path_factory.mktemp("dag"), servers) as rented,
        bucket_for(rented) as bucket,
        _tidb_cloud_of(rented, servers, given) as tidb_cloud,
    ):
        # A form can only leave out the bucket that the report type's file names.
        file = rented.machine.here.configs / "reports" / f"{DAG}.yaml"
        written = file.read_text()
        assert "\nsnapshots: null\n" in written
        file.write_text(written.replace("\nsnapshots: null\n", f"\nsnapshots: {SNAPSHOTS}\n"))
        with scheduler_of(rented, DAG) as api:
            yield Airflow(rented, api, bucket, tidb_cloud)


@contextmanager
def _tidb_cloud_of(rented: Rented, servers: Path, folder: Path) -> Iterator[FakeCloud]:
    """TiDB Cloud, whose clusters are one real server that the hosts of the test fleet can reach."""
    calls_itself = f"5.7.25-TiDB-v{OLD_VERSION}"
    address = rented.namespaces.gateway
    topologies = rented.machine.here.configs / "topologies"
    # A client of one's own image and network, which cannot be shipped; and what clusters cost.
    shipped = yaml.safe_load((topologies / "tidb_cloud_published.yaml").read_text())
    shipped["client"] |= {"image": {"id": rented.cloud.image}, "ssh_from": f"{address}/32"}
    (topologies / "tidb_cloud_published.yaml").write_text(yaml.safe_dump(shipped))
    for name in ("tidb_cloud_first", "tidb_cloud_published"):
        with (topologies / f"{name}.yaml").open("a") as file:
            file.write("usd_per_hour: 5\npriced_on: 2026-01-31\n")
    for report in ("reports/sysbench_cloud", "published/sysbench_v713_cloud"):
        path = rented.machine.here.configs / f"{report}.yaml"
        path.write_text(path.read_text().replace("approve_above: 0", "approve_above: 50"))
    with (
        given_server.running(
            servers, folder, "10.11.5", tls=True, reports=calls_itself, address=address
        ) as server,
        fake.serving() as cloud,
        pytest.MonkeyPatch.context() as patch,
    ):
        cloud.version = OLD_VERSION
        cloud.hand_out(server)
        connection = {
            "conn_type": "mysql",
            "host": "127.0.0.1",
            "port": cloud.port,
            "login": fake.PUBLIC,
            "password": fake.PRIVATE,
            "extra": {"ssl_mode": "VERIFY_IDENTITY", "ssl": {"ca": str(folder / "server.cert")}},
        }
        patch.setenv("AIRFLOW_CONN_TIDB_CLOUD", json.dumps(connection))
        yield cloud


def test_a_published_plan_from_the_form_to_the_report_leaves_nothing(airflow: Airflow) -> None:
    """TPC-C on v5.4.0 against v5.3.0, as published but for its size; what it loads and leaves is
    checked by the worker, through SSH.

    Green, with a task killed in a trial: its client is adopted, and measured once.
    """
    machine, plan = airflow.rented.machine, "tpcc_v540_vs_v530"
    small = {"warehouses": 1, "threads": [1, 2], "seconds": 3}
    small["overrides"] = {"client.report_interval": 1}
    run = airflow.start(TPCC_DAG, {"campaign": "form", "published": plan, **small})
    machine.wait_for("form", "run")
    os.kill(process_in_trial(machine.here.campaign("form") / "trial.fence"), signal.SIGKILL)
    published.assert_given(airflow.rented, plan, "form")
    assert airflow.ended(run) == "success", airflow.story(run, "form")
    assert airflow.rented.cloud.holdings() == NOTHING
    assert airflow.rented.namespaces.addresses == ()
    published.assert_measured(airflow.rented, plan, "form")
    _, trials = machine.outcome("form")
    assert (machine.here.reports / "form" / "report.html").exists()
    tasks = airflow.tasks(run)
    assert tasks["approve"][0]["state"] == "success"
    assert trials[0].adopted
    notes = ProgressLog(machine.here.campaign("form") / "progress.jsonl").read()[0]
    titles = [note.trial for note in notes if note.phase == "start"]
    assert titles.count(trials[0].trial.title) == 1
    labels = {task["rendered_map_index"] for task in tasks["trials"]}
    assert "round 1 · baseline · tpcc · 2 threads · v5.3.0" in labels
    _clearing_it_rents_nothing(airflow, run, "form")


def _clearing_it_rents_nothing(airflow: Airflow, run: str, campaign: str) -> None:
    """Provisioning and all that follows, of a run that has ended: all of it is skipped, the
    campaign whole.
    """
    rentals = len(airflow.rented.cloud.requests("RunInstances"))
    dag, _, run_id = run.removeprefix("/api/v2/dags/").split("/")
    cleared = {"dag_run_id": run_id, "task_ids": ["provision"], "include_downstream": True}
    again = {"dry_run": False, "only_failed": False, "reset_dag_runs": True}
    airflow.api.call("POST", f"/api/v2/dags/{dag}/clearTaskInstances", {**cleared, **again})
    assert airflow.ended(run) == "success"
    # With the teardowns Airflow also clears what they tear down, `plan` first.
    assert airflow.tasks(run)["plan"][0]["state"] == "skipped"
    assert len(airflow.rented.cloud.requests("RunInstances")) == rentals
    found, _ = airflow.rented.machine.outcome(campaign)
    assert found.state == "complete"


def test_a_fleet_with_a_dataset_that_loses_a_spot_host_in_a_trial_goes_on(
    airflow: Airflow,
) -> None:
    """Two versions hold the same rows of one load; a lost host costs the trial that it was lost in.

    That trial does not count and its pair is measured again, on a fleet that is whole again. The
    run is green, the report says what happened, and everything is given back.
    """
    machine, cloud = airflow.rented.machine, airflow.rented.cloud
    dataset = {"snapshots": SNAPSHOTS, "table_size": 2000, "tables": 3}
    run = airflow.trigger("interrupted", topology=SPOT_TOPOLOGY, seconds=5, **dataset)
    machine.wait_for("interrupted", "run")
    cloud.take_away(airflow.rented.instance("tikv-2"))
    assert airflow.ended(run) == "success", airflow.story(run, "interrupted")
    assert cloud.holdings() == NOTHING
    assert airflow.rented.namespaces.addresses == ()
    campaign, trials = machine.outcome("interrupted")
    assert campaign.state == "complete"
    steps = ProgressLog(machine.here.campaign("interrupted") / "progress.jsonl").read()[0]
    _one_dataset_is_loaded_once(airflow, campaign, steps)
    (cut,) = [t for t in trials if t.trial == campaign.plan.trials[0] and t.attempt == 1]
    assert not cut.valid
    (note,) = [step.note for step in steps if step.phase == "lost"]
    assert note.startswith("tikv-2: Server.SpotInstanceTermination")
    again = [t for t in trials if t.attempt == 2]
    assert [t.trial for t in again] == list(campaign.plan.trials)
    assert all(t.valid for t in again), [t.reasons for t in again]
    assert campaign.environment["spot_hosts"] == "tikv-1, tikv-2"
    assert campaign.environment["replaced_hosts"] == "0: tikv-2"
    page = (machine.here.reports / "interrupted" / "report.md").read_text().replace("\\", "")
    assert "a host was lost and replaced: tikv-2" in page
    assert "trials before and after that belong to two deployments" in page
    assert "with different contents" not in page, "the rows of the two sides are the same"
    found = machine.verified("interrupted")
    assert found.outcome == "holds", found.lines()


def _one_dataset_is_loaded_once(
    airflow: Airflow, campaign: Campaign, steps: list[ProgressNote]
) -> None:
    """The older version takes it; both hold its rows, which is proved, and the note says so."""
    versions = {side: facts.version for side, facts in campaign.facts.items()}
    assert versions["baseline"].endswith("v5.1.1")
    assert versions["candidate"].endswith("v5.2.0")
    baseline, candidate = (facts.dataset_checksum or "" for facts in campaign.facts.values())
    assert rows_of(baseline) == rows_of(candidate)
    # A row and its entry in the index.
    assert [part.split(":")[1] for part in rows_of(baseline).split()] == ["4000"] * 3
    assert campaign.environment["dataset"] == "new snapshot"
    kept = {o.key: o for o in airflow.bucket.objects.filter(Prefix="dag/")}
    (note,) = [json.loads(o.get()["Body"].read()) for key, o in kept.items() if ".json" in key]
    assert (note["version"], note["checksum"]) == ("v5.1.1", rows_of(baseline))
    assert note["url"].removeprefix("s3://datasets/") + "/backupmeta" in kept
    phases = [step.phase for step in steps]
    assert "keep the dataset of baseline" in phases
    assert "keep the dataset of candidate" not in phases


@pytest.mark.fault(
    "a run is marked as failed in a trial",
    promise="everything is given back",
    of="airflow",
)
def test_a_run_that_is_marked_failed_gives_everything_back(airflow: Airflow) -> None:
    """As an operator ends a campaign in the UI, in the middle of a trial."""
    machine = airflow.rented.machine
    run = airflow.trigger("marked", seconds=30)
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
    run = airflow.trigger("unasked", overrides={"budget": {"approve_above": 0, "limit": 60}})
    wait("the question", lambda: airflow.tasks(run)["approve"][0]["state"] == "awaiting_input")
    airflow.api.call("PATCH", run, {"state": "failed"})
    assert airflow.ended(run) == "failed"
    campaign, _ = airflow.rented.machine.outcome("unasked")
    assert campaign.state == "failed"
    assert len(airflow.rented.cloud.requests("RunInstances")) == rentals


@pytest.mark.fault(
    "AWS refuses to end a fleet for ten minutes",
    promise="the run is red, and the reaper ends the fleet at its expiry",
    of="cloud",
)
@pytest.mark.long  # a whole fleet; test_ec2_ending has the reaper without Airflow
def test_what_a_failed_teardown_leaves_is_reaped(airflow: Airflow) -> None:
    """AWS refuses to terminate: the run is red, and the reaper ends the fleet at its expiry."""
    machine, cloud = airflow.rented.machine, airflow.rented.cloud
    cloud.fault("TerminateInstances", "UnauthorizedOperation", times=-1)
    run = airflow.trigger("leaked")
    machine.wait_for("leaked", "deploy baseline")
    airflow.api.call("PATCH", run, {"state": "failed"})
    given_up = lambda: airflow.tasks(run)["give_back"][0]["state"] == "failed"  # noqa: E731
    wait("the teardown, tried for ten minutes", given_up, limit_s=1500)
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


def test_the_published_plan_of_tidb_cloud_is_measured_and_leaves_nothing(
    airflow: Airflow,
) -> None:
    """The document's rules on less data, by a client rented on EC2, through TLS.

    The cluster is gone from TiDB Cloud, the client from EC2; nothing that was written has the API
    key or the root password.
    """
    machine = airflow.rented.machine
    small = {
        "threads_by_workload": {"oltp_point_select": [1, 2]},
        "client.report_interval": 1,
    }
    conf = {
        "campaign": "v713",
        "published": "sysbench_v713_cloud",
        "workloads": ["oltp_point_select", "oltp_insert"],
        "threads": [2],
        "seconds": 1,
        "tables": 2,
        "table_size": 500,
        "overrides": small,
    }
    run = airflow.start(CLOUD_DAG, conf)
    assert airflow.ended(run) == "success", airflow.story(run, "v713")
    _nothing_is_left(airflow)
    campaign, trials = machine.outcome("v713")
    assert campaign.state == "complete"
    cells = [(t.trial.workload, t.trial.threads) for t in trials]
    assert cells == [("oltp_point_select", 1), ("oltp_point_select", 2), ("oltp_insert", 2)]
    assert all(t.valid for t in trials), [t.reasons for t in trials]
    page = (machine.here.reports / "v713" / "report.md").read_text().replace("\\", "")
    for said in (
        "TiDB Cloud Sysbench Performance Test Report for TiDB v7.1.3",
        "c6a.2xlarge",
        "raft-engine.prefill-for-recycle: true",
        "were requested but not set: only",
        "16C32G",
        "Differences from the document",
        "there is no verdict",
    ):
        assert said in page, said
    found = machine.verified("v713")
    assert found.outcome == "holds", found.lines()
    _no_secret_is_written(airflow)


@pytest.mark.fault(
    "TiDB Cloud cannot make a cluster, or its run is marked failed meanwhile",
    promise="the cluster is deleted",
    of="cloud",
)
@pytest.mark.parametrize(
    "fault",
    ["stuck", pytest.param("no_machines", marks=pytest.mark.long)],  # as in test_tidb_cloud
)
def test_a_cluster_that_is_not_made_is_deleted(airflow: Airflow, fault: str) -> None:
    """TiDB Cloud cannot make it; or its run is marked failed while it is being made."""
    machine, cloud = airflow.rented.machine, airflow.tidb_cloud
    setattr(cloud, fault, True)
    try:
        conf = {"campaign": fault, "baseline": f"v{OLD_VERSION}", "rounds": 1}
        run = airflow.start(CLOUD_DAG, conf)
        if fault == "stuck":
            wait("the cluster", cloud.living)
            airflow.api.call("PATCH", run, {"state": "failed"})
            wait("the teardown", lambda: airflow.tasks(run)["give_back"][0]["state"] == "success")
        assert airflow.ended(run) == "failed"
    finally:
        setattr(cloud, fault, False)
    _nothing_is_left(airflow)
    assert not (machine.here.campaign(fault) / "cluster.json").exists()
    campaign, trials = machine.outcome(fault)
    assert (campaign.state, trials) == ("failed", [])
    _no_secret_is_written(airflow)


def _nothing_is_left(airflow: Airflow) -> None:
    """Neither at TiDB Cloud, where the deletion has been seen to end, nor on EC2."""
    assert airflow.tidb_cloud.passwords, "there was a cluster"
    assert airflow.tidb_cloud.living() == []
    assert airflow.rented.cloud.holdings() == NOTHING
    assert airflow.rented.namespaces.addresses == ()


def _no_secret_is_written(airflow: Airflow) -> None:
    secrets = [fake.PRIVATE, *filter(None, airflow.tidb_cloud.passwords.values())]
    written = [path for path in airflow.rented.machine.here.root.rglob("*") if path.is_file()]
    leaks = [p for p in written for one in secrets if one.encode() in p.read_bytes()]
    assert not leaks


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
