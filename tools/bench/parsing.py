"""Reading sysbench's output: megabytes per CPU second on one core."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from benchlab.workloads.sysbench_output import parse
from tools.bench.row import Row

EXAMPLE = Path(__file__).parents[2] / "tests" / "golden" / "sysbench" / "sysbench_read_write_t4.txt"
FIRST_INTERVAL = "[ 1s ]"
SUMMARY = "SQL statistics:"
OUTPUT_BYTES = 50_000_000
TARGET_MB_PER_S = 50.0
REPEATS = 5


def measure(quick: bool) -> list[Row]:
    """Parse the output of a very long run."""
    text = long_output(OUTPUT_BYTES)
    intervals = text.count("\n[ ")
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        output = parse(text)
        times.append(time.process_time() - began)
        assert output.status == "complete", output.reasons
        assert len(output.series) == intervals
    megabytes = len(text) / 1e6
    return [
        Row(
            name="parse sysbench output",
            compared=f"{megabytes:.0f} MB, {intervals:,} intervals, per CPU second",
            figure=megabytes / statistics.median(times),
            unit="MB/s",
            target=TARGET_MB_PER_S,
            bound="at least",
            seconds={"parse": times},
        )
    ]


def long_output(size: int) -> str:
    """A recorded output whose series goes on until it has ``size`` bytes or a little more."""
    text = EXAMPLE.read_text()
    head, summary = text[: text.index(FIRST_INTERVAL)], text[text.index(SUMMARY) :]
    parts, length = [head], len(head) + len(summary)
    for line in _intervals():
        if length >= size:
            break
        parts.append(line)
        length += len(line)
    return "".join([*parts, summary])


def _intervals() -> Iterator[str]:
    """Lines as sysbench prints them, one a second, no two alike."""
    rng = random.Random(1)
    second = 0
    while True:
        second += 1
        tps = rng.uniform(300, 3000)
        yield (
            f"[ {second}s ] thds: 4 tps: {tps:.2f} qps: {20 * tps:.2f} "
            f"(r/w/o: {14 * tps:.2f}/{4 * tps:.2f}/{2 * tps:.2f}) "
            f"lat (ms,95%): {rng.uniform(1, 100):.2f} err/s: 0.00 reconn/s: 0.00\n"
        )
