"""Reads a table of results: figures by version, thread count and metric.

A table is understood as a whole or not at all: if its columns are ambiguous, it is listed as
unread. In a table that is understood, a cell that is not a figure is listed and the rest is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchlab.plan.document_tables import THROUGHPUTS, Metric, Shape
from benchlab.published.reading import version_names
from benchlab.published.reading.document import Element
from benchlab.published.reading.model import Printed, Row, Unread
from benchlab.published.reading.vocabulary import Column, column
from benchlab.published.reading.wording import plain

_MOST_SHOWN = 60


@dataclass(frozen=True)
class ResultTable:
    """A table that was understood.

    Attributes:
        shape: ``single_version`` if its columns have figures of one version.
        metric: the throughput that its improvements are about; None if it has no throughput.
        labels: the versions as it spells them, in order.
        unread: cells, rows and columns that were not understood.
    """

    line: int
    columns: tuple[str, ...]
    shape: Shape
    metric: Metric | None
    labels: tuple[str, ...]
    rows: tuple[Row, ...]
    unread: tuple[Unread, ...]


def has_figures(table: Element) -> bool:
    """Whether a column of the table is a metric."""
    return any(column(heading).role == "metric" for heading in table.table[0])


def read(table: Element, version: str | None) -> ResultTable | Unread:
    """Read a table of results; an :class:`Unread` says why it was not understood.

    A heading or caption may name the version of all its figures.
    """
    headings = table.table[0]
    printed = [column(heading) for heading in headings]
    # v5.0 and 5.0 are the same version.
    spellings = version_names.first_spellings(of.label for of in printed if of.label is not None)
    columns = [replace(of, label=of.label and spellings[of.label]) for of in printed]
    if problem := _problem(columns, version):
        return Unread(table.line, f"a table of results ({shown(' | '.join(headings))}): {problem}")
    metric = _metric(columns)
    columns = [_of_metric(of, metric) for of in columns]
    unread = [
        Unread(table.line, f"the column {shown(heading)!r}")
        for heading, of in zip(headings, columns, strict=True)
        if of.role == "unknown"
    ]
    rows = tuple(_rows(table, columns, version, unread))
    labels = _labels(columns) or tuple(dict.fromkeys(label for row in rows for label in row.sides))
    return ResultTable(
        line=table.line,
        columns=headings,
        shape=_shape(columns),
        metric=metric,
        labels=labels or ((version,) if version else ()),
        rows=rows,
        unread=tuple(unread),
    )


def shown(text: str) -> str:
    """The text, cut if it is long."""
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


# ---------------------------------------------------------------- columns


def _problem(columns: Sequence[Column], version: str | None) -> str | None:
    """Why the columns cannot be understood; None if they can."""
    roles = [of.role for of in columns]
    metrics = [(of.label, of.metric) for of in columns if of.role == "metric"]
    labelled = {label is not None for label, _ in metrics}
    if roles.count("threads") != 1:
        return f"{roles.count('threads')} columns of threads"
    if roles.count("version") > 1 or roles.count("improvement") > 1:
        return "several columns of versions or of improvements"
    if not metrics or len(set(metrics)) < len(metrics):
        return "the same figure twice" if metrics else "no column of figures"
    if len(labelled) > 1 or ("version" in roles and True in labelled):
        return "a version for some figures alone, or twice for the same"
    if len(_labels(columns)) > 2:
        return f"{len(_labels(columns))} versions; two can be compared"
    if "version" not in roles and labelled == {False} and version is None:
        return "nothing says of which version"
    return None


def _labels(columns: Sequence[Column]) -> tuple[str, ...]:
    labels = (of.label for of in columns if of.role == "metric")
    return tuple(dict.fromkeys(label for label in labels if label is not None))


def _metric(columns: Sequence[Column]) -> Metric | None:
    """The throughput that the improvements name, else the first one of THROUGHPUTS."""
    there = [of.metric for of in columns if of.role == "metric"]
    named = [of.metric for of in columns if of.role == "improvement"]
    candidates = (*named, *THROUGHPUTS)
    return next((metric for metric in candidates if metric and metric in there), None)


def _of_metric(of: Column, metric: Metric | None) -> Column:
    """The column; improvements of another metric than the table's are unknown."""
    another = of.role == "improvement" and (metric is None or of.metric not in (None, metric))
    return replace(of, role="unknown") if another else of


def _shape(columns: Sequence[Column]) -> Shape:
    if any(of.role == "version" for of in columns):
        return "version_column"
    if len(_labels(columns)) < 2:
        return "single_version"
    metrics = [of.metric for of in columns if of.role == "metric"]
    several = len(set(metrics)) > 1
    beside = all(a == b for a, b in zip(metrics[::2], metrics[1::2], strict=False))
    return "metrics_then_latencies" if several and beside else "pairs"


# ---------------------------------------------------------------- rows


def _rows(
    table: Element, columns: Sequence[Column], version: str | None, unread: list[Unread]
) -> Iterator[Row]:
    """The rows with a thread count; what cannot be read is added to ``unread``."""
    for cells, line in zip(table.table[1:], table.lines[1:], strict=True):
        if all(is_missing(cell) for cell in cells):
            continue
        if len(cells) != len(columns):
            # Nobody can say which cell is missing, so every cell could be in the wrong column.
            what = f"a row of {len(cells)} cells below {len(columns)} headings"
            unread.append(Unread(line, what))
            continue
        row = list(zip(cells, columns, strict=True))
        threads = next(thread_count(cell) for cell, of in row if of.role == "threads")
        labels = [version_names.label(cell) for cell, of in row if of.role == "version"]
        label = labels[0] if labels else version
        if threads is None or (label is None and not _labels(columns)):
            missing = "thread count" if threads is None else "version"
            unread.append(Unread(line, f"a row without {missing} ({shown(' | '.join(cells))})"))
            continue
        yield _row(row, threads, line, label, unread)


def _row(
    row: Sequence[tuple[str, Column]],
    threads: int,
    line: int,
    version: str | None,
    unread: list[Unread],
) -> Row:
    sides: dict[str, dict[Metric, Printed]] = {}
    improvement = None
    for cell, of in row:
        if of.role not in ("metric", "improvement") or is_missing(cell):
            continue
        if of.role == "improvement":
            printed = improvement = percentage(cell, in_heading=of.percent)
        else:
            printed = milliseconds(cell) if of.metric == "p95_ms" else number(cell)
            if printed and of.metric and (label := of.label or version):
                sides.setdefault(label, {})[of.metric] = printed
        if printed is None:
            unread.append(Unread(line, f"the cell {shown(cell)!r}"))
    return Row(threads, sides, improvement, line)


# ---------------------------------------------------------------- cells

_MISSING = frozenset({"", "-", "--", "/", "n/a", "na", "none", "null", "无"})
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,3}(?:,[0-9]{3}){1,6}|[0-9]{1,20})(?:\.[0-9]{1,20})?")
_UNIT = re.compile(r"(?<=[0-9])\s*(?:ms|毫秒)", re.IGNORECASE)
_COUNT = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,7}")
_PRODUCT = re.compile(r"\s*[*×xX]\s*")
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
    text = plain(cell)
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
