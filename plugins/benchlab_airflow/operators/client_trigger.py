"""Waits for a benchmark client on a fleet while the trial's task is deferred."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

if TYPE_CHECKING:
    from benchlab.hosts.ssh.executor import SSHExecutor

POLL_S = 2.0
# The client may end long before its host can be reached again; its output is kept meanwhile.
UNREACHABLE_LIMIT_S = 900.0


class ClientTrigger(BaseTrigger):
    """Fires when a client has ended, or when its host could not be reached for too long.

    It needs no Connection and no database: what leads to the host is in the campaign's directory
    (see :mod:`benchlab.targets.fleet_files`).

    Args:
        campaign: the campaign's id.
        begun: the client's trial, from :meth:`benchlab.campaign.trial.Begun.to_json`. The event
            passes it on, because `airflow dags test` gives the resumed task nothing but the event.
    """

    def __init__(self, campaign: str, begun: dict[str, Any]) -> None:
        super().__init__()
        self.campaign, self.begun = campaign, begun

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments, for the triggerer."""
        return (
            "benchlab_airflow.operators.client_trigger.ClientTrigger",
            {"campaign": self.campaign, "begun": self.begun},
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll until the client has ended; a host that does not answer is asked again."""
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
    """Connect to the client's host; run it in a thread: even its imports block other triggers."""
    from benchlab import home
    from benchlab.targets import fleet_files

    return fleet_files.open_client(home.find(), campaign)
