"""A report type that is no longer run by its schedule is named; others are not."""

from __future__ import annotations

import json

import pytest

from tests.airflow.conftest import told

LOOK = """
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from benchlab import home
from benchlab_airflow.operators import silent, upkeep

here = home.find()
now = datetime(2026, 11, 25, 12, tzinfo=UTC)  # a Wednesday
mondays = [datetime(2026, 11, day, 2, tzinfo=UTC) for day in (23, 16, 9, 2)]
ran = RAN

def count(*, dag_id, logical_dates, states):
    assert set(states) == {"running", "success", "failed"}
    if dag_id != "sysbench_ec2_weekly":
        return 0
    return sum(moment in logical_dates for moment in ran)

say(json.dumps(silent.silent(here, count, now)))
"""


@pytest.mark.parametrize(
    ("ran", "is_named"),
    [
        ("[]", False),
        ("mondays", False),
        ("mondays[1:]", False),
        ("mondays[2:]", True),
        ("[mondays[0] - timedelta(weeks=30)]", False),
    ],
    ids=["never", "always", "one missed", "two missed", "given up long ago"],
)
def test_two_missed_moments_of_a_schedule_are_named(
    airflow_env: dict[str, str], ran: str, is_named: bool
) -> None:
    """With both moments and what to look at; one that never ran by its schedule is nobody's."""
    (found,) = told(LOOK.replace("RAN", ran), airflow_env)
    named = json.loads(found)
    if not is_named:
        assert named == []
        return
    (sentence,) = named
    assert sentence.startswith("sysbench_ec2_weekly: it ran by its schedule, and has not for the ")
    assert "2026-11-16 02:00 UTC and 2026-11-23 02:00 UTC" in sentence
    assert "whether its DAG is paused" in sentence


CHECKED = """
import runpy
from types import SimpleNamespace
from benchlab import home
dag = runpy.run_path(str(home.find().project / "dags" / "check_operation.py"))["dag"]
for task in dag.tasks:
    heard = task.on_failure_callback
    say(task.task_id, type(heard[0] if isinstance(heard, list) else heard).__name__)
run = dag.test()
for ti in run.get_task_instances():
    say(ti.task_id, ti.state)
"""


def test_airflow_itself_is_asked_and_whoever_is_notified_of_failures_hears_of_it(
    airflow_env: dict[str, str],
) -> None:
    """Where nothing ever ran by a schedule and nothing was rented, all checks are green."""
    names = ("schedules", "reaper", "workers", "disk")
    said = told(CHECKED, airflow_env)
    assert sorted(said[:4]) == sorted(f"{name} ReaperNotifier" for name in names)
    assert sorted(said[4:]) == sorted(f"{name} success" for name in names)


WAITING = """
from types import SimpleNamespace
from benchlab.errors import BenchlabError
from benchlab_airflow.operators import upkeep

class Asked:
    task_id = "workers"
    pushed = None
    def __init__(self, states):
        self.states = states
    def get_ti_count(self, *, dag_id, states):
        return sum(state in states for state in self.of(dag_id).values())
    def get_task_states(self, *, dag_id):
        return {"run-1": self.of(dag_id)}
    def of(self, dag_id):
        return self.states if dag_id == "sysbench_ec2_weekly" else {}
    def xcom_pull(self, **asked):
        return Asked.pushed
    def xcom_push(self, key, value):
        Asked.pushed = value

for states in STATES:
    upkeep.get_current_context = lambda: {"ti": Asked(states)}
    try:
        say(str(upkeep.check_workers()))
    except BenchlabError as error:
        say(str(error))
"""
QUEUED, RUNNING = {"register": "queued"}, {"register": "running"}
BEHIND, LAST = (
    {"register": "running", "trials": "queued"},
    {"plan": "running", "give_back": "queued"},
)


@pytest.mark.parametrize(
    ("states", "named"),
    [
        ([QUEUED, QUEUED], "register"),
        ([QUEUED, RUNNING], ""),
        ([QUEUED, {}, QUEUED], ""),
        ([BEHIND, BEHIND], ""),
        ([LAST, LAST], "give_back"),
    ],
    ids=["not taken", "taken", "taken, and queued again", "behind another", "what gives back"],
)
def test_a_task_that_no_worker_takes_between_two_checks_is_named(
    airflow_env: dict[str, str], states: list[dict[str, str]], named: str
) -> None:
    """With its run; the first time nobody is told, as it may have been queued a moment ago. It may
    wait behind another task of its queue, but nothing may hold up what gives back.
    """
    *before, last = told(WAITING.replace("STATES", repr(states)), airflow_env)
    assert {*before} == {"None"}
    assert (f"{named} of sysbench_ec2_weekly, run-1" in last) is bool(named)


PAUSED = """
from types import SimpleNamespace
from benchlab.errors import BenchlabError
from benchlab.targets.ec2 import regions
from benchlab_airflow.operators import upkeep

asked = SimpleNamespace(get_dag=lambda name: SimpleNamespace(is_paused=name == upkeep.REAPER))
upkeep.get_current_context = lambda: {"ti": asked}
for never in (True, False):
    regions.never_rented = lambda *of: never
    try:
        say(str(upkeep.check_reaper()))
    except BenchlabError as error:
        say(str(error))
"""


def test_a_paused_reaper_is_named_where_hosts_have_been_rented(
    airflow_env: dict[str, str],
) -> None:
    """Elsewhere there is nothing that it could end."""
    nothing, named = told(PAUSED, airflow_env)
    assert nothing == "None"
    assert named.startswith("the DAG reap_expired_fleets is paused, and hosts have been rented")


OLD_RUNS = """
import os, runpy
from datetime import UTC, datetime, timedelta
from sqlalchemy import select
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session
from airflow.utils.types import DagRunType
from benchlab import home

here = home.find()
log = here.root / "logs" / "old.log"
log.parent.mkdir(parents=True, exist_ok=True)
log.write_text("said long ago")
long_ago = datetime.now(UTC) - timedelta(days=400)
os.utime(log, (long_ago.timestamp(),) * 2)
with create_session() as session:
    for days in (400, 300, 10):
        at = datetime.now(UTC) - timedelta(days=days)
        session.add(DagRun(dag_id="sysbench_ec2", run_id=f"days-{days}", logical_date=at,
                           start_date=at, run_after=at, run_type=DagRunType.MANUAL,
                           state="success"))
dag = runpy.run_path(str(here.project / "dags" / "maintain.py"))["dag"]
os.environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = "airflow-db-not-allowed:///"
run = dag.test(run_conf={"keep_days": 350})
with create_session() as session:
    kept = session.scalars(select(DagRun.run_id).where(DagRun.dag_id == "sysbench_ec2"))
    say(*sorted(name for name in kept if name.startswith("days-")))
say(run.state, log.exists())
"""


def test_maintenance_removes_what_is_older_than_it_is_told(airflow_env: dict[str, str]) -> None:
    """DAG runs and logs, although a task itself has no access to Airflow's database."""
    assert told(OLD_RUNS, airflow_env) == ["days-10 days-300", "success False"]
