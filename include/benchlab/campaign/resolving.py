"""Resolves a request: the only step before its plan that reads files and asks servers and mirrors.

The trigger form, ``--set``, schedules, backfills, bisections and the page Plan all go through it.

Example:
    ``plan.make(Resolver(home).resolve(Request(spec, date(2024, 5, 1))), "c1").minutes``
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from benchlab import engines, targets, workloads
from benchlab.campaign import fit, planning, report_types
from benchlab.engines import builds, given
from benchlab.errors import (
    AnotherPlanError,
    NoReleaseError,
    NothingToMeasureError,
    SpecError,
    TargetError,
    UnavailableError,
)
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.language import Message, Said, joined, message, said_by, side_name
from benchlab.language.names import title_of
from benchlab.language.numbers import MISSING
from benchlab.plan import last_measured, plan, pricing, rates, resolution, versions
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.fields.builds import Nightly
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.fields.schedule import Canary
from benchlab.plan.last_measured import Measured
from benchlab.plan.metric import Metric
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab.plan.resolved import Request, Resolved, Versioned
from benchlab.plan.steps import NOTHING_KNOWN, Basis, sizes
from benchlab.plan.topology import Topology
from benchlab.plan.versions import MEASURED, NEWEST, NIGHTLY, PREVIOUS, RUNNING
from benchlab.results.records import Campaign
from benchlab.targets import existing
from benchlab.workloads import lua_script, sysbench_faults
from benchlab.workloads.workload import Workload

if TYPE_CHECKING:
    from benchlab.results.store import Store

# A run may begin after midnight of its day, because it waited for another one.
NIGHTLY_LASTS = timedelta(days=1)
EVERYDAY = Access()


class Asks(IntEnum):
    """Whom a resolver may ask; each level includes those before it."""

    #: Only files of this machine and the store; a release stands in for what only others know.
    NOBODY = 0
    #: Also what is installed on this machine; see :attr:`Versioned.unasked`.
    MACHINE = 1
    #: Also mirrors, which versions exist; and existing servers, which version they run.
    MIRRORS = 2
    #: Also S3, which datasets it has; and whether Connections exist.
    EVERYBODY = 3
    #: For a run: the nightly must be available. On lower levels a release may stand in for it.
    TO_RUN = 4


@dataclass(frozen=True)
class Resolver:
    """Turns requests into everything that their plans follow from.

    Attributes:
        store: has the earlier campaigns from which estimates are learned; None to learn nothing.
        access: reaches existing servers and S3.
        asks: whom it may ask.
    """

    home: Home
    store: Store | None = None
    access: Access = EVERYDAY
    asks: Asks = Asks.TO_RUN

    def resolve(self, request: Request) -> Resolved:
        """Both steps: :meth:`versions`, then :meth:`complete`."""
        return self.complete(self.versions(request))

    def versions(self, request: Request) -> Versioned:
        """Replace version rules by versions, identify builds by their hashes, choose the engine.

        Raises:
            NoReleaseError: a rule names no release, or both sides' rules name the same one.
            UnavailableError: the nightly or a version is not available on this machine.
            TargetError: an existing server cannot be asked; says what to do.
            SpecError: the versions do not fit: for example one refuses a parameter, or a build's
                file is missing or not a build.
        """
        spec = request.spec if self.asks >= Asks.MIRRORS else _with_stand_ins(request, self.asks)
        # Version rules compare with builds measured before, which are known by their hashes.
        spec, notes = with_running(self.hashed(spec), self.access)
        calendar = report_types.calendar(self.home)
        named = resolution.resolve(
            spec,
            lambda engine: calendar.owned(engines.by_name()[engine].owns),
            request.on,
            turn=request.turn,
            measured=request.measured or self._measured(spec),
            # Asked once, so that both sides of an A/A campaign have the same nightly.
            nightly_of=functools.cache(functools.partial(self._nightly, spec)),
        )
        spec = self.hashed(fit.check(named.spec, where=f"{spec.report} on {request.on}"))
        engine, reason = self.engine(spec)
        unbridged = spec
        spec, bridge = self._bridged(spec, engine, request)
        planted: tuple[Message, ...] = ()
        if request.turn.canary is not None and spec is unbridged:
            spec, planted = _with_canary(spec, request.turn.canary)
        unasked = tuple(_unasked(request.spec)) if self.asks == Asks.MACHINE else ()
        notes = (*notes, *named.notes, *bridge, *planted)
        return Versioned(spec, request.on, engine, reason, notes, unasked)

    def complete(self, found: Versioned, basis: Basis | None = None) -> Resolved:
        """Add the topology, prices, and the basis of the estimates.

        Args:
            basis: of the estimates; None to take it from the store and S3.

        Raises:
            SpecError: the topology or the price list does not validate, or a version does not
                exist; names each such side, and the newest known release.
            StoreError: the store cannot be read.
        """
        spec, engine = found.spec, found.engine
        unchecked = self._refuse_unpublished(spec, engine)
        only_here = self.asks == Asks.MACHINE
        topology = targets.load_topology(self.home, spec)
        target = targets.by_name()[spec.target]
        workload = workloads.workload_of(spec)
        unset = not target.can.administers and spec.engines[engine].by_workload
        resolved = Resolved(
            spec,
            found.on,
            engine,
            found.reason,
            found.notes,
            (*found.unasked, *(unchecked if only_here else ())),
            can=target.can,
            read_only=frozenset(workloads.read_only()),
            metrics=(*workload.METRICS, *_counts(workload, engine, target.can)),
            topology=topology,
            prices=pricing.load(self.home.prices) if topology else None,
            warnings=(
                *workload.warnings(spec.dataset, spec.thread_counts),
                *sysbench_faults.warnings(spec),
                *([message("warning-not-set", engine=engine)] if unset else ()),
            ),
        )
        basis = self._basis(resolved) if basis is None else basis
        asked = self.access if self.asks >= Asks.EVERYBODY else None
        undecided = tuple(planning.left_open(spec, topology, asked))
        basis = basis.with_notes(() if only_here else unchecked)
        return replace(resolved, basis=basis, undecided=undecided)

    def engine(self, spec: ReportSpec) -> tuple[str, Said]:
        """The engine to deploy, and why.

        On this machine the servers of both versions must be available; a fleet fetches its own.

        Raises:
            SpecError: the target cannot deploy a version.
            UnavailableError: a version is not available on this machine; says how to get it.
        """
        if spec.connections:
            name = spec.deployable_engines[0]
            of_mysql = [message("engine-mysql")] if name == "mariadb" else []
            return name, joined([message("engine-of-servers"), *of_mysql])
        if spec.engine != "auto" and spec.topology is not None:
            if targets.by_name()[spec.target].can.deploys_clusters:
                _refuse_undeployable(spec)
            return spec.engine, message("engine-named")
        reasons: list[Message] = []
        for name in spec.deployable_engines:
            missing = self._missing(spec, name)
            if missing is None and spec.engine != "auto":
                return name, message("engine-named")
            if missing is None:
                return name, joined([*reasons, message("engine-there", engine=name)])
            reasons.append(message("engine-absent", engine=name, why=missing))
        why = joined(reasons)
        raise UnavailableError(message("fault-engine", engine=spec.engine, why=why))

    def as_begun(self, spec: ReportSpec, begun: Campaign) -> Versioned:
        """The report type with the versions and builds of a campaign that has begun.

        Version rules are not resolved again: by now they might name a newer release or nightly.

        Raises:
            NothingToMeasureError: the campaign is complete.
            AnotherPlanError: the report type now measures something else; names each field.
            SpecError: the report type has changed so that the versions do not fit it.
        """
        engine, before = begun.plan.engine, begun.report_type
        # With `aa_every`, some runs of a report type with different sides are A/A campaigns.
        by_turn = bool(getattr(spec.schedule, "aa_every", 0))
        is_aa = by_turn and before.sides == "same" != spec.sides
        # Some runs of a report type with another design are A/A campaigns or bridges.
        is_fixed = before.design == "fixed" != spec.design
        if differing := _not_as_begun(spec, begun, sides_differ=is_aa or is_fixed):
            raise AnotherPlanError(begun.id, differing)
        changes: dict[str, Any] = {
            f"engines.{engine}.{name}.{field}": value
            for name in before.measured_sides
            for field, value in _pinned(getattr(before.engines[engine], name)).items()
        }
        if is_aa:
            chosen = spec.engines[engine].candidate or spec.engines[engine].baseline
            side = {**chosen.model_dump(mode="json"), **_pinned(begun.plan.sides["baseline"])}
            changes = {"sides": "same", **{f"engines.{engine}.{name}": side for name in SIDES}}
        if is_fixed and not is_aa and _is_bridge(before, engine):
            anchor = spec.engines[engine].baseline.model_dump(mode="json")
            changes = {
                f"engines.{engine}.{name}": {**anchor, **_pinned(side)}
                for name, side in begun.plan.sides.items()
            }
        if begun.is_canary:
            changes |= {"slowdown_pct": before.slowdown_pct, "workloads": before.as_written}
        changes |= {"engine": engine, **({"design": "fixed"} if is_fixed else {})}
        resumed = self.hashed(spec.with_overrides(changes))
        if differing := before.measured_otherwise(resumed, engine):
            raise AnotherPlanError(begun.id, differing)
        if begun.state == "complete":
            raise NothingToMeasureError(begun.id, before.judged_otherwise(resumed))
        name, reason = self.engine(fit.check(resumed, begun.id))
        note = message("rule-resumed", campaign=begun.id)
        return Versioned(resumed, begun.at.date(), name, reason, (note,))

    def hashed(self, spec: ReportSpec) -> ReportSpec:
        """Add the hashes of script and builds, which identify what is measured; fetches none."""
        spec = lua_script.pinned(self.home.project, spec)
        if all(
            build.sha256
            for name in spec.deployable_engines
            for side in spec.measured_sides
            for build in getattr(spec.engines[name], side).builds.values()
        ):
            return spec
        return builds.pinned(self.home, spec, self.access, fetch=False)

    def _measured(self, spec: ReportSpec) -> Measured:
        if self.store is None:
            return last_measured.nothing
        from benchlab.campaign.measured_versions import measured_by  # with all that compares

        return measured_by(self.home, self.store, spec.report)

    def _bridged(
        self, spec: ReportSpec, engine: str, request: Request
    ) -> tuple[ReportSpec, tuple[Message, ...]]:
        """Where a rule names a new anchor, the comparison with the one before, which comes first.

        Without it, nothing that was measured before would be evidence.
        """
        by_rule = not request.spec.engines[engine].baseline.is_resolved
        if spec.design != "watch" or spec.slowdown_pct or not by_rule:
            return spec, ()
        if self.store is None and not request.planned:
            return spec, ()
        from benchlab.campaign.measured_versions import anchor_before  # with all that compares

        new = spec.engines[engine].baseline
        known = self.home, self.store, spec, engine, request.on
        before = anchor_before(*known, request.planned)
        if before is None:
            return spec, ()
        said = {"old": before.label, "new": new.label}
        if (why := builds.why_not_deployable(self.home, before)) is not None:
            return spec, (message("rule-no-bridge", why=why, **said),)
        old = new.model_copy(update={"version": before.version, "builds": before.builds})
        sides = {"baseline": old, "candidate": new}
        changes: dict[str, Any] = {
            f"engines.{engine}.{name}": side.model_dump(mode="json") for name, side in sides.items()
        }
        bridge = spec.with_overrides({**changes, "design": "fixed"})
        return bridge, (message("rule-bridge", **said),)

    def _nightly(self, spec: ReportSpec, engine: str, on: date) -> Nightly:
        """The nightly of a day, or, unless it is for a run, a release that stands in for it.

        Raises:
            NoReleaseError: the day is past: the mirror overwrites one nightly with the next.
            UnavailableError, SpecError: see :meth:`BaseEngine.nightly`.
        """
        if on < datetime.now(UTC).date() - NIGHTLY_LASTS:
            raise NoReleaseError(
                f"{NIGHTLY} on {on}: the nightly of a past day is no longer available: each "
                "overwrites the one before; name a kept build (`benchlab builds`)"
            )
        owner = engines.by_name()[engine]
        try:
            if self.asks == Asks.MACHINE:
                raise UnavailableError(message("unasked-nightly", rule=NIGHTLY))
            return owner.nightly(on_fleet=spec.topology is not None)
        except UnavailableError as error:
            releases = report_types.calendar(self.home).owned(owner.owns)
            newest = versions.newest([release for release in releases if release.day <= on])
            if self.asks == Asks.TO_RUN or newest is None:
                raise
            return Nightly(newest.version.text, newest.day, {}, stands_in=said_by(error))

    def _missing(self, spec: ReportSpec, engine: str) -> Said | None:
        for side in spec.measured_sides:
            chosen = spec.side(engine, side)
            if chosen.builds or self.asks == Asks.NOBODY:
                continue  # fetched and checked when the campaign begins
            ask = self.asks >= Asks.MIRRORS
            owner = engines.by_name()[engine]
            availability = owner.availability(chosen.version, self.home.servers, ask=ask)
            if not availability.available:
                return availability.how
        return None

    def _refuse_unpublished(self, spec: ReportSpec, engine: str) -> tuple[Message, ...]:
        """Refuse versions that do not exist; returns warnings about those not checked.

        A release in the calendar exists. For any other version, the engine's source is asked; if
        that does not answer, the version is not refused.
        """
        if spec.connections or self.asks == Asks.NOBODY:
            return ()
        owner = engines.by_name()[engine]
        known = report_types.calendar(self.home).owned(owner.owns)
        released = {release.version.text for release in known}
        newest = versions.newest(known)
        faults, unchecked = list[Message](), list[Message]()
        for side in spec.measured_sides:
            chosen = spec.side(engine, side)
            if chosen.builds or not chosen.is_resolved or chosen.version in released:
                continue
            which = {"side": side, "version": chosen.version}
            if self.asks == Asks.MACHINE:
                unchecked.append(message("unasked-version", **which))
                continue
            try:
                why = owner.not_published(chosen.version, self.home.servers)
            except UnavailableError as error:
                unchecked.append(message("warning-not-checked", why=said_by(error), **which))
                continue
            if why:
                has = newest.version.text if newest else MISSING
                faults.append(message("fault-not-published", newest=has, why=why, **which))
        if faults:
            raise SpecError(*faults)
        return tuple(unchecked)

    def _basis(self, resolved: Resolved) -> Basis:
        """What earlier campaigns took, and whether the dataset is on S3.

        If S3 cannot be asked, the basis has a note, and the dataset counts as one to be loaded.
        """
        basis = self._learned(resolved.spec, resolved.engine, resolved.topology)
        if resolved.spec.snapshots is None or self.asks < Asks.EVERYBODY:
            return basis
        kept = replace(basis, dataset="kept")
        spec = resolved.spec
        # The cheapest plan: a dearer one may be refused, which is not this method's to decide.
        cheapest = plan.make(replace(resolved, basis=kept), spec.report)
        target = targets.by_name()[spec.target](self.home, spec.report, cheapest, spec, self.access)
        try:
            are_kept = target.datasets is not None and target.datasets.are_kept()
            return kept if are_kept else replace(basis, dataset="missing")
        except TargetError as error:
            note = message("warning-dataset-unknown", why=str(error))
            return replace(basis, dataset="unknown", notes=(note,))

    def _learned(self, spec: ReportSpec, engine: str, topology: Topology | None) -> Basis:
        if self.store is None:
            return NOTHING_KNOWN
        times = self.store.step_times(spec.topology or spec.target, engine)
        large = sizes(spec, topology) if times else {}
        return replace(NOTHING_KNOWN, learned=rates.learned(times, large))


def _unasked(spec: ReportSpec) -> Iterator[Message]:
    """What mirrors and servers would have to be asked about a report type's versions."""
    if spec.connections:
        yield message("unasked-servers")
    sides = (
        getattr(spec.engines[name], side)
        for name in spec.deployable_engines
        for side in spec.measured_sides
    )
    if any(side.version == NIGHTLY for side in sides):
        yield message("unasked-nightly", rule=NIGHTLY)


