"""Who has to wait for budget or quota is told for whom, and who waits in vain is refused."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from benchlab.campaign import reserving
from benchlab.errors import LockHeldError, SpecError, TargetError
from benchlab.plan.spending import Quota
from benchlab.results.spending import Record, month_of
from tests.builders import campaigns

NOW = datetime.now(UTC)
CODE = "L-1216C47A"


def record(name: str, dollars: float, *, until: datetime | None = None, vcpus: int = 72) -> Record:
    """A campaign that may cost so much."""
    month, until = month_of(NOW), until or NOW + timedelta(days=2)
    held = {"region": "us-west-2", "vcpus": vcpus, "quotas": {CODE: vcpus}}
    return Record(name, "weekly", month, NOW, until, dollars, **held)  # type: ignore[arg-type]


def refused(
    dollars: float, *others: Record, month: float | None = 1000, quota: Quota | None = None
) -> str:
    """Why a campaign that may cost so much does not begin; empty where it does."""
    quotas = [quota] if quota else []
    try:
        reserving.check(record("new", dollars), others, month=month, quotas=quotas)
    except (LockHeldError, SpecError, TargetError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def test_a_campaign_that_fits_beside_the_others_begins() -> None:
    """To the cent; and without a limit each does."""
    spent = dataclasses.replace(record("done", 500), spent=300.0, ended_at=NOW)
    assert refused(60, spent, record("a", 640)) == ""
    assert refused(60.01, spent, record("a", 640)) != ""
    assert refused(5000, spent, month=None) == ""


def test_who_holds_what_until_when_is_named_the_largest_first() -> None:
    """Also one that should have ended long ago, with how to end it."""
    late = record("late", 500, until=datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    until = NOW + timedelta(days=2)
    said = refused(90, record("small", 10), late, record("large", 640, until=until))
    assert said.startswith(
        f"LockHeldError: campaign large holds 640.00 dollars until about {until:%Y-%m-%d %H:%M} "
        "UTC, campaign late holds 500.00 dollars and should have ended at 2026-01-02 03:04 UTC "
        "(`benchlab give-back late` if nothing is at work on it), campaign small holds 10.00"
    )
    assert "may cost up to 90.00 dollars, and of 1,000.00 dollars in" in said
    assert "0.00 dollars are spent and 1,150.00 dollars committed" in said


def test_what_no_waiting_helps_is_refused() -> None:
    """What others have spent, or hold already and spent, is not given back."""
    running = dataclasses.replace(record("a", 640), spent=600.0)
    done = dataclasses.replace(record("done", 500), spent=350.0, ended_at=NOW)
    assert refused(60, running, done).startswith("SpecError: this campaign may cost up to 60.00")
    assert refused(40, running, done).startswith("LockHeldError: campaign a holds 40.00 dollars")


def test_the_campaigns_of_another_month_count_for_the_quota_only() -> None:
    """They run on over the end of their month."""
    before = dataclasses.replace(record("before", 990), month="2000-01")
    assert refused(60, before) == ""
    said = refused(60, before, quota=Quota(CODE, "us-west-2", 72, 100, {}))
    assert "campaign before holds 72 vCPUs" in said


@pytest.mark.parametrize(
    ("used", "outcome"),
    [
        ({}, "LockHeldError: campaign a holds 72 vCPUs"),
        ({"a": 72}, "LockHeldError: campaign a holds 72 vCPUs"),
        ({"a": 80}, "LockHeldError: campaign a holds 80 vCPUs"),
        ({"foreign": 72, "": 8}, "TargetError: this campaign needs 72 of the 150 vCPUs"),
    ],
    ids=["not-launched", "launched", "on-demand-instead", "of-others"],
)
def test_vcpus_count_once_whether_launched_or_not(used: dict[str, int], outcome: str) -> None:
    """Beside 72 of campaign a, 36 of b and 72 of this one are more than 150."""
    quota = Quota(CODE, "us-west-2", 72, 150, used)
    others = record("a", 1), record("b", 1, vcpus=36)
    assert refused(1, *others, quota=quota).startswith(outcome)
    elsewhere = [dataclasses.replace(one, region="eu-central-1") for one in others]
    assert refused(1, *elsewhere, quota=dataclasses.replace(quota, used={})) == ""
    assert refused(1, others[0], quota=dataclasses.replace(quota, used={"a": 72})) == ""


def test_a_campaign_holds_the_most_that_its_hosts_may_cost() -> None:
    """Until they end themselves; no more than its limit. One without a price rents nothing."""
    made = campaigns.fleet_campaign()
    plan, budget = made.plan, made.report_type.budget
    assert budget is not None
    assert plan.most_usd_per_minute is not None
    held = reserving.record("c1", plan, budget, (), NOW)
    assert held is not None
    assert plan.dollars is not None
    assert held.committed == budget.limit
    rich = reserving.record("c1", plan, budget.model_copy(update={"limit": 9e9}), (), NOW)
    assert rich is not None
    assert rich.committed > 2 * plan.dollars
    free = dataclasses.replace(plan, dollars=None, most_dollars=None)
    assert reserving.record("c1", free, budget, (), NOW) is None
