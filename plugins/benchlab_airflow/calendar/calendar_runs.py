"""Decides what a DAG run measures, as of its day, and whether it measures anything.

Only runs by the calendar (schedule or backfill) are ever skipped, never those a person starts.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from benchlab.campaign import report_types
from benchlab.errors import BenchlabError, NoReleaseError
from benchlab.home import Home
from benchlab.plan.fields.schedule import OnRelease, Turn, turn
from benchlab.plan.releases import days
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Request
from benchlab.plan.versions import OF_THE_DAY
from benchlab.targets.fleet_files import write

if TYPE_CHECKING:
    from benchlab.campaign.resolving import Resolver
    from benchlab.plan.resolved import Versioned
    from benchlab.results.records import Campaign
    from benchlab.results.store import Store

SCHEDULED, BACKFILL = "scheduled", "backfill"
# Prefix of the run's id in a campaign's `origin`.
ORIGIN = "Airflow run "
# Files in directories of campaigns: the id of the campaign that replaces this one in its run, and
# the id of the campaign that this one replaces.
_FOLLOWED_BY, _FOLLOWS = "followed_by", "follows"
_NUMBER = re.compile(r"-again-[0-9]+$")
# A run that had to wait for an earlier one starts late, but was not missed.
LATE = timedelta(days=1)


class NoCampaignError(BenchlabError):
    """A run has nothing to measure; the message says why."""


def by_calendar(run: Any) -> bool:
    """Whether a DAG run was started by the schedule or by a backfill."""
    return run.run_type in (SCHEDULED, BACKFILL)


def newest(home: Home, campaign: str) -> str:
    """The id of the campaign that a run measures now: its first one, or the latest replacement."""
    while (note := home.campaign(campaign) / _FOLLOWED_BY).is_file():
        campaign = note.read_text(encoding="utf-8")
    return campaign


def follow(home: Home, store: Store, failed: Campaign) -> str:
    """Replace a campaign that cannot be resumed; return the new id, such as ``c1-again-2``.

    All tasks of its run find it with :func:`newest`, even while the store cannot be reached.
    """
    first = _NUMBER.sub("", failed.id)
    taken = store.campaign_ids()
    campaign = next(name for n in count(2) if (name := f"{first}-again-{n}") not in taken)
    home.campaign(campaign).mkdir(parents=True, exist_ok=True)
    write(home.campaign(campaign) / _FOLLOWS, failed.id)
    write(home.campaign(failed.id) / _FOLLOWED_BY, campaign)
    return campaign


def begun(home: Home, store: Store, campaign: str) -> Campaign | None:
    """The recorded campaign of a run; None if there is none yet.

    If a task was killed between :func:`follow` and planning, it is the campaign to be replaced.
    """
    follows = home.campaign(campaign) / _FOLLOWS
    if campaign not in store.campaign_ids() and follows.is_file():
        campaign = follows.read_text(encoding="utf-8")
    return store.campaign(campaign) if campaign in store.campaign_ids() else None


def as_of(run: Any) -> date:
    """The day (UTC) as of which a run's version rules apply; today if it has no logical date."""
    return (run.logical_date or datetime.now(UTC)).astimezone(UTC).date()


def versions(
    resolver: Resolver, spec: ReportSpec, run: Any, begun: Campaign | None = None
) -> Versioned:
    """Resolve the versions of a report type as of the run's day.

    Args:
        begun: the campaign that the run has begun already; its versions are kept, even if the
            calendar has new releases.

    Raises:
        NoCampaignError: for runs by the calendar: the moment was missed, a version rule names no
            release on that day, or all releases of the day have been measured.
        NothingToMeasureError: the campaign is complete.
        NoReleaseError: the rule of a scheduled run's candidate names no release.
        SpecError: see :func:`benchlab.campaign.resolving.Resolver.versions`.
    """
    if begun is not None:
        return resolver.as_begun(spec, begun)
    if not by_calendar(run):
        return resolver.versions(Request(spec, as_of(run)))
    if reason := _missed(spec, run):
        raise NoCampaignError(reason)
    wanted = turn(spec.schedule, run.logical_date)
    if run.run_type == BACKFILL:
        wanted = wanted.of_the_past
    count = _releases_of_the_day(resolver.home, spec, as_of(run))
    if count > 1:
        return _one_that_is_left(resolver, spec, run, wanted, count)
    return _by_calendar(resolver, spec, run, wanted)


