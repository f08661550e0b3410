"""Commands, entry points, versions and tools that a page names and does not have are found."""

from __future__ import annotations

import pytest

from tests.audited import (
    INDEX,
    change,
    claim,
    page,
    procedure,
    row,
    workload,
)
from tests.builders.discrepancies import FASTER, found_in, kinds


@pytest.mark.parametrize(
    ("named", "exact", "expected"),
    [
        (("v5.1.1", "v5.2.0"), (), []),
        (("5.2.0",), (), []),
        (("v5.2", "v5.1"), (), []),
        (("v5.0.2", "v5.1.0"), (), ["version_mismatch"]),
        (("v5.1.1", "v5.2.1"), (), ["version_mismatch"]),
        (("v5.0", "v5.1.1", "v5.2.0"), (), []),
        ((), (), []),
        (("v5.1.1", "v5.2.0"), ("v5.1.1-rc.2", "v5.2.0"), []),
    ],
)
def test_a_sentence_names_the_versions_of_the_page(
    named: tuple[str, ...], exact: tuple[str, ...], expected: list[str]
) -> None:
    """A series, a pre-release and a missing ``v`` are other names of the same version; a third
    version beside the page's two is context.
    """
    said = claim(change("20.33"), versions=named)
    assert kinds(page(workload(FASTER, said), exact=exact)) == expected


def test_each_sentence_with_another_version_is_found() -> None:
    """Two sentences are two discrepancies, with their lines."""
    wrong = [claim(change("20.33"), versions=["v5.0.2"], line=line) for line in (88, 99)]
    report = page(workload(FASTER, wrong[0]), workload(FASTER, wrong[1], name=INDEX))
    assert [(discrepancy.kind, discrepancy.line) for discrepancy in found_in(report)] == [
        ("version_mismatch", 88),
        ("version_mismatch", 99),
    ]


def test_a_table_of_other_versions_is_found_once() -> None:
    """The sentence beside it follows the table; the table does not follow the title."""
    versions = ("v5.0.2", "v5.1.0")
    rows = [row(4, {"tps": "100"}, {"tps": "110"}, "10.00", versions=versions)]
    said = claim(change("10"), versions=versions)
    report = page(workload(rows, said, versions=versions))
    assert [(discrepancy.kind, discrepancy.where) for discrepancy in found_in(report)] == [
        ("version_mismatch", "line 80, table of Results of oltp_point_select")
    ]


RUN = "sysbench oltp_point_select --threads=8 --mysql-host={} --mysql-port={} run --tables=16"


TPCC = "tiup bench tpcc run --db tpcc --warehouses 500 --threads {{{{thread}}}} {}"


@pytest.mark.parametrize(
    ("run", "balancers", "ports", "expected"),
    [
        (RUN.format("$aws_nlb_host", "$aws_nlb_port"), ["HAProxy"], [], True),
        (RUN.format("$aws_nlb_host", "$aws_nlb_port"), ["NLB"], [], False),
        (RUN.format("$aws_nlb_host", "$aws_nlb_port"), ["HAProxy", "NLB"], [], False),
        (RUN.format("$aws_nlb_host", "$aws_nlb_port"), [], [], False),
        (RUN.format("${HOST}", "${PORT}"), ["HAProxy"], [3390], False),
        (RUN.format("$haproxy_host", "3390"), ["HAProxy"], [3390], False),
        (RUN.format("$haproxy_host", "4000"), ["HAProxy"], [3390], True),
        (RUN.format("127.0.0.1", "4000"), ["NLB"], [], True),
        (RUN.format("127.0.0.1", "4000"), ["HAProxy"], [], False),
        (TPCC.format("-H 127.0.0.1 -P 4000"), ["HAProxy"], [3390], True),
        (TPCC.format("--host=127.0.0.1 --port=3390"), ["HAProxy"], [3390], False),
        (TPCC.format("-H10.0.0.1 -P3390"), ["HAProxy"], [3390], False),
        (TPCC.format("-H 10.0.0.1"), ["HAProxy"], [3390], True),
        (TPCC.format("-H 10.0.0.1").replace("run", "prepare"), ["HAProxy"], [3390], False),
        (TPCC.format("-H 10.0.0.1").replace("run", "check"), ["HAProxy"], [3390], False),
        (TPCC.format("-H 10.0.0.1").replace("run", "cleanup"), ["HAProxy"], [3390], False),
        (RUN.format("127.0.0.1", "4000").replace("run", "cleanup"), ["NLB"], [], False),
    ],
)
def test_commands_go_where_the_plan_says(
    run: str, balancers: list[str], ports: list[int], expected: bool
) -> None:
    """An address or port other than the load balancer's is found; a placeholder is allowed."""
    said = procedure(run, balancers=balancers, ports=ports)
    report = page(workload(FASTER), procedure=said)
    assert kinds(report) == ["entry_point_mismatch"] * expected


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (TPCC.format("--warehouse 5"), ["--warehouse"]),
        (TPCC.format("-p 4000"), ["-p 4000"]),
        (TPCC.format("--warehouse=5 -p4000"), ["--warehouse", "-p 4000"]),
        (TPCC.format("-p 4000 -P 3390"), []),
        (TPCC.format("-p -1"), []),
        ("go-tpc tpcc run --host ${HOST} --warehouses 5 -Z 3", ["-Z"]),
        (TPCC.format("--no-check").replace("run", "prepare"), []),
        (TPCC.format("-p 400000"), []),
        ("go-tpc tpcc --host ${HOST} --warehouses 5 run -D tpcc -T 9 -p ${PASSWORD}", []),
        (RUN.format("a", "1") + " --table_size=5 --db-driver=mysql", []),
        (RUN.format("a", "1") + " --table-count=5", ["--table-count"]),
        (RUN.format("a", "1") + " --warmup-time=5", []),
        ("sysbench my_own.lua --table-count=5 run", []),
        ("sysbench $testname --table-count=5 run", ["--table-count"]),
    ],
)
def test_a_client_has_its_options_and_no_others(text: str, wrong: list[str]) -> None:
    """Unknown options and a password that is a port are found; what is not certain is not."""
    found = found_in(page(workload(FASTER), procedure=procedure(text)))
    assert [discrepancy.kind for discrepancy in found] == ["command_error"] * len(wrong)
    assert [discrepancy.published for discrepancy in found] == wrong


def test_a_tool_that_no_command_calls_is_found() -> None:
    """BenchmarkSQL in a step that calls ``tiup bench`` is a mistake."""
    said = procedure(TPCC.format(""), tools=["BenchmarkSQL"])
    (found,) = found_in(page(workload([], name="tpcc"), procedure=said))
    assert (found.kind, found.published) == ("tool_mismatch", "BenchmarkSQL")
    assert found.recomputed == "tiup bench tpcc"
