"""The search names the release that brought a change, with as few campaigns as it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchlab.analysis.verdict.decision import Verdict
from benchlab.analysis.verdict.variances import Estimate, Variance, percent
from benchlab.errors import SpecError
from benchlab.plan.versions import Release, ReleaseKind, parse
from benchlab.studies.bisection import run
from benchlab.studies.bisection.search import (
    BisectionOutcome,
    Named,
    Next,
    NothingToBisect,
    PairComparison,
    Undecided,
    search,
)

THRESHOLD_PCT = 2.0
ERROR = 0.004


def compared(
    baseline: str,
    candidate: str,
    change: float,
    error: float = ERROR,
    verdict: Verdict | None = None,
) -> PairComparison:
    """A comparison that finds a change, a logarithm, with a standard error and many rounds."""
    estimate = Estimate(change, Variance(error**2, 30))
    return PairComparison(
        baseline,
        candidate,
        verdict or judged(estimate),
        estimate,
        f"{candidate}-vs-{baseline}",
    )


def judged(estimate: Estimate) -> Verdict:
    """By the decision rule, for one workload."""
    if estimate.p_value < 0.05 and abs(percent(estimate.mean)) >= THRESHOLD_PCT:
        return "improvement" if estimate.mean > 0 else "regression"
    if all(abs(percent(bound)) < THRESHOLD_PCT for bound in estimate.interval(0.90)):
        return "equivalent"
    return "inconclusive"


class World:
    """Releases whose levels are known, and the campaigns that were run to find out.

    Args:
        steps: what each release brings against the one before it, as a logarithm.
        answer: how a campaign sees a true change.
    """

    def __init__(
        self,
        steps: Sequence[float],
        undeployable: Iterable[int] = (),
        answer: Callable[[str, str, float], PairComparison] = compared,
    ) -> None:
        self.way = [f"v{number}" for number in range(len(steps) + 1)]
        self.levels = [math.fsum(steps[:number]) for number in range(len(self.way))]
        self.undeployable = {self.way[number] for number in undeployable}
        self.known: dict[tuple[str, str], PairComparison] = {}
        self.run: list[tuple[str, str]] = []
        self._answer = answer

    def compare(self, first: int, last: int) -> None:
        """A campaign that is in the store."""
        pair = self.way[first], self.way[last]
        self.known[pair] = self._answer(*pair, self.levels[last] - self.levels[first])

    def bisect(self) -> BisectionOutcome:
        """Run the campaigns that are asked for; none twice, none that cannot be deployed.

        Never more than are announced at first.
        """
        left: int | None = None
        while isinstance(found := self.search(left), Next):
            pair = found.baseline, found.candidate
            assert pair not in self.known
            assert not self.undeployable.intersection(pair)
            assert 1 <= found.if_clear <= found.at_most
            left = found.at_most if left is None else left
            assert found.at_most <= left, "what is announced does not become more"
            left -= 1
            self.run.append(pair)
            self.compare(*map(self.way.index, pair))
        return found

    def search(self, left: int | None = None) -> Next | BisectionOutcome:
        """With what is known so far."""
        return search(self.way, self.known.values(), THRESHOLD_PCT, self.undeployable, left)


def most_campaigns(releases: int) -> int:
    """ceil(log2(n)) + 1."""
    return math.ceil(math.log2(releases)) + 1


@st.composite
def single_steps(draw: st.DrawFn) -> tuple[World, str]:
    """One release brought a change; some campaigns are stored, some releases cannot be had."""
    count = draw(st.integers(1, 24))
    at = draw(st.integers(1, count))
    steps = [0.0] * count
    steps[at - 1] = draw(st.sampled_from([-1, 1])) * draw(st.floats(0.04, 1.5))
    world = World(steps, draw(st.sets(st.sampled_from(range(1, count)))) if count > 1 else ())
    pairs = list(combinations(range(count + 1), 2))
    for pair in draw(st.lists(st.sampled_from(pairs), max_size=6, unique=True)):
        world.compare(*pair)
    return world, world.way[at]


# The first example imports scipy.
FEW = settings(max_examples=40)


@FEW
@given(single_steps())
def test_a_single_step_is_found_with_few_campaigns(drawn: tuple[World, str]) -> None:
    """Whatever is stored and whatever cannot be deployed: log2 of the releases, and one.

    The answer rests on the store alone: asked again, it is the same without a campaign.
    """
    world, culprit = drawn
    found = world.bisect()
    assert isinstance(found, Named)
    assert culprit in (found.brought.release, *found.brought.untold)
    assert set(found.brought.untold) <= world.undeployable
    assert found.rest is None
    open_releases = len(world.way) - 1 - len(world.undeployable)
    before = len(world.run)
    assert before <= most_campaigns(open_releases)
    assert world.bisect() == found
    assert len(world.run) == before


@FEW
@given(st.lists(st.floats(-0.3, 0.3), min_size=1, max_size=10), st.data())
def test_any_releases_and_any_answers_come_to_an_end(
    steps: list[float], data: st.DataObject
) -> None:
    """Steps everywhere, unclear answers: no comparison is ever asked for twice."""

    def answer(baseline: str, candidate: str, change: float) -> PairComparison:
        error = data.draw(st.sampled_from([0.001, 0.02, 0.2]))
        seen = change + data.draw(st.floats(-2, 2)) * error
        verdict: Verdict | None = data.draw(st.sampled_from([None, None, None, "unstable"]))
        return compared(baseline, candidate, seen, error, verdict)

    world = World(steps, answer=answer)
    found = world.bisect()
    if isinstance(found, Named):
        assert found.brought.change.estimate.mean * found.whole.estimate.mean > 0
    if not (isinstance(found, Undecided) and found.next):
        assert world.bisect() == found


@FEW
@given(st.lists(st.floats(-0.002, 0.002), min_size=1, max_size=20))
def test_where_nothing_changed_one_campaign_says_so(steps: list[float]) -> None:
    """There is nothing to bisect."""
    assume(abs(math.fsum(steps)) < 0.01)
    world = World(steps)
    found = world.bisect()
    assert isinstance(found, NothingToBisect)
    assert found.comparison.verdict == "equivalent"
    assert len(world.run) == 1


@pytest.mark.parametrize("sign", [-1, 1])
def test_stored_neighbours_name_the_release_without_a_campaign(sign: int) -> None:
    """Each release against the one before it is all that there is, as after a backfill."""
    world = World([0.001, sign * 0.3, -0.001, 0.0])
    for number in range(4):
        world.compare(number, number + 1)
    found = world.bisect()
    assert isinstance(found, Named)
    assert (found.brought.release, found.brought.predecessor) == ("v2", "v1")
    assert found.brought.change.campaigns == ("v2-vs-v1",)
    assert world.run == []
    assert sorted(found.whole.campaigns) == [f"v{n + 1}-vs-v{n}" for n in range(4)]


def test_one_stored_neighbour_that_explains_the_whole_is_enough() -> None:
    """Nothing leads from the ends to it."""
    world = World([0.0, 0.0, 0.0, 0.0, -0.2, 0.0, 0.0])
    world.compare(0, 7)
    world.compare(4, 5)
    found = world.bisect()
    assert isinstance(found, Named)
    assert found.brought.release == "v5"
    assert world.run == []


def test_the_larger_of_two_steps_is_named_with_the_rest() -> None:
    """The sum of what was found is not the whole."""
    world = World([0.0, -0.1, 0.0, 0.0, 0.0, 0.0, -0.3, 0.0])
    found = world.bisect()
    assert isinstance(found, Named)
    assert found.brought.release == "v7"
    assert found.rest is not None
    assert found.rest.estimate.mean == pytest.approx(-0.1)
    assert len(world.run) <= most_campaigns(8)


def test_a_middle_with_half_of_the_change_is_also_compared_with_the_last_one() -> None:
    """The larger part is then searched, and the smaller one is named."""
    world = World([0.0, -0.1, 0.0, 0.0, 0.0, -0.101, 0.0, 0.0])
    found = world.bisect()
    assert world.run[:3] == [("v0", "v8"), ("v0", "v4"), ("v4", "v8")]
    assert isinstance(found, Named)
    assert found.brought.release == "v6"
    assert found.rest is not None


def test_the_part_that_is_searched_is_searched_to_its_end() -> None:
    """Though what is found in it makes another release the middle of the way."""
    found = {(0, 6): 0.102, (0, 3): 0.048, (3, 6): 0.0485, (3, 4): 0.001, (3, 5): 0.05, (2, 3): 0.0}
    known = [compared(f"v{one}", f"v{two}", seen, 0.003) for (one, two), seen in found.items()]
    reached = search([f"v{number}" for number in range(7)], known, THRESHOLD_PCT)
    assert isinstance(reached, Named)
    assert (reached.brought.release, reached.brought.predecessor) == ("v5", "v4")


def test_several_stored_neighbours_are_named_the_largest_first() -> None:
    """Though the search itself would come to another one."""
    world = World([-0.03, -0.08, -0.03, -0.03, -0.03])
    for number in range(5):
        world.compare(number, number + 1)
    found = world.bisect()
    assert isinstance(found, Named)
    assert found.brought.release == "v2"
    assert {other.release for other in found.others} == {"v1", "v3", "v4", "v5"}
    assert found.rest is not None
    assert world.run == []


def test_a_change_that_was_undone_does_not_count() -> None:
    """What the last release still has came later."""
    world = World([-0.2, 0.2, 0.0, -0.2, 0.0])
    for number in range(1, 6):
        world.compare(0, number)
    found = world.bisect()
    assert isinstance(found, Named)
    assert found.brought.release == "v4"
    assert world.run == []


def test_where_the_middle_is_unclear_the_search_stops_with_the_range_that_remains() -> None:
    """Both of its comparisons are asked for, once."""

    def answer(baseline: str, candidate: str, change: float) -> PairComparison:
        blurred = "v2" in (baseline, candidate)
        return compared(baseline, candidate, change, 0.2 if blurred else ERROR)

    world = World([0.0, -0.1, 0.0, 0.0], answer=answer)
    found = world.bisect()
    assert isinstance(found, Undecided)
    assert (found.after, found.suspects) == ("v0", ("v1", "v2", "v3", "v4"))
    assert "v2 against v0 is inconclusive and v4 against v2 is inconclusive" in found.why
    assert world.run == [("v0", "v4"), ("v0", "v2"), ("v2", "v4")]


def test_figures_that_cannot_be_trusted_decide_nothing() -> None:
    """Even an unstable comparison has an estimate; the other side of the middle decides."""

    def answer(baseline: str, candidate: str, change: float) -> PairComparison:
        doubted = (baseline, candidate) == ("v0", "v2")
        return compared(baseline, candidate, change, verdict="unstable" if doubted else None)

    world = World([0.0, 0.0, -0.1, 0.0], answer=answer)
    found = world.bisect()
    assert isinstance(found, Named)
    assert found.brought.release == "v3"
    assert ("v2", "v4") in world.run
    assert "v2-vs-v0" not in (*found.brought.change.campaigns, *found.whole.campaigns)


def test_a_slow_drift_is_not_blamed_on_one_release() -> None:
    """Each step is below what is called a change."""
    found = World([-0.012] * 8).bisect()
    assert isinstance(found, Undecided)
    assert found.whole.pct == pytest.approx(percent(-0.096))
    assert "taken alone" in found.why


def test_a_turned_comparison_says_the_same() -> None:
    """A campaign whose baseline is the later release."""
    there = compared("v2", "v1", 0.25)
    back = there.turned()
    assert (back.baseline, back.candidate, back.verdict) == ("v1", "v2", "regression")
    assert back.estimate is not None
    assert back.estimate.mean == -0.25
    assert back.turned() == there


# ---------------------------------------------------------------- the way

CALENDAR: list[tuple[str, str, ReleaseKind]] = [
    ("v1.0.0", "2020-01-01", "GA"),
    ("v1.0.1", "2020-02-01", "patch"),
    ("v2.0.0-rc.2", "2020-02-02", "pre-release"),
    ("v2.0.0-rc.10", "2020-02-03", "pre-release"),
    ("v2.0.0", "2020-03-01", "GA"),
    ("v2.0.1", "2020-03-15", "patch"),
    ("v3.0.0", "2020-04-01", "GA"),
    ("v1.0.2", "2020-03-20", "patch"),
    ("v1.0.3", "2020-05-01", "patch"),
    ("v2.0.2", "2020-05-02", "patch"),
    ("v3.0.1", "2020-06-01", "patch"),
]
RELEASES = [Release(parse(text), date.fromisoformat(day), kind) for text, day, kind in CALENDAR]


def between(first: str, last: str, **kinds: object) -> tuple[str, ...]:
    """The releases on the way."""
    return run.between(RELEASES, parse(first), parse(last), **kinds).releases  # type: ignore[arg-type]


def test_the_way_is_ordered_by_version_and_has_no_later_branch() -> None:
    """Patches that came out after the next series had begun are left out, by name: what they
    brought is not in the releases after them.
    """
    way = run.between(RELEASES, parse("v1.0.0"), parse("v3.0.1"))
    assert way.releases == ("v1.0.0", "v1.0.1", "v2.0.0", "v2.0.1", "v3.0.0", "v3.0.1")
    assert list(way.left_out) == ["v1.0.2", "v1.0.3", "v2.0.2"]
    assert way.left_out["v1.0.2"] == "released 2020-03-20, after the series 2.0 began (2020-03-01)"
    assert way.left_out["v2.0.2"] == "released 2020-05-02, after the series 3.0 began (2020-04-01)"


def test_a_patch_of_the_last_series_is_on_the_way_whatever_came_after_it() -> None:
    """Between patches of one series the way is that series, and later ones do not count."""
    assert between("v1.0.0", "v1.0.3") == ("v1.0.0", "v1.0.1", "v1.0.2", "v1.0.3")


def test_the_ends_need_not_be_in_the_calendar() -> None:
    """Nor does the last one's series."""
    assert between("v1.0.5", "v2.0.9") == ("v1.0.5", "v2.0.0", "v2.0.1", "v2.0.2", "v2.0.9")
    assert between("v3.0.1", "v9.9.9") == ("v3.0.1", "v9.9.9")


