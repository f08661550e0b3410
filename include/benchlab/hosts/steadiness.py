"""Measures how steadily an otherwise idle machine computes.

A virtual machine may share its physical cores with others. What they take of a core's shared units
is not counted as steal, so `/proc` does not show it, but trials vary by as much. Interpreted code
suffers from it as servers do; a tight loop such as a hash, which uses one unit, hardly does.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

WINDOW_S = 0.5
WINDOWS = 10
# Time for all processes to start.
_START_S = 0.3
# All processes of a host share CLOCK_MONOTONIC, so they share the windows.
_COUNT = """
import sys, time
begin, window_s, windows = (float(word) for word in sys.argv[1:])
while time.monotonic() < begin:
    pass
for window in range(1, int(windows) + 1):
    count = 0
    while time.monotonic() < begin + window * window_s:
        total = 0
        for number in range(2000):
            total += number * number
        count += 1
    print(count)
"""


def variation() -> float:
    """The coefficient of variation of how much all cores together compute in half a second.

    Runs one computing process per core for 5 s: :data:`WINDOWS` windows of :data:`WINDOW_S`.

    Example:
        ``variation() > 0.03`` on a machine where no trial can be steady.
    """
    begin = time.monotonic() + _START_S
    arguments = [str(value) for value in (begin, WINDOW_S, WINDOWS)]
    running = [
        subprocess.Popen(
            [sys.executable, "-I", "-c", _COUNT, *arguments], stdout=subprocess.PIPE, text=True
        )
        for _ in os.sched_getaffinity(0)
    ]
    return of_counts([process.communicate()[0].split() for process in running])


def of_counts(by_core: list[list[str]]) -> float:
    """The coefficient of variation, from each core's counts by window."""
    together = [sum(map(int, window)) for window in zip(*by_core, strict=True)]
    return float(statistics.stdev(together)) / statistics.fmean(together)
