"""Counters become counts: what a query takes, whatever servers, versions and restarts do."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from benchlab.engines import counts, mariadb_counts
from benchlab.engines.counts import Count, Counted, Counters, Row
from benchlab.plan.metric import COUNT, THROUGHPUT, Metric
from benchlab.results.records import Sample

QUERIES = Count("queries", "tidb", ("queries_total",))
GETS = Count("gets", "tikv", ('requests_total{type="Get"}',))


def counted(at: float, tidb: Mapping[str, Counters], tikv: Mapping[str, Counters]) -> Counted:
    """What the servers said at a moment."""
    return Counted(at, {"tidb": tidb, "tikv": tikv})


def gets(value: float, *, store: str = "1") -> Counters:
    """A store's counters."""
    return {f'requests_total{{store="{store}",type="Get"}}': value, 'x{type="Get"}': 9.0}


def per_query(first: Counted, last: Counted) -> dict[str, float | None]:
    """What a query took, by count."""
    return {
        row.count: row.per_query
        for row in counts.rows([GETS], QUERIES, (first, last), rested=None, idle={})
    }


def test_growth_of_all_servers_is_divided_by_the_queries_of_the_same_readings() -> None:
    """Requests of two stores, queries of one TiDB."""
    first = counted(10, {"tidb-1": {"queries_total": 5}}, {"tikv-1": gets(7), "tikv-2": gets(0)})
    last = counted(
        14, {"tidb-1": {"queries_total": 105}}, {"tikv-1": gets(57), "tikv-2": gets(150)}
    )
    queries, found = counts.rows([GETS], QUERIES, (first, last), rested=None, idle={})
    assert (queries.per_query, queries.per_second) == (1.0, 25.0)
    assert (found.per_query, found.per_second) == (2.0, 50.0)
    assert found.unevenness == 1.5  # 150 of 200, where an even share is 100


def test_a_server_that_was_started_again_or_does_not_answer_leaves_no_count() -> None:
    """A sum without one of its servers would be a wrong figure."""
    before = counted(0, {"tidb-1": {"queries_total": 0}}, {"tikv-1": gets(90), "tikv-2": gets(9)})
    restarted = counted(
        9, {"tidb-1": {"queries_total": 9}}, {"tikv-1": gets(5), "tikv-2": gets(99)}
    )
    silent = counted(9, {"tidb-1": {"queries_total": 9}}, {"tikv-1": gets(95), "tikv-2": {}})
    for after in (restarted, silent):
        assert per_query(before, after) == {"queries": 1.0, "gets": None}


def test_a_counter_that_no_server_has_is_missing_and_one_that_was_not_there_yet_began_at_zero() -> (
    None
):
    """TiKV leaves out counters that are zero."""
    tidb = {"tidb-1": {"queries_total": 0.0}}, {"tidb-1": {"queries_total": 10.0}}
    lacking = {"tikv-1": {"y": 1.0}}
    assert per_query(counted(0, tidb[0], lacking), counted(1, tidb[1], lacking))["gets"] is None
    later = {"tikv-1": {"y": 1.0, **gets(30)}}
    assert per_query(counted(0, tidb[0], lacking), counted(1, tidb[1], later))["gets"] == 3.0


def test_without_a_query_nothing_is_said() -> None:
    """Nothing is divided by zero."""
    one = counted(0, {"tidb-1": {"queries_total": 4}}, {"tikv-1": gets(1)})
    same = counted(9, {"tidb-1": {"queries_total": 4}}, {"tikv-1": gets(2)})
    assert per_query(one, same) == {"queries": None, "gets": None}


def test_a_burst_of_idle_servers_is_no_steady_work() -> None:
    """After ANALYZE a TiDB v8.5 writes statistics for half a minute; a trial has none of that."""
    grown = (0.0, 10.0, 500.0, 512.0, 522.0)
    watched = [counted(15.0 * n, {}, {"tikv-1": gets(value)}) for n, value in enumerate(grown)]
    assert counts.idle_rates([GETS], watched) == {"gets": 10 / 15}


