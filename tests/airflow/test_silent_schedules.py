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


ASKED = """
import runpy
from benchlab import home
from benchlab_airflow.messages.notify import ReaperNotifier
dag = runpy.run_path(str(home.find().project / "dags" / "check_schedules.py"))["dag"]
(task,) = dag.tasks
say(type(task.on_failure_callback[0] if isinstance(task.on_failure_callback, list)
         else task.on_failure_callback).__name__)
run = dag.test()
say(run.state)
"""


def test_airflow_itself_is_asked_and_whoever_is_notified_of_failures_hears_of_it(
    airflow_env: dict[str, str],
) -> None:
    """Where nothing ever ran by a schedule, the DAG is green."""
    assert told(ASKED, airflow_env) == ["ReaperNotifier", "success"]
