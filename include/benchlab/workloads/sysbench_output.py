"""Parses the output of ``sysbench ... run``.

The format is the text of sysbench 1.0.20 (``db_report_intermediate`` and
``db_report_cumulative`` in ``src/db_driver.c``, ``sb_report_cumulative`` in
``src/sysbench.c``) and of 1.1.0, which prints ``Throughput:`` and ``time elapsed:`` where
1.0.20 prints ``General statistics:`` and ``total time:``::

    [ 1s ] thds: 4 tps: 592.40 qps: 11911.86 (r/w/o: 8348.49/2374.58/1188.79) lat (ms,95%): ...
    SQL statistics:
        ...
        transactions:                        2576   (514.33 per sec.)

The exit status says less than the text (a run may end with 0, 1, 2 or a signal), so the status
here comes from the text alone:

* ``complete``: the threads started, and a whole, plausible summary follows; no fatal message.
* ``incomplete``: the threads started, but the output is cut: killed, crashed, or lines lost.
* ``failed``: fatal messages, threads that never started, impossible values, or not sysbench.

Example:
    ``parse(text).latency_ms.p95``
"""

from __future__ import annotations

import bisect
import itertools
import math
import re
from array import array
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from benchlab.workloads.output import (
    QUOTED_LINES,
    Interval,
    Latency,
    Output,
    not_at_start,
    quoted,
)

# Every repetition is bounded and possessive, so no text makes a pattern backtrack. Numbers need all
# the decimals that sysbench prints, so that a truncated one does not match.
_RATE = r"[0-9]{1,15}+\.[0-9]{2}"
_INTERVALS = re.compile(
    rf"""(?mx)^(?:
    \[\ [0-9]{{1,9}}+(?:\.[0-9]{{1,3}}+)?s\ \]\ thds:\ [0-9]{{1,9}}+
    \ tps:\ {_RATE}\ qps:\ {_RATE}\ \(r/w/o:\ {_RATE}/{_RATE}/{_RATE}\)
    \ lat\ \(ms,[0-9]{{1,3}}+%\):\ {_RATE}\ err/s:?\ {_RATE}\ reconn/s:\ {_RATE}\n
    )++"""
)
# sysbench prints these ends of its histogram as the percentile if it counted no latency.
_ENDS_OF_HISTOGRAM = ("0.00", "100000.00")
_ENDS_IN_HISTOGRAM = ("0.001", "100000.000")
_NOT_NUMERIC = {code: " " for code in range(128) if chr(code) not in "0123456789."}
# t, threads, tps, qps, reads, writes, others, percentile, its latency, errors, reconnects
_NUMBERS_PER_INTERVAL = 11
_CHUNK = 1 << 16

# Labels of such a line in the rest of the text, where even its beginning may be lost.
_SPOILED_INTERVAL = re.compile(r"(?:thds|tps|reconn/s): [^\n]*")
_IMPOSSIBLE = ("nan", "inf", " -", "/-")

_VERSION = re.compile(r"(?m)^sysbench ([0-9][^\s:]{0,40})")
# Lines of 0.4 and 0.5, for outputs without their first line.
_OF_0 = re.compile(r"(?m)^(?:OLTP test statistics:$|\[ *[0-9]{1,9}s\] threads: )")
_RUN = re.compile(r"(?m)^Running the test with following options:$")
_STARTED = re.compile(r"(?m)^Threads started!$")
_PREFIXED = re.compile(
    r"(?m)^(?P<prefix>[^\n]{1,80}?)(?:sysbench [0-9]|Threads started!$|SQL statistics:$)"
)
_THREADS = re.compile(r"(?m)^Number of threads: ([0-9]{1,9})$")
_FATAL = re.compile(r"FATAL: [^\n]*")
_OTHER_CAUSE = re.compile(r"(?m)^(?:PANIC: |ALERT: |invalid option: )[^\n]*")

