"""A bisection at work: what the store knows already, and the campaigns that are still needed.

State is in the store only. Started again, a bisection finds there what it has measured, and carries
the campaign on in which it was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import date

from benchlab import engines, targets
from benchlab.campaign import overrides, planning, report_types
from benchlab.errors import NotMeasuredError, SpecError, UnavailableError
from benchlab.home import Home
from benchlab.plan import versions
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.versions import FINAL, ReleaseKind
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from benchlab.studies import measured as measured_module
from benchlab.studies.bisection import known_pairs, release_way, search
from benchlab.studies.bisection.outcome import BisectionOutcome, Next
from benchlab.studies.bisection.release_changes import PairComparison
from benchlab.studies.bisection.release_way import Way

ORIGIN = "benchlab bisect"
# Less is a difference of rounding, not of prices.
_CENT = 0.01


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        good, bad: versions; the change of the second against the first is what is looked for.
        kinds: of the releases in between.
        first_of_series: of each series only its first release, of whatever kind.
    """

    good: str
    bad: str
    workload: str
    kinds: Collection[ReleaseKind] = FINAL
    first_of_series: bool = False


@dataclass(frozen=True)
class Wanted:
    """A campaign that is to be run.

    Attributes:
        interrupted: the id of one of the same plan to go on with; None: a new one.
        day: of the candidate's release, where the campaign stands in the long view; None where
            the calendar does not know it.
    """

    spec: ReportSpec
    interrupted: str | None
    day: date | None


@dataclass(frozen=True)
class Bisection:
    """How far a bisection has come.

    Attributes:
        undeployable: why releases of the way can be in no campaign.
        comparisons: those that are known, by the place of their releases on the way.
        measured: the campaigns of them that were run by this command.
        reached: the outcome, or the comparison that is needed next.
        plan: of one of its campaigns; None where none is needed any more.
    """

    report: str
    engine: str
    workload: str
    threshold_pct: float
    way: Way
    undeployable: dict[str, str]
    comparisons: tuple[PairComparison, ...]
    measured: tuple[str, ...]
    reached: Next | BisectionOutcome
    plan: Plan | None

    @property
    def minutes(self) -> float | None:
        """At most, of all campaigns that are still needed."""
        return self._times(self.plan.minutes if self.plan else None)

    @property
    def dollars(self) -> float | None:
        """The same; None also where nothing is rented."""
        return self._times(self.plan.dollars if self.plan else None)

    def _times(self, of_one: float | None) -> float | None:
        if of_one is None or not isinstance(self.reached, Next):
            return None
        return of_one * self.reached.at_most


