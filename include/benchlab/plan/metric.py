"""Metrics: the figures of a trial, each with its unit, title and family.

A workload's module lists those that its client prints, and names the servers' counts that are
decided. A campaign's plan keeps them all; all code that computes, shows or writes figures goes
through that list.

Example:
    ``Metric("tps", "1/s", "TPS", THROUGHPUT, "table")``
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from benchlab.language import Said, english, message

THROUGHPUT, LATENCY, COUNT = "throughput", "latency", "count"
"""The families: every workload has a throughput and a latency, and as many counts of what a
transaction takes as its module names. p values are adjusted within a family."""
Shown = Literal["table", "details", "files", "trial"]
Value: TypeAlias = Any
"""A number, or an array of them."""


@dataclass(frozen=True)
class Metric:
    """One kind of figure that a client prints for a trial.

    Attributes:
        unit: ``1/s``, ``1/min``, ``ms``, ``s``, ``%`` or ``1``; of a count, of a transaction, also
            ``B`` and ``us``.
        title: id of a message, or a text that is the same in all languages.
        family: what it is decided as; empty: not at all. The throughput comes first in a report.
        shown: where a report has it: ``table``, the one that verdicts rest on; ``details``, a
            second one, if any trial has it; ``files``, only CSV and JSON; ``trial``, only there.
        less_is_better: whether less of it is an improvement.
        step: between neighbouring values that the client can print, as a difference of logarithms.
        step_ms: the same in milliseconds, where all steps are equally wide: of a latency, or of the
            mean latency from which a throughput follows.
        note: id of a message that says what the metric is; empty: its title does.
        threshold_pct: the smallest change that is called one; None: that of the report type.
        side_sd: by how much one deployment of a side is taken to shift it (a standard deviation of
            its logarithm) where nothing is known.
        floor: of a count, the least of a transaction that is compared.
        of_load: whether it depends on the load, so that it is decided at equal load alone.
        decided: whether there is a verdict on it, if it has a family.
        is_one_of_several: whether its workload has several of its family, and each is decided.
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
    threshold_pct: float | None = None
    side_sd: float = 0.01
    floor: float = 0.0
    of_load: bool = False
    decided: bool = True
    is_one_of_several: bool = False

    @property
    def kind(self) -> str:
        """As what it is decided, once for each workload: its family, or itself of several."""
        return self.name if self.family == COUNT or self.is_one_of_several else self.family

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


def of_kind(metrics: Iterable[Metric], kind: str) -> Metric:
    """The metric of a workload that is decided as this (:attr:`Metric.kind`).

    Raises:
        LookupError: there is none.
    """
    for metric in metrics:
        if metric.family and metric.kind == kind:
            return metric
    raise LookupError(f"no metric is decided as {kind}")


def kinds(metrics: Iterable[Metric]) -> tuple[str, ...]:
    """What is decided: throughput, then latency, then the counts."""
    order = (THROUGHPUT, LATENCY)
    found = [metric for metric in metrics if metric.family and metric.decided]
    found.sort(key=lambda one: order.index(one.family) if one.family in order else len(order))
    return tuple(dict.fromkeys(metric.kind for metric in found))
