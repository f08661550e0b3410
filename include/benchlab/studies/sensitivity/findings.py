"""Calibration by A/A campaigns: false alarms, and the smallest change that is found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchlab.analysis.error_rates.resampling import (
    MOST_CHANGE_PCT,
    NoiseModel,
    SimulatedRates,
    noise_of,
    outcome,
    power,
    share_ci95,
)
from benchlab.analysis.verdict import estimates
from benchlab.analysis.verdict.compare import judge
from benchlab.analysis.verdict.estimates import Calibration
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.variances import PRIOR_SIDE_SD, percent
from benchlab.home import Home
from benchlab.plan.metric import COUNT
from benchlab.plan.metric import kinds as decided_kinds
from benchlab.plan.open_loop import rate_of
from benchlab.plan.report_type import ReportSpec
from benchlab.results.store import Store
from benchlab.studies.sensitivity.proposals import Proposal, propose, wanted_pct
from benchlab.studies.sensitivity.selection import AASelection, select_aa_campaigns

# Steps of a line in the picture.
_STEPS = 100
_FEW_ROUNDS = 10
_FEW_CAMPAIGNS = 10


@dataclass(frozen=True)
class ErrorRates:
    """False alarms and sensitivity of one metric of one workload.

    Unknown values are None: rates without two complete rounds, and the smallest change if not even
    a slowdown of 50 % is found.

    Attributes:
        deployment_sd_pct: standard deviation of the difference between two deployments.
        deployment_missing: why that is uncertain, and the consequence; None from three campaigns
            on.
        false_positive_rate: share of resampled A/A campaigns that call a change.
        false_positive_ci95: its 95 % interval, from the number of resampled campaigns.
        smallest_change_pct: the smallest slowdown that is found in 80 % of campaigns.
        power: share of campaigns that find a slowdown, for each of ``Findings.slowdowns_pct``.
    """

    metric: str
    deployment_sd_pct: float | None
    deployment_missing: str | None
    false_positive_rate: float | None = None
    false_positive_ci95: tuple[float, float] | None = None
    smallest_change_pct: float | None = None
    power: tuple[float, ...] = ()


@dataclass(frozen=True)
class Findings:
    """The calibration of a report type by its A/A campaigns.

    Attributes:
        spec: the report type of the first; the resampled campaigns have its rounds and seconds.
        detect_pct: the slowdown that the proposals find.
        slowdowns_pct: the slowdowns for which the picture shows the power.
        workloads: by name and family, ``throughput`` or ``latency``.
        family_wise: by family, the share of resampled campaigns with any false alarm.
    """

    campaigns: tuple[str, ...]
    spec: ReportSpec
    engine: str
    detect_pct: float
    slowdowns_pct: tuple[float, ...]
    workloads: dict[str, dict[str, ErrorRates]]
    family_wise: dict[str, float | None]
    proposals: tuple[Proposal, ...]
    notes: tuple[str, ...]


def calibrate(
    home: Home, store: Store, campaigns: Sequence[str], detect_pct: float | None = None
) -> Findings:
    """Calibrate by A/A campaigns, and propose plans that find smaller changes.

    Args:
        campaigns: their ids; all must have the setting of the first.
        detect_pct: the slowdown that proposals must find; None: 1.5 thresholds.

    Raises:
        SpecError: a campaign cannot be used, or ``detect_pct`` is out of range.
        StoreError: there is no such campaign.

    Example:
        ``calibrate(home, store, ["aa-1"]).workloads["tpcc"]["latency"].false_positive_rate``
    """
    chosen = select_aa_campaigns(store, campaigns)
    spec = chosen.first.report_type
    wanted = wanted_pct(spec, detect_pct)
    known = estimates.calibrate(chosen.independent)
    metrics = chosen.first.plan.metrics
    # Counts differ too little from campaign to campaign for their noise to be a plan's concern.
    kinds = decided_kinds(metric for metric in metrics if metric.family != COUNT)
    noise = {kind: noise_of(chosen.alike, kind, known) for kind in kinds}
    judged = {kind: outcome(noise[kind], spec.rounds, spec.threshold_pct) for kind in kinds}
    slowdowns = _slowdowns(judged["throughput"], spec.threshold_pct)
    proposals, about = propose(home, store, chosen, spec, noise["throughput"], wanted)
    return Findings(
        campaigns=chosen.campaigns,
        spec=spec,
        engine=chosen.first.plan.engine,
        detect_pct=wanted,
        slowdowns_pct=slowdowns,
        workloads={
            rounds.workload: {
                kind: _error_rates(rounds, kind, judged[kind], known, slowdowns) for kind in kinds
            }
            for rounds in chosen.alike[chosen.first.id]
            if rate_of(rounds.workload) is None
        },
        family_wise={
            kind: rates.any_false_alarm / rates.campaigns if rates else None
            for kind, rates in judged.items()
        },
        proposals=proposals,
        notes=(*_about_rounds(chosen, noise), *chosen.notes, *about),
    )


def _error_rates(
    rounds: Rounds,
    kind: str,
    judged: SimulatedRates | None,
    known: Calibration,
    slowdowns: Sequence[float],
) -> ErrorRates:
    deployment, name = known.deployment(rounds, kind), rounds.workload
    rates = ErrorRates(
        metric=rounds.metric_of(kind),
        deployment_sd_pct=None if deployment is None else percent(deployment**0.5),
        deployment_missing=_missing(known.count(rounds, kind)),
    )
    if judged is None or name not in judged.false_alarms:
        return rates
    count = judged.false_alarms[name]
    return replace(
        rates,
        false_positive_rate=count / judged.campaigns,
        false_positive_ci95=share_ci95(count, judged.campaigns),
        smallest_change_pct=judged.smallest[name],
        power=tuple(power(judged.found[name], slowdowns)),
    )


def _missing(count: int) -> str | None:
    least = estimates.MIN_CAMPAIGNS
    if count >= least:
        return None
    return (
        f"{count} A/A campaign{'s' * (count != 1)} of which each side was loaded on its own; with "
        f"fewer than {least} the intervals rest on what is assumed of deployments "
        f"(±{100 * PRIOR_SIDE_SD:g}% a side)"
    )


def _slowdowns(judged: SimulatedRates | None, threshold_pct: float) -> tuple[float, ...]:
    """The slowdowns of the picture: from 0 to 1.5 times the largest that it must show."""
    found = judged.smallest.values() if judged else ()
    largest = max([2 * threshold_pct, *(pct or MOST_CHANGE_PCT for pct in found)])
    last = min(MOST_CHANGE_PCT, 1.5 * largest)
    return tuple(last * step / _STEPS for step in range(_STEPS + 1))


def _about_rounds(chosen: AASelection, noise: dict[str, NoiseModel]) -> Iterator[str]:
    """Sentences about the evidence, and about the verdicts of the campaigns themselves."""
    spec, rounds = chosen.first.report_type, noise["throughput"].residuals.shape[0]
    if not rounds:
        yield (
            "no campaign has two rounds that are complete in all workloads, so the noise is not "
            "known; use more rounds"
        )
        return
    if spec.rounds < estimates.LEAST_ROUNDS:
        yield (
            f"{chosen.first.id} has fewer than {estimates.LEAST_ROUNDS} rounds, with which all "
            "verdicts are inconclusive"
        )
    if rounds < _FEW_ROUNDS:
        yield (
            f"the noise is known from {rounds} rounds only, so that all figures are rough; "
            f"{_FEW_ROUNDS} or more are better"
        )
    if 0 < len(chosen.independent) < _FEW_CAMPAIGNS:
        yield (
            f"{len(chosen.independent)} campaigns show the deployment variance only roughly; with "
            "more of them smaller changes are found"
        )
    if left_out := noise["throughput"].left_out:
        yield f"rounds left out, because a workload lacks a figure there: {left_out}"
    alarmed = {
        campaign: [
            f"{found.name} {found.verdict}"
            for found in judge(
                workloads, spec.threshold_pct, calibration=_without(chosen, campaign)
            )
            if found.verdict in ("regression", "improvement")
        ]
        for campaign, workloads in chosen.alike.items()
    }
    named = [f"{campaign} ({', '.join(found)})" for campaign, found in alarmed.items() if found]
    yield (
        "of the campaigns themselves, each judged with the others as its calibration, "
        + (f"these were false alarms: {'; '.join(named)}" if named else "none was a false alarm")
        + " (throughput)"
    )


def _without(chosen: AASelection, campaign: str) -> Calibration:
    """The calibration by the other campaigns: a campaign's own would widen its interval."""
    return estimates.calibrate(
        {other: found for other, found in chosen.independent.items() if other != campaign}
    )
