"""How numbers are printed, in every format alike. Missing is ``n/a``, never 0."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import timedelta

MISSING = "n/a"
_MOST_DECIMALS = 6


def rate(value: float | None, decimals: int) -> str:
    """A throughput, with thousands separators."""
    return MISSING if value is None else f"{value:,.{decimals}f}"


def rate_decimals(values: Iterable[float | None]) -> int:
    """Decimals for the rates of one table: enough that percentages recomputed from it agree."""
    smallest = min((value for value in values if value is not None), default=0.0)
    return 0 if smallest >= 10_000 else 1 if smallest >= 1_000 else 2


def milliseconds(value: float | None) -> str:
    """A latency."""
    return MISSING if value is None else f"{value:,.2f}"


def whole(value: float | None) -> str:
    """A count."""
    return MISSING if value is None else f"{value:,.0f}"


def change(value: float | None) -> str:
    """A change of one cell, signed."""
    return MISSING if value is None else _percent(value, 2)


def estimate(value: float | None, threshold: float) -> str:
    """A change that a verdict rests on, signed.

    It gets more decimals where two would put it on the other side of zero or of the threshold:
    a change of -1.996 % is not printed as -2.00 % beside a verdict that calls it smaller than 2 %.
    """
    if value is None:
        return MISSING
    for decimals in range(2, _MOST_DECIMALS + 1):
        rounded = round(value, decimals)
        same_size = (abs(rounded) >= threshold) == (abs(value) >= threshold)
        if same_size and _sign(rounded) == _sign(value):
            return _percent(value, decimals)
    return _percent(_towards_zero(value), _MOST_DECIMALS)


def size(value: float, threshold: float) -> str:
    """As :func:`estimate`, without its sign."""
    return estimate(value, threshold).lstrip("+-")


def interval(bounds: tuple[float, float] | None, threshold: float) -> str:
    """An interval of changes."""
    if bounds is None:
        return MISSING
    return " to ".join(estimate(bound, threshold) for bound in bounds)


def limit(value: float) -> str:
    """The threshold itself."""
    return f"{value:g}%"


def p_value(value: float | None) -> str:
    """A p value with its sign of comparison: ``= 0.012``, ``< 0.001``."""
    if value is None:
        return MISSING
    if value < 0.001:
        return "< 0.001"
    # Rounded up across the level it would contradict the verdict.
    for decimals in range(3, _MOST_DECIMALS + 1):
        if (round(value, decimals) < 0.05) == (value < 0.05):
            break
    return f"= {value:.{decimals}f}"


def duration(value: timedelta | None) -> str:
    """A duration in words."""
    if value is None:
        return MISSING
    seconds = round(value.total_seconds())
    hours, minutes = seconds // 3600, seconds // 60 % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"


def _percent(value: float, decimals: int) -> str:
    text = f"{value:+,.{decimals}f}%"
    return f"{0:.{decimals}f}%" if _sign(round(value, decimals)) == 0 else text


def _towards_zero(value: float) -> float:
    scale: int = 10**_MOST_DECIMALS
    return math.trunc(value * scale) / scale


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
