"""Checks planned thread counts and printed latencies by Little's law.

For a client of N threads, each with one transaction at a time, N = X * W: X transactions per
second that take W seconds on average (J. D. C. Little, Operations Research 9, 1961). So a row
implies its mean latency without printing it. A p95 below that mean is implausible: fewer than 5 %
of the transactions would have to take all the remaining time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import exp, log

from benchlab.plan.document_tables import Metric
from benchlab.published import commands, recompute
from benchlab.published.audit.finding import Finding
from benchlab.published.model import (
    Printed,
    PublishedReport,
    Row,
    StatedSetting,
    Workload,
)
from benchlab.workloads.sysbench_names import SYSBENCH_SCRIPTS

_WHICH = "which of them was measured"


# "three tests with the `${THREAD}` value of `100`, `200`, and `400`", and its translation
_PLANNED = re.compile(
    r"(?:\$\{THREADS?\} (?:value of|(?:的)?值(?:分别)?[为取]|分别[为取]))"
    r"\s*(?P<list>\d[\d,]*(?:(?:, and |, | and |、|和| 和 )\d[\d,]*)+)"
)


def check(report: PublishedReport) -> Iterator[Finding]:
    """``thread_plan_mismatch``, ``implausible_latency``."""
    plans = list(planned(report.setting))
    for workload in report.workloads:
        by_default = not _changed_queries(report.setting, workload.name)
        yield from _plan(workload, plans, by_default=by_default)
        for row in workload.rows:
            yield from _latencies(row, workload, by_default=by_default)


def planned(setting: StatedSetting) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The line and the thread counts of each list in the plan.

    >>> list(planned(report.setting))  # doctest: +SKIP
    [(95, (100, 200, 400))]
    """
    for said in setting.said_in("plan"):
        for match in _PLANNED.finditer(said.text):
            yield said.line, tuple(map(int, re.findall(r"\d+", match["list"])))


def _plan(
    workload: Workload, plans: Sequence[tuple[int, tuple[int, ...]]], *, by_default: bool
) -> Iterator[Finding]:
    measured = tuple(row.threads for row in workload.rows)
    if not measured or not plans or any(set(counts) == set(measured) for _, counts in plans):
        return
    plan_line, wanted = plans[0]
    possible = {
        threads: _possible(workload, threads, by_default=by_default)
        for threads in (wanted, measured)
    }
    allowed = [_listed(threads) for threads, found in possible.items() if found]
    refused = [_listed(threads) for threads, found in possible.items() if found is False]
    line = min(row.line for row in workload.rows)
    yield Finding(
        "thread_plan_mismatch",
        f"line {plan_line}, plan; line {line}, table of {workload.heading}",
        plan_line,
        f"planned {_listed(wanted)}; in the table {_listed(measured)}",
        allowed[0] if allowed and refused else None,
        _law(allowed, refused),
    )


def _law(allowed: Sequence[str], refused: Sequence[str]) -> str:
    if not allowed and not refused:
        return f"without TPS and p95 Little's law cannot tell {_WHICH}"
    if not refused:
        return f"Little's law does not refuse {' or '.join(allowed)}: it cannot be told {_WHICH}"
    of_them = f"allows {allowed[0]} threads and refuses" if allowed else "refuses"
    why = "threads / TPS would be above the p95"
    rest = "" if allowed else f"; it cannot be told {_WHICH}"
    return f"Little's law {of_them} {' and '.join(refused)}: {why}{rest}"


def _possible(workload: Workload, threads: Sequence[int], *, by_default: bool) -> bool | None:
    """Whether the rows can have these thread counts, in ascending order; None: not known."""
    if len(threads) != len(workload.rows):
        return None
    rows = sorted(workload.rows, key=lambda row: row.threads)
    found = [
        allows(row, count, workload.name, by_default=by_default)
        for row, count in zip(rows, sorted(threads), strict=True)
    ]
    known = [possible for possible in found if possible is not None]
    return all(known) if known else None


