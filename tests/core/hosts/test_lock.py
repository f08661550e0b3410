"""One campaign at a time on a machine, however it is started and however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchlab.errors import AtWorkError, CommandError, LockHeldError, TargetError
from benchlab.hosts.executor import LocalExecutor
from benchlab.hosts.lock import LEASE_S, Holder, MachineLock, RemoteLock, default_path, fence

# Takes the machine as its own driver, says how that went, and stays until its input ends.
TAKE = """
import os, sys
from pathlib import Path
from benchlab.errors import LockHeldError
from benchlab.hosts.lock import MachineLock
path, campaign = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
try:
    MachineLock(path).acquire(campaign, "a test", path.parent, os.getpid())
    print("taken", flush=True)
except LockHeldError as error:
    print(error, flush=True)
sys.stdin.read()
"""

FENCED = """
import sys
from pathlib import Path
from benchlab.hosts.executor import LocalExecutor
from benchlab.hosts.lock import fence
with fence(Path(sys.argv[1]), 0):
    LocalExecutor(Path(sys.argv[1]).parent, sys.argv[2]).start_job("client", ["sleep", "600"])
    print("inside", flush=True)
    sys.stdin.read()
"""
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a Python process; all are gone after the test."""
    processes: list[subprocess.Popen[str]] = []

    def run(code: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield run
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def lock(tmp_path: Path) -> MachineLock:
    """A lock of the test's own."""
    return MachineLock(tmp_path / "benchlab.lock")


def said(process: subprocess.Popen[str]) -> str:
    """The next line that a process prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str]) -> None:
    """Let a process that waits for a line continue."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def rewrite(lock: MachineLock, **changed: Any) -> None:
    """Change what the lock file says of its holder."""
    lock.path.write_text(json.dumps({**json.loads(lock.path.read_text()), **changed}))


def take(lock: MachineLock, campaign: str = "a", driver: int | None = None) -> Holder | None:
    """Take the machine for a campaign."""
    return lock.acquire(campaign, "a test", lock.path.parent, driver)


# ---------------------------------------------------------------- taking and giving back


def test_a_free_machine_is_taken_and_given_back(lock: MachineLock) -> None:
    """After the release nobody holds the machine, and the next campaign takes it."""
    assert lock.holder() is None
    assert take(lock, "a") is None
    holder = lock.holder()
    assert holder is not None
    assert holder.campaign == "a"
    assert holder.left_behind() is None
    assert lock.release("a")
    assert lock.holder() is None
    assert take(lock, "b") is None


def test_a_second_campaign_is_refused_and_learns_who_holds_it(lock: MachineLock) -> None:
    """The refusal names the holder and how to end it; the holder keeps the machine."""
    take(lock, "first")
    with pytest.raises(LockHeldError) as caught:
        take(lock, "second")
    for part in ("campaign first", "a test", "`benchlab give-back first`"):
        assert part in str(caught.value)
    holder = lock.holder()
    assert holder is not None
    assert holder.campaign == "first"


def test_only_one_of_several_processes_gets_the_machine(lock: MachineLock, start: Start) -> None:
    """All try at the same moment: one holds it, and the others learn its name."""
    processes = {name: start(TAKE, lock.path, name) for name in ("a", "b", "c", "d", "e")}
    assert {said(process) for process in processes.values()} == {"ready"}
    for process in processes.values():
        tell(process)
    answers = {name: said(process) for name, process in processes.items()}
    winners = [name for name, answer in answers.items() if answer == "taken"]
    assert len(winners) == 1
    refused = [answer for answer in answers.values() if answer != "taken"]
    assert all(f"campaign {winners[0]} " in answer for answer in refused)


def test_a_repeated_task_of_the_same_campaign_is_let_in(lock: MachineLock) -> None:
    """A retried `register` renews the lease and keeps the time since when the machine is held."""
    take(lock)
    rewrite(lock, since=1000.0)
    assert take(lock) is None
    holder = lock.holder()
    assert holder is not None
    assert holder.since == 1000.0


def test_a_campaign_that_is_at_work_is_not_started_twice(lock: MachineLock, start: Start) -> None:
    """Two processes that resume one campaign would end each other's servers."""
    process = start(TAKE, lock.path, "a")
    tell(process)
    assert [said(process), said(process)] == ["ready", "taken"]
    with pytest.raises(AtWorkError, match=f"process {process.pid} is at work on this very"):
        take(lock, "a", os.getpid())
    with pytest.raises(LockHeldError) as caught:  # of another home, with the same id by chance
        lock.acquire("a", "a test", Path("/elsewhere"), os.getpid())
    assert not isinstance(caught.value, AtWorkError)
    process.kill()
    process.wait()
    assert take(lock, "a", os.getpid()) is None


def test_only_the_holder_gives_the_machine_back(lock: MachineLock) -> None:
    """Another campaign's release changes nothing, and a second release does nothing."""
    take(lock, "a")
    assert not lock.release("b")
    holder = lock.holder()
    assert holder is not None
    assert holder.campaign == "a"
    assert lock.release("a")
    assert not lock.release("a")


def test_a_lease_is_renewed_by_its_holder_only(lock: MachineLock) -> None:
    """A campaign that lost the machine learns who has it before it measures anything."""
    take(lock, "a")
    rewrite(lock, until=time.time() + 5)
    take(lock, "a")
    holder = lock.holder()
    assert holder is not None
    assert holder.until > time.time() + 60
    with pytest.raises(LockHeldError, match="held by campaign a "):
        take(lock, "b")


# ---------------------------------------------------------------- left behind


def test_a_machine_whose_driver_died_is_taken(lock: MachineLock, start: Start) -> None:
    """A killed `benchlab run` does not block the next one, which learns what to clean up."""
    process = start(TAKE, lock.path, "dead")
    tell(process)
    assert [said(process), said(process)] == ["ready", "taken"]
    with pytest.raises(LockHeldError):
        take(lock, "next")
    process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie now
    displaced = take(lock, "next")
    assert displaced is not None
    assert displaced.campaign == "dead"
    assert displaced.left_behind() == f"its process {process.pid} is gone"
    process.wait()
    assert displaced.left_behind() == f"its process {process.pid} is gone"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"boot": "another boot"}, "the machine has been rebooted since"),
        ({"driver": None, "driver_started": None, "ends": 1}, "its lease has run out"),
        ({"driver": None, "driver_started": None, "until": 1.0}, "its lease has run out"),
        ({"driver_started": 1}, "is gone"),  # a later process has its pid
    ],
)
def test_what_else_shows_that_a_holder_is_gone(
    lock: MachineLock, changed: dict[str, Any], why: str
) -> None:
    """A restart of the machine, a scheduler's lease that ran out, a pid that is another's now."""
    take(lock, "dead", os.getpid())
    rewrite(lock, **changed)
    displaced = take(lock, "next")
    assert displaced is not None
    reason = displaced.left_behind()
    assert reason is not None
    assert why in reason


