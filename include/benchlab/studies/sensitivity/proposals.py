"""The sensitivity of a plan, and what other deployments, rounds and trial lengths would cost."""

from __future__ import annotations

import contextlib
import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from benchlab.analysis.error_rates.deployments import (
    MOST_DEPLOYMENTS,
    ROUNDS,
    Cell,
    Noise,
    RoundVariance,
    assumed,
    detectable_pct,
    explained,
    lengths,
    long_run_variance,
    settings,
)
from benchlab.analysis.error_rates.resampling import MOST_CHANGE_PCT, NoiseModel
from benchlab.analysis.error_rates.taken import taken
from benchlab.analysis.trend import weeks
from benchlab.analysis.trend.weeks import Chances
from benchlab.analysis.verdict.aa_campaigns import can_calibrate, is_alike, shows_deployments
from benchlab.analysis.verdict.decision import ALPHA, level
from benchlab.analysis.verdict.estimates import LATEST_EARLIER, LEAST_ROUNDS
from benchlab.analysis.verdict.looks import fractions_of, levels
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.analysis.verdict.variances import Squares, by_workload, squares, together
from benchlab.arrays import np
from benchlab.campaign.outcome import Comparer
from benchlab.campaign.outline import outline_of
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.errors import SpecError, StoreError
from benchlab.home import Home
from benchlab.plan import open_loop
from benchlab.plan.metric import COUNT, THROUGHPUT, Metric
from benchlab.plan.plan import Plan, make
from benchlab.plan.report_type import FIRST_LOOK, ReportSpec
from benchlab.plan.resolved import Resolved, Versioned
from benchlab.plan.steps import (
    NOTHING_KNOWN,
    Preparation,
    deployment_minutes,
    preparing_minutes,
)
from benchlab.results.records import Campaign, TrialResult
from benchlab.results.store import Store, is_there, open_store
from benchlab.studies.sensitivity.selection import AASelection
from benchlab.targets import local

# What proposals find by default, in thresholds. The threshold itself would not do: the estimate of
# a slowdown of that size is below it in half of the campaigns.
DETECT_PER_THRESHOLD = 1.5
DEPLOYING = ("prepare", *get_args(Preparation))
# The most series that are read of a cell on one side; more of them add little.
_MOST_SERIES = 6
# Offers next to a plan: these multiples of its rounds.
_TIMES = (1, 2, 4)
_NO_LIMIT = 1e9  # dollars
# The most A/A campaigns, and other ones, that are read for a plan, which must be shown at once.
_LATEST = 12


@dataclass(frozen=True)
class Proposal:
    """Deployments, rounds and trial length, with their cost and sensitivity.

    Attributes:
        rounds: of all deployments together.
        dollars: None if nothing is rented.
        detects_pct: the smallest slowdown that is found in 80 % of campaigns, in every workload.
    """

    deployments: int
    rounds: int
    seconds: int
    hours: float
    dollars: float | None
    detects_pct: float


@dataclass(frozen=True)
class PlanSensitivity:
    """The smallest slowdown that a plan finds in 4 of 5 campaigns, in every workload.

    Attributes:
        campaigns: those whose rounds show the noise, the earliest first; if empty, it is assumed.
        deployments: how many deployments of each side in them show the deployment variance; if 0,
            it is assumed.
        detects_pct: None if not even a slowdown of 50 % is found.
        counts: each decided count with the smallest change of it that is found; only those that
            campaigns of this setting measured.
        offers: the plan itself, and the same with more rounds, as far as they find anything and can
            be planned.
        wanted_pct: the slowdown that ``cheapest`` must find.
        why_none: why there is no ``cheapest``, as a sentence; else empty.
        told: with ``design: watch``, in place of all of these.
        mean_minutes: with ``design: release``, of a campaign in which nothing differs.
        by_looks: the cheapest plan with ``design: release`` that finds it, and its mean minutes;
            None where none was asked for.
    """

    campaigns: tuple[str, ...]
    deployments: int
    detects_pct: float | None
    offers: tuple[Proposal, ...]
    wanted_pct: float
    cheapest: Proposal | None
    why_none: str
    counts: tuple[tuple[Metric, float], ...] = ()
    told: Chances | None = None
    mean_minutes: float | None = None
    by_looks: tuple[Proposal, float] | None = None