def _latencies(row: Row, workload: Workload, *, by_default: bool) -> Iterator[Finding]:
    for version, side in row.sides.items():
        printed, most = side.get("p95_ms"), _most_p95(side)
        if printed is None or most is None:
            continue
        mean = least_mean(side, row.threads, workload.name, by_default=by_default)
        if printed.value <= 0:
            recomputed, why = None, "a latency is above zero"
        elif mean is not None and most < mean:
            recomputed = recompute.rounded_to(mean, printed.decimals + 1)
            why = "the p95 is below the mean that Little's law gives, threads / TPS, in ms"
        else:
            continue
        where = f"line {row.line}, {workload.heading}, {row.threads} threads, {version}"
        yield Finding("implausible_latency", where, row.line, printed.value, recomputed, why)


def _listed(threads: Sequence[int]) -> str:
    return ", ".join(str(count) for count in threads)


# ---------------------------------------------------------------- Little's law

_QUERIES = {
    "oltp_point_select": 1,
    "oltp_update_index": 1,
    "oltp_update_non_index": 1,
    "oltp_insert": 1,
    "oltp_delete": 1,
    "oltp_write_only": 6,
    "oltp_read_only": 16,
    "oltp_read_write": 20,
}
"""Queries in one transaction, by the defaults of sysbench's own scripts (oltp_common.lua)."""

_READS = ("point-selects", "range-selects", "simple-ranges", "sum-ranges", "order-ranges",
          "distinct-ranges")  # fmt: skip
_WRITES = ("index-updates", "non-index-updates", "delete-inserts")
_DECIDING: Mapping[str, tuple[str, ...]] = {
    "oltp_update_index": ("index-updates",),
    "oltp_update_non_index": ("non-index-updates",),
    "oltp_write_only": (*_WRITES, "skip-trx"),
    "oltp_read_only": (*_READS, "skip-trx"),
    "oltp_read_write": (*_READS, *_WRITES, "skip-trx"),
}
"""Options that change how many queries a transaction has; other scripts always have one."""

_HISTOGRAM = Decimal(repr(exp(log(1e8) / 1023 / 2)))
"""The factor by which a p95 of sysbench may be below the true one. It is the nearest of 1024 steps
from 0.001 to 100,000 ms, equal in logarithm (src/sb_histogram.c, src/sb_logger.c in 1.0, 1.1)."""


def least_mean(
    side: Mapping[Metric, Printed], threads: int, workload: str, *, by_default: bool = True
) -> Decimal | None:
    """The lowest mean latency in ms that printed throughput and threads allow.

    None if transactions per second are unknown: TPC-C prints only one kind of them, and how many
    queries a custom script's transactions have is not known.

    Args:
        by_default: a transaction has as many queries as in sysbench's own script; if not, queries
            per second cannot be converted.
    """
    if workload not in _QUERIES:
        return None
    printed, queries = side.get("tps"), 1
    if printed is None and by_default:
        printed, queries = side.get("qps"), _QUERIES[workload]
    if printed is None or printed.value <= 0:
        return None
    return Decimal(1000) * threads * queries / (printed.value + printed.rounding)


def allows(row: Row, threads: int, workload: str, *, by_default: bool = True) -> bool | None:
    """Whether the row's figures are possible with this many threads; None: not known."""
    known = [
        mean <= p95
        for side in row.sides.values()
        if (mean := least_mean(side, threads, workload, by_default=by_default)) is not None
        and (p95 := _most_p95(side)) is not None
    ]
    return all(known) if known else None


def _most_p95(side: Mapping[Metric, Printed]) -> Decimal | None:
    """The highest true p95 in ms that would be printed like this one."""
    printed = side.get("p95_ms")
    return None if printed is None else (printed.value + printed.rounding) * _HISTOGRAM


def _changed_queries(setting: StatedSetting, workload: str) -> bool:
    """Whether a command or an option file may change how many queries a transaction has.

    Commands that load do not count, nor do those that run another of sysbench's own scripts.
    """
    deciding = _DECIDING.get(workload, ())
    if not deciding:
        return False
    in_file = re.compile(rf"^\s*(?:{'|'.join(deciding)})\s*=", re.MULTILINE)
    lines = (commands.read(command) for command in setting.commands)
    return any(
        line.client == "sysbench"
        and line.measures
        and (line.script == workload or line.script not in SYSBENCH_SCRIPTS)
        and not line.options.keys().isdisjoint(deciding)
        for line in lines
    ) or any(in_file.search(block.text.replace("_", "-")) for block in setting.parameters)
