"""Parses the output of ``go-ycsb run mysql``.

The format is the text of go-ycsb 1.0.3 (``pkg/measurement``, ``cmd/go-ycsb``)::

    READ   - Takes(s): 1.0, Count: 7753, OPS: 7762.0, Avg(us): 247, Min(us): 24, Max(us): 27055, ...
    TOTAL  - Takes(s): 1.0, Count: 15553, OPS: 15563.0, Avg(us): 252, ...

    Got signal [interrupt] to exit.
    operation err: context canceled
    Run finished, takes 4.921876378s
    READ   - Takes(s): 4.9, ...

Every line covers the time since the start. ``TOTAL`` counts the operations without an error; it
counts a read-modify-write as a read and an update, so that each is one statement. Lines with
``_ERROR`` count the operations with an error, including those that the interrupt cut off. The
printed times and rates begin at the end of the first operation of a kind, which would favour a
server that stalls at the start; the throughput here is the count over the whole run.

The exit status is 0 if errors were survived, and after a misspelt option. So the status comes from
what was printed:

* ``complete``: a whole summary whose lines agree, after an interrupt or after as many operations
  as ``operationcount`` says.
* ``incomplete``: the output is cut, the lines disagree, or another signal ended the run.
* ``failed``: it crashed, connections were lost, or it is not a run.

Example:
    ``parse(text).tps``
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

from benchlab.workloads.output import Interval, Latency, Output, not_at_start, quoted, rounded
from benchlab.workloads.sysbench_output import latency_disorder
from benchlab.workloads.tpcc_messages import LOST_CONNECTION, SERVER_ERROR

_TOTAL, _ERROR = "TOTAL", "_ERROR"
# Not in TOTAL, which counts its read and its update.
_BOTH = "READ_MODIFY_WRITE"
_MICROSECONDS = ("Avg", "Min", "Max", "50th", "90th", "95th", "99th", "99.9th", "99.99th")
_LINE = re.compile(
    r"([A-Z_]{4,32}) *- Takes\(s\): ([0-9]{1,9}\.[0-9]), Count: ([0-9]{1,15}), "
    r"OPS: ([0-9]{1,12}\.[0-9])"
    + "".join(rf", {re.escape(name)}\(us\): ([0-9]{{1,12}})" for name in _MICROSECONDS)
)
_SPOILED = re.compile(r"Takes\(s\): |OPS: |th\(us\)")
# A duration as Go prints it: 1h2m3.4s, or 567.8ms.
_FINISHED = re.compile(
    r"Run finished, takes (?:([0-9]{1,4})h)?(?:([0-9]{1,2})m)?([0-9]{1,3}(?:\.[0-9]{1,9})?)(m?)s"
)
# In the properties that it prints first; a run ends by itself after `operationcount` operations.
_PROPERTY = re.compile(r'"(operationcount|threadcount|target)"="([0-9]{1,15})"')
_OLDER = re.compile(r"[A-Z_]{4,32} *- Takes\(s\): .{1,200}, Max\(us\): [0-9]{1,12}, 99th\(us\): ")
_STYLED = re.compile(r'"outputstyle"="(?!plain)|\| +OPERATION +\||\[?\{"Operation":')
_STAMPED = re.compile(r"(.{0,79}?[^A-Z_])[A-Z_]{4,32} *- Takes\(s\): ")
_SIGNAL = re.compile(r"Got signal \[([^\]]{1,40})\]")
_INTERRUPT = "interrupt"
_FAILED = "operation err: "
_CUT_OFF = "operation err: context canceled"
_CAUSE = re.compile(r"panic: |fatal error: |Error: |create (?:db|workload) |totalOpCount\(")
_HALF_A_UNIT = 0.05
# The summary follows the last interval at once if a run takes a whole number of them.
_LEAST_LENGTH_S = 0.1


@dataclass(frozen=True, slots=True)
class Operation:
    """One kind of operation, or its failures, since the start; latencies in whole microseconds."""

    seconds: float
    count: int
    ops: float
    avg_us: int
    min_us: int
    max_us: int
    p50_us: int
    p95_us: int
    p99_us: int

    @property
    def exact_seconds(self) -> float:
        """``seconds``, computed from the count and the rate, which have more digits."""
        return self.count / self.ops if self.ops else self.seconds

    @property
    def sum_ms(self) -> float:
        """The time of all operations; the printed mean is rounded down, by 0.5 us on average."""
        return self.count * (self.avg_us + 0.5) / 1000


@dataclass(frozen=True, kw_only=True)
class YcsbOutput(Output):
    """The output of one YCSB run.

    Attributes:
        error_numbers: how often each error number was printed; ``other``: errors without one.
        operations: the summary's lines, by operation.
    """

    SERIES: ClassVar = ("t", "tps", "errors_per_s")

    error_numbers: Mapping[str, int] = field(default_factory=dict)
    operations: Mapping[str, Operation] = field(default_factory=dict)

    def samples(self) -> dict[str, float | None]:
        total = self.operations.get(_TOTAL)
        return {
            "tps": self.tps,
            "qps": self.qps,
            "p50_ms": None if total is None else total.p50_us / 1000,
            "p95_ms": self.latency_ms.p95,
            "p99_ms": None if total is None else total.p99_us / 1000,
            "avg_ms": self.latency_ms.avg,
            "min_ms": self.latency_ms.min,
            "max_ms": self.latency_ms.max,
            "duration_s": rounded(self.duration_s),
            "errors": self.errors,
            "rate": self.rate,
        }

    def unexpected_errors(self, expected: Sequence[int]) -> float | None:
        """See :meth:`Output.unexpected_errors`; None without a summary."""
        if self.errors is None:
            return None
        listed = {str(number) for number in expected}
        return float(sum(n for number, n in self.error_numbers.items() if number not in listed))

    def columns(self, threads: int, dataset: object) -> dict[str, float | None]:
        """See :meth:`Output.columns`; go-ycsb needs neither argument.

        Returns:
            ``rate_error``: how far rate times duration is from the count, beyond rounding, as a
            fraction of the count. ``latency_disorder``: how many latencies are out of order.
            ``behind``: which fraction of the asked-for rate was missed.
        """
        total = self.operations.get(_TOTAL)
        return {
            "rate_error": None if total is None else _rate_error(total),
            "latency_disorder": latency_disorder(self.latency_ms),
            "behind": max(1 - self.tps / self.rate, 0.0) if self.rate and self.tps else None,
        }

    def summary_json(self) -> dict[str, Any]:
        return {
            "duration_s": rounded(self.duration_s),
            "tps": self.tps,
            "latency_ms": asdict(self.latency_ms),
            "errors": self.errors,
            "operations": {name: found.count for name, found in self.operations.items()},
        }


def _rate_error(total: Operation) -> float:
    least, most = (
        (total.ops + half) * (total.seconds + half) for half in (-_HALF_A_UNIT, _HALF_A_UNIT)
    )
    return max(least - total.count, total.count - most, 0.0) / max(total.count, 1)


_Row = tuple[str, Operation]


class _Reader:
    """Reads the lines once and sorts them."""

    def __init__(self) -> None:
        self.current: list[_Row] = []
        self.summary: list[_Row] = []
        self.durations: list[float] = []
        self.signals: list[str] = []
        self.causes: list[str] = []
        self.lost: list[str] = []
        self.error_numbers: Counter[str] = Counter()
        self.failed = self.cut_off = self.unreadable = 0
        self.properties: dict[str, int] = {}
        self.other: str | None = None

    def read(self, text: str) -> None:
        lines = text.replace("\r\n", "\n").split("\n")
        for line in lines[:-1]:
            self._take(line)
        # A line without a line break may have lost the last digits of a number.
        if _SPOILED.search(lines[-1]):
            self.unreadable += 1
        else:
            self._take(lines[-1])

    def _take(self, line: str) -> None:
        if line.startswith(_FAILED):
            self._take_error(line)
        elif match := _LINE.fullmatch(line):
            name, seconds, count, ops, avg, low, high, *percentiles = match.groups()
            p50, _, p95, p99, *_ = percentiles
            whole = map(int, (avg, low, high, p50, p95, p99))
            row = Operation(float(seconds), int(count), float(ops), *whole)
            (self.summary if self.durations else self.current).append((name, row))
        elif match := _FINISHED.fullmatch(line):
            hours, minutes, seconds = (float(part or 0) for part in match.groups()[:3])
            seconds /= 1000 if match[4] else 1
            self.durations.append(hours * 3600 + minutes * 60 + seconds)
        elif match := _SIGNAL.match(line):
            self.signals.append(match[1])
        elif LOST_CONNECTION.search(line):
            self.lost.append(line)
        elif _CAUSE.match(line):
            self.causes.append(line)
        elif match := _PROPERTY.fullmatch(line):
            self.properties[match[1]] = int(match[2])
        else:
            self.other = self.other or _other_text(line)
            self.unreadable += _SPOILED.search(line) is not None

    def _take_error(self, line: str) -> None:
        self.failed += 1
        if line == _CUT_OFF:
            self.cut_off += 1
        elif LOST_CONNECTION.search(line):
            self.lost.append(line)
        else:
            number = SERVER_ERROR.search(line)
            self.error_numbers[number[1] if number else "other"] += 1

    @property
    def is_at_its_count(self) -> bool:
        """Whether the run made all its operations; each thread rounds its share of them down."""
        counts = dict(self.summary)
        if _TOTAL not in counts or "operationcount" not in self.properties:
            return False
        threads = self.properties.get("threadcount", 1)
        return counts[_TOTAL].count + self.failed > self.properties["operationcount"] - threads

    def faults(self) -> list[str]:
        """Reasons why this is no measurement: it crashed, could not begin or lost connections."""
        reasons = quoted("go-ycsb", self.causes)
        if self.lost:
            reasons.append(
                f"Messages about a connection that was lost or refused: {len(self.lost)}."
            )
            reasons += quoted("go-ycsb", self.lost)
        return reasons


def _other_text(line: str) -> str | None:
    """Why a text with such a line cannot be read at all, if it says so."""
    if _OLDER.match(line):
        return (
            "The output is of an older go-ycsb, which prints neither the 50th nor the 90th nor the "
            "95th percentile; it is not read."
        )
    if _STYLED.match(line):
        return "The output is in another style; it is read with `outputstyle=plain`."
    if stamped := _STAMPED.match(line):
        return not_at_start("go-ycsb", stamped[1])
    return None


def parse(text: str) -> YcsbOutput:
    """Parse the output (stdout, or both streams) of one run. Takes any text; raises nothing."""
    reader = _Reader()
    reader.read(text)
    failures, losses = reader.faults(), _losses(reader)
    if len(reader.durations) > 1:
        failures.append("The output holds more than one run.")
    elif reader.other is not None and not (reader.current or reader.summary):
        failures, losses = [*failures, reader.other], []
    elif not (reader.current or reader.summary or failures):
        failures.append("There are no figures of a run of go-ycsb in the text.")
    whole = not losses and len(reader.durations) == 1 and reader.durations[0] > 0
    return YcsbOutput(
        status="failed" if failures else "incomplete" if losses else "complete",
        reasons=(*failures, *losses),
        error_numbers=dict(sorted(reader.error_numbers.items())),
        series=tuple(_intervals(reader)) if not failures else (),
        rate=reader.properties.get("target") or None,
        **(_summary(reader) if whole and reader.summary else {}),
    )


def load_faults(text: str) -> list[str]:
    """What went wrong in a load; go-ycsb exits with 0 even if rows were refused."""
    reader = _Reader()
    reader.read(text)
    refused = reader.error_numbers
    numbers = [f"{count} of number {number}" for number, count in sorted(refused.items())]
    reasons = [f"Inserts failed by errors of the server: {', '.join(numbers)}."] if numbers else []
    if reader.signals:
        reasons.append(f"The load was ended from outside: by {reader.signals[0]}.")
    if not reader.durations:
        reasons.append("The load did not finish.")
    return [*reader.faults(), *reasons]


def _losses(reader: _Reader) -> list[str]:
    """Reasons why the output is not whole."""
    reasons = []
    if outside := [signal for signal in reader.signals if signal != _INTERRUPT]:
        reasons.append(f"The run was ended from outside: by {outside[0]}.")
    if not reader.durations and (reader.current or reader.signals):
        reasons.append("The output ends without a summary: the client was killed or crashed.")
    elif reader.durations and not (reader.signals or reader.is_at_its_count):
        reasons.append("The run ended by itself, before its time was up.")
    elif reader.durations and (reason := _disagreement(reader)):
        reasons.append(reason)
    if reader.unreadable:
        reasons.append(f"Lines of figures that could not be read: {reader.unreadable}.")
    return reasons


def _disagreement(reader: _Reader) -> str | None:
    """A reason if the summary's lines do not add up: one is missing, or none was printed."""
    counts = {name: row.count for name, row in reader.summary}
    if len(counts) != len(reader.summary):
        return "An operation is in the summary twice."
    if not counts.get(_TOTAL):
        return "There is no summary of operations that ended without an error."
    done = sum(n for name, n in counts.items() if name not in (_TOTAL, _BOTH) and not _failed(name))
    if done != counts[_TOTAL]:
        return (
            f"The summary's operations are {done}, its line TOTAL says {counts[_TOTAL]}: a line is "
            "missing."
        )
    failed = sum(count for name, count in counts.items() if _failed(name))
    if failed != reader.failed:
        return f"The summary has {failed} errors, and {reader.failed} were printed."
    return None


