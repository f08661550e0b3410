"""From values to places in a picture, and the ticks of its axes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from benchlab.language.numbers import Numbers

Tick = tuple[float, str]
"""A pixel, and the text beside it."""

# Room for a day as text, in pixels.
_DAY = 84.0


@dataclass(frozen=True)
class Scale:
    """Maps values to pixels: ``Scale(0, 10, 40, 240)(5)`` is 140.0.

    Attributes:
        low, high: the values at both ends; they differ.
        start, end: their pixels; ``start`` is the larger one where values grow upwards.
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value, to a tenth; a value beyond an end lies on it."""
        inside = min(max(value, self.low), self.high)
        share = (inside - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values within the scale: steps of 1, 2 or 5 times a power of 10, about ``most``."""
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [float(f"{n * step:.10g}") for n in range(first, last + 1)]


def around(values: Iterable[float], start: float, end: float, *, least: float = 0.0) -> Scale:
    """A scale that has all values, with a margin of a twentieth on both sides.

    Args:
        least: the smallest difference between its ends; without values they are -1 and 1 around 0.
    """
    known = list(values) or [-1.0, 1.0]
    low, high = min(known), max(known)
    spread = max(high - low, least) or abs(high) or 1.0
    middle = (low + high) / 2
    half = 0.55 * spread
    return Scale(middle - half, middle + half, start, end)


def value_ticks(scale: Scale, numbers: Numbers, most: int = 5) -> list[Tick]:
    """The ticks of an axis of values."""
    return [(scale(value), numbers.general(value)) for value in scale.ticks(most)]


def change_ticks(scale: Scale, numbers: Numbers) -> list[Tick]:
    """The ticks of an axis of changes in percent."""
    return [(scale(value), numbers.general_change(value)) for value in scale.ticks(5)]


def day_ticks(times: Iterable[datetime], scale: Scale) -> list[Tick]:
    """The days of these times, each once and at its first time; as many as there is room for.

    Example:
        Two campaigns of one day and a third a year later have two ticks.
    """
    ticks: list[Tick] = []
    for at in sorted(times):
        x, day = scale(at.timestamp()), f"{at:%Y-%m-%d}"
        if not ticks or (day != ticks[-1][1] and x >= ticks[-1][0] + _DAY):
            ticks.append((x, day))
    return ticks
