"""Schedules: at which moments a report type is run by the calendar.

A schedule catches up only on moments within ``catchup_days``; older ones need a backfill, which a
person starts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Annotated, Literal

import pydantic
from pydantic import Field

from benchlab.plan.documents import Frozen, one_of
from benchlab.plan.releases import days
from benchlab.plan.versions import LTS_PATCH, RELEASE_KINDS, Release, ReleaseType

# A Monday, with which ISO weeks begin; weeks are counted from it.
FIRST_MONDAY = date(1970, 1, 5)
# At most one moment a day. croniter takes an R in a field for a random number.
_CRON = re.compile(r"[0-9]{1,2} [0-9]{1,2}( (?![Rr])[0-9A-Za-z*,/#-]+){3}")


class _Schedule(Frozen):
    """Fields of every schedule.

    Attributes:
        catchup_days: for how many days a missed moment is still run; 0: not at all.
        measure_again: whether to run a pair that has already been measured with the same plan.
    """

    catchup_days: Annotated[int, Field(ge=0, le=366)] = 0
    measure_again: bool = False


_Type = Annotated[ReleaseType, one_of(f"must be one of {', '.join((*RELEASE_KINDS, LTS_PATCH))}")]


class OnRelease(_Schedule):
    """One run for each release of these types in the calendar.

    It begins at midnight UTC of the release's day. If several releases came out on one day, the
    highest version begins at midnight, and each further one a minute later. If another run of the
    day has its release, because one joined the calendar in between, it takes the highest one left.
    """

    runs: Literal["on_release"]
    types: Annotated[tuple[_Type, ...], Field(min_length=1, strict=False)] = (
        "GA",
        "LTS",
        "DMR",
        LTS_PATCH,
    )
    # The daily update enters a release after its day, and a run may wait for the one before it.
    catchup_days: Annotated[int, Field(ge=0, le=366)] = 4


@dataclass(frozen=True)
class Canary:
    """A slowdown that is planted, to see that it is found.

    Attributes:
        pct: by how much the candidate is slowed down.
        number: which of its schedule's canaries it is; their workloads take turns by it.
    """

    pct: float
    number: int


class Weekly(_Schedule):
    """Runs by a cron expression in UTC, such as ``0 2 * * 1`` for Mondays at two.

    Attributes:
        aa_every: every this many weeks the run is an A/A campaign of the candidate; 0: never.
        release_every: every this many weeks, never in the week of an A/A campaign, the baseline is
            the newest release before the candidate, which ties successive nightly builds to
            releases; 0: never. A pinned baseline stays as it is, and so does a baseline's rule
            where the candidate is a release itself.
        canary_every: every this many weeks, never in the week of an A/A campaign or a release, the
            first run is a canary: one workload, whose candidate is slowed down; 0: never.
        canary_pct: by how much it is slowed down, as ``slowdown_pct``.
    """

    runs: Literal["weekly"]
    cron: str
    aa_every: Annotated[int, Field(ge=0, le=52)] = 4
    release_every: Annotated[int, Field(ge=0, le=52)] = 4
    canary_every: Annotated[int, Field(ge=0, le=52)] = 0
    canary_pct: Annotated[float, Field(gt=0, le=90, strict=False)] = 10.0

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

    @pydantic.field_validator("canary_every")
    @classmethod
    def _has_a_week(cls, value: int, info: pydantic.ValidationInfo) -> int:
        others = cls.model_construct(**info.data)
        aa, release = others.aa_every, others.release_every
        if value and all(map(others._has_turn, range(math.lcm(aa or 1, release or 1)))):
            raise ValueError(
                f"no week is left for a canary: with aa_every {aa} and release_every "
                f"{release}, each one is an A/A campaign or compares with a release; make one of "
                "them rarer, or write 0 for none"
            )
        return value

    def is_aa(self, moment: datetime | date) -> bool:
        """Whether a run of this moment is an A/A campaign; depends only on its week.

        Args:
            moment: a day in UTC, or a time with a time zone.
        """
        return self._is_aa_week(_week(moment))

    def is_with_release(self, moment: datetime | date) -> bool:
        """Whether a run of this moment compares with a release; depends only on its week.

        Where both come equally often, that is half-way between two A/A campaigns. A week that is
        due for both goes to the A/A campaign, and the release gets the next one.
        """
        week = _week(moment)
        return not self._is_aa_week(week) and (
            self._is_release_due(week)
            or (self._is_release_due(week - 1) and self._is_aa_week(week - 1))
        )

    def canary(self, moment: datetime) -> Canary | None:
        """The canary of a run at this moment; depends only on its week.

        If the week in which it is due has another turn, it is held in the next one that has none;
        if none is left before the following canary is due, not at all.
        """
        from croniter import croniter

        if not self.canary_every:
            return None
        week, first_due = _week(moment), self.canary_every // 2
        number = (week - first_due) // self.canary_every
        due = first_due + number * self.canary_every
        free = (one for one in range(due, due + self.canary_every) if not self._has_turn(one))
        if next(free, None) != week:
            return None
        begin = midnight(FIRST_MONDAY + timedelta(weeks=week)) - timedelta(seconds=1)
        first = croniter(self.cron, begin).get_next(datetime)
        return Canary(self.canary_pct, number) if moment == first else None

    def _has_turn(self, week: int) -> bool:
        day = FIRST_MONDAY + timedelta(weeks=week)
        return self.is_aa(day) or self.is_with_release(day)

    def _is_aa_week(self, week: int) -> bool:
        return self.aa_every > 0 and week % self.aa_every == 0

    def _is_release_due(self, week: int) -> bool:
        return self.release_every > 0 and week % self.release_every == self.release_every // 2


def _week(moment: datetime | date) -> int:
    day = moment.astimezone(UTC).date() if isinstance(moment, datetime) else moment
    return (day - FIRST_MONDAY).days // 7


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
    found = moments_of(days(releases, schedule.types))
    return tuple(moment for moment in found if first <= moment <= last)


def moments_of(release_days: Sequence[date]) -> tuple[datetime, ...]:
    """The moments of releases: midnight UTC, and a minute later for each further one of a day.

    Args:
        release_days: in order; a day with two releases is there twice.
    """
    return tuple(
        midnight(day) + n * timedelta(minutes=1)
        for day, same in groupby(release_days)
        for n, _ in enumerate(same)
    )


@dataclass(frozen=True)
class Turn:
    """What a schedule wants of one of its moments; by default, nothing special.

    Attributes:
        aa: an A/A campaign of the candidate.
        with_release: the newest release before the candidate as baseline.
        canary: what is planted; None: nothing.
        nth: which release of its day is the candidate, from 0 for the highest version, unless
            another run of the day has it.
    """

    aa: bool = False
    with_release: bool = False
    canary: Canary | None = None
    nth: int = 0

    @property
    def of_the_past(self) -> Turn:
        """What a backfill wants of the moment: no canary, which is to show what works today."""
        return replace(self, canary=None)


# The turn of a run that a person starts.
ORDINARY = Turn()


def turn(schedule: OnRelease | Weekly | None, moment: datetime) -> Turn:
    """What is wanted at a moment: ``turn(spec.schedule, run.logical_date).aa``."""
    if isinstance(schedule, Weekly):
        return Turn(
            aa=schedule.is_aa(moment),
            with_release=schedule.is_with_release(moment),
            canary=schedule.canary(moment),
        )
    if schedule is None:
        return Turn()
    utc = moment.astimezone(UTC)
    return Turn(nth=60 * utc.hour + utc.minute)


def midnight(day: date) -> datetime:
    """The beginning of a day, UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
