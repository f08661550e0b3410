"""Compares printed improvements and headlines with those computed from the rows."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from benchlab.published import recompute
from benchlab.published.audit.discrepancy import Discrepancy
from benchlab.published.model import Printed, PublishedReport, Row, Stated, Workload, headline
from benchlab.published.recompute import Recomputed


def check(report: PublishedReport) -> Iterator[Discrepancy]:
    """Find ``row_mismatch``, ``headline_mismatch``, ``overview_mismatch``, ``direction_mismatch``.

    The last three are about sentences: the change that a workload's section states, a change
    stated elsewhere, and a word of direction.
    """
    said = list(report.stated())
    for workload in report.workloads:
        for row in workload.rows:
            yield from _row(row, workload)
        of_it = [one for one in said if one.workload is workload]
        main, mean = headline(of_it), recompute.headline(workload)
        rows = {row.threads: row for row in workload.rows}
        if main is not None and mean is not None:
            yield from _headline(main, mean)
        for one in of_it:
            if one.change.threads is None:
                yield from _direction(one, mean)
                if main is not None:
                    yield from _elsewhere(one, main, mean)
            elif one.change.threads in rows:
                row = rows[one.change.threads]
                recomputed = recompute.improvement(row, workload)
                yield from _direction(one, recomputed)
                yield from _of_one_row(one, row, recomputed)


def _row(row: Row, workload: Workload) -> Iterator[Discrepancy]:
    printed, found = row.improvement, recompute.improvement(row, workload)
    if printed and found and recompute.is_wrong(row, workload):
        yield Discrepancy(
            "row_mismatch",
            f"line {row.line}, {workload.heading}, {row.threads} threads",
            row.line,
            printed.value,
            _shown(found.exact, printed),
            workload=workload.name,
        )


def _headline(main: Stated, mean: Recomputed) -> Iterator[Discrepancy]:
    value, printed = main.value, main.change.pct
    if _agrees(main, mean):
        return
    if _contradicts(main, mean) and mean.allows(-value, printed.rounding):
        return  # only its word of direction is wrong, which is a separate discrepancy
    fitting = recompute.fitting(value, printed.decimals, main.workload)
    yield Discrepancy(
        "headline_mismatch",
        main.where,
        main.claim.line,
        value,
        _shown(mean.exact, printed),
        f"it fits {'; or '.join(fitting)}" if fitting else "no single row fits it",
        main.workload.name,
    )


def _direction(one: Stated, recomputed: Recomputed | None) -> Iterator[Discrepancy]:
    """A word of direction that contradicts the recomputed sign."""
    if recomputed is not None and _contradicts(one, recomputed):
        word, printed = "improved" if one.change.direction > 0 else "reduced", one.change.pct
        yield Discrepancy(
            "direction_mismatch",
            one.where,
            one.claim.line,
            f"{word} by {printed.text} %",
            _shown(recomputed.exact, printed),
            workload=one.workload.name,
        )


def _elsewhere(one: Stated, main: Stated, mean: Recomputed | None) -> Iterator[Discrepancy]:
    """A change for all rows that differs from the one that the section states."""
    # Without rows to check the directions against, the two directions must agree as well.
    opposite = one.change.direction != main.change.direction
    if main.claim is one.claim or (
        _alike(one.change.pct, main.change.pct) and not (opposite and mean is None)
    ):
        return
    # If both changes are outside the section, only the wrong one is a discrepancy.
    if main.claim.place != "section" and mean is not None and _agrees(one, mean):
        return
    yield Discrepancy(
        "overview_mismatch",
        one.where,
        one.claim.line,
        one.value,
        None if mean is None else _shown(mean.exact, one.change.pct),
        f"{main.value} in {main.where}",
        main.workload.name,
    )


def _of_one_row(one: Stated, row: Row, recomputed: Recomputed | None) -> Iterator[Discrepancy]:
    """A change at one thread count that matches neither its row nor the recomputed value."""
    in_table = row.improvement
    if (in_table is None and recomputed is None) or (recomputed and _agrees(one, recomputed)):
        return
    if in_table and _alike(one.change.pct, in_table):
        return
    yield Discrepancy(
        "overview_mismatch",
        f"{one.where}, {row.threads} threads",
        one.claim.line,
        one.value,
        None if recomputed is None else _shown(recomputed.exact, one.change.pct),
        f"{in_table.text} in line {row.line}" if in_table else "",
        one.workload.name,
    )


def _agrees(one: Stated, recomputed: Recomputed) -> bool:
    return recomputed.allows(one.value, one.change.pct.rounding)


def _alike(one: Printed, other: Printed) -> bool:
    """Whether two printed numbers have the same size, apart from sign and rounding."""
    return abs(abs(one.value) - abs(other.value)) <= max(one.rounding, other.rounding)


def _contradicts(one: Stated, recomputed: Recomputed) -> bool:
    rounding = one.change.pct.rounding
    if one.change.direction > 0:
        return recomputed.high + rounding < 0
    return recomputed.low - rounding > 0


def _shown(exact: Decimal, printed: Printed) -> Decimal:
    """Round to one more digit than is printed, so that rounding cannot hide the difference."""
    return recompute.rounded_to(exact, printed.decimals + 1)
