"""Of all counts of a workload, those that moved with its change: tested, grouped and ranked.

* A count that does not vary within a side is compared exactly
  (:mod:`benchlab.analysis.verdict.exact`), and has moved from 1 % on.
* Any other is tested on the mean log ratio of its rounds, with the variance that a verdict has
  (:mod:`benchlab.analysis.verdict.variances`): of rounds and deployments, moderated over all
  counts, with the prior for deployments. The variance of rounds is the larger one of two, of
  rounds' means and of single thread counts, with the degrees of freedom of the latter.
* Counts whose residuals within a side go together are one cluster: average linkage, up to a
  correlation of 0.7 of either sign, or the one that chance exceeds in 1 % where that is more.
  Those that depend on the load are never in one with others.
* A cluster's p value is Simes' (1986) of its counts', so that it does not matter which of them
  moved. Clusters are rejected by Benjamini and Hochberg (1995) at 2.5 %: then in 95 % of campaigns
  without a change, or more, none is.
* They are ranked by the least change that their 95 % interval allows: what appeared or vanished
  first, what depends on the load last.

docs/CAUSES.md has what simulations (``python -m tools.study causes``) say of these choices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchlab.analysis.cause.false_discoveries import adjusted
from benchlab.analysis.verdict.estimates import LEAST_ROUNDS
from benchlab.analysis.verdict.exact import exact
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.variances import (
    Squares,
    by_workload,
    estimated,
    percent,
    squares,
    together,
)
from benchlab.arrays import Array, np, special
from benchlab.plan.metric import Metric

LEVEL = 0.025
_LEAST_CORRELATION, _BY_CHANCE = 0.7, 0.01
# The least change of a count that does not vary, as a logarithm.
_EXACTLY = math.log(1.01)


@dataclass(frozen=True)
class CountChange:
    """By how much one count differs between the sides.

    Attributes:
        before, after: what a query takes on each side: means over thread counts of geometric means.
        change: ln(candidate / baseline), infinite where one side has none.
        least: the least that the 95 % interval allows, without its sign.
        p_value: of no change; 0 where the count is compared exactly.
    """

    metric: Metric
    before: float
    after: float
    change: float
    least: float
    p_value: float

    @property
    def pct(self) -> float | None:
        """The change in percent; None where a side has none."""
        return percent(self.change) if math.isfinite(self.change) else None


@dataclass(frozen=True)
class Cluster:
    """Counts that go together.

    Attributes:
        leading: the one that moved most clearly.
        others: those others whose own 95 % interval leaves out zero.
        p_value: of no change in any of its counts.
    """

    leading: CountChange
    others: tuple[CountChange, ...]
    p_value: float


@dataclass(frozen=True)
class Ranked:
    """What moved with a change of a workload.

    Attributes:
        counts: how many could be compared.
        clusters: those that moved, in order.
    """

    counts: int
    clusters: tuple[Cluster, ...]

    @property
    def moved(self) -> int:
        """How many counts these clusters name."""
        return sum(1 + len(cluster.others) for cluster in self.clusters)


@dataclass(frozen=True)
class _Varying:
    """A count that varies.

    Attributes:
        before, after: as in :class:`CountChange`.
        deployments: its log ratios, of shape (complete rounds, thread counts compared).
    """

    metric: Metric
    before: float
    after: float
    deployments: Sequence[Array]


def ranked(rounds: Rounds) -> Ranked:
    """Rank the counts of a workload.

    Args:
        rounds: every count, as metrics of the family ``count``.

    Example:
        ``ranked(rounds).clusters[0].leading.metric.name`` is ``"rows_read"``.
    """
    fixed: list[CountChange] = []
    varying: list[_Varying] = []
    for metric in rounds.metrics:
        if same := exact(_without_traces(rounds.values[metric.name], metric.floor)):
            least = abs(same.change)
            fixed.append(CountChange(metric, same.before, same.after, same.change, least, 0.0))
        elif found := _varying(replace(rounds, metrics=(metric,))):
            varying.append(found)
    moved = [
        *(Cluster(one, (), 0.0) for one in fixed if one.least >= _EXACTLY),
        *_rejected(_clusters(rounds, _tested(varying))),
    ]
    moved.sort(key=lambda one: (one.leading.metric.of_load, -one.leading.least))
    return Ranked(len(fixed) + len(varying), tuple(moved))


def _without_traces(values: Array, floor: float) -> Array:
    """The values, with none on a side that has hardly any, where the other one has ten times more.

    What reads the counters is counted as well: it scans a table where queries scan none.
    """
    most, least = (
        of(np.where(np.isfinite(values), values, empty), axis=(0, 1))
        for of, empty in ((np.max, 0.0), (np.min, np.inf))
    )
    traces = (most < floor) & (least[::-1] >= 10 * floor)
    return np.asarray(np.where(traces & np.isfinite(values), 0.0, values))


def _varying(rounds: Rounds) -> _Varying | None:
    """The only count of these rounds; None where too few of them are complete."""
    (metric,) = rounds.metrics
    complete = np.isfinite(rounds.by_round(metric.name))
    if complete.sum() < LEAST_ROUNDS:
        return None
    columns = [rounds.threads.index(count) for count in rounds.compared(metric.name)]
    logs = np.log(rounds.values[metric.name][complete][:, columns])
    before, after = np.exp(logs.mean(axis=0)).mean(axis=0).tolist()
    return _Varying(metric, before, after, rounds.ratios_by_deployment(metric.name))


def _tested(found: Sequence[_Varying]) -> list[CountChange]:
    """The counts, each by itself."""
    if not found:
        return []
    shown = estimated(
        by_workload([_squares(one.deployments) for one in found]),
        by_workload([together(())] * len(found)),
        np.array([float(len(one.deployments)) for one in found]),
        prior=np.array([2 * one.metric.side_sd**2 for one in found]),
    )
    changes = []
    for place, one in enumerate(found):
        estimate = shown.about_versions(place, one.deployments)
        low, high = estimate.interval(0.95)
        least = max(low, -high, 0.0)
        changes.append(
            CountChange(one.metric, one.before, one.after, estimate.mean, least, estimate.p_value)
        )
    return changes


def _squares(deployments: Sequence[Array]) -> Squares:
    """The squares of a count, with those within deployments of single thread counts.

    Few rounds may be alike by chance. Thread counts show as well how much a round varies, but less
    where something varies alike in all of them: the larger of both variances is taken. That of a
    round is the one of a thread count over their number.
    """
    own, threads = squares([rounds.mean(axis=1) for rounds in deployments]), deployments[0].shape[1]
    apart = sum(float(((rounds - rounds.mean(axis=0)) ** 2).sum()) for rounds in deployments)
    return replace(
        own,
        within=np.maximum(own.within * threads, apart / threads),
        within_df=own.within_df * threads,
    )


def _clusters(rounds: Rounds, changes: Sequence[CountChange]) -> list[Cluster]:
    """The counts that vary, in clusters of those that go together."""
    found, limit = [], _limit(2 * len(rounds.threads) * (len(rounds.rounds) - 1))
    for of_load in (False, True):
        own = [one for one in changes if one.metric.of_load == of_load]
        labels = _labels(np.array([_residuals(rounds, one.metric) for one in own]), limit)
        for label in dict.fromkeys(labels):
            members = [one for one, its in zip(own, labels, strict=True) if its == label]
            members.sort(key=lambda one: (-one.least, one.p_value))
            others = tuple(one for one in members[1:] if one.least)
            found.append(Cluster(members[0], others, _simes(members)))
    return found


def _residuals(rounds: Rounds, metric: Metric) -> Array:
    """A count's logarithms about the mean of their side and thread count; missing ones are 0."""
    values = rounds.values[metric.name]
    there = values > 0
    logs = np.log(np.where(there, values, 1))
    means = logs.sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.asarray(np.where(there, logs - means, 0).ravel())


