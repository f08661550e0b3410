"""One campaign at a time on a machine: a lock file that names its holder.

It is held from `register` to `give back`, which are different processes under Airflow, so it cannot
be a lock that the kernel drops with a process. Instead the file says who holds it. A lock counts as
left behind when the machine has been rebooted since, when the process that drives the campaign is
gone, or when its lease has run out. Every stage and trial renews the lease.

The file of :class:`MachineLock` lies outside the project, where every checkout on the machine finds
it. :class:`RemoteLock` is the same lock on the client's host of a fleet; on the same path the two
exclude each other.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from benchlab.errors import LockHeldError, TargetError
from benchlab.hosts.executor import Executor

LEASE_S = 2 * 3600.0
Moment = tuple[str, float]
"""The boot id of a machine, and its time in seconds since the epoch."""

# $1 path, $2 "read" or "swap", $3 the text that is expected, $4 the text to write in its place.
# Prints the boot id, the time and the text found. `dd` opens without O_CREAT, with which the kernel
# refuses another user's file in a directory like /run/lock, and does not truncate: a process that
# dies in between does not free a host that is held.
_SCRIPT = """
[ -e "$1" ] || (umask 000; : >> "$1") || exit 1
exec 9< "$1" || exit 1
flock 9 || exit 1
found=$(cat "$1")
cat /proc/sys/kernel/random/boot_id
date +%s.%N
printf '%s\\n' "$found"
if [ "$2" = swap ] && [ "$found" = "$3" ]; then
    printf '%s' "$4" | dd of="$1" conv=notrunc,nocreat iflag=fullblock bs=64k status=none || exit 1
    truncate -c -s "${#4}" "$1"
fi
"""


@dataclass(frozen=True)
class Holder:
    """Who holds the machine.

    Attributes:
        campaign: its id.
        origin: how it was started, for people: ``benchlab run``, ``Airflow run manual__...``.
        home: the directory of its state.
        driver: pid of the process that drives the campaign; None where a scheduler does.
        driver_started: that process's start time in clock ticks, which distinguishes it from a
            later process with the same pid; None without a driver.
        boot: the kernel's boot id.
        since, until: when the lock was taken, and when its lease ends; seconds since the epoch.
    """

    campaign: str
    origin: str
    home: str
    driver: int | None
    driver_started: int | None
    boot: str
    since: float
    until: float

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"campaign {self.campaign} ({self.origin}, since {since}, state in {self.home})"

    def left_behind(self, there: Moment | None = None) -> str | None:
        """Why this holder can no longer be at work; None while it may be.

        Args:
            there: the moment on another host, whose processes cannot be seen from here; None for
                this machine.
        """
        boot, now = there or (_boot_id(), time.time())
        if self.boot != boot:
            return "the machine has been rebooted since"
        if there is None and self.driver and _started(self.driver) != self.driver_started:
            return f"its process {self.driver} is gone"
        return "its lease has run out" if now > self.until else None


def default_path() -> Path:
    """The machine's lock file: ``BENCHLAB_LOCK``, else in ``/run/lock`` or ``/tmp``."""
    if named := os.environ.get("BENCHLAB_LOCK"):
        return Path(named)
    shared = Path("/run/lock")
    return (shared if os.access(shared, os.W_OK) else Path("/tmp")) / "benchlab.lock"  # noqa: S108


