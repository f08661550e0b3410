"""Figures of published pages, computed again."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.published import recompute
from benchlab.published.audit import check_threads
from benchlab.published.model import Printed
from tests.audited import POINT, headline_of, row, table, workload

figures = st.decimals("0.01", "1e6", places=2)


def test_an_improvement_is_candidate_against_baseline() -> None:
    """110 against 100 is +10 %, and 90 is -10 %."""
    rows = [row(4, {"tps": "100"}, {"tps": "110"}), row(8, {"tps": "100"}, {"tps": "90"})]
    assert recompute.improvements(workload(rows)) == {4: Decimal(10), 8: Decimal(-10)}


@pytest.mark.parametrize(
    "old", [{}, {"qps": "100"}, {"tps": "0"}, {"tps": "-5"}, {"tps": "9" * 50}]
)
def test_a_row_without_two_sound_figures_has_no_improvement(old: dict[str, str]) -> None:
    """Nothing is computed from a figure that is missing or none of a measurement; no headline."""
    whole = workload([row(4, old, {"tps": "100"}), *table((8, "1", "2"))])  # type: ignore[arg-type]
    assert recompute.improvement(whole.rows[0], whole) is None
    assert recompute.headline(whole) is None


def test_a_page_about_one_version_has_no_improvement() -> None:
    """There is nothing to compare with."""
    whole = workload([row(4, {"tps": "100"})], versions=("v7.1.3",))
    assert recompute.improvements(whole) == {4: None}


@given(figures, figures, st.integers(0, 2), st.integers(0, 2))
def test_rounding_of_the_figures_stays_within_the_bounds(
    old: Decimal, new: Decimal, places_old: int, places_new: int
) -> None:
    """Whatever decimals are printed, the true improvement is one that the printed figures allow."""
    true = workload([row(4, {"tps": str(old)}, {"tps": str(new)})])
    shown = [recompute.rounded_to(old, places_old), recompute.rounded_to(new, places_new)]
    printed = workload([row(4, {"tps": str(shown[0])}, {"tps": str(shown[1])})])
    exact = recompute.improvement(true.rows[0], true)
    found = recompute.improvement(printed.rows[0], printed)
    assert exact is not None
    assert found is None if shown[0] == 0 else found and found.allows(exact.exact, Decimal())


def test_the_headline_is_the_mean_of_the_rounded_rows() -> None:
    """1.006 % and 1.006 % print as 1.01 each; their mean is 1.01 and not 1.006."""
    rows = table((4, "100000", "101006"), (8, "100000", "101006"))
    found = recompute.headline(workload(rows))
    assert found is not None
    assert found.exact == Decimal("1.01")


def test_a_headline_is_of_two_decimals_and_may_be_printed_of_fewer() -> None:
    """Of whole percentages in the rows 15.5 is no wrong mean, though the figures give 15.9."""
    rows = [
        row(threads, {"tps": "100"}, {"tps": new}, improvement)
        for threads, new, improvement in ((4, "110.4", "10"), (8, "121.4", "21"))
    ]
    found = recompute.headline(workload(rows))
    assert found is not None
    assert found.exact == Decimal("15.9")
    assert found.allows(Decimal("15.5"), Decimal())
    assert found.allows(Decimal("15.9"), Decimal())
    assert not found.allows(Decimal("16.6"), Decimal())


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("13", "the mean, 13.94, truncated"),
        ("25", "the last row (16 threads), 25.30, rounded"),
        ("28.4", "the largest row (8 threads), 28.44, rounded"),
        ("1.98", "the row (2 threads), 1.98, rounded"),
        ("13.64", "the median, 13.64, rounded"),
        ("18.86", "the quotient of the sums, 18.86, rounded"),
        ("113.94", "the mean, as a percentage of the baseline's figure, 113.94, rounded"),
        ("10", "the mean, 13.94, rounded to tens"),
        ("99", None),
    ],
)
def test_what_was_printed_for_the_mean_is_named(printed: str, name: str | None) -> None:
    """Each other way to sum rows up is known by its number."""
    whole = workload(
        table((2, "100", "101.98"), (4, "200", "200.1"), (8, "300", "385.32"), (16, "400", "501.2"))
    )
    figure = Printed(printed)
    found = recompute.named(figure.value, recompute.decimals(figure), whole)
    assert name in found if name else found == []


def test_the_mean_itself_is_no_other_headline() -> None:
    """What is rounded as it should be is not named as something else."""
    rows = table((2, "100", "101.98"), (4, "200", "240.14"), (8, "100", "150"))
    assert recompute.named(headline_of(rows), 2, workload(rows)) == []


def test_threads_and_throughput_give_the_mean_latency() -> None:
    """100 threads at 1,000 transactions a second take 100 ms each: a p95 of 90 ms cannot be."""
    for p95, possible in (("90", False), ("110", True)):
        shown = row(100, {"tps": "1000", "p95_ms": p95})
        assert check_threads.allows(shown, 100, POINT) is possible


def test_queries_are_counted_by_transaction() -> None:
    """20,000 queries a second are 1,000 transactions of oltp_read_write."""
    side = row(100, {"qps": "20000.00"}).sides["v5.1.1"]
    assert check_threads.least_mean(side, 100, "oltp_read_write") == pytest.approx(Decimal(100))
    assert check_threads.least_mean(side, 100, "oltp_point_select") == pytest.approx(Decimal(5))


@pytest.mark.parametrize("name", ["tpcc", "a_script_of_ones_own"])
def test_little_is_not_asked_where_transactions_are_not_known(name: str) -> None:
    """tpmC counts one kind of transaction, and other scripts have queries of their own."""
    assert (
        check_threads.allows(row(100, {"tpmc": "9", "qps": "9", "p95_ms": "1"}), 100, name) is None
    )
