"""Levels the leaders of a cluster's regions over its stores, and says how even they are.

Only a region's leader answers reads and writes, so a store with more leaders has more work. TiKV
elects them anew at every start, and PD's scheduler leaves stores up to ten leaders apart: it moves
one only if a store's number minus the tolerance exceeds another's plus the tolerance, five by
default (``tolerant-size-ratio``; ``getTolerantResource`` and ``shouldBalance`` in PD's
``schedulers/utils.go``, the same from v4.0.0 to v8.5.3). So each restore would measure another
distribution.

Example:
    With ``a, b = (Region(id_, 1, frozenset({1, 4}), 104, 105) for id_ in (44, 45))``, which store 1
    leads, ``moves([a, b], [1, 4], [104])`` is ``{44: 4}``: store 4 is to lead region 44.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchlab.engines.tidb.status import field
from benchlab.errors import EngineError

PD_TOLERANCE = 5
# What levelling leaves: stores within one leader of the mean, or, if regions were split or merged
# meanwhile, within 5 % of it.
LEVEL, LEVEL_SHARE = 1.0, 0.05


@dataclass(frozen=True)
class Region:
    """A region as PD sees it.

    Attributes:
        leader: the store that leads it; None while it has none.
        voters: the stores that can lead it now; the leader is one of them.
        begin, end: the numbers of the tables in which its range begins and ends; -1 before all
            tables, infinite behind them.
    """

    id: int
    leader: int | None
    voters: frozenset[int]
    begin: float
    end: float

    def table(self, tables: Sequence[int]) -> int | None:
        """The first of these tables, in ascending order, that begins in it or is cut by it."""
        inside = (n for n in tables if n == self.begin or self.begin < n < self.end)
        return next(inside, None)


def read_regions(where: str, answer: Any) -> list[Region]:
    """Read PD's ``/regions``; raises as :func:`field`.

    ``{"count":1,"regions":[{"id":2,"start_key":"7480...","end_key":"","peers":[{"id":3,
    "store_id":1,"role_name":"Voter"},...],"leader":{"id":3,"store_id":1},"pending_peers":[{...}],
    "down_peers":[{"peer":{...}}]}]}``; what is empty is left out.
    """

    def at(entry: Any, name: str, absent: str) -> float:
        key = field(entry, name, str, where, "") or absent
        try:
            return table_at(key)
        except ValueError as error:
            raise EngineError(
                f"{where}: the field {name} has to be hexadecimal, and is {key[:80]!r}"
            ) from error

    def read(entry: Any) -> Region:
        def peers(key: str) -> list[Any]:
            return field(entry, key, list, where, [])

        down = [field(found, "peer", dict, where) for found in peers("down_peers")]
        unfit = {field(peer, "id", int, where) for peer in (*peers("pending_peers"), *down)}
        voters = {
            field(peer, "store_id", int, where)
            for peer in peers("peers")
            if field(peer, "id", int, where) not in unfit
            and not peer.get("is_learner")
            and not peer.get("is_witness")
        }
        led_by = field(field(entry, "leader", dict, where, {}), "store_id", int, where, 0)
        return Region(
            field(entry, "id", int, where),
            led_by or None,
            frozenset(voters | {led_by} - {0}),
            at(entry, "start_key", ""),
            at(entry, "end_key", "ff"),
        )

    return [read(entry) for entry in field(answer, "regions", list, where, [])]


def table_at(key: str) -> float:
    """The number of the table that a region's key, in hexadecimal, lies in.

    Keys are coded in groups of eight bytes with a ninth that says how many of them count; a table's
    begins with ``t`` and its number, whose sign is inverted (TiDB's ``pkg/util/codec``,
    ``pkg/tablecodec``).

    Example:
        ``table_at("7480000000000000ff6800000000000000f8")`` is 104.
    """
    coded = bytes.fromhex(key)
    plain = b"".join(coded[at : at + 8] for at in range(0, len(coded), 9))
    if plain[:1] != b"t":
        return -1 if plain[:1] < b"t" else math.inf
    return int.from_bytes(plain[1:9].ljust(8, b"\0")) - 2**63


def moves(
    regions: Iterable[Region], stores: Sequence[int], tables: Iterable[int]
) -> dict[int, int]:
    """The fewest transfers that level the leaders: the store that is to lead, by region.

    The stores get the same number of leaders, to within one, of all regions, of all tables'
    regions together, and of each table's. If a store lacks the peers for that, the result comes as
    near as the peers allow. Regions without a leader are left to TiKV.
    """
    groups = defaultdict[int | None, list[Region]](list)
    of_dataset = sorted(tables)
    for region in regions:
        if region.leader in stores:
            groups[region.table(of_dataset)].append(region)
    dealt = Counter(dict.fromkeys(stores, 0))
    found: dict[int, int] = {}
    # What is not the dataset's comes last: with it the total becomes even.
    for _, group in sorted(groups.items(), key=lambda item: (item[0] is None, item[0])):
        share = _share(group, dealt)
        dealt.update(share)
        found |= _moves(group, share)
    return found


def _share(group: Sequence[Region], dealt: Mapping[int, int]) -> dict[int, int]:
    """How many of a group each store shall lead; the remainder goes to stores with the fewest.

    So the stores' sums stay within one of each other, whatever the sizes of the groups.
    """
    base, rest = divmod(len(group), len(dealt))
    led = Counter(region.leader for region in group)
    first = sorted(dealt, key=lambda store: (dealt[store], -led[store], store))[:rest]
    return {store: base + (store in first) for store in dealt}


def _moves(group: Sequence[Region], share: Mapping[int, int]) -> dict[int, int]:
    leading: dict[int, list[Region]] = {store: [] for store in share}
    for region in group:
        leading[region.leader or 0].append(region)
    moved: dict[int, int] = {}
    while path := _path(leading, share):
        for region, source, target in path:
            leading[source].remove(region)
            leading[target].append(region)
            moved[region.id] = target
    was = {region.id: region.leader for region in group}
    return {region: store for region, store in moved.items() if was[region] != store}


def _path(
    leading: Mapping[int, Sequence[Region]], share: Mapping[int, int]
) -> list[tuple[Region, int, int]]:
    """The shortest chain of transfers from a store with too many to one with too few."""
    paths: dict[int, list[tuple[Region, int, int]]] = {
        store: [] for store, led in leading.items() if len(led) > share[store]
    }
    waiting = list(paths)
    for store in waiting:
        for region in leading[store]:
            for target in sorted(region.voters & share.keys() - paths.keys()):
                paths[target] = [*paths[store], (region, store, target)]
                if len(leading[target]) < share[target]:
                    return paths[target]
                waiting.append(target)
    return []


def beyond_level(counts: Iterable[int]) -> float | None:
    """By how many leaders the worst store is further from the mean than levelling leaves it.

    None while no store has a leader.

    Example:
        ``beyond_level([10, 10, 13])`` is 1.0: 13 is 2 from the mean, and 1 is tolerated.
    """
    known = [*counts]
    mean = sum(known) / len(known) if known else 0.0
    if not mean:
        return None
    return max(0.0, max(abs(count - mean) for count in known) - max(LEVEL, LEVEL_SHARE * mean))


def beyond_pd(counts: Iterable[int], schedule: Mapping[str, Any]) -> float | None:
    """By how many leaders the stores are further apart than PD's scheduler leaves them.

    Args:
        schedule: the part ``schedule`` of PD's configuration.

    Example:
        ``beyond_pd([0, 25], {"leader-schedule-policy": "count"})`` is 15.0.

    Returns:
        None while no store has a leader, and if PD does not balance by their number.
    """
    known = [*counts]
    if not any(known) or schedule.get("leader-schedule-policy") != "count":
        return None
    tolerance = int(schedule.get("tolerant-size-ratio") or PD_TOLERANCE)
    return max(0.0, float(max(known) - min(known) - 2 * tolerance))
