"""Parses the output of ``tiup bench tpcc run``, ``go-tpc tpcc run`` and ``tpcc.lua``.

The format is the text of go-tpc 1.0.12 and later (``pkg/measurement``, ``OutputStats`` in
``tpcc/workload.go``, ``cmd/go-tpc/misc.go``), or of its ``--output json``::

    [Current] NEW_ORDER - Takes(s): 10.0, Count: 2829, TPM: 17003.5, Sum(ms): 22075.0, ...
    [2024-01-02 03:04:05] run worker 1 stopped due to timeout: context deadline exceeded
    Finished
    [Summary] NEW_ORDER - Takes(s): 30.0, Count: 9363, TPM: 18736.7, Sum(ms): 65365.6, ...
    tpmC: 18736.6, tpmTotal: 41738.3, efficiency: 145697.0%

The exit status says nothing, and a summary alone says little: go-tpc prints a plausible one even if
every worker died half-way. So the status comes from everything that was printed:

* ``complete``: one whole, consistent summary, and no worker that ended early. The caller checks,
  with ``duration_s``, whether the run took as long as requested.
* ``incomplete``: the output is cut, or a signal ended the run.
* ``failed``: workers died, connections were lost, values are impossible, or it is not a run.

Example:
    ``parse(text).tpmc``

Values that go-tpc never prints (threads, queries, reconnects, a percentile over all transactions)
are None in every output.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

from benchlab.workloads.output import Interval, Latency, Output, not_at_start, rounded
from benchlab.workloads.tpcc_messages import Messages, lines_of

OPERATIONS = ("DELIVERY", "NEW_ORDER", "ORDER_STATUS", "PAYMENT", "STOCK_LEVEL")
# The operation that tpmC counts.
HEADLINE = "NEW_ORDER"
# The share of New Orders among all transactions, from go-tpc's weights. (TPC-C 5.11, clause 5.2.3,
# sets no minimum for them, and 43, 4, 4 and 4 % for the others.)
HEADLINE_SHARE = 0.45
# The most New Orders per minute and warehouse under TPC-C's keying and think times, as in go-tpc.
TPMC_PER_WAREHOUSE = 12.86
# Figures are printed with one decimal: the largest rounding error.
_HALF_A_UNIT = 0.05

_PERCENTILES = ("50th(ms)", "90th(ms)", "95th(ms)", "99th(ms)", "99.9th(ms)")
_LABELS = ("Takes(s)", "Count", "TPM", "Sum(ms)", "Avg(ms)", *_PERCENTILES, "Max(ms)")
# Exactly one decimal, so that a number that was cut short does not match.
_NUMBER = r"-?(?:[0-9]{1,18}\.[0-9]|nan|NaN|[+]?Inf)"
_NAME = f"(?:{'|'.join(OPERATIONS)})(?:_ERR)?"
_LINE = re.compile(
    rf"\[(Current|Summary)\] ({_NAME}) +- "
    + ", ".join(
        rf"{re.escape(label)}: ({'-?[0-9]{1,18}' if label == 'Count' else _NUMBER})"
        for label in _LABELS
    )
)
_TOTAL_LABELS = ("tpmC", "tpmTotal", "efficiency")
_TOTALS = re.compile(rf"tpmC: ({_NUMBER}), tpmTotal: ({_NUMBER}), efficiency: ({_NUMBER})%")
# Labels by which such a line is recognized even if its beginning or end is lost.
_SPOILED = re.compile(r"Takes\(s\): |TPM: |(?:Avg|Sum|Max|th)\(ms\)|tpmC: |efficiency: |\[\{")

_FINISHED = "Finished"
# `tiup bench ch`: a line about a query of TPC-H, or about both kinds of workers.
_OF_CH = re.compile(r"\[(?:Current|Summary)\] Q[0-9]+ +- |Finished: [0-9]+ OLTP workers, ")
# Before 1.0.9: no tpmTotal; earlier still, whole milliseconds and fewer percentiles.
_OLDER = re.compile(
    r"tpmC: [0-9.]+(?:, efficiency: [0-9.]+%)?|\[(?:Current|Summary)\] .*, Sum\(ms\): [0-9]+, .*"
)
_CH = (
    "The output is of CH-benCHmark (`tiup bench ch`), TPC-C and TPC-H at once, whose tpmC is not "
    "that of TPC-C alone; it is not read."
)
_OF_TABLE = re.compile(r"\| +PREFIX +\| +OPERATION +\|")
_STAMPED = re.compile(r"(.{1,80}?)(?:\[(?:Current|Summary)\] [A-Z_]+ +- |tpmC: )")


@dataclass(frozen=True, slots=True)
class Operation:
    """One of the five transactions, or its failures (``_ERR``), in one interval or the whole run.

    Percentiles and the maximum are coarse: they come from a histogram of one significant figure,
    which ends at 16 s. ``seconds`` count from the end of the first such transaction; ``tpm`` is per
    minute.
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
    """The output of one TPC-C run.

    Figures of the summary are set only if it is whole. If the run failed, they are what go-tpc
    printed, not a measurement.

    go-tpc prints no times: an interval's ``t`` is the sum of the printed lengths of the intervals
    up to it, in seconds. go-tpc omits an interval in which no transaction ended, which makes every
    later ``t`` too small.

    Attributes:
        tpmc: new orders per minute.
        tpm_total: transactions of all five kinds per minute.
        efficiency_pct: tpmC in percent of 12.86 for each warehouse of the run.
        cancelled: transactions that the end of the run cut off; not in ``errors``.
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
        """See :meth:`Output.unexpected_errors`; None without a summary."""
        if self.errors is None:
            return None
        listed = {str(number) for number in expected}
        return float(sum(n for number, n in self.error_numbers.items() if number not in listed))

    def columns(self, threads: int, dataset: object) -> dict[str, float | None]:
        """See :meth:`Output.columns`; values are None if the summary is not whole.

        Returns:
            ``rate_error``: how far rate times duration is from the count, beyond rounding, as a
            fraction of the count; the largest of all operations. ``latency_disorder``: how many
            latencies are out of order. ``tpcc_efficiency_error``: percentage points by which the
            printed efficiency is off, beyond rounding. ``tpcc_mix_deviation``: see
            :meth:`_mix_deviation`.
        """
        found = list(self.operations.values())
        return {
            "rate_error": max(map(_rate_error, found), default=None),
            "latency_disorder": float(sum(map(_disorder, found))) if found else None,
            "tpcc_efficiency_error": self._efficiency_error(dataset),
            "tpcc_mix_deviation": self._mix_deviation(threads),
        }

    def _efficiency_error(self, dataset: object) -> float | None:
        warehouses: int | None = getattr(dataset, "warehouses", None)
        if self.tpmc is None or self.efficiency_pct is None or warehouses is None:
            return None
        pct_per_tpmc = 100 / (TPMC_PER_WAREHOUSE * warehouses)
        apart = abs(self.efficiency_pct - self.tpmc * pct_per_tpmc)
        return max(apart - _HALF_A_UNIT * (1 + pct_per_tpmc), 0.0)

    def _mix_deviation(self, threads: int) -> float | None:
        """How many standard deviations the number of New Orders is off its expected share.

        Each transaction is drawn independently by its weight, so the number of New Orders among N
        has a standard deviation of sqrt(N p (1 - p)) (binomial). Failed transactions count as
        drawn. One transaction per thread is tolerated: the end of the run cuts off each thread's
        last transaction, more often a long one, and clients need not count it.
        """
        drawn = {name: values.count for name, values in self.operations.items()}
        total = sum(drawn.values())
        if not total:
            return None
        new_orders = drawn.get(HEADLINE, 0) + drawn.get(f"{HEADLINE}_ERR", 0)
        apart = max(abs(new_orders - HEADLINE_SHARE * total) - threads, 0.0)
        return apart / math.sqrt(total * HEADLINE_SHARE * (1 - HEADLINE_SHARE))

    def summary_json(self) -> dict[str, Any]:
        return {
            "tpmc": self.tpmc,
            "tpm_total": self.tpm_total,
            "efficiency_pct": self.efficiency_pct,
            "duration_s": self.duration_s,
            "transactions": {name: self._operation_json(name) for name in OPERATIONS},
        }

    def _operation_json(self, name: str) -> dict[str, float | None]:
        done, failed = self.operations.get(name), self.operations.get(f"{name}_ERR")
        # In a whole summary, no line of errors means no errors.
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
    """The latency over all kinds of transactions; without percentiles, which cannot be combined.

    ``avg`` and ``max`` exclude failed transactions; ``sum``, the time of all threads, includes
    them.
    """
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
    """How far rate times duration is from the count, beyond rounding, as a fraction of it."""
    least, most = (
        (operation.tpm + half) * (operation.seconds + half) / 60
        for half in (-_HALF_A_UNIT, _HALF_A_UNIT)
    )
    return max(least - operation.count, operation.count - most, 0.0) / max(operation.count, 1)


def _disorder(operation: Operation) -> int:
    """How many figures are out of order: percentiles rise up to the maximum, avg stays below it.

    A histogram's buckets may put a percentile slightly above an exact maximum: 2 % is tolerated.
    """
    rising = [
        *(operation.p50_ms, operation.p90_ms, operation.p95_ms, operation.p99_ms),
        *(operation.p999_ms, operation.max_ms),
    ]
    pairs = [*pairwise(rising), (operation.avg_ms, operation.max_ms)]
    return sum(lower > higher * 1.02 + 2 * _HALF_A_UNIT for lower, higher in pairs)


_Row = tuple[str, Operation | None]
"""An operation's name and its figures; None if one of them is impossible."""


