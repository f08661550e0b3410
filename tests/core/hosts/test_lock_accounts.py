"""The machine's lock lies where all may make files: what another account wrote is not obeyed."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from benchlab.errors import AtWorkError, LockHeldError, TargetError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.executor import LocalExecutor
from benchlab.hosts.lock import Holder, MachineLock, RemoteLock
from benchlab.targets import fleet_files, local
from benchlab.targets.target import Taken
from tests.builders import plans

Lock = MachineLock | RemoteLock
Become = Callable[[], None]
# A uid that no file here has.
SOMEBODY = 54321


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the lock's file is."""
    return tmp_path / "lock"


@pytest.fixture(params=["machine", "remote"])
def lock(request: pytest.FixtureRequest, path: Path, tmp_path: Path) -> Lock:
    """The lock of this machine, and the one that a host has."""
    if request.param == "machine":
        return MachineLock(path)
    return RemoteLock(LocalExecutor(tmp_path, "test"), path, tmp_path)


@pytest.fixture
def become_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Become:
    """From then on this process is another account, as far as it can see: it keeps its rights, as
    root has them with every file.
    """

    def become() -> None:
        program = tmp_path / "bin" / "id"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho {SOMEBODY}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
        monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)

    return become


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Somebody's process, which has nothing to do with Benchlab."""
    with subprocess.Popen(["sleep", "600"]) as running:
        yield running
        running.kill()


def take(lock: Lock, campaign: str, lease_s: float = 1000) -> object:
    """Take a lock of either kind."""
    if isinstance(lock, RemoteLock):
        return lock.acquire(campaign, "a test", lease_s)
    return lock.acquire(campaign, "a test", lock.path.parent, None, lease_s)


def entry(**changed: Any) -> str:
    """What a lock's file says; as it is, its lease has run out."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    holder = {"campaign": "theirs", "origin": "benchlab run", "home": "/", "driver": None,
              "driver_started": None, "ends": None, "boot": boot,
              "since": 1.0, "until": 2.0}  # fmt: skip
    return json.dumps({**holder, **changed})


def started(pid: int) -> int:
    """When a process started, in clock ticks since the boot."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


@pytest.mark.parametrize(
    "changed", [{}, {"boot": "another"}, {"until": 1e10}, {"campaign": "mine"}], ids=str
)
def test_another_accounts_holder_is_busy_and_nothing_else(
    lock: Lock, path: Path, become_another: Become, changed: dict[str, Any]
) -> None:
    """At work or over, of whatever campaign: it is named with its account, and never displaced."""
    path.write_text(entry(**changed))
    become_another()
    acts: tuple[Callable[[], object], ...] = (
        lambda: lock.check("mine"),
        lambda: take(lock, "mine"),
    )
    for act in acts:
        with pytest.raises(LockHeldError, match=rf"of the account \w+, .* root removes {path}"):
            act()
    assert not lock.release("mine")
    assert not lock.release("theirs")
    assert path.read_text() == entry(**changed)
    holder = lock.holder()
    assert holder is not None
    assert holder.account is not None
    assert holder.left_behind() is None


def test_after_it_was_given_back_no_file_is_left(lock: Lock, path: Path) -> None:
    """Another account could not write one that stays."""
    for _ in range(2):
        take(lock, "mine")
        assert lock.release("mine")
        assert not path.exists()


def test_only_the_holders_account_can_write_the_file(lock: Lock, path: Path) -> None:
    """Whatever the umask; all can read who holds the machine."""
    before = os.umask(0)
    try:
        take(lock, "a")
        assert path.stat().st_mode & 0o777 == 0o644
        assert lock.release("a")
        os.umask(0o077)
        take(lock, "a")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("text", ["", entry(), entry(until=1e10)], ids=["empty", "over", "busy"])
def test_a_file_that_all_can_write_is_named_and_left_alone(
    lock: Lock, path: Path, text: str
) -> None:
    """Anybody may have written it, or may still: nothing that it names is believed."""
    path.write_text(text)
    path.chmod(0o666)
    acts: tuple[Callable[[], object], ...] = (
        lock.holder,
        lambda: lock.check("mine"),
        lambda: take(lock, "mine"),
        lambda: lock.release("theirs"),
    )
    for act in acts:
        with pytest.raises(TargetError, match=r"written by other accounts; .*remove the file"):
            act()
    assert path.read_text() == text


