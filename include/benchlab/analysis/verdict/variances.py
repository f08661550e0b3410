"""Each workload's estimate, and its variance from every source that shows it.

A deployment of both sides gives n rounds and so a mean x of n log ratios. With s^2 the variance of
a round within a deployment and tau^2 that of deployments, x has the variance

    U = tau^2 + s^2 / n

and the estimate, the mean of D deployments' means, has U / D. Four sources show a workload's U:

* the prior: where nothing is known, deploying a side is assumed to shift it by 1 % (standard
  deviation; a count by less: :attr:`Metric.side_sd`), as if that were known from 4 deployments.
  With the rounds' own s^2 the expected variance is U0 = 2 * 0.01^2 + s^2 / n. It has f0 degrees of
  freedom by Satterthwaite (1946), at most 8, so that observations soon outweigh it;
* the campaign's own deployments: sum of (x_j - mean)^2, D - 1 degrees of freedom;
* the N deployments of A/A campaigns: sum of x_k^2, N degrees of freedom. It is taken about zero,
  the true value there, so that a bias of one side is part of the variance. Where they had m rounds
  instead of n, their mean square is adjusted by s^2 (1/n - 1/m), which is known as precisely as s^2
  (Satterthwaite again);
* the D' deployments of each earlier campaign that compared two versions: sum of (x_k - mean)^2,
  D' - 1 degrees of freedom, adjusted alike. Only A/A campaigns show a bias of one side: where they
  scatter more (F test as below), the earlier ones' squares are multiplied by F.

Each sum is divided by its expectation, A = sum x^2 / U0, with f degrees of freedom of both kinds
together. The workloads of a campaign share a level L (an empirical Bayes estimate, as in Morris
1983; as A is relative, the noisiest workload does not dominate). Each of them takes L with a weight
d: the degrees of freedom by which the workloads' squares are alike (Smyth 2004), at most 16 and
those of L itself; f0 where nothing was seen.

    L = (mean f0 + sum of A) / (mean f0 + sum of f)
    U = U0 * max((d L + A) / (d + f), A / f),    d + f degrees of freedom.

Other workloads never make a workload's variance smaller: five squares cannot tell workloads that
are alike from those that are not, and the intervals of the noisiest would be too narrow.

s^2 is pooled over the rounds of the campaign and of the others. If those come from a quieter period
(F test at 10 % over all workloads: of their rounds' variances, then of their deployments' where the
campaign has several), their squares are multiplied by F before they count, with K / (K + M) of
their M degrees of freedom: F is known no better than by the K of the campaign. s^2 is moderated
over workloads as limma does (Smyth 2004: a scaled inverse chi-square prior by the moments of log
s^2), with a prior that weighs 2 degrees of freedom at most, never makes a workload's own variance
smaller, and counts for half its degrees of freedom, from three workloads on. Where no deployment
has two rounds, s^2 cannot be told from tau^2, and the moderated mean squares of the deployments are
used instead of U. Where s^2 / n alone gives a wider interval than U, at 95 % or at
the 90 % of equivalence, it is used: Satterthwaite's degrees of freedom are too many where few
rounds agree by chance.
docs/statistics.md says what each of these choices costs.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchlab.arrays import Array, NDArray, np, special

Key = TypeVar("Key", bound=Hashable)
PRIOR_SIDE_SD = 0.01
PRIOR_VARIANCE = 2 * PRIOR_SIDE_SD**2
"""Of the log ratio of two sides, each deployed once."""
PRIOR_DF = 4.0
# Of the published reports (docs/statistics.md), as logarithms: of a block, and of a cell.
_BLOCK_SD, _CELL_SD = 0.012, 0.017
_MOST_PRIOR_DF = 8.0
_MOST_ALIKE = 16.0
_MOST_MODERATION = 2.0
_FEWEST_ALIKE = 3
_QUIETER = 0.9
LEAST_SD = 1e-4
"""The least standard deviation of a log ratio: no client prints finer figures than this."""


@dataclass(frozen=True)
class Squares:
    """What deployments show: sums of squares of log ratios, and their degrees of freedom.

    Attributes:
        within: of rounds about the mean of their deployment.
        between: of the deployments' means: about their own mean, or about zero in A/A campaigns.
        inverse_rounds: mean of 1 / rounds over the deployments.

    Of one workload, or arrays with workloads as the last axis; degrees of freedom never have more
    than that axis.
    """

    within: Array
    within_df: Array
    between: Array
    between_df: Array
    inverse_rounds: Array


@dataclass(frozen=True)
class Estimated:
    """Variances with degrees of freedom, in the shape of the squares.

    Attributes:
        versions: of an estimate about the versions, from rounds and deployments.
        rounds: of the same from these deployments' rounds; NaN where no deployment has two.
        quieter: how much more the campaign scatters than the others, as a ratio of
            variances; 1 where that may be chance.
    """

    versions: Array
    versions_df: Array
    rounds: Array
    rounds_df: Array
    quieter: Array

    def about_versions(self, place: int, deployments: Sequence[Array]) -> Estimate:
        """The estimate at one place of the arrays, with its mean over deployments' means."""
        mean = float(np.mean([one.mean() for one in deployments]))
        variance = Variance(float(self.versions[place]), float(self.versions_df[place]))
        return Estimate(mean, variance)


