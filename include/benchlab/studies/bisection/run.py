"""Runs a bisection: uses the comparisons in the store, and measures those that are still needed.

All state is in the store. A bisection that is started again finds there what it has measured, and
resumes the campaign in which it was interrupted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Self

from benchlab import engines, targets
from benchlab.campaign import overrides, report_types
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.errors import NotMeasuredError, SpecError, UnavailableError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan import plan, versions
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab.plan.resolved import Resolved, Versioned
from benchlab.plan.versions import FINAL, Release, ReleaseKind, Version
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from benchlab.studies import comparisons as measured_module
from benchlab.studies.bisection import search
from benchlab.studies.bisection.search import BisectionOutcome, Next, PairComparison
from benchlab.studies.comparisons import ComparedCampaign, Comparisons

# How many releases are suggested instead of one that is not in the calendar.
_NEAREST = 4


@dataclass(frozen=True)
class Way:
    """The releases that a bisection searches, in order.

    Attributes:
        releases: their versions, from the good one to the bad one, both included.
        left_out: by version, why a release in between is not on the way.
        not_in_calendar: the ends of the way that the calendar lacks, each with the nearest releases
            of its series; with none if the calendar does not have the series.
    """

    releases: tuple[str, ...]
    left_out: Mapping[str, str]
    not_in_calendar: Mapping[str, tuple[str, ...]]


def between(
    releases: Sequence[Release],
    first: Version,
    last: Version,
    kinds: Collection[ReleaseKind] = FINAL,
    *,
    first_of_series: bool = False,
) -> Way:
    """The way from one version to another; neither has to be in the calendar.

    Each series branches off the one before it. A patch that came out after the next series had
    begun is on a separate branch, although its version lies in between: what it brought, such as a
    fix backported from a later series, need not be in the next release. It is left out.

    Args:
        kinds: the kinds of releases in between.
        first_of_series: take the first final release of each series instead, whatever its kind.

    Raises:
        SpecError: the first version is not the lower one.

    Example:
        ``between(releases, parse("v6.1.0"), parse("v6.3.0")).releases`` is
        ``("v6.1.0", "v6.2.0", "v6.3.0")``.
    """
    if _place(first) >= _place(last):
        raise SpecError(
            f"{first.text} is not before {last.text}: give the good release first, then the bad "
            "one; the way between them follows the order of versions"
        )
    in_order = sorted(releases, key=lambda release: _place(release.version))
    wanted: Collection[Release] = [release for release in in_order if release.kind in kinds]
    if first_of_series:
        final = [release for release in in_order if release.kind in FINAL]
        wanted = {release.version.series: release for release in reversed(final)}.values()
    inside = [
        release
        for release in in_order
        if release in wanted and _place(first) < _place(release.version) < _place(last)
    ]
    left_out = _on_a_branch(releases, inside, last)
    versions = [release.version.text for release in inside]
    known = {release.version.text for release in releases}
    return Way(
        (first.text, *(version for version in versions if version not in left_out), last.text),
        left_out,
        {end.text: _nearest(in_order, end) for end in (first, last) if end.text not in known},
    )


def _nearest(in_order: Iterable[Release], version: Version) -> tuple[str, ...]:
    """Up to four final releases of a version's series, in order: those with the nearest numbers."""
    series = [
        release.version
        for release in in_order
        if release.version.series == version.series and release.kind in FINAL
    ]
    nearest = sorted(series, key=lambda known: abs(known.numbers[2] - version.numbers[2]))
    return tuple(known.text for known in series if known in nearest[:_NEAREST])


def _on_a_branch(
    releases: Iterable[Release], inside: Iterable[Release], last: Version
) -> dict[str, str]:
    """By version, why a patch is on a branch: a later series had begun, up to the last one's."""
    began: dict[tuple[int, int], date] = {}
    for release in releases:
        series = release.version.series
        if release.kind in FINAL and series <= last.series:
            began[series] = min(release.day, began.get(series, release.day))
    left_out = {}
    for patch in (release for release in inside if release.kind == "patch"):
        later = min((series for series in began if series > patch.version.series), default=None)
        if later and patch.day > began[later]:
            left_out[patch.version.text] = (
                f"released {patch.day}, after the series {later[0]}.{later[1]} began "
                f"({began[later]})"
            )
    return left_out


