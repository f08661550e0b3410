"""What a backfill would do is said before anyone starts it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from benchlab.campaign import overrides, report_types
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.errors import SpecError
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Request
from benchlab.results.store import open_store
from benchlab.studies import backfill, backfill_text
from benchlab.studies.backfill import BackfillMoment, BackfillPlan
from tests.builders import campaigns, fixed_weekly, plans
from tests.builders.installation import Here

HISTORY = (date(2021, 4, 1), date(2022, 9, 30))
NEW_SERIES = {"schedule.types": ["GA", "LTS", "DMR"]}
LOCAL = (date(2017, 1, 1), date(2025, 12, 31))
SUMMER = (date(2022, 6, 1), date(2022, 10, 9))


@pytest.fixture
def here(here: Here) -> Here:
    """An installation with all three servers of the calendar."""
    program = here.home.servers / "mariadb" / "11.4.5" / "bin" / "mariadbd"
    program.parent.mkdir(parents=True)
    program.write_text("")
    return here


def spec_of(here: Here, report: str, **fields: Any) -> ReportSpec:
    """A report type of the house, with fields changed."""
    return overrides.override(
        report_types.load(report_types.find_report(here.home, report)), fields
    )


def weekly(here: Here, **fields: Any) -> ReportSpec:
    """A weekly report type with a fixed plan, of releases: past nightlies cannot be had."""
    rules = {"baseline": "previous series", "candidate": "newest"}
    return overrides.override(fixed_weekly.load(here.home), {**rules, **fields})


def planned(here: Here, spec: ReportSpec, days: tuple[date, date]) -> BackfillPlan:
    """The plan of a backfill, with what the store has."""
    with open_store(here.home) as store:
        return backfill.backfill_plan(here.home, spec, *days, store)


def pairs(moments: tuple[BackfillMoment, ...]) -> list[tuple[str, ...]]:
    """Candidate and baseline."""
    return [(moment.versions["candidate"], moment.versions["baseline"]) for moment in moments]


def measure(here: Here, spec: ReportSpec, on: date, campaign: str = "c1", **fields: Any) -> None:
    """Put the campaign of a day into the store, as it would be measured."""
    resolved = Resolver(here.home, asks=Asks.NOBODY).versions(Request(spec, on)).spec
    if fields:
        resolved = overrides.override(resolved, fields)
    with open_store(here.home) as store:
        # Without facts of a machine, which would not be those of this one.
        store.add_campaign(campaigns.campaign(resolved, id=campaign, environment={}))


def test_history_is_one_campaign_for_each_new_series(here: Here) -> None:
    """Nine pairs with the newest patch of the LTS series before, and what they cost together."""
    found = planned(here, spec_of(here, "sysbench_ec2", **NEW_SERIES), HISTORY)
    assert pairs(found.campaigns) == [
        ("v5.0.0", "v4.0.12"),
        ("v5.1.0", "v5.0.2"),
        ("v5.2.0", "v5.1.1"),
        ("v5.3.0", "v5.2.2"),
        ("v5.4.0", "v5.3.0"),
        ("v6.0.0", "v5.4.0"),
        ("v6.1.0", "v5.4.1"),
        ("v6.2.0", "v6.1.0"),
        ("v6.3.0", "v6.1.1"),
    ]
    assert found.moments == found.campaigns
    assert found.vcpus == 144
    assert found.dollars == pytest.approx(sum(moment.dollars or 0 for moment in found.moments))
    one = (
        Resolver(here.home, asks=Asks.NOBODY)
        .versions(Request(spec_of(here, "sysbench_ec2"), HISTORY[1]))
        .spec
    )
    alone = plans.plan_in(here.home, one, "tidb", "any")
    assert (found.moments[-1].minutes, found.moments[-1].dollars) == (alone.minutes, alone.dollars)


def test_patches_of_lts_series_have_campaigns(here: Here) -> None:
    """Since v8.5.0 there are only patches: each against the one before it in its own series."""
    found = planned(here, spec_of(here, "sysbench_ec2"), (date(2025, 1, 1), date(2026, 7, 31)))
    assert pairs(found.campaigns) == [
        ("v8.5.1", "v8.5.0"),
        ("v6.5.12", "v6.5.11"),
        ("v7.5.6", "v7.5.5"),
        ("v8.5.2", "v8.5.1"),
        ("v8.5.3", "v8.5.2"),
        ("v7.5.7", "v7.5.6"),
        ("v8.5.4", "v8.5.3"),
        ("v8.5.5", "v8.5.4"),
        ("v8.5.6", "v8.5.5"),
        ("v8.5.7", "v8.5.6"),
    ]
    assert found.moments == found.campaigns


def test_no_release_of_a_day_is_lost(here: Here) -> None:
    """Patches of two LTS series and of one that is none came out together: a campaign for each."""
    day = date(2021, 12, 3)
    found = planned(here, spec_of(here, "sysbench_ec2"), (day, day))
    assert pairs(found.moments) == [("v5.2.3", "v5.2.2"), ("v5.1.3", "v5.1.2")]
    assert [f"{moment.at:%H:%M}" for moment in found.moments] == ["00:00", "00:01"]
    assert "--to-date 2021-12-03T23:59:59" in backfill_text.command(found)


def test_last_good_follows_what_the_backfill_itself_would_measure(here: Here) -> None:
    """The first has nothing before it; each further one is against the one before."""
    rules = {"engines.tidb.baseline.version": "last good"}
    spec = spec_of(here, "sysbench_ec2", **rules)
    found = planned(here, spec, (date(2025, 8, 1), date(2025, 12, 31)))
    assert pairs(found.campaigns) == [
        ("v8.5.3", "v8.5.2"),
        ("v7.5.7", "v7.5.6"),
        ("v8.5.4", "v8.5.3"),
    ]


def test_a_release_without_a_baseline_has_no_campaign(here: Here) -> None:
    """It is named with the reason, and the others are planned; nothing is rented for them."""
    found = planned(here, spec_of(here, "sysbench_local_releases"), LOCAL)
    assert pairs(found.campaigns) == [("10.11.5", "10.2.11"), ("11.4.5", "10.11.5")]
    assert "previous series of 10.2.11" in (found.moments[0].no_campaign or "")
    assert not found.refused
    assert (found.dollars, found.vcpus) == (None, None)
    assert found.minutes == pytest.approx(sum(moment.minutes or 0 for moment in found.campaigns))


def test_what_is_measured_already_is_not_planned(here: Here) -> None:
    """The campaign is named; with another plan it would be another measurement."""
    spec = spec_of(here, "sysbench_local_releases")
    measure(here, spec, date(2023, 8, 14), "there")
    measure(here, spec, date(2025, 2, 4), "shorter", seconds=2)
    found = planned(here, spec, LOCAL)
    assert pairs(found.campaigns) == [("11.4.5", "10.11.5")]
    assert found.moments[1].no_campaign == "measured already with this plan: there"
    assert pairs(found.moments[1:2]) == [("10.11.5", "10.2.11")]
    again = spec_of(here, "sysbench_local_releases", **{"schedule.measure_again": True})
    assert len(planned(here, again, LOCAL).campaigns) == 2


def test_what_was_measured_on_other_hosts_is_planned_again(here: Here) -> None:
    """A topology may be changed and keep its name."""
    spec = spec_of(here, "sysbench_ec2")
    last = (HISTORY[1], HISTORY[1])
    resolved = Resolver(here.home, asks=Asks.NOBODY).versions(Request(spec, HISTORY[1])).spec
    with open_store(here.home) as store:
        plan = plans.plan_in(here.home, resolved, "tidb", "there")
        store.add_campaign(campaigns.campaign(resolved, id="there", plan_=plan))
    assert not planned(here, spec, last).campaigns
    topology = here.home.configs / "topologies" / "ec2_published.yaml"
    text = topology.read_text()
    assert text.count("i3.4xlarge") == 1
    topology.write_text(text.replace("i3.4xlarge", "m5.xlarge"))
    assert len(planned(here, spec, last).campaigns) == 1


@pytest.mark.parametrize("schedule", ["weekly", "on_release"])
def test_a_schedule_of_noise_alone_says_so(here: Here, schedule: str) -> None:
    """Every campaign is an A/A campaign, and none is needless."""
    fields = {"runs": schedule} | ({"cron": "0 2 * * 1"} if schedule == "weekly" else {})
    found = planned(here, spec_of(here, "sysbench_ec2", sides="same", schedule=fields), SUMMER)
    assert found.campaigns == found.moments
    assert all(moment.aa for moment in found.moments)
    assert all(one == other for one, other in pairs(found.moments))
    assert "comparison" not in backfill_text.render(found, 100, False).split("campaign", 1)[1]


def test_a_store_that_is_not_asked_has_nothing(here: Here) -> None:
    """As where it cannot be reached."""
    spec = spec_of(here, "sysbench_local_releases")
    measure(here, spec, date(2023, 8, 14))
    assert len(backfill.backfill_plan(here.home, spec, *LOCAL, None).campaigns) == 2


def test_weeks_with_the_same_pair_are_measured_once(here: Here) -> None:
    """But an A/A campaign every fourth week, of what the candidate is then."""
    found = planned(here, weekly(here), SUMMER)
    assert not found.refused
    assert len(found.moments) == 18
    assert [moment.at for moment in found.moments] == [
        datetime(2022, 6, 6, 2, tzinfo=UTC) + timedelta(weeks=n) for n in range(18)
    ]
    noise = [moment for moment in found.campaigns if moment.aa]
    compared = pairs(tuple(moment for moment in found.campaigns if not moment.aa))
    assert [moment.at - noise[0].at for moment in noise] == [
        timedelta(weeks=4 * n) for n in range(5)
    ]
    assert all(moment.versions["candidate"] == moment.versions["baseline"] for moment in noise)
    assert len(compared) == len(set(compared))
    assert ("v6.2.0", "v6.1.1") in compared
    assert {
        reason
        for moment in found.moments
        if (reason := moment.no_campaign) and "same pair" in reason
    }
    again = weekly(here, **{"schedule.measure_again": True})
    assert len(planned(here, again, SUMMER).campaigns) == 18


def test_past_nightlies_are_skipped_and_each_week_says_why(here: Here) -> None:
    """As shipped, the weekly report type has nothing to backfill."""
    found = planned(here, spec_of(here, "sysbench_ec2_weekly"), SUMMER)
    assert not found.campaigns
    assert not found.refused
    assert all("no longer available" in (m.no_campaign or "") for m in found.moments)


def test_a_watch_of_the_past_has_the_anchors_of_then(here: Here) -> None:
    """Each day's newest LTS release, and where there is a newer one, first a bridge to it.

    The price is that of quiet weeks, and what a confirmation takes is said beside it.
    """
    spec = spec_of(here, "sysbench_ec2_weekly", candidate="newest")
    days = (date(2022, 9, 26), date(2023, 3, 12))
    found = planned(here, spec, days)
    assert not found.refused
    compared = [(f"{one.at:%m-%d}", one.bridge, *pairs((one,))[0]) for one in found.campaigns]
    assert compared == [
        ("09-26", False, "v6.2.0", "v6.1.0"),
        ("10-03", False, "v6.3.0", "v6.1.0"),
        ("11-21", False, "v6.4.0", "v6.1.0"),
        ("02-20", True, "v6.5.0", "v6.1.0"),
        ("02-27", False, "v6.6.0", "v6.5.0"),
    ]
    bridge = found.campaigns[3]
    assert bridge.dollars == pytest.approx(found.campaigns[0].most_dollars, rel=0.01)
    assert bridge.most_dollars is None
    text = backfill_text.render(found, 400, False)
    assert text.count(" bridge ") == 1
    assert "one in which everything is confirmed takes 10.6 h and 84.20 dollars" in text
    # Without a store as well: what the backfill itself measures is known.
    assert backfill.backfill_plan(here.home, spec, *days, None).campaigns == found.campaigns


def test_before_the_first_anchor_nothing_is_watched(here: Here) -> None:
    """Each week says that there was no LTS release; with the anchor itself there is no pair."""
    spec = spec_of(here, "sysbench_ec2_weekly", candidate="newest")
    for monday, why in (
        (date(2020, 2, 3), "baseline.version: newest LTS on 2020-02-03: there is none"),
        (date(2022, 6, 13), "are both v6.1.0"),
    ):
        (moment,) = planned(here, spec, (monday, monday)).moments
        assert why in (moment.no_campaign or "")
        assert not moment.refused


def test_a_parameter_that_a_version_refuses_costs_its_campaign_only(here: Here) -> None:
    """The reason names it, and every pair that takes it is planned."""
    key = "engines.tidb.parameters.tidb_enable_async_commit"
    found = planned(here, spec_of(here, "sysbench_ec2", **{key: 1}), HISTORY)
    assert found.campaigns == found.moments[1:]
    assert "tidb_enable_async_commit" in (found.moments[0].no_campaign or "")
    assert found.refused == found.moments[:1]


def test_a_pair_that_is_refused_is_not_taken_for_measured(here: Here) -> None:
    """Each week says why, and none that another one measures it."""
    spec = weekly(here, budget={"approve_above": 1, "limit": 1})
    found = planned(here, spec, SUMMER)
    assert not found.campaigns
    assert all("budget.limit" in str(moment.no_campaign) for moment in found.moments)
    assert "0 campaigns, 18 refused" in backfill_text.render(found, 100, False)
    document = backfill_text.to_json(found)
    assert (document["command"], document["commands"], document["notes"]) == (None, [], [])


@pytest.mark.parametrize(
    ("report", "days", "why"),
    [
        ("sysbench_hosts", HISTORY, "schedule: sysbench_hosts has none"),
        ("sysbench_ec2", HISTORY[::-1], "begins after its end"),
        ("sysbench_ec2", (date(2021, 4, 1), date(9999, 1, 1)), "ends in the future"),
        ("sysbench_ec2", (date(2021, 4, 8), date(2021, 4, 9)), "no release of the types GA, LTS"),
        ("sysbench_ec2_weekly", (date(2022, 7, 5), date(2022, 7, 6)), "'0 2 * * 1' has no moment"),
        (
            "sysbench_ec2_weekly",
            (date.min, date(2022, 7, 6)),
            "before 2017-10-16, the day of v1.0.0",
        ),
    ],
)
def test_a_range_with_nothing_to_plan_is_refused(
    here: Here, report: str, days: tuple[date, date], why: str
) -> None:
    """Before anything is planned."""
    with pytest.raises(SpecError) as refused:
        planned(here, spec_of(here, report), days)
    assert why in str(refused.value)


def test_a_topology_that_is_wrong_is_refused_once(here: Here) -> None:
    """And is not the reason of every moment."""
    path = here.home.configs / "topologies" / "ec2_published.yaml"
    path.write_text(path.read_text().replace("kind: ec2", "kind: moon"))
    with pytest.raises(SpecError, match="kind"):
        planned(here, spec_of(here, "sysbench_ec2"), HISTORY)


# ---------------------------------------------------------------- as a page


def test_the_page_begins_with_the_total_and_ends_with_the_command(here: Here) -> None:
    """Hours and dollars before anything else; the command is one line, however narrow.

    Then, what Airflow does with a moment that it has run before.
    """
    found = planned(here, spec_of(here, "sysbench_ec2", **NEW_SERIES), HISTORY)
    lines = backfill_text.render(found, 60, False).splitlines()
    total = " ".join(lines[:2])
    assert total.startswith("sysbench_ec2, 2021-04-01 to 2022-09-30: 9 campaigns, about ")
    assert f"about {found.dollars:,.2f} dollars" in total
    assert [line.strip() for line in lines[-5:-3]] == [
        "make up",
        "bin/airflow dags unpause sysbench_ec2",
    ]
    assert "also runs by its schedule" in " ".join(lines[-7:-5])
    assert lines[-3].strip() == (
        "bin/airflow backfill create --dag-id sysbench_ec2 --from-date 2021-04-01 "
        "--to-date 2022-09-30T23:59:59 --max-active-runs 1"
    )
    assert "has a run for already are left alone (`--reprocess-behavior failed`" in " ".join(
        lines[-2:]
    )


def test_what_a_person_has_to_approve_is_said(here: Here) -> None:
    """Each campaign of its own, with the limit; a note on the page, and the number in JSON."""
    found = planned(here, spec_of(here, "sysbench_ec2", **NEW_SERIES), HISTORY)
    assert found.asked == found.campaigns
    document = backfill_text.to_json(found)
    (note,) = document["notes"]
    assert note.startswith(
        "each of the 9 campaigns costs more than budget.approve_above (20 dollars): each waits in "
        "Airflow, up to 3 days, until a person approves it"
    )
    assert (document["approvals"], document["undecided"]) == (9, [])
    assert all(moment["approval"] is True for moment in document["moments"])
    assert f"note: {note}\n" in backfill_text.render(found, 400, False)


def test_what_is_rented_without_being_asked_is_said(here: Here) -> None:
    """As a weekly report type does; moments without a campaign do not count."""
    found = planned(here, weekly(here), SUMMER)
    assert found.unasked == found.campaigns != found.moments
    document = backfill_text.to_json(found)
    assert document["notes"] == [
        (
            f"each of the {len(found.campaigns)} campaigns costs no more than budget.approve_above "
            "(60 dollars): hosts are rented without anybody being asked"
        )
    ]
    assert document["approvals"] == 0


def test_of_campaigns_some_may_have_to_be_approved() -> None:
    """Then both are said, each with its number."""
    at = datetime(2022, 7, 4, 2, tzinfo=UTC)
    moments = tuple(
        BackfillMoment(at, aa=False, minutes=60, dollars=dollars, vcpus=8, approval=dollars > 20)
        for dollars in (10.0, 20.0, 30.0)
    )
    found = BackfillPlan("weekly", at.date(), at.date(), False, moments, approve_above=20)
    asked, unasked = backfill_text.to_json(found)["notes"]
    assert asked.startswith("1 of 3 campaigns costs more than")
    assert unasked.startswith("2 of 3 campaigns cost no more than")


def test_an_open_decision_is_named(here: Here) -> None:
    """A run would be refused for it; a plan and a local report type are not."""
    owned = {"target": "hosts", "topology": "hosts_published"}
    found = planned(here, spec_of(here, "sysbench_ec2", **owned), HISTORY)
    (open_,) = backfill_text.to_json(found)["undecided"]
    assert open_.startswith("topology hosts_published: no host_key for ")
    page = backfill_text.render(found, 400, False)
    assert f"note: every run is refused until this is decided: {open_}\n" in page
    local = planned(here, spec_of(here, "sysbench_local_releases"), LOCAL)
    assert backfill_text.to_json(local)["notes"] == []
    assert "note:" not in backfill_text.render(local, 400, False)


def test_the_command_for_weeks_has_the_whole_last_day() -> None:
    """Airflow takes a day for its midnight, and the moment is at two."""
    monday = date(2022, 7, 4)
    found = BackfillPlan("weekly", monday, monday, by_release=False, moments=())
    assert "--to-date 2022-07-04T23:59:59 " in backfill_text.command(found)


def test_a_reason_stands_once_with_its_days(here: Here) -> None:
    """Weeks often share one; nothing from elsewhere reaches the terminal as it is."""
    at = datetime(2022, 7, 4, 2, tzinfo=UTC)
    moments = tuple(
        BackfillMoment(at + timedelta(weeks=n), aa=False, no_campaign="too \x1b[31mdear")
        for n in range(3)
    )
    found = BackfillPlan("weekly", at.date(), at.date(), by_release=False, moments=moments)
    text = backfill_text.render(found, 100, False)
    assert text.count("dear") == 1
    assert "none on 2022-07-04, 2022-07-11, 2022-07-18:\n  too" in text
    assert "\x1b" not in text


def test_the_command_line_shows_a_backfill(here: Here) -> None:
    """As a page, and as JSON with the same figures."""
    types = "schedule.types=[GA, LTS, DMR]"
    arguments = ("plan", "sysbench_ec2", "--set", types, "--backfill", *map(str, HISTORY))
    document = json.loads(here.run(*arguments, "--json").stdout)
    assert document["campaigns"] == len(document["moments"]) == 9
    assert document["moments"][0]["versions"] == {"baseline": "v4.0.12", "candidate": "v5.0.0"}
    text = here.run(*arguments).stdout
    assert f"{document['dollars']:,.2f} dollars" in text
    assert "v5.0.0 vs. v4.0.12" in text
