"""What targets share whose client runs on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from benchlab.hosts.executor import Executor, LocalExecutor
from benchlab.hosts.fleet import Fleet
from benchlab.targets.target import BaseTarget

# In a side's directory until it is given back: which schema on which server is the campaign's.
SCHEMA_FILE = "schema.json"


class OnThisMachine(BaseTarget):
    """This machine has the campaign's directory, and is the only host that Benchlab logs in to."""

    deferrable = False
    # Servers or other programs may run beside the client.
    client_alone = False

    @cached_property
    def directory(self) -> Path:
        """The campaign's directory on this machine."""
        return self.state

    @cached_property
    def executor(self) -> Executor:
        """This machine."""
        return LocalExecutor(self.directory, self.campaign)

    @property
    def client_host(self) -> str:
        return self.executor.host

    def executors(self) -> dict[str, Executor]:
        return {self.executor.host: self.executor}

    def rehearse_on(self, executors: Mapping[str, Executor], fleet: Fleet) -> None:
        (self.executor,) = executors.values()

    def interrupt(self) -> None:
        self.executor.end_processes()
