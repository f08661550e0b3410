"""The numbers of a run of TPC-C, as types.

Rates are per second except tpmC and tpmTotal (per minute), latencies in milliseconds, durations in
seconds. What go-tpc never prints (threads, queries, reconnects, a percentile over all transactions)
is None in every output.

Figures are printed with one decimal: what is computed from them allows for half a unit of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

from benchlab.plan.dataset import Warehouses
from benchlab.workloads.output import Latency, Output, rounded

OPERATIONS = ("DELIVERY", "NEW_ORDER", "ORDER_STATUS", "PAYMENT", "STOCK_LEVEL")
# tpmC counts these.
HEADLINE = "NEW_ORDER"
# New orders among all transactions, as go-tpc's weights have it (TPC-C 5.11, clause 5.2.3, asks
# for no share of them, and for at least 43, 4, 4 and 4 % of the others).
HEADLINE_SHARE = 0.45
# The most new orders a minute and warehouse under TPC-C's waiting times, as go-tpc has it.
TPMC_PER_WAREHOUSE = 12.86

_HALF_A_UNIT = 0.05


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


@dataclass(frozen=True, kw_only=True)
class TpccOutput(Output):
    """One run.

    Numbers of the summary are set only if it is whole. Those of a run that failed are what
    go-tpc printed, not a measurement.

    go-tpc prints no times: an interval's ``t`` is the sum of the intervals' printed lengths, in
    seconds. An interval in which no transaction ended is not printed at all, and ``t`` is then too
    small.

    Attributes:
        tpmc: new orders per minute; ``tpm_total`` transactions of all five kinds.
        efficiency_pct: of tpmC, against 12.86 for each warehouse that the run was given.
        cancelled: transactions that the end of the run cut off; they are not in ``errors``.
        error_numbers: how often each of the server's error numbers was printed.
        operations: the summary's lines, by operation.
    """

    SERIES: ClassVar = ("t", "tpmc", "tps", "errors_per_s")

    tpmc: float | None = None
    tpm_total: float | None = None
    efficiency_pct: float | None = None
    cancelled: int = 0
    error_numbers: Mapping[str, int] = field(default_factory=dict)
    operations: Mapping[str, Operation] = field(default_factory=dict)

    def samples(self) -> dict[str, float | None]:
        """See :meth:`Output.samples`."""
        new_order = self.operations.get(HEADLINE)
        return {
            "tpmc": self.tpmc,
            "tpm_total": self.tpm_total,
            "efficiency_pct": self.efficiency_pct,
            "tps": rounded(self.tps),
            "avg_ms": rounded(self.latency_ms.avg),
            "max_ms": self.latency_ms.max,
            "duration_s": self.duration_s,
            "errors": self.errors,
            **{
                f"new_order_{name}": getattr(new_order, name, None)
                for name in ("p50_ms", "p90_ms", "p95_ms", "p99_ms")
            },
        }

    def unexpected_errors(self, expected: Sequence[int]) -> float | None:
        """See :meth:`Output.unexpected_errors`; None without a summary.

        go-tpc survives all or none. A transaction that fails quickly leaves time for others.
        """
        if self.errors is None:
            return None
        listed = {str(number) for number in expected}
        return float(sum(n for number, n in self.error_numbers.items() if number not in listed))

    def columns(self, threads: int, dataset: object) -> dict[str, float | None]:
        """What gates look at; None where the summary is not whole.

        Returns:
            ``rate_error``: how far rate times duration is from the count, beyond rounding, as a
            fraction of it; the operation that is furthest. ``latency_disorder``: how many
            orderings of latencies that must hold do not. ``tpcc_efficiency_error``: percentage
            points by which the printed efficiency is off, beyond rounding.
            ``tpcc_mix_deviation``: see :meth:`_mix_deviation`.
        """
        found = list(self.operations.values())
        return {
            "rate_error": max(map(_rate_error, found), default=None),
            "latency_disorder": float(sum(map(_disorder, found))) if found else None,
            "tpcc_efficiency_error": self._efficiency_error(dataset),
            "tpcc_mix_deviation": self._mix_deviation(threads),
        }

    def _efficiency_error(self, dataset: object) -> float | None:
        if self.tpmc is None or self.efficiency_pct is None or not isinstance(dataset, Warehouses):
            return None
        pct_per_tpmc = 100 / (TPMC_PER_WAREHOUSE * dataset.warehouses)
        apart = abs(self.efficiency_pct - self.tpmc * pct_per_tpmc)
        return max(apart - _HALF_A_UNIT * (1 + pct_per_tpmc), 0.0)

    def _mix_deviation(self, threads: int) -> float | None:
        """How many standard deviations the number of New Orders is from its share.

        Each transaction is drawn for itself by its weight, so that n of N are New Orders with a
        standard deviation of sqrt(N p (1 - p)). Failed ones were drawn as well. The last one
        of each thread is not: the end of the run cuts off long ones rather than short ones, and
        a client need not count it. So up to a transaction a thread is let off.
        """
        drawn = {name: values.count for name, values in self.operations.items()}
        total = sum(drawn.values())
        if not total:
            return None
        new_orders = drawn.get(HEADLINE, 0) + drawn.get(f"{HEADLINE}_ERR", 0)
        apart = max(abs(new_orders - HEADLINE_SHARE * total) - threads, 0.0)
        return apart / math.sqrt(total * HEADLINE_SHARE * (1 - HEADLINE_SHARE))

    def summary_json(self) -> dict[str, Any]:
        """See :meth:`Output.summary_json`."""
        return {
            "tpmc": self.tpmc,
            "tpm_total": self.tpm_total,
            "efficiency_pct": self.efficiency_pct,
            "duration_s": self.duration_s,
            "transactions": {name: self._operation_json(name) for name in OPERATIONS},
        }

    def _operation_json(self, name: str) -> dict[str, float | None]:
        done, failed = self.operations.get(name), self.operations.get(f"{name}_ERR")
        # A whole summary without a line of errors says that there was none.
        errors = failed.count if failed else 0 if self.operations else None
        percentiles = ("p50_ms", "p90_ms", "p95_ms", "p99_ms", "p999_ms")
        return {
            "count": done.count if done else None,
            "errors": errors,
            **{
                figure: getattr(done, figure, None)
                for figure in ("tpm", "avg_ms", *percentiles, "max_ms")
            },
        }


def latency_of(operations: Mapping[str, Operation]) -> Latency:
    """Of all kinds together, as far as it follows from the kinds: a percentile does not."""
    done = [values for name, values in operations.items() if not name.endswith("_ERR")]
    count = sum(values.count for values in done)
    if not count:
        return Latency()
    return Latency(
        avg=math.fsum(values.sum_ms for values in done) / count,
        max=max(values.max_ms for values in done),
        sum=math.fsum(values.sum_ms for values in operations.values()),
    )


def _rate_error(operation: Operation) -> float:
    """How far rate times duration is from the count at best, as a fraction of the count."""
    least, most = (
        (operation.tpm + half) * (operation.seconds + half) / 60
        for half in (-_HALF_A_UNIT, _HALF_A_UNIT)
    )
    return max(least - operation.count, operation.count - most, 0.0) / max(operation.count, 1)


def _disorder(operation: Operation) -> int:
    """Orderings that do not hold: percentiles rise up to the maximum, and none is above it.

    Buckets of a histogram may put a percentile a little above an exact maximum: 2 % are let off.
    """
    rising = [
        *(operation.p50_ms, operation.p90_ms, operation.p95_ms, operation.p99_ms),
        *(operation.p999_ms, operation.max_ms),
    ]
    pairs = [*pairwise(rising), (operation.avg_ms, operation.max_ms)]
    return sum(lower > higher * 1.02 + 2 * _HALF_A_UNIT for lower, higher in pairs)
