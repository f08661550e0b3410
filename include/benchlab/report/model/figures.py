"""Names, table columns and cells of a workload's figures, as every format shows them.

Example:
    ``display(section, english()).columns[0].heading`` is ``TPS`` for a sysbench workload.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.analysis.verdict.compare import CellComparison, WorkloadComparison
from benchlab.language import Language
from benchlab.language.numbers import Numbers, rate_decimals
from benchlab.plan.metric import LATENCY, THROUGHPUT, Metric, Shown, of_kind
from benchlab.plan.report_type import SIDES
from benchlab.report.model.report import Report, Section


@dataclass(frozen=True)
class Column:
    """A column for one metric of a side; the side's version goes before ``heading``."""

    metric: Metric
    heading: str


@dataclass(frozen=True)
class Display:
    """How the metrics of a workload are shown.

    Attributes:
        throughput: the throughput, whether it is decided or not.
        name: its name in sentences and headings.
        columns: for each side, in the table that the verdict rests on.
        changes: the headings of its last columns: changes of throughput and latency, or at a rate
            of latency alone.
        details: for each side, in a second table; empty where no trial has any of them.
    """

    throughput: Metric
    name: str
    columns: tuple[Column, ...]
    changes: tuple[str, ...]
    latency: Metric
    latency_name: str
    details: tuple[Column, ...]


def display(section: Section, language: Language) -> Display:
    """Decide how a workload's figures are shown."""
    metrics, measured = section.figures.metrics, _measured(section.figures)
    throughput, latency = (of_kind(metrics, name) for name in (THROUGHPUT, LATENCY))

    def columns(shown: Shown) -> tuple[Column, ...]:
        return tuple(
            Column(one, f"{name} (ms)" if one.unit == "ms" else name)
            for one in metrics
            if one.shown == shown and one.name in measured
            for name in (language.text(one.said),)
        )

    change = functools.partial(language.say, "figures-change")
    return Display(
        throughput=throughput,
        name=language.text(throughput.said),
        columns=columns("table"),
        changes=tuple(change(metric=one.said) for one in (throughput, latency) if one.decided),
        latency=latency,
        latency_name=language.text(latency.said),
        details=columns("details"),
    )


def rows(section: Section, language: Language) -> list[list[str]]:
    """The cells of one workload's table: threads, the columns of each side, changes."""
    shown, numbers = display(section, language), Numbers(language)
    figures = _rows(section, shown.columns, numbers)
    return [
        [*row, *changes(cell, shown, numbers)]
        for row, cell in zip(figures, section.figures.cells, strict=True)
    ]


def header(report: Report, columns: Sequence[Column]) -> list[str]:
    """Threads, and the columns of each side with its version."""
    labels = [side.label for side in report.sides.values()]
    return [
        report.language.say("figures-threads"),
        *(f"{label} {column.heading}" for label in labels for column in columns),
    ]


def details(section: Section, language: Language) -> list[list[str]]:
    """The cells of a workload's second table: threads, the details of each side."""
    return _rows(section, display(section, language).details, Numbers(language))


def metrics(workloads: Sequence[WorkloadComparison]) -> list[str]:
    """The names of all metrics that were measured, in the order of the tables."""
    measured = {name for one in workloads for name in _measured(one)}
    listed = dict.fromkeys(metric.name for one in workloads for metric in one.metrics)
    return [name for name in listed if name in measured]


def _measured(workload: WorkloadComparison) -> dict[str, float | None]:
    """The metrics measured; they are the same on every side and at every thread count."""
    return next(iter(workload.cells[0].sides.values())).means


def _rows(section: Section, columns: Sequence[Column], numbers: Numbers) -> list[list[str]]:
    cells = section.figures.cells
    decimals = {
        name: rate_decimals(side.means[name] for cell in cells for side in cell.sides.values())
        for name in (column.metric.name for column in columns)
    }

    def text(value: float | None, metric: Metric) -> str:
        if metric.unit == "ms":
            return numbers.milliseconds(value)
        return numbers.rate(value, decimals[metric.name])

    return [
        [
            str(cell.threads),
            *(
                text(side.means[column.metric.name], column.metric)
                for side in cell.sides.values()
                for column in columns
            ),
        ]
        for cell in cells
    ]


def headings_of_changes(report: Report, shown: Display) -> tuple[str, ...]:
    """The headings of :func:`changes`."""
    return shown.changes if report.has_verdicts else ()


def changes(cell: CellComparison, shown: Display, numbers: Numbers) -> tuple[str, ...]:
    """A cell's changes, as in :attr:`Display.changes`; a higher latency has a plus sign.

    Empty where the cell has one side.
    """
    if len(cell.sides) < len(SIDES):
        return ()
    before, after = (cell.sides[side].means[shown.latency.name] for side in SIDES)
    longer = 100 * (after / before - 1) if before and after is not None else None
    found = numbers.change(cell.improvement_pct), numbers.change(longer)
    return found[-len(shown.changes) :]
