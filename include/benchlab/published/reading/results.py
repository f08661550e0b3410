"""The tables of one workload as its rows.

Tables that complete each other stand beside each other: of another version, or of another metric at
the same thread counts. A further table of what is there already was measured in some other setting;
it is listed, with the sentences below it, and so is a figure that one table prints in two ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchlab.plan import versions as versions_module
from benchlab.published.reading import version_names
from benchlab.published.reading.model import (
    THROUGHPUTS,
    Claim,
    Metric,
    Printed,
    Row,
    Shape,
    Unread,
    Workload,
)
from benchlab.published.reading.tables import Line, ResultTable, shown

_MOST_VERSIONS = 2


@dataclass
class Section:
    """What the page has of one workload, as far as it was read.

    Attributes:
        heading: the page's own; of several the one that stands above its first table, or first.
        line: of that heading.
    """

    name: str
    heading: str
    line: int
    tables: list[ResultTable] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)


def workload(section: Section, versions: Sequence[str]) -> tuple[Workload, list[Unread]]:
    """The results of one workload, and what could not be told apart.

    Args:
        section: what was read.
        versions: of the page's title, the baseline first.
    """
    tables = section.tables
    spellings = _spellings(tables)
    labels = tuple(dict.fromkeys(spellings.values()))
    unread: list[Unread] = []
    if len(labels) > _MOST_VERSIONS:
        what = (
            f"a table of results: {section.name} has {len(labels)} versions ({', '.join(labels)})"
        )
        unread = [Unread(table.line, f"{what}; two can be compared") for table in tables]
        tables, labels = [], ()
    tables, others = _complementary(tables, spellings)
    metric = _metric(section.name, tables)
    main = next((table for table in tables if table.metric == metric), None)
    rows = _Rows(spellings, metric)
    for table in tables:
        rows.add(table)
    claims, doubtful = _told(section.claims, tables, others)
    unread.extend(_of_other_setting(table) for table in others)
    unread.extend(
        Unread(claim.line, f"a sentence below a table that is not taken: {shown(claim.text)}")
        for claim in doubtful
    )
    return Workload(
        name=section.name,
        heading=section.heading,
        metric=metric,
        shape=_shape(main, labels) if main else None,
        columns=main.columns if main else (),
        versions=version_names.baseline_first(labels, versions),
        rows=tuple(rows.read()),
        claims=tuple(claims),
        charts=tuple(dict.fromkeys(section.charts)),
        line=section.line,
    ), [*unread, *rows.unread]


def _spellings(tables: Sequence[ResultTable]) -> Mapping[str, str]:
    """Each version's label as it stands, and as where it stands first."""
    found: dict[str, str] = {}
    for table in tables:
        for label in (*table.labels, *(label for line in table.lines for label in line.sides)):
            known = (first for first in found.values() if versions_module.is_same(first, label))
            found.setdefault(label, next(known, label))
    return found


def _metric(name: str, tables: Sequence[ResultTable]) -> Metric | None:
    """The throughput that decides, of those that a table is about: of TPC-C tpmC."""
    there = {table.metric for table in tables}
    candidates: tuple[Metric, ...] = ("tpmc", *THROUGHPUTS) if name == "tpcc" else THROUGHPUTS
    return next((metric for metric in candidates if metric in there), None)


_Cells = set[tuple[str, Metric]]


def _complementary(
    tables: Sequence[ResultTable], spellings: Mapping[str, str]
) -> tuple[list[ResultTable], list[ResultTable]]:
    """The tables that stand beside each other, and those that print the same things again.

    A table of a metric that is not there yet has to have the thread counts of its versions.
    """
    taken: list[ResultTable] = []
    others: list[ResultTable] = []
    known: list[tuple[_Cells, set[int]]] = []
    for table in tables:
        cells = _cells(table, spellings)
        threads = {line.threads for line in table.lines}
        if all(_completes(cells, threads, *each) for each in known):
            taken.append(table)
            known.extend([(cells, threads)] if cells else [])
        else:
            others.append(table)
    return taken, others


