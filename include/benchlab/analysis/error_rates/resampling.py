"""Shows how often the rule errs, by judging many campaigns resampled from a few A/A campaigns.

* A round is drawn with all its workloads: log ratios d of the pool, less their campaign's mean
  (times sqrt(n / (n - 1)), so that they scatter as much as before), with a random sign: in an A/A
  campaign the sides could as well have been named the other way round.
* A few rounds drawn with replacement are often the same ones, and then scatter less than real ones
  do. So some noise is added to each, and the sum is shrunk to the variance before: the smoothed
  bootstrap with shrinkage (Silverman and Young 1987), its bandwidth by the normal reference rule
  h = 1.06 M^(-1/5) for M rounds (Silverman 1986, section 3.4.2).
* Every resampled campaign is a deployment of its own. What that adds to its workloads is normal,
  with the variance that the A/A campaigns and the prior show together
  (:func:`benchlab.analysis.verdict.variances.deployment_variance`), and correlated between
  workloads as in the A/A campaigns.

In an A/A campaign nothing differs, so any change that the rule of
:mod:`benchlab.analysis.verdict.decision` reports is a false alarm. If the candidate is slowed down
by a known amount, any verdict other than a regression is a miss. All trials are assumed to be
present and without symptoms: `unstable` verdicts do not depend on noise and are not simulated.

Campaigns are judged thousands at a time, as arrays: :func:`changed` takes the variances of the rule
itself, and adjusts over workloads as Holm does; a test checks that both give the same verdicts. For
each campaign the smallest slowdown that the rule would have found follows without a search
(:func:`found_from`). So power is a share of campaigns: it never falls as the slowdown grows, and
rests on the same random numbers for all slowdowns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchlab.analysis.verdict.decision import level
from benchlab.analysis.verdict.estimates import LEAST_ROUNDS, Calibration
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.variances import Squares, by_workload, deployment_variance, estimated
from benchlab.arrays import Array, np, special

RESAMPLES = 20_000
# Limits memory and time for campaigns with very many rounds.
_MOST_VALUES = 4_000_000
_FEWEST_RESAMPLES = 500
_SEED = 20210401


@dataclass(frozen=True)
class NoiseModel:
    """What A/A campaigns show about one metric, as log ratios.

    Attributes:
        workloads: those with two complete rounds in a campaign.
        residuals: of the rounds, of shape (rounds, workloads).
        left_out: how many rounds were complete for only some of the workloads.
        deployments: the campaigns' estimates, of shape (campaigns, workloads).
        known: what calibrating A/A campaigns show about deployments, over the workloads.
        coarseness: variance that coarsely printed latencies add to an estimate, by workload.
        level: what the metric's family may err, in a report of all its families.
    """

    less_is_better: bool
    workloads: tuple[str, ...]
    residuals: Array
    left_out: int
    deployments: Array
    known: Squares
    coarseness: Array
    level: float

    @property
    def round_variances(self) -> Array:
        """The variance of a round's log ratio within a deployment, by workload."""
        return np.asarray((self.residuals**2).mean(axis=0))


@dataclass(frozen=True)
class Resampled:
    """Resampled campaigns, all with the same number of rounds.

    Attributes:
        means: of the rounds' log ratios, of shape (campaigns, workloads).
        variances: of these means, from the rounds of each campaign.
        deployments: what its deployment adds to each of the means.
    """

    rounds: int
    means: Array
    variances: Array
    deployments: Array


def noise_of(
    campaigns: Mapping[str, Sequence[Rounds]], kind: str, calibration: Calibration
) -> NoiseModel:
    """Pool the rounds of A/A campaigns.

    Example:
        ``noise_of(alike, "throughput", calibrate(independent)).round_variances``

    Args:
        campaigns: by id; a workload has the same thread counts in all of them.
    """
    in_order = [campaigns[id_] for id_ in sorted(campaigns)]
    first: dict[str, Rounds] = {}
    for campaign in in_order:
        for rounds in campaign:
            if kind in rounds.kinds and np.isfinite(rounds.by_round(kind)).sum() >= 2:
                first.setdefault(rounds.workload, rounds)
    pooled, estimates, left_out = [], [], 0
    for campaign in in_order:
        d = _log_ratios(campaign, tuple(first), kind)
        whole = np.isfinite(d).all(axis=1)
        left_out += int((np.isfinite(d).any(axis=1) & ~whole).sum())
        if first and (n := int(whole.sum())) >= 2:
            mean = d[whole].mean(axis=0)
            pooled.append((d[whole] - mean) * (n / (n - 1)) ** 0.5)
            estimates.append(mean)
    empty = np.empty((0, len(first)))
    metrics = [metric for rounds in first.values() for metric in rounds.metrics]
    shown = list(first.values()) if pooled else []
    return NoiseModel(
        less_is_better=any(one.less_is_better and one.family == kind for one in metrics),
        workloads=tuple(first) if pooled else (),
        residuals=np.concatenate(pooled) if pooled else empty[:, :0],
        left_out=left_out,
        deployments=np.array(estimates) if estimates else empty[:, :0],
        known=by_workload([calibration.squares(rounds, kind) for rounds in shown]),
        coarseness=np.array([rounds.coarseness(kind) for rounds in shown]),
        level=level(metrics, kind) if metrics else 0.0,
    )