def propose(
    home: Home,
    store: Store,
    chosen: AASelection,
    spec: ReportSpec,
    noise: NoiseModel,
    wanted: float,
) -> tuple[tuple[Proposal, ...], list[str]]:
    """The proposals that find a slowdown, the cheapest first, and notes about them.

    Args:
        chosen: the A/A campaigns that show the noise.
        spec: their report type; proposals change its deployments, rounds and seconds.
        noise: of the throughput.
        wanted: the slowdown in percent.
    """
    if not noise.workloads:
        return (), []
    if wanted <= spec.threshold_pct:
        return (), [_below_threshold(spec, wanted)]
    variances = _variances(store, chosen, noise)
    notes = []
    if without := [n for n, v in zip(noise.workloads, variances, strict=True) if v.series is None]:
        notes.append(
            f"{', '.join(without)}: no series of four intervals or more for each cell, so that "
            "longer trials are assumed not to help"
        )
    first = chosen.first
    versioned = Versioned(spec, first.at.date(), first.plan.engine, first.engine_reason)
    resolved = Resolver(home, asks=Asks.NOBODY).complete(versioned, NOTHING_KNOWN)
    known = Noise([], noise.known, noise.known, noise.level)
    found = [*_of_lengths(resolved, variances, lengths(variances), known, wanted)]
    proposals = [one for one in found if isinstance(one, Proposal)]
    notes += dict.fromkeys(one for one in found if isinstance(one, str))
    proposals.sort(key=_cost)
    return tuple(proposals), notes


def _of_lengths(
    resolved: Resolved,
    variances: Sequence[RoundVariance],
    seconds: Sequence[int],
    noise: Noise,
    wanted: float,
) -> Iterator[Proposal | str]:
    """The cheapest deployments and rounds that find a slowdown, for each length of the trials."""
    spec = resolved.spec
    # The budget's limit applies to what is proposed, not to these plans of the length alone.
    budget = {"approve_above": _NO_LIMIT, "limit": _NO_LIMIT} if spec.budget else None
    for each in seconds:
        other = spec.with_overrides({"seconds": each})
        planned = _planned(resolved, other.with_overrides({"budget": budget}))
        of_rounds = replace(noise, rounds=[one.at(each) for one in variances])
        yield _cheapest(replace(resolved, spec=other), planned, of_rounds, wanted)


def _below_threshold(spec: ReportSpec, wanted: float) -> str:
    return (
        f"no number of rounds finds a slowdown of {wanted:g}% in 4 of 5 campaigns while the "
        f"threshold is {spec.threshold_pct:g}%: half of the estimates are below it; ask for "
        "more (--detect), or lower threshold_pct"
    )


