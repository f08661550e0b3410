"""Which counts are a property of the transaction and not of the load.

A count that the report decides on must be the same whatever the load. This tabulates every count of
campaigns that were measured with several thread counts, or on a slowed disk or link: its mean at
each thread count, by how much these differ, and by how much trials of one thread count do::

    benchlab run sysbench_local --campaign quick --set threads=[1,4,16] --set sides=same
    tc qdisc add dev lo root netem delay 1ms     # a slower link
    benchlab run sysbench_local --campaign slow --set threads=[1,4,16] --set sides=same
    tc qdisc del dev lo root
    python -m tools.study.counts_by_load quick slow
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from statistics import fmean, median, stdev
from typing import NamedTuple

from benchlab import home
from benchlab.report.model.counts import read
from benchlab.results.store import Store, open_store

# A decided count may differ by its threshold of 1 % between loads, or by its own noise.
SAME_PCT = 1.0


class Place(NamedTuple):
    """What trials share whose counts should be alike, but for the load."""

    workload: str
    side: str
    name: str


Loads = dict[tuple[str, int], list[float]]
"""What queries took, by campaign and thread count."""


def collect(store: Store, campaigns: Iterable[str]) -> dict[Place, Loads]:
    """Every count of the valid trials of some campaigns."""
    found: dict[Place, Loads] = {}
    for campaign in campaigns:
        for result in store.trials(campaign):
            if result.counts is None or not result.valid:
                continue
            for row in read(store.read_bytes(result.counts)):
                place = Place(result.trial.workload, result.trial.side, row.count)
                if row.per_query is not None:
                    loads = found.setdefault(place, {})
                    loads.setdefault((campaign, result.trial.threads), []).append(row.per_query)
    return found


def page(found: dict[Place, Loads]) -> str:
    """The table as Markdown: the sides together, counts of hardly any queries left out."""
    columns = sorted({load for loads in found.values() for load in loads})
    names = [f"{campaign}, {threads}" for campaign, threads in columns]
    head = ["workload", "side", "count", *names, "loads differ", "trials differ", "same"]
    lines = [head, ["---"] * len(head)]
    for place, loads in sorted(found.items()):
        means = [fmean(loads[load]) if load in loads else None for load in columns]
        known = [mean for mean in means if mean]
        if len(known) < len(columns):
            continue
        apart = 100 * (max(known) / min(known) - 1)
        noise = [100 * stdev(own) / fmean(own) for own in loads.values() if len(own) > 1]
        own = median(noise) if noise else 0.0
        same = "yes" if apart <= max(SAME_PCT, 3 * own) else "no"
        figures = [f"{mean:.4g}" for mean in known]
        lines.append([*place, *figures, f"{apart:.2f} %", f"{own:.2f} %", same])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(campaigns: Sequence[str]) -> int:
    """Print the table; returns the exit code."""
    if not campaigns:
        print("error: name campaigns that measured several thread counts", file=sys.stderr)
        return 2
    with open_store(home.find()) as store:
        print(page(collect(store, campaigns)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
