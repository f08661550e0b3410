"""The numbers of a sysbench run, as types.

Rates are per second, latencies in milliseconds, durations in seconds; absent values are None.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, overload

from benchlab.workloads.client import Latency, Status


@dataclass(frozen=True, slots=True)
class Interval:
    """One line of the series: rates over the interval that ended ``t`` seconds into the run."""

    t: float
    threads: int
    tps: float
    qps: float
    p95_ms: float | None
    errors_per_s: float
    reconnects_per_s: float


class Series(Sequence[Interval]):
    """The intervals of a run in printed order, kept as columns.

    Columns are arrays of equal length (a buffer that numpy and pandas read without copying): a
    day of one-second lines takes megabytes, and ``Interval`` objects are made on access only.
    In ``p95_ms`` an absent value is NaN; ``Interval.p95_ms`` is then None.
    """

    __slots__ = ("errors_per_s", "p95_ms", "qps", "reconnects_per_s", "t", "threads", "tps")

    def __init__(self, intervals: Sequence[Interval] = ()) -> None:
        self.t = array("d", [i.t for i in intervals])
        self.threads = array("q", [i.threads for i in intervals])
        self.tps = array("d", [i.tps for i in intervals])
        self.qps = array("d", [i.qps for i in intervals])
        self.p95_ms = array("d", [math.nan if i.p95_ms is None else i.p95_ms for i in intervals])
        self.errors_per_s = array("d", [i.errors_per_s for i in intervals])
        self.reconnects_per_s = array("d", [i.reconnects_per_s for i in intervals])

    def __len__(self) -> int:
        return len(self.t)

    @overload
    def __getitem__(self, index: int) -> Interval: ...
    @overload
    def __getitem__(self, index: slice) -> Series: ...
    def __getitem__(self, index: int | slice) -> Interval | Series:
        if isinstance(index, slice):
            part = Series()
            for name in self.__slots__:
                setattr(part, name, getattr(self, name)[index])
            return part
        p95_ms = self.p95_ms[index]
        return Interval(
            t=self.t[index],
            threads=self.threads[index],
            tps=self.tps[index],
            qps=self.qps[index],
            p95_ms=None if math.isnan(p95_ms) else p95_ms,
            errors_per_s=self.errors_per_s[index],
            reconnects_per_s=self.reconnects_per_s[index],
        )

    def __iter__(self) -> Iterator[Interval]:
        return (self[index] for index in range(len(self)))

    def __eq__(self, other: object) -> bool:
        # By bytes, for an absent p95 is a NaN and equals no other.
        return isinstance(other, Series) and all(
            getattr(self, name).tobytes() == getattr(other, name).tobytes()
            for name in self.__slots__
        )

    __hash__ = None  # type: ignore[assignment]  # columns are mutable

    def __repr__(self) -> str:
        return f"Series({len(self)} intervals)"


@dataclass(frozen=True, slots=True)
class SysbenchOutput:
    """One run. ``reasons`` are sentences for an operator, none if the run is complete.

    Numbers of the summary are set only if it is whole, and are those sysbench printed. After a
    checkpoint report its counts and rates cover the time since then, ``duration_s`` all of it.
    """

    status: Status
    reasons: tuple[str, ...]
    threads: int | None
    duration_s: float | None
    tps: float | None
    qps: float | None
    latency_ms: Latency
    transactions: int | None
    queries: int | None
    errors: int | None
    reconnects: int | None
    series: Series
    version: str | None

    SERIES: ClassVar = ("t", "threads", "tps", "qps", "p95_ms", "errors_per_s", "reconnects_per_s")

    def samples(self) -> dict[str, float | None]:
        """What is kept of a trial, by metric; absent values are None."""
        return {
            "tps": self.tps,
            "qps": self.qps,
            "p95_ms": self.latency_ms.p95,
            "avg_ms": self.latency_ms.avg,
            "min_ms": self.latency_ms.min,
            "max_ms": self.latency_ms.max,
            "duration_s": self.duration_s,
            "errors": self.errors,
            "reconnects": self.reconnects,
        }

    def unexpected_errors(self, expected: Sequence[int]) -> float | None:
        """Not known: sysbench itself ends at the first, and has no summary then."""
        return None

    def columns(self, threads: int, dataset: object) -> dict[str, float | None]:
        """What gates look at; neither of the arguments matters to sysbench.

        ``rate_error`` is how far printed rate times duration is from the printed count, as a
        fraction; ``latency_disorder`` how many orderings of latencies that must hold do not.
        """
        return {
            "rate_error": self._rate_error(),
            "latency_disorder": _disorder(self.latency_ms),
        }

    def _rate_error(self) -> float | None:
        if self.tps is None or self.duration_s is None or not self.transactions:
            return None
        return abs(self.tps * self.duration_s / self.transactions - 1)

    def to_json(self) -> dict[str, Any]:
        """The object that ``benchlab parse sysbench --json`` prints; absent values are None."""
        return {
            "status": self.status,
            "reasons": list(self.reasons),
            "threads": self.threads,
            "duration_s": self.duration_s,
            "tps": self.tps,
            "qps": self.qps,
            "latency_ms": asdict(self.latency_ms),
            "errors": self.errors,
            "reconnects": self.reconnects,
            "series": [
                {
                    "t": i.t,
                    "tps": i.tps,
                    "qps": i.qps,
                    "p95_ms": i.p95_ms,
                    "errors_per_s": i.errors_per_s,
                    "reconnects_per_s": i.reconnects_per_s,
                }
                for i in self.series
            ],
        }


def _disorder(latency: Latency) -> float | None:
    """How many of the orderings that must hold do not.

    sysbench takes percentiles from a histogram whose buckets are about 1.8 % apart, so a p95 may
    be printed a bucket above the true maximum.
    """
    low, mean, p95, high = latency.min, latency.avg, latency.p95, latency.max
    if high is None or mean is None:
        return None
    # "not at most" rather than "above": NaN is in no order.
    wrong = [not value >= 0 for value in (low, mean, p95, high) if value is not None]
    wrong.append(not mean <= high)
    if low is not None:
        wrong.append(not low <= mean)
    if p95 is not None:
        wrong.append(not p95 <= high * 1.02)
    return float(sum(wrong))
