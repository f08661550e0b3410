"""How often the decision rule errs, and how small a change it finds, by the noise of A/A campaigns.

The rule of :mod:`benchlab.analysis.verdict.decision` judges the campaigns of
:mod:`benchlab.analysis.error_rates.resampling`. In an A/A campaign nothing differs, so any change
that the rule reports is a false alarm. If the candidate is slowed down by a known amount, any
verdict other than a regression is a miss. All trials are assumed to be present and without
symptoms: `unstable` verdicts do not depend on noise and are not simulated.

Campaigns are judged thousands at a time, as arrays: :func:`changed` takes the variances of the rule
itself, and counts workloads as Holm does; a test checks that both give the same verdicts. For each
campaign the smallest slowdown that the rule would have found follows without a search
(:func:`found_from`), so that power is a
share of campaigns: it never falls as the slowdown grows, and rests on the same random numbers for
all slowdowns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.analysis.error_rates.resampling import NoiseModel, Resampled, resample
from benchlab.analysis.verdict.decision import ALPHA
from benchlab.analysis.verdict.variances import Squares, estimated
from benchlab.arrays import Array, np, special

POWER = 0.8
MOST_CHANGE_PCT = 50.0
"""A rule that does not even find this slowdown is said to find none."""


@dataclass(frozen=True)
class SimulatedRates:
    """What the rule made of resampled campaigns.

    Attributes:
        false_alarms: in how many of them a workload was called a change, by workload.
        any_false_alarm: in how many of them any workload was.
        found: by workload, for each campaign the slowdown from which on it is called a regression,
            in percent (:func:`found_from`).
        smallest: the smallest slowdown that is found in 80 % of them, in percent, by workload;
            None where not even :data:`MOST_CHANGE_PCT` is found so often.
    """

    campaigns: int
    false_alarms: dict[str, int]
    any_false_alarm: int
    found: dict[str, Array]
    smallest: dict[str, float | None]


def outcome(noise: NoiseModel, rounds: int, threshold_pct: float) -> SimulatedRates | None:
    """Judge many campaigns of ``rounds`` rounds.

    Returns:
        None with one round, or no noise known: nothing is ever called a change.

    Example:
        ``outcome(noise, 6, 2.0).smallest["oltp_insert"]`` is 3.1: a slowdown of 3.1 % is found.
    """
    if rounds < 2 or not noise.workloads:
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
    """Which are called a change: booleans of shape (campaigns, workloads)."""
    means = made.means + made.deployments
    p = _p_values(means, *_variances(made, noise))
    order = np.argsort(p, axis=1)
    steps = np.arange(p.shape[1], 0, -1)
    adjusted = np.maximum.accumulate(np.take_along_axis(p, order, axis=1) * steps, axis=1)
    significant = np.empty(p.shape, dtype=bool)
    np.put_along_axis(significant, order, adjusted < ALPHA, axis=1)
    return np.asarray(significant & (abs(100 * np.expm1(means)) >= threshold_pct))


def found_from(made: Resampled, noise: NoiseModel, threshold_pct: float) -> Array:
    """The slowdown from which on each workload of each campaign is called a regression, in percent.

    A workload is slowed down as if it alone had changed: less throughput, or a longer p95 latency.
    The p values of the others decide which of Holm's steps it takes: if the n smallest of them are
    significant without it, its own has to be below alpha / (workloads - n).

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
    level = np.empty(p.shape)
    for column in range(width):
        others = np.sort(np.delete(p, column, axis=1), axis=1)
        before = np.logical_and.accumulate(others * steps < ALPHA, axis=1).sum(axis=1)
        level[:, column] = ALPHA / (width - before)
    significant = special.stdtrit(df, 1 - level / 2) * np.sqrt(variances)
    needed = np.maximum(significant, abs(np.log1p(direction * threshold_pct / 100)))
    return np.asarray(100 * abs(np.expm1(direction * np.maximum(needed - direction * means, 0))))


def smallest(found: Array) -> list[float | None]:
    """The smallest slowdown that is found in 80 % of campaigns, in percent, by workload.

    ``found`` is what :func:`found_from` gives. None where not even :data:`MOST_CHANGE_PCT` is found
    so often.
    """
    # The sorted slowdown at which the share is reached.
    values = np.quantile(found, POWER, axis=0, method="inverted_cdf").tolist()
    return [value if value <= MOST_CHANGE_PCT else None for value in values]


def power(found: Array, slowdowns_pct: Sequence[float]) -> list[float]:
    """The share of campaigns that find each slowdown.

    ``found``: of one workload, of shape (campaigns,).
    """
    counts = np.searchsorted(np.sort(found), slowdowns_pct, side="right")
    return [float(share) for share in counts / len(found)]


def share_ci95(count: int, of: int) -> tuple[float, float]:
    """The exact 95 % interval of a share (Clopper and Pearson 1934)."""
    low = float(special.betaincinv(count, of - count + 1, 0.025)) if count else 0.0
    high = float(special.betaincinv(count + 1, of - count, 0.975)) if count < of else 1.0
    return low, high


def _variances(made: Resampled, noise: NoiseModel) -> tuple[Array, Array]:
    """Variances of the means with their degrees of freedom, as the rule has them."""
    nothing = np.zeros(made.variances.shape[-1])
    own = Squares(
        within=made.variances * made.rounds * (made.rounds - 1),
        within_df=nothing + made.rounds - 1,
        between=nothing,
        between_df=nothing,
        inverse_rounds=nothing + 1 / made.rounds,
    )
    found = estimated(own, noise.known, nothing + 1)
    total = found.versions + noise.coarseness
    return total, total**2 / (found.versions**2 / found.versions_df)


def _p_values(means: Array, variances: Array, df: Array) -> Array:
    return np.asarray(2 * special.stdtr(df, -abs(means) / np.sqrt(variances)))