class _Lock(ABC):
    """What both locks do with their file."""

    path: Path
    #: The machine's name, and how a message about a faulty file begins.
    machine: str
    fault: str
    #: Whether the file is on this machine.
    here: ClassVar[bool]

    @abstractmethod
    def _exchange(self, *swap: str) -> tuple[Moment, str]:
        """The moment on that machine, and the file's text before it was changed.

        Args:
            swap: the text that is expected, and the text to write if it is found.
        """

    def holder(self) -> Holder | None:
        """Who holds the machine, at work or left behind; None where nobody does.

        Raises:
            TargetError: the file is not a lock of Benchlab, or cannot be opened on this machine.
            CommandError: it cannot be opened on its host.
        """
        return self._parse(self._exchange()[1])

    def check(self, campaign: str) -> Holder | None:
        """What taking it would return or raise now; nothing is taken.

        Returns:
            A holder that was left behind and whose place would be taken. None otherwise.

        Raises:
            LockHeldError: another campaign is at work; names it.
            TargetError, CommandError: as :meth:`holder`.
        """
        at, text = self._exchange()
        return self._displaced(self._parse(text), campaign, at)

    def release(self, campaign: str) -> bool:
        """Give the machine back; False where the campaign lacks it; raises as :meth:`holder`."""
        while True:
            text = self._exchange()[1]
            found = self._parse(text)
            if found is None or found.campaign != campaign:
                return False
            if self._exchange(text, "")[1] == text:
                return True

    def _take(
        self, campaign: str, origin: str, home: str, driver: int | None, lease_s: float
    ) -> Holder | None:
        while True:
            at, text = self._exchange()
            found = self._parse(text)
            displaced = self._displaced(found, campaign, at)
            renewed = found if displaced is None else None
            if renewed and renewed.driver != driver and not self._left_behind(renewed, at):
                who = f"process {renewed.driver}" if renewed.driver else "a scheduler"
                raise LockHeldError(
                    f"{self.machine} is held by {renewed}: {who} is at work on this very campaign. "
                    f"Wait for it, or end it: `benchlab give-back {campaign}`"
                )
            holder = Holder(
                campaign=campaign,
                origin=origin,
                home=home,
                driver=driver,
                driver_started=_started(driver) if driver is not None else None,
                boot=at[0],
                since=renewed.since if renewed else at[1],
                until=at[1] + lease_s,
            )
            if self._exchange(text, json.dumps(asdict(holder)))[1] == text:
                return displaced

    def _displaced(self, found: Holder | None, campaign: str, at: Moment) -> Holder | None:
        if found is None or found.campaign == campaign:
            return None
        if self._left_behind(found, at) is None:
            raise LockHeldError(
                f"{self.machine} is held by {found}. One campaign runs at a time, or both would "
                "measure each other. Wait for it, or end it where it runs: "
                f"`benchlab give-back {found.campaign}`"
            )
        return found

    def _left_behind(self, found: Holder, at: Moment) -> str | None:
        return found.left_behind(None if self.here else at)

    def _parse(self, text: str) -> Holder | None:
        if not text.strip():
            return None
        try:
            return Holder(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise TargetError(
                f"{self.fault} is not a lock that Benchlab wrote ({error}); if no campaign is at "
                "work there, remove the file"
            ) from error


class MachineLock(_Lock):
    """The lock of this machine; safe to use from several processes at once.

    Example:
        ``MachineLock().holder()`` is None where no campaign holds this machine.
    """

    machine, here = "this machine", True

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or default_path()
        self.fault = f"{self.path}:"

    def acquire(
        self,
        campaign: str,
        origin: str,
        home: Path,
        driver: int | None,
        lease_s: float = LEASE_S,
    ) -> Holder | None:
        """Take the machine, or renew the campaign's own lease to end ``lease_s`` seconds from now.

        Returns:
            A holder that was left behind and whose place was taken: its processes may still
            run and have to be ended first. None otherwise.

        Raises:
            LockHeldError: another campaign, or another process of this one, is at work; names it.
            TargetError: the lock file is not a lock of Benchlab, or cannot be opened.
        """
        return self._take(campaign, origin, str(home), driver, lease_s)

    def _exchange(self, *swap: str) -> tuple[Moment, str]:
        try:
            found = self._swap(*swap) if swap else self._read()
        except OSError as error:
            raise TargetError(
                f"{self.path}: the machine's lock cannot be opened: {error.strerror}; make it "
                "writable for this user, or name another file in BENCHLAB_LOCK"
            ) from error
        return (_boot_id(), time.time()), found

    def _read(self) -> str:
        try:
            with self.path.open(encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_SH)
                return file.read()
        except FileNotFoundError:
            return ""

    def _swap(self, expected: str, new: str) -> str:
        # Written in place and never removed: removing a locked file would let two processes in.
        with os.fdopen(self._open(), "r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if (found := file.read()) == expected:
                # Written, then truncated: a process that dies in between does not free the machine.
                file.seek(0)
                file.write(new)
                file.truncate()
            return found

    def _open(self) -> int:
        # Without O_CREAT first: with it the kernel refuses another user's file in a directory like
        # /run/lock (fs.protected_regular), even to root.
        try:
            return os.open(self.path, os.O_RDWR)
        except FileNotFoundError:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        with contextlib.suppress(PermissionError):
            os.fchmod(descriptor, 0o666)  # whatever the umask: any user may take the machine
        return descriptor


class RemoteLock(_Lock):
    """The lock of a host; safe to use from several machines at once. Times are the host's own.

    Args:
        executor: the host, usually the client's host of the fleet.
        path: the lock file there. Its directory has to exist; the file is never removed.
    """

    here = False

    def __init__(self, executor: Executor, path: Path) -> None:
        self._executor, self.path = executor, path
        self.machine, self.fault = executor.host, f"on {executor.host}: {path}"

    def acquire(self, campaign: str, origin: str, lease_s: float = LEASE_S) -> Holder | None:
        """See :meth:`MachineLock.acquire`; CommandError where the host's file cannot be opened.

        This machine's name is recorded as the place of the state.
        """
        return self._take(campaign, origin, socket.gethostname(), None, lease_s)

    def _exchange(self, *swap: str) -> tuple[Moment, str]:
        arguments = ["swap", *swap] if swap else ["read"]
        # As input, so that an error shows the file and not the script.
        command = ["sh", "-s", "--", str(self.path), *arguments]
        done = self._executor.run(command, stdin=_SCRIPT)
        boot, now, text = done.stdout.split("\n", 2)
        return (boot, float(now)), text.rstrip("\n")


@contextlib.contextmanager
def fence(path: Path, limit_s: float) -> Iterator[float]:
    """Let one process at a time into a trial or an installation; yields the seconds waited.

    A task's process can outlive the worker that started it and run beside the retry. The kernel
    drops this lock when the process that holds it ends, in whatever way.

    Example:
        ``with fence(directory / "trial.fence", 600.0) as waited_s: ...``

    Raises:
        LockHeldError: it was not free within ``limit_s`` seconds.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() - begin > limit_s:
                    raise LockHeldError(
                        f"another process has been at the same work for more than {limit_s:g} s "
                        f"and holds {path}; find it with `fuser {path}`"
                    ) from None
                time.sleep(0.1)
        yield time.monotonic() - begin


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _started(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot (proc(5)); None where it does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *rest = stat.rpartition(")")[2].split()
    return None if state == "Z" else int(rest[18])
