"""What is written into the note of a run; that it is the answer, tests with a scheduler see."""

from __future__ import annotations

from tests.airflow.conftest import told

NOTES = """
from airflow import settings
from airflow.models.dagrun import DagRun
from airflow.sdk import timezone
from sqlalchemy import select
from benchlab_airflow.messages import run_note

from benchlab_airflow.page import airflow_runs
left = {}  # by run and key: what its tasks left
airflow_runs.xcoms = lambda run, key, session: left.get((run.run_id, key), {})
answers = {"measured": "1 workload: 1 regression", "long": "x" * 2000}
run_note._answer = lambda run, session: answers.get(run.run_id.split(".")[0])
session = settings.Session()

def again(run_id):
    run = session.scalars(select(DagRun).where(DagRun.run_id == run_id)).one()
    run_note.on_dag_run_success(run)
    session.commit()
    return run.note

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


def test_why_a_run_failed_comes_first_and_gives_way_once_it_has_not(
    airflow_env: dict[str, str],
) -> None:
    """The last failure but `verdict`, which follows from it; then the answer, if there is room.

    What is written here ends in a link to the campaign, by which it is known when the run, cleared,
    ends again: then it says what it says now.
    """
    code = """
link = "\\n\\n[page](dags/notes/runs/{}/plugin/campaign)"
def fails(run, **why):
    left[run, "failure"] = {
        task: {"said": said, "link": link.format(run)} for task, said in why.items()}
fails("f1", verdict="none was measured", register="port 13306 is taken")
fails("f2", verdict="none was measured")
fails("f3", publish="x" * 2000)
fails("measured.f4", publish="no link to S3")
say(repr([noted("f1"), noted("f2"), noted("measured.f4")]))
say(len(noted("f3")), noted("f3.own", "my own"))
answers["f1"] = "1 workload: 1 equivalent"
say(again("f1"))
"""
    lines = told(NOTES + code, airflow_env)
    tab = "\n\n[page](dags/notes/runs/{}/plugin/campaign)"
    assert lines[0] == repr(
        [
            f"port 13306 is taken{tab.format('f1')}",
            f"none was measured{tab.format('f2')}",
            "no link to S3\n\n1 workload: 1 regression",
        ]
    )
    assert lines[1:] == ["1000 my own", "1 workload: 1 equivalent"]
