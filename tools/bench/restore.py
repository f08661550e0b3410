"""Laying a snapshot back: Benchlab's way against a bare rsync of the same directories."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from benchlab.hosts import snapshot
from benchlab.hosts.executor import LocalExecutor
from tools.bench.machine import NAME
from tools.bench.row import Row, ratio

TARGET = 1.2
REPEATS = 15
QUICK_REPEATS = 7

PAGE = 16 * 1024
MIB = 1024 * 1024
# A data directory as MariaDB's with four tables: sizes in MiB ...
FILES = {
    "ibdata1": 76,
    "ib_logfile0": 96,
    "undo001": 10,
    **{f"sbtest/sbtest{number}.ibd": 30 for number in range(1, 5)},
}
# ... and what it has of small files, of one page each.
SMALL_FILES = [f"mysql/table{number}.frm" for number in range(90)]
# What a trial writes to: pages here and there.
CHANGED = ("ibdata1", "ib_logfile0", "sbtest/sbtest1.ibd", "sbtest/sbtest2.ibd", "mysql/table0.frm")
CHANGED_PAGES = 200


def measure(work: Path, quick: bool) -> list[Row]:
    """Restore after the same change, the two ways in turns, in directories under ``work``."""
    directory = work / "restore"
    shutil.rmtree(directory, ignore_errors=True)
    saved, data = directory / "snapshot", directory / "data"
    executor = LocalExecutor(directory, NAME)
    try:
        _fill(saved)
        snapshot.copy(executor, saved, data)
        ways: dict[str, Callable[[], object]] = {
            "snapshot.copy": lambda: snapshot.copy(executor, saved, data),
            "rsync -a --delete": lambda: _rsync(saved, data),
        }
        times: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(QUICK_REPEATS if quick else REPEATS):
            # Each way comes first every other time, for the second finds warmer caches.
            for way in sorted(ways, reverse=bool(number % 2)):
                times[way].append(_time_restore(ways[way], data))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    ours, bare = ways
    return [ratio("restore a snapshot", (ours, times[ours]), (bare, times[bare]), TARGET)]


def _fill(directory: Path) -> None:
    """Write the data directory; its bytes do not compress."""
    for name, size in FILES.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for _ in range(size):
                file.write(os.urandom(MIB))
    for name in SMALL_FILES:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(PAGE))


def _time_restore(restore: Callable[[], object], data: Path) -> float:
    _change(data)
    os.sync()  # so that neither way pays for earlier writes
    began = time.monotonic()
    restore()
    return time.monotonic() - began


def _change(data: Path) -> None:
    """Write into some files and leave a new one, the same each time."""
    rng = random.Random(1)
    for name in CHANGED:
        path = data / name
        pages = path.stat().st_size // PAGE
        with path.open("r+b") as file:
            for page in rng.sample(range(pages), k=min(pages, CHANGED_PAGES)):
                file.seek(page * PAGE)
                file.write(bytes(PAGE))
    (data / "aria_log.00000001").write_bytes(bytes(PAGE))


def _rsync(source: Path, destination: Path) -> None:
    subprocess.run(["rsync", "-a", "--delete", f"{source}/", f"{destination}/"], check=True)
