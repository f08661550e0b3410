"""One campaign at a time on a machine: a lock file that names its holder.

It is held from `register` to `give_back`, which under Airflow are different processes, so it
cannot be a lock that the kernel drops with a process. Instead it says who holds it, and counts as
left behind when the machine has been started anew since, when the process that drives the
campaign is gone, or when its lease has run out. Every stage and trial renews the lease.

The file lies where every checkout on the machine finds it, not in the project.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, TextIO

from benchlab.errors import LockHeldError, TargetError

LEASE_S = 2 * 3600.0


@dataclass(frozen=True)
class Holder:
    """Who holds the machine.

    Attributes:
        campaign: its id.
        origin: how it was started, for people: ``benchlab run``, ``Airflow run manual__...``.
        home: the directory of its state.
        driver: pid of the process that drives it to its end; None where a scheduler does.
        driver_started: that process's start time in clock ticks, which tells it from a later
            process of the same pid.
        boot: the kernel's boot id.
        since, until: when it was taken, when its lease ends; seconds since the epoch.
    """

    campaign: str
    origin: str
    home: str
    driver: int | None
    driver_started: int | None
    boot: str
    since: float
    until: float

    @classmethod
    def parse(cls, text: str, fault: str, where: str) -> Self | None:
        """The holder that a lock names; None where it is empty.

        Args:
            fault: begins the message where it cannot be read: ``/path: not a lock``.
            where: the machine, for the message.

        Raises:
            TargetError: Benchlab did not write it.
        """
        if not text.strip():
            return None
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise TargetError(
                f"{fault} that Benchlab wrote ({error}); if no campaign is at work {where}, remove "
                "the file"
            ) from error

    def __str__(self) -> str:
        """For people."""
        since = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"campaign {self.campaign} ({self.origin}, since {since}, state in {self.home})"

    def left_behind(self) -> str | None:
        """Why this holder can no longer be at work; None while it can."""
        if self.boot != _boot_id():
            return "the machine has been started anew since"
        if self.driver is not None and _started(self.driver) != self.driver_started:
            return f"its process {self.driver} is gone"
        if time.time() > self.until:
            return "its lease has run out"
        return None


def default_path() -> Path:
    """The machine's lock file."""
    if named := os.environ.get("BENCHLAB_LOCK"):
        return Path(named)
    shared = Path("/run/lock")
    return (shared if os.access(shared, os.W_OK) else Path("/tmp")) / "benchlab.lock"  # noqa: S108


class MachineLock:
    """The lock of one machine; safe to use from several processes at once."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or default_path()

    def holder(self) -> Holder | None:
        """Who holds the machine, be it at work or left behind.

        Raises:
            TargetError: the file is not a lock of Benchlab.
        """
        try:
            with self.path.open(encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_SH)
                return self._parse(file.read())
        except FileNotFoundError:
            return None

    def acquire(
        self,
        campaign: str,
        origin: str,
        home: Path,
        driver: int | None,
        lease_s: float = LEASE_S,
    ) -> Holder | None:
        """Take the machine, or let the lease of the same campaign end ``lease_s`` s from now.

        Returns:
            A holder that was left behind and whose place was taken: its processes may still
            run and have to be ended first. None otherwise.

        Raises:
            LockHeldError: another campaign is at work; names it.
        """
        with self._exclusive() as file:
            found = self._parse(file.read())
            displaced = None
            if found is not None and found.campaign == campaign:
                self._refuse_a_second_driver(found, driver)
            elif found is not None:
                if found.left_behind() is None:
                    raise LockHeldError(
                        f"this machine is held by {found}. One campaign runs at a time, or both "
                        "would measure each other. Wait for it, or end it: "
                        f"`benchlab give-back {found.campaign}`"
                    )
                displaced = found
            now = time.time()
            self._write(
                file,
                Holder(
                    campaign=campaign,
                    origin=origin,
                    home=str(home),
                    driver=driver,
                    driver_started=_started(driver) if driver is not None else None,
                    boot=_boot_id(),
                    since=found.since if found and found.campaign == campaign else now,
                    until=now + lease_s,
                ),
            )
            return displaced

    def release(self, campaign: str) -> bool:
        """Give the machine back; False where the campaign did not hold it."""
        with self._exclusive() as file:
            found = self._parse(file.read())
            if found is None or found.campaign != campaign:
                return False
            self._write(file, None)
            return True

    def _refuse_a_second_driver(self, found: Holder, driver: int | None) -> None:
        if found.driver != driver and found.left_behind() is None:
            who = "a scheduler" if found.driver is None else f"process {found.driver}"
            raise LockHeldError(
                f"this machine is held by {found}: {who} is at work on this very campaign. Wait "
                f"for it, or end it: `benchlab give-back {found.campaign}`"
            )

    def _parse(self, text: str) -> Holder | None:
        return Holder.parse(text, f"{self.path}: not a lock", "on this machine")

    def _write(self, file: TextIO, holder: Holder | None) -> None:
        # Written over and then cut: a process that dies in between frees no held machine.
        file.seek(0)
        file.write(json.dumps(asdict(holder)) if holder is not None else "")
        file.truncate()

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[TextIO]:
        # The file is written in place and never removed: removing a locked file lets two in.
        with os.fdopen(self._open(), "r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file

    def _open(self) -> int:
        # First without O_CREAT: with it the kernel refuses another user's file in a directory
        # like /run/lock (fs.protected_regular), even to root.
        try:
            return os.open(self.path, os.O_RDWR)
        except FileNotFoundError:
            return self._create()
        except OSError as error:
            raise self._unusable(error) from error

    def _create(self) -> int:
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise self._unusable(error) from error
        with contextlib.suppress(PermissionError):
            os.fchmod(descriptor, 0o666)  # whatever the umask: any user may take the machine
        return descriptor

    def _unusable(self, error: OSError) -> TargetError:
        return TargetError(
            f"{self.path}: the machine's lock cannot be opened: {error.strerror}; make it writable "
            "for this user, or name another file in BENCHLAB_LOCK"
        )


@contextlib.contextmanager
def fence(path: Path, limit_s: float) -> Iterator[float]:
    """Let one process at a time into a trial; yields the seconds waited.

    A task's process can outlive the worker that started it and run on beside the retry. The
    kernel drops this lock with the process that holds it, however that ends.

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
    """Start time of a process in clock ticks since boot; None where there is none (proc(5))."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *rest = stat.rpartition(")")[2].split()
    return None if state == "Z" else int(rest[18])