def test_another_homes_campaign_of_this_id_is_any_other_campaign(lock: Lock, path: Path) -> None:
    """At work it is refused by name and not given back; over, it is displaced as any other."""
    path.write_text(entry(campaign="mine", until=1e10))
    acts: tuple[Callable[[], object], ...] = (
        lambda: take(lock, "mine"),
        lambda: lock.check("mine", str(path.parent)),
    )
    for act in acts:
        with pytest.raises(LockHeldError, match=r"held by campaign mine .*state in /") as caught:
            act()
        assert not isinstance(caught.value, AtWorkError)
    assert not lock.release("mine", str(path.parent))
    path.write_text(entry(campaign="mine"))
    displaced = take(lock, "mine")
    assert isinstance(displaced, Holder)
    assert (displaced.campaign, displaced.home) == ("mine", "/")
    holder = lock.holder()
    assert holder is not None
    assert (holder.home, holder.since > 1) == (lock.home or str(path.parent), True)


def test_a_file_that_another_account_is_about_to_fill_is_waited_for(
    lock: Lock, tmp_path: Path, become_another: Become
) -> None:
    """Between the file's making and its first words it is empty; it is not to be removed then."""
    program = tmp_path / "bin" / "rm"
    lock.path.touch()
    become_another()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    writer = Timer(0.3, lock.path.write_text, [entry(until=1e10)])
    writer.start()
    with pytest.raises(LockHeldError, match="campaign theirs"):
        take(lock, "mine")
    writer.join()


def _symbolic_link(path: Path, other: Path) -> None:
    path.symlink_to(other)


def _hard_link(path: Path, other: Path) -> None:
    path.hardlink_to(other)


def _pipe(path: Path, other: Path) -> None:
    os.mkfifo(path)


def _directory(path: Path, other: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("lay", [_symbolic_link, _hard_link, _pipe, _directory])
@pytest.mark.parametrize("text", ["", entry()], ids=["empty", "entry"])
def test_what_somebody_laid_in_its_place_is_named_and_left_alone(
    lock: Lock, path: Path, tmp_path: Path, lay: Callable[[Path, Path], None], text: str
) -> None:
    """A link to a file of one's own, which would be written; a pipe, which would never open."""
    other = tmp_path / "precious"
    other.write_text(text)
    lay(path, other)
    words = f"{path}.*(is not a regular file|has a second name)"
    acts: tuple[Callable[[], object], ...] = (
        lock.holder,
        lambda: take(lock, "mine"),
        lambda: lock.release("theirs"),
    )
    for act in acts:
        with pytest.raises(TargetError, match=words):
            act()
    assert other.read_text() == text


def test_a_link_to_nowhere_makes_no_file_there(lock: Lock, path: Path, tmp_path: Path) -> None:
    """Root's file would appear wherever somebody wants it."""
    path.symlink_to(tmp_path / "made")
    with pytest.raises(TargetError, match="is not a regular file"):
        take(lock, "mine")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "changed",
    [
        *({"campaign": name} for name in ("../../etc", "..", "", "a/b", "-rf", "a\n", "a" * 151)),
        *({"driver": pid} for pid in (0, -1, "1", 1.5)),
        *({"since": 1e300}, {"until": None}, {"more": 1}, {"home": 1}),
    ],
    ids=str,
)
def test_what_no_campaign_would_write_is_no_lock(
    lock: Lock, path: Path, changed: dict[str, Any]
) -> None:
    """Ids become directories that are removed, drivers processes that are ended."""
    path.write_text(entry(**changed))
    with pytest.raises(TargetError, match=f"{path}:? is not a lock that Benchlab wrote"):
        take(lock, "mine")


def test_what_another_account_writes_is_harmless_where_it_is_shown(
    lock: Lock, path: Path, become_another: Become
) -> None:
    """No control characters reach a terminal."""
    path.write_text(entry(origin="\x1b]0;you\x07\nare ours"))
    become_another()
    assert "?]0;you??are ours" in str(lock.holder())


