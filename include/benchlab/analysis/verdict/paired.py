"""The statistics of the decision rule: an estimate of a mean log ratio, and what it is worth.

Their sources are with the rule, in :mod:`benchlab.analysis.verdict.decision`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from benchlab.arrays import special


@dataclass(frozen=True)
class Variance:
    """An estimated variance.

    Attributes:
        value: not negative.
        df: degrees of freedom of the estimate.
    """

    value: float
    df: float

    def __add__(self, other: Variance) -> Variance:
        """The sum of independent ones, with degrees of freedom after Satterthwaite (1946)."""
        value = self.value + other.value
        spread = sum(part.value**2 / part.df for part in (self, other) if part.value > 0)
        # If both are zero, the sum is known as well as the better known of the two.
        return Variance(value, value**2 / spread if spread else max(self.df, other.df))


@dataclass(frozen=True)
class Estimate:
    """A mean of log ratios.

    Attributes:
        mean: as a logarithm.
        variance: of the mean.
    """

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
        """Student's interval of the mean, as logarithms."""
        half = float(special.stdtrit(self.variance.df, 0.5 + confidence / 2)) * self.error
        return self.mean - half, self.mean + half


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjust p values for their number (Holm 1979, step-down, monotone, at most 1)."""
    adjusted: dict[str, float] = {}
    largest = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, p * (len(p_values) - rank)))
        adjusted[name] = largest
    return adjusted


def percent(log_ratio: float) -> float:
    """A logarithm of a ratio as a change in percent."""
    return 100 * math.expm1(log_ratio)


def percents(interval: tuple[float, float]) -> tuple[float, float]:
    """An interval of logarithms of ratios, in percent."""
    return percent(interval[0]), percent(interval[1])
