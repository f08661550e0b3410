"""Snapshots: copies of a stopped server's data directory, which can be restored.

Where the file system can share blocks between files (XFS, Btrfs), the copy is a reflink and takes
no time. Elsewhere rsync copies what differs, which is little after a trial. Hard links would not
do: servers write in place, which would change the snapshot with the data.

Example:
    ``copy(executor, data, snapshot)`` backs up, ``copy(executor, snapshot, data)`` restores.
"""

from __future__ import annotations

from pathlib import Path

from benchlab.hosts.executor import Executor

COPY_LIMIT_S = 3600.0


def supports_reflink(executor: Executor, directory: Path) -> bool:
    """Whether files in ``directory`` can share blocks; tries it with a small file."""
    probe = directory / ".reflink-probe"
    executor.put(probe, "x")
    copied = executor.run(["cp", "--reflink=always", str(probe), f"{probe}.copy"], check=False)
    executor.run(["rm", "-f", str(probe), f"{probe}.copy"])
    return copied.exit_code == 0


def copy(executor: Executor, source: Path, destination: Path) -> None:
    """Make ``destination`` equal to ``source``, deleting what only the destination has.

    Raises:
        CommandError: the copy failed, for instance for lack of space.
    """
    if supports_reflink(executor, source.parent):
        executor.run(["rm", "-rf", str(destination)], timeout_s=COPY_LIMIT_S)
        command = ["cp", "-a", "--reflink=always", str(source), str(destination)]
    else:
        # Else rsync would consider files equal that have one size and were written in one second.
        exact = "--modify-window=-1"
        command = ["rsync", "-a", "--delete", exact, f"{source}/", f"{destination}/"]
    executor.run(command, timeout_s=COPY_LIMIT_S)