def plan_sensitivity(
    home: Home,
    resolved: Resolved,
    planned: Plan,
    store: Store | None = None,
    detect_pct: float | None = None,
) -> PlanSensitivity | None:
    """The sensitivity of a plan; None if it compares nothing, or has too few rounds.

    The noise is what campaigns of the same cells and setting measured on the same machine or fleet,
    as in their own reports. Without any, it is that of the published reports, with the prior for
    deployments. Which length of trials is the cheapest is asked only with ``detect_pct``, and of
    stored series; without them longer trials are assumed not to help.

    Args:
        store: where the campaigns are; None: the installation's store, if it has one.
        detect_pct: the slowdown that the cheapest proposal must find; None: 1.5 thresholds.

    Raises:
        StoreError: the store cannot be read.
        SpecError: ``detect_pct`` is out of range.

    Example:
        ``plan_sensitivity(home, resolved, plan).detects_pct`` is 3.1: it finds 3.1 % or more.
    """
    spec = resolved.spec
    if spec.sides == "single" or spec.rounds < LEAST_ROUNDS:
        return None
    wanted = wanted_pct(spec, detect_pct)
    if spec.design == "watch":
        known, told = _told(home, spec, planned, store)
        return PlanSensitivity(known, 0, None, (), wanted, None, "", told=told)
    measured, series = _measured(home, spec, planned, store, with_series=detect_pct is not None)
    nothing = assumed([len(spec.threads_of(workload)) for workload in spec.as_written])
    found = _noise(spec, measured, spec.as_written, THROUGHPUT, nothing)
    campaigns, deployments, noise, variances = found
    variances = _with_series(spec, variances, series)
    noise = replace(noise, level=level(planned.metrics))
    mean_minutes = _mean_minutes(spec, planned, noise) if planned.looks else None
    by_looks = None
    if (detect_pct is not None or planned.looks) and wanted > spec.threshold_pct:
        by_looks = min(_by_looks(resolved, noise, wanted), key=lambda one: one[1], default=None)
    noise = _at_last_look(noise, planned.looks)
    cheapest: Proposal | str
    if planned.looks and wanted > spec.threshold_pct:
        none = f"no plan of up to {MOST_DEPLOYMENTS} deployments of each side finds {wanted:g}%"
        cheapest, by_looks = by_looks[0] if by_looks else none, None
    else:
        cheapest = _cheapest(resolved, planned, noise, wanted)
        others = (
            [one for one in lengths(variances) if one != spec.seconds]
            if series and variances
            else []
        )
        all_of_them = [cheapest, *_of_lengths(resolved, variances, others, noise, wanted)]
        cheapest = min(all_of_them, key=_cost)
    return PlanSensitivity(
        campaigns=campaigns,
        deployments=deployments,
        detects_pct=_detects(noise, spec),
        offers=tuple(_offers(resolved, noise)),
        wanted_pct=wanted,
        cheapest=cheapest if isinstance(cheapest, Proposal) else None,
        why_none=cheapest if isinstance(cheapest, str) else "",
        counts=_of_counts(spec, planned, measured),
        mean_minutes=mean_minutes,
        by_looks=by_looks,
    )


def _cost(one: Proposal | str) -> tuple[bool, float, float]:
    """What is no proposal comes last."""
    if isinstance(one, str):
        return True, 0.0, 0.0
    return False, one.dollars or 0.0, one.hours


def _at_last_look(noise: Noise, looks: Sequence[int]) -> Noise:
    """What the last look decides has the level that the earlier ones left."""
    if not looks:
        return noise
    return replace(noise, level=noise.level * levels(fractions_of(looks), ALPHA)[-1] / ALPHA)


def _by_looks(resolved: Resolved, noise: Noise, wanted: float) -> Iterator[tuple[Proposal, float]]:
    """Plans with ``design: release`` that find a slowdown, with one or two rounds a deployment."""
    spec = resolved.spec
    for each in (1, 2):
        for count in range(FIRST_LOOK + 1, MOST_DEPLOYMENTS + 1):
            at_last = _at_last_look(noise, range(FIRST_LOOK, count + 1))
            detects = detectable_pct(at_last, count, each * count, spec.threshold_pct)
            if detects > wanted:
                continue
            # What cannot be planned, such as above the limit, is no proposal.
            with contextlib.suppress(SpecError):
                shape = {"design": "release", "deployments": count, "rounds": each * count}
                made = spec.with_overrides(shape)
                plan = _planned(resolved, made)
                yield _proposal(made, plan, detects), _mean_minutes(made, plan, noise)
            break


