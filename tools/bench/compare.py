"""`benchlab compare`: seconds and memory for one large campaign, and for a thousand in a file."""

from __future__ import annotations

import csv
import dataclasses
import math
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

from upath import UPath

from benchlab.home import Home
from benchlab.results.store import Store
from tests.builders import campaigns as testing
from tools.bench.row import Row

WORKLOADS = (
    *("oltp_point_select", "oltp_read_write", "oltp_update_index"),
    "oltp_update_non_index",
)
THREADS = (50, 100, 200, 300, 400, 500)
ROUNDS, INTERVALS, CAMPAIGNS = 6, 300, 1000
CAMPAIGN_TARGET_S, FILE_TARGET_S, TARGET_GB = 5.0, 60.0, 1.0


def measure(home: Home, work: Path, quick: bool) -> list[Row]:
    """One stored campaign of 288 trials with series, and a file with many campaigns."""
    directory = work / "compare"
    directory.mkdir(exist_ok=True)
    (directory / "results.db").unlink(missing_ok=True)
    _stored_campaign(home, directory)
    environment = {**os.environ, "BENCHLAB_HOME": str(directory)}
    size = len(WORKLOADS) * len(THREADS) * ROUNDS * 2
    rows = _timed(
        f"compare {size} trials, series of {INTERVALS}", ["c1"], environment, CAMPAIGN_TARGET_S
    )
    count = 50 if quick else CAMPAIGNS
    path = directory / "trials.csv"
    _file(path, count)
    return rows + _timed(
        f"compare --trials, {count:,} campaigns of {size} trials",
        ["--trials", str(path)],
        environment,
        FILE_TARGET_S,
    )


def _timed(
    name: str, arguments: list[str], environment: dict[str, str], target_s: float
) -> list[Row]:
    """A whole process, with its imports; the memory is the largest of this and earlier ones."""
    command = [sys.executable, "-m", "benchlab.cli.main", "compare", *arguments, "--json"]
    began = time.monotonic()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    seconds = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9
    return [
        Row(name, "seconds", seconds, "s", target_s, seconds={"compare": [seconds]}),
        Row(name, "memory at most", peak, "GB", TARGET_GB),
    ]


def _stored_campaign(home: Home, directory: Path) -> None:
    (directory / "objects").mkdir(exist_ok=True)
    made = testing.campaign(workloads=list(WORKLOADS), threads=list(THREADS), rounds=ROUNDS)
    series = "t,tps\n" + "".join(f"{t},{1000 + t % 7}\n" for t in range(1, INTERVALS + 1))
    dice = random.Random(1)
    objects = UPath(directory / "objects")
    with Store(f"sqlite:///{directory / 'results.db'}", objects) as store:
        store.add_campaign(made)
        for result in testing.results_of(
            made.plan, tps=lambda trial: trial.threads * math.exp(dice.gauss(5, 0.01))
        ):
            name = store.write_bytes(f"c1/{result.trial.id}-a1.csv", series.encode())
            store.add_trial("c1", dataclasses.replace(result, series=name))


def _file(path: Path, campaigns: int) -> None:
    dice = random.Random(1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["campaign", "workload", "threads", "round", "side", "tps", "p95_ms"])
        for number in range(campaigns):
            for workload in WORKLOADS:
                for turn in range(1, ROUNDS + 1):
                    for side in ("baseline", "candidate"):
                        for threads in THREADS:
                            rate = threads * math.exp(dice.gauss(5, 0.01))
                            figures = (f"{rate:.2f}", f"{1000 * threads / rate:.3f}")
                            writer.writerow([f"c{number}", workload, threads, turn, side, *figures])