_RATE_ASKED = re.compile(r"(?m)^Target transaction rate: ([0-9]{1,9})/sec$")
_QUEUE = re.compile(
    r"(?m)^\[ [^\s\]]{1,20} \] queue length: ([0-9]{1,12}),? concurrency: [0-9]{1,9}$"
)
_HISTOGRAM = "Latency histogram (values are in milliseconds)\n"
_BUCKET = re.compile(r"(?m)^ {0,12}([0-9]{1,7}\.[0-9]{3}) \|\*{0,60} {1,60}([0-9]{1,15})$")
_CHECKPOINT = re.compile(r"(?m)^\[ [^\s\]]{1,20} \] Checkpoint report:$")
_SUMMARY = re.compile(r"(?m)^SQL statistics:$")
_OTHER_SUMMARY = re.compile(r"(?m)^(?:General statistics|Throughput):$")

# printf("%.2f") prints nan or inf for an impossible value.
_COUNT, _VALUE = r"(-?[0-9]{1,20})", r"(-?(?:[0-9]{1,20}\.[0-9]{%d}|nan|inf))"
_VALUE2, _VALUE4 = _VALUE % 2, _VALUE % 4
_COUNTED = ("transactions", "queries", "ignored errors", "reconnects")
_LINES: dict[str, re.Pattern[str]] = {
    name: re.compile(rf"(?m)^{line}$")
    for name, line in {
        **{name: rf" {{4}}{name}: +{_COUNT} +\( *{_VALUE2} per sec\.\)" for name in _COUNTED},
        "total time": rf" {{4}}(?:total time|time elapsed): +{_VALUE4}s",
        **{name: rf" {{9}}{name}: +{_VALUE2}" for name in ("min", "avg", "max", "sum")},
        # The last line of all: without it the output may be cut.
        "execution time": rf" {{4}}execution time \(avg/stddev\): +{_VALUE4}/ *{_VALUE2}",
    }.items()
}
_PERCENTILE = re.compile(
    rf"(?m)^ +(?:([0-9]{{1,3}})th percentile: +{_VALUE2}|percentile stats: +disabled)$"
)


class Series(Sequence[Interval]):
    """The intervals of a run in printed order, kept as columns.

    Columns are arrays of equal length, so that a day of one-second lines takes only megabytes;
    ``Interval`` objects are made on access. An absent value is NaN in its column and None in an
    interval.
    """

    NAMES = ("t", "threads", "tps", "qps", "p95_ms", "errors_per_s", "reconnects_per_s")

    def __init__(self) -> None:
        self.columns: dict[str, array[Any]] = {
            name: array("q" if name == "threads" else "d") for name in self.NAMES
        }

    def __len__(self) -> int:
        return len(self.columns["t"])

    def __getitem__(self, index: int) -> Interval:  # type: ignore[override]  # no slices
        values: dict[str, Any] = {
            name: None if math.isnan(column[index]) else column[index]
            for name, column in self.columns.items()
        }
        return Interval(**values)


