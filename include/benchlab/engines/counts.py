"""Counts: what a query takes of its servers, from two readings of their counters.

A counter only grows while its server runs. What it grew by between two readings, less what the idle
server would have added in that time, divided by the queries of the same two readings, is what a
query takes: requests, bytes, rows, CPU.

Example:
    ``Count("handler_reads", "mariadb", ("Handler_read_key", "Handler_read_next"))``
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from itertools import pairwise
from statistics import median_low

from benchlab.plan.metric import COUNT, Metric
from benchlab.results.records import Sample

THRESHOLD_PCT = 1.0
"""The smallest change of a count that is called one."""
Counters = Mapping[str, float]
"""By the name of a counter: ``Handler_read_key``, or a Prometheus sample with its labels in order,
``tidb_tikvclient_request_seconds_count{scope="false",type="Get"}``."""


@dataclass(frozen=True)
class Count:
    """One count.

    Attributes:
        name: in the store and in files.
        role: the component whose servers count it; they are added up.
        counters: whose growth is added up. A Prometheus family stands for all of its samples, and
            with labels for those that have them: ``tidb_x_count{type="Get"}``. Of several names of
            one counter in different versions (``old|new``) the first that there is.
        unit: ``1``, ``B``, ``s``, of a query.
        factor: what turns the counters' unit into that.
        late: whether the counters follow the work by seconds: they are read once it has rested.
        background: whether the work is also done, or done later, by the server for itself.
        of_load: see :attr:`Metric.of_load`.
        side_sd: see :attr:`Metric.side_sd`.
        floor: the least of a query that is compared.
        stands_still: whether it does in some releases, where it would seem to have vanished.
        sporadic: whether a server has the counters only once it has counted something: where
            another one of its role has them, a server without them is at zero.
    """

    name: str
    role: str
    counters: tuple[str, ...]
    unit: str = "1"
    factor: float = 1.0
    late: bool = False
    background: bool = False
    of_load: bool = False
    side_sd: float = 0.001
    floor: float = 0.01
    sporadic: bool = False
    stands_still: bool = False

    def metric(self) -> Metric:
        """As what a transaction takes of it is decided."""
        return Metric(
            self.name,
            self.unit,
            f"count-{self.name.replace('_', '-')}",
            COUNT,
            "files",
            less_is_better=True,
            threshold_pct=THRESHOLD_PCT,
            side_sd=self.side_sd,
            floor=self.floor,
            of_load=self.of_load,
        )


@dataclass(frozen=True)
class Counted:
    """The counters of all servers at one moment.

    Attributes:
        at: seconds, of one clock.
        servers: by role, then by name; a server that did not answer is empty.
    """

    at: float
    servers: Mapping[str, Mapping[str, Counters]]


Growth = Mapping[str, Mapping[str, Counters]]
"""By role and server, what each counter grew by in a second, or altogether."""


def grown(before: Counted, after: Counted) -> Growth:
    """What every counter grew by; without those that fell, for their server was started again.

    A counter that only the later reading has began at zero: TiKV leaves out counters that are zero.
    Of a server that did not answer one of the two times nothing is known.

    Example:
        ``grown(Counted(0, {"tidb": {"tidb-1": {"a": 1}}}), Counted(9, {"tidb": {"tidb-1":
        {"a": 4}}}))`` is ``{"tidb": {"tidb-1": {"a": 3}}}``.
    """
    return {
        role: {
            name: _difference(before.servers.get(role, {}).get(name, {}), found)
            for name, found in servers.items()
        }
        for role, servers in after.servers.items()
    }


def _difference(before: Counters, after: Counters) -> Counters:
    if not before or not after:
        return {}
    pairs = ((name, value - before.get(name, 0.0)) for name, value in after.items())
    return {name: more for name, more in pairs if more >= 0}


def per_query(
    count: Count, growth: Growth, queries: float | None, *, idle_per_s: float, seconds: float
) -> float | None:
    """What a query takes; None where a server lacks its counters, or there was no query.

    Args:
        queries: of the time in which the counters grew.
        idle_per_s: what the count is of the idle servers in a second, in the counters' unit.
        seconds: in which the counters grew.
    """
    total = added_up(count, growth)
    if total is None or not queries:
        return None
    return max(count.factor * (total - idle_per_s * seconds) / queries, 0.0)


def added_up(count: Count, growth: Growth) -> float | None:
    """What a count's counters grew by on all servers of its role; None where one lacks them.

    Of a sporadic count, where all lack them or one did not answer.
    """
    servers = growth.get(count.role, {}).values()
    totals = [_of_server(count, counters) for counters in servers]
    known = [total for total in totals if total is not None]
    is_whole = len(known) == len(totals) or (count.sporadic and all(servers))
    return math.fsum(known) if known and is_whole else None


def _of_server(count: Count, counters: Counters) -> float | None:
    """None where a counter is absent under all of its names."""
    found = [_named(wanted.split("|"), counters) for wanted in count.counters]
    known = [value for value in found if value is not None]
    return math.fsum(known) if known and len(known) == len(found) else None


def _named(names: Sequence[str], counters: Counters) -> float | None:
    for name in names:
        family, labels = labels_of(name)
        samples = [
            value
            for sample, value in counters.items()
            if (found := labels_of(sample))[0] == family and labels <= found[1]
        ]
        if samples:
            return math.fsum(samples)
    return None


@cache
def labels_of(sample: str) -> tuple[str, frozenset[tuple[str, str]]]:
    """The family and the labels of a Prometheus sample's name.

    Example:
        ``labels_of('a_count{type="Get"}')`` is ``("a_count", {("type", "Get")})``.
    """
    family, _, rest = sample.partition("{")
    return family, frozenset(re.findall(r'(\w+)="([^"]*)"', rest))


def unevenness(count: Count, growth: Growth) -> float | None:
    """What the server with the most has of an even share; None where there is no second one.

    Example:
        Of two servers that grew by 1 and by 3: 1.5.
    """
    totals = [_of_server(count, counters) for counters in growth.get(count.role, {}).values()]
    known = [total for total in totals if total is not None]
    if len(known) < 2 or len(known) < len(totals) or not sum(known):
        return None
    return max(known) * len(known) / math.fsum(known)


# What is kept of a trial


@dataclass(frozen=True)
class Row:
    """One count of one trial, its figures with seven digits.

    Attributes:
        per_query: None where its servers do not have it.
        unevenness: see :func:`unevenness`.
    """

    count: str
    role: str
    unit: str
    per_query: float | None
    per_second: float | None
    unevenness: float | None


def rows(
    counts: Iterable[Count],
    of_queries: Count,
    steady: tuple[Counted, Counted],
    *,
    rested: tuple[Counted, Counted] | None,
    idle: Mapping[str, float],
) -> list[Row]:
    """What a query took of the servers between two readings; first of all the queries themselves.

    Args:
        of_queries: the count of the queries.
        steady: the readings while the client ran.
        rested: those before and after all work, for late counts; None: these are missing.
        idle: what :func:`idle_rates` found.
    """

    def row(count: Count) -> Row:
        readings = rested if count.late else steady
        if readings is None:
            return Row(count.name, count.role, count.unit, None, None, None)
        growth, seconds = grown(*readings), readings[1].at - readings[0].at
        queries, idle_per_s = added_up(of_queries, growth), idle.get(count.name, 0.0)
        known = per_query(count, growth, queries, idle_per_s=idle_per_s, seconds=seconds)
        per_s = None if known is None or not queries else known * queries / seconds
        figures = map(_rounded, (known, per_s, unevenness(count, growth)))
        return Row(count.name, count.role, count.unit, *figures)

    return [row(count) for count in (of_queries, *counts)]


def happened(changes: Iterable[Count], first: Counted, last: Counted) -> dict[str, float | None]:
    """How often each thing happened between two readings, by name; None where that is not known.

    Example:
        ``happened([Count("region_merges", "pd", ("merges",))], before, after)`` is
        ``{"region_merges": 2.0}``.
    """
    growth = grown(first, last)
    return {one.name: added_up(one, growth) for one in changes}


def idle_rates(counts: Iterable[Count], readings: Sequence[Counted]) -> dict[str, float]:
    """What idle servers count in a second, by count, in the counters' unit.

    Of the times between two readings it is the median, the lower one of two. What servers do for
    themselves after others have worked, or now and then, such as the statistics that TiDB v8.5
    writes after ANALYZE, is in few of them, and is not there all the time.

    Example:
        Readings of 0, 10, 500 and 510 at 0, 5, 10 and 15 s: 2.0.
    """
    rates: dict[str, list[float]] = {}
    steady = [one for one in counts if not one.background]
    for first, last in pairwise(readings):
        growth = grown(first, last)
        for one in steady:
            if (total := added_up(one, growth)) is not None:
                rates.setdefault(one.name, []).append(total / (last.at - first.at))
    return {name: median_low(found) for name, found in rates.items()}


def _rounded(value: float | None) -> float | None:
    """As it is kept, so that what follows from it can be computed again."""
    return None if value is None else float(f"{value:.7g}")


def samples(found: Iterable[Row], metrics: Iterable[Metric], queries: float) -> tuple[Sample, ...]:
    """What a transaction takes of the counts that are decided, in the order of the metrics.

    Args:
        queries: of a transaction.
    """
    per_query = {row.count: row.per_query for row in found}
    return tuple(
        Sample(metric.name, None if value is None else value * queries, metric.unit)
        for metric in metrics
        if metric.family == COUNT
        for value in (per_query.get(metric.name),)
    )


def to_csv(found: Iterable[Row]) -> str:
    """One row per count; a missing value is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Row))
    for row in found:
        writer.writerow(vars(row).values())
    return text.getvalue()