class _Reader:
    """Reads the lines once and sorts them."""

    def __init__(self) -> None:
        self.current: list[_Row] = []
        self.summary: list[_Row] = []
        self.totals: list[dict[str, float]] = []
        self.finished = 0
        self.out_of_place = self.impossible = self.unreadable = 0
        self.other: str | None = None
        self.messages = Messages()

    def read(self, text: str) -> None:
        for line in lines_of(text):
            # Errors first: a server's message may look like any other line.
            if self.messages.take_error(line):
                continue
            if line.startswith("[{"):
                self.unreadable += sum(not self._take_figures(row) for row in _plain_lines(line))
            elif line == _FINISHED:
                self.finished += 1
            elif not (self._take_figures(line) or self.messages.take_other(line)):
                other = _other_text(line)
                # Lines of CH-benCHmark also look like those of an older go-tpc.
                self.other = other if other == _CH else self.other or other
                self.unreadable += _SPOILED.search(line) is not None

    def _take_figures(self, line: str) -> bool:
        """Read a line of the series or of the summary; False if it is neither."""
        if match := _LINE.fullmatch(line):
            prefix, operation, *printed = match.groups()
            self._add(prefix == "Summary", operation, printed)
        elif (match := _TOTALS.fullmatch(line)) and (figures := self._possible(match.groups())):
            names = ("tpmc", "tpm_total", "efficiency_pct")
            self.totals.append(dict(zip(names, figures, strict=True)))
        return match is not None

    def _add(self, is_summary: bool, name: str, printed: list[str]) -> None:
        # Lines of the series come before 'Finished', lines of the summary after it.
        if is_summary != bool(self.finished):
            self.out_of_place += 1
        operation = None
        if (figures := self._possible(printed)) is not None:
            seconds, _, *rates = figures
            operation = Operation(seconds, int(printed[1]), *rates)
        (self.summary if is_summary else self.current).append((name, operation))

    def _possible(self, printed: Sequence[str]) -> list[float] | None:
        numbers = list(map(float, printed))
        if all(math.isfinite(number) and number >= 0 for number in numbers):
            return numbers
        self.impossible += 1
        return None


