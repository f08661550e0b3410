"""What is written into the note of a run; that it is the answer, tests with a scheduler see."""

from __future__ import annotations

from tests.airflow.conftest import told

NOTES = """
from airflow import settings
from airflow.models.dagrun import DagRun
from airflow.sdk import timezone
from sqlalchemy import select
from benchlab_airflow.messages import run_note

answers = {"measured": "1 workload: 1 regression", "long": "x" * 2000}
run_note._answer = lambda run, session: answers.get(run.run_id.split(".")[0])
session = settings.Session()

def noted(run_id, own=None, *, detached=False):
    session.add(DagRun(dag_id="notes", run_id=run_id, run_type="manual", note=own,
                       state="failed", run_after=timezone.utcnow()))
    session.commit()
    session.expunge_all()
    asked = select(DagRun).where(DagRun.dag_id == "notes", DagRun.run_id == run_id)
    run = session.scalars(asked).one()
    if detached:
        session.close()
    run_note.on_dag_run_failed(run)
    session.merge(run)
    session.commit()
    session.expunge_all()
    return session.scalars(asked).one().note
"""


def test_a_persons_own_note_stays_and_silence_has_none(airflow_env: dict[str, str]) -> None:
    """A long answer is cut at Airflow's limit."""
    asked = 'say(noted("measured"), noted("measured.2", "my own"), len(noted("long")))'
    assert told(f"{NOTES}{asked}; say(noted('silent'))", airflow_env) == [
        "1 workload: 1 regression my own 1000",
        "None",
    ]


def test_a_run_of_dags_test_has_its_note(airflow_env: dict[str, str]) -> None:
    """There Airflow has closed the run's session before it says that the run has ended."""
    asked = (
        'say(noted("measured.by_test", detached=True), "|",'
        ' noted("measured.by_test.2", "my own", detached=True))'
    )
    assert told(NOTES + asked, airflow_env) == ["1 workload: 1 regression | my own"]
