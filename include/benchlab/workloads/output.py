"""The output of one run of a client, in the form that all parsers return."""

from __future__ import annotations

import abc
import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from benchlab.plan.metric import Metric
from benchlab.results.records import Sample

Status = Literal["complete", "incomplete", "failed"]
"""``complete``: a whole summary and no fatal message. ``incomplete``: cut; no figure counts.
``failed``: the run measured nothing, or the text is not a run's.
"""

OF_RUN = (
    Metric("avg_ms", "ms", "figures-mean"),
    Metric("min_ms", "ms"),
    Metric("max_ms", "ms"),
    Metric("duration_s", "s"),
    Metric("errors", "1"),
)
"""Metrics that most clients print, shown only with the single trial."""

QUOTED_LENGTH = 300
QUOTED_LINES = 5


@dataclass(frozen=True, slots=True)
class Latency:
    """Latencies of transactions in milliseconds; ``sum`` is over all transactions and threads."""

    min: float | None = None
    avg: float | None = None
    p95: float | None = None
    max: float | None = None
    sum: float | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """Rates over the interval that ended ``t`` seconds after the start; None: not printed.

    ``tpmc`` and ``qpm`` are per minute, other rates per second.
    """

    t: float
    tps: float
    errors_per_s: float
    threads: int | None = None
    qps: float | None = None
    p95_ms: float | None = None
    reconnects_per_s: float | None = None
    tpmc: float | None = None
    qpm: float | None = None


@dataclass(frozen=True, kw_only=True)
class Output(abc.ABC):
    """The output of one run. Rates are per second; a value that was not printed is None, never 0.

    An output that was cut anywhere is never ``complete``.

    Example:
        ``workloads.parsers()["sysbench"](text).tps``

    Attributes:
        SERIES: the columns of the series, fields of :class:`Interval`.
        PERIODIC: whether all intervals are equally long, so that their number is predictable.
        reasons: sentences for an operator that say what is wrong; empty if complete.
        transactions: how many ended without an error.
        rate: how many transactions a second were sent; None: as many as were answered.
        errors: how many transactions failed without ending the run.
    """

    SERIES: ClassVar[tuple[str, ...]]
    PERIODIC: ClassVar[bool] = True

    status: Status
    reasons: tuple[str, ...]
    threads: int | None = None
    rate: int | None = None
    duration_s: float | None = None
    tps: float | None = None
    qps: float | None = None
    latency_ms: Latency = field(default_factory=Latency)
    transactions: int | None = None
    errors: int | None = None
    reconnects: int | None = None
    series: Sequence[Interval] = ()

    @property
    def queries_per_transaction(self) -> float:
        """How many queries a transaction had; 1 where it does not print both."""
        return self.qps / self.tps if self.qps and self.tps else 1.0

    @abc.abstractmethod
    def samples(self) -> dict[str, float | None]:
        """The figures that are stored for a trial, by the names of the workload's ``METRICS``."""

    @abc.abstractmethod
    def columns(self, threads: int, dataset: object) -> dict[str, float | None]:
        """The columns for the gates of ``configs/quality`` that depend on the client.

        Args:
            threads: how many were requested.
            dataset: the one that was loaded.
        """

    @abc.abstractmethod
    def unexpected_errors(self, expected: Sequence[int]) -> float | None:
        """How many server errors with numbers not in ``expected`` the run survived.

        None if that is unknown.
        """

    @abc.abstractmethod
    def summary_json(self) -> dict[str, Any]:
        """The part of :meth:`to_json` that differs from client to client."""

    def to_json(self) -> dict[str, Any]:
        """What ``benchlab parse --json`` prints; absent values are None."""
        names = [name for name in self.SERIES if name != "threads"]
        return {
            "status": self.status,
            "reasons": list(self.reasons),
            **self.summary_json(),
            "series": [
                {name: rounded(getattr(interval, name)) for name in names}
                for interval in self.series
            ],
        }


def samples_of(output: Output, metrics: Iterable[Metric]) -> tuple[Sample, ...]:
    """The samples of a trial: its client's figures, with the units of ``metrics``."""
    units = {metric.name: metric.unit for metric in metrics}
    return tuple(Sample(name, value, units[name]) for name, value in output.samples().items())


def client_reasons(output: Output, exit_code: int | None) -> tuple[str, ...]:
    """Sentences that say what went wrong in the client; ``exit_code`` None: unknown."""
    said = tuple(f"client: {reason}" for reason in output.reasons)
    if exit_code == 0:
        return said
    return (*said, f"client: exit code {'unknown' if exit_code is None else exit_code}")


def series_csv(output: Output) -> str:
    """The series of a client's output as CSV; an absent value is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(output.SERIES)
    for interval in output.series:
        writer.writerow([getattr(interval, column) for column in output.SERIES])
    return text.getvalue()


def not_at_start(client: str, prefix: str) -> str:
    """The reason for an output whose lines begin with a prefix that the client did not print.

    Example:
        ``not_at_start("sysbench", "2024-01-02T03:04:05Z ")``
    """
    return (
        f"Before what {client} printed, its lines have {prefix!r}: a time stamp (`kubectl logs "
        "--timestamps`, `ts`), a prefix or an indentation; take the output without it."
    )


def quoted(client: str, lines: Iterable[str]) -> list[str]:
    """Reasons that quote the first distinct lines of a client; long ones are cut.

    Example:
        ``quoted("sysbench", ["FATAL: a"])`` is ``["sysbench printed: FATAL: a"]``.
    """
    first = list(dict.fromkeys(line.strip() for line in lines))[:QUOTED_LINES]
    end = QUOTED_LENGTH
    return [f"{client} printed: {line[:end]}{'...' * (len(line) > end)}" for line in first]


def rounded(value: float | None) -> float | None:
    """Round to three decimals, as many as clients print."""
    return None if value is None else round(value, 3)