def _labels(residuals: Array, limit: float) -> list[int]:
    """The number of each row's cluster."""
    if len(residuals) < 2:
        return [1] * len(residuals)
    from scipy.cluster.hierarchy import fcluster, linkage  # half a second that only reports need

    lengths = np.sqrt((residuals**2).sum(axis=1, keepdims=True))
    units = residuals / np.where(lengths > 0, lengths, 1)
    apart = 1 - np.clip(np.abs(units @ units.T), 0, 1)
    linked = linkage(apart[np.triu_indices(len(apart), 1)], "average")
    found = fcluster(linked, 1 - limit, "distance")
    return [int(label) for label in found]


def _limit(df: int) -> float:
    """The least correlation within a cluster, where residuals have so many degrees of freedom."""
    t = float(special.stdtrit(df - 1, 1 - _BY_CHANCE / 2))
    return max(_LEAST_CORRELATION, t / math.sqrt(t * t + df - 1))


def _simes(members: Sequence[CountChange]) -> float:
    ordered = sorted(one.p_value for one in members)
    return min(p * len(ordered) / rank for rank, p in enumerate(ordered, start=1))


def _rejected(clusters: Sequence[Cluster]) -> list[Cluster]:
    """Those that moved by more than chance, with false ones among them in LEVEL on average."""
    q_values = adjusted([one.p_value * len(clusters) for one in clusters])
    return [one for one, q in zip(clusters, q_values, strict=True) if q <= LEVEL]
