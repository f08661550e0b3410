"""The evidence of weeks against an anchor: what is flagged, confirmed, refuted, and remembered."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import cycle, islice
from statistics import fmean

import numpy as np
import pytest

from benchlab.analysis.trend.watch import RULE, Watch

# Weeks of two deployments that scatter by about 2 %, without any change.
QUIET = ([0.011, -0.013], [-0.006, 0.012], [0.008, 0.002], [-0.012, 0.004], [0.013, -0.018])


def after(weeks: int) -> Watch:
    """A watch that has seen so many quiet weeks."""
    watch = Watch()
    for ratios in islice(cycle(QUIET), weeks):
        assert watch.add(ratios).flag is None
    return watch


def shifted(ratios: list[float], by: float) -> list[float]:
    """A week's ratios with a change."""
    return [ratio + by for ratio in ratios]


def until_flagged(watch: Watch, changes: list[float]) -> int | None:
    """The number of the week, from 1, in which changes are flagged; None: never."""
    for number, change in enumerate(changes, 1):
        if watch.add(shifted(QUIET[number % len(QUIET)], change)).flag:
            return number
    return None


def test_a_large_loss_is_flagged_in_its_first_week() -> None:
    """Nobody waits for evidence that one week has."""
    watch = after(20)
    found = watch.add(shifted(QUIET[0], -0.06))
    assert (found.flag, found.weeks) == ("worse", 1)
    assert found.change == pytest.approx(-0.06, abs=0.01)


def test_a_small_loss_is_flagged_by_several_weeks() -> None:
    """A loss of 2 % hides in every single week, and not in eight of them."""
    number = until_flagged(after(20), [-0.02] * 8)
    assert number is not None
    assert number > 1


def test_a_creeping_loss_is_flagged_within_nine_weeks() -> None:
    """Half a per cent a week: the anchor stays, so that it adds up."""
    assert until_flagged(after(26), [-0.005 * week for week in range(1, 10)]) is not None


def test_more_is_known_after_more_quiet_weeks() -> None:
    """Variance is knowledge: the same week says more after a year than at the start."""
    week = shifted(QUIET[0], -0.03)
    p = [after(weeks).add(week).p for weeks in (1, 5, 30)]
    assert p == sorted(p, reverse=True)


def test_a_gain_needs_more_evidence_than_a_loss() -> None:
    """A gain that is told late costs nobody anything."""
    loss, gain = after(20), after(20)
    for sign, watch in ((-1, loss), (1, gain)):
        watch.add([sign * 0.023, sign * 0.027])
    assert loss.evidence().flag == "worse"
    assert gain.evidence().flag is None
    assert RULE.better < gain.evidence().p < RULE.worse


def test_a_flag_that_fresh_deployments_refute_ends_the_runs() -> None:
    """Its weeks are not counted against the workload again."""
    watch = after(20)
    assert watch.add([-0.05, -0.04]).flag == "worse"
    refuted = watch.confirm([0.01, -0.012, 0.004, -0.002])
    assert refuted.verdict is None
    assert refuted.low < 0 < refuted.high
    assert watch.add(QUIET[1]).weeks == 1


def test_what_fresh_deployments_neither_confirm_nor_refute_is_further_evidence() -> None:
    """They lean the same way: the run goes on with them, and the next week can tell the loss."""
    watch = after(20)
    assert watch.add([-0.05, -0.04]).flag == "worse"
    unsure = watch.confirm([-0.04, 0.015, -0.035, -0.005])
    assert (unsure.verdict, unsure.goes_on) == (None, True)
    assert watch.means[-1] == pytest.approx(fmean([-0.05, -0.04, -0.04, 0.015, -0.035, -0.005]))
    alone = after(21)
    assert watch.add([-0.02, -0.03]).p < alone.add([-0.02, -0.03]).p
    assert watch.evidence().weeks == 2
    refuted = watch.confirm([0.01, -0.012, 0.004, -0.002])
    assert (refuted.verdict, refuted.goes_on) == (None, False)
    assert watch.add(QUIET[1]).weeks == 1


def test_fresh_deployments_that_go_the_other_way_refute_a_flag() -> None:
    """A gain that nobody flagged is not told because a loss was: that would double false alarms."""
    watch = after(20)
    assert watch.add([-0.05, -0.04]).flag == "worse"
    found = watch.confirm([0.05, 0.06, 0.052, 0.058])
    assert found.low > 0
    assert (found.verdict, found.goes_on, watch.level.value) == (None, False, 0)


def test_a_week_of_more_deployments_weighs_more() -> None:
    """As if its deployments stood alone, where weeks do not differ by themselves."""
    watch = after(26)
    watch.add([-0.05, -0.04])
    watch.confirm([-0.02, 0.015, -0.025, -0.015])
    watch.add([-0.01, -0.02])
    found = watch.evidence()
    assert found.weeks == 2
    fresh = [-0.05, -0.04, -0.02, 0.015, -0.025, -0.015]
    assert found.change == pytest.approx(fmean([*fresh, -0.01, -0.02]))


def test_the_interval_is_of_the_fresh_deployments_alone() -> None:
    """Weeks that were chosen because they look bad would exaggerate."""
    watch = after(20)
    watch.add([-0.09, -0.08])
    found = watch.confirm([-0.03, -0.034, -0.041, -0.035])
    assert found.change == pytest.approx(-0.035)
    assert found.verdict == "worse"
    assert found.low < -0.035 < found.high < 0


