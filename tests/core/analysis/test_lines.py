"""A chain follows one line of versions, so that no series is blamed for another."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

import pytest

from benchlab import engines, home
from benchlab.analysis.trend import change_points
from benchlab.analysis.trend.chain import NEWEST, Ratio, chain, lines
from benchlab.analysis.trend.change_points import ChangePoint, Drift
from benchlab.campaign import report_types
from benchlab.plan import releases
from benchlab.plan import versions as versions_module
from benchlab.plan.fields import schedule
from benchlab.plan.versions import FINAL, ReleaseKind, Version, parse, parse_rule

FIRST = datetime(2024, 1, 1, tzinfo=UTC)
NOISE = 0.003


def week(n: int, baseline: str, candidate: str, *, is_planned: bool) -> Ratio:
    """The campaign of one week."""
    at = FIRST + timedelta(weeks=n)
    return Ratio(f"week-{n}", at, baseline, candidate, 0.0, None, is_planned)


def weekly(*candidates: str, by_hand: Iterable[int] = ()) -> list[Ratio]:
    """Each against v6.0.0, a week after the one before."""
    return [
        week(n, "v6.0.0", candidate, is_planned=n not in set(by_hand))
        for n, candidate in enumerate(candidates)
    ]


def names(found: Mapping[str, Iterable[Ratio]]) -> dict[str, list[str]]:
    """The candidates of each line."""
    return {name: [ratio.candidate for ratio in line] for name, line in found.items()}


def test_what_only_gets_newer_is_one_line() -> None:
    """As with the candidate `newest`; a candidate may be measured again."""
    found, why = lines(weekly("v6.5.0", "v6.5.0", "v6.5.1", "v7.0.0"))
    assert names(found) == {NEWEST: ["v6.5.0", "v6.5.0", "v6.5.1", "v7.0.0"]}
    assert not why


def test_a_patch_of_an_older_series_is_in_the_line_of_that_series() -> None:
    """Newer series first; what came before the newer series stays where it was."""
    found, why = lines(weekly("v6.5.0", "v7.1.0", "v6.5.1", "v7.5.0", "v7.1.1", "v6.5.2", "v7.5.0"))
    assert names(found) == {
        NEWEST: ["v6.5.0", "v7.1.0", "v7.5.0", "v7.5.0"],
        "7.1": ["v7.1.1"],
        "6.5": ["v6.5.1", "v6.5.2"],
    }
    assert list(names(found)) == [NEWEST, "7.1", "6.5"]
    assert not why


def test_what_is_out_of_order_in_its_own_series_too_is_left_out() -> None:
    """With how to place it."""
    found, why = lines(weekly("v7.1.0", "v6.5.2", "v6.5.1", "v6.5.3"))
    assert names(found) == {NEWEST: ["v7.1.0"], "6.5": ["v6.5.2", "v6.5.3"]}
    assert list(why) == ["week-2"]
    assert "v6.5.1 is out of the order of versions in line 6.5" in str(why["week-2"])
    assert "--on DAY" in str(why["week-2"])


def test_a_build_that_somebody_tried_does_not_end_the_line_newest() -> None:
    """One that fits between those planned is in their line."""
    found, why = lines(weekly("v7.0.0", "v9.0.0", "v7.1.0", "v7.1.1", "v7.2.0", by_hand=(1, 3)))
    assert names(found) == {
        NEWEST: ["v7.0.0", "v7.1.0", "v7.1.1", "v7.2.0"],
        "9.0": ["v9.0.0"],
    }
    assert not why


@pytest.mark.parametrize(
    ("pairs", "by_hand", "left_out", "said"),
    [
        (
            [("v7.1.0", "v6.5.3"), ("v6.5.3", "v7.1.0")],
            (),
            "week-1",
            "candidate v7.1.0 was a baseline before",
        ),
        (
            [("v7.1.0", "v6.5.3"), ("v6.5.3", "v7.1.0")],
            (0,),
            "week-0",
            "baseline v7.1.0 becomes a candidate later",
        ),
    ],
)
def test_a_version_has_one_level_in_a_line(
    pairs: list[tuple[str, str]], by_hand: tuple[int, ...], left_out: str, said: str
) -> None:
    """A candidate first and a baseline then, or a baseline only: what is planned decides."""
    campaigns = [week(n, *pair, is_planned=n not in by_hand) for n, pair in enumerate(pairs)]
    _, why = lines(campaigns)
    assert list(why) == [left_out]
    assert said in str(why[left_out])


# ---------------------------------------------------------------- on the real calendar

OF_TIDB = report_types.calendar(home.find()).owned(engines.by_name()["tidb"].owns)
SINCE = date(2023, 1, 1)
WEEKS = [date(2023, 1, 2) + timedelta(weeks=n) for n in range(200)]
Level = Callable[[Version], float]


def slower_in_6_5(version: Version) -> float:
    """Of all versions those from v6.5.6 on in their series are 10 % slower."""
    return -0.1 if version.series == (6, 5) and version.numbers >= (6, 5, 6) else 0.0


def run_by_calendar(
    days: Iterable[date], candidate: str, kinds: tuple[ReleaseKind, ...], level: Level, seed: int
) -> list[Ratio]:
    """One campaign each day, against the previous series."""
    rng = random.Random(seed)
    made = []
    for day in days:
        new = versions_module.resolve(parse_rule(candidate), OF_TIDB, day, None, kinds).version
        old = versions_module.resolve(parse_rule("previous series"), OF_TIDB, day, new).version
        found = level(new) - level(old) + rng.gauss(0, NOISE)
        at = schedule.midnight(day)
        made.append(Ratio(f"{day}", at, old.text, new.text, found, NOISE))
    return made


def changes(line: Sequence[Ratio]) -> tuple[tuple[ChangePoint, ...], Drift | None]:
    """What is found in the chain of a line."""
    made = chain(line)
    found = change_points.find(made, 2.0, NOISE)
    return found, change_points.find_drift(made, found, 2.0, NOISE)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("days", "kinds", "has_ten"),
    [
        (sorted({*releases.days(OF_TIDB, ("patch",))}), ("patch",), False),
        (sorted({*releases.days(OF_TIDB, FINAL)}), FINAL, True),
        (WEEKS, FINAL, True),
    ],
    ids=["each patch", "each release", "weekly"],
)
def test_a_change_in_one_series_is_reported_for_no_other(
    days: Iterable[date], kinds: tuple[ReleaseKind, ...], has_ten: bool, seed: int
) -> None:
    """Found where it is if its line has ten campaigns; no place lies between equal versions."""
    since = [day for day in days if day >= SINCE]
    campaigns = run_by_calendar(since, "release of the day", kinds, slower_in_6_5, seed)
    found, why = lines(campaigns)
    assert not why
    assert len(found) > 3
    assert (len(found["6.5"]) >= change_points.MIN_POINTS) == has_ten
    by_line = {name: changes(line) for name, line in found.items()}
    places = {
        (name, place.previous, place.candidate): place.change
        for name, (found_here, _) in by_line.items()
        for place in found_here
    }
    assert list(places) == ([("6.5", "v6.5.5", "v6.5.6")] if has_ten else [])
    assert list(places.values()) == pytest.approx([-0.1] * len(places), abs=0.01)
    assert [name for name, (_, drifts) in by_line.items() if drifts] == []


def test_weekly_campaigns_of_the_newest_are_one_line() -> None:
    """What the long view's rule was simulated with is not changed by lines."""
    campaigns = run_by_calendar(WEEKS, "newest", FINAL, lambda _: 0.0, 0)
    found, why = lines(campaigns)
    assert found == {NEWEST: tuple(campaigns)}
    assert parse(campaigns[-1].candidate).numbers >= (8, 5, 0)
    assert not why
