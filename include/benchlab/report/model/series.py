"""Time series of trials, read from the CSV objects that the store keeps for each.

Example:
    ``table(content)["tikv-1"]["cpu_busy"]`` is ``[(1.0, 0.42), (2.0, None), ...]``; a client's
    series is under :data:`CLIENT`. A report has pairs of trials, downsampled so that a page with
    hundreds of them stays small::

        found = read(results, "tps", store.read_bytes)
        found["oltp_insert"][0].sides["candidate"].throughput  # (1012.5, 1020.0, None, ...)
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchlab.errors import BenchlabError
from benchlab.plan.report_type import Side
from benchlab.results.records import TrialResult

CLIENT = ""

ReadObject = Callable[[str], bytes]
"""Reads an object of the store by name; raises :class:`BenchlabError` if it is not there."""

Line = Sequence[tuple[float, float | None]]
"""Pairs of seconds since the start and a value; None: not known."""

Series = Mapping[str, Mapping[str, Line]]
"""By host and column."""

POINTS = 40
"""The most points a report draws of a trial, each a mean over an equal share of its time."""
# Larger tables are not read: half an hour of ten hosts is a fifth of that.
_MOST_BYTES = 8 * 2**20

Points = tuple[float | None, ...]


class UnreadableSeriesError(BenchlabError):
    """A trial's object cannot be read as a series; the message says why."""


def table(content: bytes, columns: Collection[str] | None = None) -> Series:
    """Read the series of a client or of several hosts.

    Args:
        content: CSV with a column ``t`` in seconds and, if it is of hosts, a column ``host``.
        columns: the columns to read; None: all.

    Raises:
        UnreadableSeriesError: it is larger than 8 MiB, lacks a column, or is not such a table.
    """
    if len(content) > _MOST_BYTES:
        raise UnreadableSeriesError(f"{len(content)} bytes; a page shows at most {_MOST_BYTES}")
    try:
        return _table(content.decode(), columns)
    except (ValueError, LookupError, csv.Error) as error:
        raise UnreadableSeriesError("it is not the table that Benchlab writes") from error


def _table(text: str, columns: Collection[str] | None) -> Series:
    rows = csv.reader(text.splitlines(), strict=True)
    heading = next(rows, [])
    at, host = heading.index("t"), heading.index("host") if "host" in heading else None
    wanted = [name for name in heading if name not in ("t", "host")] if columns is None else columns
    places = [(name, heading.index(name)) for name in wanted]
    found: dict[str, dict[str, list[tuple[float, float | None]]]] = defaultdict(
        lambda: {name: [] for name, _ in places}
    )
    for row in rows:
        second = float(row[at])
        if not math.isfinite(second):
            raise ValueError(row[at])
        lines = found[CLIENT if host is None else row[host]]
        for name, place in places:
            value = float(row[place]) if row[place] else math.nan
            lines[name].append((second, value if math.isfinite(value) else None))
    return found


@dataclass(frozen=True)
class TrialSeries:
    """One trial, downsampled to at most :data:`POINTS` equal parts of its time; None: not known.

    Attributes:
        cpu, disk: the busiest host's in each part, as a fraction of time.
    """

    throughput: Points
    cpu: Points
    disk: Points


@dataclass(frozen=True)
class PairSeries:
    """Both sides' trials of one cell, round and attempt.

    Attributes:
        seconds: the length of a trial.
        sides: those with a stored series.
    """

    threads: int
    round: int
    attempt: int
    seconds: int
    sides: dict[Side, TrialSeries] = field(default_factory=dict)


def read(
    results: Iterable[TrialResult], metric: str, read_object: ReadObject
) -> dict[str, tuple[PairSeries, ...]]:
    """Read all trials' series by workload, sorted by thread count, round and attempt.

    Args:
        metric: the throughput's name, such as ``tpmc``.
    """
    pairs: dict[tuple[str, int, int, int], PairSeries] = {}
    for result in results:
        trial = result.trial
        found = _of_trial(result, metric, read_object)
        if found is not None:
            key = (trial.workload, trial.threads, trial.round, result.attempt)
            pair = pairs.setdefault(key, PairSeries(*key[1:], trial.seconds))
            pair.sides[trial.side] = found
    by_workload: dict[str, list[PairSeries]] = defaultdict(list)
    for key in sorted(pairs):
        by_workload[key[0]].append(pairs[key])
    return {workload: tuple(found) for workload, found in by_workload.items()}


def _of_trial(result: TrialResult, metric: str, read_object: ReadObject) -> TrialSeries | None:
    seconds = result.trial.seconds
    client = _lines(result.series, (metric,), read_object)
    if not client:
        return None
    hosts = _lines(result.hosts, ("cpu_busy", "disk_busy"), read_object)
    cpu, disk = (
        _thinned([lines[name] for lines in hosts], seconds) for name in ("cpu_busy", "disk_busy")
    )
    return TrialSeries(_thinned([client[0][metric]], seconds), cpu, disk)


def _lines(
    name: str | None, columns: Sequence[str], read_object: ReadObject
) -> list[Mapping[str, Line]]:
    """The columns of an object, an item per host; empty if it cannot be read."""
    if name is None:
        return []
    try:
        return list(table(read_object(name), columns).values())
    except BenchlabError:
        return []


def _thinned(lines: Iterable[Line], seconds: int) -> Points:
    """The mean of each equal part of the time; with several hosts, the largest of their means."""
    parts = min(POINTS, seconds)
    largest: list[float | None] = [None] * parts
    for line in lines:
        known: dict[int, list[float]] = defaultdict(list)
        for second, value in line:
            if value is not None:
                # The value at a second is about the time before it.
                part = min(math.ceil(second / seconds * parts), parts) - 1
                known[max(part, 0)].append(value)
        for part, values in known.items():
            mean, before = math.fsum(values) / len(values), largest[part]
            largest[part] = mean if before is None else max(before, mean)
    return tuple(largest)
