"""A lasting change is found between the right versions; noise, outliers and slow drift are none."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlab.analysis.trend import change_points
from benchlab.analysis.trend.chain import Chain, Ratio, chain
from benchlab.analysis.trend.change_points import MIN_POINTS, ChangePoint, propose, split
from tests.core.analysis.test_chain import ratio
from tools.study import weekly

NOISE = 0.007


def weeks(
    changes: dict[int, float] | None = None, *, count: int = 24, seed: int = 1, noise: float = NOISE
) -> list[Ratio]:
    """A new patch every third week against one baseline; a release's change, by its number."""
    random = np.random.default_rng(seed)
    level = np.cumsum([(changes or {}).get(patch, 0.0) for patch in range(count)])
    return [
        dataclasses.replace(
            ratio(week, "v7.0.0", f"v7.1.{week // 3}"),
            log_ratio=float(level[week // 3] + random.normal(0, noise)),
            standard_error=noise,
        )
        for week in range(count)
    ]


def found(ratios: Sequence[Ratio], noise_sd: float | None = NOISE) -> tuple[ChangePoint, ...]:
    """With a threshold of 2 %."""
    return change_points.find(chain(ratios), 2.0, noise_sd)


def drawn(name: str, number: int, noise: float = NOISE) -> tuple[Chain, weekly.Years]:
    """Two years of the simulation study."""
    (scene,) = (scene for scene in weekly.SCENES if scene.name == name)
    years = weekly.draw(scene, noise, np.random.default_rng([7, number]))
    return chain(years.ratios), years


@pytest.mark.parametrize("change", [-0.05, 0.05])
def test_a_change_is_found_with_its_versions_and_campaigns(change: float) -> None:
    """Between two candidates, with its size and an interval around it."""
    ratios = weeks({4: change})
    (place,) = found(ratios)
    assert (place.index, place.previous, place.candidate) == (12, "v7.1.3", "v7.1.4")
    assert (place.before, place.campaign) == (ratios[11].campaign, ratios[12].campaign)
    assert place.ci95[0] < change < place.ci95[1]
    assert place.ci95[0] < place.change < place.ci95[1]
    assert place.p < 0.001


def test_a_change_that_is_taken_back_is_two_change_points() -> None:
    """Down and up again, each with its direction."""
    places = found(weeks({2: -0.06, 5: 0.06}))
    assert [place.index for place in places] == [6, 15]
    assert [math.copysign(1, place.change) for place in places] == [-1, 1]


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize(
    "name", ["nothing", "one outlier of 8 %", "drift of -0.5 % a release", "by release: nothing"]
)
def test_what_is_no_change_point_is_not_found(name: str, number: int) -> None:
    """Two years of noise, of an outlier, of slow drift."""
    made, years = drawn(name, number)
    assert change_points.find(made, 2.0, years.noise_sd) == ()


@pytest.mark.parametrize("number", [3, 4])
@pytest.mark.parametrize("name", ["three changes of 5 %", "by release: one loss of 5 %"])
def test_what_changes_is_found_where_it_is(name: str, number: int) -> None:
    """Each change of 5 %, and nothing else, to the release."""
    made, years = drawn(name, number)
    places = change_points.find(made, 2.0, years.noise_sd)
    assert {place.index for place in places} == set(years.changes)


def patched(change: float, at: int, *, candidate: float = 0.0, every: int = 6) -> list[Ratio]:
    """Forty weeks; the baseline becomes a patch that no campaign measures, which changes.

    Args:
        at: the week of the patch.
        candidate: what the candidates change by from week 24 on.
        every: so many weeks a new candidate.
    """
    random = np.random.default_rng(3)
    return [
        dataclasses.replace(
            ratio(week, f"v7.1.{5 + (week >= at)}", f"v7.5.{week // every}"),
            log_ratio=float(
                candidate * (week >= 24) - change * (week >= at) + random.normal(0, NOISE)
            ),
            standard_error=NOISE,
        )
        for week in range(40)
    ]


@pytest.mark.parametrize("change", [-0.05, 0.03, 0.05])
@pytest.mark.parametrize("at", [18, 21], ids=["with a new candidate", "between two"])
def test_a_patch_of_the_baseline_is_no_change_of_the_candidate(change: float, at: int) -> None:
    """Whether one candidate met both baselines or none did; nor is it drift or an outlier."""
    made = chain(patched(change, at))
    assert made.points[-1].bridged_from == "v7.1.5"
    assert change_points.find(made, 2.0, NOISE) == ()
    assert change_points.find_drift(made, (), 2.0, NOISE) is None


@pytest.mark.parametrize("change", [-0.05, 0.0, 0.05])
@pytest.mark.parametrize("at", [12, 15, 21, 27], ids=lambda at: f"week {at}")
def test_beside_a_patch_of_the_baseline_a_change_has_its_size(change: float, at: int) -> None:
    """Before or after the patch, and with the same candidate on both sides of it."""
    (place,) = found(patched(change, at, candidate=-0.05))
    assert (place.index, place.outliers) == (24, ())
    assert place.ci95[0] < -0.05 < place.ci95[1]


def test_a_change_that_cannot_be_told_from_the_patch_is_none() -> None:
    """Baseline and candidate became new in the same week: either may have changed."""
    assert found(patched(0.0, 24, candidate=-0.05)) == ()
    assert len(found(patched(0.0, 26, candidate=-0.05))) == 1


def test_one_outlier_before_a_patch_is_no_change() -> None:
    """It alone shows the step; the campaigns after the patch do not show it."""
    ratios = patched(0.0, 25)
    ratios[24] = dataclasses.replace(ratios[24], log_ratio=-0.08)
    assert found(ratios) == ()
    assert [change_point.index for change_point in found(patched(0.0, 25, candidate=-0.08))] == [24]


def test_an_older_pair_in_between_changes_nothing() -> None:
    """Its baseline was never measured; that it is another one is no change of the candidates."""
    older = dataclasses.replace(
        ratio(20, "v6.5.0", "v7.0.0", 0.1), campaign="older", standard_error=NOISE
    )
    ratios = weeks(count=36)
    assert found([*ratios, older]) == ()


def test_an_outlier_is_named_and_does_not_count() -> None:
    """The change beside it keeps its size; the campaign that did not count is in the result."""
    ratios = weeks({4: -0.05})
    ratios[7] = dataclasses.replace(ratios[7], log_ratio=0.09)
    (place,) = found(ratios)
    assert place.outliers == (ratios[7].campaign,)
    assert place.change == pytest.approx(found(weeks({4: -0.05}))[0].change, abs=0.004)


@pytest.mark.parametrize(("after", "count"), [(1, 0), (2, 1)])
def test_one_campaign_after_a_change_is_not_enough(after: int, count: int) -> None:
    """It may be an outlier; with the second one the change is found."""
    assert len(found(weeks({4: -0.05})[: 12 + after])) == count


def test_a_repeated_version_is_no_place_of_a_change() -> None:
    """The same candidate all the time: whatever its campaigns do, no release did it."""
    same = [
        dataclasses.replace(ratio, candidate="v7.1.0", log_ratio=-0.1 * (index >= 12))
        for index, ratio in enumerate(weeks())
    ]
    assert found(same) == ()


def test_less_than_the_threshold_is_none() -> None:
    """However sure it is."""
    made = chain(weeks({4: math.log(0.985)}, noise=0.0005))
    assert change_points.find(made, 2.0, 0.0005) == ()
    assert len(change_points.find(made, 1.0, 0.0005)) == 1


def test_what_aa_campaigns_show_widens_the_interval() -> None:
    """A standard error that knows of the rounds only is not believed."""
    ratios = weeks({4: -0.05})
    (known,) = found(ratios, 0.014)
    (plain,) = found(ratios, None)
    assert known.ci95[1] - known.ci95[0] > 1.5 * (plain.ci95[1] - plain.ci95[0])
    assert found(ratios, 0.05) == ()


def test_without_any_standard_error_the_campaigns_show_the_noise() -> None:
    """They scatter around their levels; also where only some have one."""
    none = [dataclasses.replace(ratio, standard_error=None) for ratio in weeks({4: -0.05})]
    (place,) = found(none, None)
    assert place.index == 12
    some = [*weeks({4: -0.05})[:5], *none[5:]]
    assert [change_point.index for change_point in found(some, None)] == [12]
    assert found([dataclasses.replace(r, standard_error=None) for r in weeks()], None) == ()


def test_equal_levels_have_no_change_and_exact_ones_have_theirs() -> None:
    """Ratios without any noise, with standard errors of zero and without."""
    for error in (0.0, None):
        for change, expected in ((0.0, []), (-0.05, [12])):
            exact = [
                dataclasses.replace(ratio, standard_error=error)
                for ratio in weeks({4: change}, noise=0.0)
            ]
            assert [change_point.index for change_point in found(exact, None)] == expected


def test_fewer_than_ten_points_have_none() -> None:
    """However large the change."""
    ratios = weeks({1: -0.5})[:MIN_POINTS]
    assert found(ratios[:-1]) == ()
    assert [change_point.index for change_point in found(ratios)] == [3]


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.floats(-0.5, 0.5))
def test_only_changes_count_not_how_far_the_baseline_is(seed: int, shift: float) -> None:
    """Another reference for all ratios moves all levels, and no change point."""
    ratios = weeks({4: -0.05}, seed=seed)
    moved = [dataclasses.replace(ratio, log_ratio=ratio.log_ratio + shift) for ratio in ratios]
    for one, other in zip(found(ratios), found(moved), strict=True):
        assert one.index == other.index
        assert one.change == pytest.approx(other.change)
        assert one.p == pytest.approx(other.p)


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_a_gain_is_found_like_a_loss(seed: int) -> None:
    """With all signs turned round the places are the same."""
    ratios = weeks({2: 0.04, 5: -0.07}, seed=seed)
    turned = [dataclasses.replace(ratio, log_ratio=-ratio.log_ratio) for ratio in ratios]
    there, back = found(ratios), found(turned)
    assert [point.index for point in there] == [point.index for point in back]
    assert [-point.change for point in there] == pytest.approx([point.change for point in back])


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([0.0] * 12, []),
        ([], []),
        ([0.0, 1.0], []),
        ([0, 1, 0, 1, 0, 9, 8, 9, 8, 9], [5]),
        ([0, 1, 0, 1, 0, 9, 8, 9, 8, 9, 1, 0, 1, 0, 1], [5, 10]),
    ],
    ids=["equal", "none", "two", "up", "up and down"],
)
def test_e_divisive_proposes_where_the_values_change(
    values: list[float], places: list[int]
) -> None:
    """Ties and equal values are no change; one that is taken back is two."""
    assert list(propose(np.array(values, dtype=float))) == places


@settings(max_examples=25)
@given(st.lists(st.integers(-9, 9), min_size=2, max_size=9))
def test_e_divisive_takes_the_pair_of_stretches_with_the_largest_statistic(
    values: list[int],
) -> None:
    """As its definition says, over all pairs of stretches, one after the other."""

    def mean_distance(one: list[int], other: list[int]) -> float:
        return sum(abs(a - b) for a in one for b in other) / (len(one) * len(other))

    def within(stretch: list[int]) -> float:
        pairs = len(stretch) * (len(stretch) - 1)
        return sum(abs(a - b) for a in stretch for b in stretch) / pairs if pairs else 0.0

    def q(place: int, until: int) -> float:
        one, other = values[:place], values[place:until]
        weight = len(one) * len(other) / (len(one) + len(other))
        return weight * (2 * mean_distance(one, other) - within(one) - within(other))

    size = len(values)
    best = max(q(place, end) for end in range(2, size + 1) for place in range(1, end))
    assert q(*split(np.array(values, dtype=float))) == pytest.approx(best)
