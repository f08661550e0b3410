"""Removes a campaign that has ended: its rows and objects, its directory and its report.

>>> refuse(home, store, "c1")  # raises if it is at work or may hold hosts
>>> print(remove(home, store, "c1"))  # where copies of its report stay
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from benchlab.errors import ElsewhereError, StoreError, TargetError, noting
from benchlab.home import Home
from benchlab.hosts import place
from benchlab.hosts.executor import TAG, tagged
from benchlab.hosts.lock import MachineLock
from benchlab.report.publish.destinations import PublicationRecord
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
    try:
        place.refuse_unseen(home.campaign(campaign))
        place.refuse_other(home.campaign(campaign))
    except ElsewhereError as error:
        yield str(error)
    held_by = (fleet_files.FLEET_FILE, fleet_files.RENTAL_FILE, fleet_files.CLUSTER_FILE)
    if any((home.campaign(campaign) / name).exists() for name in held_by):
        yield "it may still hold hosts"


def remove(home: Home, store: Store, campaign: str) -> list[str]:
    """Remove everything that this installation has of a campaign: its rows first, files last.

    A campaign that this version cannot read is removed like any other.

    Returns:
        Addresses of its report elsewhere, which stay.

    Raises:
        StoreError: there is no such campaign; or it is no longer in the store, but not all of its
            files could be removed: names them.
    """
    record = PublicationRecord(home.campaign(campaign) / "published")
    elsewhere = [address for address in record.addresses().values() if "://" in address]
    store.spending.end(campaign)  # no command finds it afterwards
    store.delete_campaign(campaign)
    left = list[str]()
    with noting(left):
        store.delete_objects(campaign)
    for directory in (home.reports / campaign, home.campaign(campaign)):
        with noting(left):
            if directory.exists():
                shutil.rmtree(directory)
    if left:
        raise StoreError(
            f"{campaign} is no longer in the store, but files of it are left; remove them "
            "yourself:",
            *left,
        )
    return elsewhere
