"""What ``sysbench ... run`` printed, as numbers.

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

* ``complete``: the threads started and a whole, possible summary follows; nothing fatal.
* ``incomplete``: the threads started, but the output is cut: killed, crashed, or lines lost.
* ``failed``: fatal messages, threads that never started, values that cannot be, no sysbench.

Rates are per second, latencies in milliseconds, durations in seconds. What was not printed, or
not in full, is None and never 0.
"""

from __future__ import annotations

import math
import re
from array import array
from dataclasses import dataclass, field

from benchlab.workloads.client import Latency, quoted
from benchlab.workloads.sysbench_results import Interval, Series, SysbenchOutput

__all__ = ["Interval", "Series", "SysbenchOutput", "parse"]

# Every repetition is bounded and possessive: nothing is tried twice, whatever the text. Decimals
# are as many as sysbench prints, so that a number cut short is no number.
_RATE = r"[0-9]{1,15}+\.[0-9]{2}"
_INTERVALS = re.compile(
    rf"""(?mx)^(?:
    \[\ [0-9]{{1,9}}+(?:\.[0-9]{{1,3}}+)?s\ \]\ thds:\ [0-9]{{1,9}}+
    \ tps:\ {_RATE}\ qps:\ {_RATE}\ \(r/w/o:\ {_RATE}/{_RATE}/{_RATE}\)
    \ lat\ \(ms,[0-9]{{1,3}}+%\):\ {_RATE}\ err/s:\ {_RATE}\ reconn/s:\ {_RATE}\n
    )++"""
)
_NOT_NUMERIC = {code: " " for code in range(128) if chr(code) not in "0123456789."}
# t, threads, tps, qps, reads, writes, others, percentile, its latency, errors, reconnects
_NUMBERS_PER_INTERVAL = 11
_CHUNK = 1 << 16

# Any label of such a line in what is left of the text: its beginning may be lost too.
_SPOILED_INTERVAL = re.compile(r"(?:thds|tps|reconn/s): [^\n]*")
_IMPOSSIBLE = ("nan", "inf", " -", "/-")

_VERSION = re.compile(r"(?m)^sysbench ([0-9][^\s:]{0,40})")
_STARTED = re.compile(r"(?m)^Threads started!$")
_THREADS = re.compile(r"(?m)^Number of threads: ([0-9]{1,9})$")
_FATAL = re.compile(r"FATAL: [^\n]*")
_OTHER_CAUSE = re.compile(r"(?m)^(?:PANIC: |ALERT: |invalid option: )[^\n]*")
_QUOTED_CAUSES = 5

_CHECKPOINT = re.compile(r"(?m)^\[ [^\s\]]{1,20} \] Checkpoint report:$")
_SUMMARY = re.compile(r"(?m)^SQL statistics:$")
_OTHER_SUMMARY = re.compile(r"(?m)^(?:General statistics|Throughput):$")

# printf("%.2f") of a value that cannot be prints nan or inf.
_COUNT, _VALUE = r"(-?[0-9]{1,20})", r"(-?(?:[0-9]{1,20}\.[0-9]{%d}|nan|inf))"
_VALUE2, _VALUE4 = _VALUE % 2, _VALUE % 4
_LINES: dict[str, re.Pattern[str]] = {
    name: re.compile(rf"(?m)^{line}$")
    for name, line in {
        "transactions": rf" {{4}}transactions: +{_COUNT} +\( *{_VALUE2} per sec\.\)",
        "queries": rf" {{4}}queries: +{_COUNT} +\( *{_VALUE2} per sec\.\)",
        "ignored errors": rf" {{4}}ignored errors: +{_COUNT} +\( *{_VALUE2} per sec\.\)",
        "reconnects": rf" {{4}}reconnects: +{_COUNT} +\( *{_VALUE2} per sec\.\)",
        "total time": rf" {{4}}(?:total time|time elapsed): +{_VALUE4}s",
        "min": rf" {{9}}min: +{_VALUE2}",
        "avg": rf" {{9}}avg: +{_VALUE2}",
        "max": rf" {{9}}max: +{_VALUE2}",
        "sum": rf" {{9}}sum: +{_VALUE2}",
        # The last line of all: without it the output may be cut.
        "execution time": rf" {{4}}execution time \(avg/stddev\): +{_VALUE4}/ *{_VALUE2}",
    }.items()
}
_PERCENTILE = re.compile(
    rf"(?m)^ +(?:([0-9]{{1,3}})th percentile: +{_VALUE2}|percentile stats: +disabled)$"
)


