"""What a campaign's directory on this machine keeps of its fleet.

``fleet.json`` has the hosts and their host keys, ``ssh_key`` the private key of this campaign,
readable by its owner only. With these two any process can reach the fleet: a task, a trigger that
waits for a client, `benchlab give-back`.

Of hosts that somebody owns there is more: ``owner`` has the name of the owner's key, ``opened`` is
there from when all hosts let the campaign's key in until they are clean, and ``displaced`` has the
campaigns whose place in the lock was taken and whose servers may still run, one on a line.
"""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePosixPath

from benchlab.errors import TargetError
from benchlab.home import Home
from benchlab.hosts.executor import end_process
from benchlab.hosts.fleet import Fleet, FleetHost
from benchlab.hosts.lock import MachineLock
from benchlab.hosts.ssh.executor import SSHExecutor

FLEET_FILE = "fleet.json"
KEY_FILE = "ssh_key"
DRIVER_LOCK = "driver.lock"
OWNER_FILE = "owner"
DISPLACED_FILE = "displaced"


def write(path: Path, text: str) -> None:
    """Write a file as a whole: a reader meanwhile finds the old text or the new one."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def directory_on(host: FleetHost, campaign: str) -> Path:
    """The campaign's directory on one host."""
    return Path(PurePosixPath(host.data) / "benchlab" / campaign)


def read_fleet(state: Path) -> Fleet:
    """The fleet of a campaign, from its directory on this machine.

    Raises:
        TargetError: it has none, or none any more.
    """
    try:
        return Fleet.from_json(json.loads((state / FLEET_FILE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise TargetError(
            f"campaign {state.name} has no fleet: it has not been provisioned, or was given back"
        ) from None


def read_key(state: Path) -> str:
    """The campaign's private key."""
    return (state / KEY_FILE).read_text(encoding="utf-8")


def private_key(state: Path) -> str:
    """The text of a campaign's private key, made when there is none; readable by its owner only."""
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
        # Not replaced: of two calls at once, both use the key that was there first.
        os.link(part, path)
    except FileExistsError:
        return read_key(state)
    finally:
        part.unlink()
    return made


def public_key(state: Path) -> str:
    """The public half: ``ssh-ed25519 AAAA...``."""
    import asyncssh

    read = asyncssh.import_private_key(private_key(state))
    return " ".join(read.export_public_key().decode("ascii").split()[:2])


def opened(state: Path) -> Path:
    """The file that is there from when every host lets the campaign's key in until all are clean.

    Afterwards there are at most its keys left on them.
    """
    return state / "opened"


def keep_displaced(state: Path, campaigns: list[str]) -> None:
    """Note of which campaigns something may still run on the hosts; replaces the last note."""
    write(state / DISPLACED_FILE, "".join(f"{campaign}\n" for campaign in campaigns))


def read_displaced(state: Path) -> list[str]:
    """Those campaigns; they are to be cleaned only by who holds the lock."""
    try:
        return (state / DISPLACED_FILE).read_text(encoding="utf-8").split()
    except FileNotFoundError:
        return []


def log_in(host: FleetHost, key: str, campaign: str) -> SSHExecutor:
    """One host, by the text of a private key, at work for a campaign; connects on first use."""
    return SSHExecutor(host, key, campaign, directory_on(host, campaign))


def open_host(state: Path, host: FleetHost) -> SSHExecutor:
    """One host of the campaign whose directory this is."""
    return log_in(host, read_key(state), state.name)


def open_client(home: Home, campaign: str) -> SSHExecutor:
    """The client's host of a campaign at work; all that is needed is in its directory.

    Example:
        ``with open_client(home, "c1") as host: host.job_status("client-1")``

    Raises:
        TargetError: the campaign has no fleet.
    """
    state = home.campaign(campaign)
    return open_host(state, read_fleet(state).client)


def end_driver(state: Path) -> None:
    """End the process of `benchlab run` that drives the campaign, if one does."""
    holder = MachineLock(state / DRIVER_LOCK).holder() if state.is_dir() else None
    if holder is not None and holder.driver is not None and holder.left_behind() is None:
        end_process(holder.driver)


def forget(state: Path) -> None:
    """Remove what leads to the hosts, which are gone, and the campaign's passwords."""
    # The fleet first: without it nothing of the rest is looked for.
    for name in (
        FLEET_FILE,
        "opened",
        OWNER_FILE,
        DISPLACED_FILE,
        KEY_FILE,
        "password",
        "dataset_source",
    ):
        (state / name).unlink(missing_ok=True)
    if state.is_dir():
        MachineLock(state / DRIVER_LOCK).release(state.name)
