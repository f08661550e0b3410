"""The statistics of the decision rule: one sample of log ratios, a value a round.

Their sources are with the rule, in :mod:`benchlab.compare`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjust p values for their number (Holm 1979, step-down, monotone, at most 1)."""
    adjusted: dict[str, float] = {}
    largest = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, p * (len(p_values) - rank)))
        adjusted[name] = largest
    return adjusted


def interval(d: Sequence[float], confidence: float) -> tuple[float, float] | None:
    """Student's interval of the mean of ``d``; None with fewer than two values."""
    if len(d) < 2:
        return None
    from scipy.special import stdtrit  # scipy.stats has the same and takes a second to import

    half = float(stdtrit(len(d) - 1, 0.5 + confidence / 2)) * standard_error(d)
    return statistics.fmean(d) - half, statistics.fmean(d) + half


def percent(log_ratio: float) -> float:
    """A logarithm of a ratio as a change in percent."""
    return 100 * math.expm1(log_ratio)


def geometric_mean(values: Sequence[float]) -> float | None:
    """Geometric mean of positive values; None where there is none or one is not positive."""
    if not values or min(values) <= 0:
        return None
    return statistics.geometric_mean(values)


def p_value(d: Sequence[float]) -> float | None:
    """Two-sided p value of the paired t test of mean(d) = 0; None with fewer than two rounds."""
    if len(d) < 2:
        return None
    from scipy.special import stdtr

    error = standard_error(d)
    mean = statistics.fmean(d)
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * stdtr(len(d) - 1, -abs(mean) / error))


def standard_error(d: Sequence[float]) -> float:
    """Of the mean of ``d``, two values or more."""
    return statistics.stdev(d) / math.sqrt(len(d))
