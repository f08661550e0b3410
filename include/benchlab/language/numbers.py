"""How numbers are printed, the same in every format. A missing number is ``n/a``, never 0.

Rounding is the same for every language; decimal sign and grouping are the language's own.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from datetime import timedelta
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING, Literal

from benchlab.language import Language

if TYPE_CHECKING:
    import babel
    from babel.numbers import NumberPattern

MISSING = "n/a"
_MOST_DECIMALS = 6


class Numbers:
    """Numbers as one language writes them, with its decimal sign, grouping and words.

    Example:
        ``Numbers(english()).estimate(-1.996, threshold=2.0)`` is ``-1.996%``.
    """

    def __init__(self, language: Language) -> None:
        self._language = language

    def rate(self, value: float | None, decimals: int) -> str:
        """A figure with thousands separators: ``rate(12345.678, 1)`` is ``12,345.7`` in English."""
        return MISSING if value is None else self._decimal(_rounded(value, decimals))

    def milliseconds(self, value: float | None) -> str:
        """A latency, with two decimals and without its unit."""
        return self.rate(value, 2)

    def whole(self, value: float | None) -> str:
        """A count."""
        return self.rate(value, 0)

    def digits(self, value: float | None, count: int) -> str:
        """A figure of any size, with so many significant digits."""
        return MISSING if value is None else self.general(float(f"{value:.{count}g}"))

    def general(self, value: float) -> str:
        """A figure with no more decimals than it needs, as for the ticks of an axis."""
        return self._decimal(Decimal(f"{value:.10g}"))

    def change(self, value: float | None) -> str:
        """A cell's change in percent, signed, with two decimals: ``-1.23%``."""
        return MISSING if value is None else self._percent(_rounded(value, 2), signed=True)

    def general_change(self, value: float) -> str:
        """A signed change in percent with no more decimals than it needs, as for axis ticks."""
        return self._percent(Decimal(f"{value:g}"), signed=True) if value else "0"

    def estimate(
        self,
        value: float | None,
        threshold: float,
        within: tuple[float, float] | None = None,
    ) -> str:
        """A change that a verdict rests on, in percent, signed.

        It has no more decimals than are meaningful for the width of its interval ``within``; two
        if that is unknown. It gets more where rounding would move it across the threshold, or
        across zero when the interval excludes zero: -1.996 % is not printed as -2.00 % beside a
        verdict that calls it smaller than 2 %.
        """
        if value is None:
            return MISSING
        return self._percent(_on_its_side(value, threshold, within), signed=True)

    def size(
        self, value: float, threshold: float, within: tuple[float, float] | None = None
    ) -> str:
        """Like :meth:`estimate`, without the sign."""
        return self._percent(abs(_on_its_side(value, threshold, within)))

    def interval(self, bounds: tuple[float, float] | None, threshold: float) -> str:
        """An interval of changes: ``-0.50% to +1.25%``; decimals as in :meth:`estimate`."""
        if bounds is None:
            return MISSING
        low, high = (self.estimate(bound, threshold, bounds) for bound in bounds)
        return self._language.say("number-interval", low=low, high=high)

    def limit(self, value: float) -> str:
        """The threshold itself, in percent."""
        return self._percent(Decimal(f"{value:g}"))

    def share(self, fraction: float, decimals: int) -> str:
        """A fraction as a percentage: 0.25 is 25 %."""
        return self._percent(_rounded(100 * fraction, decimals))

    def p_value(self, value: float | None) -> str:
        """A p value with a sign of comparison: ``= 0.012``, ``< 0.001``."""
        if value is None:
            return MISSING
        if value < 0.001:
            return f"< {self._decimal(Decimal('0.001'))}"
        # Rounded across 0.05 it would contradict the verdict.
        for decimals in range(3, _MOST_DECIMALS + 1):
            if (round(value, decimals) < 0.05) == (value < 0.05):
                break
        return f"= {self._decimal(_rounded(value, decimals))}"

    def duration(self, value: timedelta | None) -> str:
        """A duration in words, with its two largest units: ``2 h 3 min``, ``1 min 15 s``."""
        if value is None:
            return MISSING
        seconds = round(value.total_seconds())
        hours, minutes = seconds // 3600, seconds // 60 % 60
        say = self._language.say
        if hours:
            return say("number-hours", hours=str(hours), minutes=minutes)
        if minutes:
            return say("number-minutes", minutes=minutes, seconds=seconds % 60)
        return say("number-seconds", seconds=seconds)

    def _decimal(self, value: Decimal) -> str:
        locale = self._language.locale
        return str(_pattern("decimal", locale, _decimals(value), plus=False).apply(value, locale))

    def _percent(self, value: Decimal, *, signed: bool = False) -> str:
        """A percentage; zero has no sign."""
        locale, plus = self._language.locale, signed and value > 0
        pattern = _pattern("percent", locale, _decimals(value), plus=plus)
        return str(pattern.apply((value or abs(value)).scaleb(-2), locale))


@functools.cache
def _pattern(
    kind: Literal["decimal", "percent"], locale: babel.Locale, decimals: int, *, plus: bool
) -> NumberPattern:
    """A locale's pattern for this many decimals, cached: Babel would parse it for each number."""
    from babel.numbers import parse_pattern

    pattern = getattr(locale, f"{kind}_formats")[None].pattern.replace(".###", "")
    if decimals:
        pattern = pattern.replace("0", f"0.{decimals * '0'}")
    return parse_pattern(f"+{pattern}" if plus else pattern)


def _decimals(value: Decimal) -> int:
    return max(0, -int(value.as_tuple().exponent))


def rate_decimals(values: Iterable[float | None]) -> int:
    """Decimals for the rates of one table, enough to recompute its percentages from them.

    Example:
        ``rate_decimals([950.0, 12000.0])`` is 2.
    """
    smallest = min((value for value in values if value is not None), default=0.0)
    return 0 if smallest >= 10_000 else 1 if smallest >= 1_000 else 2


def _rounded(value: float, decimals: int) -> Decimal:
    return Decimal(f"{value:.{decimals}f}")


def _meant(within: tuple[float, float] | None) -> int:
    """How many decimals of a change in percent are meaningful for the width of its interval."""
    if within is None:
        return 2
    half = (within[1] - within[0]) / 2
    return 0 if half >= 10 else 1 if half >= 1 else 2


def _on_its_side(value: float, threshold: float, within: tuple[float, float] | None) -> Decimal:
    """Round to the decimals meaningful for the interval, but not across threshold or zero.

    Rounding to zero is allowed where the interval contains zero.
    """
    low, high = within or (value, value)
    either = low < value < high and low < 0 < high
    for decimals in range(_meant(within), _MOST_DECIMALS + 1):
        rounded = round(value, decimals)
        same_size = (abs(rounded) >= threshold) == (abs(value) >= threshold)
        same_sign = (rounded > 0, rounded < 0) == (value > 0, value < 0)
        if same_size and (same_sign or (either and rounded == 0)):
            return _rounded(value, decimals)
    return Decimal(value).quantize(Decimal(1).scaleb(-_MOST_DECIMALS), ROUND_DOWN)
