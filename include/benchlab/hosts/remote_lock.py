"""One campaign at a time on hosts that somebody owns: a lock file on their client host.

The counterpart of :class:`benchlab.hosts.lock.MachineLock` for a host that is reached through an
executor. The file has the same form and is written in the same way, so that on one path both
keep each other out. Times and the boot id are the host's own.
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict
from pathlib import Path

from benchlab.errors import LockHeldError
from benchlab.hosts.executor import Executor
from benchlab.hosts.lock import LEASE_S, Holder

# $1 path, $2 "read" or "swap", $3 what the file must hold now, $4 what it is to hold then. Prints
# the boot id, the time and the text found. `dd` opens without O_CREAT, for which the kernel
# refuses another user's file in a directory like /run/lock, and cuts nothing: a process that dies
# in between frees no held host.
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


class RemoteLock:
    """The lock of a host; safe to use from several machines at once.

    Args:
        executor: the host, usually the client host of the fleet.
        path: the lock file there. Its directory has to exist; the file is never removed.
    """

    def __init__(self, executor: Executor, path: Path) -> None:
        self._executor, self._path = executor, path

    def holder(self) -> Holder | None:
        """Who holds the host, be it at work or left behind.

        Raises:
            TargetError: the file is not a lock of Benchlab.
            CommandError: it cannot be opened.
        """
        return self._parse(self._read()[2])

    def check(self, campaign: str) -> Holder | None:
        """What :meth:`acquire` would say now; nothing is taken.

        Returns:
            A holder that was left behind and whose place would be taken. None otherwise.

        Raises:
            LockHeldError: another campaign is at work; names it.
        """
        boot, now, text = self._read()
        found = self._parse(text)
        if found is None or found.campaign == campaign:
            return None
        self._refuse_at_work(found, boot, now)
        return found

    def acquire(
        self, campaign: str, origin: str, lease_s: float = LEASE_S, *, home: str | None = None
    ) -> Holder | None:
        """Take the host, or let the lease of the same campaign end ``lease_s`` s from now.

        Args:
            campaign: its id.
            origin: how it was started, for people.
            lease_s: after so many seconds without another call it counts as left behind.
            home: where its state is, for people; this machine's name where it is not given.

        Returns:
            A holder that was left behind and whose place was taken: its processes may still
            run and have to be ended first. None otherwise.

        Raises:
            LockHeldError: another campaign is at work; names it.
        """
        while True:
            boot, now, text = self._read()
            found = self._parse(text)
            renewed = found is not None and found.campaign == campaign
            if found is not None and not renewed:
                self._refuse_at_work(found, boot, now)
            holder = Holder(
                campaign=campaign,
                origin=origin,
                home=home or socket.gethostname(),
                driver=None,
                driver_started=None,
                boot=boot,
                since=found.since if found and renewed else now,
                until=now + lease_s,
            )
            if self._swap(text, holder):
                return None if renewed else found

    def release(self, campaign: str) -> bool:
        """Give the host back; False where the campaign did not hold it."""
        while True:
            text = self._read()[2]
            found = self._parse(text)
            if found is None or found.campaign != campaign:
                return False
            if self._swap(text, None):
                return True

    def _read(self, *swap: str) -> tuple[str, float, str]:
        """The host's boot id, its time and the lock's text, before it was changed."""
        arguments = ["swap", *swap] if swap else ["read"]
        done = self._executor.run(["sh", "-c", _SCRIPT, "lock", str(self._path), *arguments])
        boot, now, text = done.stdout.split("\n", 2)
        return boot, float(now), text.rstrip("\n")

    def _swap(self, expected: str, holder: Holder | None) -> bool:
        """Write a holder if nobody has written since; False where somebody has."""
        text = json.dumps(asdict(holder)) if holder is not None else ""
        return self._read(expected, text)[2] == expected

    def _refuse_at_work(self, found: Holder, boot: str, now: float) -> None:
        if not _left_behind(found, boot, now):
            raise LockHeldError(
                f"{self._executor.host} is held by {found}. One campaign runs at a time, or "
                "both would measure each other. Wait for it, or end it where it runs: "
                f"`benchlab give-back {found.campaign}`"
            )

    def _parse(self, text: str) -> Holder | None:
        fault = f"on {self._executor.host}: {self._path} is not a lock"
        return Holder.parse(text, fault, "there")


def _left_behind(holder: Holder, boot: str, now: float) -> bool:
    """Whether a holder can no longer be at work: the host was started anew, or its lease is over.

    A process that drives a campaign on the host itself cannot be looked at from here; there the
    lease decides.
    """
    return holder.boot != boot or now > holder.until
