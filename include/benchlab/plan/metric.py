"""What a client prints of a trial: each figure with its unit, its name, and what it is decided as.

A workload's module lists its metrics, and the plan of a campaign keeps them; all that computes,
shows or writes figures goes through that list.

Example:
    ``Metric("tps", "1/s", "TPS", THROUGHPUT, "table")``
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from benchlab.language import Said, english, message

THROUGHPUT, LATENCY = "throughput", "latency"
"""The families that every workload has; p values are adjusted within a family."""
Shown = Literal["table", "details", "files", "trial"]
Value: TypeAlias = Any
"""A number, or an array of them."""


@dataclass(frozen=True)
class Metric:
    """One figure of a trial.

    Attributes:
        unit: ``1/s``, ``1/min``, ``ms``, ``s``, ``%`` or ``1``.
        title: id of a message, or a text that is the same in all languages.
        family: as what it is decided; empty: it is not. The throughput comes first in a report.
        shown: of a campaign, in the table that the verdict rests on; in a second table, where any
            trial has it; in CSV and JSON alone; or of the single ``trial`` alone.
        less_is_better: whether less of it is an improvement.
        step: between two values that the client can print, as a difference of logarithms.
        step_ms: the same in milliseconds where its steps are all as wide: of a latency, or of the
            mean latency that a throughput follows from.
        note: id of a message that says what the metric is; empty: its title does.
    """

    name: str
    unit: str
    title: str = ""
    family: str = ""
    shown: Shown = "trial"
    less_is_better: bool = False
    step: float = 0.0
    step_ms: float = 0.0
    note: str = ""

    @property
    def said(self) -> Said:
        """Its title, for sentences."""
        return message(self.title) if english().has(self.title) else self.title or self.name

    @property
    def is_rate(self) -> bool:
        """Whether it counts what was done in a second or a minute."""
        return self.unit in ("1/s", "1/min")

    def latency_ms(self, value: Value, threads: int) -> Value:
        """The latency that a value is, or that a throughput of it means by Little's law."""
        per_s = {"1/s": 1, "1/min": 60}.get(self.unit)
        return value if per_s is None else 1000 * per_s * threads / value


def of_family(metrics: Iterable[Metric], family: str) -> Metric:
    """The metric of a family that a workload has.

    Raises:
        LookupError: it has none.
    """
    for metric in metrics:
        if metric.family == family:
            return metric
    raise LookupError(f"no metric of the family {family}")


def families(metrics: Iterable[Metric]) -> tuple[str, ...]:
    """The families that are decided, throughput first."""
    found = dict.fromkeys(metric.family for metric in metrics if metric.family)
    return tuple(sorted(found, key=lambda family: family != THROUGHPUT))
