"""The lock that allows one campaign at a time on a machine: a file that names its holder.

It is held from `register` to `give back`, which are different processes under Airflow, so it cannot
be a kernel lock, which ends with its process. Instead the file says who holds it. A lock counts as
left behind if the machine was rebooted since, if the process that drives the campaign is gone, or,
where no process of this machine drives it, if its lease has expired. Every stage and trial renews
the lease.

The file of :class:`MachineLock` lies outside the project, where every checkout on the machine finds
it. :class:`RemoteLock` is the same lock on the client's host of a fleet; on the same path the two
exclude each other.

Any account can create files in that directory, and the file's content decides which processes are
ended and which directories removed. So only the account that holds the lock can write the file, and
another account's lock is respected and never taken over, not even by root. A file that other
accounts can write is refused.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated

import pydantic
from pydantic import Field

from benchlab.errors import AtWorkError, CommandError, LockHeldError, TargetError
from benchlab.home import ID
from benchlab.hosts.executor import Executor, LocalExecutor

LEASE_S = 2 * 3600.0
# A lease renewed less than this long ago is not written again.
_FRESH_S = 60.0
# Any account can flock a file that it can read; a campaign must not hang because of that.
LOCKED_LIMIT_S = 10
# A file is briefly empty after its creation.
EMPTY_LIMIT_S = 2
# Of Linux (USER_HZ), everywhere; times in /proc have this unit.
_TICKS_PER_S = 100
# Many times what a holder needs.
MOST_BYTES = 16_384
Moment = tuple[str, float, int]
"""The boot id of a machine, its time in seconds since the epoch, and the clock ticks since boot."""
_Seconds = Annotated[float, Field(ge=-1e11, le=1e11)]  # years that a date can have
_NOT_A_FILE = "is not a regular file"
_SECOND_NAME = "has a second name (a hard link)"
_LOOSE = "can be written by other accounts"
_EMPTY = "is an empty file of another account, which that account or root has to remove"

# $1 path, $2 "read" or "swap", $3 the expected text, $4 the text to replace it (empty: the file is
# removed). Prints the boot id, the time, the uptime, the file's account if it is another one, what
# is wrong with the file, and its text. Everything applies to the file as opened, even if its name
# leads elsewhere meanwhile. `dd` does not truncate: if it dies in between, a held host does not
# become free.
_SCRIPT = f"""
say() {{
    read -r boot < /proc/sys/kernel/random/boot_id
    read -r up _ < /proc/uptime
    printf '%s\\n' "$boot" "$(date +%s.%N)" "$up" "$account" "$1" "$found"
    exit 0
}}
me=$(id -u)
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    account= found=
    if [ ! -e "$1" ] && [ ! -L "$1" ]; then
        if [ "$2" = read ] || [ -n "$3" ]; then say ''; fi
        (umask 022; set -C; : > "$1") || [ -e "$1" ] || exit 1
    fi
    if [ -L "$1" ] || [ ! -f "$1" ]; then say '{_NOT_A_FILE}'; fi
    command exec 9< "$1" || continue
    flock -w $limit 9 || say "has been kept locked by another process for $limit s; see 'fuser'"
    set -- "$1" "$2" "$3" "$4" $(stat -L -c '%d:%i %h %u %U %a' /proc/self/fd/9)
    [ "$(stat -c %d:%i "$1")" = "$5" ] || continue
    [ "$6" = 1 ] || say '{_SECOND_NAME}'
    [ "$7" = "$me" ] || account=$8
    case $9 in *[2367] | *[2367]?) say '{_LOOSE}' ;; esac
    found=$(head -c {MOST_BYTES} <&9 | tr '\\000' '?')
    if [ "$2" = read ] || [ "$found" != "$3" ]; then say ''; fi
    if [ -n "$account" ] && [ -n "$found" ]; then say ''; fi
    if [ -n "$account" ]; then
        rm -f -- "$1" && continue
        [ $try -lt 20 ] || say '{_EMPTY}'
        exec 9<&-
        sleep {EMPTY_LIMIT_S / 20}
        continue
    fi
    printf '%s' "$4" |
        dd of=/proc/self/fd/9 conv=notrunc,nocreat iflag=fullblock bs=64k status=none || exit 1
    truncate -c -s "${{#4}}" /proc/self/fd/9
    [ -n "$4" ] || rm -f -- "$1"
    say ''
