"""How figures are shown, by the metric of their workload: names, columns of tables, charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from benchlab.analysis.verdict.compare import CellComparison, WorkloadComparison
from benchlab.language import Language, english
from benchlab.language.numbers import Numbers, rate_decimals
from benchlab.plan.report_type import SIDES
from benchlab.report.model.report import Report, Section


@dataclass(frozen=True)
class Column:
    """One figure of a side; ``heading`` comes after the side's version."""

    metric: str
    heading: str


@dataclass(frozen=True)
class Display:
    """How one metric of throughput is shown.

    Attributes:
        name: as sentences and headings have it.
        unit: as the chart has it.
        columns: of each side, in the table that the verdict rests on.
        changes: headings of that table's last columns, of the throughput and of the latency.
        signs: whether each change has a percent sign, or the heading has it for all.
        latency: the latency beside the throughput, in the chart and the terminal.
        details: of each side, in a second table; empty where the first one has all that the
            client prints.
        details_title: what that table shows.
    """

    name: str
    unit: str
    columns: tuple[Column, ...]
    changes: tuple[str, str]
    signs: bool
    latency: Column
    details: tuple[Column, ...] = ()
    details_title: str = ""


def _of_tps(language: Language) -> Display:
    return Display(
        name="TPS",
        unit="1/s",
        columns=(
            Column("qps", "QPS"),
            Column("tps", "TPS"),
            Column("p95_ms", language.say("figures-p95-column")),
        ),
        changes=(language.say("figures-tps-change"), language.say("figures-p95-change")),
        signs=True,
        latency=Column("p95_ms", language.say("figures-p95")),
        details=tuple(Column(f"p{n}_ms", f"p{n} (ms)") for n in (50, 95, 99)),
        details_title=language.say("figures-latency"),
    )


def _of_tpmc(language: Language) -> Display:
    return Display(
        name="tpmC",
        unit="1/min",
        columns=(Column("tpmc", "tpmC"),),
        changes=(
            language.say("figures-tpmc-change"),
            language.say("figures-new-order-p95-change"),
        ),
        signs=False,
        latency=Column("new_order_p95_ms", language.say("figures-new-order-p95")),
        details=tuple(Column(f"new_order_p{n}_ms", f"p{n} (ms)") for n in (50, 90, 95, 99)),
        details_title=language.say("figures-new-order-latency"),
    )


def _of_qpm(language: Language) -> Display:
    return Display(
        name="QPM",
        unit="1/min",
        columns=(
            Column("qpm", "QPM"),
            Column("avg_ms", language.say("figures-mean-column")),
            Column("p95_ms", language.say("figures-p95-column")),
        ),
        changes=(language.say("figures-qpm-change"), language.say("figures-p95-change")),
        signs=True,
        latency=Column("p95_ms", language.say("figures-p95")),
    )


# The layouts are those of the published documents, in each of their languages.
_DISPLAYS: Mapping[str, Callable[[Language], Display]] = {
    "tps": _of_tps,
    "tpmc": _of_tpmc,
    "qpm": _of_qpm,
}


def display(section: Section, language: Language) -> Display:
    """How a workload's figures are shown."""
    shown, known = _DISPLAYS[section.figures.metric](language), _measured(section.figures)
    has_details = all(column.metric in known for column in shown.details)
    return shown if has_details else replace(shown, details=())


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
    """All metrics that workloads have, in the order of their tables."""
    displays = [_DISPLAYS[one.metric](english()) for one in workloads]
    in_tables = [column.metric for shown in displays for column in (*shown.columns, *shown.details)]
    known = [metric for one in workloads for metric in _measured(one)]
    return [metric for metric in dict.fromkeys((*in_tables, *known)) if metric in known]


def _measured(workload: WorkloadComparison) -> dict[str, float | None]:
    """The metrics that its sides have, at every thread count alike."""
    return next(iter(workload.cells[0].sides.values())).means


def is_latency(metric: str) -> bool:
    """Whether a metric is a latency, in milliseconds; the others are rates."""
    return metric.endswith("_ms")


def _rows(section: Section, columns: Sequence[Column], numbers: Numbers) -> list[list[str]]:
    cells = section.figures.cells
    decimals = {
        column.metric: rate_decimals(
            side.means[column.metric] for cell in cells for side in cell.sides.values()
        )
        for column in columns
    }

    def text(value: float | None, metric: str) -> str:
        if is_latency(metric):
            return numbers.milliseconds(value)
        return numbers.rate(value, decimals[metric])

    return [
        [
            str(cell.threads),
            *(
                text(side.means[column.metric], column.metric)
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
    """By how much a cell's throughput and its latency changed; of both more is a plus.

    Empty where the cell has one side.
    """
    if len(cell.sides) < len(SIDES):
        return ()
    before, after = (cell.sides[side].means[shown.latency.metric] for side in SIDES)
    longer = 100 * (after / before - 1) if before and after is not None else None
    said = (numbers.change(cell.improvement_pct), numbers.change(longer))
    if shown.signs:
        return said
    throughput, latency = (text.strip("%\N{NO-BREAK SPACE}") for text in said)
    return throughput, latency