def _by_calendar(resolver: Resolver, spec: ReportSpec, run: Any, wanted: Turn) -> Versioned:
    try:
        return resolver.versions(Request(spec, as_of(run), wanted))
    except NoReleaseError as error:
        if run.run_type == SCHEDULED and error.side == "candidate":
            raise  # skipped, it would go unnoticed every week
        raise NoCampaignError(str(error)) from error


def _releases_of_the_day(home: Home, spec: ReportSpec, day: date) -> int:
    """How many releases are on a day, if the rule of its runs is to measure one each; else 0."""
    if not isinstance(spec.schedule, OnRelease) or spec.sides != "different":
        return 0
    candidates = [spec.engines[name].candidate for name in spec.deployable_engines]
    if any(side is None or side.version != OF_THE_DAY for side in candidates):
        return 0
    return days(report_types.releases_of(home, spec), spec.schedule.types).count(day)


def _one_that_is_left(
    resolver: Resolver, spec: ReportSpec, run: Any, wanted: Turn, count: int
) -> Versioned:
    """The release of the run's minute, or else the first of its day that no run has measured.

    A release that is added to the calendar after a run of its day began shifts the minutes of the
    others. As runs do not overlap, each knows what earlier ones have measured.
    """
    home, store = resolver.home, cast("Store", resolver.store)
    taken = _candidates_of_other_runs(store, spec, run)
    reasons = []
    for nth in dict.fromkeys((wanted.nth, *range(count))):
        try:
            found = _by_calendar(resolver, spec, run, replace(wanted, nth=nth))
        except NoCampaignError as error:
            reasons.append(str(error))
            continue
        version = found.spec.side(found.engine, "candidate").version
        if version in taken:
            reasons.append(f"{version} is the candidate of another run")
        elif reason := _measured_already(home, store, found):
            reasons.append(reason)
        else:
            return found
    raise NoCampaignError(
        f"nothing of {as_of(run)} is left to measure: {'; '.join(dict.fromkeys(reasons))}"
    )


def _candidates_of_other_runs(store: Store, spec: ReportSpec, run: Any) -> set[str]:
    """The candidates of other runs by the calendar on the same day, measured or not."""
    origins = tuple(f"{ORIGIN}{kind}__" for kind in (SCHEDULED, BACKFILL))  # as Airflow names them
    return {
        campaign.plan.sides["candidate"].version
        for campaign in store.campaigns(spec.report)
        if campaign.origin.startswith(origins)
        and campaign.planned_for not in (None, run.logical_date)
        and campaign.at.astimezone(UTC).date() == as_of(run)
        and "candidate" in campaign.plan.sides
    }


def refuse_measured(home: Home, store: Store, versioned: Versioned, run: Any) -> None:
    """Refuse a run by the calendar whose versions have been measured with the same plan.

    Raises:
        NoCampaignError: they have been; names the campaign.
    """
    if by_calendar(run) and (reason := _measured_already(home, store, versioned)):
        raise NoCampaignError(reason)


def _measured_already(home: Home, store: Store, versioned: Versioned) -> str | None:
    from benchlab.studies import backfill

    spec, engine = versioned.spec, versioned.engine
    found = backfill.already_measured(home, store, spec, engine)
    if found is None:
        return None
    versions = " and ".join(spec.side(engine, side).label for side in spec.measured_sides)
    return (
        f"{versions} have been measured with this plan already: {found}. To measure them again, "
        "start a run by hand"
    )


def at_work(store: Store, report: str) -> list[str]:
    """The ids of a report type's Airflow runs whose campaigns are recorded as running.

    Dead runs may be among them: only Airflow knows whether a run has ended.
    """
    return [
        campaign.origin.removeprefix(ORIGIN)
        for campaign in store.campaigns(report)
        if campaign.state == "running" and campaign.origin.startswith(ORIGIN)
    ]


def _missed(spec: ReportSpec, run: Any) -> str | None:
    """Why a scheduled run is too late to be worth measuring; None if it is not.

    Airflow remembers a DAG's next moment and starts its run, however late.
    """
    if spec.schedule is None or run.run_type != SCHEDULED or run.clear_number:
        return None
    late = run.start_date - run.logical_date
    if late <= timedelta(days=spec.schedule.catchup_days) + LATE:
        return None
    return (
        f"{run.logical_date:%Y-%m-%d %H:%M} was {late.days} days past when this run started, and "
        f"schedule.catchup_days is {spec.schedule.catchup_days}; a backfill runs it anyway"
    )
