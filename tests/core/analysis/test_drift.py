"""Many small losses, none of which stands out, are reported together."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from benchlab.analysis.trend import change_points
from benchlab.analysis.trend.chain import chain
from benchlab.analysis.trend.change_points import Drift
from tests.core.analysis.test_chain import ratio
from tests.core.analysis.test_change_points import NOISE, drawn, weeks


def found(changes: dict[int, float], count: int = 36, threshold_pct: float = 2.0) -> Drift | None:
    """In weeks with these changes, by the number of the release."""
    made = chain(weeks(changes, count=count))
    places = change_points.find(made, threshold_pct, NOISE)
    return change_points.find_drift(made, places, threshold_pct, NOISE)


@pytest.mark.parametrize("step", [-0.006, 0.006])
def test_small_steps_together_are_a_drift(step: float) -> None:
    """Twelve versions, eleven steps of 0.6 %: their sum, with an interval around it."""
    result = found(dict.fromkeys(range(1, 12), step))
    assert result is not None
    assert (result.oldest, result.newest, result.links) == ("v7.1.0", "v7.1.11", 12)
    assert (result.first, result.last) == (0, 35)
    assert result.ci99[0] < 11 * step < result.ci99[1]
    assert result.p < 0.01


def test_one_step_is_no_drift() -> None:
    """A change point explains it, or would with a little more of it."""
    assert found({6: -0.05}) is None
    assert found({6: -0.015}, threshold_pct=1.0) is None


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("name", ["nothing", "one outlier of 8 %", "three changes of 5 %"])
def test_what_is_no_drift_is_none(name: str, number: int) -> None:
    """Two years of noise, of an outlier, of changes."""
    made, years = drawn(name, number)
    places = change_points.find(made, 2.0, years.noise_sd)
    assert change_points.find_drift(made, places, 2.0, years.noise_sd) is None


def test_drift_begins_after_the_last_change_point() -> None:
    """What was before it has been reported."""
    made = chain(weeks({4: -0.08, **dict.fromkeys(range(6, 16), 0.006)}, count=48))
    places = change_points.find(made, 2.0, NOISE)
    result = change_points.find_drift(made, places, 2.0, NOISE)
    assert [place.index for place in places] == [12]
    assert result is not None
    assert (result.first, result.oldest, result.links) == (12, "v7.1.4", 12)
    assert result.ci99[0] < 0.06 < result.ci99[1]


def test_less_than_the_threshold_is_none() -> None:
    """Eleven steps of 0.6 % are 6.8 %."""
    steps = dict.fromkeys(range(1, 12), 0.006)
    assert found(steps, threshold_pct=100 * math.expm1(0.09)) is None


def test_three_versions_are_no_drift() -> None:
    """It takes four to tell a drift from a step; and ten points to say anything."""
    steps = dict.fromkeys(range(1, 12), -0.02)
    ratios = weeks(steps, count=12)
    of_three = [
        dataclasses.replace(ratio, candidate=f"v7.1.{min(2, int(ratio.candidate[-1]))}")
        for ratio in ratios
    ]
    assert change_points.find_drift(chain(of_three), (), 2.0, NOISE) is None
    assert change_points.find_drift(chain(ratios[:9]), (), 2.0, NOISE) is None


@pytest.mark.parametrize("seed", range(5))
def test_two_pairs_that_take_turns_are_no_drift(seed: int) -> None:
    """Many boundaries, and two candidates."""
    random = np.random.default_rng(seed)
    pairs = [("v7.1.0", "v7.5.0", 0.1), ("v7.5.0", "v8.1.0", -0.05)] * 20
    made = chain(
        [
            dataclasses.replace(
                ratio(week, baseline, candidate, change + random.normal(0, NOISE)),
                standard_error=NOISE,
            )
            for week, (baseline, candidate, change) in enumerate(pairs)
        ]
    )
    assert change_points.find_drift(made, (), 2.0, NOISE) is None


def test_a_version_that_comes_back_has_the_level_that_it_had() -> None:
    """Measured again at the end it is no release of its own, and the drift is the same."""
    ratios = weeks(dict.fromkeys(range(1, 12), 0.006), count=36)
    again = [
        dataclasses.replace(
            ratio(36 + week, "v7.0.0", "v7.1.0", ratios[week].log_ratio), standard_error=NOISE
        )
        for week in range(3)
    ]
    once = change_points.find_drift(chain(ratios), (), 2.0, NOISE)
    result = change_points.find_drift(chain([*ratios, *again]), (), 2.0, NOISE)
    assert once is not None
    assert result is not None
    assert (result.links, result.last, result.newest) == (12, 35, "v7.1.11")
    assert result.change == pytest.approx(once.change, abs=0.01)
