"""Statements as servers keep them: read from real answers, added up, without any literal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from benchlab.engines import mariadb_statements
from benchlab.engines.statements import Executed, PlanLine, unescaped, without_literals
from benchlab.engines.tidb import statements
from benchlab.engines.tidb.statements import TiDBStatements, executable, read_plan
from benchlab.errors import EngineError
from tests.builders.summaries import INSTANCE, Summary, golden


def by_text(executed: Sequence[Executed], part: str) -> Executed:
    """The statement whose text has this part."""
    (found,) = [one for one in executed if part in one.text]
    return found


def test_tables_that_differ_by_a_number_are_added_up() -> None:
    """Executions and times of TiDB v8.5.3's rows; an average counts for all executions."""
    found = Summary().statements().read()
    select = by_text(found.statements, "select `c` from `sbtest?` where `id` = ?")
    assert select.executions == 1210 + 790
    assert select.seconds == pytest.approx((681269135 + 572536173) / 1e9)
    assert select.figures["plans_from_cache"] == 1208 + 788
    assert select.plans == (
        (((PlanLine("Point_Get", "root", "table:sbtest?, handle:?")),), 2000.0),
    )
    ordered = by_text(found.statements, "select distinct")
    assert ordered.figures["coprocessor_tasks"] == 114 + 86
    assert ordered.figures["memory_bytes"] > 200 * 100_000
    assert [line.operator for line in ordered.plans[0][0]] == [
        *("Sort", "└─HashAgg", "  └─TableReader", "    └─HashAgg", "      └─TableRangeScan"),
    ]
    assert found.untold == 0


def test_what_a_version_does_not_keep_is_missing() -> None:
    """Older versions lack columns; none is asked for and none is zero."""
    server = Summary()
    server.lacks = {"avg_result_rows", "plan_cache_hits"}
    select = by_text(
        server.statements().read().statements, "select `c` from `sbtest?` where `id` ="
    )
    assert "rows_sent" not in select.figures
    assert "rows_affected" in select.figures


def test_statements_that_the_server_no_longer_tells_apart_are_counted() -> None:
    """TiDB adds up what it evicts in a row without a digest."""
    server = Summary()
    evicted = [
        "NULL" if name == "digest" else cell
        for name, cell in zip(server.columns_, server.rows[0], strict=True)
    ]
    server.rows = [*server.rows, evicted]
    assert server.statements().read().untold == 1210


def test_an_answer_of_another_form_is_an_error() -> None:
    """It is not read as if it had fewer statements."""
    server = Summary()
    server.rows[0][server.columns_.index("sum_latency")] = "soon"
    with pytest.raises(EngineError, match="a figure of `select `c` from `sbtest1`"):
        server.statements().read()


def test_mariadb_tells_what_it_examined() -> None:
    """Its rows of 10.11.5, in which times are picoseconds."""
    columns, rows = golden("mariadb_10.11.5.tsv")
    named = [dict(zip(columns, row, strict=True)) for row in rows]
    found = [mariadb_statements.read_row(row) for row in named]
    assert found[0] == Executed(
        "SELECT `c` FROM `sbtest4` WHERE ID = ? ",
        660,
        0.132751571,
        {
            "rows_examined": 660,
            "rows_sent": 660,
            "rows_affected": 0,
            "without_index": 0,
            "temporary_tables": 0,
            "temporary_disk_tables": 0,
            "sorted_rows": 0,
            "errors": 0,
        },
    )


# ---------------------------------------------------------------- no literals

MARK = "Marked"
INFOS = {
    "text": f'eq(t.a, "{MARK}")',
    "quotes inside": f'eq(t.a, "x" {MARK} "y"), gt(t.b, 5)',
    "cut": f'range:["{MARK}',
    "another quote": f"eq(t.a, '{MARK}')",
    "quote in quotes": f'eq(t.a, "it\'s {MARK}")',
}


@pytest.mark.parametrize("name", INFOS)
def test_no_text_of_a_row_stays_in_a_plan(name: str) -> None:
    """Also where quotes are in it, or the server has cut it."""
    assert MARK not in without_literals(INFOS[name])


