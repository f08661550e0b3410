"""Rounds and trial lengths that find a wanted slowdown, by noise that is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.analysis.error_rates.resampling import NoiseModel
from benchlab.analysis.error_rates.sensitivity import (
    FEWEST_INTERVALS,
    ROUNDS,
    RoundVariance,
    Sensitivity,
    explained,
    long_run_variance,
)
from benchlab.analysis.verdict.variances import Squares

WORKLOADS = ("w0", "w1")


def noise(sd: float = 0.02, deployment: float = 0.001, campaigns: int = 20) -> NoiseModel:
    """Normal noise of two workloads, and A/A campaigns that show what deployments differ by."""
    ones = np.ones(2)
    random = np.random.default_rng(7)
    return NoiseModel(
        less_is_better=False,
        workloads=WORKLOADS,
        residuals=random.normal(0, sd, (30, 2)),
        left_out=0,
        deployments=random.normal(0, 0.01, (5, 2)),
        known=Squares(
            within=ones * sd**2 * 5 * campaigns,
            within_df=ones * 5 * campaigns,
            between=ones * (deployment**2 + sd**2 / 6) * campaigns,
            between_df=ones * campaigns,
            inverse_rounds=ones / 6,
        ),
        coarseness=np.zeros(2),
    )


def search(made: NoiseModel, share: float | None = 0.5, seconds: int = 60) -> Sensitivity:
    """A search in which ``share`` of the variance is noise within trials; None: not known."""
    return Sensitivity(
        made,
        [
            RoundVariance(seconds, total, None if share is None else share * total)
            for total in made.round_variances.tolist()
        ],
        2.0,
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


def test_each_proposal_finds_what_is_wanted_with_the_fewest_rounds() -> None:
    """One number less does not find it; longer trials take fewer rounds."""
    found = search(noise())
    proposed = found.settings(3.0)
    counts, lengths = zip(*proposed, strict=True)
    assert list(lengths) == sorted(set(lengths))
    assert list(counts) == sorted(counts, reverse=True)
    assert len(proposed) >= 3
    for rounds, seconds in proposed:
        detects = found.detects(rounds, seconds)
        assert detects is not None
        assert detects <= 3.0
        fewer = found.detects(ROUNDS[ROUNDS.index(rounds) - 1], seconds)
        assert fewer is None or fewer > 3.0


def test_without_series_only_the_measured_length_is_proposed() -> None:
    """It is not known whether another one helps."""
    assert {seconds for _, seconds in search(noise(), share=None).settings(3.0)} == {60}


def test_what_no_setting_finds_has_no_proposal_but_a_best() -> None:
    """The best of all is still said."""
    found = search(noise(sd=0.5), share=None)
    assert found.settings(3.0) == []
    best = found.best()
    assert best is not None
    assert best[0] in ROUNDS[-3:]  # there it is flat
    detects = found.detects(*best)
    assert detects is not None
    assert detects > 3.0


def test_deployments_that_differ_shrink_with_neither_rounds_nor_seconds() -> None:
    """No setting finds 3 %; where they are alike some do."""
    assert search(noise(sd=0.005, deployment=0.02)).settings(3.0) == []
    assert search(noise(sd=0.005)).settings(3.0)


def test_one_round_finds_nothing() -> None:
    """The rule needs two."""
    assert search(noise()).detects(1, 60) is None
