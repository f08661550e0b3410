"""What Little's law says of the latencies of a published table.

A client of N threads, each with one transaction at a time, keeps N = X * W: X transactions a second
of W seconds in the mean (J. D. C. Little, Operations Research 9, 1961). So a row tells its mean
latency without printing it. A p95 below that mean is implausible: fewer than 5 % of the
transactions would have to take all the rest of the time.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import exp, log

from benchlab.published.model import Metric, Printed, Row

QUERIES = {
    "oltp_point_select": 1,
    "oltp_update_index": 1,
    "oltp_update_non_index": 1,
    "oltp_insert": 1,
    "oltp_delete": 1,
    "oltp_write_only": 6,
    "oltp_read_only": 16,
    "oltp_read_write": 20,
}
"""Queries of one transaction, by the defaults of sysbench's own scripts (oltp_common.lua)."""

HISTOGRAM = Decimal(repr(exp(log(1e8) / 1023 / 2)))
"""By how much a p95 of sysbench may be below the true one: it is the nearest of 1024 steps from
0.001 to 100,000 ms, equal in logarithm (src/sb_histogram.c, src/sb_logger.c of 1.0 and 1.1)."""

_MILLISECONDS = Decimal(1000)


def least_mean(side: Mapping[Metric, Printed], threads: int, workload: str) -> Decimal | None:
    """The lowest mean latency in ms that printed throughput and threads allow.

    None where transactions a second are not known: TPC-C prints those of one kind only, and the
    queries of a script of one's own are not known.
    """
    if workload not in QUERIES:
        return None
    printed, queries = side.get("tps"), 1
    if printed is None:
        printed, queries = side.get("qps"), QUERIES[workload]
    if printed is None or printed.value <= 0:
        return None
    return _MILLISECONDS * threads * queries / (printed.value + printed.rounding)


def most_p95(side: Mapping[Metric, Printed]) -> Decimal | None:
    """The highest p95 in ms that is printed like this one."""
    printed = side.get("p95_ms")
    return None if printed is None else (printed.value + printed.rounding) * HISTOGRAM


def allows(row: Row, threads: int, workload: str) -> bool | None:
    """Whether the row's figures can be those of so many threads; None: it cannot be told."""
    known = [
        (mean, p95)
        for side in row.sides.values()
        if (mean := least_mean(side, threads, workload)) is not None
        and (p95 := most_p95(side)) is not None
    ]
    return all(mean <= p95 for mean, p95 in known) if known else None
