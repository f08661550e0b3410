"""What is wrong in a published page."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, get_args

FindingKind = Literal[
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
KINDS: tuple[FindingKind, ...] = get_args(FindingKind)

Figure = Decimal | str | None
"""A number, in percent where the finding is about a change; or the words that stand for it."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        where: line and part of the page.
        line: of the page's file, from 1.
        published: what the page prints there; None of ``same_version_drift``, where it is a table.
        recomputed: what it should print, or what contradicts it; None where that is not known. Of
            ``same_version_drift`` the mean difference in percent.
        explanation: how the two differ, as a sentence; empty where they say all.
    """

    kind: FindingKind
    where: str
    line: int
    published: Figure
    recomputed: Figure
    explanation: str = ""

    def to_json(self) -> dict[str, Any]:
        """As `benchlab audit --json` prints it; an explanation only where there is one."""
        figures = {"published": number(self.published), "recomputed": number(self.recomputed)}
        explanation = {"explanation": self.explanation} if self.explanation else {}
        return {"kind": self.kind, "where": self.where, "line": self.line, **figures, **explanation}


def number(figure: Figure) -> float | int | str | None:
    """A figure as JSON knows it: a whole number without a decimal point."""
    if not isinstance(figure, Decimal):
        return figure
    return int(figure) if figure == figure.to_integral_value() else float(figure)