def _completes(cells: _Cells, threads: set[int], known: _Cells, at: set[int]) -> bool:
    same_versions = {label for label, _ in cells} & {label for label, _ in known}
    return not cells & known and (not same_versions or threads == at)


def _cells(table: ResultTable, spellings: Mapping[str, str]) -> _Cells:
    return {
        (spellings[label], metric)
        for line in table.lines
        for label, printed in line.sides.items()
        for metric in printed
    }


def _told(
    claims: Sequence[Claim], tables: Sequence[ResultTable], others: Sequence[ResultTable]
) -> tuple[list[Claim], list[Claim]]:
    """The sentences about the tables, and those whose next table above is not taken."""
    lines = {table.line: True for table in tables} | {table.line: False for table in others}
    found: tuple[list[Claim], list[Claim]] = ([], [])
    for claim in claims:
        above = [line for line in lines if line < claim.line]
        found[not lines[max(above)] if above else 0].append(claim)
    return found


def _of_other_setting(table: ResultTable) -> Unread:
    columns = shown(" | ".join(table.columns))
    return Unread(
        table.line,
        f"a further table of results ({columns}): the same figures as above, of another setting, "
        "or at other threads",
    )


def _shape(main: ResultTable, labels: Sequence[str]) -> Shape:
    """Of all tables: two tables of one version each are ``table_per_version``."""
    alone = main.shape == "single_version"
    return "table_per_version" if alone and len(labels) > 1 else main.shape


class _Rows:
    """Rows by thread count, in the page's order."""

    def __init__(self, spellings: Mapping[str, str], metric: Metric | None) -> None:
        self._spellings, self._metric = spellings, metric
        self._lines: dict[int, int] = {}
        self._sides: dict[tuple[int, str], dict[Metric, Printed]] = {}
        self._improvements: dict[int, Printed] = {}
        self._doubtful: set[tuple[int, str | None]] = set()
        self.unread: list[Unread] = []

    def add(self, table: ResultTable) -> None:
        """Take the figures of one table, and its improvements where they are of the metric."""
        if table.metric != self._metric and any(line.improvement for line in table.lines):
            what = f"improvements of {table.metric}: {self._metric} decides"
            self.unread.append(Unread(table.line, what))
        for line in table.lines:
            self._lines.setdefault(line.threads, line.line)
            for label, printed in line.sides.items():
                known = self._sides.setdefault((line.threads, self._spellings[label]), {})
                if any(known[m].value != p.value for m, p in printed.items() if m in known):
                    self._doubt(line, self._spellings[label])
                for metric, figure in printed.items():
                    known.setdefault(metric, figure)
            if line.improvement is not None and table.metric == self._metric:
                first = self._improvements.setdefault(line.threads, line.improvement)
                if first.value != line.improvement.value:
                    self._doubt(line, None)

    def read(self) -> list[Row]:
        """All rows, without what is printed in two ways."""
        sides: dict[int, dict[str, Mapping[Metric, Printed]]] = {}
        for (threads, label), printed in self._sides.items():
            if (threads, label) not in self._doubtful:
                sides.setdefault(threads, {})[label] = printed
        doubtful = {threads for threads, _ in self._doubtful}
        return [
            Row(
                threads=threads,
                sides=sides.get(threads, {}),
                improvement=None if threads in doubtful else self._improvements.get(threads),
                line=line,
            )
            for threads, line in self._lines.items()
        ]

    def _doubt(self, line: Line, label: str | None) -> None:
        self._doubtful.add((line.threads, label))
        what = f"of {label}" if label else "of the improvement"
        self.unread.append(
            Unread(
                line.line,
                f"other figures {what} at {line.threads} threads than from line "
                f"{self._lines[line.threads]} on; neither is taken",
            )
        )