def round_variance(thread_counts: int) -> float:
    """Of the log ratio of a round with so many thread counts, where nothing was measured."""
    return float(2 * (_BLOCK_SD**2 + _CELL_SD**2 / thread_counts))


def squares(deployments: Sequence[Array], *, about_zero: bool = False) -> Squares:
    """The squares of one workload, from the log ratios of its rounds, by deployment.

    Example:
        ``squares([np.array([0.01, 0.03])], about_zero=True)``: within 0.0002, between 0.0004.
    """
    means = np.array([rounds.mean() for rounds in deployments])
    center = 0.0 if about_zero else means.mean()
    return Squares(
        within=np.asarray(sum(((rounds - rounds.mean()) ** 2).sum() for rounds in deployments)),
        within_df=np.asarray(float(sum(len(rounds) - 1 for rounds in deployments))),
        between=np.asarray(((means - center) ** 2).sum()),
        between_df=np.asarray(float(len(means) - (not about_zero))),
        inverse_rounds=np.asarray(np.mean([1 / len(rounds) for rounds in deployments])),
    )


def together(found: Sequence[Squares]) -> Squares:
    """Squares, summed over campaigns; zeros if there are none."""

    def total(field: str) -> Array:
        return np.asarray(sum((getattr(one, field) for one in found), np.asarray(0.0)))

    count = total("between_df")
    inverse = sum((one.inverse_rounds * one.between_df for one in found), np.asarray(0.0))
    return Squares(
        within=total("within"),
        within_df=total("within_df"),
        between=total("between"),
        between_df=count,
        inverse_rounds=np.asarray(inverse / np.maximum(count, 1)),
    )


def by_workload(found: Sequence[Squares]) -> Squares:
    """The squares of several workloads, with an array over them for each field."""
    return Squares(
        *(
            np.array([float(getattr(one, name)) for one in found])
            for name in ("within", "within_df", "between", "between_df", "inverse_rounds")
        )
    )


