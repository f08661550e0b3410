"""Figures of published pages, computed again."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.published import recompute
from benchlab.published.audit import check_threads
from benchlab.published.model import Printed
from tests.audited import row, table, workload

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
    ("printed", "fitting"),
    [
        ("13", ["the mean, 13.94, cut off"]),
        ("25", ["the row of 16 threads, 25.30"]),
        ("28.4", ["the row of 8 threads, 28.44"]),
        ("1.98", ["the row of 2 threads, 1.98"]),
        ("0", ["the row of 4 threads, 0.05"]),
        ("99", []),
    ],
)
def test_what_a_wrong_headline_is_instead_is_named(printed: str, fitting: list[str]) -> None:
    """The mean that was cut instead of rounded, or the figure of single rows."""
    whole = workload(
        table((2, "100", "101.98"), (4, "200", "200.1"), (8, "300", "385.32"), (16, "400", "501.2"))
    )
    figure = Printed(printed)
    assert recompute.fitting(figure.value, figure.decimals, whole) == fitting


def test_threads_and_throughput_give_the_mean_latency() -> None:
    """100 threads at 1,000 transactions a second take 100 ms each; without TPS nothing is known."""
    side = row(100, {"tps": "1000.0000"}).sides["v5.1.1"]
    assert check_threads.mean_ms(side, 100) == pytest.approx(Decimal(100))
    assert check_threads.mean_ms(row(100, {"qps": "9"}).sides["v5.1.1"], 100) == 0