def _other_text(line: str) -> str | None:
    """Why a text with such a line cannot be read at all, if it says so."""
    if _OF_CH.match(line):
        return _CH
    if _OF_TABLE.match(line):
        return "The output is a table (`--output table`); only the plain one and JSON are read."
    if _OLDER.fullmatch(line):
        return (
            "The output is of a go-tpc before 1.0.9 (tiup bench before 1.12), which prints other "
            "figures; those of 1.0.9 and later are read."
        )
    if stamped := _STAMPED.match(line):
        return not_at_start("go-tpc", stamped[1])
    return None


def _plain_lines(line: str) -> list[str]:
    """A line of ``--output json`` as plain lines; empty for what is not a row of figures."""
    try:
        return [_plain_line(row) for row in json.loads(line)]
    except (ValueError, RecursionError):
        return [""]


def _plain_line(row: Any) -> str:
    if not isinstance(row, dict) or not all(isinstance(value, str) for value in row.values()):
        return ""
    if set(row) == set(_TOTAL_LABELS):
        return ", ".join(f"{label}: {row[label]}" for label in _TOTAL_LABELS)
    if set(row) == {"Prefix", "Operation", *_LABELS}:
        figures = ", ".join(f"{label}: {row[label]}" for label in _LABELS)
        return f"{row['Prefix']}{row['Operation']} - {figures}"
    return ""


def parse(text: str) -> TpccOutput:
    """Parse the output (stdout, or both streams) of one run. Takes any text; raises nothing."""
    reader = _Reader()
    reader.read(text.replace("\r\n", "\n"))
    messages = reader.messages
    if reader.other:
        return TpccOutput(status="failed", reasons=(*messages.deaths(), reader.other))
    failures = [*messages.deaths(), *_faults(reader)]
    losses = _losses(reader, has_cause=bool(failures))
    whole = not (losses or reader.impossible) and reader.finished == 1
    summary = _summary(reader) if whole and len(reader.totals) == 1 else {}
    if failures or losses:
        losses += messages.possible_causes()
    return TpccOutput(
        status="failed" if failures else "incomplete" if losses else "complete",
        reasons=(*failures, *losses),
        cancelled=messages.cancelled,
        error_numbers=dict(sorted(messages.error_numbers.items())),
        series=tuple(_intervals(reader.current)),
        **summary,
    )