def parse(text: str) -> SysbenchOutput:
    """Read the output (stdout, or both streams) of one run. Takes any text and raises nothing."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if not text.endswith("\n"):
        text += "\n"
    series, rest = _split_series(text)
    version, threads = _VERSION.search(rest), _THREADS.search(rest)
    failures = _fatal_reasons(rest)
    losses: list[str] = []
    started = _STARTED.search(rest)
    summary = _Summary()
    if len(_VERSION.findall(rest)) > 1 or len(_STARTED.findall(rest)) > 1:
        failures.append("The output holds more than one sysbench run.")
        series = Series()
    elif not (version or started or _SUMMARY.search(rest)):
        failures.append(
            "The text is not the output of sysbench." if rest.strip() else "The output is empty."
        )
    elif started:
        block = _final_summary(rest[started.end() :], failures, losses)
        if block is not None:
            summary = _read_summary(block, failures, losses)
        if threads is None:
            losses.append("The number of threads is not in the output.")
    elif _SUMMARY.search(rest):
        losses.append("The beginning of the output is missing, before 'Threads started!'.")
    else:
        failures.append("The client never started its threads.")
    _judge_spoiled_intervals(rest, failures, losses)
    if failures or losses:
        causes = dict.fromkeys(match.group() for match in _OTHER_CAUSE.finditer(rest))
        losses += [quoted("sysbench", cause) for cause in list(causes)[:_QUOTED_CAUSES]]
    return SysbenchOutput(
        status="failed" if failures else "incomplete" if losses else "complete",
        reasons=(*failures, *losses),
        threads=int(threads.group(1)) if threads else None,
        duration_s=summary.duration_s,
        tps=summary.tps,
        qps=summary.qps,
        latency_ms=summary.latency_ms,
        transactions=summary.transactions,
        queries=summary.queries,
        errors=summary.errors,
        reconnects=summary.reconnects,
        series=series,
        version=version.group(1) if version else None,
    )


def _split_series(text: str) -> tuple[Series, str]:
    """The intervals, and the text without their lines.

    Whole runs of well-formed lines are recognised by one match and cut into numbers together:
    line by line would be half as fast, and these lines are nearly all of a long output.
    """
    series = Series()
    rest: list[str] = []
    end = 0
    for run in _INTERVALS.finditer(text):
        rest.append(text[end : run.start()])
        start, end = run.span()
        while start < end:
            # Chunks keep the strings of one in the processor's cache.
            stop = end if end - start <= _CHUNK else text.rindex("\n", start, start + _CHUNK) + 1
            _append_intervals(series, text[start:stop])
            start = stop
    rest.append(text[end:])
    return series, "".join(rest)


def _append_intervals(series: Series, lines: str) -> None:
    numbers = lines.translate(_NOT_NUMERIC).split()
    columns = [numbers[column::_NUMBERS_PER_INTERVAL] for column in range(_NUMBERS_PER_INTERVAL)]
    times, threads, tps, qps, _, _, _, percents, latencies, errors, reconnects = columns
    series.t.extend(_floats(times))
    series.threads.extend(map(int, threads))
    series.tps.extend(_floats(tps))
    series.qps.extend(_floats(qps))
    series.errors_per_s.extend(_floats(errors))
    series.reconnects_per_s.extend(_floats(reconnects))
    # Another percentile is not the 95th. And 0.00 is the lower end (1 microsecond) of an empty
    # histogram: no transaction ended, or a checkpoint report has just taken the histogram.
    if percents.count("95") != len(percents) or "0.00" in latencies:
        latencies = [
            latency if percent == "95" and latency != "0.00" else "nan"
            for percent, latency in zip(percents, latencies, strict=True)
        ]
    series.p95_ms.extend(_floats(latencies))


def _floats(column: list[str]) -> array[float]:
    # Errors and reconnects are 0.00 on nearly every line; counting is cheaper than converting.
    if column.count(column[0]) == len(column):
        return array("d", [float(column[0])]) * len(column)
    return array("d", map(float, column))


def _fatal_reasons(rest: str) -> list[str]:
    distinct = dict.fromkeys(match.group().rstrip() for match in _FATAL.finditer(rest))
    reasons = [quoted("sysbench", line) for line in list(distinct)[:_QUOTED_CAUSES]]
    if len(distinct) > _QUOTED_CAUSES:
        reasons.append(f"Other FATAL lines in the output: {len(distinct) - _QUOTED_CAUSES}.")
    return reasons


def _final_summary(run: str, failures: list[str], losses: list[str]) -> str | None:
    """The text of the summary at the end; None, and why, if there is not exactly one."""
    # A checkpoint report has the form of a summary: of those after the last checkpoint, the
    # first is the checkpoint's and only a second one is the run's.
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


@dataclass(frozen=True, slots=True)
class _Summary:
    duration_s: float | None = None
    tps: float | None = None
    qps: float | None = None
    latency_ms: Latency = field(default_factory=Latency)
    transactions: int | None = None
    queries: int | None = None
    errors: int | None = None
    reconnects: int | None = None


def _read_summary(block: str, failures: list[str], losses: list[str]) -> _Summary:
    """The numbers of a whole summary; none of them, and why, if it is cut or garbled."""
    found = {name: line.findall(block) for name, line in _LINES.items()}
    percentiles = _PERCENTILE.findall(block)
    p95 = [printed for percent, printed in percentiles if percent == "95"]
    unclear = [name for name, matches in found.items() if len(matches) != 1]
    if not percentiles or len(p95) > 1:
        unclear.append("percentile")
    if unclear:
        losses.append(f"The summary is not whole: no readable line for {', '.join(unclear)}.")
        return _Summary()

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
        # From the digits, for a float is exact up to 2 ** 53 only.
        return None if number(name) is None else int(found[name][0][0])

    number("execution time")
    number("ignored errors", 1)
    number("reconnects", 1)
    summary = _Summary(
        duration_s=number("total time"),
        tps=number("transactions", 1),
        qps=number("queries", 1),
        latency_ms=Latency(
            min=number("min"),
            avg=number("avg"),
            p95=possible("95th percentile", p95[0]) if p95 else None,
            max=number("max"),
            sum=number("sum"),
        ),
        transactions=count("transactions"),
        queries=count("queries"),
        errors=count("ignored errors"),
        reconnects=count("reconnects"),
    )
    if summary.transactions == 0:
        # sysbench prints 0.00 for latencies that nobody measured.
        failures.append("No transaction ended during the run.")
        return _Summary(
            duration_s=summary.duration_s,
            tps=summary.tps,
            qps=summary.qps,
            transactions=0,
            queries=summary.queries,
            errors=summary.errors,
            reconnects=summary.reconnects,
        )
    return summary


def _judge_spoiled_intervals(rest: str, failures: list[str], losses: list[str]) -> None:
    """Lines of the series that could not be read are left out of it, and that is told."""
    impossible = unreadable = 0
    for line in _SPOILED_INTERVAL.finditer(rest):
        if any(sign in line.group() for sign in _IMPOSSIBLE):
            impossible += 1
        else:
            unreadable += 1
    if impossible:
        failures.append(f"Lines of the series with values that cannot be: {impossible}.")
    if unreadable:
        losses.append(f"Lines of the series that could not be read: {unreadable}.")
