"""Tables of a published page's results: its own figures, as printed, in its own layout.

The improvements are not the page's: each is computed anew from the figures beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from benchlab.language import Language
from benchlab.language.names import title_of
from benchlab.language.numbers import MISSING
from benchlab.published.audit.recompute import (
    DECIMALS,
    headline,
    improvement,
    improvement_bounds,
    rounded_to,
)
from benchlab.published.reading.model import THROUGHPUTS, Metric, Row, Workload

NAMES: Mapping[Metric, str] = {"qps": "QPS", "tps": "TPS", "tpmc": "tpmC"}
_PERCENT_IN_HEADING = re.compile(r"[(（]\s*[%％]\s*[)）]")


@dataclass(frozen=True)
class Result:
    """One workload of a page, with its improvements computed anew.

    Attributes:
        workload: as it was read.
        improvements: in percent with two decimals, by thread count; None where a figure lacks.
        headline: their arithmetic mean with two decimals; None where one of them lacks.
    """

    workload: Workload
    improvements: Mapping[int, Decimal | None]
    headline: Decimal | None

    @property
    def compares(self) -> bool:
        """Whether there are figures of two versions."""
        return len(self.workload.versions) == 2 and self.workload.metric is not None

    @property
    def missing(self) -> tuple[int, ...]:
        """The thread counts without an improvement."""
        return tuple(threads for threads, value in self.improvements.items() if value is None)

    @property
    def wrong(self) -> tuple[Row, ...]:
        """The rows whose printed improvement no figures give that print as theirs do."""
        return tuple(row for row in self.workload.rows if _is_wrong(row, self.workload))

    def improvement(self, threads: int) -> str:
        """The improvement at one thread count, without its percent sign."""
        return percent(self.improvements.get(threads))


@dataclass(frozen=True)
class Table:
    """One table as text; ``title`` stands above it where a workload has several."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """The results of one workload.

    Attributes:
        title: as the heading has it.
        tables: none where the page prints no figures.
    """

    title: str
    result: Result
    tables: tuple[Table, ...]

    @property
    def stem(self) -> str:
        """The name of its chart's file."""
        return self.result.workload.name


def section(workload: Workload, language: Language, *, alone: bool) -> Section:
    """The results of one workload in a language; ``alone`` as in :func:`tables`."""
    result = recompute(workload)
    return Section(title_of(workload.name), result, tables(result, language, alone=alone))


def recompute(workload: Workload) -> Result:
    """A workload with its improvements and their mean, computed from the printed figures.

    The mean is that of the improvements as they are shown: a reader can recompute it.
    """
    if len(workload.versions) != 2:
        return Result(workload, {row.threads: None for row in workload.rows}, None)
    found = {row.threads: _rounded(improvement(row, workload)) for row in workload.rows}
    return Result(workload, found, _rounded(headline(workload)))


def percent(value: Decimal | None) -> str:
    """A change in percent, as the published pages have it: two decimals, a sign where negative."""
    return MISSING if value is None else f"{value:.{DECIMALS}f}"


def direction(change: Decimal | int) -> str:
    """Which way a change goes, as the locale files have it."""
    return "up" if change > 0 else "down" if change < 0 else "same"


def metrics(workload: Workload) -> tuple[Metric, ...]:
    """The metrics that its rows have, in their order."""
    found = (metric for row in workload.rows for side in row.sides.values() for metric in side)
    return tuple(dict.fromkeys(found))


def tables(result: Result, language: Language, *, alone: bool) -> tuple[Table, ...]:
    """The tables of a workload in the shape that the page has; none where it has no figures.

    Args:
        alone: the page is about one version, and so are these results: columns need not name it.
    """
    workload = result.workload
    if not metrics(workload):
        return ()  # a table of which no cell has a figure
    match workload.shape:
        case None:
            return ()
        case "version_column":
            return (_version_column(result, language),)
        case "table_per_version":
            return tuple(_table_per_version(result, language))
        case "metrics_then_latencies":
            latencies = [metric for metric in metrics(workload) if metric not in THROUGHPUTS]
            rates = [metric for metric in metrics(workload) if metric in THROUGHPUTS]
            columns = [(version, m) for m in (*rates, *latencies) for version in _order(workload)]
            return (_side_by_side(result, columns, language, named=True),)
        case "pairs" | "single_version":
            columns = [(v, metric) for v in _order(workload) for metric in metrics(workload)]
            named = not alone or _names_version(workload)
            return (_side_by_side(result, columns, language, named=named),)


