"""Counts: what a query takes of its servers, from two readings of their counters.

A counter only grows while its server runs. What it grew by between two readings, less what the idle
server would have added in that time, divided by the queries of the same two readings, is what a
query takes: requests, bytes, rows, CPU.

Example:
    ``Count("handler_reads", "mariadb", ("Handler_read_key", "Handler_read_next"))``
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

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
    """

    name: str
    role: str
    counters: tuple[str, ...]
    unit: str = "1"
    factor: float = 1.0
    late: bool = False
    background: bool = False


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
    counts: Iterable[Count], growth: Growth, queries: float, *, idle: Growth, seconds: float
) -> dict[str, float | None]:
    """What a query takes, by the name of the count; None where a server lacks its counters.

    Args:
        queries: of the time in which the counters grew; 0: nothing can be said.
        idle: what the counters of the idle servers grow by in a second.
        seconds: in which the counters grew.
    """
    found: dict[str, float | None] = {}
    for count in counts:
        total = added_up(count, growth)
        rest = added_up(count, idle) or 0.0
        known = total is not None and queries > 0
        found[count.name] = (
            max(count.factor * ((total or 0.0) - rest * seconds) / queries, 0.0) if known else None
        )
    return found


def added_up(count: Count, growth: Growth) -> float | None:
    """What the counters of a count grew by on all servers of its role; None where one lacks them."""
    totals = [_of_server(count, counters) for counters in growth.get(count.role, {}).values()]
    known = [total for total in totals if total is not None]
    return math.fsum(known) if known and len(known) == len(totals) else None


def _of_server(count: Count, counters: Counters) -> float | None:
    """None where a counter is absent under all of its names."""
    found = [_named(wanted.split("|"), counters) for wanted in count.counters]
    known = [value for value in found if value is not None]
    return math.fsum(known) if known and len(known) == len(found) else None


def _named(names: Sequence[str], counters: Counters) -> float | None:
    for name in names:
        if name in counters:
            return counters[name]
        family, labels = labels_of(name)
        samples = [
            value
            for (own, having), value in zip(map(labels_of, counters), counters.values(), strict=True)
            if own == family and labels.items() <= having.items()
        ]
        if samples:
            return math.fsum(samples)
    return None


def labels_of(sample: str) -> tuple[str, dict[str, str]]:
    """The family and the labels of a Prometheus sample's name.

    Example:
        ``labels_of('a_count{type="Get"}')`` is ``("a_count", {"type": "Get"})``.
    """
    family, _, rest = sample.partition("{")
    return family, dict(re.findall(r'(\w+)="([^"]*)"', rest))
