"""Ratios are chained as the versions were measured, and nothing else changes a level."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlab.analysis.trend.chain import Chain, Ratio, chain

FIRST = datetime(2024, 1, 1, tzinfo=UTC)


def ratio(week: int, baseline: str, candidate: str, log_ratio: float = 0.0) -> Ratio:
    """One campaign."""
    return Ratio(
        f"{baseline}-{candidate}-{week}",
        FIRST + timedelta(weeks=week),
        baseline,
        candidate,
        log_ratio,
        None,
    )


def levels(made: Chain) -> list[float]:
    """The levels of its points, by time."""
    return [point.level for point in made.points]


def test_a_level_is_that_of_the_baseline_and_the_ratio() -> None:
    """Each release against the one before: the sum of the steps."""
    made = chain([ratio(n, f"v7.{n}.0", f"v7.{n + 1}.0", 0.01 * n) for n in range(4)])
    assert levels(made) == pytest.approx([0, 0.01, 0.03, 0.06])
    assert all(point.bridged_from is None for point in made.points)


def test_a_baseline_has_the_mean_of_the_points_in_which_it_was_the_candidate() -> None:
    """Those before it, whatever comes later."""
    made = chain(
        [
            ratio(0, "v7.0.0", "v7.1.0", 0.02),
            ratio(1, "v7.0.0", "v7.1.0", 0.04),
            ratio(2, "v7.1.0", "v7.2.0", 0.1),
            ratio(3, "v7.0.0", "v7.1.0", 9.0),
        ]
    )
    assert levels(made)[2] == pytest.approx(0.13)
    assert [point.before for point in made.points] == [(), (), (0, 1), ()]


@pytest.mark.parametrize(
    ("baseline", "bridged_from", "level"),
    [
        ("v7.1.4", "v7.1.2", 0.02),
        ("v7.1.1", "v7.1.0", 0.01),
        ("v7.3.0", "v7.2.0", 0.03),
        ("v7.0.9", "v7.0.0", 0.0),
        ("v6.5.0", None, 0.0),
        ("v7.1.2-rc.1", "v7.1.0", 0.01),
    ],
    ids=["same series", "not newer", "older series", "a baseline", "nothing older", "pre-release"],
)
def test_a_baseline_that_was_never_a_candidate_is_bridged(
    baseline: str, bridged_from: str | None, level: float
) -> None:
    """From the newest older version of its series, else of all; the point says from which."""
    made = chain(
        [
            ratio(0, "v7.0.0", "v7.1.0", 0.01),
            ratio(1, "v7.0.0", "v7.1.2", 0.02),
            ratio(2, "v7.0.0", "v7.2.0", 0.03),
            ratio(3, baseline, "v7.9.0", 0.5),
        ]
    )
    assert made.points[-1].level == pytest.approx(level + 0.5)
    assert made.points[-1].bridged_from == bridged_from


def test_a_bridged_baseline_keeps_the_level_that_it_took_first() -> None:
    """Neither a nearer version measured later nor more campaigns of the same one move it."""
    made = chain(
        [
            ratio(0, "v4.0.0", "v5.0.0", 0.02),
            ratio(1, "v5.0.3", "v5.1.0"),
            ratio(2, "v5.0.0", "v5.0.2", -0.1),
            ratio(3, "v4.0.0", "v5.0.0", 0.5),
            ratio(4, "v5.0.3", "v5.1.1"),
        ]
    )
    assert [levels(made)[index] for index in (1, 4)] == pytest.approx([0.02, 0.02])
    assert [made.points[index].before for index in (1, 4)] == [(0,), (0,)]
    assert [made.points[index].bridged_from for index in (1, 4)] == ["v5.0.0", "v5.0.0"]


def test_a_baseline_that_began_the_chain_stays_at_zero() -> None:
    """Though an older version is measured later."""
    made = chain(
        [
            ratio(0, "v5.0.6", "v5.1.0", 0.02),
            ratio(1, "v3.0.20", "v4.0.16", -0.1),
            ratio(2, "v5.0.6", "v5.1.4", 0.02),
        ]
    )
    assert levels(made) == pytest.approx([0.02, -0.1, 0.02])
    assert made.points[2].bridged_from is None


def test_campaigns_of_one_day_are_chained_by_the_age_of_their_versions() -> None:
    """A release that is the baseline of another one of that day is measured before it."""
    made = chain([ratio(0, "v7.1.0", "v7.2.0", 0.02), ratio(0, "v7.0.0", "v7.1.0", 0.01)])
    assert levels(made) == pytest.approx([0.01, 0.03])


pairs = st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda pair: pair[0] != pair[1])
many = st.lists(
    st.tuples(st.integers(0, 9), pairs, st.floats(-1, 1, allow_nan=False)), max_size=10
).map(
    lambda drawn: [
        dataclasses.replace(
            ratio(week, f"v7.{b // 2}.{b % 2}", f"v7.{c // 2}.{c % 2}", d), campaign=f"c{number}"
        )
        for number, (week, (b, c), d) in enumerate(drawn)
    ]
)


@settings(max_examples=25)
@given(many, st.randoms())
def test_the_order_in_which_ratios_come_does_not_matter(
    ratios: list[Ratio], random: object
) -> None:
    """Nor does the order of campaigns of the same time."""
    shuffled = list(ratios)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert chain(shuffled) == chain(ratios)


@settings(max_examples=25)
@given(many, st.floats(0.1, 10))
def test_levels_are_sums_of_the_ratios(ratios: list[Ratio], scale: float) -> None:
    """As the weights say: what is k times as large in all ratios is so in all levels."""
    made = chain(ratios)
    measured = np.array([point.ratio.log_ratio for point in made.points])
    assert np.allclose(made.weights() @ measured, levels(made))
    scaled = chain([dataclasses.replace(r, log_ratio=scale * r.log_ratio) for r in ratios])
    assert np.allclose(scale * np.array(levels(made)), levels(scaled))


@settings(max_examples=25)
@given(many)
def test_a_later_campaign_changes_no_level(ratios: list[Ratio]) -> None:
    """What was said of the past stays said."""
    made = chain(ratios)
    assert chain([*ratios, ratio(99, "v7.0.0", "v7.3.0", 5.0)]).points[:-1] == made.points


def test_no_campaign_is_no_chain() -> None:
    """Nothing to look at, and no error."""
    assert chain([]).points == ()
    assert chain([]).weights().shape == (0, 0)


def test_the_way_between_two_versions_is_made_of_the_ratios_between_them() -> None:
    """Forwards and backwards; a campaign that measured something else has no weight."""
    steps = [("v7.0.0", "v7.1.0"), ("v7.1.0", "v7.2.0"), ("v7.2.0", "v7.3.0")]
    made = chain([ratio(week, *pair, 0.1) for week, pair in enumerate(steps)])
    assert made.versions == ("v7.0.0", "v7.1.0", "v7.2.0", "v7.3.0")
    forwards, backwards = made.way("v7.0.0", "v7.2.0"), made.way("v7.2.0", "v7.0.0")
    assert forwards is not None
    assert backwards is not None
    assert forwards.weights.tolist() == [1, 1, 0]
    assert backwards.weights.tolist() == [-1, -1, 0]
    assert forwards.unmeasured == ()


def test_an_unmeasured_step_is_named_only_where_it_lies_between() -> None:
    """v7.1.2 was a baseline alone: what it changed by is in every level after it."""
    made = chain(
        [
            ratio(0, "v7.0.0", "v7.1.0", 0.1),
            ratio(1, "v7.1.2", "v7.2.0", 0.1),
            ratio(2, "v7.2.0", "v7.3.0", 0.1),
        ]
    )
    over, after = made.way("v7.0.0", "v7.3.0"), made.way("v7.2.0", "v7.3.0")
    assert over is not None
    assert after is not None
    assert over.unmeasured == ("v7.1.2",)
    assert (after.unmeasured, after.weights.tolist()) == ((), [0, 0, 1])


def test_what_no_campaign_connects_has_no_way() -> None:
    """A chain that began again with older versions; and a version that was never measured."""
    made = chain([ratio(0, "v7.1.0", "v7.2.0"), ratio(1, "v6.1.0", "v6.5.0")])
    assert made.way("v6.5.0", "v7.2.0") is None
    assert made.way("v7.1.0", "v9.0.0") is None


@given(st.lists(st.floats(-0.3, 0.3), min_size=2, max_size=6))
def test_a_way_gives_the_difference_of_the_levels(changes: list[float]) -> None:
    """From the first candidate to the last."""
    made = chain(
        [ratio(n, f"v7.{n}.0", f"v7.{n + 1}.0", change) for n, change in enumerate(changes)]
    )
    way = made.way("v7.1.0", f"v7.{len(changes)}.0")
    assert way is not None
    found = float(way.weights @ np.array(changes))
    assert found == pytest.approx(levels(made)[-1] - levels(made)[0], abs=1e-12)
