"""Finds the Airflow run of a campaign and the campaign of a run, and why a run failed."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session, joinedload

from benchlab.home import ID
from benchlab.language import english
from benchlab.results.records import Campaign
from benchlab.site.page import RunOfDag, RunState
from benchlab_airflow.calendar.calendar_runs import ORIGIN
from benchlab_airflow.page.navigation import campaign_tab
from benchlab_airflow.private_names import DagModel, DagRun, XComModel, create_session

# How many runs of each DAG the overview knows, and of how long ago.
_LATEST, _RECENT = 10, timedelta(days=30)
_STATES: dict[str, RunState] = {"failed": "failed", "queued": "waiting", "running": "waiting"}


def address_of(campaign: Campaign) -> str:
    """The address of the run that began a campaign, from the site's root; empty if there is none.

    Runs of ``make demo`` beside the services, and deleted ones, are not in this Airflow.
    """
    if not campaign.origin.startswith(ORIGIN):
        return ""
    report, run = campaign.plan.report, campaign.origin.removeprefix(ORIGIN)
    with create_session() as session:
        found = session.scalar(select(DagRun.id).filter_by(dag_id=report, run_id=run))
    return f"../dags/{report}/runs/{run}" if found is not None else ""


def paused_dag(report: str) -> str:
    """The address of a report type's DAG, from the site's root, if it is paused; else empty."""
    with create_session() as session:
        is_paused = session.scalar(select(DagModel.is_paused).filter_by(dag_id=report))
    return f"../dags/{report}" if is_paused else ""


def latest(reports: Collection[str]) -> list[RunOfDag]:
    """The latest runs of the DAGs of report types, without those that resume a campaign.

    Of runs that succeeded, only those in which the plan found nothing to measure. The reason is the
    first line of the run's note.
    """
    from benchlab_airflow.dags.stages import NO_CAMPAIGN

    newest_first = func.row_number().over(
        partition_by=DagRun.dag_id, order_by=DagRun.run_after.desc()
    )
    place = (
        select(DagRun.id, newest_first.label("place"))
        .where(DagRun.dag_id.in_(reports), DagRun.run_after > datetime.now(UTC) - _RECENT)
        .subquery()
    )
    measures_nothing = exists().where(
        XComModel.dag_run_id == DagRun.id, XComModel.key == NO_CAMPAIGN
    )
    asked = (
        select(DagRun, measures_nothing)
        .join(place, place.c.id == DagRun.id)
        .where(place.c.place <= _LATEST)
        .options(joinedload(DagRun.dag_run_note))
    )
    with create_session() as session:
        return [
            RunOfDag(
                report=run.dag_id,
                run=run.run_id,
                origin=f"{ORIGIN}{run.run_id}",
                state=state,
                at=run.run_after,
                why=str(run.note or "").partition("\n")[0],
            )
            for run, is_skipped in session.execute(asked)
            if (state := _STATES.get(run.state, "skipped" if is_skipped else None))
            and not (run.conf or {}).get("campaign")
        ]


def xcoms(run: DagRun, key: str, session: Session) -> dict[str, Any]:
    """The XComs of a run with this key, by task, the latest first."""
    asked = XComModel.get_many(run_id=run.run_id, dag_ids=run.dag_id, key=key)
    found: dict[str, Any] = {}
    for one in session.scalars(asked):
        found.setdefault(one.task_id, XComModel.deserialize_value(one))
    return found


def failure(run: DagRun, session: Session) -> dict[str, str] | None:
    """Why a run failed: ``said``, and a ``link`` to its campaign in Markdown; None if no task has.

    The reason of ``verdict`` counts only if no other task left one, as it follows from theirs. If
    none did, because tasks were killed, they are named.
    """
    from benchlab_airflow.dags.stages import FAILURE

    told = xcoms(run, FAILURE, session)
    if told:
        return next((told[task] for task in told if task != "verdict"), told.get("verdict"))
    failed = run.get_task_instances(state=["failed"], session=session)
    if not failed:
        return None
    say, tasks = english().say, ", ".join(sorted({one.task_id for one in failed}))
    link = f"\n\n[{say('answer-page')}]({campaign_tab(run.dag_id, run.run_id)})"
    return {"said": say("failure-unknown", task=tasks), "link": link}


def form_and_failure(report: str, run: str) -> tuple[str | None, str | None]:
    """The campaign named in a run's form, and why the run failed; None for what is missing."""
    with create_session() as session:
        found = session.scalar(select(DagRun).filter_by(dag_id=report, run_id=run))
        if found is None:
            return None, None
        named = str((found.conf or {}).get("campaign") or "")
        why = failure(found, session) if found.state == "failed" else None
    return named if re.fullmatch(ID, named) else None, why["said"] if why else None