def _place(
    version: Version,
) -> tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]:
    """A sort key: by number; a pre-release before its release, ``rc.2`` before ``rc.10``."""
    suffix = version.text.partition("-")[2]
    parts = tuple(
        (part.isdecimal(), int(part) if part.isdecimal() else 0, part)
        for part in re.findall(r"[0-9]+|[A-Za-z]+", suffix)
    )
    return version.numbers, not version.is_prerelease, parts


ORIGIN = "benchlab bisect"
# A smaller difference comes from rounding, not from prices.
_CENT = 0.01

RunCampaign = Callable[[Resolved, str | None, date | None], str]
"""Runs a campaign of a report type; returns its id.

Its other arguments are the id of an interrupted campaign of the same plan to resume, if there is
one, and the day of the candidate's release, if the calendar has it: the campaign's place in the
long view.
"""


@dataclass
class Bisection:
    """One bisection, created by :meth:`open`, and its progress.

    Attributes:
        spec: the report type with this workload alone; its versions do not matter.
        days: the days of releases, by version.
        undeployable: by version, why a release of the way cannot be deployed.
        measured: the ids of the campaigns that it has run.
        left: how many of the announced campaigns are left; None before the first.
        spent: dollars that these campaigns may have cost.
        comparisons: the known ones, in the order of their releases on the way.
        reached: the outcome, or the comparison that is needed next, as of the last :meth:`look`.
        plan: of the campaign that is needed next; None if none is.
        asks: whom plans may ask.
    """

    home: Home
    store: Store
    spec: ReportSpec
    workload: str
    way: Way
    days: Mapping[str, date]
    undeployable: dict[str, str]
    asks: Asks = Asks.TO_RUN
    measured: list[str] = field(default_factory=list)
    left: int | None = None
    spent: float = 0.0
    comparisons: list[PairComparison] = field(init=False)
    reached: Next | BisectionOutcome = field(init=False)
    plan: Plan | None = None

    @classmethod
    def open(
        cls,
        home: Home,
        store: Store,
        spec: ReportSpec,
        good: str,
        bad: str,
        workload: str,
        kinds: Collection[ReleaseKind] = FINAL,
        *,
        first_of_series: bool = False,
        asks: Asks = Asks.TO_RUN,
    ) -> Bisection:
        """Begin a bisection; measures nothing yet.

        Args:
            good, bad: versions; the change came somewhere after the first, up to the second.
            kinds, first_of_series: which releases are in between; see :func:`between`.
            asks: whom; with ``Asks.NOBODY`` every release counts as deployable.

        Raises:
            SpecError: the versions, the workload or the report type cannot be bisected.

        Example:
            ``Bisection.open(home, store, spec, "v6.1.0", "v6.5.0", "oltp_insert").look()``
        """
        first, last = versions.parse(good), versions.parse(bad)
        ends = {"baseline": first.text, "candidate": last.text}
        alone = overrides.override(spec, {"workloads": [workload], "rate": None, **ends})
        _refuse_what_hides_the_release(spec, alone.engine)
        releases = report_types.calendar(home).owned(engines.by_name()[alone.engine].owns)
        way = between(releases, first, last, kinds, first_of_series=first_of_series)
        _refuse_what_may_not_exist(home, alone, way)
        days = {release.version.text: release.day for release in releases}
        undeployable = {}
        for version in way.releases:
            both = {"sides": "same", "baseline": version, "candidate": version}
            try:
                resolver = Resolver(home, asks=min(asks, Asks.MIRRORS))
                resolver.engine(overrides.override(alone, both))
            except (SpecError, UnavailableError) as error:
                undeployable[version] = str(error)
        return cls(home, store, alone, workload, way, days, undeployable, asks)

    @property
    def minutes(self) -> float | None:
        """The longest time of all campaigns that are still needed; None if none is needed."""
        return self._times(self.plan.minutes if self.plan else None)

    @property
    def dollars(self) -> float | None:
        """The highest cost of these campaigns; None if none is needed, or nothing is rented."""
        return self._times(self.plan.dollars if self.plan else None)

    def _times(self, of_one: float | None) -> float | None:
        if of_one is None or not isinstance(self.reached, Next):
            return None
        return of_one * self.reached.at_most

    def look(self) -> Self:
        """Read the comparisons in the store, and find what is needed next; starts nothing.

        Raises:
            UnavailableError: a release of the next comparison cannot be deployed.
        """
        return self._look(self._known())

    def look_from(self, found: ComparedCampaign) -> Self:
        """:meth:`look`, with one campaign that compared the two ends as all that is known."""
        first, last = self.way.releases[0], self.way.releases[-1]
        if found.campaign.versions["baseline"] == first:
            return self._look([self._comparison(first, last, found)])
        return self._look([self._comparison(last, first, found).turned()])

    def _look(self, known: list[PairComparison]) -> Self:
        self.comparisons, self.plan = known, None
        way, threshold = self.way.releases, self.spec.threshold_pct
        reached = search.search(way, self.comparisons, threshold, self.undeployable, self.left)
        if isinstance(reached, Next):
            for version in (reached.baseline, reached.candidate):
                if version in self.undeployable:
                    raise UnavailableError(f"{version}: {self.undeployable[version]}")
            self.plan = plan.make(self._resolved(reached), self.spec.report)
        self.reached = reached
        return self

    def run(
        self, campaign: RunCampaign, say: Callable[[str], None], *, approved: bool = False
    ) -> Self:
        """Measure until there is an outcome, with no more campaigns than announced at first.

        Args:
            say: shows a line of progress.
            approved: rent even if all campaigns cost more than ``budget.approve_above``, up to the
                cost announced at first, and even for releases that the calendar does not have.

        Raises:
            UnavailableError: a release of the next comparison cannot be deployed, or one of the
                way's two ends cannot be installed.
            NotMeasuredError: a campaign did not become complete.
            SpecError: the remaining campaigns are not approved.
        """
        limit = self.spec.budget.approve_above if self.spec.budget else 0.0
        while isinstance(wanted := self.look().reached, Next):
            if self.left is None:
                self.left = wanted.at_most
                limit = max(limit, self.dollars or 0.0) if approved else limit
                self._refuse_unknown(approved)
            self._refuse_unapproved(limit)
            if not self._fetch(wanted, say):
                continue
            say(f"{wanted.candidate} against {wanted.baseline}: {wanted.why}")
            pair = self._resolved(wanted)
            done = campaign(pair, self._interrupted(pair), self.days.get(wanted.candidate))
            self.measured.append(done)
            self.left -= 1
            self.spent += (self.plan.dollars if self.plan else None) or 0.0
            if self._find(pair.spec) is None:
                raise NotMeasuredError(
                    f"{done}: not complete, so {wanted.candidate} against {wanted.baseline} is "
                    "not known; see its report, then start the bisection again"
                )
        return self

    def _pinned(self, baseline: str, candidate: str) -> ReportSpec:
        return overrides.override(self.spec, {"baseline": baseline, "candidate": candidate})

    def _resolved(self, wanted: Next) -> Resolved:
        """The next campaign, resolved; its versions are exact, so there is no rule to apply."""
        spec = self._pinned(wanted.baseline, wanted.candidate)
        resolver = Resolver(self.home, self.store, Access.for_a_person(), self.asks)
        today = datetime.now(UTC).date()
        return resolver.complete(Versioned(spec, today, *resolver.engine(spec)))

    def _find(self, spec: ReportSpec) -> Campaign | None:
        return measured_module.find(self.home, self.store, spec, spec.engine, self.workload)

    def _known(self) -> list[PairComparison]:
        """The stored comparisons of releases of the way, each pair once, in their order.

        If the baseline is the later release, the comparison is turned.
        """
        compared = Comparisons(self.home, self.store)
        place = {version: at for at, version in enumerate(self.way.releases)}
        known: dict[tuple[int, int], PairComparison] = {}
        pairs = (
            tuple(campaign.plan.sides[side].label for side in SIDES)
            for campaign in compared.campaigns(self.spec.report)
            if set(SIDES) <= campaign.plan.sides.keys()
        )
        for baseline, candidate in dict.fromkeys(pairs):
            if baseline == candidate or not {baseline, candidate} <= place.keys():
                continue
            try:
                spec = self._pinned(baseline, candidate)
            except SpecError:
                continue  # what is refused today has not been measured with today's plan
            if (campaign := self._find(spec)) is not None:
                pair = self._comparison(baseline, candidate, compared.compared(campaign))
                pair = pair.turned() if place[baseline] > place[candidate] else pair
                known.setdefault((place[pair.baseline], place[pair.candidate]), pair)
        return [known[places] for places in sorted(known)]

    def _comparison(self, baseline: str, candidate: str, found: ComparedCampaign) -> PairComparison:
        workload = found.workload(self.workload)
        return PairComparison(
            baseline,
            candidate,
            workload.verdict,
            found.estimates.get(self.workload),
            found.campaign.id,
            tuple(map(str, workload.reasons)),
            workload.basis,
        )

    def _refuse_unknown(self, approved: bool) -> None:
        rents = targets.by_name()[self.spec.target].can.rents
        if rents and self.way.not_in_calendar and not approved:
            raise SpecError(
                f"{self.spec.report}: {', '.join(self.way.not_in_calendar)}: not in the "
                "calendar, so it may not exist; give --approve to rent hosts for it anyway"
            )

    def _refuse_unapproved(self, limit: float) -> None:
        """The total cost counts, since nobody can be asked before each campaign."""
        most = self.spent + (self.dollars or 0.0)
        if self.dollars is None or most < limit + _CENT:
            return
        done = f" (with {', '.join(self.measured)}, which are kept)" if self.measured else ""
        raise SpecError(
            f"{self.spec.report}: all campaigns together{done} may cost {most:,.2f} dollars, more "
            f"than is allowed without approval ({limit:g}); see `benchlab bisect --plan`, then "
            "give --approve"
        )

    def _fetch(self, wanted: Next, say: Callable[[str], None]) -> bool:
        """Install both releases; False if one in between cannot be, which is then left out."""
        if self.spec.topology is not None:
            return True  # a fleet's hosts get them by themselves
        for version in (wanted.baseline, wanted.candidate):
            try:
                engines.install(self.spec.engine, version, self.home)
            except UnavailableError as error:
                if version in (self.way.releases[0], self.way.releases[-1]):
                    raise
                self.undeployable[version] = str(error)
                say(f"{version} is left out: {error}")
                return False
        return True

    def _interrupted(self, pair: Resolved) -> str | None:
        """The id of a bisection's campaign that was interrupted in the middle of the same plan."""
        # The lock refuses one that is still running; a rented fleet has no lock.
        states = ("failed",) if pair.can.rents else ("failed", "running")
        for found in reversed(self.store.campaigns(pair.spec.report)):
            if (
                found.origin == ORIGIN
                and found.state in states
                and found.report_type == pair.spec
                and found.plan.measures_as(plan.make(pair, found.id))
            ):
                tried = {result.trial.id for result in self.store.trials(found.id)}
                if any(trial.id not in tried for trial in found.wanted.trials):
                    return found.id
        return None


