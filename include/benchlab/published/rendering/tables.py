"""Tables of a published page's results: its own figures, as printed, in its own layout.

The improvements are not the page's: each is computed anew from the figures beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from benchlab.language import Language
from benchlab.language.names import title_of
from benchlab.language.numbers import MISSING
from benchlab.published.audit.recompute import DECIMALS, headline, improvements, rounded_to
from benchlab.published.reading.model import THROUGHPUTS, Metric, Row, Workload

NAMES: Mapping[Metric, str] = {"qps": "QPS", "tps": "TPS", "tpmc": "tpmC"}
_PERCENT_IN_HEADING = re.compile(r"[(（]\s*[%％]\s*[)）]")


@dataclass(frozen=True)
class Table:
    """One table as text; ``title`` stands above it where a workload has several."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """The results of one workload, with its improvements computed anew.

    Attributes:
        title: as the heading has it.
        workload: as it was read.
        improvements: in percent with two decimals, by thread count; None where a figure is missing.
        headline: their arithmetic mean with two decimals; None where one of them is missing.
        tables: none where the page prints no figures.
    """

    title: str
    workload: Workload
    improvements: Mapping[int, Decimal | None]
    headline: Decimal | None
    tables: tuple[Table, ...]

    def recomputed(self, threads: int | None) -> str:
        """The improvement at a thread count, or the mean of all (None), with its sign."""
        value = self.headline if threads is None else self.improvements.get(threads)
        return MISSING if value is None else f"{value:+.{DECIMALS}f}%"


def section(workload: Workload, language: Language, *, alone: bool) -> Section:
    """The results of one workload, in the shape that the page has.

    The mean is over the improvements as they are shown: a reader can recompute it.

    Args:
        alone: the page is about one version, and so are these results: columns need not name it.

    >>> section(report.workloads[0], english(), alone=False).recomputed(None)  # doctest: +SKIP
    '+12.34%'
    """
    found = {threads: _rounded(value) for threads, value in improvements(workload).items()}
    tables = tuple(_tables(workload, found, language, alone=alone))
    return Section(title_of(workload.name), workload, found, _rounded(headline(workload)), tables)


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


def compares(workload: Workload) -> bool:
    """Whether there are figures of two versions."""
    return len(workload.versions) == 2 and workload.metric is not None


def _tables(
    workload: Workload,
    improvements: Mapping[int, Decimal | None],
    language: Language,
    *,
    alone: bool,
) -> Iterator[Table]:
    """In the shape of the page; a workload of which no cell has a figure has none."""
    shown = metrics(workload)
    if not shown or workload.shape is None:
        return
    names = {m: NAMES.get(m) or language.say("published-latency") for m in shown}
    column = _improvement_column(workload, improvements, language)
    threads = language.say("published-threads")
    match workload.shape:
        case "version_column":
            first = (language.say("published-version"), threads, *names.values())
            yield _version_column(workload, first, shown, column)
        case "table_per_version":
            yield from _table_per_version(workload, (threads, *names.values()), shown, column)
        case "metrics_then_latencies":
            ordered = sorted(shown, key=lambda metric: metric not in THROUGHPUTS)
            columns = [(version, metric) for metric in ordered for version in _order(workload)]
            headings = [f"{version} {names[metric]}" for version, metric in columns]
            yield _side_by_side(workload, (threads, *headings), columns, column)
        case "pairs" | "single_version":
            columns = [(version, metric) for version in _order(workload) for metric in shown]
            named = not alone or _names_version(workload)
            headings = [f"{v} {names[m]}" if named else names[m] for v, m in columns]
            yield _side_by_side(workload, (threads, *headings), columns, column)


def _side_by_side(
    workload: Workload,
    header: tuple[str, ...],
    columns: Sequence[tuple[str, Metric]],
    last: _Column,
) -> Table:
    """A row is a thread count, and each version has columns."""
    rows = ((*_cells(row, columns), *last.cells[row.threads]) for row in workload.rows)
    return Table("", (*header, *last.heading), tuple(rows))


def _version_column(
    workload: Workload, header: tuple[str, ...], shown: Sequence[Metric], last: _Column
) -> Table:
    """A row is a version at a thread count; the improvement stands with the candidate."""
    rows = [
        (
            *(version, *_cells(row, [(version, metric) for metric in shown])),
            *(last.cells[row.threads] if version == workload.versions[-1] else last.empty),
        )
        for version in reversed(workload.versions)
        for row in _standing(workload, version)
    ]
    return Table("", (*header, *last.heading), tuple(rows))


def _table_per_version(
    workload: Workload, header: tuple[str, ...], shown: Sequence[Metric], last: _Column
) -> Iterator[Table]:
    """A table each version; the candidate's has the improvement."""
    for version in workload.versions:
        columns = [(version, metric) for metric in shown]
        of_candidate = version == workload.versions[-1]
        rows = [
            (*_cells(row, columns), *(last.cells[row.threads] if of_candidate else ()))
            for row in _standing(workload, version)
        ]
        yield Table(version, (*header, *(last.heading if of_candidate else ())), tuple(rows))


def _cells(row: Row, columns: Sequence[tuple[str, Metric]]) -> Iterator[str]:
    """The thread count and figures as printed, each of a version and a metric."""
    yield str(row.threads)
    for version, metric in columns:
        printed = row.sides.get(version, {}).get(metric)
        yield MISSING if printed is None else printed.text


def _standing(workload: Workload, version: str) -> Iterator[Row]:
    """The rows of a version: a count without any figure is missing of every version, and not left
    out.
    """
    return (row for row in workload.rows if version in row.sides or not row.sides)


class _Column(NamedTuple):
    """The column of improvements: its heading, its cell at each thread count, and an empty cell;
    each is () where nothing compares.
    """

    heading: tuple[str, ...]
    cells: Mapping[int, tuple[str, ...]]
    empty: tuple[str, ...]


def _improvement_column(
    workload: Workload, improvements: Mapping[int, Decimal | None], language: Language
) -> _Column:
    """The percent sign stands where the page has it: in the heading, or in the cells."""
    if workload.metric is None or not compares(workload):
        return _Column((), dict.fromkeys(improvements, ()), ())
    heading = language.say("published-improvement", metric=NAMES[workload.metric])
    in_heading = any(map(_PERCENT_IN_HEADING.search, workload.columns))
    sign = "" if in_heading else "%"
    cells = {
        threads: (percent(value) + sign * (value is not None),)
        for threads, value in improvements.items()
    }
    return _Column((f"{heading} (%)" if in_heading else heading,), cells, ("",))


def _names_version(workload: Workload) -> bool:
    return any(version in column for version in workload.versions for column in workload.columns)


def _order(workload: Workload) -> tuple[str, ...]:
    """The versions as the columns of the page have them, from left to right."""

    def place(version: str) -> int:
        named = [at for at, column in enumerate(workload.columns) if version in column.split()]
        return named[0] if named else len(workload.columns)

    return tuple(sorted(workload.versions, key=place))


def _rounded(value: Decimal | None) -> Decimal | None:
    # abs: Decimal has a negative zero
    return None if value is None else rounded_to(value, DECIMALS) or Decimal("0.00")
