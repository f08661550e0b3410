"""What Little's law says of the latencies of a published table.

A client of N threads, each with one transaction at a time, keeps N = X * W: X transactions a second
of W seconds in the mean (J. D. C. Little, Operations Research 9, 1961). So a row tells its mean
latency without printing it. A p95 below that mean is implausible: fewer than 5 % of the
transactions would have to take all the rest of the time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from math import exp, log

from benchlab.published.plan import command_line
from benchlab.published.plan.client_options import SYSBENCH_SCRIPTS
from benchlab.published.plan.command_line import NOT_MEASURED, CommandLine
from benchlab.published.reading.model import Metric, Printed, Row, StatedSetting

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
"""Options that change how many queries a transaction has; the other scripts have always one."""

HISTOGRAM = Decimal(repr(exp(log(1e8) / 1023 / 2)))
"""By how much a p95 of sysbench may be below the true one: it is the nearest of 1024 steps from
0.001 to 100,000 ms, equal in logarithm (src/sb_histogram.c, src/sb_logger.c of 1.0 and 1.1)."""

_MILLISECONDS = Decimal(1000)


def least_mean(
    side: Mapping[Metric, Printed], threads: int, workload: str, *, by_default: bool = True
) -> Decimal | None:
    """The lowest mean latency in ms that printed throughput and threads allow.

    None where transactions a second are not known: TPC-C prints those of one kind only, and the
    queries of a script of one's own are not known.

    Args:
        by_default: a transaction has the queries of :data:`QUERIES`
            (:func:`changed_queries`); else its throughput in queries says nothing.
    """
    if workload not in QUERIES:
        return None
    printed, queries = side.get("tps"), 1
    if printed is None and by_default:
        printed, queries = side.get("qps"), QUERIES[workload]
    if printed is None or printed.value <= 0:
        return None
    return _MILLISECONDS * threads * queries / (printed.value + printed.rounding)


def changed_queries(setting: StatedSetting, workload: str) -> bool:
    """Whether a command or a file of options may change how many queries a transaction has."""
    deciding = _DECIDING.get(workload, ())
    in_file = re.compile(rf"^\s*(?:{'|'.join(deciding)})\s*=", re.MULTILINE)
    return bool(deciding) and (
        any(
            line.client == "sysbench"
            and _may_run(line, workload)
            and not line.options.keys().isdisjoint(deciding)
            for command in setting.commands
            if (line := command_line.read(command))
        )
        or any(in_file.search(block.text.replace("_", "-")) for block in setting.parameters)
    )


def _may_run(line: CommandLine, workload: str) -> bool:
    """Not one that loads, nor one of another of sysbench's own scripts."""
    return line.action not in NOT_MEASURED and (
        line.script == workload or line.script not in SYSBENCH_SCRIPTS
    )


def most_p95(side: Mapping[Metric, Printed]) -> Decimal | None:
    """The highest p95 in ms that is printed like this one."""
    printed = side.get("p95_ms")
    return None if printed is None else (printed.value + printed.rounding) * HISTOGRAM


def allows(row: Row, threads: int, workload: str, *, by_default: bool = True) -> bool | None:
    """Whether the row's figures can be those of so many threads; None: it cannot be told."""
    known = [
        (mean, p95)
        for side in row.sides.values()
        if (mean := least_mean(side, threads, workload, by_default=by_default)) is not None
        and (p95 := most_p95(side)) is not None
    ]
    return all(mean <= p95 for mean, p95 in known) if known else None