def _refuse_what_hides_the_release(spec: ReportSpec, engine: str) -> None:
    if spec.sides != "different":
        raise SpecError(f"sides: {spec.sides}: a bisection compares two releases")
    if spec.slowdown_pct:
        raise SpecError(
            f"slowdown_pct: {spec.slowdown_pct:g}: a bisection looks for what a release "
            "brought, not for what is done on purpose; leave it out"
        )
    entry = spec.engines[engine]
    own = [(side.parameters, side.components) for side in (entry.baseline, entry.candidate) if side]
    if own[0] != own[-1]:
        raise SpecError(
            f"engines.{engine}: baseline and candidate have parameters of their own, "
            "which would be compared with the releases; write them under `parameters` or "
            "`by_version` of the engine"
        )


def _refuse_what_may_not_exist(home: Home, spec: ReportSpec, way: Way) -> None:
    """Refuse a release that may not exist before hosts are rented for it.

    On this machine, installing it would fail with a reason anyway.
    """
    for version, near in way.not_in_calendar.items():
        # No calendar has builds with a suffix, or series newer than itself.
        is_build = versions.parse(version).is_prerelease
        if targets.by_name()[spec.target].can.rents and near and not is_build:
            argument = "GOOD" if version == way.releases[0] else "BAD"
            raise SpecError(
                f"{argument}: {version} is not in {home.configs / 'releases.csv'}, which "
                f"has {', '.join(near)} of its series; correct it, or add the release with "
                "`benchlab releases update`"
            )
