"""What each trial did second by second: its throughput, and CPU and disk of its busiest host.

Read from the trials' objects in the store, and thinned so that a page of hundreds stays small::

    found = read(results, "tps", store.read_bytes)
    found["oltp_insert"][0].sides["candidate"].throughput  # (1012.5, 1020.0, None, ...)
"""

from __future__ import annotations

import contextlib
import csv
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchlab.errors import BenchlabError
from benchlab.plan.report_type import Side
from benchlab.results.records import TrialResult

ReadObject = Callable[[str], bytes]
"""An object of the store by its name; raises a :class:`BenchlabError` where it is not there."""

POINTS = 40
"""So many are drawn of a trial at most, each the mean of its share of the seconds."""
# Larger host samples are not read: half an hour of ten hosts is a fifth of that.
_MOST_BYTES = 8 * 2**20

Points = tuple[float | None, ...]


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
    results: Iterable[TrialResult], metrics: Mapping[str, str], read_object: ReadObject
) -> dict[str, tuple[PairSeries, ...]]:
    """The series of all trials by workload, by thread count, round and attempt.

    Args:
        metrics: the metric of each workload's throughput: ``{"tpcc": "tpmc"}``.
    """
    pairs: dict[tuple[str, int, int, int], PairSeries] = {}
    for result in results:
        trial = result.trial
        found = _of_trial(result, metrics[trial.workload], read_object)
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
    throughput = _columns(result.series, (metric,), seconds, read_object)
    if throughput is None:
        return None
    hosts = _columns(result.hosts, ("cpu_busy", "disk_busy"), seconds, read_object)
    return TrialSeries(throughput[0], *(hosts or ((), ())))


def _columns(
    name: str | None, columns: Sequence[str], seconds: int, read_object: ReadObject
) -> list[Points] | None:
    """Columns of an object, thinned; None where it is not there or cannot be read.

    Of several hosts each part has the largest mean.
    """
    if name is None:
        return None
    with contextlib.suppress(BenchlabError, ValueError, LookupError, csv.Error):
        content = read_object(name)
        if len(content) > _MOST_BYTES:
            return None
        rows = csv.reader(content.decode().splitlines())
        heading = next(rows, [])
        at = heading.index("t")
        host = heading.index("host") if "host" in heading else None
        places = [heading.index(column) for column in columns]
        parts = min(POINTS, seconds)
        sums: dict[tuple[str, int], list[list[float]]] = {}
        for row in rows:
            # The value at a second is about the time before it.
            part = min(math.ceil(float(row[at]) / seconds * parts), parts) - 1
            own = sums.setdefault((row[host] if host is not None else "", max(part, 0)), [])
            own.append([float(row[place]) if row[place] else math.nan for place in places])
        return [_thinned(sums, number, parts) for number in range(len(columns))]
    return None


def _thinned(sums: Mapping[tuple[str, int], list[list[float]]], number: int, parts: int) -> Points:
    largest: list[float | None] = [None] * parts
    for (_, part), rows in sums.items():
        known = [row[number] for row in rows if math.isfinite(row[number])]
        if known:
            mean, before = math.fsum(known) / len(known), largest[part]
            largest[part] = mean if before is None else max(before, mean)
    return tuple(largest)
