"""What campaigns rent whose DAG runs were deleted is given back, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.airflow.conftest import told

LOOK = """
import dataclasses, json, os, sys, time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from benchlab import home
from benchlab.campaign import stages
from benchlab.campaign.state import StateFile
from benchlab.errors import StoreError
from benchlab.hosts.lock import MachineLock
from benchlab.results.store import Store
from benchlab.targets import fleet_files
from benchlab.targets.cloud import clusters, lease_file
from benchlab.targets.cloud.lease_file import LeaseFile
from benchlab.targets.ec2.rental_file import RentalFile
from benchlab_airflow.operators import deleted_runs, upkeep
from tests.builders import campaigns
from tests.builders import tidb_cloud as fake

here, now = home.find(), datetime.now(UTC).replace(microsecond=0)
state = here.campaign("c1")
there = {("reap_expired_fleets", "scheduled__now")}

def count(dag_id, run_ids):
    if None in there:
        raise ConnectionError("the API server does not answer")
    return sum((dag_id, run) in there for run in run_ids)

this = SimpleNamespace(dag_id="reap_expired_fleets", run_id="scheduled__now")
upkeep.get_current_context = lambda: {
    "dag_run": this, "ti": SimpleNamespace(get_dr_count=count)}
upkeep.log.warning = lambda *said: None

def look(minutes=0):
    \"\"\"One look of the reaper, that long after everything that has been written.\"\"\"
    for file in (state / deleted_runs.DELETED, state / "progress.jsonl"):
        if file.exists():
            at = file.stat().st_mtime - 60 * minutes
            os.utime(file, (at, at))
    try:
        found = upkeep.reap_deleted()
    except Exception as error:
        found = [f"{type(error).__name__} {error}"]
    say(json.dumps([found, len(cloud.living())]))

with fake.serving() as cloud:
    login = {"conn_type": "mysql", "host": "127.0.0.1", "port": cloud.port, "login": fake.PUBLIC,
             "password": fake.PRIVATE,
             "extra": {"ssl_mode": "VERIFY_IDENTITY", "ssl": {"ca": "/etc/hostname"}}}
    os.environ["AIRFLOW_CONN_TIDB_CLOUD"] = json.dumps(login)
    name = clusters.new_name(now + timedelta(hours=9))
    cloud.add(name)
    rental = RentalFile(mark="a-b", region="r", created_at=now, lifetime_minutes=540)
    lease_file.write(state, LeaseFile(name=name, project=None, rental=rental))
    (state / "target").write_text("tidb_cloud")
    made = dataclasses.replace(campaigns.campaign(id="c1"), state="running", ended_at=None)
    with Store(here.store_url, here.objects) as store:
        store.add_campaign(made)
    STEPS
    with Store(here.store_url, here.objects) as store:
        failure = store.failure("c1")
        why = str(failure.said[0]) if failure else ""
        say(json.dumps([f'{store.campaign("c1").state} {why}'.strip(), cloud.living()]))
"""
NOTED = 'deleted_runs.note(state, "sysbench_cloud", "manual__1")\n'
RESUMED = f"""{NOTED}look()
deleted_runs.note(state, "sysbench_cloud", "again")
there.add(("sysbench_cloud", "again"))
look(20)
look(20)"""
DRIVEN = f"""{NOTED}lock = MachineLock(state / fleet_files.DRIVER_LOCK)
lock.acquire("c1", "benchlab run", here.root, os.getpid())
look(20)
look(20)"""
LEFT: tuple[list[str], int] = ([], 1)


def looks(env: dict[str, str], folder: Path, steps: str) -> tuple[list[tuple[list[str], int]], str]:
    """What each look said, and how many clusters there were then; the campaign's state after it."""
    code = LOOK.replace("STEPS", steps.replace("\n", "\n    "))
    *said, last = told(code, env, BENCHLAB_HOME=str(folder))
    return [tuple(json.loads(one)) for one in said], json.loads(last)[0]


