"""Places in a picture, and the ticks of its axes."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from benchlab.charts.picture import Scale, around, day_ticks

FIRST = datetime(2023, 8, 12, 23, 50, tzinfo=UTC)


def ticks_of(times: list[datetime]) -> list[tuple[float, str]]:
    """The ticks of these times on an axis of 1,000 pixels."""
    return day_ticks(times, around((at.timestamp() for at in times), 0, 1000, least=86_400))


@given(st.lists(st.timedeltas(timedelta(), timedelta(days=2000)), min_size=1, max_size=60))
def test_a_day_is_named_once_and_only_where_something_was_measured(
    later: list[timedelta],
) -> None:
    """Whether all is of one day or of years; no label covers another one."""
    times = [FIRST + one for one in later]
    ticks = ticks_of(times)
    names = [name for _, name in ticks]
    assert names[0] == f"{min(times):%Y-%m-%d}"
    assert len(set(names)) == len(names)
    assert set(names) <= {f"{at:%Y-%m-%d}" for at in times}
    assert all(b - a >= 80 for (a, _), (b, _) in itertools.pairwise(ticks))


def test_the_first_campaigns_of_a_history_have_one_day_each() -> None:
    """Three within an hour, across midnight: each tick is at its own day's first campaign."""
    times = [FIRST, FIRST + timedelta(minutes=20), FIRST + timedelta(minutes=40)]
    assert [name for _, name in ticks_of(times)] == ["2023-08-12"]
    assert [name for _, name in ticks_of([*times, FIRST + timedelta(days=30)])] == [
        "2023-08-12",
        "2023-09-11",
    ]


def test_ticks_are_round_and_within_the_scale() -> None:
    """Steps of 1, 2 or 5 times a power of 10; no digit of floating point is seen."""
    assert Scale(-0.31, 0.31, 0, 100).ticks(5) == [-0.2, 0.0, 0.2]
    assert Scale(0, 4010, 0, 100).ticks(5) == [0.0, 1000.0, 2000.0, 3000.0, 4000.0]