def _not_as_begun(spec: ReportSpec, begun: Campaign, *, sides_differ: bool) -> list[str]:
    """How engine and sides of a report type differ from those of a campaign that has begun.

    Version rules do not count: they stand for what they named when the campaign began.

    Args:
        sides_differ: whether the campaign's sides are meant to differ from the report type's.
    """
    engine, sides = begun.plan.engine, begun.report_type.sides
    if engine not in spec.deployable_engines:
        return [f"engine {engine}, not {' or '.join(spec.deployable_engines)}"]
    if sides_differ:
        return []
    if spec.sides != sides:
        return [f"sides {sides}, not {spec.sides}"]
    differing = []
    for name, side in begun.plan.sides.items():
        asked = spec.side(engine, name, by_version=False)
        if asked.is_resolved and not _is_build_of(asked, side):
            differing.append(f"{name} {side.label}, not {asked.label}")
    return differing


def _is_bridge(begun: ReportSpec, engine: str) -> bool:
    """Whether both sides differ in nothing but version and builds, as two anchors do."""
    old, new = begun.engines[engine].baseline, begun.engines[engine].candidate
    alike = {"version": old.version, "builds": old.builds}
    return new is not None and new.model_copy(update=alike) == old


def _is_build_of(asked: SideSpec, side: SideSpec) -> bool:
    """Whether a side has the version and builds asked for, as far as these are specified."""
    return (
        asked.version == side.version
        and asked.builds.keys() == side.builds.keys()
        and all(
            build.model_dump().items() <= side.builds[name].model_dump().items()
            for name, build in asked.builds.items()
        )
    )


