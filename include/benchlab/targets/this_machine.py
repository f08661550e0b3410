"""The base of targets that run their client on this machine."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from benchlab.engines.server import PLACE
from benchlab.errors import LockHeldError
from benchlab.home import Home
from benchlab.hosts import place
from benchlab.hosts.executor import TAG as CAMPAIGN_TAG
from benchlab.hosts.executor import Executor, LocalExecutor, end_process, end_tagged
from benchlab.hosts.lock import Holder, MachineLock
from benchlab.plan.report_type import SIDES
from benchlab.targets.target import BaseTarget, Taken

# In a side's directory until it is given back: which schema on which server is the campaign's.
SCHEMA_FILE = "schema.json"


class OnThisMachine(BaseTarget):
    """A target whose campaign's directory and client are on this machine."""

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

    @property
    def client_alone(self) -> bool:
        return False  # servers or other programs may run beside it

    def acquire(self, origin: str) -> Holder | None:
        """See :class:`BaseTarget`; ends processes of a dead campaign here and removes its data."""
        place.refuse_other(self.state)
        place.refuse_unseen(self.state)
        if (dead := MachineLock().check(self.campaign, str(self.home.root))) is not None:
            place.refuse_unseen(Home(self.home.project, Path(dead.home)).campaign(dead.campaign))
        displaced = self.hold(MachineLock(), origin)
        place.take(self.state)
        if displaced is not None:
            home = Home(self.home.project, Path(displaced.home))
            end_tagged(f"{CAMPAIGN_TAG}={displaced.campaign}", home.campaign(displaced.campaign))
            remove_data(home, displaced.campaign)
        return displaced

    def executors(self) -> dict[str, Executor]:
        return {self.executor.host: self.executor}

    def interrupt(self) -> None:
        self.executor.end_processes()

    @classmethod
    def give_back(cls, taken: Taken) -> str:
        """End its processes here, return what it has elsewhere, and remove its data."""
        # If this home has no campaign of that id, that of the home that holds the machine is meant.
        home = str(taken.home.root) if taken.state.is_dir() else None
        taken, ended = _end_processes(taken, home)
        returned = cls.return_others(taken)
        remove_data(taken.home, taken.campaign)
        MachineLock().release(taken.campaign, home)
        place.leave(taken.state)
        return ", ".join([f"{ended} processes ended", *returned])

    @classmethod
    def return_others(cls, taken: Taken) -> list[str]:
        """Return what a campaign has on other hosts; repeatable.

        Returns:
            What was returned, for people.

        Raises:
            TargetError: names what could not be returned; its data here are then kept.
        """
        return []


def _end_processes(taken: Taken, home: str | None) -> tuple[Taken, int]:
    """End a campaign's processes on this machine.

    Args:
        home: the home whose campaign is meant; None: the one that the machine's lock names.

    Returns:
        ``taken`` with the campaign's own home, and how many processes were ended.

    Raises:
        LockHeldError: another account holds the machine for it, or it is on another machine;
            nothing was ended.
    """
    holder = MachineLock().holder()
    driver = None
    if holder is None or holder.campaign != taken.campaign or home not in (None, holder.home):
        pass
    elif holder.account is not None and home is None:
        raise LockHeldError(
            f"this machine is held by {holder}; only {holder.account} can give it back, and "
            "nothing was ended"
        )
    elif holder.account is None:
        taken = replace(taken, home=Home(taken.home.project, Path(holder.home)))
        if taken.ask_driver and holder.left_behind() is None:
            driver = holder.driver
    place.refuse_unseen(taken.state)
    if not taken.by_person:  # who may know that the other machine is gone
        place.refuse_other(taken.state)
    ended = end_process(driver) if driver is not None else 0
    return taken, ended + end_tagged(f"{CAMPAIGN_TAG}={taken.campaign}", taken.state)


def remove_data(home: Home, campaign: str) -> None:
    """Remove a campaign's data, snapshots and password; logs and progress stay.

    So does the login by which its schema on somebody else's server has yet to be dropped.
    """
    directory = home.campaign(campaign)
    for side in SIDES:
        for part in ("data", "snapshot"):
            shutil.rmtree(directory / side / part, ignore_errors=True)
        if not (directory / side / SCHEMA_FILE).exists():
            (directory / side / "client.cnf").unlink(missing_ok=True)
            (directory / f"ca-{side}.pem").unlink(missing_ok=True)
    of_clients = ("workload.cnf", *(f"workload-{side}.cnf" for side in SIDES))
    for name in ("password", *of_clients, PLACE):
        (directory / name).unlink(missing_ok=True)