def _failed(name: str) -> bool:
    return name.endswith(_ERROR)


def _summary(reader: _Reader) -> dict[str, Any]:
    """The figures of a whole summary."""
    operations = dict(reader.summary)
    total = operations[_TOTAL]
    counted = [total, *(row for name, row in operations.items() if _failed(name))]
    return {
        "duration_s": reader.durations[0],
        "tps": rounded(total.count / reader.durations[0]),
        "qps": rounded(total.count / reader.durations[0]),
        "latency_ms": Latency(
            min=total.min_us / 1000,
            avg=total.avg_us / 1000,
            p95=total.p95_us / 1000,
            max=total.max_us / 1000,
            sum=sum(row.sum_ms for row in counted),
        ),
        "transactions": total.count,
        "errors": reader.failed - reader.cut_off,
        "operations": operations,
    }


def _intervals(reader: _Reader) -> Iterator[Interval]:
    """The rates between each group of lines and the one before; the summary is the last group.

    A group's lines are sorted by name, so a name that does not rise begins the next group.
    """
    rows = [*reader.current, *reader.summary]
    starts = [0, *(i for i, (a, b) in enumerate(pairwise(rows), 1) if b[0] <= a[0]), len(rows)]
    before, done, failed = 0.0, 0, 0
    for start, end in pairwise(starts):
        group = dict(rows[start:end])
        total = group.get(_TOTAL)
        if total is None or (length := total.exact_seconds - before) < _LEAST_LENGTH_S:
            continue
        errors = sum(row.count for name, row in group.items() if _failed(name))
        errors -= reader.cut_off if end == len(rows) and reader.summary else 0
        yield Interval(
            t=round(total.exact_seconds, 1),
            tps=(total.count - done) / length,
            errors_per_s=(errors - failed) / length,
        )
        before, done, failed = total.exact_seconds, total.count, errors
