"""From rounds to estimates, by what deployments of the campaign and of others show.

Data layout and placement are decided when a side is deployed and loaded. They stay the same until
it is deployed again, so that rounds cannot show them, and a difference between two deployments
looks like one between two versions. In A/A campaigns both sides are one version: any difference is
noise. Earlier campaigns that compared two versions show it as well, where they deployed each side
several times: whatever the versions differ by, they differ by it in all of these deployments.
:mod:`benchlab.analysis.verdict.variances` says how both enter the intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.variances import (
    Estimate,
    Squares,
    Variance,
    by_workload,
    deployment_variance,
    estimated,
    squares,
    together,
)
from benchlab.arrays import np
from benchlab.plan.metric import THROUGHPUT, of_kind

LEAST_ROUNDS = 3
"""With fewer there is no interval: two rounds would need a change of 12.7 standard errors."""
MIN_CAMPAIGNS = 3
"""With fewer, an interval rests on the prior more than on them, and is reported so."""

LATEST_EARLIER = 12
"""So many earlier campaigns that compared two versions count: with more, a fleet that has become
noisier is noticed too late (docs/statistics.md)."""

Key = tuple[str, str, frozenset[int], str]
Shown = Mapping[Key, Squares]
"""What one campaign shows, by workload, metric, thread counts and kind of metric."""


@dataclass(frozen=True)
class Calibration:
    """What other campaigns show about deployments.

    Attributes:
        campaigns: the A/A campaigns.
        found: by workload, metric, thread counts and kind of metric, the squares of each of them.
        earlier: the same of campaigns that compared two versions, by their ids.
    """

    campaigns: tuple[str, ...] = ()
    found: Mapping[Key, Sequence[Squares]] = field(default_factory=dict)
    earlier: Mapping[str, Shown] = field(default_factory=dict)
    _sums: dict[Key, Squares] = field(default_factory=dict, compare=False, repr=False)

    @property
    def ids(self) -> tuple[str, ...]:
        """All of these campaigns."""
        return (*self.campaigns, *self.earlier)

    def squares(self, rounds: Rounds, kind: str) -> Squares:
        """Of A/A campaigns, with the same thread counts; zeros where there are none."""
        key = _key(rounds, kind)
        if key not in self._sums:  # the same calibration serves many campaigns
            self._sums[key] = together(self.found.get(key, ()))
        return self._sums[key]

    def of_versions(self, rounds: Rounds, kind: str) -> Squares:
        """The same of earlier campaigns that compared two versions."""
        key = _key(rounds, kind)
        return together([shown[key] for shown in self.earlier.values() if key in shown])

    def deployment(self, rounds: Rounds, kind: str) -> float | None:
        """A workload's deployment variance; None where no A/A campaign measured it."""
        if not self.count(rounds, kind):
            return None
        return float(deployment_variance(self.squares(rounds, kind)))

    def count(self, rounds: Rounds, kind: str = THROUGHPUT) -> int:
        """How many A/A campaigns measured a workload, with the same thread counts."""
        return len(self.found.get(_key(rounds, kind), ()))

    def count_earlier(self, rounds: Rounds, kind: str = THROUGHPUT) -> int:
        """How many earlier campaigns did that compared two versions."""
        key = _key(rounds, kind)
        return sum(key in shown for shown in self.earlier.values())


NO_CALIBRATION = Calibration()


def calibrate(
    campaigns: Mapping[str, Sequence[Rounds]],
    earlier: Mapping[str, Sequence[Rounds]] | None = None,
) -> Calibration:
    """Collect what A/A campaigns, by id, show about deployments, and what others do.

    Each must have been deployed and loaded on its own. A workload of a campaign with fewer than
    two complete rounds does not count.

    Args:
        earlier: campaigns that compared two versions, in several deployments.

    Example:
        ``calibrate({"aa-1": rounds_1, "aa-2": rounds_2}).count(rounds_1[0])`` is 2.
    """
    return pooled(
        {name: shown_by(workloads, about_zero=True) for name, workloads in campaigns.items()},
        {name: shown_by(found, about_zero=False) for name, found in (earlier or {}).items()},
    )


def shown_by(workloads: Sequence[Rounds], *, about_zero: bool) -> Shown:
    """What one campaign shows of its workloads.

    Args:
        about_zero: whether its sides are the same, as in A/A campaigns.
    """
    return {
        _key(rounds, kind): squares(deployments, about_zero=about_zero)
        for rounds in workloads
        for kind in rounds.kinds
        if sum(map(len, deployments := rounds.by_deployment(kind))) >= 2
    }


