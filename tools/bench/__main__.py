"""Measures Benchlab's own speed: ``python -m tools.bench [--quick] [--strict] [MEASURE...]``.

Prints a table, and writes it with every single measurement to ``build/bench``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from benchlab import home as homes
from benchlab.errors import BenchlabError
from benchlab.home import Home
from tools.bench import (
    campaign,
    command_line,
    compare,
    counting,
    dag_file,
    fleet,
    parsing,
    restore,
    store,
)
from tools.bench.machine import alone
from tools.bench.row import Row, table

# In the order in which they run: what is quick comes first.
MEASURES = (
    *("command-line", "parsing", "compare", "dag-file", "restore"),
    *("fleet", "store", "counting", "campaign"),
)


def main() -> int:
    """Measure, print, write; 1 if something could not be measured or ``--strict`` wants more."""
    arguments = _arguments()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    home = homes.find()
    work = home.root / "bench"
    work.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    faults = []
    try:
        for name in [name for name in MEASURES if name in (arguments.measure or MEASURES)]:
            print(f"measuring: {name} ...", flush=True)
            try:
                rows += _measure(name, home, work, arguments.quick)
            except BenchlabError as error:
                faults.append(f"{name}: not measured: {error}")
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    folder = home.project / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    document = json.dumps(_document(rows, faults, arguments.quick), indent=2)
    (folder / "bench.json").write_text(f"{document}\n")
    (folder / "bench.txt").write_text(f"{table(rows)}\n")
    print(f"\n{table(rows)}\n\n{folder}")
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    missed = any(row.outcome in ("over", "under") for row in rows)
    return 1 if faults or (arguments.strict and missed) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "measure", nargs="*", metavar="MEASURE", help=f"only these: {', '.join(MEASURES)}"
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter trials, to try it")
    parser.add_argument("--strict", action="store_true", help="exit code 1 if a target is missed")
    arguments = parser.parse_args()
    if unknown := set(arguments.measure) - set(MEASURES):
        parser.error(f"no such measure: {', '.join(sorted(unknown))}; {', '.join(MEASURES)}")
    return arguments


def _measure(name: str, home: Home, work: Path, quick: bool) -> list[Row]:
    if name == "campaign":  # takes the machine itself, one after the other
        return campaign.measure(home, work, quick)
    measures: dict[str, Callable[[], list[Row]]] = {
        "command-line": lambda: command_line.measure(home),
        "parsing": lambda: parsing.measure(quick),
        "compare": lambda: compare.measure(home, work, quick),
        "dag-file": lambda: dag_file.measure(home, work, quick),
        "restore": lambda: restore.measure(work, quick),
        "fleet": lambda: fleet.measure(home, work, quick),
        "store": lambda: store.measure(home, work, quick),
        "counting": lambda: counting.measure(home, work, quick),
    }
    with alone(home):
        return measures[name]()


def _document(rows: list[Row], faults: list[str], quick: bool) -> dict[str, object]:
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "cpus": os.cpu_count(),
        "load": os.getloadavg(),
        "python": platform.python_version(),
        "rows": [row.to_json() for row in rows],
        "faults": faults,
    }


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