def resample(noise: NoiseModel, rounds: int) -> Resampled:
    """Resample campaigns of ``rounds`` rounds; the same noise always gives the same ones."""
    pool, width = noise.residuals, len(noise.workloads)
    size = (max(_FEWEST_RESAMPLES, min(RESAMPLES, _MOST_VALUES // (rounds * width))), rounds)
    random = np.random.default_rng((_SEED, rounds))
    d = pool[random.integers(len(pool), size=size)]
    d *= random.choice((-1.0, 1.0), size=(*size, 1))
    bandwidth = 1.06 * len(pool) ** -0.2
    d += bandwidth * _normal_like(pool, size, random)
    d /= (1 + bandwidth**2) ** 0.5
    spread = np.sqrt(deployment_variance(noise.known))
    return Resampled(
        rounds=rounds,
        means=d.mean(axis=1),
        variances=d.var(axis=1, ddof=1) / rounds,
        deployments=spread * _normal_like(_unit(noise.deployments), size[:1], random),
    )


def _log_ratios(campaign: Sequence[Rounds], workloads: Sequence[str], kind: str) -> Array:
    """The log ratios of a campaign, of shape (rounds, workloads); NaN where a round is missing."""
    by_name = {rounds.workload: rounds for rounds in campaign}
    count = max((len(rounds.rounds) for rounds in campaign), default=0)
    d = np.full((count, len(workloads)), np.nan)
    for column, name in enumerate(workloads):
        if name in by_name:
            d[:, column] = by_name[name].by_round(kind)
    return d


def _normal_like(rows: Array, size: tuple[int, ...], random: np.random.Generator) -> Array:
    """Normal draws about zero with the second moments of ``rows``, of shape (size, columns)."""
    _, strengths, directions = np.linalg.svd(rows, full_matrices=False)
    factor = strengths[:, None] * directions / len(rows) ** 0.5
    return np.asarray(random.standard_normal((*size, len(factor))) @ factor)


def _unit(rows: Array) -> Array:
    """Rows with a second moment of one in every column that is not all zero."""
    size = np.sqrt((rows**2).mean(axis=0))
    return np.asarray(rows / np.where(size > 0, size, 1))


# Judging them

POWER = 0.8
MOST_CHANGE_PCT = 50.0
"""A rule that does not find even this slowdown is reported to find none."""


@dataclass(frozen=True)
class SimulatedRates:
    """How the rule decided resampled campaigns.

    Attributes:
        false_alarms: the number of campaigns with a false alarm, by workload.
        any_false_alarm: the number of campaigns with a false alarm in any workload.
        found: by workload, for each campaign the smallest slowdown that is called a regression, in
            percent (:func:`found_from`).
        smallest: the smallest slowdown found in 80 % of campaigns, in percent, by workload; None
            where not even :data:`MOST_CHANGE_PCT` is found that often.
    """

    campaigns: int
    false_alarms: dict[str, int]
    any_false_alarm: int
    found: dict[str, Array]
    smallest: dict[str, float | None]


def outcome(noise: NoiseModel, rounds: int, threshold_pct: float) -> SimulatedRates | None:
    """Resample and judge many campaigns of ``rounds`` rounds.

    Example:
        ``outcome(noise, 6, 2.0).smallest["oltp_insert"]`` is 3.1: a slowdown of 3.1 % is found.

    Returns:
        None with too few rounds, or no noise known: nothing is ever called a change.
    """
    if rounds < LEAST_ROUNDS or not noise.workloads:
        return None
    made = resample(noise, rounds)
    alarms = changed(made, noise, threshold_pct)
    found = found_from(made, noise, threshold_pct)
    return SimulatedRates(
        campaigns=len(alarms),
        false_alarms=dict(zip(noise.workloads, alarms.sum(axis=0).tolist(), strict=True)),
        any_false_alarm=int(alarms.any(axis=1).sum()),
        found=dict(zip(noise.workloads, found.T, strict=True)),
        smallest=dict(zip(noise.workloads, smallest(found), strict=True)),
    )


def changed(made: Resampled, noise: NoiseModel, threshold_pct: float) -> Array:
    """Which workloads are called a change: booleans of shape (campaigns, workloads)."""
    means = made.means + made.deployments
    p = _p_values(means, *_variances(made, noise))
    order = np.argsort(p, axis=1)
    steps = np.arange(p.shape[1], 0, -1)
    adjusted = np.maximum.accumulate(np.take_along_axis(p, order, axis=1) * steps, axis=1)
    significant = np.empty(p.shape, dtype=bool)
    np.put_along_axis(significant, order, adjusted < noise.level, axis=1)
    return np.asarray(significant & (abs(100 * np.expm1(means)) >= threshold_pct))


def found_from(made: Resampled, noise: NoiseModel, threshold_pct: float) -> Array:
    """The smallest slowdown of each workload that is called a regression, in percent.

    A workload is slowed down as if it alone had changed: less throughput, or a longer p95 latency.
    The p values of the others decide Holm's step for it: if the n smallest of them are significant
    without it, its own has to be below the family's level / (workloads - n).

    Returns:
        Of shape (campaigns, workloads).
    """
    direction = 1.0 if noise.less_is_better else -1.0
    means = made.means + made.deployments
    variances, df = _variances(made, noise)
    p = _p_values(means, variances, df)
    width = p.shape[1]
    # By Holm over the others: how many of them come before any workload that is left.
    steps = np.arange(width, 1, -1)
    limit = np.empty(p.shape)
    for column in range(width):
        others = np.sort(np.delete(p, column, axis=1), axis=1)
        before = np.logical_and.accumulate(others * steps < noise.level, axis=1).sum(axis=1)
        limit[:, column] = noise.level / (width - before)
    significant = special.stdtrit(df, 1 - limit / 2) * np.sqrt(variances)
    needed = np.maximum(significant, abs(np.log1p(direction * threshold_pct / 100)))
    return np.asarray(100 * abs(np.expm1(direction * np.maximum(needed - direction * means, 0))))


def smallest(found: Array) -> list[float | None]:
    """The smallest slowdown that is found in 80 % of campaigns, in percent, by workload.

    ``found`` is the result of :func:`found_from`. None where not even :data:`MOST_CHANGE_PCT` is
    found that often.
    """
    # Of the slowdowns in order, the one at which the share is reached.
    values = np.quantile(found, POWER, axis=0, method="inverted_cdf").tolist()
    return [value if value <= MOST_CHANGE_PCT else None for value in values]


def power(found: Array, slowdowns_pct: Sequence[float]) -> list[float]:
    """The share of campaigns that find each slowdown.

    Example:
        ``power(np.array([1.5, 3.0]), [1, 2, 4])`` is ``[0.0, 0.5, 1.0]``.

    Args:
        found: of one workload, of shape (campaigns,).
    """
    counts = np.searchsorted(np.sort(found), slowdowns_pct, side="right")
    return [float(share) for share in counts / len(found)]


def share_ci95(count: int, of: int) -> tuple[float, float]:
    """The exact 95 % interval of a share (Clopper and Pearson 1934).

    Example:
        ``share_ci95(5, 100)`` is about (0.016, 0.113).
    """
    low = float(special.betaincinv(count, of - count + 1, 0.025)) if count else 0.0
    high = float(special.betaincinv(count + 1, of - count, 0.975)) if count < of else 1.0
    return low, high


def _variances(made: Resampled, noise: NoiseModel) -> tuple[Array, Array]:
    """Variances of the means, with degrees of freedom, as the rule estimates them."""
    nothing = np.zeros(made.variances.shape[-1])
    own = Squares(
        within=made.variances * made.rounds * (made.rounds - 1),
        within_df=nothing + made.rounds - 1,
        between=nothing,
        between_df=nothing,
        inverse_rounds=nothing + 1 / made.rounds,
    )
    found = estimated(own, noise.known, nothing + 1, noise.coarseness)
    return found.versions, found.versions_df


def _p_values(means: Array, variances: Array, df: Array) -> Array:
    return np.asarray(2 * special.stdtr(df, -abs(means) / np.sqrt(variances)))
