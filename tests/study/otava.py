"""Change points as Apache Otava 0.8 finds them: the rule that the long view is compared with.

Fleming and others 2023 (Hunter), as ``otava.analysis.compute_change_points`` has it: windows that
overlap by half, split by E-divisive with a t test of everything to the left and right of a place at
ten times the p value; then the weakest places are taken out again, one after the other, until all
have the p value and the magnitude that are asked for. Otava itself needs a dozen packages for its
databases, so the rule is written out here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from scipy.stats import ttest_ind_from_stats

from benchlab.analysis.trend.e_divisive import split
from tests.study.worlds import Array

# Its defaults.
WINDOW, MAX_P = 50, 0.001


def find(values: Sequence[float], min_magnitude: float) -> Mapping[int, float]:
    """The first point after each change, and the change of the logarithm.

    Args:
        values: throughputs as logarithms; Otava sees the throughputs themselves.
        min_magnitude: the least relative change, such as 0.02; Otava's own default is 0.
    """
    series = np.exp(np.asarray(values))
    places = sorted(set(_weak(series)))
    judged = [_t_test(series, *edges) for edges in _edges(places, len(series))]
    while places:
        weakest = max(range(len(places)), key=lambda n: judged[n][0])
        if judged[weakest][0] < MAX_P:
            weakest = min(range(len(places)), key=lambda n: judged[n][1])
            if judged[weakest][1] > min_magnitude:
                break
        del places[weakest], judged[weakest]
        # As in Otava, the place before the one taken out keeps its old figures.
        for number, edges in enumerate(_edges(places, len(series))):
            if weakest <= number <= weakest + 1:
                judged[number] = _t_test(series, *edges)
    return {
        place: float(np.log(series[place:end].mean() / series[begin:place].mean()))
        for begin, place, end in _edges(places, len(series))
    }


def _weak(series: Array) -> Iterator[int]:
    """Places in windows; the next one begins at the last place, or half a window further."""
    start = 0
    while start < len(series):
        found = _in_window(series[start : start + WINDOW])
        yield from (start + place for place in found)
        last = start + found[-1] if found else 0
        start = max(last, start + WINDOW // 2)


def _in_window(series: Array) -> list[int]:
    """The best place of all stretches, one after the other, as long as each is significant."""
    places: list[int] = []
    while True:
        stretches = pairwise([0, *places, len(series)])
        candidates = [
            (_q(series[a : a + until], place), a + place, a, b)
            for a, b in stretches
            if b - a > 1
            for place, until in [split(series[a:b])]
        ]
        if not candidates:
            return places
        _, place, begin, end = max(candidates, key=lambda found: found[0])
        if _t_test(series, begin, place, end)[0] > 10 * MAX_P:
            return places
        places = sorted([*places, place])


def _q(values: Array, place: int) -> float:
    """The energy statistic of the two stretches that a place divides."""
    distances = np.abs(values[:, None] - values[None, :])
    m, n = place, len(values) - place
    between = distances[:m, m:].sum()
    first, second = distances[:m, :m].sum() / 2, distances[m:, m:].sum() / 2
    within = n / max(m - 1, 1) * first + m / max(n - 1, 1) * second
    return float(2 / (m + n) * (between - within))


def _edges(places: Sequence[int], size: int) -> list[tuple[int, int, int]]:
    """Each place between its neighbours."""
    edges = [0, *places, size]
    return list(zip(edges, edges[1:], edges[2:], strict=False))


def _t_test(series: Array, begin: int, place: int, end: int) -> tuple[float, float]:
    """The p value of two stretches, and their relative difference in the larger direction.

    Standard deviations have no correction for the degrees of freedom, as in Otava.
    """
    left, right = series[begin:place], series[place:end]
    before, after = float(left.mean()), float(right.mean())
    magnitude = max(abs(after / before - 1), abs(before / after - 1))
    if len(left) + len(right) <= 2:
        return 1.0, magnitude
    p = ttest_ind_from_stats(
        *(before, left.std(), len(left)), *(after, right.std(), len(right))
    ).pvalue
    return float(p), magnitude
