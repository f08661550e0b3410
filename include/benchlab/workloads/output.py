"""What one run of a client printed, read: the shape that all parsers return."""

from __future__ import annotations

import abc
import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from benchlab.results.records import Sample

Status = Literal["complete", "incomplete", "failed"]
"""Of one run: a whole summary and nothing fatal; cut, so that no figure counts; failed."""

QUOTED_LENGTH = 300
QUOTED_LINES = 5


@dataclass(frozen=True, slots=True)
class Latency:
    """Of one transaction, in milliseconds; ``sum`` over all transactions of all threads."""

    min: float | None = None
    avg: float | None = None
    p95: float | None = None
    max: float | None = None
    sum: float | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """Rates over the interval that ended ``t`` seconds into the run; None: not printed."""

    t: float
    tps: float
    errors_per_s: float
    threads: int | None = None
    qps: float | None = None
    p95_ms: float | None = None
    reconnects_per_s: float | None = None
    tpmc: float | None = None


@dataclass(frozen=True, kw_only=True)
class Output(abc.ABC):
    """One run. Rates are per second; what is not printed is None, never 0.

    An output that was cut anywhere is never ``complete``.

    Example:
        ``workloads.parsers()["sysbench"](text).tps``

    Attributes:
        SERIES: the values of an interval that the client prints.
        reasons: sentences for an operator; none if complete.
        transactions: that ended without an error.
        errors: transactions that failed and were survived.
    """

    SERIES: ClassVar[tuple[str, ...]]

    status: Status
    reasons: tuple[str, ...]
    threads: int | None = None
    duration_s: float | None = None
    tps: float | None = None
    qps: float | None = None
    latency_ms: Latency = field(default_factory=Latency)
    transactions: int | None = None
    errors: int | None = None
    reconnects: int | None = None
    series: Sequence[Interval] = ()

    @abc.abstractmethod
    def samples(self) -> dict[str, float | None]:
        """The figures that are kept of a trial, by a metric of ``records.UNITS``."""

    @abc.abstractmethod
    def columns(self, threads: int, dataset: object) -> dict[str, float | None]:
        """What only this client can report to the gates of ``configs/quality``.

        Args:
            threads: requested.
            dataset: what was loaded.
        """

    @abc.abstractmethod
    def unexpected_errors(self, expected: Sequence[int]) -> float | None:
        """How many of the server's errors were survived that are not expected."""

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


def samples_of(output: Output) -> tuple[Sample, ...]:
    """The samples of a trial whose client printed this."""
    return tuple(Sample(metric, value) for metric, value in output.samples().items())


def client_reasons(output: Output, exit_code: int | None) -> tuple[str, ...]:
    """What the client did wrong, as sentences; ``exit_code`` is None where it is not known."""
    said = tuple(f"client: {reason}" for reason in output.reasons)
    if exit_code == 0:
        return said
    return (*said, f"client: exit code {'unknown' if exit_code is None else exit_code}")


def series_csv(output: Output) -> str:
    """The series of a client's output as it is kept; an absent value is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(output.SERIES)
    for interval in output.series:
        writer.writerow([getattr(interval, column) for column in output.SERIES])
    return text.getvalue()


def quoted(client: str, lines: Iterable[str]) -> list[str]:
    """The first few distinct lines that a client printed, as reasons; very long ones are cut."""
    reasons = []
    for line in list(dict.fromkeys(line.strip() for line in lines))[:QUOTED_LINES]:
        cut = line if len(line) <= QUOTED_LENGTH else f"{line[:QUOTED_LENGTH]}..."
        reasons.append(f"{client} printed: {cut}")
    return reasons


def rounded(value: float | None) -> float | None:
    """To the digits that clients print; more of them are not measured."""
    return None if value is None else round(value, 3)
