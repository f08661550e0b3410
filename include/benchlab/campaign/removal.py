"""Removes a campaign that has ended: its rows and objects, its directory and its report.

>>> refuse(home, store, "c1")  # raises if it is at work or may hold hosts
>>> print(remove(home, store, "c1"))  # where copies of its report stay
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import StoreError, TargetError, meaning_of
from benchlab.home import Home
from benchlab.hosts.executor import TAG, tagged
from benchlab.hosts.lock import MachineLock
from benchlab.results.store import Store
from benchlab.targets import fleet_files


def refuse(home: Home, store: Store, campaign: str) -> None:
    """Refuse a campaign that is running, or that may still hold hosts or this machine.

    Raises:
        TargetError: the campaign is refused; says why, and how to end it.
        StoreError: there is no such campaign.
    """
    for why in held(home, store, campaign):
        raise TargetError(
            f"{campaign}: {why}; wait for it, or `benchlab give-back {campaign}` first"
        )


def held(home: Home, store: Store, campaign: str) -> Iterator[str]:
    """Why a campaign may be at work or hold something; empty if it is over.

    Raises:
        StoreError: there is no such campaign.
    """
    if store.target_and_state(campaign)[1] == "running":
        yield "it is running"
    holder = MachineLock().holder()
    if holder is not None and (holder.campaign, holder.home) == (campaign, str(home.root)):
        yield "it holds this machine"
    if fleet_files.driven(home.campaign(campaign)):
        yield "a process is at work on it"
    if any(tagged(f"{TAG}={campaign}", home.campaign(campaign))):
        yield "processes of it run on this machine"
    held_by = (fleet_files.FLEET_FILE, fleet_files.RENTAL_FILE, fleet_files.CLUSTER_FILE)
    if any((home.campaign(campaign) / name).exists() for name in held_by):
        yield "it may still hold hosts"


def remove(home: Home, store: Store, campaign: str) -> list[str]:
    """Remove everything that this installation has of a campaign, from the store last; repeatable.

    Returns:
        Addresses of its report elsewhere, which stay.

    Raises:
        StoreError: there is no such campaign, or something of it cannot be removed.
    """
    elsewhere = published_elsewhere(home, store, campaign)
    for directory in (home.reports / campaign, home.campaign(campaign)):
        try:
            if directory.exists():
                shutil.rmtree(directory)
        except OSError as error:
            raise StoreError(f"{directory}: cannot be removed: {meaning_of(error)}") from error
    store.delete_campaign(campaign)
    return elsewhere


def published_elsewhere(home: Home, store: Store, campaign: str) -> list[str]:
    """The addresses of its report other than this machine's files."""
    published = StoredCampaign(home, store, store.campaign(campaign)).published()
    return [address for address in published.values() if "://" in address]
