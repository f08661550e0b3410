"""A schedule has the moments that its cron expression or its releases say, in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from benchlab.plan import versions
from benchlab.plan.documents import faults
from benchlab.plan.fields import schedule
from benchlab.plan.fields.schedule import OnRelease, Weekly
from benchlab.plan.versions import Release, ReleaseKind

MONDAYS = "0 2 * * 1"
MONDAY = datetime(2024, 1, 1, 2, tzinfo=UTC)
FEW = settings(max_examples=50)
days = st.dates(date(2000, 1, 1), date(2050, 12, 31))


def weekly(**fields: object) -> Weekly:
    """A weekly schedule on Mondays at two."""
    return Weekly.model_validate({"runs": "weekly", "cron": MONDAYS, **fields})


def test_first_and_last_moment_count() -> None:
    """A backfill from a Monday to a Monday has both."""
    found = schedule.moments(weekly(), (), MONDAY, MONDAY + timedelta(weeks=2))
    assert found == tuple(MONDAY + timedelta(weeks=n) for n in range(3))
    second = timedelta(seconds=1)
    assert schedule.moments(weekly(), (), MONDAY + second, MONDAY + timedelta(7) - second) == ()
    half = timedelta(milliseconds=500)
    assert schedule.moments(weekly(), (), MONDAY + half, MONDAY + timedelta(1)) == ()


@FEW
@given(days, st.integers(0, 800))
def test_every_week_has_its_moment(first: date, length: int) -> None:
    """Every Monday at two and at no other time, across ends of years and clock changes."""
    begin = schedule.midnight(first)
    found = schedule.moments(weekly(), (), begin, begin + timedelta(length, hours=23))
    mondays = [
        first + timedelta(n) for n in range(length + 1) if (first + timedelta(n)).weekday() == 0
    ]
    assert [moment.date() for moment in found] == mondays
    assert {(moment.hour, moment.minute, moment.utcoffset()) for moment in found} <= {
        (2, 0, timedelta())
    }


def test_a_range_in_another_time_zone_has_the_same_moments() -> None:
    """The expression is in UTC, wherever the range is from."""
    east = timezone(timedelta(hours=9))
    begin, end = MONDAY - timedelta(days=3), MONDAY + timedelta(days=11)
    assert schedule.moments(weekly(), (), begin.astimezone(east), end.astimezone(east)) == (
        schedule.moments(weekly(), (), begin, end)
    )


def test_releases_have_their_days() -> None:
    """The days of the wanted types, from midnight on, both ends included."""
    released: list[tuple[str, int, ReleaseKind]] = [
        ("v5.0.4", 27, "patch"),
        ("v5.1.2", 27, "patch"),
        ("v5.2.0", 1, "GA"),
        ("v5.2.1", 9, "patch"),
    ]
    known = [
        Release(versions.parse(text), date(2021, 9, day), kind) for text, day, kind in released
    ]
    rule = OnRelease(runs="on_release", types=("patch",))
    first, last = (datetime(2021, 9, day, tzinfo=UTC) for day in (9, 27))
    both = (last, last + timedelta(minutes=1))
    assert schedule.moments(rule, known, first, both[1]) == (first, *both)
    assert schedule.moments(rule, known, first + timedelta(seconds=1), last) == (last,)
    new_series = OnRelease(runs="on_release")
    assert schedule.moments(new_series, known, datetime(2021, 1, 1, tzinfo=UTC), last) == (
        datetime(2021, 9, 1, tzinfo=UTC),
    )


def test_each_release_of_a_day_has_a_moment() -> None:
    """The first at midnight, so that a day with one release is as it always was."""
    days_ = [date(2021, 9, 9), date(2021, 9, 27), date(2021, 9, 27)]
    found = schedule.moments_of(days_)
    assert [f"{moment:%d %H:%M}" for moment in found] == ["09 00:00", "27 00:00", "27 00:01"]
    rule = OnRelease(runs="on_release")
    assert [schedule.turn(rule, moment).nth for moment in found] == [0, 0, 1]


@FEW
@given(days, st.integers(1, 12))
def test_every_nth_week_is_an_aa_campaign(first: date, every: int) -> None:
    """Exactly one in `aa_every` consecutive weeks, also across ends of years."""
    rule = weekly(aa_every=every)
    weeks = [rule.is_aa(first + timedelta(weeks=n)) for n in range(3 * every)]
    assert sum(weeks) == 3
    assert weeks[:every] == weeks[every : 2 * every]


@FEW
@given(days, st.integers(0, 12), st.integers(1, 12))
def test_every_nth_week_compares_with_a_release(first: date, aa_every: int, every: int) -> None:
    """Never in an A/A week; a week that is due for both is made up for in the next one."""
    rule = weekly(aa_every=aa_every, release_every=every)
    weeks = [first + timedelta(weeks=n) for n in range(aa_every * every or every)]
    aa, release = ([asked(day) for day in weeks] for asked in (rule.is_aa, rule.is_with_release))
    assert not any(a and b for a, b in zip(aa, release, strict=True))
    if aa_every == 1:
        assert not any(release)
    elif every > 1:
        assert sum(release) == len(weeks) // every
    assert not any(weekly(release_every=0).is_with_release(day) for day in weeks)


@FEW
@given(days, st.integers(1, 12), st.integers(-12, 14))
def test_all_of_an_iso_week_is_of_one_kind(day: date, every: int, offset_h: int) -> None:
    """From Monday to Sunday, and for a time as for its day in UTC."""
    rule = weekly(aa_every=every)
    monday = day - timedelta(days=day.weekday())
    assert {rule.is_aa(monday + timedelta(days=n)) for n in range(7)} == {rule.is_aa(day)}
    late = datetime(day.year, day.month, day.day, 23, 30, tzinfo=UTC)
    assert rule.is_aa(late.astimezone(timezone(timedelta(hours=offset_h)))) == rule.is_aa(day)


@FEW
@given(days, st.integers(0, 12), st.integers(0, 12), st.integers(1, 12))
def test_a_canary_has_a_week_of_its_own(
    first: date, aa_every: int, release_every: int, every: int
) -> None:
    """No week has two turns; of every `canary_every` weeks one has it, if any is left for it."""
    assume(aa_every != 1 and release_every != 1 and (aa_every, release_every) != (2, 2))
    rule = weekly(aa_every=aa_every, release_every=release_every, canary_every=every)
    begin = schedule.midnight(first)
    found = schedule.moments(rule, (), begin, begin + timedelta(weeks=6 * every))
    turns = [schedule.turn(rule, moment) for moment in found]
    assert all(
        (turn.aa, turn.with_release, turn.canary is not None).count(True) <= 1 for turn in turns
    )
    numbers = [turn.canary.number for turn in turns if turn.canary]
    assert len(numbers) == len({*numbers}), "each once"
    # A period that is here as a whole has its canary, unless all of its weeks have another turn.
    of = [(schedule._week(at) - every // 2) // every for at in found]
    for number in {one for one in of if of.count(one) == every}:
        others = [t.aa or t.with_release for t, one in zip(turns, of, strict=True) if one == number]
        assert (number in numbers) is not all(others)
    assert not any(schedule.turn(weekly(), moment).canary for moment in found)


@pytest.mark.parametrize(("aa_every", "release_every"), [(1, 0), (0, 1), (2, 2)])
def test_a_canary_that_would_never_have_a_week_is_refused(
    aa_every: int, release_every: int
) -> None:
    """At its field, with the turns that take every week; without a canary they are a schedule."""
    turns = {"aa_every": aa_every, "release_every": release_every}
    with pytest.raises(ValidationError, match="no week is left for a canary") as refused:
        weekly(**turns, canary_every=8)
    (fault,) = faults(refused.value)
    assert str(fault).startswith(
        f"canary_every: no week is left for a canary: with aa_every {aa_every}"
    )
    assert weekly(**turns).canary(MONDAY) is None


def test_a_nightly_schedule_has_one_canary_in_its_week() -> None:
    """The first run of the week: the other nights are watched."""
    rule = weekly(cron="0 2 * * *", aa_every=0, release_every=0, canary_every=8, canary_pct=15)
    found = schedule.moments(rule, (), MONDAY, MONDAY + timedelta(weeks=24))
    planted = [(at, canary) for at in found if (canary := schedule.turn(rule, at).canary)]
    assert [at.weekday() for at, _ in planted] == [0, 0, 0]
    assert {canary.pct for _, canary in planted} == {15}
    numbers = [canary.number for _, canary in planted]
    assert numbers == [*range(numbers[0], numbers[0] + 3)], "workloads take turns by them"


@FEW
@given(days)
def test_no_week_is_an_aa_campaign_where_none_is_wanted(day: date) -> None:
    """``aa_every: 0``."""
    assert not weekly(aa_every=0).is_aa(day)


@pytest.mark.parametrize(
    ("cron", "why"),
    [
        ("0 2 * *", "five fields"),
        ("0 2 * * 1 0", "five fields"),
        ("@weekly", "five fields"),
        ("0 25 * * 1", "five fields"),
        ("0 2 * * 8", "five fields"),
        ("* 2 * * 1", "minute and hour are numbers"),
        ("0 */2 * * 1", "minute and hour are numbers"),
        ("0 2 R * 1", "five fields"),
        ("0 2 31 2 *", "there is no such day"),
    ],
)
def test_what_has_no_day_is_refused(cron: str, why: str) -> None:
    """A campaign takes hours: more than once a day, at random or never is not a schedule."""
    with pytest.raises(ValidationError, match=why) as refused:
        weekly(cron=cron)
    assert cron in str(refused.value)


@pytest.mark.parametrize("cron", ["0 2 * * 1", "30 22 * * MON,THU", "0 2 1-7 * *", "0 0 29 2 *"])
def test_days_may_be_written_as_cron_does(cron: str) -> None:
    """Several of a week, names, ranges."""
    assert weekly(cron=cron).cron == cron
