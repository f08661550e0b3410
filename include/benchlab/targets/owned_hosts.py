"""Giving hosts back to their owner: ends processes, removes clusters, data, and last the keys.

Every step is done on every host that answers, and all failures are named at the end. The files that
lead to the hosts are kept until nothing is left, so that giving back can be repeated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchlab import engines
from benchlab.errors import BenchlabError, TargetError, UnreachableError
from benchlab.hosts import logins
from benchlab.hosts.access import Access
from benchlab.hosts.executor import Executor
from benchlab.hosts.fleet import Fleet, FleetHost, try_on_all
from benchlab.hosts.lock import RemoteLock
from benchlab.plan.report_type import SIDES
from benchlab.targets import fleet_files

# Below a host's data directory, outside every campaign's own, so that all campaigns share it.
LOCK = Path("benchlab") / "campaign.lock"
REMOVE_LIMIT_S = 900.0


def lock_of(client: Executor, fleet: Fleet, state: Path) -> RemoteLock:
    """The lock of a fleet, which is a file on its client's host.

    Args:
        state: the directory on this machine of the campaign that asks, beside those of others.
    """
    path = fleet.client.data / LOCK
    home = state.parents[1]
    return RemoteLock(
        client, path, home, lambda campaign: fleet_files.driven(state.with_name(campaign))
    )


def give_back(state: Path, access: Access) -> None:
    """Clean a campaign's hosts, release their lock, remove the campaign's keys; repeatable.

    Args:
        state: the campaign's directory on this machine; it has a fleet.

    Raises:
        TargetError: names every host and what could not be done there; the others are clean.
    """
    fleet, campaign = fleet_files.read_fleet(state), state.name
    if fleet_files.opened(state).exists():
        faults: list[str] = []
        if not _is_anothers(state, fleet):
            faults = clean(fleet, fleet_files.read_key(state), campaign)
        faults += _give_lock_back(state, fleet, is_clean=not faults)
        _refuse(
            faults,
            f"campaign {campaign}: not everything could be removed. All hosts that are not named "
            "are clean, but for the campaign's keys; these, and the lock, stay until "
            f"`benchlab give-back {campaign}` has done the rest",
        )
        # From here on, hosts may refuse the campaign's key.
        fleet_files.opened(state).unlink(missing_ok=True)  # two may give back at once
    _refuse(
        _on_each(fleet, "take the keys away", lambda host: _revoke(state, host, access)),
        f"campaign {campaign}: its keys, marked {logins.mark(campaign)}, could not be taken away "
        f"everywhere; `benchlab give-back {campaign}` does the rest",
    )


def clean_displaced(state: Path, fleet: Fleet) -> None:
    """Clean up after campaigns whose lock was taken over; only the lock's holder may.

    Raises:
        TargetError: names every host and what could not be done there; a repeated call retries.
    """
    _refuse(
        _clean_displaced(state, fleet),
        "what a campaign left behind on these hosts could not be removed, and would be measured "
        "beside; see to the hosts that are named, then start again",
    )


def clean(fleet: Fleet, key: str, campaign: str) -> list[str]:
    """End a campaign's processes and clusters, and remove everything of it, on all hosts.

    Args:
        key: the text of a private key that all hosts let in.
        campaign: the campaign to clean up after; it need not be the key's.

    Returns:
        One text for each host and step that failed; empty if all is clean.
    """
    with ExitStack() as stack:
        executors = {
            host.name: stack.enter_context(fleet_files.log_in(host, key, campaign))
            for host in fleet.hosts
        }

        def remove(host: FleetHost) -> None:
            directory = str(fleet_files.directory_on(host, campaign))
            command = ["sudo", "-n", "rm", "-rf", directory]
            executors[host.name].run(command, timeout_s=REMOVE_LIMIT_S)

        faults = _on_each(fleet, "end processes", lambda host: executors[host.name].end_processes())
        faults += _remove_clusters(fleet, lambda host: executors[host.name], campaign)
        return faults + _on_each(fleet, "remove files", remove)


def _remove_clusters(
    fleet: Fleet, executors: Callable[[FleetHost], Executor], campaign: str
) -> list[str]:
    if not fleet.with_role("tidb"):  # a client's host beside somebody else's cluster
        return []
    directory = fleet_files.directory_on(fleet.client, campaign)
    faults = []
    clusters = [engine.cluster for engine in engines.by_name().values() if engine.cluster]
    for cluster, side in itertools.product(clusters, SIDES):
        try:
            cluster.remove(fleet, executors, campaign, side, directory)
        except BenchlabError as error:  # still remove the other side and the files
            faults.append(f"remove the cluster of {side}: {error}")
    return faults


def _is_anothers(state: Path, fleet: Fleet) -> bool:
    """Whether the hosts are held by another home's campaign of the same id: what they have of that
    id is not this campaign's.
    """
    try:
        with fleet_files.open_host(state, fleet.client) as client:
            lock = lock_of(client, fleet, state)
            holder = lock.holder()
    except BenchlabError:  # said where the lock is given back
        return False
    return (
        holder is not None
        and holder.campaign == state.name
        and not holder.is_of(state.name, lock.home)
    )


def _give_lock_back(state: Path, fleet: Fleet, *, is_clean: bool) -> list[str]:
    """Release the lock if nothing is left that would disturb the next campaign; returns faults."""
    try:
        with fleet_files.open_host(state, fleet.client) as client:
            lock = lock_of(client, fleet, state)
            holder = lock.holder()
            if holder is None or not holder.is_of(state.name, lock.home):
                return []
            faults = _clean_displaced(state, fleet)
            if is_clean and not faults:
                lock.release(state.name)
            return faults
    except BenchlabError as error:
        return [f"{fleet.client.name}: give the lock back: {error}"]


def _clean_displaced(state: Path, fleet: Fleet) -> list[str]:
    faults: list[str] = []
    left = fleet_files.read_displaced(state)
    for campaign in tuple(left):
        if found := clean(fleet, fleet_files.read_key(state), campaign):
            faults += [f"of campaign {campaign}: {fault}" for fault in found]
            continue
        left.remove(campaign)
        fleet_files.keep_displaced(state, left)
    return faults


def _revoke(state: Path, host: FleetHost, access: Access) -> None:
    """Remove the campaign's key from a host: with that key or, if it is refused, the owner's.

    A host refuses the campaign's key if it was never let in or is removed already. The owner's key
    distinguishes this from a host that cannot be reached.
    """
    command = ["sh", "-c", logins.REVOKE, "sh", logins.mark(state.name)]
    try:
        with fleet_files.open_host(state, host) as executor:
            executor.run(command)
    except UnreachableError:
        owner = (state / fleet_files.OWNER_FILE).read_text(encoding="utf-8")
        with fleet_files.log_in(host, access.ssh_key(owner), state.name) as executor:
            executor.run(command)


def _on_each(fleet: Fleet, doing: str, work: Callable[[FleetHost], object]) -> list[str]:
    """Do something on all hosts in parallel; returns a text for each host that failed."""
    _, failures = try_on_all({host.name: host for host in fleet.hosts}, work)
    return [f"{name}: {doing}: {why}" for name, why in failures.items()]


def _refuse(faults: list[str], why: str) -> None:
    if faults:
        raise TargetError("\n".join([why, *faults]))
