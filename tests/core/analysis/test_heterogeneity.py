"""Thread counts that moved against the rest are named, they alone, and seldom by chance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from benchlab.analysis.verdict.decision import moved

if TYPE_CHECKING:
    from benchlab.arrays import Array

THREADS = (50, 100, 200, 300, 400, 500)


def ratios(
    changes: dict[int, float], *, noise: float = 0.004, seed: int = 1, size: int = 6
) -> Array:
    """Six rounds in which these thread counts, by index, changed by so many percent."""
    random = np.random.default_rng(seed)
    found = random.normal(0, noise, (6, size))
    for column, change in changes.items():
        found[:, column] += math.log1p(change / 100)
    return found


@pytest.mark.parametrize("column", range(6))
@pytest.mark.parametrize("change", [-10, 10])
def test_one_that_moved_is_named_and_no_other(column: int, change: float) -> None:
    """-10 % at one of six thread counts: named with its own change and that against the rest."""
    (found,) = moved(THREADS, ratios({column: change}), 2.0, 30)
    assert found.threads == THREADS[column]
    assert found.change_pct == pytest.approx(change, abs=1)
    assert found.against_rest_pct == pytest.approx(change, abs=1.5)


def test_two_that_moved_are_named() -> None:
    """Also in opposite directions, whose mean shows nothing at all."""
    found = moved(THREADS, ratios({1: -12, 4: 12}), 2.0, 30)
    assert [cell.threads for cell in found] == [100, 400]


@pytest.mark.parametrize(("changed", "named"), [(0, 4), (1, 8)])
def test_of_two_thread_counts_the_one_that_changed_is_named(changed: int, named: int) -> None:
    """Each is as far from the other; the one that stayed where it was did not move."""
    found = moved((4, 8), ratios({changed: -20}, size=2), 2.0, 2)
    assert [cell.threads for cell in found] == [named]


def test_a_workload_that_moved_as_a_whole_has_none() -> None:
    """-30 % everywhere is the estimate's to say."""
    assert moved(THREADS, ratios(dict.fromkeys(range(6), -30)), 2.0, 30) == ()


def test_less_than_the_threshold_is_not_named() -> None:
    """However sure it is."""
    assert moved(THREADS, ratios({2: -1.5}, noise=0.0001), 2.0, 30) == ()
    assert moved(THREADS, ratios({2: -1.5}, noise=0.0001), 1.0, 30)


def test_it_is_the_paired_t_test_over_the_rounds() -> None:
    """Named while Bonferroni's p value, by scipy's own test, is below 5 %, and no longer."""
    found = ratios({2: -4}, noise=0.01, seed=2, size=3)
    rest = found[:, :2].mean(axis=1)
    p = float(scipy.stats.ttest_rel(found[:, 2], rest).pvalue)
    tests = int(0.05 / p)
    assert tests > 100, "else a wrong standard error would not be noticed"
    (named,) = moved((4, 8, 16), found, 2.0, tests)
    assert named.threads == 16
    assert named.against_rest_pct == pytest.approx(
        100 * math.expm1(float((found[:, 2] - rest).mean()))
    )
    assert named.change_pct == pytest.approx(100 * math.expm1(float(found[:, 2].mean())))
    assert moved((4, 8, 16), found, 2.0, tests + 1) == ()


def test_rounds_that_agree_to_the_last_digit_are_sure() -> None:
    """Without scatter a large deviation is significant, and none at all is no deviation."""
    found = np.zeros((2, 3))
    assert moved((4, 8, 16), found, 0.0, 10**9) == ()
    found[:, 1] = -0.5
    (named,) = moved((4, 8, 16), found, 2.0, 9)
    assert named.threads == 8


def test_noise_is_seldom_named() -> None:
    """In 1,000 campaigns without any such cell at most 5 % name one (binomial: 6.6 %)."""
    named = sum(bool(moved(THREADS, ratios({}, noise=0.05, seed=n), 2.0, 6)) for n in range(1000))
    assert named <= 66


@given(st.integers(0, 5), st.integers(1, 6))
def test_too_little_data_names_none(rounds: int, size: int) -> None:
    """One round, no round, one thread count: there is nothing to judge by."""
    found = np.full((rounds, size), 0.5)
    if rounds > 1 and size > 1:
        found[0, 0] = 0.1
    assert moved(tuple(range(1, size + 1)), found[: min(rounds, 1)], 2.0, size) == ()
    if size == 1:
        assert moved((1,), found, 2.0, 1) == ()
