"""Runs one trial as one task: restore, start, wait until ready, warm up, run, collect."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseOperator, Context, ParamsDict
from airflow.sdk.exceptions import TaskDeferred
from airflow.triggers.base import BaseTrigger, TriggerEvent

if TYPE_CHECKING:
    from benchlab.hosts.ssh.executor import SSHExecutor


POLL_S = 2.0
# How long a client's host may be unreachable; the client's output is kept there meanwhile.
UNREACHABLE_LIMIT_S = 900.0


class ClientTrigger(BaseTrigger):
    """Fires when a client has ended, or when its host could not be reached for too long.

    It needs neither Connection nor database: how to reach the host is in the campaign's directory
    (see :mod:`benchlab.targets.fleet_files`).

    Args:
        campaign: the campaign's id.
        begun: the client's trial, from :meth:`benchlab.campaign.state.Begun.to_json`. The event
            repeats it, because `airflow dags test` gives the resumed task nothing but the event.
    """

    def __init__(self, campaign: str, begun: dict[str, Any]) -> None:
        super().__init__()
        self.campaign, self.begun = campaign, begun

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments, for the triggerer."""
        return (
            "benchlab_airflow.operators.trial_operator.ClientTrigger",
            {"campaign": self.campaign, "begun": self.begun},
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until the client has ended; retry if its host does not answer."""
        from benchlab.errors import BenchlabError

        job, until = self.begun["job"], self.begun["until"]
        client: SSHExecutor | None = None
        state = "unknown"
        try:
            # After `until`, the task itself ends a client that hangs, if its host can be reached.
            while time.time() < until + UNREACHABLE_LIMIT_S / 2:
                try:
                    if client is None:
                        client = await asyncio.to_thread(open_client, self.campaign)
                    state = (await asyncio.to_thread(client.job_status, job)).state
                except BenchlabError as error:
                    state = f"its host does not answer: {error}"
                    self.log.warning("%s: %s", job, state)
                else:
                    if state != "running" or time.time() > until:
                        break
                await asyncio.sleep(POLL_S)
            yield TriggerEvent({"begun": self.begun, "state": state})
        finally:
            if client is not None:
                client.close()


def open_client(campaign: str) -> SSHExecutor:
    """Connect to the client's host; call it in a thread: its imports alone block other triggers."""
    from benchlab import home
    from benchlab.targets import fleet_files

    return fleet_files.open_client(home.find(), campaign)


class TrialOperator(BaseOperator):
    """Measures the campaign's next trial.

    A retried task waits if a process of an earlier try is still running, adopts the client that it
    left, or takes the next trial if this one is measured; see
    :meth:`benchlab.campaign.sequence.TrialSequence.measure_next`.

    Args:
        planned: the title of the trial that the plan has in this place.
        attempt: 1 for the first measurement of its block, 2 for the next, ...
        deferrable: whether to free the worker slot while the client runs on its host.
    """

    ui_color: ClassVar[str] = "#e8f0fe"

    def __init__(
        self, *, planned: str, attempt: int = 1, deferrable: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.planned, self.attempt, self.deferrable = planned, attempt, deferrable
        # Airflow would copy the whole form into it before each trial (see flow.py); the task's
        # context has the form anyway.
        self.params = ParamsDict()

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Measure the trial, or begin it and defer; return what ``stages.measure`` returns."""
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
            # A retried task adopted the client and stored the trial before Airflow resumed this
            # one, which therefore takes the next trial.
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
