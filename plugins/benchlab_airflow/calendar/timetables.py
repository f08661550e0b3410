"""Timetables for DAGs whose report type has a schedule: release days, or a cron expression.

The moments are part of the serialized timetable, so that the scheduler reads no file. The DAG
processor renews them whenever it parses the DAG, and so picks up releases added to the calendar.

Without a backfill, past moments are run only as far as ``catchup_days`` allows, and none before the
latest run. A backfill runs every moment in its range.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Self

from airflow.sdk import timezone
from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction, Timetable
from croniter import croniter

from benchlab.campaign import report_types
from benchlab.errors import SpecError
from benchlab.home import Home
from benchlab.plan.fields.schedule import Weekly, midnight, moments_of
from benchlab.plan.releases import days
from benchlab.plan.report_type import ReportSpec

# The DAG processor asks for the next moment once a minute, perhaps after a moment has come and
# before the scheduler starts its run. Without this tolerance, that moment would be lost.
UNSEEN = timedelta(minutes=10)
_JUST_AFTER = timedelta(microseconds=1)


class _CalendarTimetable(Timetable):
    """Base of both timetables: each moment has a run of its own.

    Args:
        catchup_days: for how many days a missed moment still gets a run.
    """

    def __init__(self, catchup_days: int = 0) -> None:
        self.catchup_days = catchup_days

    def first_from(self, earliest: datetime) -> datetime | None:
        """The first moment at or after ``earliest``; None if there is none."""
        raise NotImplementedError

    def earliest_by_itself(self, now: datetime) -> datetime:
        """The earliest moment that gets a run without a backfill."""
        raise NotImplementedError

    def next_dagrun_info(
        self,
        *,
        last_automated_data_interval: DataInterval | None,
        restriction: TimeRestriction,
    ) -> DagRunInfo | None:
        """The next moment; see :class:`airflow.timetables.base.Timetable`."""
        bounds = [restriction.earliest] if restriction.earliest else []
        if last_automated_data_interval is not None:
            bounds.append(last_automated_data_interval.end + _JUST_AFTER)
        if not restriction.catchup or not bounds:
            bounds.append(self.earliest_by_itself(timezone.utcnow()))
        found = self.first_from(max(bounds))
        if found is None or (restriction.latest is not None and found > restriction.latest):
            return None
        return DagRunInfo.exact(timezone.coerce_datetime(found))

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        """The data interval of a run started by hand: its moment."""
        return DataInterval.exact(timezone.coerce_datetime(run_after))

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> Self:
        """The inverse of ``serialize``."""
        return cls(**data)


class ReleaseTimetable(_CalendarTimetable):
    """Midnight UTC of each day with a release, and a minute later for each further release.

    A release gets its run even if it is added to the calendar, or the DAG is unpaused, later on its
    day.

    Args:
        release_days: dates such as ``2022-12-29``, in order, one for each release.
        kinds: the types of these releases, for the description.
        catchup_days: see :class:`_CalendarTimetable`.

    >>> ReleaseTimetable(["2022-12-29"], ["LTS"]).first_from(datetime(2022, 12, 1, tzinfo=UTC))
    datetime.datetime(2022, 12, 29, 0, 0, tzinfo=datetime.timezone.utc)
    """

    def __init__(
        self, release_days: Sequence[str], kinds: Sequence[str], catchup_days: int = 0
    ) -> None:
        super().__init__(catchup_days)
        self.release_days, self.kinds = list(release_days), list(kinds)
        self._moments = moments_of([date.fromisoformat(day) for day in self.release_days])
        self.description = (
            f"The beginning (UTC) of each day with a release in the calendar: {', '.join(kinds)}"
        )

    @property
    def summary(self) -> str:
        """For the list of DAGs."""
        return "on release"

    def first_from(self, earliest: datetime) -> datetime | None:
        """See :meth:`_CalendarTimetable.first_from`."""
        return next((moment for moment in self._moments if moment >= earliest), None)

    def earliest_by_itself(self, now: datetime) -> datetime:
        """The beginning of the day ``catchup_days`` ago."""
        return midnight(now.astimezone(UTC).date() - timedelta(days=self.catchup_days))

    def serialize(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "release_days": self.release_days,
            "kinds": self.kinds,
            "catchup_days": self.catchup_days,
        }


class WeeklyTimetable(_CalendarTimetable):
    """The moments of a cron expression in UTC.

    Args:
        cron: a cron expression of five fields.
        aa_every: every how many weeks a run is an A/A campaign, for the description; 0: never.
        catchup_days: see :class:`_CalendarTimetable`.
        release_every: every how many weeks a run compares with the newest release, likewise.
        canary_every: every how many weeks a run is a canary, likewise.

    >>> WeeklyTimetable("0 3 * * 6", aa_every=4).first_from(datetime(2026, 11, 1, tzinfo=UTC))
    datetime.datetime(2026, 11, 7, 3, 0, tzinfo=datetime.timezone.utc)
    """

    def __init__(
        self,
        cron: str,
        aa_every: int,
        catchup_days: int = 0,
        release_every: int = 0,
        canary_every: int = 0,
    ) -> None:
        super().__init__(catchup_days)
        self.cron, self.aa_every, self.release_every = cron, aa_every, release_every
        self.canary_every = canary_every
        aa = {0: "", 1: "; always an A/A campaign"}.get(
            aa_every, f"; every {aa_every} weeks an A/A campaign"
        )
        release = f"; every {release_every} weeks against the newest release"
        canary = f"; every {canary_every} weeks a canary"
        self.description = (
            f"At the times (UTC) of the cron expression {cron}{aa}"
            f"{release if release_every and aa_every != 1 else ''}"
            f"{canary if canary_every else ''}"
        )

    @property
    def summary(self) -> str:
        """For the list of DAGs."""
        return self.cron

    def first_from(self, earliest: datetime) -> datetime | None:
        """See :meth:`_CalendarTimetable.first_from`."""
        # croniter excludes its start. A timestamp is UTC, whatever class of time Airflow passes.
        start = (earliest - _JUST_AFTER).timestamp()
        return datetime.fromtimestamp(croniter(self.cron, start).get_next(float), UTC)

    def earliest_by_itself(self, now: datetime) -> datetime:
        """``catchup_days`` ago, minus the tolerance :data:`UNSEEN`."""
        return now - timedelta(days=self.catchup_days) - UNSEEN

    def serialize(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "cron": self.cron,
            "aa_every": self.aa_every,
            "catchup_days": self.catchup_days,
            "release_every": self.release_every,
            "canary_every": self.canary_every,
        }


def timetable_of(home: Home, spec: ReportSpec) -> ReleaseTimetable | WeeklyTimetable | None:
    """The timetable of a report type; None if it has no schedule.

    Raises:
        SpecError: the calendar is not valid, or has no release for the schedule.
    """
    if (schedule := spec.schedule) is None:
        return None
    releases = report_types.releases_of(home, spec)
    engines = " or ".join(spec.deployable_engines)
    calendar = home.releases
    if isinstance(schedule, Weekly):
        if not spec.is_resolved and not releases:
            raise SpecError(
                f"schedule: {calendar} has no release of {engines}, and a version rule names one; "
                "add releases with `benchlab releases update`, or name versions"
            )
        return WeeklyTimetable(
            schedule.cron,
            schedule.aa_every,
            schedule.catchup_days,
            schedule.release_every,
            schedule.canary_every,
        )
    if not (found := days(releases, schedule.types)):
        raise SpecError(
            f"schedule: {calendar} has no release of {engines} of the types "
            f"{', '.join(schedule.types)}; add releases with `benchlab releases update`"
        )
    return ReleaseTimetable(
        [day.isoformat() for day in found], schedule.types, schedule.catchup_days
    )
