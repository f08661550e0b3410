"""How rounds vary with other trial lengths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.analysis.error_rates.deployments import (
    FEWEST_INTERVALS,
    RoundVariance,
    explained,
    lengths,
    long_run_variance,
)


def test_independent_intervals_average_out_by_their_number() -> None:
    """The mean over T seconds of white noise has variance sd^2 / T."""
    random = np.random.default_rng(1)
    found = [
        long_run_variance(range(1, 301), (100 + random.normal(0, 10, 300)).tolist())
        for _ in range(200)
    ]
    assert np.mean([variance for variance in found if variance is not None]) == pytest.approx(
        0.01, rel=0.05
    )


def test_intervals_that_are_like_their_neighbours_average_out_slower() -> None:
    """AR(1) with coefficient 0.5: by (1 + 0.5) / (1 - 0.5), from a variance of 4 / 3."""
    random = np.random.default_rng(2)
    found = []
    for _ in range(200):
        x = np.zeros(900)
        for i in range(1, 900):
            x[i] = 0.5 * x[i - 1] + random.normal(0, 1)
        found.append(long_run_variance(range(900), (100 + x).tolist()))
    assert np.mean([e for e in found if e is not None]) == pytest.approx(4 / 1e4, rel=0.1)


def test_an_interval_of_ten_seconds_counts_ten_times() -> None:
    """What is known is the variance of the mean over a time, not over a number of values."""
    values = [100.0, 101, 99, 102, 98, 100, 103, 97, 100]
    one = long_run_variance([1.0 * n for n in range(9)], values)
    ten = long_run_variance([10.0 * n for n in range(9)], values)
    assert one is not None
    assert ten == pytest.approx(10 * one)


@pytest.mark.parametrize("values", [[], [1.0] * (FEWEST_INTERVALS - 1), [0.0] * 10])
def test_a_series_that_shows_nothing_has_no_variance(values: list[float]) -> None:
    """Too short, or no throughput at all: never a variance of zero."""
    assert long_run_variance(range(len(values)), values) is None


def test_the_series_of_all_cells_explain_a_round() -> None:
    """A mean over two thread counts of differences: four variances, each a quarter."""
    sides = ("baseline", "candidate")
    found = {(count, side): [0.03, 0.05] for count in (4, 8) for side in sides}
    assert explained(found, (4, 8), 10) == pytest.approx(4 * 0.04 / 4 / 10)
    del found[8, "candidate"]
    assert explained(found, (4, 8), 10) is None


@given(st.floats(0, 1), st.floats(0, 1) | st.none(), st.integers(1, 10_000))
def test_longer_trials_never_scatter_more_and_the_rest_stays(
    total: float, series: float | None, seconds: int
) -> None:
    """At the measured length it is what was measured; the series never explain more than that."""
    variance = RoundVariance(60, total, series)
    assert variance.at(60) == pytest.approx(total)
    assert variance.at(seconds + 1) <= variance.at(seconds)
    assert variance.at(10**9) == pytest.approx(total - min(series or 0, total), abs=1e-6)


def test_without_series_only_the_measured_length_is_proposed() -> None:
    """It is not known whether another one helps."""
    assert lengths([RoundVariance(60, 1.0, 0.5), RoundVariance(60, 1.0, None)]) == [60]
    assert lengths([RoundVariance(60, 1.0, 0.5)])[-1] > 60