def test_a_file_that_somebody_keeps_locked_hangs_nobody(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can read a file can lock it."""
    path.write_text(entry())
    monkeypatch.setattr("benchlab.hosts.lock.LOCKED_LIMIT_S", 0)
    with path.open() as keeper:
        fcntl.flock(keeper, fcntl.LOCK_EX)
        with pytest.raises(TargetError, match=f"{path}: has been kept locked"):
            MachineLock(path).holder()


# ---------------------------------------------------------------- what a campaign does with it


@pytest.fixture
def home(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """An installation with a lock of its own."""
    monkeypatch.setenv("BENCHLAB_LOCK", str(path))
    return Home(tmp_path, tmp_path / "state")


def precious(home: Home) -> Path:
    """A file that belongs to a campaign of another home."""
    kept = home.project / "elsewhere" / "campaigns" / "theirs" / "baseline" / "data" / "ibdata1"
    kept.parent.mkdir(parents=True)
    kept.write_text("")
    return kept


def test_the_next_campaign_removes_no_directory_that_another_account_names(
    home: Home, path: Path, become_another: Become
) -> None:
    """It waits, however dead the holder looks."""
    kept = precious(home)
    path.write_text(entry(home=str(home.project / "elsewhere")))
    become_another()
    spec = plans.spec()
    target = local.Target(home, "mine", plans.plan(spec), spec, Access())
    with pytest.raises(LockHeldError):
        target.acquire("a test")
    assert kept.exists()


def test_give_back_ends_no_process_that_anybody_may_have_named(
    home: Home, path: Path, process: subprocess.Popen[bytes]
) -> None:
    """In the machine's lock, or in that of a fleet's driver."""
    kept = precious(home)
    named = {"driver": process.pid, "driver_started": started(process.pid), "until": 1e10}
    state = home.campaign("theirs")
    state.mkdir(parents=True)
    for file in (path, state / fleet_files.DRIVER_LOCK):
        file.write_text(entry(home=str(home.root), **named))
        file.chmod(0o666)
    with pytest.raises(TargetError, match="can be written by other accounts"):
        local.Target.give_back(Taken(home, "theirs", Access(), ask_driver=True))
    with pytest.raises(TargetError, match="can be written by other accounts"):
        fleet_files.end_driver(state)
    assert process.poll() is None
    assert kept.exists()


@pytest.mark.parametrize("known", [True, False])
def test_give_back_ends_no_process_that_another_account_names(
    home: Home, path: Path, become_another: Become, process: subprocess.Popen[bytes], known: bool
) -> None:
    """Not even where this home has a campaign of that id, which is given back."""
    kept = precious(home)
    named = {"driver": process.pid, "driver_started": started(process.pid), "until": 1e10}
    path.write_text(entry(home=str(home.project / "elsewhere"), **named))
    become_another()
    if known:
        password = home.campaign("theirs") / "password"
        password.parent.mkdir(parents=True)
        password.write_text("secret")
        local.Target.give_back(Taken(home, "theirs", Access(), ask_driver=True))
        assert not password.exists()
    else:
        with pytest.raises(LockHeldError, match="nothing was ended"):
            local.Target.give_back(Taken(home, "theirs", Access(), ask_driver=True))
    assert process.poll() is None
    assert kept.exists()


def test_another_homes_campaign_of_the_same_id_is_another_campaign(
    home: Home, path: Path, process: subprocess.Popen[bytes]
) -> None:
    """Giving back this home's takes neither its machine, nor its processes, nor its data."""
    kept = precious(home)
    theirs = LocalExecutor(home.project / "elsewhere" / "campaigns" / "theirs", "theirs")
    theirs.start_job("server", ["sleep", "60"])
    named = {"driver": process.pid, "driver_started": started(process.pid), "until": 1e10}
    path.write_text(entry(home=str(home.project / "elsewhere"), **named))
    password = home.campaign("theirs") / "password"
    password.parent.mkdir(parents=True)
    password.write_text("secret")
    local.Target.give_back(Taken(home, "theirs", Access(), ask_driver=True))
    assert not password.exists()
    assert process.poll() is None
    assert theirs.job_status("server").state == "running"
    theirs.end_processes()
    assert kept.exists()
    assert (holder := MachineLock(path).holder()) is not None
    assert holder.home == str(home.project / "elsewhere")


def test_the_driver_of_a_fleet_is_ended_by_its_own_account_only(
    home: Home, become_another: Become, process: subprocess.Popen[bytes]
) -> None:
    """The lock in a campaign's directory says which process drives it."""
    state = home.campaign("theirs")
    state.mkdir(parents=True)
    named = {"driver": process.pid, "driver_started": started(process.pid), "until": 1e10}
    (state / fleet_files.DRIVER_LOCK).write_text(entry(**named))
    become_another()
    with pytest.raises(LockHeldError, match="nothing was ended"):
        fleet_files.end_driver(state)
    assert process.poll() is None


def test_processes_of_another_account_are_not_the_campaigns(
    home: Home, become_another: Become
) -> None:
    """Two accounts may have a campaign of the same id; root sees the tags of both."""
    executor = LocalExecutor(home.campaign("same"), f"same-{os.getpid()}")
    executor.start_job("client", ["sleep", "600"])
    become_another()
    assert executor.end_processes() == 0
    os.geteuid = os.getuid
    assert executor.end_processes() > 0
