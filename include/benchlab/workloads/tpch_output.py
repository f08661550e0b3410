"""Parses the output of ``go-tpc tpch run``.

The format is the text of go-tpc 1.0.10 and later (``tpch/workload.go``, ``pkg/measurement``), below
the command, which Benchlab prints before it starts go-tpc::

    go-tpc tpch run --host=127.0.0.1 ... --threads=2 --queries=q1 --time=60s --interval=2ms ...
    [Current] Q1: 4.33s
    [Current] Q1: 4.26s
    [2024-01-02 03:04:05] run worker 1 stopped due to timeout: execute q1 failed context ...
    Finished
    [Summary] Q1: 4.30s
    [Summary] Q1_ERR: 1.21s

Every figure is a mean; no style of output has counts, percentiles or times. With an interval as
short as :data:`benchlab.workloads.tpch.INTERVAL`, a line of the series is normally the time of one
query. The mean of the summary is over all queries that ended. ``_ERR``, which go-tpc prints after
1.0.12, is about queries that the end of the run cut off.

Each thread sends one query after another, so the throughput is threads divided by the mean.

go-tpc counts these times in steps of 67 ms (2**26 ns, the largest power of two of nanoseconds below
100 ms, the least time that it distinguishes); anything quicker counts as 100 ms
(``NewWorkloader``; ``New`` in hdrhistogram). The mean of a query of constant duration is thus off
by up to half a step, and a mean below :data:`LEAST_MEAN_S` is rejected. Above it, half a step is at
most 4.4 %, and :mod:`benchlab.analysis.verdict.rounds` adds the step to each verdict's interval.

The exit status is 0 even if the server died. So the status comes from what was printed:

* ``complete``: a whole summary of the query that the command names, and no thread that ended early.
* ``incomplete``: the output is cut, or a signal ended the run.
* ``failed``: threads died, connections were lost, the query is too quick or too slow, or it is not
  a run.

Example:
    ``parse(text).qpm``
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from benchlab.workloads.output import Interval, Latency, Output, rounded
from benchlab.workloads.tpcc_messages import Messages, lines_of

STEP_MS = 2**26 / 1e6
LEAST_MEAN_S = 0.77
# Half a step, and the rounding error of two decimals.
_EITHER_WAY_S = STEP_MS / 2000 + 0.005

_COMMAND = re.compile(
    r"\S.* tpch run .*--threads=([1-9][0-9]{0,8}) --queries=q([1-9][0-9]{0,2}) --time=.*"
)
_FIGURE = re.compile(r"\[(Current|Summary)\] (Q[0-9]{1,3})(_ERR)?: ([0-9]{1,9}\.[0-9]{2})s")
_SPOILED = re.compile(r"\[(?:Current|Summary)|_ERR: |: [0-9]+\.[0-9]{2}s")
_FINISHED = "Finished"


@dataclass(frozen=True, kw_only=True)
class TpchOutput(Output):
    """The output of one TPC-H run. It has figures only if it is complete.

    Each interval is one query; its ``t`` is the sum of the times of the queries up to it, divided
    by the threads.

    Attributes:
        is_whole: whether its summary was printed, even if the query is too quick or too slow.
        query: such as ``Q1``; None if the command is missing.
        qpm: queries per minute.
        transactions: queries that ended; those that ended at the same time count once.
    """

    SERIES: ClassVar = ("t", "qpm")
    PERIODIC: ClassVar = False

    is_whole: bool = False
    query: str | None = None
    qpm: float | None = None

    def samples(self) -> dict[str, float | None]:
        return {
            "qpm": rounded(self.qpm),
            "p95_ms": self.latency_ms.p95,
            "avg_ms": self.latency_ms.avg,
            "min_ms": self.latency_ms.min,
            "max_ms": self.latency_ms.max,
            "errors": self.errors,
        }

    def unexpected_errors(self, expected: Sequence[int]) -> float | None:
        """See :meth:`Output.unexpected_errors`; 0 if complete, as no run survives an error."""
        return None if self.errors is None else 0.0

    def columns(self, threads: int, dataset: object) -> dict[str, float | None]:
        """See :meth:`Output.columns`; there is no printed rate, and no latency besides the mean.

        Returns:
            ``summary_present``: 1 if the summary was printed, else 0. ``known_query_time``: 1, or 0
            if the query is too quick or too slow; None without a summary.
        """
        known = float(self.status == "complete")
        return {
            "rate_error": None,
            "latency_disorder": None,
            "summary_present": float(self.is_whole),
            "known_query_time": known if self.is_whole else None,
        }

    def summary_json(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "threads": self.threads,
            "duration_s": self.duration_s,
            "qpm": rounded(self.qpm),
            "queries": self.transactions,
            "latency_ms": asdict(self.latency_ms),
            "errors": self.errors,
        }


class _Reader:
    """Reads the lines once and sorts them."""

    def __init__(self, text: str) -> None:
        self.commands: list[tuple[int, str]] = []
        self.series: list[float] = []
        self.summary: list[float] = []
        self.cut_off = self.finished = self.strange = self.unreadable = 0
        self.messages = Messages()
        for line in lines_of(text):
            self._take(line)

    def _take(self, line: str) -> None:
        if match := _COMMAND.fullmatch(line):
            self.commands.append((int(match[1]), f"Q{match[2]}"))
        elif match := _FIGURE.fullmatch(line):
            self._take_figure(*match.groups())
        elif line == _FINISHED:
            self.finished += 1
        elif not (self.messages.take_error(line) or self.messages.take_other(line)):
            self.unreadable += _SPOILED.search(line) is not None

    def _take_figure(self, kind: str, query: str, failed: str | None, seconds: str) -> None:
        if not self.commands or query != self.commands[0][1]:
            self.strange += 1
        elif kind == "Summary" and failed:
            self.cut_off += 1
        elif not failed:
            (self.series if kind == "Current" else self.summary).append(float(seconds))


def parse(text: str) -> TpchOutput:
    """Parse the output (stdout, or both streams) of one run. Takes any text; raises nothing."""
    reader = _Reader(text.replace("\r\n", "\n"))
    threads, query = reader.commands[0] if reader.commands else (None, None)
    failures = [*reader.messages.deaths(), *_faults(reader)]
    losses = [] if failures else _losses(reader)
    is_whole = bool(threads and query and not (failures or losses))
    if threads and query and is_whole:
        failures = _too_quick(query, reader.summary[0]) or _too_slow(query, reader, threads)
    if failures or losses:
        causes = reader.messages.possible_causes()
        return TpchOutput(
            status="failed" if failures else "incomplete",
            reasons=(*failures, *losses, *causes),
            is_whole=is_whole,
            threads=threads,
            query=query,
        )
    return _complete(reader)


def _complete(reader: _Reader) -> TpchOutput:
    (threads, query), (mean,) = reader.commands[0], reader.summary
    times = sorted(reader.series)
    return TpchOutput(
        status="complete",
        reasons=(),
        is_whole=True,
        threads=threads,
        query=query,
        tps=threads / mean,
        qpm=60 * threads / mean,
        latency_ms=Latency(
            min=1000 * times[0],
            avg=1000 * mean,
            p95=1000 * times[math.ceil(0.95 * len(times)) - 1],
            max=1000 * times[-1],
        ),
        transactions=len(times),
        errors=0,
        series=tuple(_intervals(reader.series, threads)),
    )


def _faults(reader: _Reader) -> list[str]:
    """Reasons why the text is not one run of one query."""
    if not reader.commands:
        return ["There is no command of a run of `go-tpc tpch` in the text."]
    if max(len(reader.commands), reader.finished, len(reader.summary)) > 1:
        return ["The output holds more than one run."]
    if reader.strange:
        return [f"Lines of another query than {reader.commands[0][1]}: {reader.strange}."]
    return []


def _losses(reader: _Reader) -> list[str]:
    """Reasons why the output is not whole."""
    query, messages = reader.commands[0][1], reader.messages
    reasons = []
    if messages.signals:
        reasons.append(f"The run was ended from outside: {messages.signals[0]}.")
    elif not reader.finished:
        reasons.append("The output ends without a summary: the client was killed or crashed.")
    elif bool(messages.cancelled) != bool(reader.cut_off):
        reasons.append(
            "The summary is not whole: its line on queries that were cut off is missing."
        )
    elif not reader.summary:
        reasons.append(
            f"No {query} ended while the run lasted: it takes longer; make `seconds` longer, or "
            "load a smaller scale factor."
        )
    if reader.unreadable:
        reasons.append(f"Lines of figures that could not be read: {reader.unreadable}.")
    return reasons


def _too_quick(query: str, mean_s: float) -> list[str]:
    if mean_s >= LEAST_MEAN_S:
        return []
    said = (
        f"{query} took {mean_s:.2f} s on average, which may be {_EITHER_WAY_S:.2f} s more or less: "
        f"go-tpc counts in steps of {STEP_MS:.0f} ms. A mean below {LEAST_MEAN_S} s is no figure; "
        f"load a larger scale factor, take more threads, or leave tpch_{query.lower()} out."
    )
    return [said]


def _too_slow(query: str, reader: _Reader, threads: int) -> list[str]:
    """A reason if some threads ended no query: the mean would only cover the quick ones."""
    ended = len(reader.series)
    if ended >= threads:
        return []
    said = (
        f"{threads} threads ended {ended} {query} while the run lasted; make `seconds` longer, so "
        "that each thread ends one at least."
    )
    return [said]


def _intervals(times_s: Sequence[float], threads: int) -> Iterator[Interval]:
    t = 0.0
    for seconds in times_s:
        t += seconds / threads
        rate = threads / seconds if seconds else 0.0
        yield Interval(t=round(t, 2), tps=rate, qpm=60 * rate, errors_per_s=0.0)
