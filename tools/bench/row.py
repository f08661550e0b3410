"""One line of the table: a figure, its target and whether it is met."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Row:
    """What was measured.

    Attributes:
        compared: the two things that were compared, or what was timed, with their figures.
        figure: a ratio where ``unit`` is ``x``.
        target: None where there is none.
        skipped: why it was not measured; then there is no figure (``nan``).
        bound: whether the figure may be at most or must be at least the target.
        seconds: every single measurement, by what was timed.
    """

    name: str
    compared: str
    figure: float
    unit: str = "x"
    target: float | None = None
    bound: Literal["at most", "at least"] = "at most"
    seconds: dict[str, list[float]] = field(default_factory=dict)
    skipped: str = ""

    @classmethod
    def not_measured(cls, name: str, reason: str) -> Row:
        """A line that says why there is no figure."""
        return cls(name=name, compared=f"skipped: {reason}", figure=math.nan, skipped=reason)

    @property
    def outcome(self) -> Literal["ok", "over", "under", "skipped", ""]:
        """Against the target; empty where there is none."""
        if self.skipped:
            return "skipped"
        if self.target is None:
            return ""
        if self.bound == "at most":
            return "ok" if self.figure <= self.target else "over"
        return "ok" if self.figure >= self.target else "under"

    def to_json(self) -> dict[str, Any]:
        """The row as it is written to the JSON file."""
        figure = None if self.skipped else self.figure
        return {**asdict(self), "figure": figure, "outcome": self.outcome or None}

    def cells(self) -> tuple[str, ...]:
        """The row as it is printed."""
        target = "" if self.target is None else f"{self.bound} {self.target:.2f}"
        figure = "-" if self.skipped else f"{self.figure:.2f} {self.unit}"
        return (self.name, self.compared, figure, target, self.outcome)


def ratio(
    name: str,
    ours: tuple[str, Sequence[float]],
    other: tuple[str, Sequence[float]],
    target: float | None = None,
) -> Row:
    """The median of ``ours`` over the median of ``other``, each a label and its seconds."""
    (label, times), (other_label, other_times) = ours, other
    mid, other_mid = statistics.median(times), statistics.median(other_times)
    return Row(
        name=name,
        compared=f"{label} ({mid:.3g} s) / {other_label} ({other_mid:.3g} s)",
        figure=mid / other_mid,
        target=target,
        seconds={label: list(times), other_label: list(other_times)},
    )


HEADER = ("measure", "what is compared", "figure", "target", "")


def table(rows: Sequence[Row]) -> str:
    """All rows as text, in columns."""
    lines = [HEADER, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
