"""Reads a table of results, as a whole or not at all: figures by version, threads and metric."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchlab.plan.fields.published import THROUGHPUTS, Metric
from benchlab.plan.versions import order
from benchlab.published import version_names
from benchlab.published.document import Element
from benchlab.published.model import Printed, Row, Unread
from benchlab.published.version_names import same_version
from benchlab.published.words import Column, column, plain


class NotUnderstoodError(Exception):
    """A table is not understood; ``unread`` says where and why."""

    def __init__(self, table: Element, id: str, line: int = 0, **values: str) -> None:  # noqa: A002
        super().__init__(id)
        self.unread = Unread(line or table.line, table.heading, id, values)


@dataclass(frozen=True)
class ResultTable:
    """A table that was understood.

    Attributes:
        line: of its heading row.
        metric: the throughput that its improvements are about.
        versions: as it spells them, the older first.
        rows: one for each thread count, with the figures of all versions.
    """

    line: int
    metric: Metric
    versions: tuple[str, ...]
    rows: tuple[Row, ...]


def read(table: Element, version: str | None) -> ResultTable:
    """Read a table of results.

    Args:
        version: of figures whose columns and rows name none, such as the page's only version.

    Raises:
        NotUnderstoodError: its columns are unknown or contradict each other, a cell is not a
            figure, or it has more than two versions.

    >>> cells = ("Threads", "v5.1.1 QPS", "v5.2.0 QPS"), ("8", "100", "110")
    >>> read(Element("table", 1, table=cells, lines=(1, 3)), None).versions
    ('v5.1.1', 'v5.2.0')
    """
    columns = _columns(table, version)
    metric = _metric(table, columns)
    rows: dict[int, Row] = {}
    labels: set[tuple[int, str | None]] = set()
    for label, row in _rows(table, columns, metric, version):
        if (row.threads, label) in labels:
            threads = str(row.threads)
            raise NotUnderstoodError(table, "threads-twice", row.line, threads=threads)
        labels.add((row.threads, label))
        rows[row.threads] = _together(rows.get(row.threads, row), row)
    named = {of.label for of in columns} | {label for _, label in labels}
    versions = sorted((one for one in named if one), key=order)
    if len(versions) > 2:
        raise NotUnderstoodError(table, "versions", versions=", ".join(versions))
    return ResultTable(table.line, metric, tuple(versions), tuple(rows.values()))


def joined(one: ResultTable, other: ResultTable) -> ResultTable | None:
    """Join two tables of one version each into one; None if they cannot be joined.

    They must have the same metric and different versions.
    """
    if len(one.versions) != 1 or len(other.versions) != 1 or one.metric != other.metric:
        return None
    if same_version(*one.versions, *other.versions):
        return None
    rows = {row.threads: row for row in one.rows}
    rows |= {row.threads: _together(rows.get(row.threads, row), row) for row in other.rows}
    versions = sorted((*one.versions, *other.versions), key=order)
    return replace(one, versions=tuple(versions), rows=tuple(rows.values()))


def _together(one: Row, other: Row) -> Row:
    """Merge the figures of two versions at one thread count."""
    sides = {**one.sides, **other.sides}
    return replace(one, sides=sides, improvement=one.improvement or other.improvement)


# ---------------------------------------------------------------- columns


def _columns(table: Element, version: str | None) -> list[Column]:
    """The meaning of each column; none may be unknown or appear twice."""
    printed = [column(heading) for heading in table.table[0]]
    columns = [of for of in printed if of]
    headings = " | ".join(table.table[0])
    roles = [of.role for of in columns]
    if len(columns) < len(printed):
        strange = table.table[0][printed.index(None)]
        raise NotUnderstoodError(table, "columns", columns=headings, strange=strange)
    if "threads" not in roles:
        raise NotUnderstoodError(table, "no-threads", columns=headings)
    # v5.0 and 5.0 are the same version.
    spellings = version_names.first_spellings(of.label for of in columns if of.label is not None)
    columns = [replace(of, label=of.label and spellings[of.label]) for of in columns]
    kept = [of for of in columns if of.role != "unused"]
    improvements = [of.metric for of in columns if of.role == "improvement"]
    if len(set(kept)) < len(kept) or (len(improvements) > 1 and None in improvements):
        raise NotUnderstoodError(table, "twice")
    is_labelled = {of.label is not None for of in columns if of.role == "metric"}
    if len(is_labelled) > 1 or ("version" in roles and True in is_labelled):
        raise NotUnderstoodError(table, "some-versions")
    if "version" not in roles and is_labelled == {False} and version is None:
        raise NotUnderstoodError(table, "no-version")
    return columns


def _metric(table: Element, columns: Sequence[Column]) -> Metric:
    """The throughput that improvements name, else the first of THROUGHPUTS."""
    there = [of.metric for of in columns if of.role == "metric"]
    named = [of.metric for of in columns if of.role == "improvement" and of.metric in there]
    deciding = (metric for metric in THROUGHPUTS if metric in (named or there))
    if metric := next(deciding, None):
        return metric
    raise NotUnderstoodError(table, "no-throughput")


# ---------------------------------------------------------------- rows


def _rows(
    table: Element, columns: Sequence[Column], metric: Metric, version: str | None
) -> Iterator[tuple[str | None, Row]]:
    """Each row with its version; None if the columns name versions."""
    label = None if any(of.label for of in columns) else version
    for cells, line in zip(table.table[1:], table.lines[1:], strict=True):
        if len(cells) != len(columns):
            # Which cell is missing is unknown, so every cell could be in the wrong column.
            width, wanted = str(len(cells)), str(len(columns))
            raise NotUnderstoodError(table, "row", line, cells=width, headings=wanted)
        yield _row(table, columns, metric, cells, line, label)


def _row(
    table: Element,
    columns: Sequence[Column],
    metric: Metric,
    cells: Sequence[str],
    line: int,
    label: str | None,
) -> tuple[str | None, Row]:
    threads: int | None = None
    improvement: Printed | None = None
    figures: list[tuple[Column, Printed]] = []
    for heading, of, cell in zip(table.table[0], columns, cells, strict=True):
        value: object
        if of.role == "threads":
            value = threads = thread_count(cell)
        elif of.role == "version":
            value = label = version_names.label(plain(cell))
        elif of.role == "unused" or is_missing(cell):
            continue
        elif of.role == "improvement":
            value = change = percentage(cell, in_heading=of.percent)
            improvement = change if of.metric in (None, metric) else improvement
        else:
            value = figure = milliseconds(cell) if of.metric == "p95_ms" else number(cell)
            figures += [(of, figure)] if figure else []
        if value is None:
            raise NotUnderstoodError(table, "cell", line, cell=cell, column=heading)
    sides: dict[str, dict[Metric, Printed]] = {}
    for of, figure in figures:
        if (side := of.label or label) and of.metric:
            sides.setdefault(side, {})[of.metric] = figure
    return label, Row(threads or 0, sides, improvement, line)


# ---------------------------------------------------------------- cells

_MISSING = frozenset({"", "-", "--", "/", "n/a", "na", "none", "null", "无"})
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,3}(?:,[0-9]{3}){1,6}|[0-9]{1,20})(?:\.[0-9]{1,20})?")
_UNIT = re.compile(r"(?<=[0-9]) ?(?:ms|毫秒)", re.IGNORECASE)
_COUNT = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,7}")
_PRODUCT = re.compile(r" ?[*×xX] ?")
_MOST_THREADS = 1_000_000


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no figure: it is empty, a dash or ``n/a``."""
    return plain(cell).lower() in _MISSING


