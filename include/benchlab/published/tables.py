"""Reads a table of results: figures by version, thread count and metric, all of it or nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchlab.plan.document_tables import THROUGHPUTS, Metric, Shape
from benchlab.published import version_names
from benchlab.published.document import Element
from benchlab.published.model import Printed, Row, Unread
from benchlab.published.words import Column, column, plain


class NotUnderstoodError(Exception):
    """A table is not understood: ``unread`` says why, and where."""

    def __init__(self, table: Element, id: str, line: int = 0, **values: str) -> None:  # noqa: A002
        super().__init__(id)
        self.unread = Unread(line or table.line, table.heading, id, values)


@dataclass(frozen=True)
class ResultTable:
    """A table that was understood.

    Attributes:
        shape: ``single_version`` if its columns have figures of one version.
        metric: the throughput that its improvements are about.
        labels: the versions as it spells them, in order.
    """

    line: int
    columns: tuple[str, ...]
    shape: Shape
    metric: Metric
    labels: tuple[str, ...]
    rows: tuple[Row, ...]


def read(table: Element, version: str | None) -> ResultTable:
    """Read a table of results whose headings are understood.

    Args:
        version: of all its figures, as the page's only one or that of the heading above it.

    Raises:
        NotUnderstoodError: its columns contradict each other, or a cell is no figure.
    """
    printed = [found for heading in table.table[0] if (found := column(heading))]
    # v5.0 and 5.0 are the same version.
    spellings = version_names.first_spellings(of.label for of in printed if of.label is not None)
    columns = [replace(of, label=of.label and spellings[of.label]) for of in printed]
    metric = _metric(table, columns)
    _check(table, columns, version)
    columns = [replace(of, role="known") if _of_another(of, metric) else of for of in columns]
    rows = list(_rows(table, columns, version))
    named = [of.label for of in columns if of.label] or [label for label, _ in rows if label]
    labels = tuple(dict.fromkeys(named))
    if len(labels) > 2:
        raise NotUnderstoodError(table, "versions", versions=", ".join(labels))
    return ResultTable(
        line=table.line,
        columns=table.table[0],
        shape=_shape(columns, labels),
        metric=metric,
        labels=labels,
        rows=_merged(table, rows),
    )


# ---------------------------------------------------------------- columns


def _metric(table: Element, columns: Sequence[Column]) -> Metric:
    """The throughput that improvements name, else the first of THROUGHPUTS."""
    there = [of.metric for of in columns if of.role == "metric"]
    named = [of.metric for of in columns if of.role == "improvement" and of.metric in there]
    deciding = (metric for metric in THROUGHPUTS if metric in (named or there))
    if metric := next(deciding, None):
        return metric
    raise NotUnderstoodError(table, "no-throughput")


def _of_another(of: Column, metric: Metric) -> bool:
    """Whether it has improvements of another throughput than the one that decides."""
    return of.role == "improvement" and of.metric not in (None, metric)


def _check(table: Element, columns: Sequence[Column], version: str | None) -> None:
    """Raise NotUnderstoodError if the columns can be read in two ways."""
    roles = [of.role for of in columns]
    metrics = [(of.label, of.metric) for of in columns if of.role == "metric"]
    improvements = [of.metric for of in columns if of.role == "improvement"]
    labelled = {label is not None for label, _ in metrics}
    repeated = [of for of in (metrics, improvements) if len(set(of)) < len(of)]
    if repeated or roles.count("threads") > 1 or roles.count("version") > 1:
        raise NotUnderstoodError(table, "twice")
    if len(improvements) > 1 and None in improvements:
        raise NotUnderstoodError(table, "twice")
    if len(labelled) > 1 or ("version" in roles and True in labelled):
        raise NotUnderstoodError(table, "some-versions")
    if "version" not in roles and labelled == {False} and version is None:
        raise NotUnderstoodError(table, "no-version")


def _shape(columns: Sequence[Column], labels: Sequence[str]) -> Shape:
    if any(of.role == "version" for of in columns):
        return "version_column"
    if not any(of.label for of in columns) or len(labels) < 2:
        return "single_version"
    metrics = [of.metric for of in columns if of.role == "metric"]
    several = len(set(metrics)) > 1
    beside = all(a == b for a, b in zip(metrics[::2], metrics[1::2], strict=False))
    return "metrics_then_latencies" if several and beside else "pairs"


# ---------------------------------------------------------------- rows


def _rows(
    table: Element, columns: Sequence[Column], version: str | None
) -> Iterator[tuple[str | None, Row]]:
    """Each row with the version that its cells or the table's heading name."""
    for cells, line in zip(table.table[1:], table.lines[1:], strict=True):
        if len(cells) != len(columns):
            # Nobody can say which cell is missing, so every cell could be in the wrong column.
            width, wanted = str(len(cells)), str(len(columns))
            raise NotUnderstoodError(table, "row", line, cells=width, headings=wanted)
        yield _row(table, list(zip(cells, columns, strict=True)), line, version)


