"""What A/A campaigns of the store tell: false alarms, and the smallest change that is found."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchlab import aa_proposals, aa_selection, calibration
from benchlab.aa_proposals import Proposal
from benchlab.aa_selection import Selection
from benchlab.calibration import Calibration
from benchlab.compare import judge
from benchlab.decision import KINDS, Kind
from benchlab.errors import SpecError
from benchlab.home import Home
from benchlab.paired import percent
from benchlab.resampling import Noise, noise_of
from benchlab.rounds import Rounds
from benchlab.sensitivity import MOST_CHANGE_PCT, Outcome, outcome, power, share_ci95
from benchlab.spec import ReportSpec
from benchlab.store import Store

# What is proposed for where nobody says it, in thresholds. The threshold itself would not do: an
# estimate of a slowdown just as large is below it in half of the campaigns.
DETECT_PER_THRESHOLD = 1.5
_STEPS = 100
_FEW_ROUNDS = 10
_FEW_CAMPAIGNS = 10


@dataclass(frozen=True)
class Finding:
    """One metric of one workload.

    Attributes:
        false_positive_rate: share of resampled A/A campaigns in which it is called a change.
        false_positive_ci95: what the number of resampled campaigns leaves open of it.
        deployment_sd_pct: standard deviation of what two deployments differ by.
        deployment_missing: why that is not known, and what follows; None where it is.
        smallest_change_pct: the smallest slowdown that is found in 80 % of campaigns.
        power: share of campaigns that find a slowdown, for each of the picture's.

    What cannot be told is None: with fewer than two complete rounds, and of the smallest change
    where not even 50 % is found.
    """

    metric: str
    false_positive_rate: float | None
    false_positive_ci95: tuple[float, float] | None
    deployment_sd_pct: float | None
    deployment_missing: str | None
    smallest_change_pct: float | None
    power: tuple[float, ...]


@dataclass(frozen=True)
class WorkloadFindings:
    """One workload: its throughput and its p95 latency."""

    name: str
    throughput: Finding
    p95: Finding


@dataclass(frozen=True)
class Findings:
    """What A/A campaigns tell.

    Attributes:
        rounds, seconds: of the resampled campaigns, and how long a trial takes.
        detect_pct: the slowdown that the proposals find.
        slowdowns_pct: those of the picture.
        family_wise: by metric, the share of resampled campaigns with any false alarm.
        notes: what a reader should know, as sentences.
    """

    campaigns: tuple[str, ...]
    report: str
    engine: str
    rounds: int
    seconds: int
    threshold_pct: float
    detect_pct: float
    slowdowns_pct: tuple[float, ...]
    workloads: tuple[WorkloadFindings, ...]
    family_wise: dict[Kind, float | None]
    proposals: tuple[Proposal, ...]
    notes: tuple[str, ...]


def calibrate(
    home: Home, store: Store, campaigns: Sequence[str], detect_pct: float | None = None
) -> Findings:
    """Read A/A campaigns, and say what they tell.

    Args:
        home: the installation, for topologies and prices.
        campaigns: ids; the setting of the first is that of the others.
        detect_pct: the slowdown that proposals are to find; None: 1.5 thresholds.

    Raises:
        SpecError: a campaign cannot be taken, or ``detect_pct`` is out of range.
        StoreError: there is no such campaign.
    """
    if detect_pct is not None and not (
        math.isfinite(detect_pct) and 0 < detect_pct <= MOST_CHANGE_PCT
    ):
        raise SpecError(
            f"--detect: must be above 0 and at most {MOST_CHANGE_PCT:g}, found {detect_pct:g}"
        )
    chosen = aa_selection.select(store, campaigns)
    spec = ReportSpec.model_validate(chosen.first.spec)
    wanted = detect_pct or DETECT_PER_THRESHOLD * spec.threshold_pct
    known = calibration.calibrate(chosen.independent)
    noise = {kind: noise_of(chosen.alike, kind, known) for kind in KINDS}
    judged = {kind: outcome(noise[kind], spec.rounds, spec.threshold_pct) for kind in KINDS}
    slowdowns = _slowdowns(judged["throughput"], spec.threshold_pct)
    proposals, about = aa_proposals.propose(home, store, chosen, spec, noise["throughput"], wanted)
    return Findings(
        campaigns=tuple(each.id for each in chosen.campaigns),
        report=spec.report,
        engine=chosen.first.plan.engine,
        rounds=spec.rounds,
        seconds=spec.seconds,
        threshold_pct=spec.threshold_pct,
        detect_pct=wanted,
        slowdowns_pct=slowdowns,
        workloads=tuple(
            WorkloadFindings(
                rounds.workload,
                *(_finding(rounds, kind, judged[kind], known, slowdowns) for kind in KINDS),
            )
            for rounds in chosen.alike[chosen.first.id]
        ),
        family_wise={
            kind: each.any_false_alarm / each.campaigns if each else None
            for kind, each in judged.items()
        },
        proposals=proposals,
        notes=(*_about_rounds(chosen, spec, noise, known), *chosen.notes, *about),
    )


def _finding(
    rounds: Rounds,
    kind: Kind,
    judged: Outcome | None,
    known: Calibration,
    slowdowns: Sequence[float],
) -> Finding:
    component = known.component(rounds, kind)
    count = judged.false_alarms.get(rounds.workload) if judged else None
    return Finding(
        metric=rounds.metric_of(kind),
        false_positive_rate=None if count is None or not judged else count / judged.campaigns,
        false_positive_ci95=(
            None if count is None or not judged else share_ci95(count, judged.campaigns)
        ),
        deployment_sd_pct=percent(component.deployment.value**0.5) if component else None,
        deployment_missing=None if component else _missing(known.count(rounds, kind)),
        smallest_change_pct=judged.smallest.get(rounds.workload) if judged else None,
        power=tuple(power(judged.found[rounds.workload], slowdowns))
        if judged and count is not None
        else (),
    )


def _missing(count: int) -> str:
    more = calibration.MIN_CAMPAIGNS - count
    return (
        f"not known: {count} of the {calibration.MIN_CAMPAIGNS} A/A campaigns that it takes, each "
        f"loaded on its own, {'is' if count == 1 else 'are'} there, {more} more needed; until then "
        "a verdict holds for one deployment only"
    )


def _slowdowns(judged: Outcome | None, threshold_pct: float) -> tuple[float, ...]:
    """From none to half as much again as the largest that is to be read off the picture."""
    found = judged.smallest.values() if judged else ()
    largest = max(
        [2 * threshold_pct, *(MOST_CHANGE_PCT if each is None else each for each in found)]
    )
    last = min(MOST_CHANGE_PCT, 1.5 * largest)
    return tuple(last * step / _STEPS for step in range(_STEPS + 1))


def _about_rounds(
    chosen: Selection, spec: ReportSpec, noise: dict[Kind, Noise], known: Calibration
) -> Iterator[str]:
    """Sentences: what the figures rest on, and what the campaigns were called themselves."""
    rounds = noise["throughput"].residuals.shape[0]
    if not rounds:
        yield (
            "no campaign has two rounds that are complete in all workloads: nothing can be said "
            "of noise; take more rounds"
        )
        return
    if spec.rounds < 2:
        yield f"{chosen.first.id} has one round, with which a verdict is always inconclusive"
    if rounds < _FEW_ROUNDS:
        yield (
            f"the noise is known from {rounds} rounds only, so that all figures are rough; those "
            f"of {_FEW_ROUNDS} or more are better"
        )
    if calibration.MIN_CAMPAIGNS <= len(chosen.independent) < _FEW_CAMPAIGNS:
        yield (
            f"{len(chosen.independent)} campaigns tell the deployment variance roughly, which "
            "makes all intervals wide; with more of them smaller changes are found"
        )
    if left_out := noise["throughput"].left_out:
        yield f"rounds left out, because a workload lacks a figure there: {left_out}"
    alarmed = {
        campaign: [
            f"{found.name} {found.verdict}"
            for found in judge(workloads, spec.threshold_pct, calibration=known)
            if found.verdict in ("regression", "improvement")
        ]
        for campaign, workloads in chosen.alike.items()
    }
    told = [f"{campaign} ({', '.join(found)})" for campaign, found in alarmed.items() if found]
    yield (
        "of the campaigns themselves, judged one by one, "
        + (f"these were false alarms: {'; '.join(told)}" if told else "none was a false alarm")
        + " (throughput)"
    )
