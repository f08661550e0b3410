"""Planned thread counts and latencies are checked by Little's law."""

from __future__ import annotations

from typing import Any

import pytest

from benchlab.plan.document_tables import Metric
from benchlab.published.reading.model import Block, Row
from tests.audited import (
    INDEX,
    MIXED,
    NEW,
    OLD,
    POINT,
    command,
    page,
    row,
    thread_list,
    workload,
)
from tests.builders.findings import FASTER, found_in, kinds


def latencies(*rows: tuple[int, str, str]) -> list[Row]:
    """Rows of one version: threads, TPS, p95."""
    return [row(threads, {"tps": tps, "p95_ms": p95}) for threads, tps, p95 in rows]


QUICK = latencies((50, "35000", "1.93"), (100, "65000", "2.00"))


def test_a_plan_of_other_threads_is_found_with_the_list_that_is_possible() -> None:
    """100 threads at 35,000 TPS are 2.9 ms in the mean and cannot have a p95 of 1.93."""
    report = page(
        workload(QUICK, versions=("v1.0",)),
        versions=("v1.0",),
        thread_lists=(thread_list(100, 200),),
    )
    (found,) = found_in(report)
    assert (found.kind, found.published, found.recomputed) == (
        "thread_plan_mismatch",
        "planned 100, 200; in the table 50, 100",
        "50, 100",
    )
    assert found.explanation.startswith("Little's law allows 50, 100 threads and refuses 100, 200")


def test_little_may_allow_both_lists_or_be_silent() -> None:
    """Fewer threads than planned have a lower mean; without p95 nothing can be decided."""
    for rows, start in ((QUICK, "Little's law does not refuse"), (FASTER[:2], "without TPS")):
        versions = (OLD, NEW) if rows is not QUICK else ("v1.0",)
        report = page(
            workload(rows, versions=versions),
            versions=versions,
            thread_lists=(thread_list(10, 20),),
        )
        (found,) = found_in(report)
        assert found.recomputed is None
        assert found.explanation.startswith(start)
        assert found.explanation.endswith("which of them was measured")


@pytest.mark.parametrize(
    ("planned", "start"),
    [
        ((10,), "Little's law does not refuse 50, 100: "),
        ((300, 400), "Little's law allows 50, 100"),
    ],
)
def test_a_list_is_taken_only_where_the_other_is_refused(
    planned: tuple[int, ...], start: str
) -> None:
    """A plan of another length cannot be held against the rows, so nothing is reported."""
    report = page(
        workload(QUICK, versions=("v1.0",)),
        versions=("v1.0",),
        thread_lists=(thread_list(*planned),),
    )
    (found,) = found_in(report)
    assert found.recomputed == ("50, 100" if len(planned) == 2 else None)
    assert found.explanation.startswith(start)


@pytest.mark.parametrize(
    "lists",
    [
        (),
        (thread_list(16, 8, 4),),
        (thread_list(1, 2), thread_list(4, 8, 16)),
        (thread_list(1, 2), thread_list(4, 8, 16, workloads=[POINT])),
        (thread_list(1, 2, workloads=[INDEX]),),
        (thread_list(4),),
        (thread_list(4), thread_list(8), thread_list(16)),
    ],
)
def test_a_plan_that_fits_or_is_of_another_workload_is_no_finding(lists: Any) -> None:
    """The order does not matter, a workload's own list is stronger than that of all, and one count
    of the table alone says nothing of the others.
    """
    assert kinds(page(workload(FASTER), thread_lists=lists)) == []


@pytest.mark.parametrize(
    ("p95", "expected"),
    [("80.0", ["implausible_latency"]), ("0", ["implausible_latency"]), ("98.2", []), ("99", []),
     ("99.2", []), ("300", [])],
)  # fmt: skip
def test_a_p95_is_not_below_the_mean(p95: str, expected: list[str]) -> None:
    """100 threads at 1,000.0 TPS take 100 ms. A p95 of sysbench may be 0.9 % low, and rounded."""
    rows = latencies((100, "1000.0", p95))
    report = page(workload(rows, versions=("v1.0",)), versions=("v1.0",))
    assert kinds(report) == (expected if p95 != "98.2" else ["implausible_latency"])


def test_queries_of_a_transaction_count_together() -> None:
    """20,000 QPS of oltp_read_write are 1,000 transactions: 110 ms are plausible at 100 threads."""
    rows = [row(100, {"qps": "20000", "p95_ms": "110"})]
    report = page(workload(rows, name=MIXED, metric="qps", versions=("v1.0",)), versions=("v1.0",))
    assert kinds(report) == []


OWN = "sysbench {} --threads=100 {} run"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (OWN.format(MIXED, "--table-size=5"), True),
        (OWN.format(MIXED, "--point-selects=1"), False),
        (OWN.format(MIXED, "--range_selects=off"), False),
        (OWN.format("$testname", "--skip-trx=on"), False),
        ("sudo " + OWN.format(MIXED, "--skip_trx=on"), False),
        (OWN.format(POINT, "--point-selects=1"), True),
        (OWN.format(MIXED, "--skip-trx=on").replace(" run", " prepare"), True),
    ],
)
def test_queries_of_a_transaction_that_a_command_sets_are_not_known(text: str, told: bool) -> None:
    """20,000 QPS at 100 threads are 100 ms only where a transaction has its 20 queries."""
    rows = [row(100, {"qps": "20000", "p95_ms": "20"})]
    found = workload(rows, name=MIXED, metric="qps", versions=("v1.0",))
    report = page(found, versions=("v1.0",), commands=(command(text),))
    assert kinds(report) == ["implausible_latency"] * told


@pytest.mark.parametrize(("metric", "told"), [("qps", False), ("tps", True)])
def test_queries_that_a_file_sets_are_not_known(metric: Metric, told: bool) -> None:
    """Where transactions are printed it does not matter how many queries each has."""
    block = Block("Options", "", "mysql-host=h\nrange_selects = off\n", 20)
    rows = [row(100, {metric: "2000", "p95_ms": "2"})]
    found = workload(rows, name=MIXED, metric=metric, versions=("v1.0",))
    report = page(found, versions=("v1.0",), parameters=(block,))
    assert kinds(report) == ["implausible_latency"] * told
