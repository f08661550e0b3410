"""The numbers of a run of TPC-C, as types.

Rates are per second except tpmC and tpmTotal (per minute), latencies in milliseconds, durations in
seconds; absent values are None. What go-tpc never prints (threads, queries, reconnects, a
percentile over all transactions) is None in every output.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchlab.workloads.client import Latency, Status

OPERATIONS = ("DELIVERY", "NEW_ORDER", "ORDER_STATUS", "PAYMENT", "STOCK_LEVEL")
# tpmC counts these.
HEADLINE = "NEW_ORDER"


@dataclass(frozen=True, slots=True)
class Operation:
    """One of the five transactions, or its failures (``_ERR``), over a whole run.

    Percentiles and the maximum come from a histogram of one significant figure, which ends at
    16 s: they are coarse. ``seconds`` are counted from the first time such a transaction ended.
    """

    seconds: float
    count: int
    tpm: float
    sum_ms: float
    avg_ms: float
    p50_ms: float
    p90_ms: float
    p95_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True)
class Interval:
    """What was printed at once during the run: rates over the interval that ended at ``t``.

    go-tpc prints no times: ``t`` is the sum of the intervals' printed lengths, in seconds. An
    interval in which no transaction ended is not printed at all, and ``t`` is then too small.
    """

    t: float
    tps: float
    errors_per_s: float
    tpmc: float | None
    threads: int | None = None
    qps: float | None = None
    p95_ms: float | None = None
    reconnects_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class TpccOutput:
    """One run. ``reasons`` are sentences for an operator, none if the run is complete.

    Numbers of the summary are set only if it is whole. Those of a run that failed are what
    go-tpc printed, not a measurement.

    Attributes:
        tpmc: new orders per minute; ``tpm_total`` transactions of all five kinds.
        efficiency_pct: of tpmC, against 12.86 for each warehouse that the run was told of.
        latency_ms: of a transaction of any kind; ``sum`` with those that failed.
        transactions: that ended without an error.
        errors: transactions that failed; those that the end of the run cut off are in
            ``cancelled``.
        error_numbers: how often each of the server's error numbers was printed.
        operations: the summary's lines, by operation.
    """

    status: Status
    reasons: tuple[str, ...]
    duration_s: float | None
    tpmc: float | None
    tpm_total: float | None
    efficiency_pct: float | None
    latency_ms: Latency
    transactions: int | None
    errors: int | None
    cancelled: int
    error_numbers: Mapping[str, int]
    operations: Mapping[str, Operation]
    series: tuple[Interval, ...]
    threads: int | None = None
    qps: float | None = None
    reconnects: int | None = None

    @property
    def tps(self) -> float | None:
        """Transactions of all kinds per second."""
        return None if self.tpm_total is None else self.tpm_total / 60

    def to_json(self) -> dict[str, Any]:
        """The object that ``benchlab parse tpcc --json`` prints; absent values are None."""
        return {
            "status": self.status,
            "reasons": list(self.reasons),
            "threads": self.threads,
            "duration_s": self.duration_s,
            "tps": _rounded(self.tps),
            "qps": self.qps,
            "latency_ms": {key: _rounded(v) for key, v in asdict(self.latency_ms).items()},
            "errors": self.errors,
            "reconnects": self.reconnects,
            "tpmc": self.tpmc,
            "tpm_total": self.tpm_total,
            "efficiency_pct": self.efficiency_pct,
            "transactions": self.transactions,
            "cancelled": self.cancelled,
            "error_numbers": dict(self.error_numbers),
            "operations": {name: asdict(values) for name, values in self.operations.items()},
            "series": [
                {
                    "t": i.t,
                    "tps": _rounded(i.tps),
                    "qps": i.qps,
                    "p95_ms": i.p95_ms,
                    "errors_per_s": _rounded(i.errors_per_s),
                    "reconnects_per_s": i.reconnects_per_s,
                    "tpmc": i.tpmc,
                }
                for i in self.series
            ],
        }


def latency_of(operations: Mapping[str, Operation]) -> Latency:
    """Of all kinds together, as far as it follows from each: a percentile does not."""
    done = [values for name, values in operations.items() if not name.endswith("_ERR")]
    count = sum(values.count for values in done)
    if not count:
        return Latency()
    return Latency(
        avg=math.fsum(values.sum_ms for values in done) / count,
        max=max(values.max_ms for values in done),
        sum=math.fsum(values.sum_ms for values in operations.values()),
    )


def _rounded(value: float | None) -> float | None:
    """To the digits that carry something: these were computed from one decimal."""
    return None if value is None else round(value, 3)
