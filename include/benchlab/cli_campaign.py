"""A campaign that a command of the command line drives to its report, or ends."""

from __future__ import annotations

import os
import signal
import sys
from datetime import date
from pathlib import Path
from typing import NoReturn

from benchlab import campaign as campaigns
from benchlab import catalog
from benchlab.access import Access
from benchlab.campaign import CampaignRun
from benchlab.cli_options import open_store
from benchlab.errors import StoreError
from benchlab.executor import TAG, tagged
from benchlab.home import Home
from benchlab.lock import MachineLock
from benchlab.progress_view import ProgressView
from benchlab.schedule import midnight
from benchlab.spec import ReportSpec
from benchlab.store import Store

_NOT_HERE = (
    "this machine has neither a directory nor a process of it, and it does not hold the lock. "
    "Nothing was ended, and EC2 was not asked: is the id misspelt? `benchlab campaigns` lists all. "
    "What a campaign rented that nothing here knows any more ends at its expiry, and "
    "`benchlab reap` ends what is past it"
)


def drive(
    home: Home,
    store: Store,
    spec: ReportSpec,
    campaign: str,
    origin: str,
    planned_for: date | None = None,
) -> tuple[CampaignRun, list[Path]]:
    """Run a campaign in this process, with its progress on standard error.

    A signal that ends the process ends the campaign first; when the process is gone, the machine
    is free again.

    Args:
        campaign: its id; that of one in the store goes on with it.
        origin: the command, as the store keeps it.
        planned_for: the day whose versions it compares; None: now.

    Returns:
        The campaign, and its report's files.
    """
    os.environ["BENCHLAB_DRIVER"] = str(os.getpid())
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    at = midnight(planned_for) if planned_for else None
    work = CampaignRun.create(home, store, spec, campaign, origin, planned_for=at)
    print(f"engine {work.plan.engine}: {work.campaign.engine_reason}", file=sys.stderr)
    with ProgressView(work.progress, work.plan.minutes * 60, sys.stderr):
        paths = campaigns.run(work)
    return work, paths


def release(home: Home, campaign: str, access: Access) -> str:
    """End a campaign wherever it runs; the store is only needed where nothing else knows it.

    Returns:
        What was released, for people.

    Raises:
        StoreError: nothing knows a campaign of this id, and nothing was ended; or the store could
            not be told that the campaign has ended.
    """
    target = None if _says_where(home, campaign) else _target_in_store(home, campaign)
    released = catalog.end(home, campaign, access, target=target, ask_driver=True)
    with open_store(home) as store:
        if campaign in store.campaign_ids() and store.campaign(campaign).state == "running":
            store.finish(campaign, "failed")
    return released


def _says_where(home: Home, campaign: str) -> bool:
    """Whether the campaign's directory on this machine says where it runs."""
    return (home.campaign(campaign) / "target").exists()


def _target_in_store(home: Home, campaign: str) -> str | None:
    """Where the store has it that a campaign runs; None: it does not say."""
    try:
        with open_store(home) as store:
            return store.campaign(campaign).plan.target
    except StoreError as error:
        if not _is_here(home, campaign):
            raise StoreError(f"{error}; {_NOT_HERE}") from error
        return None  # a lost store keeps nobody from ending what is here


def _is_here(home: Home, campaign: str) -> bool:
    """Whether this machine has anything of the campaign: its directory, a process, the lock."""
    if home.campaign(campaign).is_dir() or any(tagged(f"{TAG}={campaign}")):
        return True
    holder = MachineLock().holder()
    return holder is not None and holder.campaign == campaign


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt
