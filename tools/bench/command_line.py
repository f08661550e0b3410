"""The command line's start: CPU seconds of whole processes, with all that they import."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from pathlib import Path

from benchlab.errors import BenchlabError
from benchlab.home import Home
from tools.bench.row import Row

REPEATS = 5
MAIN = ("-m", "benchlab.cli.main")


def measure(home: Home) -> list[Row]:
    """Each start some times over; the first, which also compiles what it imports, is left out."""
    report = home.configs / "reports" / "sysbench_local.yaml"
    starts: dict[str, tuple[float, tuple[str | Path, ...]]] = {
        "import benchlab": (0.05, ("-c", "import benchlab")),
        "benchlab --help": (0.5, (*MAIN, "--help")),
        "benchlab validate": (0.7, (*MAIN, "validate", report)),
    }
    interpreter = _seconds(("-c", "pass"))
    rows = []
    for name, (target, command) in starts.items():
        seconds = _seconds(command)
        if name == "import benchlab":  # beside the interpreter, which it is part of
            seconds = [whole - statistics.median(interpreter) for whole in seconds]
        rows.append(
            Row(
                name,
                "CPU seconds",
                statistics.median(seconds),
                "s",
                target,
                seconds={name: seconds},
            )
        )
    return rows


def _seconds(command: tuple[str | Path, ...]) -> list[float]:
    """The CPU seconds of a Python process, several times.

    Raises:
        BenchlabError: it failed; quotes what it complained of.
    """
    found = []
    for _ in range(1 + REPEATS):
        before = _children()
        done = subprocess.run(
            [sys.executable, *command], check=False, capture_output=True, text=True
        )
        if done.returncode:
            raise BenchlabError(f"{command}: exit code {done.returncode}:\n{done.stderr[-2000:]}")
        found.append(_children() - before)
    return found[1:]


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
