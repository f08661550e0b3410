"""Waits for a benchmark client on a fleet, so that the trial's task holds no worker slot."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

if TYPE_CHECKING:
    from benchlab.hosts.executor import Executor
    from benchlab.hosts.ssh.executor import SSHExecutor

POLL_S = 2.0
# The client may end long before its host can be reached again; then its output is still there.
UNREACHABLE_LIMIT_S = 900.0


class ClientTrigger(BaseTrigger):
    """Fires when a client has ended, or when its host could not be asked for too long.

    It needs no Connection and no database: what leads to the host lies in the campaign's
    directory (see ``benchlab.targets.fleet_files``).

    Args:
        campaign: the campaign's id.
        begun: the trial whose client it is, as ``benchlab.campaign.trial.Begun`` writes it; the
        event
            hands it on, because `airflow dags test` hands the resumed task the event alone.
    """

    def __init__(self, campaign: str, begun: dict[str, Any]) -> None:
        super().__init__()
        self.campaign, self.begun = campaign, begun

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """As the triggerer gets it."""
        return (
            "benchlab_airflow.operators.client_trigger.ClientTrigger",
            {"campaign": self.campaign, "begun": self.begun},
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Ask until the client has ended; a host that does not answer is asked again."""
        from benchlab.errors import BenchlabError

        job, until = self.begun["job"], self.begun["until"]
        client: SSHExecutor | None = None
        state = "unknown"
        try:
            # After `until` the task itself ends a client that hangs, if the host can be asked.
            while time.time() < until + UNREACHABLE_LIMIT_S / 2:
                try:
                    if client is None:
                        client = await asyncio.to_thread(open_client, self.campaign)
                    state = await asyncio.to_thread(_state, client, job)
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
    """The client's host; in a thread, because already the imports would hold up other triggers."""
    from benchlab import home
    from benchlab.targets import fleet_files

    return fleet_files.open_client(home.find(), campaign)


def _state(client: Executor, job: str) -> str:
    return client.job_status(job).state
