"""What may still be spent, with plain numbers, and the times that it is compared with."""

from __future__ import annotations

import pytest

from benchlab.plan.spending import Spending
from benchlab.plan.steps import (
    PlanStep,
    minutes_after_trials,
    minutes_with_end,
    repeat_minutes,
    trial_minutes,
)
from tests.builders import plans
from tests.builders.campaigns import fleet_campaign


def test_what_takes_longer_than_the_hosts_have_left_is_not_allowed() -> None:
    """To the minute: 60 dollars at half a dollar a minute, of which 50 are spent."""
    spending = Spending(dollars=50.0, limit=60.0, usd_per_minute=0.5, minutes_left=20.0)
    assert spending.allows(20.0)
    assert not spending.allows(20.1)
    assert spending.after(20.0) == 60.0
    assert spending.ends_by_limit
    assert str(spending) == "50.00 of 60.00 dollars"


def test_hosts_whose_time_is_over_before_do_not_end_by_the_limit() -> None:
    """Twice the plan and two hours are over when 55 dollars are spent."""
    assert not Spending(50.0, 60.0, 0.5, minutes_left=10.0).ends_by_limit


STEPS = (
    PlanStep("provision", None, "rent", 6),
    PlanStep("check", "baseline", "after the load", 4),
    PlanStep("measure", None, "round 1", 30),
    PlanStep("measure", None, "round 2", 30),
    PlanStep("check", "baseline", "after the last trial", 5),
    PlanStep("publish", None, "report", 2),
    PlanStep("give back", None, "all", 2),
)


@pytest.mark.parametrize(("end", "minutes"), [(7, 9), (4, 0), (0, 0)])
def test_after_the_trials_come_checks_publishing_and_giving_back(end: int, minutes: int) -> None:
    """What precedes them does not count."""
    assert minutes_after_trials(STEPS[:end]) == minutes


@pytest.mark.parametrize(
    ("phase", "minutes"), [("check after load", 8), ("check after last trial", 9)]
)
def test_of_two_checks_of_a_side_the_one_that_comes_counts(phase: str, minutes: int) -> None:
    """With publishing and giving back; the other one is over, or measuring has reserved it."""
    assert minutes_with_end(STEPS, phase, "baseline") == minutes


@pytest.mark.parametrize(("repeats", "minutes"), [(0, 0), (1, 60), (2, 120)])
def test_at_worst_everything_is_measured_again(repeats: int, minutes: int) -> None:
    """As often as `repeat_limit` says, on top of the plan."""
    assert repeat_minutes(STEPS, repeats) == minutes


@pytest.mark.parametrize("restore", ["every_trial", "after_writes", "never"])
def test_a_trial_is_not_estimated_below_the_plan(restore: str) -> None:
    """Taken together, the trials one by one take no less than the plan's rounds."""
    campaign = fleet_campaign(restore=restore)
    measuring = sum(step.minutes for step in campaign.plan.steps if step.stage == "measure")
    each = [trial_minutes(campaign.report_type, trial) for trial in campaign.plan.trials]
    assert sum(each) >= measuring - 0.01 * len(campaign.plan.steps)


def test_a_minute_of_the_fleet_costs_what_its_price_list_says() -> None:
    """The whole fleet with its root volumes; cents are rounded up once, for the whole plan."""
    plan = fleet_campaign().plan
    assert plan.usd_per_minute is not None
    hourly = float(plans.prices().rent(plans.ec2_topology()).usd_per_hour)
    assert hourly <= plan.usd_per_minute * 60 <= hourly + 0.01 / (plan.minutes / 60)
    assert plans.plan(plans.spec()).usd_per_minute is None
