"""When a report type is run by the calendar, and at which moments.

A schedule catches up only on moments within ``catchup_days``; everything older is measured by a
backfill that a person starts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Literal

import pydantic
from pydantic import Field

from benchlab.plan.documents import Frozen
from benchlab.plan.releases import days
from benchlab.plan.versions import Release, ReleaseKind

# A Monday, with which ISO weeks begin; weeks are counted from it.
FIRST_MONDAY = date(1970, 1, 5)
# At most one moment a day. croniter takes an R in a field for a random number.
_CRON = re.compile(r"[0-9]{1,2} [0-9]{1,2}( (?![Rr])[0-9A-Za-z*,/#-]+){3}")


class _Schedule(Frozen):
    """What every schedule has.

    Attributes:
        catchup_days: for how many days a missed moment is still run; 0: not at all.
        measure_again: whether to run a pair that has already been measured with the same plan.
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
    """Runs by a cron expression in UTC, such as ``0 2 * * 1`` for Mondays at two.

    Attributes:
        aa_every: every this many weeks the run is an A/A campaign of the candidate; 0: never.
    """

    runs: Literal["weekly"]
    cron: str
    aa_every: Annotated[int, Field(ge=0, le=52)] = 4

    @pydantic.field_validator("cron")
    @classmethod
    def _well_formed(cls, value: str) -> str:
        from croniter import CroniterBadDateError, croniter

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
        """Whether a run of this moment is an A/A campaign; depends only on its week.

        Args:
            moment: a day in UTC, or a time with a time zone.
        """
        day = moment.astimezone(UTC).date() if isinstance(moment, datetime) else moment
        return self.aa_every > 0 and ((day - FIRST_MONDAY).days // 7) % self.aa_every == 0


Schedule = Annotated[OnRelease | Weekly, Field(discriminator="runs")]


def moments(
    schedule: OnRelease | Weekly, releases: Sequence[Release], first: datetime, last: datetime
) -> tuple[datetime, ...]:
    """The moments of a schedule from ``first`` to ``last``, both included, in order.

    Example:
        ``moments(spec.schedule, releases, midnight(first), midnight(last))``

    Args:
        releases: of the engine that is compared.
        first, last: with a time zone.
    """
    if isinstance(schedule, Weekly):
        from croniter import croniter_range

        if first > last:  # croniter would count backwards
            return ()
        return tuple(croniter_range(first.astimezone(UTC), last.astimezone(UTC), schedule.cron))
    midnights = map(midnight, days(releases, schedule.types))
    return tuple(moment for moment in midnights if first <= moment <= last)


def midnight(day: date) -> datetime:
    """The beginning of a day, UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