def _with_stand_ins(request: Request, asks: Asks) -> ReportSpec:
    """Take the first engine, and a release for each version that only a run can know.

    These are nightlies, versions measured before and versions that run. With :attr:`Asks.MACHINE`
    this applies to existing servers only.
    """
    spec = request.spec
    if asks == Asks.MACHINE and not spec.connections:
        return spec
    engine = spec.deployable_engines[0]
    stand_ins = {NIGHTLY: NEWEST, RUNNING: NEWEST}
    if request.measured is None:
        stand_ins |= dict.fromkeys(MEASURED, PREVIOUS[0])
    changes: dict[str, Any] = {"engine": engine}
    for side in spec.measured_sides:
        if (version := getattr(spec.engines[engine], side).version) in stand_ins:
            changes[f"engines.{engine}.{side}.version"] = stand_ins[version]
    return spec.with_overrides(changes)


def _refuse_undeployable(spec: ReportSpec) -> None:
    cluster = engines.cluster_of(spec.engine)
    for side in spec.measured_sides:
        if fault := cluster.not_deployable(spec.side(spec.engine, side).version):
            raise SpecError(f"engines.{spec.engine}.{side}.version: {fault}")


def _with_canary(spec: ReportSpec, canary: Canary) -> tuple[ReportSpec, tuple[Message, ...]]:
    """A report type with one of its workloads alone, in turn, and a slowdown of the candidate."""
    workload = spec.as_written[canary.number % len(spec.as_written)]
    planted = spec.with_overrides({"workloads": (workload,), "slowdown_pct": canary.pct})
    return planted, (message("rule-canary", workload=title_of(workload), pct=f"{canary.pct:g}"),)