done
exit 1
"""


@dataclass(frozen=True)
class Holder:
    """The campaign that holds a machine.

    Attributes:
        campaign: its id.
        origin: how it was started, for people: ``benchlab run``, ``Airflow run manual__...``.
        home: the directory of its state; in a remote lock after the name of its machine. Another
            home's campaign of the same id is another campaign.
        driver: pid of the process that drives the campaign; None if a scheduler does.
        driver_started: in clock ticks since boot, the start time of that process, which
            distinguishes it from a later one with the same pid; None without a driver.
        ends: without a driver, the end of its lease in clock ticks since boot, which no step of the
            clock moves; else None.
        boot: the kernel's boot id.
        since, until: when the lock was taken, and when its lease ends; seconds since the epoch.
        account: the file's owner if that is another account, which may have written anything into
            it; else None. Not in the file.
    """

    __pydantic_config__ = pydantic.ConfigDict(strict=True, extra="forbid")

    campaign: Annotated[str, Field(pattern=f"^{ID}$")]
    origin: str
    home: str
    driver: Annotated[int, Field(ge=1)] | None
    driver_started: int | None
    ends: int | None
    boot: str
    since: _Seconds
    until: _Seconds
    account: str | None = None

    def is_of(self, campaign: str, home: str | None) -> bool:
        """Whether this account's campaign of that id holds it, in this ``home`` (None for any)."""
        is_ours = self.account is None and self.campaign == campaign
        return is_ours and (home is None or _same_home(home, self.home))

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        of = f"of the account {self.account}, " if self.account else ""
        text = f"campaign {self.campaign} ({of}{self.origin}, since {since}, state in {self.home})"
        return "".join(letter if letter.isprintable() else "?" for letter in text)

    def left_behind(self, there: Moment | None = None) -> str | None:
        """Why the holder counts as gone; None while it may be at work, or is another account's.

        Args:
            there: of another host, whose processes cannot be seen from here; None for this machine.
        """
        if self.account is not None:
            return None
        boot, now, ticks = there or (_boot_id(), time.time(), _ticks())
        if self.boot != boot:
            return "the machine has been rebooted since"
        if there is None and self.driver:
            # The clock does not matter: no suspend and no step of NTP may end a campaign.
            alive = _started(self.driver) == self.driver_started
            return None if alive else f"its process {self.driver} is gone"
        is_over = now > self.until if self.ends is None else ticks > self.ends
        return "its lease has run out" if is_over else None


def default_path() -> Path:
    """The machine's lock file: ``BENCHLAB_LOCK``, else in ``/run/lock`` or ``/tmp``."""
    if named := os.environ.get("BENCHLAB_LOCK"):
        return Path(named)
    shared = Path("/run/lock")
    return (shared if os.access(shared, os.W_OK) else Path("/tmp")) / "benchlab.lock"  # noqa: S108


@dataclass(frozen=True)
class _Found:
    """The text of a lock's file; ``account`` as in :class:`Holder`."""

    text: str = ""
    account: str | None = None