def test_an_end_that_is_not_in_the_calendar_is_named_with_what_is_near() -> None:
    """Of a series that the calendar does not know nothing is near."""
    way = run.between(RELEASES, parse("v1.0.5"), parse("v9.9.9"))
    assert way.not_in_calendar == {"v1.0.5": ("v1.0.0", "v1.0.1", "v1.0.2", "v1.0.3"), "v9.9.9": ()}
    assert run.between(RELEASES, parse("v1.0.0"), parse("v3.0.1")).not_in_calendar == {}


def test_kinds_and_series_narrow_the_way() -> None:
    """Pre-releases come before their release, by number."""
    assert between("v1.0.1", "v2.0.0", kinds=("pre-release",)) == (
        *("v1.0.1", "v2.0.0-rc.2", "v2.0.0-rc.10", "v2.0.0"),
    )
    assert between("v1.0.0", "v3.0.1", first_of_series=True) == (
        *("v1.0.0", "v2.0.0", "v3.0.0", "v3.0.1"),
    )


@pytest.mark.parametrize("pair", [("v2.0.0", "v1.0.0"), ("v1.0.0", "v1.0.0")])
def test_the_good_release_comes_first(pair: tuple[str, str]) -> None:
    """Otherwise it is refused, and the message says how to write it."""
    with pytest.raises(SpecError, match="give the good release first"):
        between(*pair)
