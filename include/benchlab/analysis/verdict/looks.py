"""Looks at the data while a campaign runs: at what p value each may decide, and what that costs.

Whoever tests after each deployment and leaves at the first p value below 5 % errs far more often.
So each look has its own nominal level, and all together err as often as one test at alpha. After
the share t of the planned deployments they may have erred in a share alpha * t ** rho of cases
(Lan and DeMets 1983; the family of Kim and DeMets 1987). A two-sided test is two one-sided ones of
alpha / 2; that data might cross one bound and then the other is ignored, which is safe. The score
S(t) is normal with mean theta * t and variance t, and its bounds b(1), b(2), ... follow one by one:

    P(S(t1) < b(1), ..., S(t(i-1)) < b(i-1), S(ti) >= b(i)) = alpha / 2 * (ti^rho - t(i-1)^rho)

The density of what crossed no bound is carried from look to look (Armitage, McPherson and Rowe
1969; Jennison and Turnbull 2000, chapter 19), here on Gauss-Legendre points. p values of t tests
are held against the same levels.

A change that is found early looks larger than it is. Median unbiased is the theta with which half
of all campaigns show more: a bound crossed earlier, or a higher value at the same look (Tsiatis,
Rosner and Mehta 1984; Jennison and Turnbull 2000, 8.4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from benchlab.analysis.verdict.variances import Estimate
from benchlab.arrays import Array, np, special

RHO, LATE = 2.0, 4.0
"""How late alpha is spent on a change, and on `equivalent`, which few deployments hardly show."""
LEAST_REACH = 0.1
"""Deployments that decide a workload with a smaller chance are not worth their price."""
LEAST_P = 1e-15
"""Smaller p values count as this one."""
# The density is known at so many points, from the bound down to where no path that matters is, in
# standard deviations: enough if each look has more than a fiftieth of its data since the last one.
_POINTS, _LOWEST = 80, -7.0
_LEAST_STEP = 0.02
_NEWTON_STEPS, _BISECTIONS = 8, 44
_TABLE = 160


@dataclass(frozen=True)
class Looks:
    """What the looks at one metric saw.

    Attributes:
        seen: at each look so far, the earliest first.
        planned: after how many deployments each look is, the last one after all of them.
        decides: whether the workload leaves by this metric.
    """

    seen: Sequence[Estimate]
    planned: Sequence[int]
    decides: bool = True

    @property
    def fractions(self) -> tuple[float, ...]:
        """The share of the planned deployments that each planned look has."""
        return fractions_of(self.planned)

    @property
    def p_value(self) -> float:
        """Of all looks together, as far as they agree with the last one; 1 before the first.

        As twice the p value of the better of two one-sided tests.
        """
        if not self.seen:
            return 1.0
        rises = self.seen[-1].mean > 0
        p_values = [one.p_value if (one.mean > 0) == rises else 1.0 for one in self.seen]
        return sequential_p(p_values, self.fractions)

    def corrected(self, alpha: float) -> float:
        """The last estimate, made median unbiased, as far as looks ended on a change.

        Args:
            alpha: what all looks together may err.
        """
        last = self.seen[-1]
        return last.mean * unbiased(last.p_value, len(self.seen) - 1, self.fractions, alpha)

    def level(self, alpha: float, *, rho: float = RHO) -> float:
        """The nominal level of the last look, where all together err alpha, two-sided."""
        return levels(self.fractions, alpha, rho=rho)[max(len(self.seen) - 1, 0)]

    def last_level(self, alpha: float, *, rho: float = RHO) -> float:
        """The nominal level of the last planned look."""
        return levels(self.fractions, alpha, rho=rho)[-1]

    def reach(self, threshold_pct: float, alpha: float, *, equal: bool) -> float | None:
        """The chance that the last planned look decides: see :func:`reach`.

        Returns:
            None before the first look and after the last one.
        """
        if not 0 < len(self.seen) < len(self.planned):
            return None
        found, limits = self.seen[-1], (threshold_pct, alpha)
        of = np.array(found.mean), np.array(found.error), np.array(found.variance.df)
        return float(reach(of, len(self.seen) - 1, self.fractions, limits, equal=equal))


def fractions_of(planned: Sequence[int]) -> tuple[float, ...]:
    """The share of the planned deployments that each look has: of (2, 4) it is (0.5, 1.0)."""
    return tuple(count / planned[-1] for count in planned)


def reach(
    seen: tuple[Array, Array, Array],
    look: int,
    fractions: Sequence[float],
    limits: tuple[float, float],
    *,
    equal: bool = True,
) -> Array:
    """The chance that the last look decides, if the rest is like what was seen.

    The predictive power (Spiegelhalter, Freedman and Blackburn 1986), without Holm.

    Args:
        seen: at this look: means of log ratios, their standard errors and degrees of freedom.
        look: which, from 0; not the last one.
        fractions: of the looks, as in :func:`levels`.
        limits: the smallest change that is called one, which is the largest that is equal, in
            percent; and what the test of a change may err, two-sided, and that of equality
            one-sided.
        equal: whether it may be called equivalent.
    """
    mean, error, df = seen
    threshold, alpha = math.log1p(limits[0] / 100), limits[1]
    of_change, of_equal = (
        special.stdtrit(df, 1 - levels(fractions, both, rho=rho)[-1] / 2)
        * (error * math.sqrt(fractions[look]))
        for both, rho in ((alpha, RHO), (2 * alpha, LATE))
    )
    to_come = error * math.sqrt(1 - fractions[look])
    outside = np.maximum(threshold, of_change)
    inside = np.maximum(threshold - of_equal, 0.0) if equal else 0.0
    chance = special.ndtr((mean - outside) / to_come) + special.ndtr((-mean - outside) / to_come)
    chance += special.ndtr((inside - mean) / to_come) - special.ndtr((-inside - mean) / to_come)
    return np.asarray(np.minimum(chance, 1.0))


def levels(fractions: Sequence[float], alpha: float, *, rho: float = RHO) -> tuple[float, ...]:
    """The nominal level of each look: two-sided p values at which it rejects.

    A one-sided test at 5 % has half of ``levels(fractions, 0.10)``. The repeated confidence
    interval of a look has the confidence 1 - level (Jennison and Turnbull 1989).

    Example:
        ``levels((0.5, 1.0), 0.05)`` is about (0.0125, 0.0436).

    Args:
        fractions: of the planned data that each look has, ascending, at most 1.
        alpha: how often all looks together may err, two-sided.

    Raises:
        ValueError: the fractions do not ascend within (0, 1], or alpha is not within (0, 1].
    """
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha is {alpha}")
    return tuple(
        2 * float(special.ndtr(-bound[0])) for bound, *_ in _looks(tuple(fractions), alpha, rho)
    )


def sequential_p(p: Sequence[float], fractions: Sequence[float], *, rho: float = RHO) -> float:
    """The smallest alpha with which one of the looks rejects (Liu and Anderson 2008).

    It is a p value whenever one stops, and Holm may be given it (Tamhane, Gou, Jennison, Mehta and
    Curto 2018). Of one-sided p values: half of what twice their values give.

    Example:
        ``sequential_p((0.2, 0.03), (0.5, 1.0))`` is about 0.035.

    Args:
        p: two-sided p values of the looks so far.
        fractions: of all planned looks, as in :func:`levels`.

    Raises:
        ValueError: there are no p values, or more than looks, or the fractions are wrong.
    """
    if not 0 < len(p) <= len(fractions):
        raise ValueError(f"{len(p)} p values of {len(fractions)} looks")
    of_alpha, bounds = _table(tuple(fractions), rho)
    seen = -special.ndtri(np.maximum(p, LEAST_P) / 2)
    found = max(np.interp(z, bound, of_alpha) for z, bound in zip(seen, bounds, strict=False))
    return float(2 * special.ndtr(-found))


def unbiased(
    p: float, look: int, fractions: Sequence[float], alpha: float, *, rho: float = RHO
) -> float:
    """By what an estimate is multiplied to be median unbiased, from 0 to 1.

    Example:
        ``unbiased(0.04, 1, (0.5, 1.0), 0.05)`` is about 0.987.

    Args:
        p: two-sided p value of the last look.
        look: which was the last, from 0: the first needs no correction.
        fractions, alpha: of the looks, as in :func:`levels`.
    """
    score = -float(special.ndtri(max(p, LEAST_P) / 2)) * math.sqrt(fractions[look])
    if look == 0 or score <= 0:
        return 1.0
    _, (points,), (mass,) = _looks(tuple(fractions), alpha, rho)[look - 1]
    before, step = fractions[look - 1], fractions[look] - fractions[look - 1]
    low, high = 0.0, score / fractions[look]
    for _ in range(_BISECTIONS):
        theta = (low + high) / 2
        # The density with theta is that without, times the likelihood ratio.
        below = special.ndtr((score - points - theta * step) / math.sqrt(step))
        share = np.sum(mass * np.exp(theta * points - theta**2 * before / 2) * below)
        low, high = (theta, high) if share > 0.5 else (low, theta)
    return high * fractions[look] / score


@cache
def _looks(
    fractions: tuple[float, ...], alpha: float, rho: float
) -> tuple[tuple[Array, Array, Array], ...]:
    return tuple(_walk(fractions, np.array([alpha]), rho))


@cache
def _table(fractions: tuple[float, ...], rho: float) -> tuple[Array, Array]:
    """Alphas as z, ascending, and with each of them the bounds of the looks, a row for each.

    Between them, sequential p values are at most 2e-4 of themselves too high, or 4e-5 too low.
    """
    of_alpha = np.linspace(0, -special.ndtri(LEAST_P / 2), _TABLE)
    walk = _walk(fractions, 2 * special.ndtr(-of_alpha), rho)
    return of_alpha, np.array([bound for bound, *_ in walk])


def _walk(
    fractions: tuple[float, ...], alphas: Array, rho: float
) -> Iterator[tuple[Array, Array, Array]]:
    """Of each look and alpha: its bound, and where the paths are that crossed none.

    Returns:
        Of each look the bound as z, of shape (alphas,); scores, and the probability that each
        stands for, of shape (alphas, points).
    """
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    points, mass = np.zeros((len(alphas), 1)), np.ones((len(alphas), 1))
    for before, now in pairwise((0.0, *fractions)):
        if not before + _LEAST_STEP * now < now <= 1:
            raise ValueError(
                f"fractions {fractions} do not ascend, or by too little, within (0, 1]"
            )
        sd = math.sqrt(now - before)
        bound = _bound(points, mass, sd, now, alphas / 2 * (now**rho - before**rho))
        lowest = _LOWEST * math.sqrt(now)
        half = (bound[:, None] - lowest) / 2
        scores = lowest + half * (1 + nodes)
        steps = _density((scores[:, :, None] - points[:, None, :]) / sd) / sd
        points, mass = scores, half * weights * np.einsum("aij,aj->ai", steps, mass)
        yield bound / math.sqrt(now), points, mass


def _bound(points: Array, mass: Array, sd: float, now: float, spent: Array) -> Array:
    """The score that is crossed with the probability `spent`, by paths that are at the points.

    By Newton's method on its logarithm, which is concave, from a score that is too high.
    """
    found = -special.ndtri(spent) * math.sqrt(now)
    for _ in range(_NEWTON_STEPS):
        above = (points - found[:, None]) / sd
        crossed = np.sum(mass * special.ndtr(above), axis=1)
        slope = np.sum(mass * _density(above), axis=1) / sd
        found = found + np.log(crossed / spent) * crossed / slope
    return np.asarray(found)


def _density(z: Array) -> Array:
    return np.asarray(np.exp(-z * z / 2) / math.sqrt(2 * math.pi))
