"""Planned thread counts and latencies are checked by Little's law."""

from __future__ import annotations

import pytest

from benchlab.plan.document_tables import Metric
from benchlab.published.audit.check_threads import planned
from benchlab.published.model import Block, Row
from tests.audited import (
    MIXED,
    NEW,
    OLD,
    POINT,
    command,
    page,
    row,
    step,
    threads_planned,
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
        said=(threads_planned(100, 200),),
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
            said=(threads_planned(10, 20),),
        )
        (found,) = found_in(report)
        assert found.recomputed is None
        assert found.explanation.startswith(start)
        assert found.explanation.endswith("which of them was measured")


@pytest.mark.parametrize(
    ("counts", "start"),
    [
        ((10, 20, 30), "Little's law does not refuse 50, 100: "),
        ((300, 400), "Little's law allows 50, 100"),
    ],
)
def test_a_list_is_taken_only_where_the_other_is_refused(
    counts: tuple[int, ...], start: str
) -> None:
    """A plan of another length cannot be held against the rows, so nothing is reported."""
    report = page(
        workload(QUICK, versions=("v1.0",)),
        versions=("v1.0",),
        said=(threads_planned(*counts),),
    )
    (found,) = found_in(report)
    assert found.recomputed == ("50, 100" if len(counts) == 2 else None)
    assert found.explanation.startswith(start)


@pytest.mark.parametrize("lists", [(), ((16, 8, 4),), ((1, 2), (4, 8, 16))])
def test_a_plan_that_fits_is_no_finding(lists: tuple[tuple[int, ...], ...]) -> None:
    """The order does not matter, and of several lists one has to fit."""
    plans = tuple(threads_planned(*counts) for counts in lists)
    assert kinds(page(workload(FASTER), said=plans)) == []


@pytest.mark.parametrize(
    "text",
    [
        "Three tests with the ${THREAD} value of 100, 200, and 400.",
        "本文档使用 ${THREAD} 值为 100、200 和 400 进行三次测试。",
    ],
)
def test_thread_counts_are_planned_in_these_forms(text: str) -> None:
    """Other numbers beside threads are none of the plan."""
    said = (step(text), step("Use 16 threads of TiDB, 100 and 200 of TiKV."))
    assert list(planned(page(said=said).setting)) == [(50, (100, 200, 400))]


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
