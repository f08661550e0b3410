"""Plans a backfill: the campaigns that a schedule would have run in a range of past days.

It starts nothing. Each campaign has the versions that were current on its day; a moment without a
campaign says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property

from benchlab.campaign import planning, report_types
from benchlab.campaign.measured_versions import measured_by
from benchlab.campaign.resolving import Resolver
from benchlab.errors import NoReleaseError, SpecError, UnavailableError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.language import Said
from benchlab.plan import last_measured
from benchlab.plan.fields import schedule
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.fields.schedule import OnRelease, Weekly
from benchlab.plan.last_measured import Measured, MeasuredVersion
from benchlab.plan.plan import make, needs_approval
from benchlab.plan.report_type import ReportSpec, Side
from benchlab.plan.resolved import Compared, Request, Resolved, Versioned
from benchlab.plan.steps import Basis
from benchlab.results.store import Store
from benchlab.studies import comparisons


@dataclass(frozen=True)
class BackfillMoment:
    """One moment of a schedule, and the campaign that it would run.

    Attributes:
        at: in UTC.
        aa: whether it is an A/A campaign.
        bridge: whether it compares two anchors of a ``design: watch``.
        engine, versions, minutes, vcpus: of the campaign; None or empty without one.
        dollars: the cost of its hosts; None without a campaign, or if nothing is rented.
        most_minutes, most_dollars: of one that watches, if everything is confirmed.
        approval: whether a person has to approve it before hosts are rented; None like ``dollars``.
        no_campaign: why there is no campaign, one fault per line; None if there is one.
        refused: whether the run would fail. Other moments without a campaign are skipped.
    """

    at: datetime
    aa: bool
    bridge: bool = False
    engine: str | None = None
    versions: Mapping[Side, str] = field(default_factory=dict)
    minutes: float | None = None
    dollars: float | None = None
    most_minutes: float | None = None
    most_dollars: float | None = None
    vcpus: int | None = None
    approval: bool | None = None
    no_campaign: str | None = None
    refused: bool = False


@dataclass(frozen=True)
class BackfillPlan:
    """Every moment between two days, both included, in order.

    Attributes:
        by_release: whether the moments are days of releases rather than weeks.
        approve_above: dollars above which a person has to approve a campaign; None if the report
            type has no budget.
        undecided: what the topology leaves open, as sentences; runs are refused until it is empty.
    """

    report: str
    first: date
    last: date
    by_release: bool
    moments: tuple[BackfillMoment, ...]
    approve_above: float | None = None
    undecided: tuple[Said, ...] = ()

    @property
    def campaigns(self) -> tuple[BackfillMoment, ...]:
        """The moments that have a campaign."""
        return tuple(moment for moment in self.moments if moment.no_campaign is None)

    @property
    def refused(self) -> tuple[BackfillMoment, ...]:
        """The moments whose runs would fail."""
        return tuple(moment for moment in self.moments if moment.refused)

    @property
    def asked(self) -> tuple[BackfillMoment, ...]:
        """The campaigns that a person has to approve."""
        return tuple(moment for moment in self.campaigns if moment.approval)

    @property
    def unasked(self) -> tuple[BackfillMoment, ...]:
        """The campaigns whose hosts are rented without approval."""
        return tuple(moment for moment in self.campaigns if moment.approval is False)

    @property
    def minutes(self) -> float:
        """The time of all campaigns, one after the other."""
        return sum(moment.minutes or 0 for moment in self.campaigns)

    @property
    def dollars(self) -> float | None:
        """The cost of the hosts of all campaigns; None if nothing is rented."""
        known = [moment.dollars for moment in self.campaigns if moment.dollars is not None]
        return round(sum(known), 2) if known else None

    @property
    def vcpus(self) -> int | None:
        """The most vCPUs that one campaign rents; None if nothing is rented."""
        return max((moment.vcpus for moment in self.campaigns if moment.vcpus), default=None)


def backfill_plan(
    home: Home, spec: ReportSpec, first: date, last: date, store: Store | None
) -> BackfillPlan:
    """Plan a backfill.

    Args:
        first, last: days in UTC, both included.
        store: where pairs may already have been measured; None: none has been.

    Raises:
        SpecError: the report type has no schedule, the days are in the wrong order or in the
            future, the schedule has no moment between them, the calendar or the topology does not
            validate, or a build's file is missing or is not a build.

    Example:
        ``backfill_plan(home, spec, date(2021, 4, 1), date(2022, 9, 30), store).dollars``
    """
    if spec.schedule is None:
        raise SpecError(
            f"schedule: {spec.report} has none, and a backfill runs what a schedule would have "
            "run; write `schedule: {runs: on_release}` or one by weeks into the report type"
        )
    undecided = planning.undecided(home, spec)  # one refusal instead of one at every moment
    moments = _moments(home, spec, spec.schedule, first, last)
    resolver = Resolver(home, store, Access.for_a_person())
    # Once, and not at every moment: a large file takes seconds.
    planned = _Backfill(resolver, resolver.hashed(spec), spec.schedule)
    return BackfillPlan(
        report=spec.report,
        first=first,
        last=last,
        by_release=isinstance(spec.schedule, OnRelease),
        moments=tuple(planned.moment(at) for at in moments),
        approve_above=spec.budget.approve_above if spec.budget else None,
        undecided=tuple(undecided),
    )


def already_measured(home: Home, store: Store, spec: ReportSpec, engine: str) -> str | None:
    """The id of the campaign that makes a scheduled one unnecessary; None: there is none.

    An A/A campaign is never unnecessary: each one is new evidence about the noise. Nor is one
    whose candidate is slowed down: each one shows whether that is found.

    Args:
        spec: with a version on each side.

    Raises:
        SpecError: the topology or the price list does not validate.
    """
    if not _once(spec):
        return None
    campaign = comparisons.find(home, store, spec, engine)
    return campaign.id if campaign else None


def _once(spec: ReportSpec) -> bool:
    """Whether the schedule measures the same pair only once."""
    again = spec.schedule and spec.schedule.measure_again
    return spec.sides != "same" and not spec.slowdown_pct and not again


def _moments(
    home: Home, spec: ReportSpec, rule: OnRelease | Weekly, first: date, last: date
) -> tuple[datetime, ...]:
    now, asked = datetime.now(UTC), f"--backfill {first} {last}"
    if first > last:
        raise SpecError(f"{asked}: begins after its end; write the earlier first")
    if last > now.date():
        raise SpecError(
            f"{asked}: ends in the future, and today is {now.date()}; a backfill "
            "runs what is past, and the schedule what is to come"
        )
    releases = report_types.releases_of(home, spec)
    if isinstance(rule, Weekly):
        begin, what = schedule.FIRST_MONDAY, "from which weeks are counted"
        if releases:
            begin = releases[0].day
            what = f"the day of {releases[0].version.text}, the first in the calendar"
        if first < begin:
            raise SpecError(f"{asked}: begins before {begin}, {what}; begin then or later")
    end = schedule.midnight(last + timedelta(days=1)) - timedelta(microseconds=1)
    found = schedule.moments(rule, releases, schedule.midnight(first), min(end, now))
    if not found:
        what = (
            f"the calendar has no release of the types {', '.join(rule.types)}"
            if isinstance(rule, OnRelease)
            else f"the cron expression {rule.cron!r} has no moment"
        )
        raise SpecError(f"{asked}: nothing to run: {what} in these days")
    return found


@dataclass
class _Backfill:
    """Plans moments in order: a pair to be measured once is measured at the first that can."""

    resolver: Resolver
    spec: ReportSpec
    rule: OnRelease | Weekly
    # By pair, why a later moment does not measure it again.
    measured: dict[str, str] = field(default_factory=dict)
    basis: Basis | None = None
    # The candidates of earlier moments, each with its engine, all assumed to be no regression.
    planned: list[tuple[str, MeasuredVersion]] = field(default_factory=list)
    watched: list[Compared] = field(default_factory=list)

    def moment(self, at: datetime) -> BackfillMoment:
        turn = schedule.turn(self.rule, at).of_the_past
        found = BackfillMoment(at, turn.aa)
        try:
            request = Request(self.spec, at.date(), turn, self._known, self.watched)
            versioned = self.resolver.versions(request)
            spec, engine = versioned.spec, versioned.engine
            sides = {side: spec.side(engine, side) for side in spec.measured_sides}
            versions = {side: deployed.label for side, deployed in sides.items()}
            aa = spec.sides == "same"
            bridge = spec.design != self.spec.design and not aa
            found = replace(found, aa=aa, bridge=bridge, engine=engine, versions=versions)
            written = (side.model_dump_json() for side in sides.values())
            pair = "\n".join((engine, spec.design, *written))
            if reason := self._needless(spec, engine, pair):
                return replace(found, no_campaign=reason)
            plan = make(self._resolved(versioned), spec.report)
        except NoReleaseError as error:
            return replace(found, no_campaign=str(error))
        except (SpecError, UnavailableError) as error:
            # The day is shown next to it anyway; without it, several days can share a reason.
            why = str(error).replace(f"{self.spec.report} on {at.date()}: ", "")
            return replace(found, no_campaign=why, refused=True)
        self.measured[pair] = f"the same pair as on {at.date()}"
        if spec.sides == "different":
            self.planned.append((engine, _to_measure(sides["candidate"], at)))
        if self.spec.design == "watch" and not found.aa:
            both = sides["baseline"], sides["candidate"]
            self.watched.append(Compared(at, engine, *both, found.bridge))
        if plan.screening_rounds is not None:
            cost = plan.usd_per_minute
            most = None if cost is None else round(cost * plan.most_minutes, 2)
            found = replace(found, most_minutes=plan.most_minutes, most_dollars=most)
        approval = None if plan.dollars is None else needs_approval(plan, spec.budget)
        return replace(
            found, minutes=plan.minutes, dollars=plan.dollars, vcpus=plan.vcpus, approval=approval
        )

    def _resolved(self, versioned: Versioned) -> Resolved:
        """Complete a campaign on the basis of the first one, which keeps the dataset for all."""
        resolved = self.resolver.complete(versioned, self.basis)
        kept = resolved.basis.dataset == "missing"
        self.basis = replace(resolved.basis, dataset="kept") if kept else resolved.basis
        return resolved

    @cached_property
    def _stored(self) -> Measured:
        store, home = self.resolver.store, self.resolver.home
        return measured_by(home, store, self.spec.report) if store else last_measured.nothing

    def _known(self, engine: str) -> Iterator[MeasuredVersion]:
        """The versions measured before a moment: by earlier moments, and those in the store."""
        yield from (version for name, version in reversed(self.planned) if name == engine)
        yield from self._stored(engine)

    def _needless(self, spec: ReportSpec, engine: str, pair: str) -> str | None:
        if not _once(spec):
            return None
        store = self.resolver.store
        if pair not in self.measured and store is not None:
            campaign = already_measured(self.resolver.home, store, spec, engine)
            if campaign is not None:
                self.measured[pair] = f"measured already with this plan: {campaign}"
        return self.measured.get(pair)


def _to_measure(side: SideSpec, at: datetime) -> MeasuredVersion:
    by = f"this backfill's run of {at.date()}"
    return MeasuredVersion(side.version, by, at.date(), lambda: True, builds=side.builds)
