"""Writes a campaign's answer, or why it failed, into the note of its DAG run in Airflow's UI.

In Airflow 3.3, tasks cannot write a note. This listener can: the scheduler calls it when a run
ends, just before it stores the run. A person's note is kept; one written here is replaced when the
run ends again.

Every process of Airflow loads this module with the plugin, so imports are where they are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.listeners import hookimpl

from benchlab_airflow.page.navigation import campaign_tab

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from benchlab_airflow.private_names import DagRun


@hookimpl
def on_dag_run_success(dag_run: DagRun) -> None:
    """Write the campaign's answer, or why there was nothing to measure."""
    _note(dag_run, failed=False)


@hookimpl
def on_dag_run_failed(dag_run: DagRun) -> None:
    """Write why the run failed, then the answer, if there is one and it fits."""
    _note(dag_run, failed=True)


def _note(dag_run: DagRun, *, failed: bool) -> None:
    from sqlalchemy.orm import object_session

    from benchlab_airflow import private_names
    from benchlab_airflow.dags.stages import LONGEST_NOTE

    session = object_session(dag_run)
    if session is None:
        # `airflow dags test` closes its session after each task, but goes on using it.
        session = private_names.Session()
        dag_run = session.merge(dag_run)
    is_ours = campaign_tab(dag_run.dag_id, dag_run.run_id) in str(dag_run.note)
    if dag_run.note is None or is_ours:
        said = _answer(dag_run, session)
        if failed:
            said = _with_failure(dag_run, session, said)
        if said:
            dag_run.note = said[:LONGEST_NOTE]


def _with_failure(dag_run: DagRun, session: Session, answer: str | None) -> str | None:
    """Why the run failed, followed by the answer if it fits, else by a link to the campaign."""
    from benchlab_airflow.dags.stages import LONGEST_NOTE
    from benchlab_airflow.page import airflow_runs

    failure = airflow_runs.failure(dag_run, session)
    if failure is None:
        return answer
    said, link = failure["said"], failure["link"]
    if answer and len(said) + len(answer) + 2 <= LONGEST_NOTE:
        return f"{said}\n\n{answer}"
    room = LONGEST_NOTE - len(link)
    return (said if len(said) <= room else f"{said[: room - 4]} ...") + link


def _answer(dag_run: DagRun, session: Session) -> str | None:
    """The note that ``compare`` left or, without a campaign, ``plan``; None if there is neither."""
    from benchlab_airflow.dags.stages import NO_CAMPAIGN, NOTE
    from benchlab_airflow.page import airflow_runs

    for task, key in (("compare", NOTE), ("plan", NO_CAMPAIGN)):
        if found := airflow_runs.xcoms(dag_run, key, session).get(task):
            return str(found)
    return None