@dataclass(frozen=True, kw_only=True)
class SysbenchOutput(Output):
    """The output of one run of sysbench.

    Figures of the summary are set only if it is whole, and are as printed. After a checkpoint
    report they cover the time since that report, except ``duration_s``, which covers the run.

    Attributes:
        queue: how many waited for a thread when it was last printed.
        p50_ms, p99_ms: latencies, where the histogram was printed.
    """

    SERIES: ClassVar = Series.NAMES

    queue: int | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None

    def samples(self) -> dict[str, float | None]:
        asked_for = {"p50_ms": self.p50_ms, "p99_ms": self.p99_ms, "rate": self.rate}
        return {
            "tps": self.tps,
            "qps": self.qps,
            "p95_ms": self.latency_ms.p95,
            **{name: value for name, value in asked_for.items() if value is not None},
            "avg_ms": self.latency_ms.avg,
            "min_ms": self.latency_ms.min,
            "max_ms": self.latency_ms.max,
            "duration_s": self.duration_s,
            "errors": self.errors,
            "reconnects": self.reconnects,
        }

    def unexpected_errors(self, expected: Sequence[int]) -> float | None:
        """None: sysbench ends at the first unexpected error, without a summary."""
        return None

    def columns(self, threads: int, dataset: object) -> dict[str, float | None]:
        """See :meth:`Output.columns`; sysbench needs neither argument.

        Returns:
            ``rate_error``: how far the printed rate times the duration is from the printed count,
            as a fraction. ``latency_disorder``: how many latencies are out of order.
            ``behind``: of the transactions of the whole run, which fraction waited near its end.
        """
        rate_error = None
        if self.tps is not None and self.duration_s is not None and self.transactions:
            rate_error = abs(self.tps * self.duration_s / self.transactions - 1)
        behind = None
        if self.rate and self.duration_s and self.queue is not None:
            behind = self.queue / (self.rate * self.duration_s)
        return {
            "rate_error": rate_error,
            "latency_disorder": latency_disorder(self.latency_ms),
            "behind": behind,
        }

    def summary_json(self) -> dict[str, Any]:
        return {
            "threads": self.threads,
            "duration_s": self.duration_s,
            "tps": self.tps,
            "qps": self.qps,
            "rate": self.rate,
            "queue": self.queue,
            "latency_ms": asdict(self.latency_ms) | {"p50": self.p50_ms, "p99": self.p99_ms},
            "errors": self.errors,
            "reconnects": self.reconnects,
        }


def latency_disorder(latency: Latency) -> float | None:
    """How many latencies are out of order (0 <= min <= avg <= max, min <= p95 <= max).

    sysbench takes percentiles from a histogram with buckets about 1.8 % apart, so a p95 may be
    printed one bucket above the true maximum, or below the minimum.

    Example:
        ``latency_disorder(Latency(min=1, avg=2, p95=3, max=2.5))`` is 1.0.
    """
    low, mean, p95, high = latency.min, latency.avg, latency.p95, latency.max
    if high is None or mean is None:
        return None
    ordered = [(0.0, value) for value in (low, mean, p95, high)]
    ordered += [(low or 0.0, mean), (mean, high), (p95 or 0.0, high * 1.02)]
    if low is not None and p95 is not None:
        ordered.append((low, p95 * 1.02 + 0.01))
    # `not a <= b` rather than `a > b`, so that NaN counts as out of order.
    return float(sum(b is not None and not a <= b for a, b in ordered))


