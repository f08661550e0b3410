"""A year of Mondays of a weekly report type with a fixed plan: what runs, is skipped, and costs.

The year is simulated. Releases, patches and betas are made up. TiDB's own nightly builds have
names such as ``v9.0.0-beta.2.pre-1895-g5c91``; here they are numbered by their weeks.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from benchlab.campaign import overrides
from benchlab.campaign.measured_versions import measured_by
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.errors import NoReleaseError
from benchlab.plan.fields import schedule
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Request
from benchlab.results.store import Store, open_store
from benchlab.studies import backfill
from tests.builders import campaigns, fixed_weekly, plans
from tests.builders.installation import Here

CALENDAR = """version,release_date,type
v7.5.0,2023-12-01,LTS
v7.5.5,2024-12-11,patch
v8.4.0,2024-12-11,DMR
v8.5.0,2024-12-19,LTS
v8.5.1,2025-01-17,patch
v7.5.6,2025-03-14,patch
v9.0.0-beta.1,2025-05-27,pre-release
v8.5.2,2025-06-12,patch
v9.0.0,2025-09-10,DMR
v8.5.3,2025-10-09,patch
v9.0.1,2025-11-06,patch
"""
FIRST = datetime(2025, 1, 6, 2, tzinfo=UTC)
MONDAYS = tuple(FIRST + timedelta(weeks=n) for n in range(52))
# In August nobody merges anything: every Monday has the build of the last one in July.
AUGUST = range(30, 34)
# The build of this week makes one workload slower.
SLOWER = 12


@dataclasses.dataclass(frozen=True)
class Week:
    """What a Monday came to.

    Attributes:
        pair: candidate and baseline; empty if there is no campaign.
        why: why there is none.
    """

    number: int
    kind: str
    pair: tuple[str, str] | tuple[()]
    dollars: float = 0.0
    why: str = ""


@pytest.fixture
def weekly(here: Here) -> ReportSpec:
    """The house's weekly report type with a fixed plan, and a calendar of this year."""
    here.home.releases.write_text(CALENDAR)
    return fixed_weekly.load(here.home)


def with_rules(spec: ReportSpec, baseline: str, candidate: str) -> ReportSpec:
    """With other versions, or version rules."""
    changes: dict[str, Any] = {"baseline": baseline, "candidate": candidate}
    named = {f"engines.tidb.{side}.version": text for side, text in changes.items()}
    return overrides.override(spec, named)


def simulated(here: Here, spec: ReportSpec, store: Store) -> Iterator[Week]:
    """Each Monday as a run by the calendar has it; what it measures is then in the store."""
    for number, at in enumerate(MONDAYS):
        built = AUGUST.start - 1 if number in AUGUST else number
        nightly = with_rules(spec, "last good", f"v9.1.0-alpha-{built:02}")
        turn = schedule.turn(spec.schedule, at)
        kind = "A/A" if turn.aa else "release" if turn.with_release else "nightly"
        try:
            resolver = Resolver(here.home, store, asks=Asks.NOBODY)
            measured = measured_by(here.home, store, spec.report)
            request = Request(nightly, at.date(), turn, measured)
            resolved = resolver.versions(request).spec
        except NoReleaseError as error:
            yield Week(number, kind, (), why=str(error))
            continue
        if found := backfill.already_measured(here.home, store, resolved, "tidb"):
            yield Week(number, kind, (), why=f"measured by {found}")
            continue
        plan = plans.plan_in(here.home, resolved, "tidb", f"week-{number:02}")
        made = campaigns.campaign(resolved, id=f"week-{number:02}", plan_=plan, environment={})
        store.add_campaign(dataclasses.replace(made, planned_for=at))
        change = {"oltp_update_index": -0.2} if number == SLOWER else {}
        for result in campaigns.results_of(plan, campaigns.known_change(change, 0.002)):
            store.add_trial(made.id, result)
        baseline, candidate = (plan.sides[side].version for side in ("baseline", "candidate"))
        yield Week(number, kind, (candidate, baseline), plan.dollars or 0.0)


def test_a_year_of_nightly_builds(here: Here, weekly: ReportSpec) -> None:
    """Against the last good build; every fourth week against a release, and against itself."""
    with open_store(here.home) as store:
        year = list(simulated(here, weekly, store))
    assert Counter(week.kind for week in year) == {"A/A": 13, "release": 13, "nightly": 26}
    good = None
    for week in year:
        if week.kind == "A/A":
            assert len(set(week.pair)) == 1, "noise is measured all year, in August as well"
        elif week.kind == "nightly" and week.pair:
            assert week.pair[1] == good, "the latest build that was compared and not slower"
        if week.kind != "A/A" and week.pair and week.number != SLOWER:
            good = week.pair[0]
    releases = [week.pair[1] for week in year if week.kind == "release" and week.pair]
    assert list(dict.fromkeys(releases)) == ["v8.5.0", "v8.5.1", "v8.5.2", "v9.0.0", "v9.0.1"]
    # Without a new build, only what was not measured with the last one is run.
    skipped = {week.number: week.why for week in year if not week.pair}
    assert skipped == dict.fromkeys((31, 33), "measured by week-29")
    (each,) = {week.dollars for week in year if week.pair}
    assert sum(week.dollars for week in year) == pytest.approx(50 * each)
    assert weekly.budget is not None
    assert each <= weekly.budget.approve_above, "nobody is there on Monday night"


def test_a_year_of_releases(here: Here, weekly: ReportSpec) -> None:
    """As `benchlab plan --backfill` shows it; betas and patches of older series start nothing."""
    spec = with_rules(weekly, "previous", "newest")
    with open_store(here.home) as store:
        found = backfill.backfill_plan(here.home, spec, FIRST.date(), MONDAYS[-1].date(), store)
    compared = {
        f"{moment.at:%m-%d}": (moment.versions["candidate"], moment.versions["baseline"])
        for moment in found.campaigns
        if not moment.aa
    }
    assert compared == {
        "01-06": ("v8.5.0", "v7.5.5"),
        "01-27": ("v8.5.1", "v8.5.0"),
        "06-16": ("v8.5.2", "v8.5.1"),
        "09-15": ("v9.0.0", "v8.5.2"),
        "10-13": ("v9.0.0", "v8.5.3"),
        "11-10": ("v9.0.1", "v9.0.0"),
    }
    assert sum(moment.aa for moment in found.campaigns) == 13
    why = {moment.no_campaign for moment in found.moments if moment not in found.campaigns}
    assert why == {f"the same pair as on 2025-{day}" for day in compared}
    assert found.dollars == pytest.approx(19 * (found.campaigns[0].dollars or 0))
