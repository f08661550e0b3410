"""One campaign at a time on owned hosts, no matter who starts it and where."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from benchlab.errors import CommandError, LockHeldError, TargetError
from benchlab.hosts.executor import LocalExecutor
from benchlab.hosts.fleet import FleetHost
from benchlab.hosts.lock import MachineLock, RemoteLock
from benchlab.hosts.ssh.executor import SSHExecutor
from tests.hosts.namespaces import NamespaceHost, Namespaces, own

PATH = Path("/run/lock/benchlab.lock")
HOME = Path("/srv/benchlab")


@pytest.fixture(scope="module")
def host(namespaces: Namespaces, ssh_key: tuple[str, str]) -> NamespaceHost:
    """The client host of somebody's fleet, with two accounts."""
    made = namespaces.add(f"{namespaces.gateway[:-1]}10", ssh_key[1])
    made.run(
        "useradd --create-home --password '*' other;"
        "cp /etc/ssh/authorized_keys/admin /etc/ssh/authorized_keys/other"
    )
    return made


@pytest.fixture
def executors(
    host: NamespaceHost, ssh_key: tuple[str, str], fleet_host: Callable[..., FleetHost]
) -> Iterator[tuple[SSHExecutor, SSHExecutor]]:
    """Two people's ways to the host, by the account that they share."""
    login = fleet_host(host, "client-1")
    with (
        SSHExecutor(login, ssh_key[0], own("c1"), Path("/home/admin/x")) as one,
        SSHExecutor(login, ssh_key[0], own("c2"), Path("/home/admin/y")) as two,
    ):
        yield one, two
    host.run(f"rm -f {PATH}")


@pytest.fixture
def another(
    host: NamespaceHost, ssh_key: tuple[str, str], fleet_host: Callable[..., FleetHost]
) -> Iterator[RemoteLock]:
    """The lock as somebody sees it who logs in by another account."""
    login = replace(fleet_host(host, "client-1"), user="other")
    with SSHExecutor(login, ssh_key[0], own("c3"), Path("/home/other/x")) as executor:
        yield RemoteLock(executor, PATH, HOME)


@pytest.fixture
def locks(executors: tuple[SSHExecutor, SSHExecutor]) -> tuple[RemoteLock, RemoteLock]:
    """The one lock, as these two see it."""
    first, second = executors
    return RemoteLock(first, PATH, HOME), RemoteLock(second, PATH, HOME)


def test_a_host_is_taken_and_given_back(locks: tuple[RemoteLock, RemoteLock]) -> None:
    """By one campaign at a time; only its holder gives it back, and only once."""
    mine, theirs = locks
    assert mine.holder() is None
    assert mine.acquire("c1", "benchlab run") is None
    holder = theirs.holder()
    assert holder is not None
    assert (holder.campaign, holder.origin, holder.home) == (
        "c1",
        "benchlab run",
        f"{socket.gethostname()}:{HOME}",
    )
    assert not theirs.release("c2")
    assert mine.release("c1")
    assert not mine.release("c1")
    assert theirs.acquire("c2", "benchlab run") is None
    assert theirs.release("c2")


def test_a_second_campaign_is_refused_by_name(
    locks: tuple[RemoteLock, RemoteLock], host: NamespaceHost
) -> None:
    """The error says which host, who holds it since when, and how to end it."""
    mine, theirs = locks
    mine.acquire("c1", "Airflow run manual__x")
    with pytest.raises(LockHeldError) as caught:
        theirs.acquire("c2", "benchlab run")
    for part in (
        host.address,
        "c1",
        "Airflow run manual__x",
        f"state in {socket.gethostname()}:{HOME}",
        "benchlab give-back c1",
    ):
        assert part in str(caught.value)
    held = mine.holder()
    assert held is not None
    assert held.campaign == "c1"


def test_a_lease_is_renewed_by_its_campaign(locks: tuple[RemoteLock, RemoteLock]) -> None:
    """From any of its processes; it has been held since the beginning."""
    mine, theirs = locks
    mine.acquire("c1", "benchlab run", 100)
    before = mine.holder()
    assert theirs.acquire("c1", "benchlab run", 5000) is None
    after = mine.holder()
    assert before is not None
    assert after is not None
    assert after.since == before.since
    assert after.until > before.until + 4000


def test_a_lease_that_has_run_out_gives_the_host_up(locks: tuple[RemoteLock, RemoteLock]) -> None:
    """The next campaign learns whose place it took, to end what that one left running."""
    mine, theirs = locks
    mine.acquire("c1", "benchlab run", -1)
    displaced = theirs.acquire("c2", "benchlab run")
    assert displaced is not None
    assert displaced.campaign == "c1"
    with pytest.raises(LockHeldError, match="c2"):
        mine.acquire("c1", "benchlab run")
    assert not mine.release("c1")


