"""Two campaigns of one version are compared where they were measured alike, and else refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from benchlab.errors import SpecError
from benchlab.plan.report_type import MEASURED, ReportSpec
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from benchlab.studies import before_after
from tests.builders import campaigns, plans
from tests.builders.installation import Here

# What may differ between two campaigns that are measured alike, except what a side is.
_NOT_MEASURED = {
    *("report", "title", "sides", "engine", "engines", "budget", "snapshots", "published"),
    *(
        "threshold_pct",
        "repeat_limit",
        "diagnose",
        "seed",
        "offered_connections",
        "ports",
        "languages",
        "publish",
        "schedule",
        "machine",
        "layout",
    ),
}


@pytest.fixture
def store(here: Here) -> Iterator[Store]:
    """An empty store."""
    with Store(here.home.store_url, here.home.objects) as opened:
        yield opened


def single(version: str, **fields: Any) -> ReportSpec:
    """A report type of one version."""
    engines = {"mariadb": {"baseline": {"version": version}}}
    return plans.spec(sides="single", engines=engines, **fields)


def before(**fields: Any) -> Campaign:
    """The first campaign, with changes of its record."""
    return replace(campaigns.campaign(single("10.2.11"), id="before"), **fields)


def after(report_type: ReportSpec | None = None, **fields: Any) -> Campaign:
    """The second one, a day later."""
    made = campaigns.campaign(report_type or single("10.11.5"), id="after")
    assert made.ended_at is not None
    day = timedelta(days=1)
    later = replace(made, started_at=made.started_at + day, ended_at=made.ended_at + day)
    return replace(later, **fields)


def refused(here: Here, store: Store, *both: Campaign) -> str:
    """Why two campaigns are not compared."""
    for campaign in both:
        store.add_campaign(campaign)
    with pytest.raises(SpecError) as error:
        before_after.compared(here.home, store, both[0].id, both[1].id)
    return str(error.value)


def test_what_was_measured_alike_is_compared(here: Here, store: Store) -> None:
    """As two sides, one after the other; the second is slower by a tenth."""
    for campaign, tps in ((before(), 1000.0), (after(), 900.0)):
        store.add_campaign(campaign)
        for trial in campaign.plan.trials:
            result = campaigns.trial_result(trial, tps=tps + trial.round)
            store.add_trial(campaign.id, result)
    made = before_after.compared(here.home, store, "before", "after")
    assert {side: of.version for side, of in made.campaign.plan.sides.items()} == {
        "baseline": "10.2.11",
        "candidate": "10.11.5",
    }
    assert made.campaign.plan.placement == "sequential"
    assert len(made.trials) == 2 * len(before().plan.trials)
    for workload in made.comparison.workloads:
        assert workload.arithmetic_mean_pct == pytest.approx(-10, abs=0.1)


def test_what_was_rejected_in_either_campaign_is_counted(here: Here, store: Store) -> None:
    """A trial that was measured again counts with its valid attempt; one that failed is missing."""
    for campaign in (before(), after()):
        store.add_campaign(campaign)
        for trial in campaign.plan.trials:
            rejected = trial.round == 1
            if rejected:
                failed = campaigns.trial_result(trial, tps=1.0, reasons=["busy"])
                store.add_trial(campaign.id, failed)
            if not rejected or campaign.id == "before":
                tps, attempt = 1000.0 + trial.round, 1 + rejected
                again = campaigns.trial_result(trial, attempt=attempt, tps=tps)
                store.add_trial(campaign.id, again)
    made = before_after.compared(here.home, store, "before", "after")
    first = [trial for trial in before().plan.trials if trial.round == 1]
    excluded = made.comparison.excluded
    assert sorted(one.trial for one in excluded) == sorted(
        replace(trial, side=side).id for trial in first for side in ("baseline", "candidate")
    )
    used = len(made.trials) - len(excluded)
    assert used == 2 * len(before().plan.trials) - len(first)
    for workload in made.comparison.workloads:
        assert workload.arithmetic_mean_pct == pytest.approx(0, abs=0.01)


def test_a_campaign_of_two_sides_is_refused(here: Here, store: Store) -> None:
    """With the command that shows what it compares."""
    said = refused(here, store, campaigns.campaign(id="both"), after())
    assert "both: it compares two sides itself: `benchlab compare both`" in said


def test_a_campaign_at_work_is_refused(here: Here, store: Store) -> None:
    """Its figures are not all there."""
    at_work = after(state="running", ended_at=None)
    assert "after: it has not ended" in refused(here, store, before(), at_work)


def test_a_campaign_without_a_side_is_refused(here: Here, store: Store) -> None:
    """It ended before its server was asked anything."""
    said = refused(here, store, before(facts={}), after())
    assert "before: it ended before anything could be measured" in said


def test_the_wrong_order_is_refused(here: Here, store: Store) -> None:
    """What is called before was measured after."""
    said = refused(here, store, after(), before())
    assert said == "--before after was measured after --after before, or at the same time"


def test_every_difference_is_named_at_once(here: Here, store: Store) -> None:
    """Fields of the report type, and what was found of client and machine; with both values."""
    other = single("10.11.5", rounds=4, threads_by_workload={"oltp_point_select": [2]})
    found = {**before().environment, "client_version": "1.0.20", "cpu": "another"}
    said = refused(here, store, before(), after(other, environment=found)).splitlines()
    assert [line.partition(":")[0] for line in said] == [
        *("threads_by_workload", "rounds", "client_version", "cpu")
    ]
    assert (
        "rounds: 3 before and 4 after; both campaigns must be measured alike to be compared" in said
    )


def test_servers_of_two_engines_are_refused(here: Here, store: Store) -> None:
    """Their figures say nothing of an upgrade."""
    engines = {"tidb": {"baseline": {"version": "v6.5.0"}}}
    other = plans.spec(sides="single", engine="tidb", engines=engines)
    assert "engine: mariadb before and tidb after" in refused(here, store, before(), after(other))


def test_each_field_of_a_report_type_is_measured_or_not() -> None:
    """A new one has to be decided on; nothing that is measured can be forgotten."""
    assert set(MEASURED) == set(ReportSpec.model_fields) - _NOT_MEASURED