class _Lock:
    """What both locks have in common.

    Args:
        machine: its name in messages.
        fault: the beginning of messages about a faulty file.
        home: the home whose campaigns ask; None if every call names it.
    """

    def __init__(
        self, executor: Executor, path: Path, machine: str, fault: str, home: str | None = None
    ) -> None:
        self._executor, self.path = executor, path
        self.machine, self.fault, self.home = machine, fault, home

    def _exchange(self, *swap: str) -> tuple[Moment, _Found]:
        """Read the lock file, or compare and swap its text.

        Args:
            swap: the expected text (empty if there is no file), and the text that replaces it if
                the file is this account's; an empty one removes the file. Without both, the file is
                only read.

        Returns:
            The moment on that machine, and the file as it was before.

        Raises:
            TargetError: the file cannot be trusted; says why.
        """
        arguments = ["swap", *swap] if swap else ["read"]
        # As input, so that an error shows the file and not the script.
        command = ["sh", "-s", "--", str(self.path), *arguments]
        done = self._executor.run(command, stdin=f"limit={LOCKED_LIMIT_S}\n{_SCRIPT}")
        boot, now, up, account, wrong, text = done.stdout.split("\n", 5)
        if wrong:
            raise self._wrong(wrong)
        return (boot, float(now), _in_ticks(float(up))), _Found(text.rstrip("\n"), account or None)

    def holder(self) -> Holder | None:
        """Who holds the machine, at work or left behind; None if nobody does.

        Raises:
            TargetError: the file is not a lock of Benchlab, or cannot be opened on this machine.
            CommandError: it cannot be opened on its host.
        """
        return self._parse(self._exchange()[1])

    def check(self, campaign: str, home: str | None = None) -> Holder | None:
        """Return or raise what taking the lock would, without taking it.

        Returns:
            A holder that was left behind and would be displaced, else None.

        Raises:
            LockHeldError: another campaign is at work, or another home's of this id; names it.
            TargetError, CommandError: as :meth:`holder`.
        """
        at, file = self._exchange()
        return self._displaced(self._parse(file), campaign, home or self.home, at)

    def release(self, campaign: str, home: str | None = None) -> bool:
        """Give the machine back; False if the campaign does not hold it. Raises as :meth:`holder`.

        Args:
            home: the campaign's; None for the lock's own, or for any if it has none.
        """
        while True:
            file = self._exchange()[1]
            found = self._parse(file)
            if found is None or not found.is_of(campaign, home or self.home):
                return False
            if self._exchange(file.text, "")[1] == file:
                return True

    def _take(
        self, campaign: str, origin: str, home: str, driver: int | None, lease_s: float
    ) -> Holder | None:
        while True:
            at, file = self._exchange()
            found = self._parse(file)
            displaced = self._displaced(found, campaign, home, at)
            renewed = found if found and found.is_of(campaign, home) else None
            if renewed and renewed.driver != driver and not self._left_behind(renewed, at):
                who = f"process {renewed.driver}" if renewed.driver else "a scheduler"
                raise AtWorkError(
                    f"{self.machine} is held by {renewed}: {who} is at work on this very campaign. "
                    "Wait for it; if it is no longer wanted, "
                    f"`benchlab give-back {campaign}` ends it"
                )
            until = at[1] + lease_s
            ends = at[2] + _in_ticks(lease_s) if driver is None else None
            started = None if driver is None else _started(driver)
            if (
                renewed
                and renewed.driver == driver
                and 0 <= until - renewed.until < _FRESH_S
                and started == renewed.driver_started
                and 0 <= (ends or 0) - (renewed.ends or 0) < _in_ticks(_FRESH_S)
            ):
                return None  # renewed by the trial before
            holder = Holder(
                campaign=campaign,
                origin=origin,
                home=home,
                driver=driver,
                driver_started=started,
                ends=ends,
                boot=at[0],
                since=renewed.since if renewed else at[1],
                until=until,
            )
            text = {key: value for key, value in asdict(holder).items() if key != "account"}
            if self._exchange(file.text, json.dumps(text))[1] == _Found(file.text):
                return displaced

    def _displaced(
        self, found: Holder | None, campaign: str, home: str | None, at: Moment
    ) -> Holder | None:
        if found is None or found.is_of(campaign, home):
            return None
        if found.account is not None:
            raise LockHeldError(
                f"{self.machine} is held by {found}. One campaign runs at a time, and another "
                "account's is not touched. Wait for it; if it is over, "
                f"`benchlab give-back {found.campaign}` by {found.account} ends it, or "
                f"{found.account} or root removes {self.path}"
            )
        if self._left_behind(found, at) is None:
            raise LockHeldError(
                f"{self.machine} is held by {found}. One campaign runs at a time, or both would "
                "measure each other. Wait for it, as `benchlab run --wait` does; only if it is "
                f"yours and no longer wanted, `benchlab give-back {found.campaign}` ends it where "
                "it runs"
            )
        return found

    def _left_behind(self, found: Holder, at: Moment) -> str | None:
        return found.left_behind(at)

    def _parse(self, file: _Found) -> Holder | None:
        if not file.text.strip():
            return None
        try:
            found = _holders().validate_json(file.text)
        except pydantic.ValidationError as error:
            fields = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
            what = f"its field {fields} is wrong" if fields else "it is not the JSON of a lock"
            raise self._wrong(f"is not a lock that Benchlab wrote: {what}") from None
        return replace(found, account=file.account)

    def _wrong(self, why: str) -> TargetError:
        return TargetError(f"{self.fault} {why}; if no campaign is at work there, remove the file")


