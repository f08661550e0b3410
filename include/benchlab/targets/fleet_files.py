"""The files about a fleet in its campaign's directory on this machine.

``fleet.json`` has the hosts and their host keys, ``ssh_key`` the campaign's private key, readable
only by its owner. With these two, any process can reach the fleet: a task, a trigger that waits for
a client, `benchlab give-back`. ``deployment`` has the number of the deployment on the hosts, once
it is not the first.

Owned hosts have three more files. ``owner`` has the name of the owner's key. ``opened`` exists from
the time when all hosts let the campaign's key in until all are clean, and has a text once the
campaign has held their lock. ``displaced`` lists, one on a line, the campaigns whose lock was taken
over and whose servers may still run.
"""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePosixPath

from benchlab.errors import LockHeldError, TargetError, naming
from benchlab.home import Home
from benchlab.hosts import logins
from benchlab.hosts.executor import end_process
from benchlab.hosts.fleet import Fleet, FleetHost
from benchlab.hosts.lock import MachineLock
from benchlab.hosts.ssh.executor import SSHExecutor

FLEET_FILE = "fleet.json"
KEY_FILE = "ssh_key"
DRIVER_LOCK = "driver.lock"
OWNER_FILE = "owner"
RENTAL_FILE = "rental.json"
CLUSTER_FILE = "cluster.json"
SPENT_FILE = "spent"
DISPLACED_FILE = "displaced"
DEPLOYMENT_FILE = "deployment"
SOURCE_FILE = "dataset_source"


def write(path: Path, text: str) -> None:
    """Replace a file atomically: a concurrent reader finds the old text or the new one."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with naming(path):
        part.write_text(text, encoding="utf-8")
    part.replace(path)


def directory_on(host: FleetHost, campaign: str) -> Path:
    """The campaign's directory on one host."""
    return Path(PurePosixPath(host.data) / "benchlab" / campaign)


def rented_nothing(state: Path) -> bool:
    """Whether a campaign that was planned on this machine certainly has not begun to rent."""
    begun = (RENTAL_FILE, CLUSTER_FILE, SPENT_FILE)
    return (state / "target").exists() and not any((state / name).exists() for name in begun)


def rents_nothing(state: Path) -> bool:
    """Whether a campaign that was planned on this machine certainly has no host on EC2 now.

    It has not begun to rent, or has given everything back.
    """
    has = (RENTAL_FILE, FLEET_FILE)
    return (state / "target").exists() and not any((state / name).exists() for name in has)


def read_fleet(state: Path) -> Fleet:
    """The fleet of a campaign, from its directory on this machine.

    Raises:
        TargetError: it has none: not provisioned yet, or given back.
    """
    try:
        return Fleet.from_json(json.loads((state / FLEET_FILE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise TargetError(
            f"campaign {state.name} has no fleet: it has not been provisioned, or was given back"
        ) from None


def read_key(state: Path) -> str:
    """The text of the campaign's private key.

    Raises:
        FileNotFoundError: it has none.
    """
    return (state / KEY_FILE).read_text(encoding="utf-8")


def private_key(state: Path) -> str:
    """The text of a campaign's private key; made on first use, readable only by its owner."""
    path = state / KEY_FILE
    try:
        return read_key(state)
    except FileNotFoundError:
        pass  # the first call of the campaign
    import asyncssh

    made = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode("ascii")
    state.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{KEY_FILE}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(made)
    try:
        # Linked, not replaced: two concurrent calls both use the key that was there first.
        os.link(part, path)
    except FileExistsError:
        return read_key(state)
    finally:
        part.unlink()
    return made


def public_key(state: Path) -> str:
    """The public half of the campaign's key, made on first use: ``ssh-ed25519 AAAA...``."""
    import asyncssh

    read = asyncssh.import_private_key(private_key(state))
    return " ".join(read.export_public_key().decode("ascii").split()[:2])


def key_mark(state: Path) -> str:
    """The comment by which hosts know the keys of a campaign, whose directory ``state`` is.

    It differs from that of another home's campaign of the same id.
    """
    home = Home(state, state.parents[1])
    return logins.mark(f"{state.name}-{home.mark}")


def opened(state: Path) -> Path:
    """The file that exists from when every host lets the campaign's key in until all are clean.

    Once it is gone, at most the campaign's keys are left on the hosts.
    """
    return state / "opened"


def keep_displaced(state: Path, campaigns: list[str]) -> None:
    """Note the campaigns whose processes may still run on the hosts; replaces an earlier note."""
    write(state / DISPLACED_FILE, "".join(f"{campaign}\n" for campaign in campaigns))


def read_displaced(state: Path) -> list[str]:
    """The campaigns that :func:`keep_displaced` wrote; only the lock's holder may clean them up."""
    try:
        return (state / DISPLACED_FILE).read_text(encoding="utf-8").split()
    except FileNotFoundError:
        return []


def log_in(host: FleetHost, key: str, campaign: str) -> SSHExecutor:
    """A host as a campaign uses it, by the text of a private key; connects on first use."""
    return SSHExecutor(host, key, campaign, directory_on(host, campaign))


def open_host(state: Path, host: FleetHost) -> SSHExecutor:
    """A host of the campaign whose directory ``state`` is; connects on first use."""
    return log_in(host, read_key(state), state.name)


def open_client(home: Home, campaign: str) -> SSHExecutor:
    """The client's host of a running campaign, from the campaign's directory alone.

    Example:
        ``with open_client(home, "c1") as host: host.job_status("client-1")``

    Raises:
        TargetError: the campaign has no fleet.
    """
    state = home.campaign(campaign)
    return open_host(state, read_fleet(state).client)


def driven(state: Path) -> bool:
    """Whether a process of `benchlab run` drives the campaign now, on this machine."""
    holder = MachineLock(state / DRIVER_LOCK).holder()
    return holder is not None and holder.driver is not None and holder.left_behind() is None


def end_driver(state: Path) -> None:
    """End the process of `benchlab run` that drives the campaign, if there is one.

    Raises:
        LockHeldError: a process of another account may drive it; that is not ended from here.
    """
    path = state / DRIVER_LOCK
    holder = MachineLock(path).holder() if state.is_dir() else None
    if holder is None or holder.left_behind() is not None:
        return
    if holder.account is not None:
        raise LockHeldError(
            f"{state} is held by {holder}; {holder.account} may have written that into {path}, and "
            "nothing was ended: end its process, or remove the file"
        )
    if holder.driver is not None:
        end_process(holder.driver)


def forget(state: Path) -> None:
    """Remove the files about hosts that were given back, the password, and the driver's lock."""
    # The fleet first: without it nobody looks for the other files.
    for name in (
        FLEET_FILE,
        "opened",
        OWNER_FILE,
        DISPLACED_FILE,
        KEY_FILE,
        "password",
        SOURCE_FILE,
        DEPLOYMENT_FILE,
        *(path.name for path in state.glob("dataset-*.json")),
        RENTAL_FILE,  # a campaign that is resumed rents again, with a new expiry
    ):
        (state / name).unlink(missing_ok=True)
    if state.is_dir():
        MachineLock(state / DRIVER_LOCK).release(state.name)