def estimated(
    own: Squares,
    known: Squares,
    deployments: Array,
    coarseness: Array | float = 0.0,
    *,
    prior: Array | float = PRIOR_VARIANCE,
    earlier: Squares | None = None,
) -> Estimated:
    """The variances of the estimates of a campaign's workloads, by the formulas of the module.

    Args:
        own: of the campaign, with workloads as the last axis.
        known: of A/A campaigns, of the same workloads; zeros where there are none.
        deployments: of the campaign, by workload.
        coarseness: variance that coarse figures add to the estimates; known exactly.
        prior: the variance of deployments of both sides, where nothing is known; may be an array.
        earlier: of campaigns that compared two versions, about the mean of each.
    """
    if earlier is None:
        earlier = Squares(*map(np.zeros_like, vars(known).values()))
    others = together((known, earlier))
    within, df, quieter = _with(own.within, own.within_df, others.within, others.within_df)
    shown = own.within_df + others.within_df > 0
    s2, s2_df = moderated(within / np.where(shown, df, 1), df)
    expected, f0 = _expected(prior, s2 * own.inverse_rounds, s2_df)
    of_aa, of_versions = (
        _in_other_rounds(prior, one, quieter, own.inverse_rounds, s2, s2_df)
        for one in (known, earlier)
    )
    # Only A/A campaigns show what a side has on the other whatever is deployed.
    theirs, theirs_df, _ = _with(*of_aa, *of_versions)
    between, between_df, apart = _with(own.between, own.between_df, theirs, theirs_df)
    seen = shown & (own.between_df + others.between_df > 0)
    factor, factor_df = _shared(between / expected, between_df, f0, shown=shown, seen=seen)
    alone, moderated_df = moderated(between / np.where(between_df > 0, between_df, 1), between_df)
    own_s2, own_df = moderated(
        own.within / np.where(own.within_df > 0, own.within_df, 1), own.within_df
    )
    of_rounds = np.where(own.within_df > 0, 1.0, np.nan) * own.inverse_rounds / deployments
    rounds, rounds_df = _coarser(own_s2 * of_rounds, own_df, coarseness)
    least, least_df = _coarser(s2 * of_rounds, s2_df, coarseness)
    versions, versions_df = _coarser(
        np.where(shown, factor * expected, alone) / deployments,
        np.where(shown, factor_df, moderated_df),
        coarseness,
    )
    # Few rounds that agree by chance make the expected variance look better known than it is.
    narrower = _narrower(versions, versions_df, least, least_df)
    return Estimated(
        versions=np.where(narrower, least, versions),
        versions_df=np.where(narrower, least_df, versions_df),
        rounds=rounds,
        rounds_df=rounds_df,
        quieter=quieter * apart,
    )


def _with(own: Array, own_df: Array, others: Array, others_df: Array) -> tuple[Array, Array, Array]:
    """The sums of squares and of degrees of freedom, and how much larger the own ones are.

    Others that come from a quieter period are multiplied by that, which is known no better than by
    the own ones.
    """
    times = _quieter(own, own_df, others, others_df)
    mine, theirs = (one.sum(-1, keepdims=True) for one in np.broadcast_arrays(own_df, others_df))
    part = np.where(times > 1, mine / np.maximum(mine + theirs, 1), 1.0)
    return own + part * times * others, own_df + part * others_df, times


def _coarser(variance: Array, df: Array, coarseness: Array | float) -> tuple[Array, Array]:
    """A variance plus that of coarse figures, and its degrees of freedom by Satterthwaite."""
    total = variance + coarseness
    return total, df * (total / variance) ** 2


def _narrower(variance: Array, df: Array, least: Array, least_df: Array) -> Array:
    """Whether the interval at 95 % or the one of equivalence, at 90 %, is narrower than another."""
    narrower = (
        special.stdtrit(df, quantile) * np.sqrt(variance)
        < special.stdtrit(least_df, quantile) * np.sqrt(least)
        for quantile in (0.975, 0.95)
    )
    return np.logical_or(*narrower)


def _expected(prior: Array | float, of_rounds: Array, df: Array) -> tuple[Array, Array]:
    """U0 and its degrees of freedom, from s^2 / n and those of s^2."""
    expected = prior + of_rounds
    spread = prior**2 / PRIOR_DF + of_rounds**2 / df
    return expected, np.minimum(expected**2 / spread, _MOST_PRIOR_DF)


