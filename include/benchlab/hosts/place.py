"""Where the processes of a campaign run, if its directory is shared by several machines.

A process can be seen and ended only on its machine, and there only in its own container (PID
namespace). Workers of Airflow may share a campaign's directory and none of its processes; to them
its servers look as if they had ended. So each job keeps a kernel lock (flock) on a file of its
directory, which says where it runs: the lock is seen by all, also over NFS, and ends with the job.
"""

from __future__ import annotations

import fcntl
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from benchlab.errors import ElsewhereError

HELD = "held"
"""The file in a job's directory that all of the job's processes keep locked."""
MACHINE = "machine"
"""The file in a campaign's directory that says where it has taken the machine."""


@dataclass(frozen=True)
class Place:
    """A machine, or a container on it.

    Attributes:
        name: the machine's, or the container's, as it calls itself.
        processes: boot and PID namespace, outside of which its processes cannot be seen.
    """

    name: str
    processes: str

    def __str__(self) -> str:
        return f"{self.name}\n{self.processes}\n"


def here() -> Place:
    """Where this process runs: ``here().name`` is the name of the machine."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return Place(socket.gethostname(), f"{boot} {Path('/proc/self/ns/pid').readlink()}")


def lock(file: IO[str]) -> None:
    """Lock a new job's file for whoever inherits it, and write down where that is."""
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write(str(here()))
    file.flush()


def unseen(job: Path) -> Place | None:
    """Where a job runs whose processes cannot be seen from here; None if it has ended, or can be.

    Args:
        job: its directory.
    """
    found = _read(job / HELD)
    if found is None or found.processes == here().processes:
        return None
    try:
        with (job / HELD).open("r+") as file:  # NFS wants a file that can be written
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return found
    except FileNotFoundError:
        return None
    return None


def refuse_unseen(directory: Path, *jobs: str) -> None:
    """Refuse if one of a campaign's jobs runs where it cannot be seen.

    Args:
        directory: the campaign's.
        jobs: those that are meant; none for all.

    Raises:
        ElsewhereError: names the job and both machines.
    """
    folder = directory / "jobs"
    for job in [folder / name for name in jobs] or sorted(folder.glob("*")):
        if (at := unseen(job)) is not None:
            raise ElsewhereError(
                f"{job.name} of campaign {directory.name} runs on {at.name} and cannot be seen "
                f"from here, {_other(at)}: nothing was ended, and nothing started beside it. Let "
                f"{at.name} do it: see the queues of its worker, or run `benchlab give-back "
                f"{directory.name}` there"
            )


def refuse_other(directory: Path) -> None:
    """Refuse if a campaign has taken another machine.

    Raises:
        ElsewhereError: names both machines.
    """
    at = _read(directory / MACHINE)
    if at is not None and at.name != here().name and at.processes != here().processes:
        raise ElsewhereError(
            f"campaign {directory.name} has taken {at.name}, and this is {here().name}: its "
            f"servers, and the lock, are there. Let {at.name} do it: see the queues of its worker. "
            f"If {at.name} is gone for good, `benchlab give-back {directory.name}` gives back what "
            "is left"
        )


def take(directory: Path) -> None:
    """Write down that a campaign has taken this machine."""
    if _read(directory / MACHINE) != here():
        directory.mkdir(parents=True, exist_ok=True)
        part = directory / f"{MACHINE}.part"
        part.write_text(str(here()), encoding="utf-8")
        part.replace(directory / MACHINE)


def leave(directory: Path) -> None:
    """The opposite of :func:`take`."""
    (directory / MACHINE).unlink(missing_ok=True)


def _other(at: Place) -> str:
    name = here().name
    return name if name != at.name else f"another container of {name}"


def _read(path: Path) -> Place | None:
    try:
        name, processes = path.read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None  # a file that is being written, by a process of this machine
    return Place(name, processes)