def pooled(campaigns: Mapping[str, Shown], earlier: Mapping[str, Shown]) -> Calibration:
    """What several campaigns, by id, show together: A/A campaigns, and those that are not."""
    found: dict[Key, list[Squares]] = {}
    for shown in campaigns.values():
        for key, one in shown.items():
            found.setdefault(key, []).append(one)
    return Calibration(
        tuple(name for name, shown in campaigns.items() if shown),
        found,
        {name: shown for name, shown in earlier.items() if shown},
    )


def _key(rounds: Rounds, kind: str) -> Key:
    return rounds.workload, rounds.metric_of(kind), frozenset(rounds.compared(kind)), kind


Basis = Literal["deployments", "A/A campaigns", "earlier campaigns", "weeks", "prior"]
"""What an interval's part for deployments rests on; ``weeks``: of a ``design: watch``."""


@dataclass(frozen=True)
class WorkloadEstimate:
    """The estimates of one metric of one workload.

    Attributes:
        versions: what the verdict rests on; its variance covers rounds and deployments.
        rounds: the same mean, with these deployments' rounds alone; None if each has one.
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
    """One kind of metric by workload, where it has :data:`LEAST_ROUNDS` complete rounds or more.

    Example:
        ``estimates(workloads, "throughput", known)["oltp_insert"].versions.interval(0.95)``
    """
    measured = {r.workload: (r, r.by_deployment(kind)) for r in workloads}
    usable = {
        name: (rounds, found)
        for name, (rounds, found) in measured.items()
        if sum(map(len, found)) >= LEAST_ROUNDS
    }
    if not usable:
        return {}
    own = by_workload([squares(found) for _, found in usable.values()])
    aa = by_workload([known.squares(rounds, kind) for rounds, _ in usable.values()])
    earlier = by_workload([known.of_versions(rounds, kind) for rounds, _ in usable.values()])
    deployments = np.array([len(found) for _, found in usable.values()])
    coarseness = np.array([rounds.coarseness(kind) for rounds, _ in usable.values()])
    first, _ = next(iter(usable.values()))
    prior = 2 * of_kind(first.metrics, kind).side_sd ** 2
    shown = estimated(own, aa, deployments, coarseness, prior=prior, earlier=earlier)
    made = {}
    for place, (name, (rounds, found)) in enumerate(usable.items()):
        versions = shown.about_versions(place, found)
        of_rounds = Variance(float(shown.rounds[place]), float(shown.rounds_df[place]))
        made[name] = WorkloadEstimate(
            versions=versions,
            rounds=Estimate(versions.mean, of_rounds)
            if of_rounds.value == of_rounds.value
            else None,
            basis=_basis(len(found), known.count(rounds, kind), known.count_earlier(rounds, kind)),
            quieter=float(shown.quieter[0]),
        )
    return made


def at_looks(
    looks: Sequence[Sequence[Rounds]], kind: str, known: Calibration, first: int
) -> dict[str, list[WorkloadEstimate]]:
    """One kind of metric by workload, as each look that brought it another deployment saw it.

    What a look sees of a workload does not change with what others measure after it. The last one
    is of all its figures, even if a thread count that was left out before leaves fewer complete.

    Args:
        looks: the workloads as far as each look sees them.
        first: how many deployments the first look has.
    """
    found: dict[str, list[WorkloadEstimate]] = {}
    counts: dict[str, int] = {}
    rounds_of: dict[str, int] = {}
    for workloads in looks:
        having = [rounds for rounds in workloads if kind in rounds.kinds]
        estimated = estimates(having, kind, known)
        for rounds in having:
            name, count = rounds.workload, len(rounds.by_deployment(kind))
            measured = len(rounds.rounds)
            if measured == rounds_of.get(name) or name not in estimated:
                continue
            rounds_of[name] = measured
            if count > counts.get(name, first - 1):
                counts[name] = count
                found.setdefault(name, []).append(estimated[name])
            elif name in found:
                found[name][-1] = estimated[name]
    return found


def _basis(deployments: int, aa_campaigns: int, earlier: int) -> Basis:
    if aa_campaigns >= MIN_CAMPAIGNS:
        return "A/A campaigns"
    if earlier >= MIN_CAMPAIGNS:
        return "earlier campaigns"
    return "deployments" if deployments > 1 else "prior"
