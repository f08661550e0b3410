"""Finds the cheapest deployments and rounds that show a change, before anything is measured.

Of D deployments with n rounds each, a workload's estimate has the variance (tau^2 + s^2 / n) / D. A
change is found where the estimate is at least the threshold and

    t(1 - a / (2 W), df) * standard error

away from zero: the t test at the first of Holm's steps for W workloads (Cohen 1988), a being what
their family may err (:func:`benchlab.analysis.verdict.decision.level`). The rule's
standard error and degrees of freedom are those of :mod:`benchlab.analysis.verdict.variances`. The
variances that a campaign shows are random, more so the fewer deployments it has: they are drawn a
few hundred times, from chi-square distributions, and the share found is the mean over these draws.
The cheapest plan repeats at the highest level that varies: with a deployment that costs c_D and a
round c_R, n = sqrt(c_D / c_R * s^2 / tau^2) rounds for each deployment (Kalibera and Jones 2013,
section 6.2).

The variance of a round's log ratio, within one deployment and with trials of T seconds, is modelled
as

    var(d_r) = part / T + rest

* `part` is noise within the trials, which averages out in longer ones. The series of the trials
  show it: the mean over T seconds of a stationary series has variance L / T for large T, where L is
  its long-run variance, which allows for the correlation of neighbouring intervals. L is estimated
  by batch means (Law and Kelton, Simulation Modeling and Analysis, 9.5.3) with batches of sqrt(n)
  of the n intervals. As the metric enters by its logarithm, L is divided by the squared mean of the
  series. d_r is the mean over thread counts of a difference of two such logarithms, so that
  part = sum of L over thread counts and sides / (number of thread counts)^2.
* `rest` is what differs between trials but not within them: restored data, warm caches, background
  load. Longer trials do not reduce it. Where the series happen to explain more than the rounds
  show, `rest` is zero; shorter trials then add all that the series say.

Where series are missing, longer trials are assumed not to help (all of the variance counts as
`rest`), and shorter ones to have all of the noise within them (`part`).

The deployment variance does not shrink with T.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchlab.analysis.verdict.decision import ALPHA
from benchlab.analysis.verdict.estimates import LEAST_ROUNDS
from benchlab.analysis.verdict.variances import (
    PRIOR_VARIANCE,
    Squares,
    deployment_variance,
    estimated,
    percent,
    round_variance,
)
from benchlab.arrays import Array, np, special

MOST_DEPLOYMENTS = 20
ROUNDS = (*range(LEAST_ROUNDS, 11), 12, 14, 16, 20, 24, 28, 32, 40, 50, 64, 80, 100)
"""The numbers of rounds that are tried of a single deployment."""
_POWER = 0.8
_DRAWS, _HALVINGS = 400, 30
_SEED = 20280101


@dataclass(frozen=True)
class Noise:
    """What is known about the noise of a campaign's workloads before it runs.

    Attributes:
        rounds: variance of a round's log ratio within a deployment, by workload.
        shown: what earlier campaigns show about deployments; zeros where there are none.
        known: of A/A campaigns, and ``earlier``: of campaigns that compared two versions: the parts
            of that which its verdicts will use.
        level: what a metric may err, in a report of all its families.
        prior: the deployment variance where nothing is known of the metric's.
    """

    rounds: Sequence[float]
    shown: Squares
    known: Squares
    level: float = ALPHA
    prior: float = PRIOR_VARIANCE
    earlier: Squares | None = None

    @property
    def deployments(self) -> list[float]:
        """The variance of deployments, by workload."""
        found = deployment_variance(self.shown, at_least_own=True, prior=self.prior)
        return [float(variance) for variance in found]


def assumed(thread_counts: Sequence[int]) -> Noise:
    """The noise where nothing was measured: that of the published reports (docs/statistics.md).

    Args:
        thread_counts: how many each workload has.
    """
    nothing = np.zeros(len(thread_counts))
    none = Squares(nothing, nothing, nothing, nothing, nothing)
    return Noise([round_variance(count) for count in thread_counts], none, none)


def detectable_pct(noise: Noise, deployments: int, rounds: int, threshold_pct: float) -> float:
    """The smallest slowdown found in 80 % of campaigns, in every workload, in percent.

    The same arguments give the same figure.

    Example:
        ``detectable_pct(assumed([6] * 5), deployments=6, rounds=6, threshold_pct=2)`` is about 4.7.

    Args:
        rounds: of all deployments together, at least as many as a verdict needs.
    """
    s2, tau2 = np.array(noise.rounds), np.array(noise.deployments)
    each, nothing = rounds / deployments, np.zeros(len(noise.rounds))
    random = np.random.default_rng(_SEED)

    def drawn(variance: Array, df: int) -> Array:
        return variance * random.chisquare(df, (_DRAWS, len(s2))) if df else nothing

    own = Squares(
        within=drawn(s2, rounds - deployments),
        within_df=nothing + rounds - deployments,
        between=drawn(tau2 + s2 / each, deployments - 1),
        between_df=nothing + deployments - 1,
        inverse_rounds=nothing + 1 / each,
    )
    found = estimated(
        *(own, noise.known, nothing + deployments), prior=noise.prior, earlier=noise.earlier
    )
    test = special.stdtrit(found.versions_df, 1 - noise.level / (2 * len(s2)))
    test = test * np.sqrt(found.versions)
    needed = np.maximum(test, -math.log1p(-threshold_pct / 100))
    error = np.sqrt((tau2 + s2 / each) / deployments)
    least, most = nothing, needed.max(0) + 5 * error
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        enough = special.ndtr((middle - needed) / error).mean(0) >= _POWER
        least, most = np.where(enough, least, middle), np.where(enough, middle, most)
    return -percent(-float(most.max()))


def rounds_for_each(noise: Noise, deployment_cost: float, round_cost: float) -> int:
    """The cheapest number of rounds for each deployment, at least one.

    Example:
        3 where deployments vary as much as rounds and cost nine times as much.
    """
    from statistics import fmean

    tau2 = fmean(noise.deployments) or PRIOR_VARIANCE
    return max(1, round(math.sqrt(deployment_cost / round_cost * fmean(noise.rounds) / tau2)))


def settings(
    noise: Noise,
    wanted_pct: float,
    threshold_pct: float,
    deployment_cost: float,
    round_cost: float,
    *,
    several: bool = True,
) -> Iterator[tuple[int, int]]:
    """Numbers of deployments, and of rounds in all, that find a slowdown; the cheapest first.

    Example:
        ``next(settings(assumed([6] * 5), 4, 2, deployment_cost=60, round_cost=10))`` is (4, 12).

    Tries the best number of rounds for each deployment, one fewer and one more. Gives nothing if
    not even :data:`MOST_DEPLOYMENTS`, or the most :data:`ROUNDS` of a single one, find it.

    Args:
        wanted_pct: the slowdown to be found, in percent.
        deployment_cost, round_cost: in any unit, the same for both.
        several: whether a side can be deployed more than once.
    """
    ways = [[(1, rounds) for rounds in ROUNDS]]
    if several:
        best = rounds_for_each(noise, deployment_cost, round_cost)
        ways = [
            [
                (count, count * each)
                for count in range(1, MOST_DEPLOYMENTS + 1)
                if count * each >= LEAST_ROUNDS
            ]
            for each in {max(1, best - 1), best, best + 1}
        ]
    found = []
    for way in ways:
        finds = (one for one in way if detectable_pct(noise, *one, threshold_pct) <= wanted_pct)
        found += [one] if (one := next(finds, None)) else []
    yield from sorted(found, key=lambda one: one[0] * deployment_cost + one[1] * round_cost)


# Trials of another length

FEWEST_INTERVALS = 4
_LENGTHS = (0.25, 0.5, 1, 2, 4, 8)

Cell = tuple[int, str]
"""Thread count and side."""


@dataclass(frozen=True)
class RoundVariance:
    """The variance of one workload's log ratio in a round, by the length of its trials.

    Attributes:
        seconds: length of the trials that were measured.
        series: the part that noise within trials explains; None where series are missing.
    """

    seconds: int
    total: float
    series: float | None

    def at(self, seconds: int) -> float:
        """The variance with trials of another length; without series, a safe assumption."""
        is_longer = seconds > self.seconds
        part = self.series
        if part is None:  # longer trials do not help, and shorter ones have all of the noise
            part = 0.0 if is_longer else self.total
        part = min(part, self.total) if is_longer else part
        return self.total + part * (self.seconds / seconds - 1)


def long_run_variance(times: Sequence[float], values: Sequence[float]) -> float | None:
    """The long-run variance of a series divided by its squared mean, by batch means.

    Divided by T, it is the relative variance of a mean over T seconds.

    Example:
        ``long_run_variance([1, 2, 3, 4], [100, 110, 90, 100])`` is 0.01.

    Args:
        times: ends of the intervals of a series, in seconds.
        values: the throughput in each, in any unit.

    Returns:
        In seconds; None where the series is too short, or all zero.
    """
    count = len(values)
    if count < FEWEST_INTERVALS or not (mean := fmean(values)) > 0:
        return None
    interval = (times[-1] - times[0]) / (count - 1)
    length = int(count**0.5)
    # Values that fill no batch are left out at the head, where a series may still settle.
    batches = np.reshape(values[count % length :], (-1, length)).mean(axis=1)
    return float(batches.var(ddof=1)) * length * interval / mean**2


def explained(
    found: Mapping[Cell, Sequence[float]], threads: Sequence[int], seconds: int
) -> float | None:
    """The part of a round's variance that the noise within trials explains.

    Args:
        found: long-run variances of the trials of a workload, by thread count and side.

    Returns:
        None where a thread count has no series on a side.
    """
    cells = [found.get((count, side)) for count in threads for side in ("baseline", "candidate")]
    if not all(cells):
        return None
    return sum(fmean(variances) for variances in cells if variances) / len(threads) ** 2 / seconds


def lengths(variances: Sequence[RoundVariance]) -> list[int]:
    """The trial lengths to try, in seconds: without series, only the measured one."""
    measured = variances[0].seconds
    if any(variance.series is None for variance in variances):
        return [measured]
    return sorted({max(1, round(measured * factor)) for factor in _LENGTHS})
