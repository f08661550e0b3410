"""The first task of a run: waits for earlier runs of its DAG, then plans the campaign."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import TaskDeferred
from airflow.triggers.base import BaseTrigger, TriggerEvent

POLL_S = 5.0
AT_WORK = ["queued", "running"]


class PlanOperator(BaseOperator):
    """Plans the campaign; a run by the calendar first waits until earlier runs have ended.

    Airflow would run ten campaigns of a backfill at a time, whatever the DAG's `max_active_runs`.
    Here they are measured one after the other, by logical date, so that each run knows which pairs
    have been measured. While it waits, it uses no worker slot.

    Args:
        report_file: the path of the report type's file.
    """

    def __init__(self, *, report_file: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.report_file = report_file

    def execute(self, context: Context, event: dict[str, Any] | None = None) -> list[str]:
        """Defer, or plan and return what ``stages.plan`` returns; ``event`` is not used."""
        from benchlab_airflow.calendar import calendar_runs
        from benchlab_airflow.dags import stages

        run = context["dag_run"]
        if calendar_runs.by_calendar(run) and (other := self._before(context)) is not None:
            self.log.info("waiting: the run %s has not ended", other)
            raise TaskDeferred(trigger=RunEndedTrigger(self.dag_id, other), method_name="execute")
        return stages.plan(self.report_file)

    def _before(self, context: Context) -> str | None:
        """The id of a run of this DAG that has to end first; None if it is this run's turn.

        That is a running one with an earlier logical date, or any with an active campaign, such as
        one started by hand. A run whose own campaign is active does not wait: others wait for it.
        """
        measuring = self._at_work()
        if context["dag_run"].run_id in measuring:
            return None
        earlier = context["ti"].get_previous_dagrun(state="running")
        if earlier is not None:
            return str(earlier.run_id)
        return next((run for run in measuring if _is_at_work(self.dag_id, run)), None)

    def _at_work(self) -> list[str]:
        from benchlab import home
        from benchlab_airflow.calendar import calendar_runs
        from benchlab_airflow.connections import open_store

        with open_store(home.find(), waits=True) as store:
            return calendar_runs.at_work(store, self.dag_id)


class RunEndedTrigger(BaseTrigger):
    """Fires when a DAG run has ended, in whatever state, or no longer exists."""

    def __init__(self, dag_id: str, run_id: str) -> None:
        super().__init__()
        self.dag_id, self.run_id = dag_id, run_id

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments, for the triggerer."""
        return (
            "benchlab_airflow.operators.plan_operator.RunEndedTrigger",
            {"dag_id": self.dag_id, "run_id": self.run_id},
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until the run has ended."""
        while await asyncio.to_thread(_is_at_work, self.dag_id, self.run_id):
            await asyncio.sleep(POLL_S)
        yield TriggerEvent({"ended": self.run_id})


def _is_at_work(dag_id: str, run_id: str) -> bool:
    from benchlab_airflow.private_names import RuntimeTaskInstance

    return RuntimeTaskInstance.get_dr_count(dag_id, run_ids=[run_id], states=AT_WORK) > 0