def _mean_minutes(spec: ReportSpec, planned: Plan, noise: Noise) -> float:
    """With ``design: release``: a workload at a rate is assumed to take as long as without it."""
    place = {name: number for number, name in enumerate(spec.as_written)}
    places = {n: place.get(n, place.get(open_loop.saturated(n), 0)) for n in planned.workloads}
    drawn = taken(noise, planned.looks, planned.rounds, spec.threshold_pct)
    own = Counter((planned.deployment_of(t.round), t.workload) for t in planned.trials)
    mean = planned.minutes
    for number in range(1, planned.deployments + 1):
        whole, prepared = (
            minutes_of(planned.steps, number)
            for minutes_of in (deployment_minutes, preparing_minutes)
        )
        trials = sum(own[number, name] for name in planned.workloads)
        mean -= prepared * float((drawn.max(axis=1) < number).mean())
        for name, column in places.items():
            spared = float((drawn[:, column] < number).mean())
            mean -= (whole - prepared) * own[number, name] / trials * spared
    return mean


def _told(
    home: Home, spec: ReportSpec, planned: Plan, store: Store | None
) -> tuple[tuple[str, ...], Chances]:
    """With `design: watch`: the campaigns that show the noise, and how likely a loss is told."""
    if store is None and not is_there(home):
        return (), weeks.least_chances(planned, spec.threshold_pct, {})
    with contextlib.nullcontext(store) if store else open_store(home) as store:
        return Comparer(home, store).watching.chances(planned, spec)


def wanted_pct(spec: ReportSpec, detect_pct: float | None) -> float:
    """The slowdown that proposals must find: ``detect_pct``, or by default 1.5 thresholds.

    Raises:
        SpecError: ``detect_pct`` is out of range.
    """
    if detect_pct is None:
        return DETECT_PER_THRESHOLD * spec.threshold_pct
    if not 0 < detect_pct <= MOST_CHANGE_PCT:
        raise SpecError(
            f"--detect: must be above 0 and at most {MOST_CHANGE_PCT:g}, found {detect_pct:g}"
        )
    return detect_pct


_Measured = Sequence[tuple[Campaign, Mapping[str, Rounds]]]
"""Campaigns with their figures by workload."""


_Series = Mapping[str, dict[Cell, list[float]]]
"""The long-run variances of trials' throughput, by workload and cell."""


def _measured(
    home: Home, spec: ReportSpec, planned: Plan, store: Store | None, *, with_series: bool
) -> tuple[_Measured, _Series]:
    """The store's campaigns of this setting."""
    if store is None and not is_there(home):
        return [], {}
    with contextlib.nullcontext(store) if store else open_store(home) as store:
        campaigns = _like(store, spec, planned)
        figures = Comparer(home, store).figures([outline_of(one) for one in campaigns])
        series = _long_run_variances(store, campaigns[::-1] if with_series else [])
    return [(one, {own.workload: own for own in figures[one.id]}) for one in campaigns], series


def _with_series(
    spec: ReportSpec, variances: Sequence[RoundVariance], series: _Series
) -> list[RoundVariance]:
    """The same with what the series explain of it."""
    return [
        replace(one, series=explained(series.get(name, {}), spec.threads_of(name), one.seconds))
        for name, one in zip(spec.as_written, variances, strict=bool(variances))
    ]


def _of_counts(
    spec: ReportSpec, planned: Plan, measured: _Measured
) -> tuple[tuple[Metric, float], ...]:
    """The smallest change that is found of each count, in every workload that has it."""
    counts = [metric for metric in planned.metrics if metric.family == COUNT]
    found = []
    for metric in counts:
        having = [
            workload
            for workload in spec.as_written
            if measured and all(metric.kind in own[workload].kinds for _, own in measured)
        ]
        if not having:
            continue
        nothing = replace(
            assumed([len(spec.threads_of(workload)) for workload in having]),
            # All of them are adjusted together.
            level=level(planned.metrics, COUNT) / len(counts),
            prior=2 * metric.side_sd**2,
        )
        used, _, noise, _ = _noise(spec, measured, having, metric.kind, nothing)
        if used:
            threshold = metric.threshold_pct or spec.threshold_pct
            pct = detectable_pct(noise, spec.deployments, spec.rounds, threshold)
            found.append((metric, pct))
    return tuple(found)


