"""What the variance of a workload's estimate is, from everything that shows it.

A deployment of both sides gives n rounds and so a mean x of n log ratios. With s^2 the variance of
a round within a deployment and tau^2 that of deployments, x has the variance

    U = tau^2 + s^2 / n

and the estimate, the mean of D deployments' means, has U / D. Three sources show U of a workload:

* the prior: where nothing is known, a side's deployment is taken to shift it by 0.7 % (standard
  deviation), as if that were known from 4 deployments. With the rounds' own s^2 the expected
  variance is U0 = 2 * 0.007^2 + s^2 / n, its degrees of freedom f0 those of Satterthwaite (1946),
  at most 8, so that what was seen outweighs it soon, and no more than the workloads' squares are
  alike (Smyth 2004);
* the campaign's own deployments: sum of (x_j - mean)^2, D - 1 degrees of freedom;
* the N deployments of A/A campaigns: sum of x_k^2, N degrees of freedom. It is taken about zero,
  which is the truth there; a bias of one side is then part of the variance.

A square says little of its own workload and much of all: machines differ in how alike their
deployments are, and workloads of one machine less. So each sum is divided by what was expected, A =
sum x^2 / U0, and the campaign's workloads together have the level (an empirical Bayes estimate, as
in Morris 1983; as the ratio is relative, the noisiest workload does not decide for the others)

    L = (f0 + sum of A) / (f0 + sum of degrees of freedom)
    U = U0 * (f0 L + A) / (f0 + D - 1 + N),    f0 + D - 1 + N degrees of freedom.

s^2 is pooled over the rounds of the campaign and of its A/A campaigns. Were those made in a quieter
period (F test of their rounds' variances over all workloads, at 10 %), their squares are multiplied
by F before they count. s^2 is moderated over workloads as limma does (Smyth 2004: a scaled inverse
chi-square prior by the moments of log s^2), with a prior that weighs 2 degrees of freedom at most,
never makes a workload's own variance smaller, and counts for half its degrees of freedom: without
these three, intervals of the noisiest of unlike workloads held the truth in 88 to 92 %. Where no
deployment has two rounds, s^2 cannot be told from tau^2, and the mean squares of the deployments
are moderated and taken as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

PRIOR_SIDE_SD = 0.007
PRIOR_VARIANCE = 2 * PRIOR_SIDE_SD**2
"""Of the log ratio of two sides, one deployment each."""
PRIOR_DF = 4.0
_MOST_PRIOR_DF = 8.0
_MOST_MODERATION = 2.0
_QUIETER = 0.9
LEAST_SD = 1e-4
"""Of a log ratio: no client prints figures finer than this, so that no round scatters less."""


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
        versions: of an estimate about the versions: rounds and deployments.
        rounds: of the same about these deployments; NaN where no deployment has two rounds.
        quieter: how much more the campaign's rounds scatter than those of its A/A campaigns; 1
            where that may be chance.
    """

    versions: Array
    versions_df: Array
    rounds: Array
    rounds_df: Array
    quieter: Array


def squares(deployments: Sequence[Array], *, about_zero: bool = False) -> Squares:
    """Those of one workload's rounds, by deployment.

    Example:
        ``squares([np.array([0.01, 0.03])], about_zero=True)``: within 0.0002, between 0.0004.
    """
    import numpy as np

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
    """The squares of several A/A campaigns of one workload; nothing of none."""
    import numpy as np

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
    """One array of all workloads for each field."""
    import numpy as np

    return Squares(
        *(
            np.array([float(getattr(one, name)) for one in found])
            for name in ("within", "within_df", "between", "between_df", "inverse_rounds")
        )
    )