def number(cell: str) -> Printed | None:
    """A throughput; None if the cell is not a number.

    A comma separates thousands: ``12,5`` may mean twelve and a half, and is refused.

    >>> number("174,402.5"), number("12,5")
    (Printed(text='174,402.5'), None)
    """
    text = plain(cell)
    return Printed(text) if _NUMBER.fullmatch(text) else None


def milliseconds(cell: str) -> Printed | None:
    """A latency, with or without its unit; None if the cell is not one.

    >>> milliseconds("12.5 ms")
    Printed(text='12.5')
    """
    return number(_UNIT.sub("", plain(cell)))


def percentage(cell: str, *, in_heading: bool) -> Printed | None:
    """A change in percent, without its percent sign; None if the cell is not one.

    Args:
        in_heading: whether the heading says that its cells are percentages. If neither heading nor
            cell does, ``1.05`` could be a ratio, and is refused.

    >>> percentage("1.05%", in_heading=False), percentage("1.05", in_heading=False)
    (Printed(text='1.05'), None)
    """
    text = plain(cell)
    if text.endswith("%"):
        return number(text[:-1])
    return number(text) if in_heading else None


def thread_count(cell: str) -> int | None:
    """A thread count: ``150``, ``1,024``, or clients x threads (``64 * 4`` is 256); else None."""
    product = 1
    for factor in _PRODUCT.split(plain(cell)):
        if not _COUNT.fullmatch(factor):
            return None
        product *= int(factor.replace(",", ""))
        if not 0 < product <= _MOST_THREADS:
            return None
    return product
