"""Whole campaigns on a rented test fleet, by the command line, and what befalls them."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from benchlab.campaign.progress import ProgressLog, ProgressNote
from benchlab.engines.database import OPEN_USER
from benchlab.hosts.fleet import Fleet
from benchlab.plan.report_type import SIDES
from benchlab.results.records import rows_of
from benchlab.targets import fleet_files
from benchlab.targets.ec2 import rental_file
from tests.hosts import published
from tests.hosts.rented import (
    CLI,
    TOPOLOGY,
    Rented,
    assert_every_host_measured,
    assert_nothing_left,
    bucket_for,
    rented_in,
)
from tests.machine import LIMIT_S, LOOK_AGAIN_S, Machine, servers

__all__ = ["servers"]  # a fixture

# Longer than a connection without an answer is held on to.
OUTAGE_S = 30.0


@pytest.fixture
def rented(tmp_path: Path, servers: Path) -> Iterator[Rented]:
    """A machine from which campaigns rent; nothing of them is left afterwards."""
    with rented_in(tmp_path, servers) as found:
        yield found


@pytest.mark.fault(
    "the client's host is out of reach for half a minute of a trial",
    promise="the trial is waited for and counts; another campaign is not disturbed",
    of="hosts",
)
def test_two_campaigns_at_once_keep_apart_while_one_loses_its_ssh_link(rented: Rented) -> None:
    """Each has its own fleet, from nothing to the report; afterwards there is no instance.

    A client that cannot be asked for 30 s is measured once. The other campaign is the published
    plan of v5.2.0 against v5.1.1, with all of its hosts, workloads and restores.
    """
    machine, cloud = rented.machine, rented.cloud
    plan = "sysbench_v520_vs_v511"
    small = published.settings(threads=1, dataset__tables=2, dataset__table_size=500)
    runs = {
        "one": start(machine, "one", "sysbench_ec2", *rented.settings(seconds=5)),
        "two": start(machine, "two", plan, *small),
    }
    in_trial(machine, "one", runs["one"])
    fleet = fleet_of(machine, "one")
    with no_way_to(rented, fleet.client.address):
        began = time.monotonic()
        in_trial(machine, "two", runs["two"])
        other = fleet_of(machine, "two")
        published.assert_given(rented, plan, "two")
        assert "nothing to end" in machine.run(CLI, "reap")
        time.sleep(max(0.0, OUTAGE_S - (time.monotonic() - began)))
    for run in runs.values():
        output, _ = run.communicate(timeout=LIMIT_S)
        assert run.returncode == 0, output
        assert "update_index" in output
    campaign, trials = machine.outcome("one")
    assert campaign.state == "complete"
    assert [t.valid for t in trials] == [True, True], [t.reasons for t in trials]
    assert campaign.environment["tikv_hosts"].startswith("2 x i3.4xlarge")
    assert campaign.environment["tiup_script"].startswith(f"https://{rented.namespaces.gateway}:")
    assert len(campaign.environment["tiup_script_sha256"]) == 64
    assert (machine.here.reports / "one" / "report.html").exists()
    assert [t.attempt for t in trials] == [1, 1]
    assert_every_host_measured(campaign, trials)
    for result in trials:
        # Not begun again; its gate says that it was no longer than it should have been.
        assert steps(machine, "one", result.trial.title).count("start") == 1
        assert ("duration", "pass") in [(gate.gate, gate.status) for gate in result.gates]
    cut = trials[0]
    assert (cut.ended_at - cut.started_at).total_seconds() > OUTAGE_S, "it was waited for"
    published.assert_measured(rented, plan, "two")
    assert not instances(fleet) & instances(other)
    for request in cloud.requests("TerminateInstances"):
        ended = {value for key, value in request.items() if key.startswith("InstanceId")}
        assert ended <= instances(fleet) or ended <= instances(other)
    assert_nothing_left(rented, "one", "two")
    campaigns = str(machine.here.root / "campaigns")
    key = ["grep", "-rlF", "BEGIN OPENSSH PRIVATE KEY", campaigns]
    assert subprocess.run(key, capture_output=True, text=True, check=False).stdout == ""


def test_the_plan_of_tpc_c_v520_against_v511_is_measured_by_tiup_bench(rented: Rented) -> None:
    """As published, on one warehouse. Its client has an account without a password, which reaches
    the dataset through HAProxy on the client's host, and nothing else, and nobody elsewhere.
    """
    plan = "tpcc_v520_vs_v511"
    run = start(rented.machine, plan, plan, *published.settings(**published.TPCC))
    in_trial(rented.machine, plan, run)
    fleet = fleet_of(rented.machine, plan)
    client = rented.cloud.host(fleet.client.address)
    login = f"mariadb --no-defaults --skip-ssl --protocol=tcp --user={OPEN_USER} -N -e"
    through = f"{login} '%s' --host=127.0.0.1 --port=13390"
    assert client.run(through % "SELECT COUNT(*) FROM tpcc.district").stdout == "10\n"
    assert "denied" in client.run(through % "SELECT * FROM mysql.user", check=False).stderr
    server, other = fleet.with_role("tidb")[:2]
    direct = f"{login} 'SELECT 1' --host={server.address} --port=4000"
    elsewhere = rented.cloud.host(other.address).run(direct, check=False)
    assert "Access denied" in elsewhere.stderr
    published.assert_given(rented, plan, plan)
    output, _ = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 0, output
    published.assert_measured(rented, plan, plan)
    assert_nothing_left(rented, plan)


@pytest.mark.fault(
    "the client's host is out of reach for good",
    promise="it is named, its trial has no figure, and the fleet is given back without SSH",
    of="hosts",
)
@pytest.mark.long  # minutes of waiting; an executor that never reaches its host has its own tests
def test_a_client_that_is_never_reached_again_fails_its_campaign(rented: Rented) -> None:
    """It is named; the trial has no figure, and the fleet is given back without SSH."""
    machine = rented.machine
    settings = rented.settings(seconds=10, repeat_limit=0)
    run = machine.start(CLI, "run", "sysbench_ec2", *settings, "--campaign", "client-lost")
    in_trial(machine, "client-lost", run, after=1)
    client = fleet_of(machine, "client-lost").client
    rented.namespaces.set_way(client.address, up=False)
    said, _ = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 1, said
    assert "1 of 2 trials have no valid result" in said
    assert f"{client.name} ({client.address}) cannot be reached over SSH" in said
    campaign, (first, second) = machine.outcome("client-lost")
    assert campaign.state == "failed"
    assert first.valid
    assert not second.valid
    assert second.samples == ()
    assert_no_figure_of(machine, "client-lost", second.trial.id)
    assert_nothing_left(rented, "client-lost")


@pytest.mark.fault(
    "the host of a client, or of a PD, TiKV or TiDB server, dies in a trial",
    promise="it is replaced, both sides are prepared anew, and the pair is measured again",
    of="hosts",
)
@pytest.mark.long  # as the DAG's spot host in test_fleet_dag, here without Airflow
@pytest.mark.parametrize("name", ["client-1", "pd-1", "tikv-2", "tidb-1"])
def test_a_host_that_dies_in_a_trial_is_replaced(rented: Rented, name: str) -> None:
    """What was measured meanwhile does not count; its pair is measured again, on a whole fleet."""
    machine, id_ = rented.machine, f"died-{name}"
    settings = rented.settings(seconds=15)
    run = machine.start(CLI, "run", "sysbench_ec2", *settings, "--campaign", id_)
    in_trial(machine, id_, run)
    died = rented.instance(name)
    rented.cloud.kill(died)
    said, _ = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 0, said
    campaign, trials = machine.outcome(id_)
    assert campaign.state == "complete"
    # A client's host takes all that is known of its trial along, which is then begun again.
    attempt = 1 if name == "client-1" else 2
    first = [t for t in trials if t.trial == campaign.plan.trials[0] and t.attempt < attempt]
    assert [t.valid for t in first] == [False] * (attempt - 1)
    noted = ProgressLog(machine.here.campaign(id_) / "progress.jsonl").read()[0]
    assert [n.note.partition(":")[0] for n in noted if n.phase in ("lost", "replaced")] == 2 * [
        name
    ]
    again = [t for t in trials if t.attempt == attempt]
    assert [t.trial for t in again] == list(campaign.plan.trials)
    assert all(t.valid for t in again), [t.reasons for t in again]
    assert campaign.environment["replaced_hosts"] == f"0: {name}"
    page = (machine.here.reports / id_ / "report.md").read_text().replace("\\", "")
    assert f"a host was lost and replaced: {name}" in page
    assert machine.verified(id_).outcome == "holds"
    assert_nothing_left(rented, id_)


@pytest.mark.fault(
    "a rented host dies while a dataset is loaded",
    promise="the campaign ends and names it, and the rest of the fleet is given back",
    of="hosts",
)
def test_an_instance_that_dies_while_loading_ends_its_campaign(rented: Rented) -> None:
    """It has no trial yet that would be lost; it is named, and the fleet is given back."""
    machine = rented.machine
    settings = rented.settings(dataset__table_size=200_000)
    run = machine.start(CLI, "run", "sysbench_ec2", *settings, "--campaign", "died-loading")
    machine.wait_for("died-loading", "load baseline")
    machine.wait_for("died-loading", "load candidate")
    rented.cloud.kill(rented.instance("tidb-1"))
    said, _ = run.communicate(timeout=LIMIT_S)
    print(said)
    assert run.returncode == 1, said
    campaign, trials = machine.outcome("died-loading")
    assert (campaign.state, trials) == ("failed", [])
    assert "tidb-1" in said
    assert_nothing_left(rented, "died-loading")


@pytest.mark.fault(
    "a campaign reaches the limit of its budget",
    promise="it finishes its trial, publishes what it has, and gives everything back",
    of="cloud",
)
def test_at_the_limit_of_its_budget_a_campaign_publishes_what_it_has(rented: Rented) -> None:
    """The trial at work is finished, the report says why the rest is missing, all is given back."""
    machine = rented.machine
    settings = rented.settings(rounds=3, repeat_limit=1, budget__limit=25)
    run = machine.start(CLI, "run", "sysbench_ec2", *settings, "--campaign", "at-limit")
    in_trial(machine, "at-limit", run, after=1)
    state = machine.here.campaign("at-limit")
    kept = rental_file.read(state)
    assert kept is not None
    assert kept.usd_per_minute is not None
    until_limit = timedelta(minutes=25 / kept.usd_per_minute)
    began = kept.created_at - until_limit + timedelta(minutes=1)
    rental_file.write(
        state,
        kept.model_copy(
            update={"created_at": began, "lifetime_minutes": until_limit / timedelta(minutes=1)}
        ),
    )
    said, _ = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 1, said
    why = "another trial the hosts would have cost more than the budget's limit of $25.00"
    assert "4 of 6 trials have no valid result" in said
    assert why in said
    assert "of 25.00 dollars at list prices" in said
    campaign, trials = machine.outcome("at-limit")
    assert campaign.state == "failed"
    assert [t.trial for t in trials if t.attempt == 1] == list(campaign.plan.trials[:2])
    page = (machine.here.reports / "at-limit" / "report.md").read_text().replace("\\", "")
    assert why in page
    assert "planned $" in page
    assert machine.verified("at-limit").outcome == "holds"
    assert_nothing_left(rented, "at-limit")


@pytest.mark.long  # two fleets, one after the other
def test_a_pair_is_measured_again_on_a_fleet_of_its_own(rented: Rented) -> None:
    """Dollars are shown first, both clusters are as they were, and nothing is left."""
    machine = rented.machine
    machine.run(CLI, "run", "sysbench_ec2", *rented.settings(), "--campaign", "whole")
    said = machine.run(CLI, "reproduce", "whole", "--campaign", "pair")
    assert re.search(r"2 trials, about .*, about [0-9.]+ dollars", said)
    assert "1 pair on one deployment: no verdict follows" in said
    assert "Measured otherwise" not in said
    (first, _), (campaign, trials) = machine.outcome("whole"), machine.outcome("pair")
    assert campaign.plan.sides == first.plan.sides
    assert [t.valid for t in trials] == [True, True], [t.reasons for t in trials]
    assert_nothing_left(rented, "whole", "pair")


@pytest.mark.long  # two fleets; the DAG's test has the first campaign
def test_a_dataset_snapshot_seeds_the_next_fleet(rented: Rented, bucket: Any) -> None:
    """The first campaign loads one side and restores both; later ones restore, or refuse it."""
    machine = rented.machine
    settings = rented.settings(snapshots="s3://datasets/small")
    machine.run(CLI, "run", "sysbench_ec2", *settings, "--campaign", "loads")
    first, _ = machine.outcome("loads")
    (key,) = [o.key for o in bucket.objects.all() if o.key.endswith(".json")]
    machine.run(CLI, "run", "sysbench_ec2", *settings, "--campaign", "restores")
    seeded, trials = machine.outcome("restores")
    assert [t.valid for t in trials] == [True, True], [t.reasons for t in trials]
    assert first.environment["dataset"] == "new snapshot"
    assert seeded.environment["dataset"] == "snapshot"
    sums = {facts.dataset_checksum or "" for c in (first, seeded) for facts in c.facts.values()}
    assert len({rows_of(checksum) for checksum in sums}) == 1
    note = bucket.Object(key)
    other = json.loads(note.get()["Body"].read()) | {"checksum": "sbtest1:1:1"}
    note.put(Body=json.dumps(other).encode())
    said = machine.run(CLI, "run", "sysbench_ec2", *settings, "--campaign", "differs", code=1)
    assert f"baseline: what was restored from {other['url']} has other rows" in said
    assert machine.outcome("differs")[1] == []
    assert_nothing_left(rented, "loads", "restores", "differs")


def test_both_sides_are_deployed_anew_on_the_same_hosts(rented: Rented, bucket: Any) -> None:
    """The first deployment loads its dataset and keeps it; the second restores it, each side with
    the ports that the other one had: TiUP refuses those that another cluster still has.
    """
    machine = rented.machine
    settings = rented.settings(rounds=2, deployments=2, snapshots="s3://datasets/small")
    machine.run(CLI, "run", "sysbench_ec2", *settings, "--campaign", "anew")
    campaign, trials = machine.outcome("anew")
    assert {*campaign.plan.first_ports} == {*SIDES}
    assert [t.trial.id for t in trials] == [t.id for t in campaign.plan.trials]
    assert all(t.valid for t in trials), [t.reasons for t in trials]
    assert all("check dataset" in t.phases for t in trials), "each is the first on its side's data"
    noted = ProgressLog(machine.here.campaign("anew") / "progress.jsonl").read()[0]
    of_second = [n.phase for n in noted if n.note.startswith("deployment 2 of 2")]
    first, second = campaign.plan.in_order(2)
    assert of_second[:2] == [f"deploy {first}", f"deploy {second}"]
    assert [n.phase for n in noted].count("keep the dataset of baseline") == 1
    assert_nothing_left(rented, "anew")


def test_hosts_that_may_not_use_the_bucket_are_not_rented(rented: Rented) -> None:
    """Found out before anything costs money, not after hours of loading."""
    settings = rented.settings(snapshots="s3://datasets/small")
    said = rented.machine.run(CLI, "run", "sysbench_ec2", *settings, "--campaign", "unfit", code=1)
    assert f"topology {TOPOLOGY}: instance_profile: missing" in said
    assert rented.cloud.requests("RunInstances") == []


@pytest.fixture
def bucket(rented: Rented) -> Iterator[Any]:
    """A bucket that campaigns and hosts may use."""
    with bucket_for(rented) as made:
        yield made


def start(machine: Machine, campaign: str, report: str, *settings: str) -> subprocess.Popen[str]:
    """`benchlab run` of a report type or a published plan."""
    return machine.start(CLI, "run", report, *settings, "--campaign", campaign)


@contextmanager
def no_way_to(rented: Rented, address: str) -> Iterator[None]:
    """Benchlab cannot reach the host; the hosts reach each other."""
    rented.namespaces.set_way(address, up=False)
    try:
        yield
    finally:
        rented.namespaces.set_way(address, up=True)


def in_trial(
    machine: Machine, campaign: str, run: subprocess.Popen[str], *, after: int = 0
) -> None:
    """Wait until a client runs, ``after`` trials being behind; a process that ends fails it."""
    log = ProgressLog(machine.here.campaign(campaign) / "progress.jsonl")
    while not any(s.phase == "run" and (s.done or 0) >= after for s in log.read()[0]):
        assert run.poll() is None, run.communicate()[0]
        time.sleep(LOOK_AGAIN_S)


def fleet_of(machine: Machine, campaign: str) -> Fleet:
    """The fleet of a campaign at work."""
    return fleet_files.read_fleet(machine.here.campaign(campaign))


def instances(fleet: Fleet) -> set[str | None]:
    """The ids of its instances."""
    return {host.instance for host in fleet.hosts}


def steps(machine: Machine, campaign: str, trial: str) -> list[str]:
    """The phases of one trial, those of all its tries."""
    log = ProgressLog(machine.here.campaign(campaign) / "progress.jsonl")
    found: list[ProgressNote] = log.read()[0]
    return [step.phase for step in found if step.trial == trial]


def assert_no_figure_of(machine: Machine, campaign: str, trial: str) -> None:
    """The comparison names the trial as missing, and none of its side's figures is there."""
    comparison = machine.comparison(campaign)
    assert trial in comparison["missing"]
    assert trial in [one["trial"] for one in comparison["excluded"]]
    side = "baseline" if "baseline" in trial else "candidate"
    (cell,) = comparison["workloads"][0]["cells"]
    assert cell[side] == {"tps": None, "qps": None, "p95_ms": None}
    assert cell["improvement_pct"] is None