def test_a_confirmed_change_is_told_once_and_a_further_one_beside_it() -> None:
    """It is the new level: quiet while it stays, flagged when more is lost."""
    watch = after(20)
    watch.add([-0.06, -0.05])
    assert watch.confirm([-0.05, -0.06, -0.052, -0.058]).verdict == "worse"
    for ratios in QUIET * 2:
        assert watch.add(shifted(ratios, -0.055)).flag is None
    assert until_flagged(watch, [-0.055 - 0.05] * 3) is not None


def test_a_change_back_is_flagged_as_a_gain() -> None:
    """What was reverted is told as well."""
    watch = after(20)
    watch.add([-0.08, -0.08])
    watch.confirm([-0.08, -0.081, -0.078, -0.079])
    for ratios in QUIET:
        watch.add(shifted(ratios, -0.08))
    assert watch.add([0.002, -0.001]).flag == "better"


def test_builds_that_differ_by_themselves_make_a_week_less_sure() -> None:
    """Deployments of one build agree, weeks do not: a week's variance is that of the weeks."""
    alike, unlike = Watch(), Watch()
    for number, ratios in enumerate(islice(cycle(QUIET), 30)):
        alike.add(ratios)
        unlike.add(shifted(ratios, 0.03 * math.sin(2.4 * number)))
    assert unlike.week(2).value > 2 * unlike.deployment().value / 2
    assert unlike.week(2).value > 2 * alike.week(2).value


def test_a_step_that_nobody_has_told_yet_is_not_taken_for_noise() -> None:
    """One difference between weeks is large; the loss still stands out."""
    watch = after(26)
    quiet = watch.week(2).value
    watch.add(shifted(QUIET[0], -0.05))
    assert watch.week(2).value < 2 * quiet
    assert watch.evidence().flag == "worse"


def test_a_noisier_day_widens_the_interval_of_its_own_deployments() -> None:
    """A fleet that has become noisy is believed at once."""
    quiet, noisy = after(26), after(26)
    for watch in (quiet, noisy):
        watch.add([-0.06, -0.06])
    narrow = quiet.confirm([-0.06, -0.05, -0.055, -0.065])
    wide = noisy.confirm([-0.2, 0.1, -0.15, 0.03])
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)
    assert wide.verdict is None


def test_one_deployment_a_week_is_enough_to_learn_from() -> None:
    """Its weeks show the variance, where no week has two deployments."""
    watch = Watch()
    for ratios in islice(cycle(QUIET), 20):
        watch.add(ratios[:1])
    assert watch.week(1).df > watch.deployment().df
    assert watch.add([-0.09]).flag == "worse"


def test_the_chance_that_is_stated_is_not_above_the_one_that_is_had() -> None:
    """A loss of 5 % in two deployments that scatter by 2.4 %, after half a year of quiet weeks."""
    rng = np.random.default_rng(5)
    stated, told = [], 0
    for _ in range(150):
        watch = Watch()
        for _ in range(26):
            watch.add(rng.normal(0, 0.024, 2).tolist())
        stated.append(watch.told_within(1, -0.05, 2, 4))
        flagged = watch.add(rng.normal(-0.05, 0.024, 2).tolist()).flag == "worse"
        told += flagged and watch.confirm(rng.normal(-0.05, 0.024, 4).tolist()).verdict == "worse"
    assert 0.4 < fmean(stated) < told / 150 + 0.08


def test_a_change_that_another_build_shows_lasts_and_else_it_is_gone() -> None:
    """One layout of the code costs a few per cent, the next one does not."""
    for by, lasts in ((-0.06, True), (0.0, False)):
        watch = after(20)
        watch.add([-0.06, -0.062], "b1")
        assert watch.confirm([-0.06, -0.058, -0.061, -0.059]).verdict == "worse"
        assert watch.level.build == "b1"
        assert not watch.level.lasts
        for number in range(4):
            watch.add(shifted(QUIET[number], by), f"b{number + 2}")
        assert watch.level.lasts is lasts
        assert watch.level.value == pytest.approx(by, abs=0.01)


def test_a_bridge_moves_the_level_and_makes_it_less_sure() -> None:
    """The new anchor is 4 % slower than the old one: builds are then 4 % better than it."""
    watch = after(20)
    watch.bridge([-0.041, -0.039, -0.04, -0.04])
    assert watch.level.value == pytest.approx(0.04)
    assert watch.level.variance > 0
    for ratios in QUIET:
        assert watch.add(shifted(ratios, 0.04)).flag is None


def test_a_figure_that_was_not_flagged_itself_needs_more_to_be_told() -> None:
    """It is measured because of another one, and there are many of them."""
    rule = replace(RULE, beside=0.001)
    asked, beside = Watch(rule), Watch(rule)
    for watch in (asked, beside):
        for ratios in islice(cycle(QUIET), 20):
            watch.add(ratios)
    fresh = [-0.01, -0.04, -0.02, -0.03]
    assert asked.confirm(fresh).verdict == "worse"
    assert beside.confirm(fresh, flagged=False).verdict is None
    assert beside.ended == 0


def test_the_chance_is_stated_of_a_watch_without_weeks() -> None:
    """At the start, after a confirmation and after a bridge."""
    new, confirmed, bridged = Watch(), after(20), after(20)
    confirmed.add([-0.06, -0.062])
    confirmed.confirm([-0.06, -0.058, -0.061, -0.059])
    bridged.bridge([0.01, 0.012, 0.008, 0.01])
    for watch in (new, confirmed, bridged):
        assert 0 < watch.told_within(1, -0.1, 2, 4) < watch.told_within(2, -0.1, 2, 4) <= 1
