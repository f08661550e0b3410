"""Metrics: the figures that a client prints for a trial, each with its unit, title and family.

A workload's module lists its metrics, and a campaign's plan keeps them; all code that computes,
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
    """One kind of figure that a client prints for a trial.

    Attributes:
        unit: ``1/s``, ``1/min``, ``ms``, ``s``, ``%`` or ``1``.
        title: id of a message, or a text that is the same in all languages.
        family: what it is decided as; empty: not at all. The throughput comes first in a report.
        shown: where a report has it: ``table``, the one that verdicts rest on; ``details``, a
            second one, if any trial has it; ``files``, only CSV and JSON; ``trial``, only there.
        less_is_better: whether less of it is an improvement.
        step: between neighbouring values that the client can print, as a difference of logarithms.
        step_ms: the same in milliseconds, where all steps are equally wide: of a latency, or of the
            mean latency from which a throughput follows.
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
        """Whether it is a rate, by the second or the minute."""
        return self.unit in ("1/s", "1/min")

    def latency_ms(self, value: Value, threads: int) -> Value:
        """A latency as it is; for a rate, the mean latency that it means by Little's law.

        Example:
            ``Metric("tps", "1/s").latency_ms(1000, threads=64)`` is 64.
        """
        per_s = {"1/s": 1, "1/min": 60}.get(self.unit)
        return value if per_s is None else 1000 * per_s * threads / value


def of_family(metrics: Iterable[Metric], family: str) -> Metric:
    """The first metric of a family.

    Raises:
        LookupError: there is none.
    """
    for metric in metrics:
        if metric.family == family:
            return metric
    raise LookupError(f"no metric of the family {family}")


def families(metrics: Iterable[Metric]) -> tuple[str, ...]:
    """The families that are decided, throughput first."""
    found = dict.fromkeys(metric.family for metric in metrics if metric.family)
    return tuple(sorted(found, key=lambda family: family != THROUGHPUT))
