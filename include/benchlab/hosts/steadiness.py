"""How steady this machine computes while it has nothing else to do.

A virtual machine shares cores with others. What they take of a core's shared units (its second
hyperthread, caches, its clock) is not counted as stolen time: nothing in `/proc` shows it, and
trials vary by as much.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

WINDOW_S = 0.5
WINDOWS = 10
# Large enough for hashlib to let other threads compute meanwhile.
BLOCK = bytes(1 << 16)


def variation(cores: int | None = None) -> float:
    """The coefficient of variation of how much all cores together compute in half a second.

    Takes :data:`WINDOWS` windows of :data:`WINDOW_S`, 5 s, in which it uses all of the cores.

    Args:
        cores: how many; None: as many as this process may use.

    Example:
        ``variation()`` is about 0.005 on a machine of one's own, and was 0.07 to 0.12 on a small
        virtual machine.
    """
    cores = cores or len(os.sched_getaffinity(0))
    begin = time.monotonic()
    with ThreadPoolExecutor(cores) as threads:
        by_core = [threads.submit(_blocks, begin) for _ in range(cores)]
    together = [sum(window) for window in zip(*(core.result() for core in by_core), strict=True)]
    return float(statistics.stdev(together)) / statistics.fmean(together)


def _blocks(begin: float) -> list[int]:
    """How many blocks one thread hashes in each window; all threads' windows are the same."""
    done = []
    for window in range(1, WINDOWS + 1):
        count = 0
        while time.monotonic() < begin + window * WINDOW_S:
            hashlib.sha256(BLOCK)
            count += 1
        done.append(count)
    return done