@pytest.mark.parametrize("info", ["handle:4711", "range:[4711,0x4711AF]", "eq(t.a, 47.11e47)"])
def test_no_number_of_a_row_stays_in_a_plan(info: str) -> None:
    """Neither as whole, hexadecimal nor decimal."""
    assert "47" not in without_literals(info)
    assert "AF" not in without_literals(info)


def test_a_literal_with_line_feeds_and_tabs_leaves_nothing_in_a_plan() -> None:
    """Its lines are no operators."""
    header = "\tid\ttask\testRows\toperator info\tactRows"
    text = f'{header}\n\tSelection_1\troot\t1\teq(t.a, "a\n{MARK}\t{MARK}")\t1'
    assert read_plan(text) == ()
    assert read_plan("") == read_plan("no plan") == ()


def test_cells_are_as_the_server_sent_them() -> None:
    """The client escapes what would break its lines."""
    assert unescaped(r"\tid\n\\n") == "\tid\n\\n"


# ---------------------------------------------------------------- what is switched


def test_the_summary_is_emptied_and_later_as_it_was() -> None:
    """Also by another process, and where the first one was killed."""
    server = Summary()
    before = dict(server.variables_)
    server.statements().begin()
    assert server.variables_[statements.SWITCH] == "1"
    assert server.variables_["tidb_stmt_summary_refresh_interval"] == str(2**31 - 1)
    server.statements().begin()  # what it set itself is not taken for what was before
    server.is_up = False
    server.statements().end()
    server.is_up = True
    server.statements().end()
    assert server.variables_ == before
    told = len(server.executor.log)
    server.statements().end()
    assert server.executor.log[told:] == ["run cat"]


@pytest.mark.parametrize(
    ("version", "lacks"), [("v3.0.12", True), ("v4.0.0", False), ("v8.5.3", False)]
)
def test_a_version_without_a_summary_says_so(version: str, lacks: bool) -> None:
    """In plain words, from when on there is one."""
    found = Summary(replace(INSTANCE, version=version)).statements().lacking("sysbench")
    assert (found is not None) == lacks
    if lacks:
        assert (
            str(found) == f"TiDB {version} keeps no summary of statements; it does from v4.0.0 on"
        )


def test_mariadb_misses_what_is_prepared() -> None:
    """Only sysbench can be told to send text."""
    summary: Callable[[str], object] = mariadb_statements.MariaDBStatements(Summary()).lacking
    assert summary("sysbench") is None
    assert str(summary("go-ycsb")) == "MariaDB's summary misses statements that go-ycsb prepares"


# ---------------------------------------------------------------- plan replayer

SAMPLES = {
    "SELECT c FROM t WHERE id=? [arguments: 7]": "SELECT c FROM t WHERE id=7",
    'UPDATE t SET k=k+1, c=? WHERE id=? [arguments: ("a-b", 10)]': (
        'UPDATE t SET k=k+1, c="a-b" WHERE id=10'
    ),
    "SELECT 1": "SELECT 1",
    "COMMIT": None,
    "SELECT c FROM t WHERE id=? [arguments: (7, 8)]": None,
    'SELECT c FROM t WHERE c=? [arguments: "a\\"b"]': None,
    "INSERT INTO t VALUES (1,2,3(len:9000)": None,
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_statement_is_explained_with_the_values_that_it_was_executed_with(sample: str) -> None:
    """None where they cannot be put back for certain."""
    assert executable(sample) == SAMPLES[sample]


def test_a_replayer_is_fetched_and_a_lack_of_one_is_no_failure() -> None:
    """A statement that is not explained has none, nor has any of an older version."""
    server = Summary()
    summary = server.statements()
    summary.read()
    text = "select `c` from `sbtest?` where `id` = ?"
    assert summary.replayer(text) == b"PK archive"
    assert server.replayed == ["SELECT c FROM sbtest2 WHERE id=1001"]
    assert "/plan_replayer/dump/replayer_abc=_1.zip" in server.executor.commands[-1][-1]
    assert summary.replayer("commit") is None
    old = TiDBStatements(
        Summary(replace(INSTANCE, version="v5.2.4")),
        "http://127.0.0.1:10080",
        statements.OF_CLUSTER,
    )
    old.read()
    assert old.replayer(text) is None
    assert json.dumps(server.executor.commands).count("1001") == 0  # no process list has it
