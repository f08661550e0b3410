"""Writes a campaign's answer into the note of its DAG run, which Airflow's UI shows with the run.

A task cannot write a note: Airflow 3.3 gives it no way. This listener can: the scheduler calls it
when a run ends, with the run as it is about to store it. A note that a person wrote stays.

Every process of Airflow loads this module with its plugin, so what it needs is imported where it is
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.listeners import hookimpl

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from benchlab_airflow.private_names import DagRun


@hookimpl
def on_dag_run_success(dag_run: DagRun) -> None:
    """Write what was found, or why there was nothing to measure."""
    _note(dag_run)


@hookimpl
def on_dag_run_failed(dag_run: DagRun) -> None:
    """Write the answer of a campaign in which something is missing, if there is one."""
    _note(dag_run)


def _note(dag_run: DagRun) -> None:
    from sqlalchemy.orm import object_session

    from benchlab_airflow import private_names
    from benchlab_airflow.dags.stages import LONGEST_NOTE

    session = object_session(dag_run)
    if session is None:
        # `airflow dags test` closes its session after each task, and goes on to use it.
        session = private_names.Session()
        dag_run = session.merge(dag_run)
    if dag_run.note is None and (said := _answer(dag_run, session)):
        dag_run.note = said[:LONGEST_NOTE]


def _answer(dag_run: DagRun, session: Session) -> str | None:
    """What the campaign found, or why a run by the calendar has none; None if nothing is said."""
    from benchlab_airflow.dags.stages import NO_CAMPAIGN, NOTE
    from benchlab_airflow.private_names import XComModel

    for task, key in (("compare", NOTE), ("plan", NO_CAMPAIGN)):
        asked = XComModel.get_many(
            run_id=dag_run.run_id, dag_ids=dag_run.dag_id, task_ids=task, key=key, limit=1
        )
        if (found := session.scalars(asked).first()) is not None:
            return str(XComModel.deserialize_value(found))
    return None
