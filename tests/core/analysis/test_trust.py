"""What people's judgements say: no more than the numbers do."""

from __future__ import annotations

import pytest
from scipy import stats

from benchlab.analysis.error_rates.trust import trust
from benchlab.results.findings import Design, Direction, FindingState, Judgement

# Of a watch's false findings, if nothing is biased: slower is flagged at 1.8 %, faster at 0.1 %.
WORSE = 18 / 19


def judged(
    state: FindingState, direction: Direction, count: int, design: Design = "fixed"
) -> list[Judgement]:
    """So many judgements that are alike."""
    return count * [Judgement("report", "tpcc", direction, design, state)]


def test_the_share_that_was_right_has_an_exact_interval() -> None:
    """Of those that people have judged; the others are counted by direction."""
    found = trust(
        judged("known", "worse", 10) + judged("noise", "better", 2) + judged("new", "better", 4)
    )
    exact = stats.binomtest(10, 12).proportion_ci(method="exact")
    assert found.right_ci95 == pytest.approx((exact.low, exact.high))
    assert (found.judged, found.right, found.waiting) == (12, 10, {"better": 4})


def test_nothing_is_known_where_nobody_has_judged() -> None:
    """Neither of the share nor of a bias."""
    found = trust(judged("new", "worse", 30))
    assert (found.judged, found.right_ci95, found.p) == (0, None, None)


@pytest.mark.parametrize(("worse", "of"), [(0, 6), (5, 10), (9, 12), (12, 12), (40, 60)])
def test_false_findings_of_a_plain_comparison_are_tried_as_a_coin(worse: int, of: int) -> None:
    """Exactly, two-sided."""
    found = trust(judged("noise", "worse", worse) + judged("noise", "better", of - worse))
    assert found.p == pytest.approx(stats.binomtest(worse, of).pvalue)


@pytest.mark.parametrize("worse", [0, 4, 12, 20])
def test_a_watch_flags_slower_sooner_so_more_false_findings_are_worse(worse: int) -> None:
    """By the levels of its rule: nearly all."""
    found = trust(
        judged("noise", "worse", worse, "watch") + judged("noise", "better", 20 - worse, "watch")
    )
    assert found.expected_worse == pytest.approx(20 * WORSE)
    assert found.p == pytest.approx(stats.binomtest(worse, 20, WORSE).pvalue)


def test_both_designs_count_together() -> None:
    """Ten of each, all of them worse: less likely than of the watch's alone."""
    both = trust(judged("noise", "worse", 10) + judged("noise", "worse", 10, "watch"))
    assert both.expected_worse == pytest.approx(10 * (0.5 + WORSE))
    assert both.p == pytest.approx(0.5**10 * WORSE**10, rel=0.6)


@pytest.mark.parametrize(("count", "design", "enough"), [
    (5, "fixed", False), (6, "release", True), (1, "watch", False), (3, "watch", True),
])  # fmt: skip
def test_too_few_show_nothing(count: int, design: Design, enough: bool) -> None:
    """Even if all of them go one way."""
    assert (trust(judged("noise", "better", count, design)).p is not None) == enough
