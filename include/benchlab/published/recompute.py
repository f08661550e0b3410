"""Recomputes the improvements of a published page from the rows of its tables.

Printed figures are rounded, so the exact improvement of a row is known only as an interval. A
published improvement is wrong only if no figures that round to the printed ones yield it, within
half a unit of its own last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal, localcontext

from benchlab.published.model import Printed, Row, Workload

DECIMALS = 2
"""Decimals of a recomputed improvement, also where the page prints none."""

_HUNDRED = Decimal(100)
# Enough precision for any figure; a number of more than _MOST_DIGITS is not a measurement.
_EXACT = Context(prec=200)
_MOST_DIGITS = 40


@dataclass(frozen=True)
class Recomputed:
    """A percentage computed from printed figures, and the range that their rounding allows.

    Attributes:
        exact: computed as if the printed figures were exact.
        low, high: the range that unrounded figures can give, both ends included.
    """

    exact: Decimal
    low: Decimal
    high: Decimal

    def allows(self, value: Decimal, rounding: Decimal) -> bool:
        """Whether a value in the range can be printed as ``value``, off by at most ``rounding``."""
        return self.low - rounding <= value <= self.high + rounding


def improvement(row: Row, workload: Workload) -> Recomputed | None:
    """The change from the baseline to the candidate, in percent.

    None if a figure is missing or is not a measurement, if the table does not have exactly two
    versions, or if the baseline's figure is not above zero.

    Example:
        For 100 and 110 QPS, ``exact`` is 10, and ``low`` to ``high`` is about 8.96 to 11.06.
    """
    pair = _pair(row, workload)
    if pair is None:
        return None
    baseline, candidate = pair
    least = baseline.value - baseline.rounding
    most = candidate.value + candidate.rounding
    return Recomputed(
        _change(baseline.value, candidate.value),
        _change(baseline.value + baseline.rounding, candidate.value - candidate.rounding),
        _change(least, most) if least > 0 else Decimal("Infinity"),
    )


def improvements(workload: Workload) -> dict[int, Decimal | None]:
    """The improvements of all rows in percent, by thread count."""
    found = {row.threads: improvement(row, workload) for row in workload.rows}
    return {threads: one.exact if one else None for threads, one in found.items()}


def is_wrong(row: Row, workload: Workload) -> bool:
    """Whether the printed improvement contradicts the row's figures, however they were rounded."""
    printed, found = row.improvement, improvement(row, workload)
    return bool(printed and found and not found.allows(printed.value, printed.rounding))


def headline(workload: Workload) -> Recomputed | None:
    """The arithmetic mean of the rows' improvements, each rounded to two decimals.

    Published pages compute it like this from v5.1 on. The range also allows the mean of unrounded
    improvements, or of improvements rounded as printed. None if a row cannot be recomputed: a mean
    over the others would be a different figure.
    """
    found = [(one, row.improvement) for row in workload.rows if (one := improvement(row, workload))]
    if not found or len(found) < len(workload.rows):
        return None
    mean = _mean([rounded_to(one.exact, DECIMALS) for one, _ in found])
    of_printed = _mean([rounded_to(one.exact, decimals(printed)) for one, printed in found])
    lows, highs = zip(*(_narrowed(one, printed) for one, printed in found), strict=True)
    return Recomputed(mean, min(_mean(lows), of_printed, mean), max(_mean(highs), of_printed, mean))


def _narrowed(found: Recomputed, printed: Printed | None) -> tuple[Decimal, Decimal]:
    """The range of a row's improvement; a correct printed improvement narrows it further."""
    if printed is None or not found.allows(printed.value, printed.rounding):
        return found.low, found.high
    rounding = printed.rounding
    return max(found.low, printed.value - rounding), min(found.high, printed.value + rounding)


def fitting(value: Decimal, places: int, workload: Workload) -> list[str]:
    """Explanations of a wrong headline: the mean cut off instead of rounded, or a single row.

    >>> fitting(Decimal(14), 0, report.workloads[0])  # doctest: +SKIP
    ['the row of 1500 threads, 14.15']
    """
    mean, cut = headline(workload), []
    if mean and _quantize(mean.exact, places, ROUND_DOWN) == value:
        cut.append(f"the mean, {mean.exact:.{max(places, DECIMALS)}f}, cut off")
    return cut + [
        f"the row of {threads} threads, {rounded_to(exact, max(places, DECIMALS))}"
        for threads, exact in improvements(workload).items()
        if exact is not None
        and value in (rounded_to(exact, places), _quantize(exact, places, ROUND_DOWN))
    ]


def decimals(printed: Printed | None) -> int:
    """The decimals of a printed number; :data:`DECIMALS` without one."""
    return DECIMALS if printed is None else printed.decimals


def rounded_to(value: Decimal, places: int) -> Decimal:
    """Round half away from zero, as published pages do.

    >>> rounded_to(Decimal("-4.265"), 2)
    Decimal('-4.27')
    """
    return _quantize(value, places, ROUND_HALF_UP)


def _pair(row: Row, workload: Workload) -> tuple[Printed, Printed] | None:
    if workload.metric is None or len(workload.versions) != 2:
        return None
    baseline, candidate = (row.sides.get(v, {}).get(workload.metric) for v in workload.versions)
    if baseline is None or candidate is None or baseline.value <= 0 or candidate.value < 0:
        return None
    digits = (len(printed.value.as_tuple().digits) for printed in (baseline, candidate))
    return (baseline, candidate) if max(digits) <= _MOST_DIGITS else None


def _change(baseline: Decimal, candidate: Decimal) -> Decimal:
    with localcontext(_EXACT):
        return (candidate - baseline) / baseline * _HUNDRED


def _mean(values: Sequence[Decimal]) -> Decimal:
    with localcontext(_EXACT):
        return sum(values, Decimal()) / len(values)


def _quantize(value: Decimal, places: int, rounding: str) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), rounding, context=_EXACT)
