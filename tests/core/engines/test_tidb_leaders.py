"""Which leaders are moved to level them, and how far apart they may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.engines.tidb import leaders
from benchlab.engines.tidb.leaders import Region
from benchlab.errors import EngineError

TABLES = (104, 106, 108, 110)
SCHEDULE = {"leader-schedule-policy": "count", "tolerant-size-ratio": 0}


def region(number: int, leader: int, table: int = 0, voters: Sequence[int] = (1, 4, 5)) -> Region:
    """A region of one table; 0: of none of the dataset's."""
    return Region(number, leader, frozenset(voters) | {leader}, table or 3, table or 3)


def led(
    regions: Sequence[Region], moved: Mapping[int, int], tables: Sequence[int] | None = None
) -> list[int]:
    """How many each store leads after these transfers, of some tables; the most first."""
    counts = Counter(dict.fromkeys((1, 4, 5), 0))
    for one in regions:
        if tables is None or one.begin in tables:
            counts[moved.get(one.id, one.leader or 0)] += 1
    return sorted(counts.values(), reverse=True)


@st.composite
def clusters(draw: st.DrawFn) -> list[Region]:
    """Regions of the dataset's tables and others, led by any store."""
    tables = st.sampled_from((0, 0, *TABLES))
    each = st.lists(st.tuples(st.sampled_from((1, 4, 5)), tables), min_size=1, max_size=80)
    return [region(n, leader, table) for n, (leader, table) in enumerate(draw(each), start=1)]


@given(clusters())
def test_stores_tables_and_each_table_are_even_to_within_one(regions: list[Region]) -> None:
    """All three at once, by no more transfers than the stores' surpluses."""
    moved = leaders.moves(regions, [1, 4, 5], TABLES)
    for tables in (None, TABLES, *((table,) for table in TABLES)):
        most, _, fewest = led(regions, moved, tables)
        assert most - fewest <= 1
    assert leaders.beyond_level(led(regions, moved)) == 0
    assert leaders.moves([*_after(regions, moved)], [1, 4, 5], TABLES) == {}, "and they stay so"


def _after(regions: Sequence[Region], moved: Mapping[int, int]) -> list[Region]:
    return [region(one.id, moved.get(one.id, one.leader or 0), int(one.begin)) for one in regions]


def test_no_leader_is_moved_in_vain() -> None:
    """46, 31 and 35 of 112 regions, as seen on three stores, take eight transfers."""
    seen = [1] * 46 + [4] * 31 + [5] * 35
    moved = leaders.moves([region(n, store) for n, store in enumerate(seen)], [1, 4, 5], [])
    assert len(moved) == 8
    assert led([region(n, store) for n, store in enumerate(seen)], moved) == [38, 37, 37]


def test_four_tables_of_one_region_are_on_three_stores() -> None:
    """Two, two and none were seen, under totals that were even."""
    tables = [region(1, 1, 104), region(2, 1, 106), region(3, 4, 108), region(4, 4, 110)]
    others = [region(n, 5) for n in range(5, 9)] + [region(9, 1), region(10, 4)]
    moved = leaders.moves([*tables, *others], [1, 4, 5], TABLES)
    assert led(tables, moved) == [2, 1, 1]
    assert led([*tables, *others], moved) == [4, 3, 3]


def test_leaders_go_by_way_of_another_region_where_no_peer_is_direct() -> None:
    """Store 5 has no peer of what store 1 leads: store 4 gives it one, and takes one."""
    of_1 = [region(n, 1, voters=(1, 4)) for n in (1, 2, 3)]
    of_4 = [region(n, 4, voters=(4, 5)) for n in (4, 5)]
    moved = leaders.moves([*of_1, *of_4, region(6, 5)], [1, 4, 5], [])
    assert led([*of_1, *of_4, region(6, 5)], moved) == [2, 2, 2]
    assert all(store in {1: (1, 4), 2: (4, 5)}[1 + (n > 3)] for n, store in moved.items())


def test_what_no_peer_allows_is_left() -> None:
    """Nothing is asked of PD that it has to refuse."""
    alone = [region(n, 1, voters=(1,)) for n in range(6)]
    assert leaders.moves(alone, [1, 4, 5], []) == {}
    assert leaders.beyond_level([6, 0, 0]) == 3
    assert leaders.moves([Region(1, None, frozenset((1, 4)), 3, 3)], [1, 4], []) == {}


def test_regions_are_read() -> None:
    """Peers that are behind, down or only learners cannot lead; PD leaves out what is empty."""
    peers = [
        {"id": 11, "store_id": 1, "role_name": "Voter"},
        {"id": 12, "store_id": 4, "role_name": "Voter"},
        {"id": 13, "store_id": 5, "role_name": "Voter"},
        {"id": 14, "store_id": 6, "role_name": "Learner", "is_learner": True},
    ]
    about = {
        "id": 44,
        "start_key": "7480000000000000FF6800000000000000F8",
        "end_key": "7480000000000000FF6A5F720000000000FA",
        "peers": peers,
        "leader": peers[0],
        "pending_peers": [peers[1]],
        "down_peers": [{"peer": peers[1], "down_sec": 3}],
    }
    answer = {"count": 2, "regions": [about, {"id": 2}]}
    found, last = leaders.read_regions("pd-1: http://10.0.0.1:2379", answer)
    assert found == Region(44, 1, frozenset((1, 5)), 104, 106)
    assert found.table([104, 105]) == 104
    assert found.table([103, 105]) == 105, "it begins before this table, and has its beginning"
    assert found.table([106]) is None, "the region behind it begins in this table's rows"
    assert (last.leader, last.begin, last.end) == (None, -1, float("inf"))


def test_a_region_that_cannot_be_read_is_named_by_where_it_is_from() -> None:
    """No part of a program reaches a person."""
    with pytest.raises(EngineError, match=r"pd-1: .*: the field id .* missing"):
        leaders.read_regions("pd-1: http://10.0.0.1:2379", {"regions": [{"start_key": ""}]})


@pytest.mark.parametrize(
    ("counts", "level", "as_placed"),
    [
        ([37, 37, 38], 0, 0),
        ([9, 9, 8], 0, 0),
        ([26, 17, 21], pytest.approx(3.6), 0),
        ([50, 44, 46], pytest.approx(1, abs=0.001), 0),
        ([131, 119, 120], pytest.approx(1.5), 2),
        ([60, 0, 0], 39, 50),
        ([5], 0, 0),
        ([0, 0, 0], None, None),
        ([], None, None),
    ],
)
def test_how_far_from_even_leaders_may_be(
    counts: list[int], level: float | None, as_placed: float | None
) -> None:
    """Levelled: one leader or 5 %. As placed: ten, as PD leaves them."""
    assert leaders.beyond_level(counts) == level
    assert leaders.beyond_pd(counts, SCHEDULE) == as_placed


def test_pds_own_tolerance_counts() -> None:
    """As it is configured; by size it says nothing of numbers, and v3.0 has no policy."""
    assert leaders.beyond_pd([26, 16, 18], SCHEDULE | {"tolerant-size-ratio": 3.7}) == 4
    assert leaders.beyond_pd([26, 16, 18], SCHEDULE | {"leader-schedule-policy": "size"}) is None
    assert leaders.beyond_pd([26, 16, 18], {}) is None
