"""Tables of results in the layout of a published document, of a campaign or an imported page.

Example:
    ``tables(report, report.sections[0])[0].header`` begins with ``Threads``.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchlab.analysis.verdict.compare import CellComparison
from benchlab.language import Language
from benchlab.language.numbers import MISSING, rate_decimals
from benchlab.plan import metric
from benchlab.plan.fields.published import THROUGHPUTS, USUAL, DocumentTables, Metric, Shape
from benchlab.plan.metric import LATENCY, of_kind
from benchlab.plan.report_type import SIDES
from benchlab.report.model.report import Report, Section

NAMES: Mapping[Metric, str] = {"qps": "QPS", "tps": "TPS", "tpmc": "tpmC", "qpm": "QPM"}

Cells = Mapping[str, Mapping[Metric, str]]
"""The figures at one thread count as text, by version and metric; missing ones are left out."""


@dataclass(frozen=True)
class Table:
    """A table as text; ``title`` is empty unless the workload has several tables."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Layout:
    """The contents of one workload's tables, and the shape in which a document has them.

    Attributes:
        figures: the metrics shown for each version, in the order of their columns.
        versions: their labels, the candidate's last.
        named: whether column headings include the version.
        rows: the figures by thread count.
        headings: those of the improvement columns, which come last; empty if there are none.
        improvements: the cells of these columns, by thread count.
    """

    shape: Shape
    figures: Sequence[Metric]
    versions: Sequence[str]
    named: bool
    rows: Mapping[int, Cells]
    headings: tuple[str, ...]
    improvements: Mapping[int, tuple[str, ...]]

    def tables(self, language: Language) -> Iterator[Table]:
        """Yield the tables, with headings in ``language``."""
        names = {f: NAMES.get(f) or language.say("published-latency") for f in self.figures}
        header = (language.say("published-threads"), *names.values())
        match self.shape:
            case "version_column":
                yield self._version_column((language.say("published-version"), *header))
            case "table_per_version":
                for version in self.versions:
                    last = self.headings if version == self.versions[-1] else ()
                    yield Table(version, (*header, *last), tuple(self._of_version(version)))
            case "metrics_then_latencies":
                ordered = sorted(self.figures, key=lambda figure: figure not in THROUGHPUTS)
                columns = [(version, figure) for figure in ordered for version in self.versions]
                yield self._side_by_side(header[0], columns, names)
            case "pairs" | "single_version":
                columns = [
                    (version, figure) for version in self.versions for figure in self.figures
                ]
                yield self._side_by_side(header[0], columns, names)

    def _side_by_side(
        self, threads: str, columns: Sequence[tuple[str, Metric]], names: Mapping[Metric, str]
    ) -> Table:
        """A table with a row per thread count, and columns for each version."""
        headings = (f"{v} {names[f]}" if self.named else names[f] for v, f in columns)
        rows = (
            (*_cells(count, cells, columns), *self.improvements.get(count, ()))
            for count, cells in self.rows.items()
        )
        return Table("", (threads, *headings, *self.headings), tuple(rows))

    def _version_column(self, header: tuple[str, ...]) -> Table:
        """A table with a row per version and thread count, the candidate's first."""
        width = len(header) + len(self.headings)
        rows = (
            (version, *row, *[""] * (width - 1 - len(row)))
            for version in reversed(self.versions)
            for row in self._of_version(version)
        )
        return Table("", (*header, *self.headings), tuple(rows))

    def _of_version(self, version: str) -> Iterator[tuple[str, ...]]:
        """The rows of one version; the last version's include the improvements.

        A thread count without any figure has a row for every version.
        """
        columns = [(version, figure) for figure in self.figures]
        for count, cells in self.rows.items():
            if version in cells or not cells:
                last = self.improvements.get(count, ()) if version == self.versions[-1] else ()
                yield (*_cells(count, cells, columns), *last)


def _cells(count: int, cells: Cells, columns: Sequence[tuple[str, Metric]]) -> Iterator[str]:
    """The thread count, and a figure for each version and metric."""
    yield str(count)
    for version, figure in columns:
        yield cells.get(version, {}).get(figure, MISSING)


