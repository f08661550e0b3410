"""From a campaign's rounds to its estimates: workloads share what they show of deployments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchlab.analysis.verdict.calibration import MIN_CAMPAIGNS, Calibration
from benchlab.analysis.verdict.paired import Estimate, Variance
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.variances import by_workload, estimated, squares
from benchlab.arrays import np

Basis = Literal["deployments", "A/A campaigns", "prior"]
"""What an interval knows of how deployments differ."""


@dataclass(frozen=True)
class WorkloadEstimate:
    """One metric of one workload.

    Attributes:
        versions: what the verdict rests on: it knows of rounds and of deployments.
        rounds: the same mean, by the rounds of these deployments alone; None if each has one.
        quieter: how much more the campaign scatters than the A/A campaigns, as a ratio of
            variances; 1: that may be chance.
    """

    versions: Estimate
    rounds: Estimate | None
    basis: Basis
    quieter: float


def estimates(
    workloads: Sequence[Rounds], kind: str, known: Calibration
) -> dict[str, WorkloadEstimate]:
    """By workload; those with fewer than two complete rounds are left out.

    Example:
        ``estimates(workloads, "throughput", known)["oltp_insert"].versions.interval(0.95)``
    """
    measured = {r.workload: (r, r.by_deployment(kind)) for r in workloads}
    usable = {
        name: (rounds, found)
        for name, (rounds, found) in measured.items()
        if sum(map(len, found)) >= 2
    }
    if not usable:
        return {}
    own = by_workload([squares(found) for _, found in usable.values()])
    aa = by_workload([known.squares(rounds, kind) for rounds, _ in usable.values()])
    shown = estimated(own, aa, np.array([len(found) for _, found in usable.values()]))
    made = {}
    for place, (name, (rounds, found)) in enumerate(usable.items()):
        mean = float(np.mean([one.mean() for one in found]))
        coarse = rounds.coarseness(kind)
        versions = Variance(float(shown.versions[place]), float(shown.versions_df[place])) + coarse
        of_rounds = Variance(float(shown.rounds[place]), float(shown.rounds_df[place])) + coarse
        made[name] = WorkloadEstimate(
            versions=Estimate(mean, versions),
            rounds=Estimate(mean, of_rounds) if of_rounds.value == of_rounds.value else None,
            basis=_basis(len(found), known.count(rounds, kind)),
            quieter=float(shown.quieter[0]),
        )
    return made


def _basis(deployments: int, aa_campaigns: int) -> Basis:
    if aa_campaigns >= MIN_CAMPAIGNS:
        return "A/A campaigns"
    return "deployments" if deployments > 1 else "prior"