def parse(text: str) -> SysbenchOutput:
    """Parse the output (stdout, or both streams) of one run. Takes any text; raises nothing."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if not text.endswith("\n"):
        text += "\n"
    series, rest = _split_series(text)
    threads = _THREADS.search(rest)
    failures = _fatal_reasons(rest)
    losses: list[str] = []
    started = _STARTED.search(rest)
    summary: dict[str, Any] = {}
    if other := _other_text(rest):
        return SysbenchOutput(status="failed", reasons=(*failures, other))
    if max(len(_RUN.findall(rest)), len(_STARTED.findall(rest))) > 1:
        failures.append("The output holds more than one sysbench run.")
        series = Series()
    elif started:
        block = _final_summary(rest[started.end() :], failures, losses)
        if block is not None:
            summary = _with_percentiles(_read_summary(block, failures, losses), rest)
        if threads is None:
            losses.append("The number of threads is not in the output.")
    elif _SUMMARY.search(rest):
        losses.append("The beginning of the output is missing, before 'Threads started!'.")
    else:
        failures.append("The client never started its threads.")
    _judge_spoiled_intervals(rest, failures, losses)
    if failures or losses:
        losses += quoted("sysbench", _OTHER_CAUSE.findall(rest))
    return SysbenchOutput(
        status="failed" if failures else "incomplete" if losses else "complete",
        reasons=(*failures, *losses),
        threads=int(threads[1]) if threads else None,
        series=series,
        rate=_last(_RATE_ASKED, rest),
        queue=_last(_QUEUE, rest),
        **summary,
    )


def _other_text(rest: str) -> str | None:
    """Why a text cannot be read at all: it is not of this program, or its lines have a prefix."""
    version = _VERSION.search(rest)
    if (version and version[1].startswith("0.")) or _OF_0.search(rest):
        number = version[1] if version else "before 1.0"
        return (
            f"The output is of sysbench {number}, which prints other lines than sysbench 1.0 "
            "and 1.1; only those are read."
        )
    if version or _STARTED.search(rest) or _SUMMARY.search(rest):
        return None
    if prefixed := _PREFIXED.search(rest):
        return not_at_start("sysbench", prefixed["prefix"])
    return "The text is not the output of sysbench." if rest.strip() else "The output is empty."


def _split_series(text: str) -> tuple[Series, str]:
    """The intervals, and the text without their lines.

    One match takes all adjacent well-formed lines, nearly all of a long output; matching line by
    line would be half as fast.
    """
    series = Series()
    rest: list[str] = []
    end = 0
    for run in _INTERVALS.finditer(text):
        rest.append(text[end : run.start()])
        start, end = run.span()
        while start < end:
            # In chunks, whose strings stay in the processor's cache.
            stop = end if end - start <= _CHUNK else text.rindex("\n", start, start + _CHUNK) + 1
            _append_intervals(series, text[start:stop])
            start = stop
    rest.append(text[end:])
    return series, "".join(rest)


def _append_intervals(series: Series, lines: str) -> None:
    numbers = lines.translate(_NOT_NUMERIC).split()
    columns = [numbers[column::_NUMBERS_PER_INTERVAL] for column in range(_NUMBERS_PER_INTERVAL)]
    times, threads, tps, qps, _, _, _, percents, latencies, errors, reconnects = columns
    # A latency counts only if it is the 95th percentile. 0.00 comes from an empty histogram: no
    # transaction ended, or a checkpoint report has just emptied it.
    if percents.count("95") != len(percents) or any(end in latencies for end in _ENDS_OF_HISTOGRAM):
        latencies = [
            latency if percent == "95" and latency not in _ENDS_OF_HISTOGRAM else "nan"
            for percent, latency in zip(percents, latencies, strict=True)
        ]
    series.columns["threads"].extend(map(int, threads))
    printed = {"t": times, "tps": tps, "qps": qps, "p95_ms": latencies}
    for name, values in {**printed, "errors_per_s": errors, "reconnects_per_s": reconnects}.items():
        series.columns[name].extend(_floats(values))


def _floats(column: list[str]) -> array[float]:
    # Errors and reconnects are 0.00 on nearly every line; counting is cheaper than converting.
    if column.count(column[0]) == len(column):
        return array("d", [float(column[0])]) * len(column)
    return array("d", map(float, column))


def _fatal_reasons(rest: str) -> list[str]:
    lines = _FATAL.findall(rest)
    distinct, reasons = {line.rstrip() for line in lines}, quoted("sysbench", lines)
    if len(distinct) > QUOTED_LINES:
        reasons.append(f"Other FATAL lines in the output: {len(distinct) - QUOTED_LINES}.")
    return reasons


def _final_summary(run: str, failures: list[str], losses: list[str]) -> str | None:
    """The text of the summary at the end; None if there is not exactly one.

    The reason is then added to ``failures`` or ``losses``.
    """
    # A checkpoint report has the form of a summary: after the last checkpoint, the first summary
    # is the checkpoint's, and only a second one is the run's.
    checkpoints = list(_CHECKPOINT.finditer(run))
    found = list(_SUMMARY.finditer(run, checkpoints[-1].end() if checkpoints else 0))
    if checkpoints:
        del found[:1]
    if len(found) == 1:
        return run[found[0].end() :]
    if len(found) > 1:
        failures.append("The output holds more than one summary.")
    elif not checkpoints and _OTHER_SUMMARY.search(run):
        failures.append("The summary is not of a database workload: no 'SQL statistics:' in it.")
    elif checkpoints:
        losses.append("The output ends after a checkpoint report, without a summary of the run.")
    else:
        how = "" if failures else ": the client was killed or crashed"
        losses.append(f"The output ends without a summary{how}.")
    return None


def _read_summary(block: str, failures: list[str], losses: list[str]) -> dict[str, Any]:
    """The figures of a summary; empty if it is cut or garbled, with a reason in ``losses``."""
    found = {name: line.findall(block) for name, line in _LINES.items()}
    percentiles = _PERCENTILE.findall(block)
    p95 = [printed for percent, printed in percentiles if percent == "95"]
    unclear = [name for name, matches in found.items() if len(matches) != 1]
    if not percentiles or len(p95) > 1:
        unclear.append("percentile")
    if unclear:
        losses.append(f"The summary is not whole: no readable line for {', '.join(unclear)}.")
        return {}

    def number(name: str, column: int = 0) -> float | None:
        row = found[name][0]
        return possible(name, row[column] if isinstance(row, tuple) else row)

    def possible(name: str, printed: str) -> float | None:
        value = float(printed)
        if math.isfinite(value) and value >= 0:
            return value
        failures.append(f"The summary says {printed} for {name}, which cannot be.")
        return None

    def count(name: str) -> int | None:
        # From the digits, since a float is exact only up to 2 ** 53.
        return None if number(name) is None else int(found[name][0][0])

    number("execution time")
    number("ignored errors", 1)
    number("reconnects", 1)
    count("queries")
    summary = {
        "duration_s": number("total time"),
        "tps": number("transactions", 1),
        "qps": number("queries", 1),
        "latency_ms": Latency(
            min=number("min"),
            avg=number("avg"),
            p95=possible("95th percentile", p95[0])
            if p95 and p95[0] not in _ENDS_OF_HISTOGRAM
            else None,
            max=number("max"),
            sum=number("sum"),
        ),
        "transactions": count("transactions"),
        "errors": count("ignored errors"),
        "reconnects": count("reconnects"),
    }
    if summary["transactions"] == 0:
        # sysbench then prints latencies of 0.00, which were not measured.
        failures.append("No transaction ended during the run.")
        del summary["latency_ms"]
    return summary


def _with_percentiles(summary: dict[str, Any], rest: str) -> dict[str, Any]:
    """The figures with p50 and p99, as sysbench takes its percentile of its histogram.

    Without them if it was not printed, or is not of all transactions. See
    ``sb_histogram_get_pct_cumulative`` in ``src/sb_histogram.c``.
    """
    _, _, lines = rest.rpartition(_HISTOGRAM)
    buckets = [(value, int(count)) for value, count in _BUCKET.findall(lines)]
    up_to = list(itertools.accumulate(count for _, count in buckets))
    if not up_to or "latency_ms" not in summary or up_to[-1] != summary["transactions"]:
        return summary
    found = {}
    for percent in (50, 99):
        place = bisect.bisect_left(up_to, math.floor(up_to[-1] * percent / 100 + 0.5))
        value, _ = buckets[place]
        if value not in _ENDS_IN_HISTOGRAM:
            found[f"p{percent}_ms"] = float(value)
    return summary | found


def _last(printed: re.Pattern[str], rest: str) -> int | None:
    """The number on the last of such lines; None if there is none."""
    found = printed.findall(rest)
    return int(found[-1]) if found else None


def _judge_spoiled_intervals(rest: str, failures: list[str], losses: list[str]) -> None:
    """Report how many lines look like the series' but could not be read."""
    lines = _SPOILED_INTERVAL.findall(rest)
    impossible = sum(any(sign in line for sign in _IMPOSSIBLE) for line in lines)
    if impossible:
        failures.append(f"Lines of the series with values that cannot be: {impossible}.")
    if unreadable := len(lines) - impossible:
        losses.append(f"Lines of the series that could not be read: {unreadable}.")
