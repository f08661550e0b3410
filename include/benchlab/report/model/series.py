"""What each trial did second by second, from the objects that the store keeps of it.

Example:
    ``table(content)["tikv-1"]["cpu_busy"]`` is ``[(1.0, 0.42), (2.0, None), ...]``; a client's
    series is under :data:`CLIENT`. A report has pairs of trials, thinned so that a page of
    hundreds stays small::

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
"""An object of the store by its name; raises a :class:`BenchlabError` where it is not there."""

Line = Sequence[tuple[float, float | None]]
"""Seconds since the start, and a value; None: not known then."""

Series = Mapping[str, Mapping[str, Line]]
"""By host and column."""

POINTS = 40
"""So many are drawn of a trial in a report at most, each the mean of its share of the seconds."""
# Larger tables are not read: half an hour of ten hosts is a fifth of that.
_MOST_BYTES = 8 * 2**20

Points = tuple[float | None, ...]


class UnreadableSeriesError(BenchlabError):
    """An object of a trial is no series; the message says why."""


def table(content: bytes, columns: Collection[str] | None = None) -> Series:
    """A client's series, or the samples of several hosts.

    Args:
        columns: those that are wanted; None: all.

    Raises:
        UnreadableSeriesError: it is too large for a page, or no such table.
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
    """One trial in up to :data:`POINTS` equal parts of its time; None: not known there.

    Attributes:
        cpu, disk: of the host that was busiest in that part, as a fraction of its time.
    """

    throughput: Points
    cpu: Points
    disk: Points


@dataclass(frozen=True)
class PairSeries:
    """The trials of both sides that are compared with each other.

    Attributes:
        seconds: the length of a trial.
        sides: those of which anything is kept.
    """

    threads: int
    round: int
    attempt: int
    seconds: int
    sides: dict[Side, TrialSeries] = field(default_factory=dict)


def read(
    results: Iterable[TrialResult], metric: str, read_object: ReadObject
) -> dict[str, tuple[PairSeries, ...]]:
    """The series of all trials by workload, by thread count, round and attempt.

    Args:
        metric: of the throughput, such as ``tpmc``.
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
    """An object's columns by host; a report is written without one that cannot be had."""
    if name is None:
        return []
    try:
        return list(table(read_object(name), columns).values())
    except BenchlabError:
        return []


def _thinned(lines: Iterable[Line], seconds: int) -> Points:
    """Means of equal parts of the time; of several hosts each part has the largest."""
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