def _noise(
    spec: ReportSpec, measured: _Measured, workloads: Sequence[str], kind: str, nothing: Noise
) -> tuple[tuple[str, ...], int, Noise, list[RoundVariance]]:
    """The noise of a kind of metric in campaigns, with their ids and deployments.

    Returns:
        Last the variances of rounds by the length of trials, without series.
    """
    used, count, known, earlier = [], 0, [nothing.known], [nothing.known]
    by_length: dict[int, list[Squares]] = {}  # by trial length, the latest campaign's last
    for one, figures in measured:
        found = [figures[workload].by_deployment(kind) for workload in workloads]
        if all(sum(map(len, deployments)) >= 2 for deployments in found):
            is_aa, number = can_calibrate(one), min(map(len, found))
            shown = by_workload([squares(each, about_zero=is_aa) for each in found])
            seconds = one.report_type.seconds
            by_length[seconds] = [*by_length.pop(seconds, []), shown]
            used.append(one.id)
            known += [shown] if is_aa else []
            alike = one.restored_dataset == (spec.snapshots is not None)
            earlier += [shown] if alike and shows_deployments(one) else []
            count += number if is_aa or number > 1 else 0
    if not used:
        return (), 0, nothing, []
    pooled = {seconds: together(found) for seconds, found in by_length.items()}
    apart = together([_without_rounds(found) for found in pooled.values()])
    rounds = _of_rounds(pooled, spec, len(workloads))
    noise = replace(
        nothing,
        rounds=[one.at(spec.seconds) for one in rounds],
        shown=apart,
        known=together(known),
        earlier=together(earlier[-LATEST_EARLIER:]),
    )
    return tuple(used), count, noise, rounds


def _of_rounds(pooled: Mapping[int, Squares], spec: ReportSpec, count: int) -> list[RoundVariance]:
    """The variance of a round within a deployment, by workload, from trials of one length.

    Zero if no deployment has two rounds: all noise then counts as deployment variance.
    """
    several = [seconds for seconds, found in pooled.items() if found.within_df.all()]
    if not several:
        return [RoundVariance(spec.seconds, 0.0, None)] * count
    seconds = spec.seconds if spec.seconds in several else several[-1]
    found = pooled[seconds]
    return [RoundVariance(seconds, float(one), None) for one in found.within / found.within_df]


def _without_rounds(found: Squares) -> Squares:
    """The squares between deployments without the part that the noise of rounds explains."""
    of_rounds = found.within / np.maximum(found.within_df, 1) * found.inverse_rounds
    between = found.between - found.between_df * of_rounds
    return replace(found, between=between, inverse_rounds=0 * of_rounds)


def _detects(noise: Noise, spec: ReportSpec) -> float | None:
    found = detectable_pct(noise, spec.deployments, spec.rounds, spec.threshold_pct)
    return found if found <= MOST_CHANGE_PCT else None


def _offers(resolved: Resolved, noise: Noise) -> Iterator[Proposal]:
    """The plan itself, and with more rounds."""
    # A plan is refused above the budget, or for too many trials; more rounds would be as well.
    with contextlib.suppress(SpecError):
        for times in _TIMES:
            made = resolved.spec.with_overrides({"rounds": times * resolved.spec.rounds})
            if (detects := _detects(noise, made)) is not None:
                yield _proposal(made, _planned(resolved, made), detects)


def _cheapest(resolved: Resolved, planned: Plan, noise: Noise, wanted: float) -> Proposal | str:
    """The deployments and rounds that find a slowdown at the least cost, or why none do."""
    spec = resolved.spec
    if wanted <= spec.threshold_pct:
        return _below_threshold(spec, wanted)
    deployment, measured = (
        sum(step.minutes for step in planned.steps if step.stage in stages)
        for stages in (DEPLOYING, ("measure", "trial"))
    )
    several = spec.placement == "interleaved" and deployment > 0
    costs = deployment / spec.deployments, measured / spec.rounds
    found = next(settings(noise, wanted, spec.threshold_pct, *costs, several=several), None)
    if found is None:
        most = f"{MOST_DEPLOYMENTS} deployments of each side" if several else f"{ROUNDS[-1]} rounds"
        return f"no plan of up to {most} finds a slowdown of {wanted:g}% in every workload"
    deployments, rounds = found
    detects = detectable_pct(noise, deployments, rounds, spec.threshold_pct)
    try:
        made = spec.with_overrides({"deployments": deployments, "rounds": rounds})
        return _proposal(made, _planned(resolved, made), detects)
    except SpecError as error:
        would = (
            f"{rounds} rounds of {spec.seconds} s in {deployments} deployments find {detects:.1f}%"
        )
        return f"{would}, but cannot be planned: {error}"


