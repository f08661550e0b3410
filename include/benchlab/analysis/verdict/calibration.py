"""Deployment variance, from A/A campaigns.

Data layout and placement are decided when a side is deployed and loaded. They stay the same for a
whole campaign, so its rounds cannot show them, and a difference between two deployments looks like
one between two versions. A/A campaigns, each deployed and loaded on its own, show it:
their estimates D_1 .. D_K differ by more than their rounds explain. By the method of moments (the
balanced one-way random-effects model, any textbook on variance components):

* between = variance of D_1 .. D_K, K - 1 degrees of freedom;
* within = mean of s_k^2 / R_k, the part of it that the rounds explain;
* deployment variance of a workload = between - within, zero where that is negative.

Five campaigns estimate a variance badly: a workload whose campaigns agree by chance would have
none. So a workload takes at least the mean over all workloads that were measured. Degrees of
freedom are Satterthwaite's (1946); those of the mean are those of a mean of independent estimates,
but never more than K - 1: one deployment may affect all its workloads alike, so that more of them
do not make more deployments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, variance

from benchlab.analysis.verdict.decision import KINDS, MetricKind
from benchlab.analysis.verdict.paired import Estimate, Variance, estimate
from benchlab.analysis.verdict.rounds import Rounds

MIN_CAMPAIGNS = 5

_Key = tuple[str, str, frozenset[int], MetricKind]


@dataclass(frozen=True)
class Calibration:
    """What A/A campaigns show about deployments.

    Attributes:
        campaigns: ids of those that were used.
        deployments: their variances, by workload, metric, thread counts and kind of metric.
        counts: by the same, how many campaigns measured it, enough of them or not.
    """

    campaigns: tuple[str, ...] = ()
    deployments: Mapping[_Key, Variance] = field(default_factory=dict)
    counts: Mapping[_Key, int] = field(default_factory=dict)

    def deployment(self, rounds: Rounds, kind: MetricKind) -> Variance | None:
        """A workload's deployment variance with the same thread counts; None if it is not known."""
        return self.deployments.get(_key(rounds, kind))

    def unseen(self, rounds: Rounds, kind: MetricKind) -> Variance | None:
        """The variance of a workload's estimate that its rounds cannot show; None: not known.

        That is its deployment variance, and how coarsely its client prints p95 latencies.
        """
        deployment = self.deployment(rounds, kind)
        if kind != "p95" or not rounds.latency_step:
            return deployment
        # A latency may lie anywhere in its step, in all rounds alike: step^2 / 12, a uniform
        # variable's. A ratio is of two, and the mean of T ratios has a T-th of that.
        coarse = Variance(2 * rounds.latency_step**2 / 12 / len(rounds.threads), math.inf)
        return coarse + deployment if deployment else coarse

    def count(self, rounds: Rounds, kind: MetricKind = "throughput") -> int:
        """How many A/A campaigns have two complete rounds or more of it, with its threads."""
        return self.counts.get(_key(rounds, kind), 0)


NO_CALIBRATION = Calibration()


def calibrate(campaigns: Mapping[str, Sequence[Rounds]]) -> Calibration:
    """Estimate the deployment variances from A/A campaigns, by id.

    Each must have been deployed and loaded on its own. A workload of a campaign with fewer than
    two complete rounds does not count.

    Example:
        ``calibrate({"aa-1": rounds_1, "aa-2": rounds_2}).count(rounds_1[0])`` is 2.
    """
    found: dict[_Key, list[Estimate]] = {}
    used = []
    for campaign, workloads in campaigns.items():
        estimates = {
            _key(rounds, kind): known
            for rounds in workloads
            for kind in KINDS
            if (known := estimate(rounds.log_ratios(kind).mean(axis=1))) is not None
        }
        for key, known in estimates.items():
            found.setdefault(key, []).append(known)
        if estimates:
            used.append(campaign)
    enough = {key: known for key, known in found.items() if len(known) >= MIN_CAMPAIGNS}
    return Calibration(
        campaigns=tuple(used),
        deployments=_deployments(enough),
        counts={key: len(estimates) for key, estimates in found.items()},
    )


def _deployments(found: Mapping[_Key, Sequence[Estimate]]) -> dict[_Key, Variance]:
    between_and_within = {}
    for key, estimates in found.items():
        between = Variance(variance([one.mean for one in estimates]), len(estimates) - 1)
        first, *others = (one.variance for one in estimates)
        total = sum(others, first)
        between_and_within[key] = between, Variance(total.value / len(estimates), total.df)
    deployments = {}
    for kind in KINDS:
        own = {key: pair for key, pair in between_and_within.items() if key[-1] == kind}
        shared = _excess(list(own.values())) if own else None
        for key, pair in own.items():
            taken = _excess([pair])
            if shared is not None and shared.value > taken.value:
                taken = Variance(shared.value, min(shared.df, pair[0].df))
            deployments[key] = taken
    return deployments


def _excess(pairs: Sequence[tuple[Variance, Variance]]) -> Variance:
    """The mean of between - within over independent estimates, at least zero."""
    value = max(0.0, fmean(between.value - within.value for between, within in pairs))
    # Each variance V with f degrees of freedom has itself the variance 2 V^2 / f.
    spread = sum(v.value**2 / v.df for pair in pairs for v in pair) / len(pairs) ** 2
    df = value**2 / spread if spread else min(between.df for between, _ in pairs)
    return Variance(value, max(df, 1.0))


def _key(rounds: Rounds, kind: MetricKind) -> _Key:
    return rounds.workload, rounds.metric_of(kind), frozenset(rounds.threads), kind
