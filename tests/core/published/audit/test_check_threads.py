"""Planned thread counts and latencies are checked by Little's law."""

from __future__ import annotations

import pytest

from benchlab.plan.fields.published import Metric
from benchlab.published.model import Row
from tests.audited import NEW, OLD, POINT, page, procedure, row, workload
from tests.builders.discrepancies import FASTER, found_in, kinds


def latencies(*rows: tuple[int, str, str]) -> list[Row]:
    """Rows of one version: threads, TPS, p95."""
    return [row(threads, {"tps": tps, "p95_ms": p95}) for threads, tps, p95 in rows]


QUICK = latencies((50, "35000", "1.93"), (100, "65000", "2.00"))


def test_a_plan_of_other_threads_is_found_with_the_list_that_is_possible() -> None:
    """100 threads at 35,000 TPS are 2.9 ms in the mean and cannot have a p95 of 1.93."""
    report = page(
        workload(QUICK, versions=("v1.0",)),
        versions=("v1.0",),
        procedure=procedure(threads=[(100, 200)]),
    )
    (found,) = found_in(report)
    assert (found.kind, found.published, found.recomputed, found.workload) == (
        "thread_plan_mismatch",
        "planned 100, 200; in the table 50, 100",
        "50, 100",
        POINT,
    )
    assert found.explanation.startswith("Little's law refuses 100, 200")


@pytest.mark.parametrize(
    ("rows", "versions", "planned"),
    [(QUICK, ("v1.0",), (10, 20)), (FASTER[:2], (OLD, NEW), (10, 20)),
     (QUICK, ("v1.0",), (100, 200, 300))],
)  # fmt: skip
def test_little_may_not_know(
    rows: list[Row], versions: tuple[str, ...], planned: tuple[int, ...]
) -> None:
    """Fewer threads have a lower mean; without p95, or of another length, nothing is decided."""
    report = page(
        workload(rows, versions=versions),
        versions=versions,
        procedure=procedure(threads=[planned]),
    )
    (found,) = found_in(report)
    assert found.recomputed is None
    assert found.explanation.endswith("cannot tell which of them was measured")


@pytest.mark.parametrize("lists", [(), ((16, 8, 4),), ((1, 2), (4, 8, 16))])
def test_a_plan_that_fits_is_no_discrepancy(lists: tuple[tuple[int, ...], ...]) -> None:
    """The order does not matter, and of several lists one has to fit."""
    assert kinds(page(workload(FASTER), procedure=procedure(threads=lists))) == []


@pytest.mark.parametrize(
    ("p95", "expected"),
    [("80.0", ["implausible_latency"]), ("0", ["implausible_latency"]),
     ("98.2", ["implausible_latency"]), ("99", []), ("99.2", []), ("300", [])],
)  # fmt: skip
def test_a_p95_is_not_below_the_mean(p95: str, expected: list[str]) -> None:
    """100 threads at 1,000.0 TPS take 100 ms. A p95 of sysbench may be 0.9 % low, and rounded."""
    rows = latencies((100, "1000.0", p95))
    assert kinds(page(workload(rows, versions=("v1.0",)), versions=("v1.0",))) == expected


@pytest.mark.parametrize("metric", ["qps", "tpmc"])
def test_little_is_not_asked_where_transactions_are_not_known(metric: Metric) -> None:
    """How many queries a transaction has is not printed, and tpmC counts one kind of them."""
    rows = [row(100, {metric: "20000", "p95_ms": "1"})]
    report = page(workload(rows, metric=metric, versions=("v1.0",)), versions=("v1.0",))
    assert kinds(report) == []