class MachineLock(_Lock):
    """The lock of this machine; safe to use from several processes at once.

    Example:
        ``MachineLock().holder()`` is None if no campaign holds this machine.
    """

    def __init__(self, path: Path | None = None) -> None:
        path = path or default_path()
        super().__init__(LocalExecutor(path.parent, "lock"), path, "this machine", f"{path}:")

    def acquire(
        self,
        campaign: str,
        origin: str,
        home: Path,
        driver: int | None,
        lease_s: float = LEASE_S,
    ) -> Holder | None:
        """Take the machine, or renew the campaign's lease to end ``lease_s`` seconds from now.

        Returns:
            A holder that was left behind and has been displaced; its processes may still run and
            must be ended first. Otherwise None.

        Raises:
            LockHeldError: another campaign, or another home's of this id, is at work; names it.
            AtWorkError: another process is working on this campaign.
            TargetError: the lock file is not a lock of Benchlab, or cannot be opened.
        """
        return self._take(campaign, origin, str(home), driver, lease_s)

    def _left_behind(self, found: Holder, at: Moment) -> str | None:
        return found.left_behind()

    def _exchange(self, *swap: str) -> tuple[Moment, _Found]:
        try:
            return super()._exchange(*swap)
        except CommandError as error:
            raise TargetError(
                f"{self.path}: the machine's lock cannot be opened; make it accessible to this "
                "user, or name another file in BENCHLAB_LOCK"
            ) from error


class RemoteLock(_Lock):
    """The lock of a host; safe to use from several machines at once. Times are the host's own.

    Example:
        ``RemoteLock(executor, Path("/run/lock/benchlab.lock"), home.root).holder()``

    Args:
        executor: of the host, usually the client's host of a fleet.
        path: the lock file there; its directory must exist.
        home: this machine's home whose campaigns ask; recorded with the machine's name.
        driven: whether a process of this machine drives a campaign; if so, its lease is ignored.
    """

    home: str

    def __init__(
        self,
        executor: Executor,
        path: Path,
        home: Path,
        driven: Callable[[str], bool] = lambda campaign: False,
    ) -> None:
        place = f"{socket.gethostname()}:{home}"
        super().__init__(executor, path, executor.host, f"on {executor.host}: {path}", place)
        self._driven = driven

    def acquire(self, campaign: str, origin: str, lease_s: float = LEASE_S) -> Holder | None:
        """See :meth:`MachineLock.acquire`; CommandError if the host's file cannot be opened."""
        return self._take(campaign, origin, self.home, None, lease_s)

    def _left_behind(self, found: Holder, at: Moment) -> str | None:
        if found.home == self.home and self._driven(found.campaign):
            return None
        return super()._left_behind(found, at)


@contextlib.contextmanager
def fence(path: Path, limit_s: float) -> Iterator[float]:
    """Let one process at a time into a trial or an installation; yields the seconds waited.

    A task's process can outlive its worker and run alongside the retry. The kernel drops this lock
    when the process that holds it ends, however it ends.

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


def _same_home(one: str, other: str) -> bool:
    """Whether two names of homes mean one: several machines may share it, and then its mark."""
    marks = [re.search(r" \([0-9a-f]{8}\)$", name) for name in (one, other)]
    return one == other or (None not in marks and len({mark and mark[0] for mark in marks}) == 1)


@cache
def _holders() -> pydantic.TypeAdapter[Holder]:
    return pydantic.TypeAdapter(Holder)


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _ticks() -> int:
    return _in_ticks(float(Path("/proc/uptime").read_text().split()[0]))


def _in_ticks(seconds: float) -> int:
    return round(seconds * _TICKS_PER_S)


def _started(pid: int) -> int | None:
    """A process's start time in clock ticks since boot (proc(5)); None if it does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *rest = stat.rpartition(")")[2].split()
    return None if state == "Z" else int(rest[18])