def _planned(resolved: Resolved, made: ReportSpec) -> Plan:
    """The plan of a report type with other rounds, deployments or design."""
    return make(replace(resolved, spec=made), made.report)


def _proposal(made: ReportSpec, plan: Plan, detects_pct: float) -> Proposal:
    return Proposal(
        made.deployments, made.rounds, made.seconds, plan.minutes / 60, plan.dollars, detects_pct
    )


def _variances(store: Store, chosen: AASelection, noise: NoiseModel) -> list[RoundVariance]:
    """The variance of a round's log ratio by the length of its trials, for each workload."""
    threads = {rounds.workload: rounds.threads for rounds in chosen.alike[chosen.first.id]}
    series = _long_run_variances(store, [store.campaign(one) for one in chosen.alike])
    return [
        RoundVariance(
            chosen.seconds, total, explained(series.get(name, {}), threads[name], chosen.seconds)
        )
        for name, total in zip(noise.workloads, noise.round_variances.tolist(), strict=True)
    ]


def _long_run_variances(store: Store, campaigns: Sequence[Campaign]) -> _Series:
    """Of the first series that are stored."""
    found: dict[str, dict[Cell, list[float]]] = {}
    for campaign in campaigns:
        for result in usable_trials(campaign.plan, store.trials(campaign.id))[0]:
            cells = found.setdefault(result.trial.workload, {})
            values = cells.setdefault((result.trial.threads, result.trial.side), [])
            if len(values) < _MOST_SERIES:
                value = _long_run_variance(store, campaign, result)
                values += [] if value is None else [value]
    return found


def _long_run_variance(store: Store, campaign: Campaign, result: TrialResult) -> float | None:
    if result.series is None:
        return None
    try:
        text = store.read_bytes(result.series).decode()
    except StoreError:
        return None
    metric = campaign.plan.throughput.name
    rows = [row for row in csv.DictReader(text.splitlines()) if row.get(metric) and row.get("t")]
    return long_run_variance(
        [float(row["t"]) for row in rows], [float(row[metric]) for row in rows]
    )


def _like(store: Store, spec: ReportSpec, planned: Plan) -> Sequence[Campaign]:
    """The latest campaigns with the plan's setting, workloads, threads and machine, by time."""
    machine = local.machine() if spec.topology is None else {}
    fit = [
        campaign
        for campaign in store.campaigns(spec.report, "complete")
        if campaign.report_type.sides != "single"
        and not campaign.plan.slowdown_pct
        and set(campaign.report_type.workloads) >= set(spec.as_written)
        and all(
            {*campaign.report_type.threads_of(workload)} == {*spec.threads_of(workload)}
            for workload in spec.as_written
        )
        and all(campaign.environment.get(name, fact) == fact for name, fact in machine.items())
    ]
    if not fit:
        return []
    # The client is chosen on its host; the one of the last campaign is assumed.
    campaign = Campaign(
        id=planned.report, plan=planned, report_type=spec, engine_reason="",
        origin="", state="running", started_at=fit[-1].started_at, ended_at=None,
        environment=fit[-1].environment, facts={},
    )  # fmt: skip
    alike = [other for other in fit if is_alike(campaign, other)]
    aa, others = ([one for one in alike if one.is_aa is which] for which in (True, False))
    latest = {one.id for one in (*aa[-_LATEST:], *others[-_LATEST:])}
    return [one for one in alike if one.id in latest]
