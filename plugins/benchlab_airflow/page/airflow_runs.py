"""Which run of Airflow belongs to which campaign, and where Airflow's UI has it."""

from __future__ import annotations

import re

from sqlalchemy import select

from benchlab.home import ID
from benchlab.results.records import Campaign
from benchlab_airflow.calendar.calendar_runs import ORIGIN
from benchlab_airflow.private_names import DagModel, DagRun, create_session


def address_of(campaign: Campaign) -> str:
    """The place of the run that began a campaign, from the site's first page; empty without one.

    A run of `make demo` beside the services, or a deleted one, is not among those of this Airflow.
    """
    if not campaign.origin.startswith(ORIGIN):
        return ""
    report, run = campaign.plan.report, campaign.origin.removeprefix(ORIGIN)
    with create_session() as session:
        found = session.scalar(select(DagRun.id).filter_by(dag_id=report, run_id=run))
    return f"../dags/{report}/runs/{run}" if found is not None else ""


def paused_dag(report: str) -> str:
    """The place of a report type's DAG, likewise, where it is paused; empty where it is not."""
    with create_session() as session:
        is_paused = session.scalar(select(DagModel.is_paused).filter_by(dag_id=report))
    return f"../dags/{report}" if is_paused else ""


def campaign_in_form(report: str, run: str) -> str | None:
    """The campaign that a run was asked to resume, or whose id its form gave; None without one."""
    with create_session() as session:
        conf = session.scalar(select(DagRun.conf).filter_by(dag_id=report, run_id=run))
    named = str((conf or {}).get("campaign") or "")
    return named if re.fullmatch(ID, named) else None
