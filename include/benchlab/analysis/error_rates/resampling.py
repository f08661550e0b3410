"""Many campaigns made from the rounds of a few A/A campaigns.

* A round is drawn with its workloads together: log ratios d of the pool, less their campaign's mean
  (times sqrt(n / (n - 1)), so that they scatter as much as before), with a random sign: in an A/A
  campaign the sides could as well have been named the other way round.
* Few rounds drawn with replacement are often the same ones, and then seem to scatter less than any
  real ones. So some noise is added to each, and the sum is shrunk to the variance before: the
  smoothed bootstrap with shrinkage (Silverman and Young 1987), its bandwidth the normal reference
  rule h = 1.06 M^(-1/5) for M rounds (Silverman 1986, section 3.4.2).
* Every campaign made is a deployment of its own: what that adds to its workloads is normal, with
  the
  variance that the A/A campaigns and the prior show together
  (:func:`benchlab.analysis.verdict.variances.deployment_variance`), and correlated between
  workloads as in the A/A campaigns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchlab.analysis.verdict.estimates import Calibration
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.variances import Squares, by_workload, deployment_variance
from benchlab.arrays import Array, np

RESAMPLES = 20_000
# Limits memory and time for campaigns with very many rounds.
_MOST_VALUES = 4_000_000
_FEWEST_RESAMPLES = 500
_SEED = 20210401


@dataclass(frozen=True)
class NoiseModel:
    """What A/A campaigns show of one metric, as log ratios.

    Attributes:
        workloads: those with two complete rounds in a campaign.
        residuals: of the rounds, of shape (rounds, workloads).
        left_out: rounds that were complete for some of the workloads only.
        deployments: what the campaigns' estimates were, of shape (campaigns, workloads).
        coarseness: what coarsely printed latencies add to the variance of an estimate, by workload.
    """

    less_is_better: bool
    workloads: tuple[str, ...]
    residuals: Array
    left_out: int
    deployments: Array
    known: Squares
    coarseness: Array

    @property
    def round_variances(self) -> Array:
        """Variance of a round's log ratio within a deployment, by workload."""
        return np.asarray((self.residuals**2).mean(axis=0))


@dataclass(frozen=True)
class Resampled:
    """Campaigns that were made, all of the same rounds.

    Attributes:
        means: of the rounds' log ratios, of shape (campaigns, workloads).
        variances: of these means, as the rounds of each campaign show them.
        deployments: what each deployment adds to the means.
    """

    rounds: int
    means: Array
    variances: Array
    deployments: Array


def noise_of(
    campaigns: Mapping[str, Sequence[Rounds]], kind: str, calibration: Calibration
) -> NoiseModel:
    """Pool the rounds of A/A campaigns.

    Args:
        campaigns: by id; a workload has the same thread counts in all of them.

    Example:
        ``noise_of(alike, "throughput", calibrate(independent)).round_variances``
    """
    in_order = [campaigns[id_] for id_ in sorted(campaigns)]
    first: dict[str, Rounds] = {}
    for campaign in in_order:
        for rounds in campaign:
            if np.isfinite(rounds.by_round(kind)).sum() >= 2:
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
    shown = list(first.values()) if pooled else []
    return NoiseModel(
        less_is_better=any(
            metric.less_is_better and metric.family == kind
            for rounds in first.values()
            for metric in rounds.metrics
        ),
        workloads=tuple(first) if pooled else (),
        residuals=np.concatenate(pooled) if pooled else empty[:, :0],
        left_out=left_out,
        deployments=np.array(estimates) if estimates else empty[:, :0],
        known=by_workload([calibration.squares(rounds, kind) for rounds in shown]),
        coarseness=np.array([rounds.coarseness(kind).value for rounds in shown]),
    )


def resample(noise: NoiseModel, rounds: int) -> Resampled:
    """Make campaigns of ``rounds`` rounds; the same noise always gives the same ones."""
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
    """Of shape (rounds, workloads); NaN where a round is missing."""
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