def heading_of_improvement(figure: Metric, language: Language, *, percent: bool) -> str:
    """The heading of an improvement column; ``percent`` adds ``(%)``, so its cells need no sign."""
    said = language.say("published-improvement", metric=NAMES[figure])
    return f"{said} (%)" if percent else said


# ---------------------------------------------------------------- of a campaign


def tables(report: Report, section: Section) -> tuple[Table, ...]:
    """A workload's tables in the layout of its document; empty in the layout ``own``."""
    if (chosen := _chosen(report, section)) is None:
        return ()
    labels = [side.label for side in report.sides.values()]
    single = chosen.shape == "single_version"
    compared = _compared(report, chosen)
    in_heading = chosen.improvement == "heading"
    layout = Layout(
        shape="pairs" if single else chosen.shape,
        figures=chosen.figures,
        versions=labels,
        named=not single or len(labels) > 1,
        rows=_rows(report, section, chosen.figures),
        headings=tuple(
            heading_of_improvement(figure, report.language, percent=in_heading)
            for figure in compared
        ),
        improvements={
            cell.threads: tuple(
                _percent(improvement(cell, figure), report, sign=not in_heading)
                for figure in compared
            )
            for cell in section.figures.cells
        },
    )
    return tuple(layout.tables(report.language))


def means(report: Report, section: Section) -> tuple[str, ...]:
    """A sentence with the mean of each improvement shown, except that of the verdict's metric."""
    if (chosen := _chosen(report, section)) is None:
        return ()
    return tuple(
        report.language.say(
            "layout-mean", metric=NAMES[figure], mean=report.numbers.change(_mean(section, figure))
        )
        for figure in _compared(report, chosen)
        if figure != section.figures.metric
    )


def beside_throughput(metrics: Iterable[metric.Metric]) -> list[str]:
    """The names of rates that are shown beside the throughput, such as ``qps`` beside TPS."""
    return [one.name for one in metrics if one.is_rate and one.shown == "table" and not one.family]


def improvement(cell: CellComparison, metric: str) -> float | None:
    """The candidate's change in a throughput, in percent; None if it cannot be compared.

    Example:
        ``improvement(cell, "qps")`` is 4.2 where its QPS is 1,042 and the baseline's 1,000.
    """
    if cell.improvement_pct is None:
        return None
    before, after = (cell.sides[side].means.get(metric) for side in SIDES)
    return 100 * (after / before - 1) if before and after is not None else None


def _mean(section: Section, figure: Metric) -> float | None:
    found = [improvement(cell, figure) for cell in section.figures.cells]
    known = [value for value in found if value is not None]
    return statistics.fmean(known) if known and len(known) == len(found) else None


def _chosen(report: Report, section: Section) -> DocumentTables | None:
    """The tables of the report type's document, or else the usual ones for the metric.

    None in the layout ``own``, and for a metric that no document shows.
    """
    if report.spec.layout == "own":
        return None
    document = report.spec.published
    return (document and document.tables) or USUAL.get(section.figures.metric)


def _compared(report: Report, chosen: DocumentTables) -> tuple[Metric, ...]:
    """The throughputs whose improvement is shown."""
    if chosen.improvement == "none" or not report.has_verdicts:
        return ()
    return tuple(figure for figure in chosen.figures if figure in THROUGHPUTS)


def _rows(report: Report, section: Section, figures: Sequence[Metric]) -> dict[int, Cells]:
    cells, numbers = section.figures.cells, report.numbers
    # TPC-C's latency is that of its new orders.
    latency = of_kind(section.figures.metrics, LATENCY).name
    means = [side.means for cell in cells for side in cell.sides.values()]
    decimals = {f: rate_decimals(found.get(f) for found in means) for f in figures}

    def text(figure: Metric, means: Mapping[str, float | None]) -> str:
        if figure in THROUGHPUTS:
            return numbers.rate(means.get(figure), decimals[figure])
        return numbers.milliseconds(means.get(latency))

    return {
        cell.threads: {
            report.sides[side].label: {figure: text(figure, found.means) for figure in figures}
            for side, found in cell.sides.items()
        }
        for cell in cells
    }


def _percent(value: float | None, report: Report, *, sign: bool) -> str:
    """A change as documents print it: no plus; ``sign``: with the percent sign."""
    text = report.numbers.change(value).removeprefix("+")
    return text if sign else text.strip("%\N{NO-BREAK SPACE}")
