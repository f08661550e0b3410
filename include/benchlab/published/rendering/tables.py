"""Result tables of a published page: its own figures as printed, in its own layout.

The improvements are not the page's own: each is recomputed from the figures next to it.
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
    """One table as text; ``title`` is empty unless a workload has several tables."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """The results of one workload, with recomputed improvements.

    Attributes:
        improvements: in percent with two decimals, by thread count; None if a figure is missing.
        headline: their arithmetic mean with two decimals; None if one of them is missing.
        tables: empty if the page prints no figures.
    """

    title: str
    workload: Workload
    improvements: Mapping[int, Decimal | None]
    headline: Decimal | None
    tables: tuple[Table, ...]

    def recomputed(self, threads: int | None) -> str:
        """The improvement at a thread count, or with None the mean of all, signed: ``+12.34%``."""
        value = self.headline if threads is None else self.improvements.get(threads)
        return MISSING if value is None else f"{value:+.{DECIMALS}f}%"


def section(workload: Workload, language: Language, *, alone: bool) -> Section:
    """The results of one workload, in the shape that the page has.

    The mean is over the improvements as shown, so that a reader can recompute it. If page and
    results are about one version alone, columns need not name it.

    >>> section(report.workloads[0], english(), alone=False).recomputed(None)  # doctest: +SKIP
    '+12.34%'
    """
    found = {threads: _rounded(value) for threads, value in improvements(workload).items()}
    tables = tuple(_tables(workload, found, language, alone=alone))
    mean = headline(workload)
    shown = _rounded(mean.exact if mean else None)
    return Section(title_of(workload.name), workload, found, shown, tables)


def percent(value: Decimal | None) -> str:
    """A change in percent, as on published pages: two decimals, a sign only if negative."""
    return MISSING if value is None else f"{value:.{DECIMALS}f}"


def direction(change: Decimal | int) -> str:
    """The direction of a change as locale files name it: ``up``, ``down`` or ``same``."""
    return "up" if change > 0 else "down" if change < 0 else "same"


def metrics(workload: Workload) -> tuple[Metric, ...]:
    """The metrics of the workload's rows, in order."""
    found = (metric for row in workload.rows for side in row.sides.values() for metric in side)
    return tuple(dict.fromkeys(found))


def compares(workload: Workload) -> bool:
    """Whether the workload has throughput of two versions."""
    return len(workload.versions) == 2 and workload.metric is not None


def _tables(
    workload: Workload,
    improvements: Mapping[int, Decimal | None],
    language: Language,
    *,
    alone: bool,
) -> Iterator[Table]:
    """The tables in the page's shape; none if the workload has no figures."""
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
    """A table with a row per thread count, and columns for each version."""
    rows = ((*_cells(row, columns), *last.cells[row.threads]) for row in workload.rows)
    return Table("", (*header, *last.heading), tuple(rows))


def _version_column(
    workload: Workload, header: tuple[str, ...], shown: Sequence[Metric], last: _Column
) -> Table:
    """A table with a row per version and thread count; the candidate's have the improvement."""
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
    """A table per version; the candidate's has the improvement."""
    for version in workload.versions:
        columns = [(version, metric) for metric in shown]
        of_candidate = version == workload.versions[-1]
        rows = [
            (*_cells(row, columns), *(last.cells[row.threads] if of_candidate else ()))
            for row in _standing(workload, version)
        ]
        yield Table(version, (*header, *(last.heading if of_candidate else ())), tuple(rows))


def _cells(row: Row, columns: Sequence[tuple[str, Metric]]) -> Iterator[str]:
    """The thread count and the figures as printed, one for each version and metric."""
    yield str(row.threads)
    for version, metric in columns:
        printed = row.sides.get(version, {}).get(metric)
        yield MISSING if printed is None else printed.text


def _standing(workload: Workload, version: str) -> Iterator[Row]:
    """The rows of a version; a thread count without any figure is kept for every version."""
    return (row for row in workload.rows if version in row.sides or not row.sides)


class _Column(NamedTuple):
    """The column of improvements: its heading, its cell at each thread count, and an empty cell.

    Each is () if nothing is compared.
    """

    heading: tuple[str, ...]
    cells: Mapping[int, tuple[str, ...]]
    empty: tuple[str, ...]


def _improvement_column(
    workload: Workload, improvements: Mapping[int, Decimal | None], language: Language
) -> _Column:
    """The percent sign is where the page has it: in the heading or in the cells."""
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
    """The versions in the order of the page's columns."""

    def place(version: str) -> int:
        named = [at for at, column in enumerate(workload.columns) if version in column.split()]
        return named[0] if named else len(workload.columns)

    return tuple(sorted(workload.versions, key=place))


def _rounded(value: Decimal | None) -> Decimal | None:
    # abs: Decimal has a negative zero
    return None if value is None else rounded_to(value, DECIMALS) or Decimal("0.00")
