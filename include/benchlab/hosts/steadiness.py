"""How steady this machine computes while it has nothing else to do.

A virtual machine may share its cores with others. What these take of a core's shared units is not
counted as stolen time, so `/proc` does not show it, and trials vary by as much. Interpreted code
meets it as servers do; a tight loop such as a hash, which keeps to one unit, hardly does.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

WINDOW_S = 0.5
WINDOWS = 10
# Until all processes have started.
_START_S = 0.3
# CLOCK_MONOTONIC is the same for all processes of a host, so their windows are.
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

    Takes :data:`WINDOWS` windows of :data:`WINDOW_S`, 5 s; a process for each core computes.

    Example:
        ``variation() > 0.03`` on a machine on which no trial can be steady.
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
    """The same from what each core counted, window by window."""
    together = [sum(map(int, window)) for window in zip(*by_core, strict=True)]
    return float(statistics.stdev(together)) / statistics.fmean(together)
