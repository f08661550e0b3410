"""Profiles of TiDB in which a function became dearer or was renamed, compared."""

from __future__ import annotations

from benchlab.analysis.cause.profiles import Compared, compare
from benchlab.results.pprof import Profile, SampleType

GO = "github.com/pingcap/tidb/pkg"
PLANNER = f"{GO}/planner.optimize"
TYPES = (SampleType("samples", "count"), SampleType("cpu", "nanoseconds"))


def profile(planner: int, *, moved: bool = False) -> Profile:
    """A profile of TiDB in which the planner was seen so often."""
    writes = f"{GO}/server.write2" if moved else f"{GO}/server.write"
    seen = {
        ("main.main", PLANNER): planner,
        ("main.main", f"{GO}/server.run", writes): 2000 + planner % 7,
        ("main.main", f"{GO}/executor.Next"): 5000 + planner % 11,
    }
    stacks = {stack: (count, count * 10_000_000) for stack, count in seen.items()}
    return Profile("tidb.pb.gz", TYPES, "cpu", stacks, 10_000_000, "nanoseconds")


def found(count: int = 4, candidate: int = 900, *, moved: bool = False) -> Compared:
    """So many profiles of each side, compared by microseconds of a query."""
    before = [profile(600 + 3 * n) for n in range(count)]
    after = [profile(candidate + 4 * n, moved=moved) for n in range(count)]
    costs = [500.0 + n for n in range(count)] + [
        500 * (candidate + 7000) / 7600 + n for n in range(count)
    ]
    return compare(before, after, per_transaction=costs, paired=True)