@pytest.mark.fault(
    "a run is deleted while its campaign holds hosts",
    promise="the reaper gives them back",
    of="airflow",
)
def test_what_a_deleted_run_has_left_is_given_back(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """At the second look, with nothing at work in between; then there is nothing left to do."""
    steps = f"{NOTED}look()\nlook(5)\nlook(20)\nlook(20)"
    (first, soon, later, again), state = looks(airflow_env, tmp_path, steps)
    assert first == soon == LEFT
    assert "Campaign c1, whose DAG run was deleted, is given back: 0 processes" in later[0][0]
    assert "1 cluster deleted" in later[0][0]
    assert later[1] == 0
    assert again == ([], 0)
    assert state == "failed its run was deleted in Airflow"


def test_a_cluster_is_deleted_though_its_client_is_on_another_worker(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """It says what is left to do there; a campaign that rents nothing is left to its machine."""
    there = '(state / "machine").write_text("worker-2\\nboot pid:[1]\\n")\n'
    (_, done, again), state = looks(
        airflow_env, tmp_path, f"{NOTED}{there}look()\nlook(20)\nlook()"
    )
    assert "1 cluster deleted, on its client's machine `benchlab give-back c1`" in done[0][0]
    assert (done[1], again) == (0, ([], 0))
    assert state == "failed its run was deleted in Airflow"


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ("look(20)\nlook(20)", "no run of Airflow has driven it"),
        ('(state / "airflow-runs.json").write_text("[1")\nlook(20)\nlook(20)', "damaged"),
        (
            f'{NOTED}there.add(("sysbench_cloud", "manual__1"))\nlook(20)\nlook(20)',
            "the run is there",
        ),
        (RESUMED, "another run has resumed it"),
        (f'{NOTED}look()\n(state / "progress.jsonl").touch()\nlook(5)\nlook(3)', "at work"),
        (DRIVEN, "a command drives it"),
    ],
)
def test_whatever_may_be_at_work_keeps_what_it_rents(
    airflow_env: dict[str, str], tmp_path: Path, steps: str, why: str
) -> None:
    """Until its expiry, at which every reaper ends it."""
    said, state = looks(airflow_env, tmp_path, steps)
    assert {(len(sentences), living) for sentences, living in said} == {(0, 1)}, why
    assert state == "running"


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("there.add(None)", "ConnectionError the API server does not answer"),
        ("there.clear()", "TargetError Airflow's database does not have this very run"),
    ],
)
def test_a_database_that_does_not_answer_ends_nothing(
    airflow_env: dict[str, str], tmp_path: Path, trouble: str, said: str
) -> None:
    """Neither does one that is empty; the task is red."""
    (_, failed), state = looks(airflow_env, tmp_path, f"{NOTED}look()\n{trouble}\nlook(20)")
    assert failed[0][0].startswith(said)
    assert failed[1] == 1
    assert state == "running"


def test_what_was_given_back_is_recorded_though_that_was_interrupted(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """The store is out of reach, or the task is killed: the next look records it."""
    steps = f"""{NOTED}look()
record = deleted_runs._record
def lost(*_):
    raise StoreError("no route to host")
deleted_runs._record = lost
look(20)
deleted_runs._record = record
look(20)
look(20)"""
    (_, lost, done, again), state = looks(airflow_env, tmp_path, steps)
    assert "no route to host" in lost[0][0]
    assert (lost[1], len(done[0]), again) == (0, 1, ([], 0))
    assert state == "failed its run was deleted in Airflow"


def test_what_cannot_be_given_back_is_named_and_tried_again(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """The campaign, and what TiDB Cloud says."""
    steps = f"{NOTED}look()\ncloud.faults = [('*', 403)] * 9\nlook(20)\ncloud.faults = []\nlook(20)"
    (_, refused, done), state = looks(airflow_env, tmp_path, steps)
    assert refused[0][0].startswith("ReaperError the reaper could not deal with everything")
    assert "campaign c1, whose DAG run was deleted: " in refused[0][0]
    assert refused[1] == 1
    assert done[1] == 0
    assert state == "failed its run was deleted in Airflow"