def _row(
    table: Element, row: Sequence[tuple[str, Column]], line: int, version: str | None
) -> tuple[str | None, Row]:
    threads, label = 0, version
    for cell, of in row:
        if of.role == "threads":
            threads = thread_count(cell) or 0
        elif of.role == "version":
            label = version_names.label(plain(cell))
        if (of.role == "threads" and not threads) or (of.role == "version" and not label):
            raise NotUnderstoodError(table, "cell", line, cell=cell, column=of.role)
    sides: dict[str, dict[Metric, Printed]] = {}
    improvement = None
    for heading, (cell, of) in zip(table.table[0], row, strict=True):
        if of.role not in ("metric", "improvement") or is_missing(cell):
            continue
        if of.role == "improvement":
            printed = improvement = percentage(cell, in_heading=of.percent)
        else:
            printed = milliseconds(cell) if of.metric == "p95_ms" else number(cell)
            if printed and of.metric and (side := of.label or label):
                sides.setdefault(side, {})[of.metric] = printed
        if printed is None:
            raise NotUnderstoodError(table, "cell", line, cell=cell, column=heading)
    return label, Row(threads, sides, improvement, line)


def _merged(table: Element, rows: Sequence[tuple[str | None, Row]]) -> tuple[Row, ...]:
    """One row for each thread count, the versions of it together.

    Raises:
        NotUnderstoodError: a version has two rows of one thread count.
    """
    merged: dict[int, Row] = {}
    for at, (label, row) in enumerate(rows):
        if any((label, row.threads) == (other, one.threads) for other, one in rows[:at]):
            threads = str(row.threads)
            raise NotUnderstoodError(table, "threads-twice", row.line, threads=threads)
        there = merged.get(row.threads, row)
        improvement = there.improvement or row.improvement
        sides = {**there.sides, **row.sides}
        merged[row.threads] = replace(there, sides=sides, improvement=improvement)
    return tuple(merged.values())


# ---------------------------------------------------------------- cells

_MISSING = frozenset({"", "-", "--", "/", "n/a", "na", "none", "null", "无"})
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,3}(?:,[0-9]{3}){1,6}|[0-9]{1,20})(?:\.[0-9]{1,20})?")
_UNIT = re.compile(r"(?<=[0-9]) ?(?:ms|毫秒)", re.IGNORECASE)
_COUNT = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,7}")
_PRODUCT = re.compile(r" ?[*×xX] ?")
_MOST_THREADS = 1_000_000


def is_missing(cell: str) -> bool:
    """Whether the cell says that there is no figure: it is empty, a dash or ``n/a``."""
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
    """A latency, with or without its unit; None if the cell is not one."""
    return number(_UNIT.sub("", plain(cell)))


def percentage(cell: str, *, in_heading: bool) -> Printed | None:
    """A change in percent, without its percent sign; None if the cell is not one.

    Args:
        in_heading: whether the heading says that its cells are percentages. If neither heading nor
            cell does, ``1.05`` may just as well be a ratio, and is refused.
    """
    text = plain(cell).replace("\u00a0", " ")
    if text.endswith("%"):
        return number(text[:-1])
    return number(text) if in_heading else None


def thread_count(cell: str) -> int | None:
    """A thread count: ``150``, ``1,024``, or clients x threads (``64 * 4`` is 256); or None."""
    product = 1
    for factor in _PRODUCT.split(plain(cell)):
        if not _COUNT.fullmatch(factor):
            return None
        product *= int(factor.replace(",", ""))
        if not 0 < product <= _MOST_THREADS:
            return None
    return product
