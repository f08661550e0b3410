"""Printed improvements and headlines against those that the rows give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from benchlab.published.audit import recompute
from benchlab.published.audit.finding import Finding
from benchlab.published.audit.recompute import Bounds
from benchlab.published.reading.model import Printed, PublishedReport, Row, Workload
from benchlab.published.reading.stated import Stated, headline, stated


def check(report: PublishedReport) -> Iterator[Finding]:
    """``row_mismatch``, ``headline_mismatch``, ``overview_mismatch``, ``direction_mismatch``."""
    said = list(stated(report))
    for workload in report.workloads:
        for row in workload.rows:
            yield from _row(row, workload)
        known = _Known.from_workload(workload)
        of_it = [each for each in said if each.workload is workload]
        main = headline(of_it)
        if main is not None:
            yield from _headline(main, known)
        for each in of_it:
            yield from _direction(each, known)
            yield from _elsewhere(each, main, known)


@dataclass(frozen=True)
class _Known:
    """What is recomputed of a workload, once for all its sentences.

    Attributes:
        mean: of the rows, and what it can be; None where it cannot be recomputed.
        rows: by their thread counts; one that stands there twice is left out.
    """

    mean: Decimal | None
    bounds: Bounds | None
    rows: Mapping[int, Row]

    @classmethod
    def from_workload(cls, workload: Workload) -> _Known:
        """Recompute it."""
        counts = Counter(row.threads for row in workload.rows)
        rows = {row.threads: row for row in workload.rows if counts[row.threads] == 1}
        return cls(recompute.headline(workload), recompute.headline_bounds(workload), rows)


def _row(row: Row, workload: Workload) -> Iterator[Finding]:
    exact, printed = recompute.improvement(row, workload), row.improvement
    if printed and exact is not None and recompute.is_wrong(row, workload):
        yield Finding(
            "row_mismatch",
            f"line {row.line}, {workload.heading}, {row.threads} threads",
            row.line,
            printed.value,
            _shown(exact, printed),
        )


def _headline(main: Stated, known: _Known) -> Iterator[Finding]:
    workload, value, printed = main.workload, main.value, main.change.pct
    bounds, mean = known.bounds, known.mean
    if value is None or printed is None or bounds is None or mean is None:
        return
    if _agrees(value, printed, main.change.direction, bounds):
        return
    if _contradicts(main, bounds) and bounds.allow(-value, printed.rounding):
        return  # only its word is wrong, and that is a finding of its own
    found = recompute.named(value, recompute.decimals(printed), workload)
    yield Finding(
        "headline_mismatch",
        main.where,
        main.claim.line,
        value,
        _shown(mean, printed),
        f"it fits {'; or '.join(found)}" if found else "no other figure of the rows fits it",
    )


def _direction(each: Stated, known: _Known) -> Iterator[Finding]:
    """A word that says the opposite of the recomputed sign."""
    bounds, recomputed = _recomputed(each, known)
    if bounds is None or recomputed is None or not _contradicts(each, bounds):
        return
    word = "improved" if each.change.direction > 0 else "reduced"
    printed = each.change.pct
    yield Finding(
        "direction_mismatch",
        each.where,
        each.claim.line,
        f"{word} by {printed.text} %" if printed else word,
        _shown(recomputed, printed),
    )


def _elsewhere(each: Stated, main: Stated | None, known: _Known) -> Iterator[Finding]:
    """A number of a sentence that is not the one its section prints."""
    printed, value = each.change.pct, each.value
    if printed is None or value is None or each is main:
        return
    if each.change.threads is not None:
        yield from _of_one_row(each, value, printed, known)
        return
    if main is None or main.claim is each.claim or not each.of_all_rows:
        return
    other, whole = main.value, main.change.pct
    if other is None or whole is None:
        return
    if abs(abs(value) - abs(other)) <= max(printed.rounding, whole.rounding):
        # The directions, too, have to agree where there is no row to judge them by.
        told = each.change.direction * main.change.direction
        if told >= 0 or known.mean is not None:
            return
    bounds, mean = known.bounds, known.mean
    # Of two numbers outside the section the wrong one is told.
    if (
        main.claim.place != "section"
        and bounds is not None
        and _agrees(value, printed, each.change.direction, bounds)
    ):
        return
    yield Finding(
        "overview_mismatch",
        each.where,
        each.claim.line,
        value,
        None if mean is None else _shown(mean, printed),
        f"{other} in {main.where}",
    )


def _of_one_row(each: Stated, value: Decimal, printed: Printed, known: _Known) -> Iterator[Finding]:
    row = _row_of(each, known)
    if row is None:
        return
    bounds = recompute.improvement_bounds(row, each.workload)
    exact = recompute.improvement(row, each.workload)
    in_table = row.improvement
    if bounds and _agrees(value, printed, each.change.direction, bounds):
        return
    if in_table and abs(abs(value) - abs(in_table.value)) <= max(
        printed.rounding, in_table.rounding
    ):
        return
    if in_table is None and exact is None:
        return
    yield Finding(
        "overview_mismatch",
        f"{each.where}, {row.threads} threads",
        each.claim.line,
        value,
        None if exact is None else _shown(exact, printed),
        f"{in_table.text} in line {row.line}" if in_table else "",
    )


def _recomputed(each: Stated, known: _Known) -> tuple[Bounds | None, Decimal | None]:
    workload = each.workload
    if each.change.threads is None:
        return (known.bounds, known.mean) if each.of_all_rows else (None, None)
    row = _row_of(each, known)
    if row is None:
        return None, None
    return recompute.improvement_bounds(row, workload), recompute.improvement(row, workload)


def _row_of(each: Stated, known: _Known) -> Row | None:
    """The only row with the thread count of a sentence."""
    return known.rows.get(each.change.threads) if each.change.threads is not None else None


def _agrees(value: Decimal, printed: Printed, direction: int, bounds: Bounds) -> bool:
    """A number without a word of direction may be that of a reduction, too."""
    return bounds.allow(value, printed.rounding) or (
        direction == 0 and bounds.allow(-value, printed.rounding)
    )


def _contradicts(each: Stated, bounds: Bounds) -> bool:
    rounding = each.change.pct.rounding if each.change.pct else Decimal()
    if each.change.direction > 0:
        return bounds.high + rounding < 0
    return each.change.direction < 0 and bounds.low - rounding > 0


def _shown(exact: Decimal, printed: Printed | None) -> Decimal:
    """With one digit more than is printed, so that rounding cannot hide the difference."""
    return recompute.rounded_to(exact, recompute.decimals(printed) + 1)