def _in_other_rounds(
    prior: Array | float,
    known: Squares,
    quieter: Array,
    inverse_rounds: Array,
    s2: Array,
    s2_df: Array,
) -> tuple[Array, Array]:
    """The squares of others, as if with this many rounds, and their degrees of freedom."""
    more = s2 * (inverse_rounds - known.inverse_rounds)
    square = quieter * known.between / np.maximum(known.between_df, 1) + more
    # Deployments differ at least by as much as their rounds make them differ.
    square = np.where(more < 0, np.maximum(square, s2 * inverse_rounds), square)
    theirs = prior + s2 * known.inverse_rounds
    spread = theirs**2 + known.between_df * more**2 / s2_df
    df = known.between_df * (theirs + more) ** 2 / spread
    return square * df, df


def _shared(
    squares: Array, df: Array, f0: Array, *, shown: NDArray[np.bool_], seen: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """U / U0 of each workload and its degrees of freedom, from what all of them show.

    Args:
        squares: sums of squares, divided by what was expected: A.
        shown: the workloads of which it is known what was expected.
        seen: those of them that have squares.
    """
    df = np.broadcast_to(df, squares.shape)
    prior = (f0 * shown).sum(-1, keepdims=True) / max(shown.sum(), 1)
    level_df = prior + (df * shown).sum(-1, keepdims=True)
    level = (prior + (squares * shown).sum(-1, keepdims=True)) / np.maximum(level_df, 1)
    weight, own = f0, squares / np.where(seen, df, 1)
    if seen.sum() > 1:
        ratios = np.maximum(own[..., seen], LEAST_SD**2)
        common, _ = alike(ratios, df[..., seen], _MOST_ALIKE)
        weight = np.where(seen, np.minimum(common, level_df), f0)
    return np.maximum((weight * level + squares) / (weight + df), own), weight + df


def deployment_variance(
    known: Squares, *, at_least_own: bool = False, prior: float = PRIOR_VARIANCE
) -> Array:
    """Each workload's deployment variance, for simulations.

    By the method of moments: (4 * level + sum of x^2 - N s^2 / n) / (4 + N), where the level is
    such an estimate from the prior and the other workloads.

    Args:
        at_least_own: whether it is at least what the workload's own squares show, as in intervals.
    """
    s2 = known.within / np.maximum(known.within_df, 1)
    count = known.between_df
    excess = known.between - count * s2 * known.inverse_rounds
    others = np.sum(excess, -1, keepdims=excess.ndim > 0) - excess
    others_count = np.sum(count, -1, keepdims=count.ndim > 0) - count
    level = np.maximum(PRIOR_DF * prior + others, 0) / (PRIOR_DF + others_count)
    shared = np.maximum(PRIOR_DF * level + excess, 0) / (PRIOR_DF + count)
    own = excess / np.maximum(count, 1)
    return np.asarray(np.maximum(shared, own) if at_least_own else shared)


def moderated(s2: Array, df: Array) -> tuple[Array, Array]:
    """Variances of a campaign's workloads, moderated, with their degrees of freedom (Smyth 2004).

    Args:
        s2: with workloads as the last axis.
        df: by workload; a variance with none is unchanged, with one degree of freedom.
    """
    s2 = np.maximum(s2, LEAST_SD**2)
    usable = np.broadcast_to(df > 0, s2.shape).reshape(-1, s2.shape[-1]).all(0)
    own_df = np.where(usable, df, 1.0)
    if usable.sum() < 2:
        return s2, own_df + np.zeros_like(s2)
    d0, s0 = alike(s2[..., usable], own_df[..., usable], _MOST_MODERATION)
    value = np.maximum(s2, (d0 * s0 + own_df * s2) / (d0 + own_df))
    # Two variances say too little about how alike they are.
    more = d0 / 2 * usable * (usable.sum() >= _FEWEST_ALIKE)
    return np.where(usable, value, s2), own_df + more


def alike(variances: Array, df: Array, most: float) -> tuple[Array, Array]:
    """How many degrees of freedom the workloads' variances have in common, and their mean log.

    Smyth (2004), section 6.2: with z = log s^2 - digamma(f / 2) + log(f / 2), the prior's degrees
    of freedom d0 solve trigamma(d0 / 2) = var(z) - mean(trigamma(f / 2)).

    Args:
        variances: of two workloads or more, as the last axis.
        most: of these degrees of freedom.
    """
    z = np.log(variances) - special.digamma(df / 2) + np.log(df / 2)
    excess = z.var(-1, ddof=1, keepdims=True) - special.polygamma(1, df / 2).mean(-1, keepdims=True)
    least = float(special.polygamma(1, most / 2))
    d0 = 2 * _inverse_trigamma(np.maximum(excess, least))
    s0 = np.exp(z.mean(-1, keepdims=True) + special.digamma(d0 / 2) - np.log(d0 / 2))
    return d0, np.asarray(s0)


def _inverse_trigamma(values: Array) -> Array:
    """Newton's method on 1 / trigamma, which is convex (Smyth 2004, appendix)."""
    found = 0.5 + 1 / values
    for _ in range(8):
        trigamma = special.polygamma(1, found)
        found = found + trigamma * (1 - trigamma / values) / special.polygamma(2, found)
    return found


def _quieter(own: Array, own_df: Array, known: Array, known_df: Array) -> Array:
    """How much larger mean squares are than those of others, or 1 where that may be chance.

    Args:
        own, known: sums of squares.
    """
    both = (own_df > 0) & (known_df > 0)
    least = np.maximum(known / np.where(both, known_df, 1), LEAST_SD**2)
    ratios = own / np.where(both, own_df, 1) / least * both
    ratio = ratios.sum(-1, keepdims=True) / np.maximum(both.sum(-1, keepdims=True), 1)
    first, second = ((df * both).sum(-1, keepdims=True) for df in (own_df, known_df))
    limit = special.fdtri(first, second, _QUIETER)
    # Where none can be compared, the limit is NaN, and no ratio is above it.
    return np.asarray(np.where(ratio > limit, ratio, 1.0))


@dataclass(frozen=True)
class Variance:
    """An estimated variance."""

    value: float
    df: float

    def __add__(self, other: Variance) -> Variance:
        """The sum of independent variances, with degrees of freedom by Satterthwaite (1946)."""
        value = self.value + other.value
        spread = sum(part.value**2 / part.df for part in (self, other) if part.value > 0)
        # If both are zero, the sum has the degrees of freedom of the better known.
        return Variance(value, value**2 / spread if spread else max(self.df, other.df))


@dataclass(frozen=True)
class Estimate:
    """A mean of log ratios, with its variance."""

    mean: float
    variance: Variance

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return math.sqrt(self.variance.value)

    @property
    def p_value(self) -> float:
        """Two-sided p value of the t test of a mean of zero."""
        if self.error == 0:
            return 1.0 if self.mean == 0 else 0.0
        return float(2 * special.stdtr(self.variance.df, -abs(self.mean) / self.error))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Student's interval of the mean, as logarithms.

        Example:
            ``Estimate(0.03, Variance(1e-4, df=10)).interval(0.95)`` is about (0.008, 0.052).
        """
        half = float(special.stdtrit(self.variance.df, 0.5 + confidence / 2)) * self.error
        return self.mean - half, self.mean + half


def holm(p_values: Mapping[Key, float]) -> dict[Key, float]:
    """Adjust p values for their number (Holm 1979, step-down, monotone, at most 1).

    Example:
        ``holm({"tpcc": 0.01, "oltp_insert": 0.04})["tpcc"]`` is 0.02.
    """
    adjusted: dict[Key, float] = {}
    largest = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, p * (len(p_values) - rank)))
        adjusted[name] = largest
    return adjusted


def percent(log_ratio: float) -> float:
    """A log ratio as a change in percent: ``percent(0.02)`` is about 2.02."""
    return 100 * math.expm1(log_ratio)


def percents(interval: tuple[float, float]) -> tuple[float, float]:
    """An interval of log ratios, in percent."""
    return percent(interval[0]), percent(interval[1])