def test_idle_work_is_subtracted_and_never_makes_a_count_negative() -> None:
    """An idle TiDB allocates and asks on its own account."""
    growth = counts.grown(
        counted(0, {}, {"tikv-1": gets(0)}), counted(10, {}, {"tikv-1": gets(120)})
    )
    assert counts.per_query(GETS, growth, 50, idle_per_s=2.0, seconds=10) == 2.0
    assert counts.per_query(GETS, growth, 50, idle_per_s=99.0, seconds=10) == 0.0


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ('a{type="Get"}', 3.0),
        ("a", 7.0),
        ("b|a", 7.0),
        ('b{type="Get"}|a{scope="x"}', 1.0),
        ("b", None),
        ('a{type="Put"}', None),
    ],
)
def test_a_family_stands_for_its_samples_and_the_first_name_there_is_counts(
    wanted: str, found: float | None
) -> None:
    """Names differ by version, labels by what is asked."""
    growth = {"r": {"s": {'a{scope="x",type="Get"}': 1.0, 'a{type="Get"}': 2.0, "a": 4.0}}}
    assert counts.added_up(Count("c", "r", (wanted,)), growth) == found


def test_what_is_kept_of_a_trial_gives_its_samples_again() -> None:
    """Evidence computes the samples again from the kept rows."""
    rows = [Row("gets", "tikv", "1", 1.25, 50.0, None), Row("other", "tikv", "B", None, None, None)]
    metrics = [
        Metric("tps", "1/s", family=THROUGHPUT),
        Metric("gets", "1", family=COUNT),
        Metric("absent", "B", family=COUNT),
    ]
    assert counts.samples(rows, metrics, 20.0) == (
        Sample("gets", 25.0, "1"),
        Sample("absent", None, "B"),
    )
    assert counts.to_csv(rows).splitlines() == [
        "count,role,unit,per_query,per_second,unevenness",
        "gets,tikv,1,1.25,50.0,",
        "other,tikv,B,,,",
    ]


PRINTED = """Handler_read_key\t12
Handler_read_next\t3
Innodb_os_log_written\t4096
Rpl_semi_sync_master_status\tOFF
ticks: 100
4711 (maria db) x) S 1 2 3 0 -1 4194560 900 0 7 0 250 50 0 0 20 0 9 0 100 1 2
read_bytes: 8192
write_bytes: 100
voluntary_ctxt_switches:\t5
nonvoluntary_ctxt_switches:\t1
voluntary_ctxt_switches:\t6
"""


def test_mariadbs_status_and_its_process_are_read() -> None:
    """One text has the status, the process and its threads."""
    found = mariadb_counts.read(PRINTED)
    assert found["Handler_read_key"] == 12
    assert (found["process_user_s"], found["process_system_s"]) == (2.5, 0.5)
    assert (found["process_minor_faults"], found["process_major_faults"]) == (900, 7)
    assert found["voluntary_ctxt_switches"] == 11  # of all threads
    assert found["read_bytes"] == 8192


def test_queries_are_the_statements_of_clients() -> None:
    """Not what a trigger does for one of them, and not the two statements of each reading."""
    printed = "Questions\t{}\nCom_show_status\t{}\nCom_update\t{}\nCom_insert\t{}\n"
    first, last = (
        Counted(at, {"mariadb": {"m": mariadb_counts.read(printed.format(*values))}})
        for at, values in ((0, (39, 2, 0, 16)), (9, (1041, 3, 1000, 66)))
    )
    queries, *_ = counts.rows([], mariadb_counts.QUERIES, (first, last), rested=None, idle={})
    assert queries.per_second == pytest.approx(1000 / 9)


@pytest.mark.parametrize("answer", ["", "ERROR 2002 (HY000): no server\n", "ticks: x\n1 (a) S 2\n"])
def test_what_is_no_answer_of_mariadb_has_no_cpu(answer: str) -> None:
    """Missing is missing, never zero."""
    assert "process_user_s" not in mariadb_counts.read(answer)
