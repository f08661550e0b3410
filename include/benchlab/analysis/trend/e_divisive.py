"""E-divisive: where the distribution of a series changes (Matteson and James 2014).

Among all pairs of neighbouring stretches that begin where the series does, with m and n values, it
takes the pair that maximises the energy statistic

    Q = mn / (m + n) * (2 * mean |x - y| - mean |x - x'| - mean |y - y'|)

(their equations 5 and 7, with exponent 1; means over all pairs of values between and within). The
second stretch may end before the series does, so that a change that is taken back is found as
well. Each side of the place is searched again in the same way.

They test Q by permutations; here a t test decides whether two stretches differ, as in Hunter
(Fleming and others 2023; Apache Otava). Hunter tests everything to the left and right of the place;
here it is the two stretches of Q, because a change that is taken back would be missed otherwise. A
proposed place is not yet a change point: it was chosen for its Q, and the values may depend on each
other.
"""

from __future__ import annotations

import math

from benchlab.arrays import Array, np, special

ALPHA = 0.001


def propose(values: Array, alpha: float = ALPHA) -> tuple[int, ...]:
    """Indices of the first values after a change, in order.

    Args:
        values: of shape (points,), by time.
        alpha: of the t test of each place.
    """
    places: list[int] = []
    searched = [(0, len(values))]
    while searched:
        begin, end = searched.pop()
        # With two values, one on each side, nothing shows how they scatter.
        if end - begin < 3:
            continue
        place, until = split(values[begin:end])
        if _p_value(values[begin : begin + place], values[begin + place : begin + until]) <= alpha:
            places.append(begin + place)
            searched += [(begin, begin + place), (begin + place, end)]
    return tuple(sorted(places))


def split(values: Array) -> tuple[int, int]:
    """Where the second stretch of the best pair begins, and where it ends.

    Args:
        values: two at least.
    """
    size = len(values)
    sums = np.zeros((size + 1, size + 1))
    sums[1:, 1:] = np.abs(values[:, None] - values[None, :]).cumsum(axis=0).cumsum(axis=1)
    of_first = np.diagonal(sums)
    place, until = np.arange(1, size)[:, None], np.arange(2, size + 1)[None, :]
    # Sums over pairs of values, each pair once: in both stretches, in the first, in the second.
    both, first = of_first[2:][None, :] / 2, of_first[1:size][:, None] / 2
    second = both + first - sums[1:size, 2:]
    m, n = place, np.maximum(until - place, 1)
    between = 2 / (m + n) * (both - first - second)
    within_first = 2 * n / (m + n) / np.maximum(m - 1, 1) * first
    within_second = 2 * m / (m + n) / np.maximum(n - 1, 1) * second
    q = np.where(until > place, between - within_first - within_second, -np.inf)
    row, column = np.unravel_index(int(np.argmax(q)), q.shape)
    return int(row) + 1, int(column) + 2


def _p_value(before: Array, after: Array) -> float:
    """The p value of Student's t test of two samples with equal variances."""
    df = len(before) + len(after) - 2
    difference = abs(float(after.mean() - before.mean()))
    if df == 0 or difference == 0:
        return 1.0
    squares = len(before) * float(before.var()) + len(after) * float(after.var())
    error = math.sqrt(squares / df * (1 / len(before) + 1 / len(after)))
    return float(2 * special.stdtr(df, -difference / error)) if error else 0.0
