"""Snapshots: a copy of a stopped server's data directory, and its way back.

Where the file system shares blocks between copies (XFS, Btrfs) the copy is a reflink and takes
no time. Elsewhere rsync copies what differs, which after a trial is little. Never hard links:
servers write in place and would change the snapshot with the data.
"""

from __future__ import annotations

from pathlib import Path

from benchlab.hosts.executor import Executor

COPY_LIMIT_S = 3600.0


def supports_reflink(executor: Executor, directory: Path) -> bool:
    """Whether files under ``directory`` can share blocks."""
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
        # Without a window rsync takes two files of one size and one second for equal.
        exact = "--modify-window=-1"
        command = ["rsync", "-a", "--delete", exact, f"{source}/", f"{destination}/"]
    executor.run(command, timeout_s=COPY_LIMIT_S)
