"""Checks planned thread counts and printed latencies, by Little's law if TPS are printed.

For a client of N threads, each with one transaction at a time, N = X * W: X transactions per
second that take W seconds on average (J. D. C. Little, Operations Research 9, 1961). So threads and
TPS imply the mean latency. A p95 below that mean is implausible: the slowest 5 % of the
transactions would have to take all the remaining time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import exp, log

from benchlab.plan.fields.published import Metric
from benchlab.published import recompute
from benchlab.published.audit.discrepancy import Discrepancy
from benchlab.published.model import Printed, PublishedReport, Row, Workload

_HISTOGRAM = Decimal(repr(exp(log(1e8) / 1023 / 2)))
"""The factor by which sysbench's p95 may be below the true one. sysbench prints the nearest of 1024
steps from 0.001 to 100,000 ms, equally spaced in logarithm (src/sb_histogram.c, src/sb_logger.c in
1.0, 1.1)."""


def check(report: PublishedReport) -> Iterator[Discrepancy]:
    """Find ``thread_plan_mismatch`` and ``implausible_latency``."""
    for workload in report.workloads:
        yield from _plan(workload, report.procedure.threads)
        for row in workload.rows:
            yield from _latencies(row, workload)


def _plan(
    workload: Workload, plans: Sequence[tuple[int, tuple[int, ...]]]
) -> Iterator[Discrepancy]:
    measured = sorted(row.threads for row in workload.rows)
    if not measured or not plans or any(sorted(counts) == measured for _, counts in plans):
        return
    line, planned = plans[0]
    first = min(row.line for row in workload.rows)
    in_plan, in_table = (", ".join(map(str, counts)) for counts in (planned, measured))
    is_refused = _is_refused(workload, sorted(planned))
    law = f"Little's law refuses {in_plan}: threads / TPS would be above the p95"
    yield Discrepancy(
        "thread_plan_mismatch",
        f"line {line}, plan; line {first}, table of {workload.heading}",
        line,
        f"planned {in_plan}; in the table {in_table}",
        in_table if is_refused else None,
        law if is_refused else "Little's law cannot tell which of them was measured",
        workload.name,
    )


def _is_refused(workload: Workload, planned: Sequence[int]) -> bool:
    """Whether the rows cannot have been measured with the planned threads, in ascending order."""
    rows = sorted(workload.rows, key=lambda row: row.threads)
    return len(planned) == len(rows) and any(
        most_p95 < mean_ms(side, threads)
        for row, threads in zip(rows, planned, strict=True)
        for side in row.sides.values()
        if (most_p95 := _most_p95(side)) is not None
    )


def _latencies(row: Row, workload: Workload) -> Iterator[Discrepancy]:
    for version, side in row.sides.items():
        printed, most = side.get("p95_ms"), _most_p95(side)
        if printed is None or most is None:
            continue
        mean = mean_ms(side, row.threads)
        if most < mean:
            yield Discrepancy(
                "implausible_latency",
                f"line {row.line}, {workload.heading}, {row.threads} threads, {version}",
                row.line,
                printed.value,
                recompute.rounded_to(mean, printed.decimals + 1),
                "the p95 is below the mean that Little's law gives, threads / TPS, in ms",
                workload.name,
            )


def mean_ms(side: Mapping[Metric, Printed], threads: int) -> Decimal:
    """The lowest mean latency in ms that printed TPS and threads allow; 0 if no TPS are printed.

    >>> mean_ms({"tps": Printed("1000")}, 100).quantize(Decimal("0.1"))
    Decimal('100.0')
    """
    tps = side.get("tps")
    return (
        Decimal(1000) * threads / (tps.value + tps.rounding) if tps and tps.value > 0 else Decimal()
    )


def _most_p95(side: Mapping[Metric, Printed]) -> Decimal | None:
    """The highest true p95 in ms that would be printed as this one."""
    printed = side.get("p95_ms")
    return None if printed is None else (printed.value + printed.rounding) * _HISTOGRAM
