"""Errors in a published page."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, get_args

DiscrepancyKind = Literal[
    "row_mismatch",
    "headline_mismatch",
    "overview_mismatch",
    "version_mismatch",
    "direction_mismatch",
    "thread_plan_mismatch",
    "entry_point_mismatch",
    "command_error",
    "implausible_latency",
    "tool_mismatch",
    "same_version_drift",
]
KINDS: tuple[DiscrepancyKind, ...] = get_args(DiscrepancyKind)

Figure = Decimal | str | None
"""A number, in percent if the discrepancy is about a change, or words instead of one."""


@dataclass(frozen=True)
class Discrepancy:
    """One error in a published page.

    Attributes:
        kind: one of :data:`KINDS`.
        where: line and part of the page.
        line: line of the page's file, from 1.
        published: what the page prints there; None for ``same_version_drift``, which concerns a
            whole table.
        recomputed: what it should print, or what contradicts it; None if unknown. For
            ``same_version_drift`` the mean difference in percent.
        explanation: the difference in words; empty if the figures say everything.
        workload: the workload whose results are wrong; None if the discrepancy is not about one.
    """

    kind: DiscrepancyKind
    where: str
    line: int
    published: Figure
    recomputed: Figure
    explanation: str = ""
    workload: str | None = None

    def to_json(self) -> dict[str, Any]:
        """It as ``benchlab audit --json`` prints it; an empty explanation is left out."""
        figures = {"published": number(self.published), "recomputed": number(self.recomputed)}
        explanation = {"explanation": self.explanation} if self.explanation else {}
        return {"kind": self.kind, "where": self.where, "line": self.line, **figures, **explanation}


def number(figure: Figure) -> float | int | str | None:
    """A figure for JSON; a whole number becomes an int.

    >>> number(Decimal("12.0")), number(Decimal("4.35")), number(None)
    (12, 4.35, None)
    """
    if not isinstance(figure, Decimal):
        return figure
    return int(figure) if figure == figure.to_integral_value() else float(figure)