@pytest.mark.fault(
    "a locked host is rebooted",
    promise="it counts as free, however long the lock's lease",
    of="hosts",
)
def test_a_host_that_was_started_anew_is_free(
    locks: tuple[RemoteLock, RemoteLock], host: NamespaceHost
) -> None:
    """What ran on it before is gone, however long its lease."""
    mine, theirs = locks
    mine.acquire("c1", "benchlab run", 1e6)
    text = json.loads(host.run(f"cat {PATH}").stdout)
    boot = host.run("cat /proc/sys/kernel/random/boot_id").stdout.strip()
    assert text["boot"] == boot
    host.run(f"cat > {PATH}", stdin=json.dumps({**text, "boot": "another"}))
    displaced = theirs.acquire("c2", "benchlab run")
    assert displaced is not None
    assert displaced.campaign == "c1"


def test_another_account_is_kept_out_until_the_host_was_given_back(
    locks: tuple[RemoteLock, RemoteLock], another: RemoteLock, host: NamespaceHost
) -> None:
    """Also after the lease has run out, and of the very campaign; it can read who holds the host,
    and cannot give back, change or remove the lock.
    """
    mine, _ = locks
    mine.acquire("c1", "benchlab run", -1)
    before = host.run(f"cat {PATH}").stdout
    for campaign in ("c2", "c1"):
        with pytest.raises(LockHeldError, match=f"c1 .of the account admin.* root removes {PATH}"):
            another.acquire(campaign, "benchlab run")
        assert not another.release(campaign)
    denied = host.run(f"su other -s /bin/sh -c 'rm -f {PATH}; echo x > {PATH}'; true")
    assert "denied" in denied.stderr
    assert host.run(f"cat {PATH}").stdout == before
    assert mine.release("c1")
    assert another.acquire("c2", "benchlab run") is None
    assert another.release("c2")


@pytest.mark.parametrize("before", ["nobody", "old"])
def test_of_many_who_take_a_host_one_does(
    locks: tuple[RemoteLock, RemoteLock], another: RemoteLock, before: str
) -> None:
    """At the same moment, by two accounts; also where a lease of one has just run out."""
    mine, theirs = locks

    def take(number: int) -> tuple[RemoteLock, str] | None:
        lock = (mine, theirs, another)[number % 3]
        try:
            lock.acquire(f"c{number}", "benchlab run")
        except LockHeldError:
            return None
        return lock, f"c{number}"

    for _ in range(3):
        if before == "old":
            mine.acquire("old", "benchlab run", -1)
        with ThreadPoolExecutor(12) as pool:
            winners = [won for won in pool.map(take, range(12)) if won]
        ((lock, campaign),) = winners
        holder = mine.holder()
        assert holder is not None
        assert holder.campaign == campaign
        assert lock.release(campaign)


def test_it_is_the_lock_that_the_host_itself_knows(tmp_path: Path) -> None:
    """A campaign that runs on the client host keeps one that comes by SSH out, and conversely."""
    path = tmp_path / "lock"
    machine, remote = MachineLock(path), RemoteLock(LocalExecutor(tmp_path, "c1"), path, HOME)
    machine.acquire("c1", "benchlab run", tmp_path, None)
    with pytest.raises(LockHeldError, match="c1"):
        remote.acquire("c2", "benchlab run")
    assert machine.release("c1")
    remote.acquire("c2", "benchlab run")
    with pytest.raises(LockHeldError, match="c2"):
        machine.acquire("c1", "benchlab run", tmp_path, None)
    assert machine.holder() == remote.holder()
    assert remote.release("c2")
    assert machine.holder() is None


def test_what_is_no_lock_is_an_error_that_names_the_file(
    locks: tuple[RemoteLock, RemoteLock], host: NamespaceHost
) -> None:
    """It is not overwritten; a missing directory is named as well."""
    host.run(f"echo hello > {PATH}")
    for action in (locks[0].holder, lambda: locks[0].acquire("c1", "benchlab run")):
        with pytest.raises(TargetError, match=f"{host.address}.*{PATH} is not a lock"):
            action()
    assert host.run(f"cat {PATH}").stdout == "hello\n"


def test_a_lock_that_cannot_be_made_is_an_error(
    executors: tuple[SSHExecutor, SSHExecutor],
) -> None:
    """With the file's name, and no campaign continues without a lock."""
    with pytest.raises(CommandError, match="/nowhere/lock"):
        RemoteLock(executors[0], Path("/nowhere/lock"), HOME).acquire("c1", "benchlab run")