def heading(metric: Metric, language: Language) -> str:
    """The heading of a column of figures."""
    return NAMES.get(metric) or language.say("published-latency")


def _side_by_side(
    result: Result, columns: list[tuple[str, Metric]], language: Language, *, named: bool
) -> Table:
    """A row is a thread count, and each version has columns."""
    workload = result.workload
    header = [language.say("published-threads")]
    header += [f"{v} {heading(m, language)}" if named else heading(m, language) for v, m in columns]
    rows = [
        [str(row.threads), *(figure(row, version, metric) for version, metric in columns)]
        for row in workload.rows
    ]
    if result.compares:
        header.append(_improvement_heading(workload, language))
        for cells, row in zip(rows, workload.rows, strict=True):
            cells.append(_improvement(result, row))
    return _table("", header, rows)


def _version_column(result: Result, language: Language) -> Table:
    """A row is a version at a thread count; the improvement stands with the candidate."""
    workload = result.workload
    shown = metrics(workload)
    header = [language.say("published-version"), language.say("published-threads")]
    header += [heading(metric, language) for metric in shown]
    if result.compares:
        header.append(_improvement_heading(workload, language))
    rows = []
    for version in reversed(workload.versions):
        for row in workload.rows:
            if not _stands(row, version):
                continue
            cells = [version, str(row.threads), *(figure(row, version, m) for m in shown)]
            if result.compares:
                of_candidate = version == workload.versions[-1]
                cells.append(_improvement(result, row) if of_candidate else "")
            rows.append(cells)
    return _table("", header, rows)


def _table_per_version(result: Result, language: Language) -> Iterator[Table]:
    """A table each version; that of the candidate has the improvement."""
    workload = result.workload
    shown = metrics(workload)
    for version in workload.versions:
        header = [language.say("published-threads"), *(heading(m, language) for m in shown)]
        there = [row for row in workload.rows if _stands(row, version)]
        rows = [[str(row.threads), *(figure(row, version, m) for m in shown)] for row in there]
        if result.compares and version == workload.versions[-1]:
            header.append(_improvement_heading(workload, language))
            for cells, row in zip(rows, there, strict=True):
                cells.append(_improvement(result, row))
        yield _table(version, header, rows)


def _stands(row: Row, version: str) -> bool:
    """Whether a version has a line at a thread count: a count without any figure is missing of
    every version, and not left out.
    """
    return version in row.sides or not row.sides


def figure(row: Row, version: str, metric: Metric) -> str:
    """A figure as it is printed."""
    printed = row.sides.get(version, {}).get(metric)
    return MISSING if printed is None else printed.text


def _improvement(result: Result, row: Row) -> str:
    text = result.improvement(row.threads)
    return text if text == MISSING or _in_heading(result.workload) else f"{text}%"


def _improvement_heading(workload: Workload, language: Language) -> str:
    name = heading(workload.metric, language) if workload.metric else ""
    text = language.say("published-improvement", metric=name)
    return f"{text} (%)" if _in_heading(workload) else text


def _in_heading(workload: Workload) -> bool:
    """Whether the page has the percent sign in the heading of a column instead of its cells."""
    return any(_PERCENT_IN_HEADING.search(column) for column in workload.columns)


def _names_version(workload: Workload) -> bool:
    return any(version in column for version in workload.versions for column in workload.columns)


def _order(workload: Workload) -> tuple[str, ...]:
    """The versions as the columns of the page have them, from left to right."""

    def place(version: str) -> int:
        named = [at for at, column in enumerate(workload.columns) if version in column.split()]
        return named[0] if named else len(workload.columns)

    return tuple(sorted(workload.versions, key=place))


def _is_wrong(row: Row, workload: Workload) -> bool:
    printed, bounds = row.improvement, improvement_bounds(row, workload)
    if printed is None or bounds is None:
        return False
    return not bounds.allow(printed.value, printed.rounding)


def _rounded(value: Decimal | None) -> Decimal | None:
    if value is None:
        return None
    rounded = rounded_to(value, DECIMALS)
    return rounded if rounded else abs(rounded)  # there is a negative zero, too


def _table(title: str, header: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    return Table(title, tuple(header), tuple(tuple(row) for row in rows))