def test_a_living_driver_keeps_the_machine_whatever_the_clock_says(
    lock: MachineLock, start: Start
) -> None:
    """After a suspend or a step of the clock its lease has run out, and the campaign is at work."""
    process = start(TAKE, lock.path, "suspended")
    tell(process)
    assert [said(process), said(process)] == ["ready", "taken"]
    rewrite(lock, until=1.0)
    with pytest.raises(LockHeldError, match="held by campaign suspended "):
        take(lock, "next")
    with pytest.raises(LockHeldError, match="at work on this very campaign"):
        take(lock, "suspended", os.getpid())
    process.kill()
    process.wait()
    assert (displaced := take(lock, "next")) is not None
    assert displaced.left_behind() == f"its process {process.pid} is gone"


@pytest.mark.parametrize("step_s", [7300, -7300])
def test_a_step_of_the_clock_ends_no_lease(lock: MachineLock, step_s: int) -> None:
    """Under a scheduler no process holds the lock: the uptime says whether its lease has run out.

    Where a lock has no uptime, the clock does.
    """
    take(lock, "airflow")
    holder = lock.holder()
    assert holder is not None
    rewrite(lock, since=holder.since - step_s, until=holder.until - step_s)
    with pytest.raises(LockHeldError, match="held by campaign airflow "):
        take(lock, "next")
    assert lock.check("airflow") is None
    rewrite(lock, ends=None)
    assert (lock.holder() or holder).left_behind() == (
        "its lease has run out" if step_s > 0 else None
    )
    take(lock, "airflow")
    renewed = lock.holder()
    assert renewed is not None
    assert renewed.ends is not None
    assert abs(renewed.until - time.time() - LEASE_S) < 600
    assert list(json.loads(lock.path.read_text())) == [
        *(
            "campaign",
            "origin",
            "home",
            "driver",
            "driver_started",
            "ends",
            "boot",
            "since",
            "until",
        ),
    ]


def test_a_campaign_that_is_driven_again_at_once_holds_the_machine(
    lock: MachineLock, start: Start
) -> None:
    """Its new process is in the file, however fresh the lease of the killed one is."""
    process = start(TAKE, lock.path, "again")
    tell(process)
    assert [said(process), said(process)] == ["ready", "taken"]
    process.kill()
    process.wait()
    take(lock, "again", os.getpid())
    with pytest.raises(LockHeldError, match="held by campaign again "):
        take(lock, "next")


def test_a_later_process_with_the_same_pid_is_not_the_driver(lock: MachineLock) -> None:
    """A holder is known by when its process started: in clock ticks since the boot, as psutil has
    it, and one tick more or less is another process.
    """
    take(lock, "dead", os.getpid())
    holder = lock.holder()
    assert holder is not None
    assert holder.driver_started is not None
    assert holder.left_behind() is None
    since_boot_s = psutil.Process().create_time() - psutil.boot_time()
    assert holder.driver_started == round(since_boot_s * os.sysconf("SC_CLK_TCK"))
    for other in (holder.driver_started - 1, holder.driver_started + 1):
        rewrite(lock, driver_started=other)
        displaced = lock.check("next")
        assert displaced is not None
        assert displaced.left_behind() == f"its process {os.getpid()} is gone"


