"""Workloads at equal load: sent to both versions at the same rate, however fast they answer.

A client that waits for each answer sends the faster version more, and so compares its latency at a
higher load. At a given rate both have the same work, and what waits for its turn counts as latency.
Such a workload is measured beside the one that it is of, whose throughput the rate may depend on.

Example:
    ``added(("tpcc",), "60 %")`` is ``("tpcc", "tpcc_at_60pct")``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from benchlab.language.names import AT_RATE
from benchlab.plan.metric import LATENCY, THROUGHPUT, Metric

_SHARE = re.compile(r"([1-9][0-9]?) ?%")
_MOST = 10_000_000
# The percentiles that are decided, each by itself, beside the one of every workload.
_PERCENTILES = ("p50_ms", "p99_ms")


@dataclass(frozen=True)
class Rate:
    """How many transactions a second are sent: ``per_s``, or a share of what the slower side did.

    Example:
        ``Rate(share=0.6).of(1000)`` is 600.
    """

    per_s: int | None = None
    share: float | None = None

    def of(self, throughput: float) -> int:
        """The rate, at least 1, with the slower side's highest throughput."""
        return self.per_s or max(round((self.share or 0) * throughput), 1)


def valid(rate: object) -> object:
    """The rate as it was written.

    Raises:
        ValueError: it is none.
    """
    if (type(rate) is int and 0 < rate <= _MOST) or (
        isinstance(rate, str) and _SHARE.fullmatch(rate)
    ):
        return rate
    raise ValueError(
        "write a whole number of transactions a second, or a share of the slower side's highest "
        "throughput, such as 60 %"
    )


def added(workloads: Iterable[str], rate: object) -> tuple[str, ...]:
    """The workloads, each followed by itself at a rate; as they are if ``rate`` is none."""
    if isinstance(rate, str) and (share := _SHARE.fullmatch(rate)):
        suffix = f"_at_{share[1]}pct"
    elif type(rate) is int and rate > 0:
        suffix = f"_at_{rate}tps"
    else:
        return tuple(workloads)
    return tuple(name for own in workloads for name in (own, f"{own}{suffix}"))


def saturated(workload: str) -> str:
    """The workload that another one is at a rate; itself if it is at none.

    Example:
        ``saturated("tpcc_at_60pct")`` is ``"tpcc"``.
    """
    found = AT_RATE.fullmatch(workload)
    return found[1] if found else workload


def rate_of(workload: str) -> Rate | None:
    """The rate in a workload's name; None: it is sent as fast as it is answered."""
    if not (found := AT_RATE.fullmatch(workload)):
        return None
    number = int(found[2])
    return Rate(share=number / 100) if found[3] == "pct" else Rate(per_s=number)


def metrics_of(workload: str, metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """A workload's metrics: at a rate, three percentiles are decided in place of throughput.

    What depends on the load is decided only there.
    """
    if rate_of(workload) is None:
        return tuple(replace(one, decided=one.decided and not one.of_load) for one in metrics)
    return tuple(
        replace(metric, decided=False)
        if metric.family == THROUGHPUT
        else replace(metric, family=LATENCY, is_one_of_several=True)
        if metric.name in _PERCENTILES
        else metric
        for metric in metrics
    )