def estimated(own: Squares, known: Squares, deployments: Array) -> Estimated:
    """The variances of the estimates of a campaign's workloads; the module has the formulas.

    Args:
        own: of the campaign, with workloads as the last axis.
        known: of A/A campaigns, of the same workloads; zeros where there are none.
        deployments: of the campaign, by workload.
    """
    import numpy as np

    quieter = _quieter(own, known)
    within, df = own.within + quieter * known.within, own.within_df + known.within_df
    shown = df > 0
    s2, s2_df = moderated(within / np.where(shown, df, 1), df)
    expected = PRIOR_VARIANCE + s2 * own.inverse_rounds
    spread = PRIOR_VARIANCE**2 / PRIOR_DF + (s2 * own.inverse_rounds) ** 2 / s2_df
    f0 = np.minimum(expected**2 / spread, _MOST_PRIOR_DF)
    seen = own.between / expected
    seen = seen + quieter * known.between / (PRIOR_VARIANCE + s2 * known.inverse_rounds)
    seen_df = own.between_df + known.between_df
    compared = shown & (seen_df > 0)
    if compared.sum() > 1:
        ratios = np.maximum(seen[..., compared] / seen_df[compared], LEAST_SD**2)
        f0 = np.minimum(f0, _alike(ratios, seen_df[compared], _MOST_PRIOR_DF)[0])
    prior = (f0 * shown).sum(-1, keepdims=True) / max(shown.sum(), 1)
    level = (prior + (seen * shown).sum(-1, keepdims=True)) / np.maximum(
        prior + (seen_df * shown).sum(), 1
    )
    factor = (f0 * level + seen) / (f0 + seen_df)

    between, between_df = own.between + known.between, np.maximum(seen_df, 0)
    alone, alone_df = moderated(between / np.where(between_df > 0, between_df, 1), between_df)
    own_s2, own_df = moderated(
        own.within / np.where(own.within_df > 0, own.within_df, 1), own.within_df
    )
    return Estimated(
        versions=np.where(shown, factor * expected, alone) / deployments,
        versions_df=np.where(shown, f0 + seen_df, alone_df),
        rounds=np.where(own.within_df > 0, own_s2, np.nan) * own.inverse_rounds / deployments,
        rounds_df=own_df,
        quieter=quieter,
    )


def deployment_variance(known: Squares) -> Array:
    """How much deployments of a workload differ, for simulations: what its squares leave over.

    By the method of moments, together with the prior: (4 * prior + sum of x^2 - N s^2 / n) / (4 +
    N).
    """
    import numpy as np

    s2 = known.within / np.maximum(known.within_df, 1)
    excess = known.between - known.between_df * s2 * known.inverse_rounds
    return np.asarray(
        np.maximum(PRIOR_DF * PRIOR_VARIANCE + excess, 0) / (PRIOR_DF + known.between_df)
    )


def moderated(s2: Array, df: Array) -> tuple[Array, Array]:
    """Variances of a campaign's workloads, moderated, with their degrees of freedom (Smyth 2004).

    Args:
        s2: with workloads as the last axis.
        df: by workload; one with none is left alone, with one degree of freedom.
    """
    import numpy as np
    from scipy.special import digamma

    s2 = np.maximum(s2, LEAST_SD**2)
    usable = np.broadcast_to(df > 0, s2.shape[-1:])
    own_df = np.where(usable, df, 1.0)
    if usable.sum() < 2:
        return s2, own_df + np.zeros_like(s2)
    d0, mean = _alike(s2[..., usable], own_df[usable], _MOST_MODERATION)
    s0 = np.exp(mean + digamma(d0 / 2) - np.log(d0 / 2))
    value = np.maximum(s2, (d0 * s0 + own_df * s2) / (d0 + own_df))
    return np.where(usable, value, s2), own_df + d0 / 2 * usable


def _alike(variances: Array, df: Array, most: float) -> tuple[Array, Array]:
    """How many degrees of freedom the workloads' variances have in common, and their mean log.

    Smyth (2004), section 6.2: with z = log s^2 - digamma(f / 2) + log(f / 2), the prior's degrees
    of freedom d0 solve trigamma(d0 / 2) = var(z) - mean(trigamma(f / 2)).

    Args:
        variances: of two workloads or more, as the last axis.
        most: of these degrees of freedom.
    """
    import numpy as np
    from scipy.special import digamma, polygamma

    z = np.log(variances) - digamma(df / 2) + np.log(df / 2)
    excess = z.var(-1, ddof=1, keepdims=True) - polygamma(1, df / 2).mean()
    least = float(polygamma(1, most / 2))
    return 2 * _inverse_trigamma(np.maximum(excess, least)), z.mean(-1, keepdims=True)


def _inverse_trigamma(values: Array) -> Array:
    """Newton's method on 1 / trigamma, which is convex (Smyth 2004, appendix)."""
    from scipy.special import polygamma

    found = 0.5 + 1 / values
    for _ in range(8):
        trigamma = polygamma(1, found)
        found = found + trigamma * (1 - trigamma / values) / polygamma(2, found)
    return found


def _quieter(own: Squares, known: Squares) -> Array:
    """How much more the campaign's rounds scatter than those of the A/A campaigns, or 1."""
    import numpy as np
    from scipy.special import fdtri

    both = (own.within_df > 0) & (known.within_df > 0)
    if not both.any():
        return np.ones((*own.within.shape[:-1], 1))
    own_df, known_df = own.within_df[both], known.within_df[both]
    least = np.maximum(known.within[both] / known_df, LEAST_SD**2)
    ratio = (own.within[..., both] / own_df / least).mean(-1, keepdims=True)
    limit = fdtri(float(own_df.sum()), float(known_df.sum()), _QUIETER)
    return np.asarray(np.where(ratio > limit, ratio, 1.0))