def test_a_driver_may_have_any_name(lock: MachineLock, tmp_path: Path) -> None:
    """Blanks and brackets in a program's name are no fields of its status."""
    program = tmp_path / "x) Z 1 (2"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "600"]) as process:
        try:
            take(lock, "odd", process.pid)
            holder = lock.holder()
            assert holder is not None
            assert holder.driver_started is not None
            assert holder.left_behind() is None
        finally:
            process.kill()


def test_a_campaign_of_a_scheduler_is_held_without_a_process(
    lock: MachineLock, start: Start
) -> None:
    """Under Airflow the task that takes the machine ends, and its campaign still holds it."""
    code = TAKE.replace("os.getpid()", "None")
    process = start(code, lock.path, "airflow")
    tell(process)
    assert [said(process), said(process)] == ["ready", "taken"]
    process.communicate()
    with pytest.raises(LockHeldError, match="campaign airflow "):
        take(lock, "next")


# ---------------------------------------------------------------- the file


def test_no_reader_sees_half_an_entry(lock: MachineLock, start: Start) -> None:
    """`doctor` and other campaigns read while a trial renews its lease."""
    take(lock)
    code = (
        "import sys\nfrom pathlib import Path\nfrom benchlab.hosts.lock import MachineLock\n"
        "lock = MachineLock(Path(sys.argv[1]))\nprint('ready', flush=True)\n"
        "while True: lock.acquire('a', 'a test', Path('/'), None)"
    )
    assert said(start(code, lock.path)) == "ready"
    for _ in range(100):
        holder = lock.holder()
        assert holder is not None
        assert holder.campaign == "a"


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"campaign": 1}', "1", "\0"])
def test_a_lock_file_that_makes_no_sense_is_named(lock: MachineLock, text: str) -> None:
    """The error says what to do; no campaign gets the machine by mistake."""
    lock.path.write_text(text)
    for act in (lock.holder, lambda: take(lock), lambda: lock.release("a")):
        with pytest.raises(TargetError, match=f"{lock.path}: .*remove the file"):
            act()


def test_a_lock_that_cannot_be_made_is_an_error_that_says_where(tmp_path: Path) -> None:
    """A directory that is not there, or another user's file, is named with a way out."""
    with pytest.raises(TargetError, match="BENCHLAB_LOCK"):
        take(MachineLock(tmp_path / "missing" / "benchlab.lock"))


def test_a_lock_of_a_host_that_cannot_be_made_shows_the_file_and_no_script(tmp_path: Path) -> None:
    """The command in the error is short, so that what failed is seen."""
    path = tmp_path / "missing" / "lock"
    with pytest.raises(CommandError) as caught:
        RemoteLock(LocalExecutor(tmp_path, "c1"), path, tmp_path).acquire("c1", "benchlab run")
    text = str(caught.value)
    assert f"`sh -s -- {path} swap '' " in text
    assert "ended with exit code 1" in text
    assert "flock" not in text


def test_all_checkouts_share_one_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file lies outside of any project, unless the environment names another."""
    monkeypatch.delenv("BENCHLAB_LOCK", raising=False)
    assert default_path() in (Path("/run/lock/benchlab.lock"), Path("/tmp/benchlab.lock"))
    monkeypatch.setenv("BENCHLAB_LOCK", "/somewhere/else")
    assert default_path() == Path("/somewhere/else")


# ---------------------------------------------------------------- the fence


def test_the_fence_lets_one_process_in(tmp_path: Path, start: Start) -> None:
    """While one process is in a trial, another learns how to find it."""
    path = tmp_path / "deep" / "trial.fence"
    path.parent.mkdir()
    assert said(start(FENCED, path, f"t{os.getpid()}")) == "inside"
    with pytest.raises(LockHeldError, match=f"fuser {path}"), fence(path, 0):
        pass
    _end_jobs()


def test_the_fence_falls_with_its_holder(tmp_path: Path, start: Start) -> None:
    """SIGKILL opens it at once, although the client that was started inside keeps running."""
    path = tmp_path / "trial.fence"
    process = start(FENCED, path, f"t{os.getpid()}")
    assert said(process) == "inside"
    process.kill()
    process.wait()
    with fence(path, 0):
        assert _end_jobs() > 0


def test_the_fence_opens_when_its_holder_leaves(tmp_path: Path) -> None:
    """One trial after the other, an error inside included; missing directories are made."""
    path = tmp_path / "deep" / "trial.fence"
    with pytest.raises(ZeroDivisionError), fence(path, 0):
        raise ZeroDivisionError
    with fence(path, 0) as waited:
        assert waited >= 0


def _end_jobs() -> int:
    from benchlab.hosts.executor import TAG, end_tagged

    return end_tagged(f"{TAG}=t{os.getpid()}")
