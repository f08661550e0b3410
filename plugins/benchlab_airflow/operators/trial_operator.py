"""Runs one trial as one task: restore, start, wait until ready, warm up, run, collect."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any, ClassVar

from airflow.sdk import BaseOperator, Context, ParamsDict
from airflow.sdk.exceptions import TaskDeferred

from benchlab_airflow.operators.client_trigger import UNREACHABLE_LIMIT_S, ClientTrigger


class TrialOperator(BaseOperator):
    """Executes the campaign's next trial.

    A retried task waits for a process of an earlier try that is still running, adopts the client
    that it left, or finds the trial measured and takes the next one; see
    :meth:`benchlab.campaign.sequence.TrialSequence.measure_next`.

    Args:
        planned: title of the trial that the plan has in this place.
        attempt: 1 for the first measurement of its pair of blocks, 2 for the next, ...
        deferrable: whether to give up the worker slot while the client runs on its host.
    """

    ui_color: ClassVar[str] = "#e8f0fe"

    def __init__(
        self, *, planned: str, attempt: int = 1, deferrable: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.planned, self.attempt, self.deferrable = planned, attempt, deferrable
        # Before each trial Airflow makes it from the mapped task, with a copy of the whole form
        # (flow.py); the task's context has the form in any case.
        self.params = ParamsDict()

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Measure, or begin to and defer; return what ``stages.measure`` returns."""
        from benchlab_airflow.dags import stages

        if self.deferrable:
            return self._begin(context)
        return self._named(context, stages.measure(self.attempt))

    def collect(self, context: Context, event: dict[str, Any]) -> dict[str, Any] | None:
        """Complete the trial after the client has ended, or could not be reached for too long."""
        from benchlab.campaign.state import Begun
        from benchlab_airflow.dags import stages

        self.log.info("the client: %s", event["state"])
        measured = stages.collect(Begun(**event["begun"]))
        if measured is None:
            # Before Airflow resumed this task, a retried one has adopted its client and stored the
            # trial: this task takes the next one.
            return self._begin(context)
        return self._named(context, measured)

    def _begin(self, context: Context) -> dict[str, Any] | None:
        from benchlab.campaign.state import Begun
        from benchlab_airflow.dags import stages

        begun = stages.begin(self.attempt)
        if not isinstance(begun, Begun):
            return self._named(context, begun)
        raise TaskDeferred(
            trigger=ClientTrigger(stages.campaign_id(context), begun.to_json()),
            method_name="collect",
            # The task's execution_timeout does not run meanwhile.
            timeout=timedelta(seconds=max(begun.until - time.time(), 0) + UNREACHABLE_LIMIT_S),
        )

    def _named(self, context: Context, measured: dict[str, Any] | None) -> dict[str, Any] | None:
        # Shown in the UI by map_index_template.
        context["trial_title"] = (
            measured["title"] if measured else f"{self.planned} (nothing to do)"
        )  # type: ignore[typeddict-unknown-key]
        return measured
