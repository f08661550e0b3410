"""What a backfill would do: which campaigns its report type's schedule has in a range of days.

Starts nothing. The versions of each campaign are those that were current on its day; a day without
a campaign says why.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from benchlab import targets
from benchlab.campaign import planning, report_types
from benchlab.errors import NoReleaseError, SpecError, UnavailableError
from benchlab.home import Home
from benchlab.plan import schedule
from benchlab.plan.plan import needs_approval
from benchlab.plan.report_type import ReportSpec, Side
from benchlab.plan.schedule import OnRelease, Weekly
from benchlab.plan.versions import Release
from benchlab.results.store import Store
from benchlab.studies import measured


@dataclass(frozen=True)
class BackfillMoment:
    """One moment of a schedule, and the campaign that it would run.

    Attributes:
        at: UTC.
        aa: it is one for an A/A campaign.
        engine: that is compared; None where no versions were found.
        versions: of the sides; empty where none were found.
        minutes: how long the campaign takes; None where there is none.
        dollars: what its hosts cost; None also where nothing is rented.
        vcpus: of the hosts that are rented for it; None as of the dollars.
        approval: a person has to approve it before its hosts are rented; None as of the dollars.
        no_campaign: why there is none, a fault a line; None where there is one.
        refused: a run fails there; else one without a campaign is skipped.
    """

    at: datetime
    aa: bool
    engine: str | None = None
    versions: Mapping[Side, str] = field(default_factory=dict)
    minutes: float | None = None
    dollars: float | None = None
    vcpus: int | None = None
    approval: bool | None = None
    no_campaign: str | None = None
    refused: bool = False


@dataclass(frozen=True)
class BackfillPlan:
    """Every moment between two days, both included, in order.

    Attributes:
        by_release: the moments are days of releases, and no weeks.
        approve_above: dollars, above which a person has to approve a campaign; None where the
            report type has no budget.
        undecided: what the topology leaves open, as sentences; a run is refused until none is.
    """

    report: str
    first: date
    last: date
    by_release: bool
    moments: tuple[BackfillMoment, ...]
    approve_above: float | None = None
    undecided: tuple[str, ...] = ()

    @property
    def campaigns(self) -> tuple[BackfillMoment, ...]:
        """The moments that have a campaign."""
        return tuple(each for each in self.moments if each.no_campaign is None)

    @property
    def refused(self) -> tuple[BackfillMoment, ...]:
        """The moments whose runs would fail."""
        return tuple(each for each in self.moments if each.refused)

    @property
    def asked(self) -> tuple[BackfillMoment, ...]:
        """The campaigns that a person has to approve."""
        return tuple(each for each in self.campaigns if each.approval)

    @property
    def unasked(self) -> tuple[BackfillMoment, ...]:
        """The campaigns whose hosts are rented without anybody being asked."""
        return tuple(each for each in self.campaigns if each.approval is False)

    @property
    def minutes(self) -> float:
        """Of all campaigns, one after the other."""
        return sum(each.minutes or 0 for each in self.campaigns)

    @property
    def dollars(self) -> float | None:
        """Of all campaigns; None where nothing is rented."""
        known = [each.dollars for each in self.campaigns if each.dollars is not None]
        return round(sum(known), 2) if known else None

    @property
    def vcpus(self) -> int | None:
        """The most that one campaign rents; None where nothing is rented."""
        return max((each.vcpus for each in self.campaigns if each.vcpus is not None), default=None)


def backfill_plan(
    home: Home, spec: ReportSpec, first: date, last: date, store: Store | None
) -> BackfillPlan:
    """Plan a backfill.

    Args:
        first, last: days in UTC, both included.
        store: where a pair may have been measured already; None: nothing has been.

    Raises:
        SpecError: the report type has no schedule, the days are in the wrong order or to come, the
            schedule has no moment between them, or the calendar or the topology does not validate.
    """
    if spec.schedule is None:
        raise SpecError(
            f"schedule: {spec.report} has none, and a backfill runs what a schedule would have "
            "run; write `schedule: {runs: on_release}` or one by weeks into the report type"
        )
    targets.load_topology(home, spec)  # one refusal, and not the reason of every moment
    moments = _moments(home, spec, spec.schedule, first, last)
    planned = _Backfill(home, spec, spec.schedule, store)
    return BackfillPlan(
        report=spec.report,
        first=first,
        last=last,
        by_release=isinstance(spec.schedule, OnRelease),
        moments=tuple(planned.moment(at) for at in moments),
        approve_above=spec.budget.approve_above if spec.budget else None,
        undecided=_undecided(home, spec),
    )


def already_measured(home: Home, store: Store, spec: ReportSpec, engine: str) -> str | None:
    """The campaign that makes another one by the schedule needless; None: it is run.

    An A/A campaign is always run: each tells anew what noise alone does.

    Args:
        spec: with a version on each side.

    Raises:
        SpecError: the topology or the price list does not validate.
    """
    if not _once(spec):
        return None
    campaign = measured.find(home, store, spec, engine)
    return campaign.id if campaign else None


def _undecided(home: Home, spec: ReportSpec) -> tuple[str, ...]:
    """What a run would be refused for, though it can be planned."""
    if spec.target in targets.PLANNED_ONLY:
        return ()
    try:
        planning.refuse_undecided(home, spec)
    except SpecError as error:
        return tuple(str(error).splitlines())
    return ()


def _once(spec: ReportSpec) -> bool:
    """Whether the schedule measures the same only once."""
    return spec.sides != "same" and not (spec.schedule and spec.schedule.measure_again)


def _moments(
    home: Home, spec: ReportSpec, rule: OnRelease | Weekly, first: date, last: date
) -> tuple[datetime, ...]:
    now = datetime.now(UTC)
    if first > last:
        raise SpecError(f"--backfill {first} {last}: begins after its end; write the earlier first")
    if last > now.date():
        raise SpecError(
            f"--backfill {first} {last}: ends in the future, and today is {now.date()}; a backfill "
            "runs what is past, and the schedule what is to come"
        )
    releases = report_types.releases_of(home, spec)
    if isinstance(rule, Weekly):
        _refuse_before_all_releases(first, last, releases)
    end = schedule.midnight(last + timedelta(days=1)) - timedelta(microseconds=1)
    found = schedule.moments(rule, releases, schedule.midnight(first), min(end, now))
    if not found:
        what = (
            f"the calendar has no release of the types {', '.join(rule.types)}"
            if isinstance(rule, OnRelease)
            else f"the cron expression {rule.cron!r} has no moment"
        )
        raise SpecError(f"--backfill {first} {last}: nothing to run: {what} in these days")
    return found


def _refuse_before_all_releases(first: date, last: date, releases: Sequence[Release]) -> None:
    begin, what = schedule.FIRST_MONDAY, "from which weeks are counted"
    if releases:
        oldest = releases[0]
        begin, what = oldest.day, f"the day of {oldest.version.text}, the first in the calendar"
    if first < begin:
        raise SpecError(
            f"--backfill {first} {last}: begins before {begin}, {what}; begin then or later"
        )


class _Backfill:
    """What is to be measured once is so at the first moment that can."""

    def __init__(
        self, home: Home, spec: ReportSpec, rule: OnRelease | Weekly, store: Store | None
    ) -> None:
        self._home, self._spec, self._rule, self._store = home, spec, rule, store
        # By what is compared, why a later moment does not measure it.
        self._measured: dict[str, str] = {}

    def moment(self, at: datetime) -> BackfillMoment:
        aa = isinstance(self._rule, Weekly) and self._rule.is_aa(at)
        found = BackfillMoment(at, aa)
        try:
            spec = report_types.resolve(self._home, self._spec, at.date(), aa=aa).spec
            engine, _ = planning.choose_engine(spec, self._home, to_run=False)
            versions = {side: spec.side(engine, side).version for side in spec.measured_sides}
            found = dataclasses.replace(
                found, aa=spec.sides == "same", engine=engine, versions=versions
            )
            if reason := self._needless(spec, engine):
                return dataclasses.replace(found, no_campaign=reason)
            plan = planning.plan(self._home, spec, engine, spec.report)
        except NoReleaseError as error:
            return dataclasses.replace(found, no_campaign=str(error))
        except (SpecError, UnavailableError) as error:
            # The day stands beside it, and one reason of several days is to be told once.
            why = str(error).replace(f"{self._spec.report} on {at.date()}: ", "")
            return dataclasses.replace(found, no_campaign=why, refused=True)
        self._measured[_compared(spec, engine)] = f"the same pair as on {at.date()}"
        return dataclasses.replace(
            found,
            minutes=plan.minutes,
            dollars=plan.dollars,
            vcpus=plan.vcpus,
            approval=None if plan.dollars is None else needs_approval(plan, spec.budget),
        )

    def _needless(self, spec: ReportSpec, engine: str) -> str | None:
        if not _once(spec):
            return None
        pair = _compared(spec, engine)
        if pair not in self._measured and self._store is not None:
            campaign = already_measured(self._home, self._store, spec, engine)
            if campaign is not None:
                self._measured[pair] = f"measured already with this plan: {campaign}"
        return self._measured.get(pair)


def _compared(spec: ReportSpec, engine: str) -> str:
    """What tells the pairs of one report type apart."""
    sides = (spec.side(engine, side).model_dump_json() for side in spec.measured_sides)
    return "\n".join((engine, *sides))
