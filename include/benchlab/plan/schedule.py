"""When a report type is run by the calendar, and at which moments.

A schedule starts nothing by itself but what ``catchup_days`` allows: the past is measured by a
backfill that somebody asks for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Literal

import pydantic
from croniter import CroniterBadDateError, croniter, croniter_range
from pydantic import Field

from benchlab.plan.documents import Frozen
from benchlab.plan.releases import days
from benchlab.plan.versions import Release, ReleaseKind

# Monday, as in ISO weeks; weeks are counted from it.
FIRST_MONDAY = date(1970, 1, 5)
# One moment a day at most. An R in place of a field is croniter's word for a random number.
_CRON = re.compile(r"[0-9]{1,2} [0-9]{1,2}( (?![Rr])[0-9A-Za-z*,/#-]+){3}")


class _Schedule(Frozen):
    """What every schedule has.

    Attributes:
        catchup_days: a moment that was missed is still run for so many days; 0: not at all.
        measure_again: also a pair that has been measured with the same plan.
    """

    catchup_days: Annotated[int, Field(ge=0, le=366)] = 0
    measure_again: bool = False


class OnRelease(_Schedule):
    """One run for each day of the calendar with a release of these kinds, at midnight UTC."""

    runs: Literal["on_release"]
    types: Annotated[tuple[ReleaseKind, ...], Field(min_length=1, strict=False)] = (
        "GA",
        "LTS",
        "DMR",
    )


class Weekly(_Schedule):
    """Runs by a cron expression in UTC, as ``0 2 * * 1`` for Mondays at two.

    Attributes:
        aa_every: every so many weeks the run is an A/A campaign of the candidate; 0: never.
    """

    runs: Literal["weekly"]
    cron: str
    aa_every: Annotated[int, Field(ge=0, le=52)] = 4

    @pydantic.field_validator("cron")
    @classmethod
    def _well_formed(cls, value: str) -> str:
        if _CRON.fullmatch(value) is None or not croniter.is_valid(value):
            raise ValueError(
                f"{value!r} is not a cron expression of five fields whose minute and hour are "
                "numbers; write 0 2 * * 1 for Mondays at two"
            )
        try:
            croniter(value, midnight(FIRST_MONDAY)).get_next(datetime)
        except CroniterBadDateError as error:
            raise ValueError(f"{value!r}: there is no such day") from error
        return value

    def is_aa(self, moment: datetime | date) -> bool:
        """Whether a run of this moment is an A/A campaign: by its week, whatever ran before.

        Args:
            moment: a day in UTC, or a time with a time zone.
        """
        day = moment.astimezone(UTC).date() if isinstance(moment, datetime) else moment
        return self.aa_every > 0 and ((day - FIRST_MONDAY).days // 7) % self.aa_every == 0


Schedule = Annotated[OnRelease | Weekly, Field(discriminator="runs")]


def moments(
    schedule: OnRelease | Weekly, releases: Sequence[Release], first: datetime, last: datetime
) -> tuple[datetime, ...]:
    """The moments of a schedule between two, both included, in order.

    Example:
        ``moments(spec.schedule, releases, midnight(first), midnight(last))``

    Args:
        releases: of the engine that is compared.
        first, last: with a time zone.
    """
    if isinstance(schedule, Weekly):
        if first > last:  # croniter would count backwards
            return ()
        return tuple(croniter_range(first.astimezone(UTC), last.astimezone(UTC), schedule.cron))
    midnights = map(midnight, days(releases, schedule.types))
    return tuple(moment for moment in midnights if first <= moment <= last)


def midnight(day: date) -> datetime:
    """The beginning of a day, UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