@dataclass
class BisectionRun:
    """One bisection.

    Args:
        spec: the report type; which versions it compares does not matter.

    Raises:
        SpecError: the versions, the workload or the report type cannot be bisected.
    """

    home: Home
    store: Store
    spec: ReportSpec
    question: Question
    _undeployable: dict[str, str] = field(default_factory=dict, init=False)
    _measured: list[str] = field(default_factory=list, init=False)
    # Campaigns of those that were announced at the beginning; None before the first.
    _left: int | None = field(default=None, init=False)
    _dollars: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        good, bad = versions.parse(self.question.good), versions.parse(self.question.bad)
        ends = self._pinned(good.text, bad.text)
        self._engine = ends.engine
        self._refuse_what_hides_the_release()
        releases = report_types.calendar(self.home).owned(engines.by_name()[self._engine].owns)
        self._days = {each.version.text: each.day for each in releases}
        self._way = release_way.between(
            releases, good, bad, self.question.kinds, first_of_series=self.question.first_of_series
        )
        self._rents = targets.by_name()[self.spec.target].rents
        self._refuse_what_may_not_exist()
        for version in self._way.releases:
            try:
                planning.choose_engine(self._pinned(version, version, sides="same"), self.home)
            except (SpecError, UnavailableError) as error:
                self._undeployable[version] = str(error)

    def look(self) -> Bisection:
        """What is known, and what that tells; starts nothing.

        Raises:
            UnavailableError: a comparison is needed of which a release cannot be deployed.
        """
        name, way = self.question.workload, self._way.releases
        known = known_pairs.find(self.home, self.store, way, self._pinned, self._engine, name)
        threshold = self.spec.threshold_pct
        reached = search.search(way, known, threshold, self._undeployable, self._left)
        plan = None
        if isinstance(reached, Next):
            for version in (reached.baseline, reached.candidate):
                if version in self._undeployable:
                    raise UnavailableError(f"{version}: {self._undeployable[version]}")
            pair = self._pinned(reached.baseline, reached.candidate)
            plan = planning.plan(self.home, pair, self._engine, pair.report)
        return Bisection(
            report=self.spec.report,
            engine=self._engine,
            workload=name,
            threshold_pct=threshold,
            way=self._way,
            undeployable=dict(self._undeployable),
            comparisons=tuple(known),
            measured=tuple(self._measured),
            reached=reached,
            plan=plan,
        )

    def run(
        self,
        campaign: Callable[[Wanted], str],
        say: Callable[[str], None],
        *,
        approved: bool = False,
    ) -> Bisection:
        """Measure until there is an outcome, with no more campaigns than are announced at first.

        Args:
            campaign: runs one; gives its id.
            say: takes a sentence for people, before each campaign.
            approved: rent also for more than `budget.approve_above` in all, up to what is announced
                at first, and for releases that the calendar does not have.

        Raises:
            UnavailableError: one of the two releases asked for cannot be had.
            NotMeasuredError: a campaign did not become complete.
            SpecError: what is still needed is not approved.
        """
        limit = self.spec.budget.approve_above if self.spec.budget else 0.0
        while isinstance((seen := self.look()).reached, Next):
            wanted = seen.reached
            if self._left is None:
                self._left = wanted.at_most
                limit = max(limit, seen.dollars or 0.0) if approved else limit
                self._refuse_unknown(approved)
            self._refuse_unapproved(seen, limit)
            if not self._fetch(wanted, say):
                continue
            say(f"{wanted.candidate} against {wanted.baseline}: {wanted.why}")
            spec = self._pinned(wanted.baseline, wanted.candidate)
            day = self._days.get(wanted.candidate)
            done = campaign(Wanted(spec, self._interrupted(spec), day))
            self._measured.append(done)
            self._left -= 1
            self._dollars += (seen.plan.dollars if seen.plan else None) or 0.0
            here = measured_module.hardware(self.home, spec)
            name = self.question.workload
            if measured_module.find(self.store, spec, self._engine, name, on=here) is None:
                raise NotMeasuredError(
                    f"{done}: not complete, so that {wanted.candidate} against {wanted.baseline} "
                    "is not known; see its report, then start the bisection again"
                )
        return seen

    def _pinned(self, baseline: str, candidate: str, **fields: object) -> ReportSpec:
        """The report type of the workload alone, with these versions."""
        pair = {"baseline": baseline, "candidate": candidate}
        return overrides.override(
            self.spec, {"workloads": [self.question.workload], **fields, **pair}
        )

    def _refuse_what_hides_the_release(self) -> None:
        if self.spec.sides != "different":
            raise SpecError(f"sides: {self.spec.sides}: a bisection compares two releases")
        if self.spec.slowdown_pct:
            raise SpecError(
                f"slowdown_pct: {self.spec.slowdown_pct:g}: a bisection looks for what a release "
                "brought, not for what is done on purpose; leave it out"
            )
        entry = self.spec.engines[self._engine]
        own = [
            (each.parameters, each.components) for each in (entry.baseline, entry.candidate) if each
        ]
        if own[0] != own[-1]:
            raise SpecError(
                f"engines.{self._engine}: baseline and candidate have parameters of their own, "
                "which would be compared with the releases; write them under `parameters` or "
                "`by_version` of the engine"
            )

    def _refuse_what_may_not_exist(self) -> None:
        """Before hosts are rented for it; on this machine it cannot be fetched, which says so."""
        for version, near in self._way.not_in_calendar.items():
            # A build with a suffix is in no calendar, nor is a series that is newer than it.
            if self._rents and near and not versions.parse(version).is_prerelease:
                argument = "GOOD" if version == self._way.releases[0] else "BAD"
                raise SpecError(
                    f"{argument}: {version} is not in {self.home.configs / 'releases.csv'}, which "
                    f"has {', '.join(near)} of its series; correct it, or add the release with "
                    "`benchlab releases update`"
                )

    def _refuse_unknown(self, approved: bool) -> None:
        if self._rents and self._way.not_in_calendar and not approved:
            raise SpecError(
                f"{self.spec.report}: {', '.join(self._way.not_in_calendar)}: not in the calendar, "
                "so that it may not exist; give --approve to rent hosts for it all the same"
            )

    def _refuse_unapproved(self, seen: Bisection, limit: float) -> None:
        """All campaigns together count: nobody is there to be asked before each of them."""
        most = self._dollars + (seen.dollars or 0.0)
        if seen.dollars is None or most < limit + _CENT:
            return
        done = f" (with {', '.join(self._measured)}, which are kept)" if self._measured else ""
        raise SpecError(
            f"{self.spec.report}: all campaigns together{done} may cost {most:,.2f} dollars, more "
            f"than may be rented without approval ({limit:g}); see `benchlab bisect --plan`, then "
            "give --approve"
        )

    def _fetch(self, wanted: Next, say: Callable[[str], None]) -> bool:
        """Whether both releases can be had; one in between that cannot is left out from now on."""
        if self.spec.topology is not None:
            return True  # a fleet gets them from elsewhere
        for version in (wanted.baseline, wanted.candidate):
            try:
                engines.install(self._engine, version, self.home)
            except UnavailableError as error:
                if version in (self._way.releases[0], self._way.releases[-1]):
                    raise
                self._undeployable[version] = str(error)
                say(f"{version} is left out: {error}")
                return False
        return True

    def _interrupted(self, spec: ReportSpec) -> str | None:
        """A campaign of a bisection that was interrupted in the middle of the same plan."""
        for found in reversed(self.store.campaigns(spec.report)):
            if found.origin == ORIGIN and self._is_half(found, spec):
                return found.id
        return None

    def _is_half(self, found: Campaign, spec: ReportSpec) -> bool:
        # One that is still at work is refused by the lock; a rented fleet has none.
        states = ("failed",) if self._rents else ("failed", "running")
        if found.state not in states or found.report_type != spec:
            return False
        if found.plan != planning.plan(self.home, spec, self._engine, found.id):
            return False
        tried = {result.trial.id for result in self.store.trials(found.id)}
        return any(trial.id not in tried for trial in found.plan.trials)