def _summary(reader: _Reader) -> dict[str, Any]:
    """The figures of a whole summary."""
    operations = {name: values for name, values in reader.summary if values}
    ended = {
        failed: sum(o.count for name, o in operations.items() if name.endswith("_ERR") == failed)
        for failed in (False, True)
    }
    totals = reader.totals[0]
    return {
        **totals,
        "tps": totals["tpm_total"] / 60,
        "duration_s": max((o.seconds for o in operations.values()), default=None),
        "latency_ms": latency_of(operations),
        "transactions": ended[False],
        # go-tpc counts transactions that the end of the run cut off as errors.
        "errors": max(ended[True] - reader.messages.cancelled, 0),
        "operations": operations,
    }


def _faults(reader: _Reader) -> list[str]:
    """Reasons why the text is not one run, or has impossible or contradictory figures."""
    reasons = []
    if not (reader.current or reader.summary or reader.totals):
        if reader.messages.other_action:
            reasons.append("The text is of `prepare` or `check`, not of a run.")
        elif reader.finished:
            reasons.append("No transaction ended during the run.")
        else:
            reasons.append("There are no figures of a run of go-tpc in the text.")
    if reader.impossible:
        reasons.append(f"Lines with values that cannot be: {reader.impossible}.")
    if reader.finished > 1 or len(reader.totals) > 1:
        reasons.append("The output holds more than one run.")
    elif len({name for name, _ in reader.summary}) != len(reader.summary):
        reasons.append("An operation is in the summary twice.")
    elif len(reader.totals) == 1 and (reason := _disagreement(reader)) is not None:
        reasons.append(reason)
    return reasons


def _disagreement(reader: _Reader) -> str | None:
    """A reason if the summary's lines contradict its last one: a line is missing or damaged."""
    rates = {name: values.tpm for name, values in reader.summary if values}
    printed = reader.totals[0]
    new_orders = rates.get(HEADLINE)
    total = math.fsum(rate for name, rate in rates.items() if not name.endswith("_ERR"))
    # go-tpc reads the clock for each line, so the two differ by the time that printing takes.
    if new_orders is not None and not math.isclose(
        new_orders, printed["tpmc"], rel_tol=1e-2, abs_tol=0.2
    ):
        return f"The summary says {new_orders} new orders a minute and a tpmC of {printed['tpmc']}."
    if new_orders is None or not math.isclose(
        total, printed["tpm_total"], rel_tol=1e-2, abs_tol=0.2 * len(OPERATIONS)
    ):
        return (
            f"The summary's operations make {total:.1f} transactions a minute, its last line says "
            f"{printed['tpm_total']}: a line is missing."
        )
    return None


def _losses(reader: _Reader, *, has_cause: bool) -> list[str]:
    reasons = []
    signals = reader.messages.signals
    if signals:
        reasons.append(f"The run was ended from outside: {signals[0]}.")
    if reader.current or reader.summary or reader.totals:
        how = "" if has_cause or signals else ": the client was killed or crashed"
        if not reader.finished and not (reader.summary or reader.totals):
            reasons.append(f"The output ends without a summary{how}.")
        elif not reader.finished:
            reasons.append("The line 'Finished' before the summary is missing.")
        elif not reader.totals:
            reasons.append("The summary is not whole: its last line, with tpmC, is missing.")
        elif not reader.summary:
            reasons.append("The summary is not whole: only its last line is there.")
    if reader.out_of_place:
        reasons.append(f"Lines of figures on the wrong side of 'Finished': {reader.out_of_place}.")
    if reader.unreadable:
        reasons.append(f"Lines of figures that could not be read: {reader.unreadable}.")
    return reasons


def _intervals(rows: Sequence[_Row]) -> Iterator[Interval]:
    """Group lines into intervals, leaving out those with an impossible line.

    An interval's lines are sorted by name, so a name that does not rise begins the next interval.
    """
    starts = [0, *(i for i, (a, b) in enumerate(pairwise(rows), 1) if b[0] <= a[0])]
    t = 0.0
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        group = {name: values for name, values in rows[start:end] if values}
        if not group or len(group) != end - start:
            continue
        t = round(t + max(values.seconds for values in group.values()), 1)
        yield Interval(
            t=t,
            tps=sum(v.tpm for name, v in group.items() if not name.endswith("_ERR")) / 60,
            errors_per_s=sum(v.tpm for name, v in group.items() if name.endswith("_ERR")) / 60,
            tpmc=group[HEADLINE].tpm if HEADLINE in group else None,
        )
