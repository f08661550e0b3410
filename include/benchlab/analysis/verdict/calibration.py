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
class Component:
    """The deployment variance of one workload and metric.

    Attributes:
        campaigns: how many A/A campaigns it is from.
        between, within: of their estimates; see above.
        deployment: what is added to the variance of an estimate.
    """

    campaigns: int
    between: Variance
    within: Variance
    deployment: Variance


@dataclass(frozen=True)
class Calibration:
    """What A/A campaigns show about deployments.

    Attributes:
        campaigns: ids of those that were used.
        components: by workload, metric, thread counts and kind of metric.
        counts: by the same, how many campaigns measured it, enough of them or not.
    """

    campaigns: tuple[str, ...] = ()
    components: Mapping[_Key, Component] = field(default_factory=dict)
    counts: Mapping[_Key, int] = field(default_factory=dict)

    def component(self, rounds: Rounds, kind: MetricKind) -> Component | None:
        """A workload's deployment variance with the same thread counts; None if it is not known."""
        return self.components.get(_key(rounds, kind))

    def unseen(self, rounds: Rounds, kind: MetricKind) -> Variance | None:
        """The variance of a workload's estimate that its rounds cannot show; None: not known.

        That is its deployment variance, and how coarsely its client prints p95 latencies.
        """
        component = self.component(rounds, kind)
        deployment = component.deployment if component else None
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
        components=_components(enough),
        counts={key: len(estimates) for key, estimates in found.items()},
    )


def _components(found: Mapping[_Key, Sequence[Estimate]]) -> dict[_Key, Component]:
    between = {
        key: Variance(variance([one.mean for one in estimates]), len(estimates) - 1)
        for key, estimates in found.items()
    }
    within = {}
    for key, estimates in found.items():
        first, *others = (one.variance for one in estimates)
        total = sum(others, first)
        within[key] = Variance(total.value / len(estimates), total.df)
    components = {}
    for kind in KINDS:
        keys = [key for key in found if key[-1] == kind]
        own = {key: _excess([(between[key], within[key])]) for key in keys}
        shared = _excess([(between[key], within[key]) for key in keys]) if keys else None
        for key in keys:
            taken = own[key]
            if shared is not None and shared.value > taken.value:
                taken = Variance(shared.value, min(shared.df, between[key].df))
            components[key] = Component(len(found[key]), between[key], within[key], taken)
    return components


def _excess(pairs: Sequence[tuple[Variance, Variance]]) -> Variance:
    """The mean of between - within over independent estimates, at least zero."""
    value = max(0.0, fmean(between.value - within.value for between, within in pairs))
    # Each variance V with f degrees of freedom has itself the variance 2 V^2 / f.
    spread = sum(v.value**2 / v.df for pair in pairs for v in pair) / len(pairs) ** 2
    df = value**2 / spread if spread else min(between.df for between, _ in pairs)
    return Variance(value, max(df, 1.0))


def _key(rounds: Rounds, kind: MetricKind) -> _Key:
    return rounds.workload, rounds.metric_of(kind), frozenset(rounds.threads), kind
