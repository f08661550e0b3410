"""Runs campaign after campaign in one process, and says what each of them leaves behind.

    python -m tools.soak [--local 50] [--fleets 200] [--to .benchlab/soak]

Local campaigns have real servers, fleets are simulated. After each, what is there is added to a
file in ``--to``; a later call goes on after the campaigns in it, in another process. At the end
processes, open files, sockets, threads, temporary files and locks must be as after the first
campaigns of each process, and memory at most 5 % more; 1 if something is not.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Literal

from benchlab import home as homes
from benchlab.campaign import overrides, report_types, stages
from benchlab.campaign.stages import CampaignRun
from benchlab.hosts.executor import TAG, tagged
from benchlab.hosts.lock import MachineLock
from benchlab.results.store import open_store
from tests.builders import plans
from tests.hosts.cloud import NOTHING, Cloud
from tests.hosts.simulated_fleet import World
from tests.machine import Machine, machine_in

# What is imported, cached or begun once is there after so many campaigns.
WARM = 10
MOST_MEMORY = 1.05
Kind = Literal["local", "fleets"]


@dataclass(frozen=True)
class Left:
    """What is there after a campaign.

    Attributes:
        process: that ran it; another one begins anew.
        processes: of the campaign, and children of the process.
        memory_kb: of the process.
        locks: that are held, of the machine or of a campaign.
    """

    campaign: int
    process: str
    seconds: float
    processes: int
    open_files: int
    sockets: int
    threads: int
    temporary_files: int
    locks: int
    memory_kb: int


ALIKE = ("processes", "open_files", "sockets", "threads", "temporary_files", "locks")


def look(campaign: int, begun: float, tags: Sequence[str], locks: int, process: str) -> Left:
    """What is there now."""
    gc.collect()
    links = [_link(path) for path in Path("/proc/self/fd").iterdir()]
    opened = [link for link in links if link is not None]
    children = Path("/proc/self/task").glob("*/children")
    status = Path("/proc/self/status").read_text()
    return Left(
        campaign=campaign,
        process=process,
        seconds=round(time.monotonic() - begun, 1),
        processes=sum(len([*tagged(tag)]) for tag in tags)
        + sum(len(path.read_text().split()) for path in children),
        open_files=len(opened),
        sockets=sum(link.startswith("socket:") for link in opened),
        threads=threading.active_count(),
        temporary_files=sum(1 for _ in Path(tempfile.gettempdir()).rglob("*")),
        locks=locks + Path("/proc/locks").read_text().count(f" {os.getpid()} "),
        memory_kb=int(status.partition("VmRSS:")[2].split()[0]),
    )


def _link(path: Path) -> str | None:
    """What a descriptor is; None for the one by which they are listed."""
    try:
        return str(path.readlink())
    except FileNotFoundError:
        return None


# ---------------------------------------------------------------- campaigns


@contextmanager
def local(folder: Path) -> Iterator[Callable[[int], tuple[Sequence[str], int]]]:
    """Runs the shortest campaigns of two MariaDB releases, each with the store opened for it."""
    with machine_in(folder, homes.find().servers) as machine:

        def run(number: int) -> tuple[Sequence[str], int]:
            name = f"soak-{number}"
            with open_store(machine.here) as store:
                report = report_types.load(report_types.find_report(machine.here, "sysbench_local"))
                asked = machine.settings()[1::2]
                spec = overrides.override(report, overrides.parse_assignments(asked))
                resolved = plans.to_run(machine.here, store, spec)
                work = CampaignRun.create(machine.here, store, resolved, name, "tools.soak")
                stages.run(work)
            return [f"{TAG}={name}"], _held(machine, name)

        yield run


def _held(machine: Machine, campaign: str) -> int:
    driver = MachineLock(machine.here.campaign(campaign) / "driver.lock").holder()
    return sum(holder is not None for holder in (machine.holder(), driver))


@contextmanager
def fleets(folder: Path) -> Iterator[Callable[[int], tuple[Sequence[str], int]]]:
    """Runs campaigns on simulated fleets, each of its stages as a process of its own would."""
    with Cloud(folder / "cloud") as cloud, World(folder / "world", cloud) as world:

        def run(number: int) -> tuple[Sequence[str], int]:
            campaign = world.campaign(f"soak-{number}")
            for _, stage in campaign.stages:
                campaign.do(stage)
            left = campaign.nothing_left()
            assert cloud.holdings() == NOTHING, cloud.holdings()
            world.forget()
            return [], len(left)

        yield run


KINDS = {"local": local, "fleets": fleets}


def soak(kind: Kind, number: int, record: Path) -> None:
    """Run campaigns until there are so many in the record."""
    done = len(rows_of(record))
    if done >= number:
        return
    if done:  # a line that was cut would begin the next one
        lines = record.read_text().splitlines(keepends=True)
        record.write_text("".join(lines[:done]))
    process = f"{time.time():.0f}-{os.getpid()}"
    with tempfile.TemporaryDirectory(prefix=f"soak-{kind}-") as made:
        before = tempfile.gettempdir()
        place = Path(made) / "tmp"
        place.mkdir()
        tempfile.tempdir = os.environ["TMPDIR"] = str(place)
        try:
            (work := Path(made) / "work").mkdir()
            with KINDS[kind](work) as run, record.open("a") as file:
                for campaign in range(done + 1, number + 1):
                    begun = time.monotonic()
                    tags, locks = run(campaign)
                    left = look(campaign, begun, tags, locks, process)
                    file.write(json.dumps(asdict(left)) + "\n")
                    file.flush()
                    print(f"{kind}: {told(left)}", flush=True)
        finally:
            tempfile.tempdir = os.environ["TMPDIR"] = before


def told(left: Left) -> str:
    """One line."""
    return ", ".join(
        f"{field.name} {getattr(left, field.name)}"
        for field in fields(left)
        if field.name != "process"
    )


def rows_of(record: Path) -> list[Left]:
    """What was written; a line that was cut is run again."""
    if not record.exists():
        return []
    lines = record.read_text().splitlines(keepends=True)
    return [Left(**json.loads(line)) for line in lines if line.endswith("\n")]


def faults(rows: Sequence[Left]) -> list[str]:
    """What is not as it was; empty also for processes with too few campaigns to say."""
    found = []
    for process, of in groupby(rows, lambda row: row.process):
        later = [*of][WARM:]
        if not later:
            continue
        first, last = later[:WARM], later[-WARM:]
        for name in ALIKE:
            before, after = (max(getattr(row, name) for row in some) for some in (first, last))
            if after > before:
                found.append(f"{process}: {name}: {before}, and {after} at the end")
        memory = [statistics.median(row.memory_kb for row in some) for some in (first, last)]
        if memory[1] > MOST_MEMORY * memory[0]:
            found.append(f"{process}: memory: {memory[0]:.0f} KB, and {memory[1]:.0f} at the end")
    return found


def main() -> int:
    """Run what is missing, and judge it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--local", type=int, default=50)
    parser.add_argument("--fleets", type=int, default=200)
    parser.add_argument("--to", type=Path, default=homes.find().root / "soak")
    asked = parser.parse_args()
    asked.to.mkdir(parents=True, exist_ok=True)
    wrong = []
    kinds: tuple[tuple[Kind, int], ...] = (("fleets", asked.fleets), ("local", asked.local))
    for kind, number in kinds:
        record = asked.to / f"{kind}.jsonl"
        soak(kind, number, record)
        rows = rows_of(record)
        wrong += [f"{kind}: {fault}" for fault in faults(rows)]
        print(f"{kind}: {len(rows)} campaigns, {record}")
    print("\n".join(wrong) or "nothing is left, as far as was looked")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
