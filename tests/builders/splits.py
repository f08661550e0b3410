"""Trials whose servers' CPU is known: what a query takes of them, and how busy they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from benchlab.analysis.cause.split import QUERIES
from benchlab.engines.counts import Row, to_csv
from benchlab.errors import StoreError
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.results.records import TrialResult
from tests.builders import campaigns

CLUSTER = {
    "tidb_cpu": 400.0,
    "tidb_gc_cpu": 40.0,
    "tikv_cpu": 340.0,
    "pd_cpu": 4.0,
    "tikv_cpu_grpc": 120.0,
    "tikv_cpu_sched": 80.0,
    "tikv_cpu_raftstore": 60.0,
}
"""What a query takes of a cluster's servers, in microseconds of CPU."""
BUSY = 6.0
"""How many CPUs are busy at four threads."""
CPU = Mapping[str, float | None]


def busy_with(
    plan: Plan, cpu: Callable[[PlannedTrial], CPU], busy: Callable[[PlannedTrial], float]
) -> tuple[list[TrialResult], dict[str, bytes]]:
    """Results whose throughput follows from CPU, and their counts as they are kept.

    Args:
        cpu: by count, what a query takes of it; None: its servers lack it.
        busy: CPUs.
    """
    results, kept = [], {}
    for trial in plan.trials:
        of_query = cpu(trial)
        wholes = [of_query.get(name) for name in ("tidb_cpu", "tikv_cpu", "pd_cpu", "server_cpu")]
        per_s = 1e6 * busy(trial) / sum(filter(None, wholes))
        rows = [Row(QUERIES, "tidb", "1", 1.0, per_s, None)]
        rows += [
            Row(name, name.partition("_")[0], "us", value, None, None)
            for name, value in of_query.items()
        ]
        name = f"c1/{trial.id}-a1.counts.csv"
        kept[name] = to_csv(rows).encode()
        result = campaigns.trial_result(trial, tps=per_s)
        results.append(dataclasses.replace(result, counts=name))
    return results, kept


def without(results: Sequence[TrialResult], ids: Sequence[str]) -> list[TrialResult]:
    """The same results, without the counts of some trials."""
    return [
        dataclasses.replace(one, counts=None if one.trial.id in ids else one.counts)
        for one in results
    ]


def reading(kept: Mapping[str, bytes]) -> Callable[[str], bytes]:
    """Reads kept objects; one that is not there is lost."""

    def read(name: str) -> bytes:
        if name not in kept:
            raise StoreError(f"{name}: it is gone")
        return kept[name]

    return read


def noise(trial: PlannedTrial, size: float = 0.002) -> float:
    """A factor that scatters over the rounds alike on both sides, but not in the same rounds."""
    return 1 + size * ((trial.round + (trial.side == "candidate")) % 3 - 1)
