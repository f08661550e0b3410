"""Which thread counts moved against the rest of their workload.

A mean over thread counts can hide that one of them lost 10 %. In each round the log ratio of a
thread count is set against the mean of the others'; over the rounds that is one sample of a paired
t test (see :mod:`benchlab.analysis.verdict.decision`). The one furthest away, if that is
significant, is named and taken out, and the others are tested again without it, so that it does not
make them stand out as well: a stepwise search for outliers. p values are multiplied by the number
of cells of the campaign (Bonferroni), so that a campaign without any such cell names one in 5 % of
cases at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.analysis.verdict.decision import ALPHA
from benchlab.analysis.verdict.variances import LEAST_SD, percent
from benchlab.arrays import Array, np, special


@dataclass(frozen=True)
class Moved:
    """A thread count that moved against the rest: by how much, and how it changed itself."""

    threads: int
    against_rest_pct: float
    change_pct: float


def moved(
    threads: Sequence[int], ratios: Array, threshold_pct: float, tests: int
) -> tuple[Moved, ...]:
    """The thread counts that moved by the threshold or more against the others, significantly.

    Args:
        threads: of the columns of ``ratios``.
        ratios: ln(candidate / baseline), of shape (rounds, threads), complete.
        threshold_pct: smallest deviation that is named.
        tests: how many cells the campaign has.
    """
    left = list(range(len(threads)))
    named: list[Moved] = []
    while len(left) > 1 and (found := _furthest(ratios, threshold_pct, tests, left)):
        column, deviation = found
        change = percent(float(ratios[:, column].mean()))
        named.append(Moved(threads[column], percent(deviation), change))
        left.remove(column)
    return tuple(sorted(named, key=lambda found: threads.index(found.threads)))


def _furthest(
    ratios: Array, threshold_pct: float, tests: int, left: list[int]
) -> tuple[int, float] | None:
    """The column that significantly deviates most from the mean of the others, and by how much."""
    rounds = len(ratios)
    if rounds < 2:
        return None
    own = ratios[:, left]
    others = (own.sum(axis=1, keepdims=True) - own) / (len(left) - 1)
    mean = (own - others).mean(axis=0)
    spread = np.maximum((own - others).std(axis=0, ddof=1), LEAST_SD)
    p = 2 * special.stdtr(rounds - 1, -abs(mean) * math.sqrt(rounds) / spread)
    named = np.flatnonzero((p * tests < ALPHA) & (abs(100 * np.expm1(mean)) >= threshold_pct))
    if not len(named):
        return None

    def distance(column: int) -> tuple[float, float]:
        # Two columns are equally far from each other: take the one that changed more itself.
        return round(abs(float(mean[column])), 9), abs(float(own[:, column].mean()))

    furthest = max(named.tolist(), key=distance)
    return left[furthest], float(mean[furthest])