def _pinned(side: SideSpec) -> dict[str, Any]:
    kept = {name: build.model_dump(mode="json") for name, build in side.builds.items()}
    return {"version": side.version, "builds": kept}


def with_running(spec: ReportSpec, access: Access) -> tuple[ReportSpec, tuple[Message, ...]]:
    """Replace `running` and `engine: auto` by what the report type's servers report.

    Returns:
        The report type, unchanged if no server has to be asked; and what each server reported.

    Raises:
        TargetError: a server cannot be asked; says what to do.
        SpecError: the servers are not of the requested engine.
    """
    sides = [
        getattr(spec.engines[name], side)
        for name in spec.deployable_engines
        for side in spec.measured_sides
    ]
    known = spec.engine != "auto" and all(side.version != RUNNING for side in sides)
    if known or not spec.connections:
        return spec, ()
    reported = existing.asked(spec, access)
    engine = _engine(spec, set(reported.values()))
    changes: dict[str, Any] = {"engine": engine}
    notes = []
    for side, text in reported.items():
        if getattr(spec.engines[engine], side).version == RUNNING:
            field = f"engines.{engine}.{side}.version"
            try:
                changes[field] = version = given.version_of(text)
            except TargetError as error:
                raise TargetError(f"{field}: {error}") from error
            said = message(
                "rule-running", rule=RUNNING, label=version, connection=spec.connections[side]
            )
            notes.append(message("rule-of-side", side=side_name(side), named=said))
    return spec.with_overrides(changes), tuple(notes)


def _engine(spec: ReportSpec, reported: set[str]) -> str:
    found = {given.engine_of(text) for text in reported}
    said = " and ".join(sorted(reported))
    if len(found) > 1:
        raise SpecError(f"connections: the servers are {said}; write a report type for each engine")
    (engine,) = found
    if engine not in spec.deployable_engines:
        raise SpecError(
            f"engine: {spec.engine}: the server calls itself {said}: write {engine}, as which "
            f"{engines.by_name()[engine].title} is measured, with an entry under `engines`"
        )
    return engine


def _counts(workload: Workload, engine: str, can: Capabilities) -> Iterator[Metric]:
    """The counts that are decided, of the servers that Benchlab deploys."""
    if not can.administers:
        return
    servers = engines.by_name()[engine]
    deployed = servers.cluster if can.deploys_clusters else servers
    for count in deployed.counts if deployed else ():
        if count.name in workload.COUNTS.get(engine, ()):
            yield count.metric()
