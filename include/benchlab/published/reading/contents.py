"""Sorts a page's contents: tables, sentences and charts by workload, and the overview.

Tables of one workload are combined if they complete each other: if they have other versions, or
another metric at the same thread counts. A table that repeats cells was measured in another
setting: it is listed as unread, with the sentences below it. So is a figure printed in two ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchlab.plan.document_tables import THROUGHPUTS, Metric
from benchlab.published.reading import tables, version_names, vocabulary
from benchlab.published.reading.document import Document, Element
from benchlab.published.reading.model import Claim, PageKind, Place, Row, Unread, Workload
from benchlab.published.reading.sentences import claims
from benchlab.published.reading.tables import ResultTable, shown
from benchlab.published.reading.vocabulary import Area
from benchlab.published.reading.wording import with_percent_signs

_MOST_VERSIONS = 2
_MOST_CAPTION = 40  # characters of a caption that does not end with a colon
_FEW_BARS = 3  # from this many "|" on, text may be a broken table


@dataclass(frozen=True)
class _Heading:
    level: int
    text: str
    line: int
    area: Area | None
    workload: str | None


@dataclass
class _Section:
    """What the page has about one workload, as far as it was read.

    Attributes:
        heading: the page's own; if there are several, the one above the first table, or the first.
        line: the line of that heading.
    """

    name: str
    heading: str
    line: int
    tables: list[ResultTable] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)


@dataclass
class Contents:
    """Reads a page once, from top to bottom: ``contents.walk()``, then ``contents.workloads()``.

    Attributes:
        claims: the claims of title, summary and overview.
        unread: what was not understood.
        tables_unread: how many parts look like results and were not understood.
    """

    page: Document
    kind: PageKind
    claims: list[Claim] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    tables_unread: int = 0

    def __post_init__(self) -> None:
        first = next(iter(self.page.headings), None)
        is_title = first and (first.level == 1 or first.text == self.page.title)
        self._title_line = first.line if first and is_title else 0
        self._versions = version_names.of_title(self.page.title)
        self._above: list[_Heading] = []
        self._sections: dict[str, _Section] = {}
        self._before: Element | None = None

    def walk(self) -> None:
        """Read the page from top to bottom."""
        page = self.page
        self.unread.extend(page.unread)
        self._claim(Element("heading", page.title_line, text=page.title), "title")
        self._claim(Element("paragraph", page.summary_line, text=page.summary), "summary")
        for element in page.elements:
            if element.commented:
                if element.kind == "table" and tables.has_figures(element):
                    self._list(element.line, "a table of results within a comment")
            elif element.kind == "heading":
                self._heading(element)
            elif element.kind == "table":
                self._table(element)
            else:
                self._text(element)
            self._before = element

    def workloads(self) -> tuple[Workload, ...]:
        """All workloads with a table, a claim or a chart, in the page's order."""
        found = []
        for section in self._sections.values():
            workload, unread = _workload(section, self._versions)
            self.unread.extend(unread)
            self.tables_unread += len(unread)
            if workload.shape or workload.claims or workload.charts:
                found.append(workload)
        return tuple(found)

    # ------------------------------------------------------------ where

    def _heading(self, element: Element) -> None:
        while self._above and self._above[-1].level >= element.level:
            self._above.pop()
        area, workload = vocabulary.area(element.text), vocabulary.workload(element.text)
        if element.line == self._title_line:  # the title is about the whole page
            area = workload = None
        self._above.append(_Heading(element.level, element.text, element.line, area, workload))

    def _area(self) -> Area | None:
        return next((h.area for h in reversed(self._above) if h.area), None)

    def _nearest(self) -> _Heading | None:
        """The nearest heading that names a workload; on a page about TPC-C, any heading does."""
        named = next((h for h in reversed(self._above) if h.workload), None)
        if named or self.kind != "tpcc":
            return named
        of_results = next((h for h in reversed(self._above) if h.area == "results"), None)
        title = _Heading(0, self.page.title, self.page.title_line, None, None)
        return replace(of_results or (self._above or [title])[-1], workload="tpcc")

    def _section(self, heading: _Heading) -> _Section:
        name = heading.workload or ""
        return self._sections.setdefault(name, _Section(name, heading.text, heading.line))

    def _version(self) -> str | None:
        """The version that caption, headings or title give for all figures of a table."""
        texts = [h.text for h in reversed(self._above) if h.line != self._title_line]
        if self._before is not None and self._before.kind in ("paragraph", "item"):
            caption = self._before.text
            short = caption.endswith((":", "：")) or len(caption) <= _MOST_CAPTION
            if short and "%" not in with_percent_signs(caption):
                texts.insert(0, caption)
        for text in texts:
            # One of the title's versions, or one with a "v" as TiDB's have; not a tool's.
            named = {
                version
                for version in version_names.named(text)
                if version[0] in "vV"
                or any(version_names.same_version(version, own) for own in self._versions)
            }
            if named:
                return named.pop() if len(named) == 1 else None
        return self._versions[0] if len(self._versions) == 1 else None

    # ------------------------------------------------------------ what

    def _list(self, line: int, what: str) -> None:
        self.unread.append(Unread(line, what))
        self.tables_unread += 1

    def _claim(self, element: Element, place: Place, workload: str | None = None) -> None:
        self.claims.extend(claims([element], place, workload))

    def _table(self, element: Element) -> None:
        headings = shown(" | ".join(element.table[0]))
        nearest = self._nearest()
        if not tables.has_figures(element):
            if self._area() == "results":
                self._list(element.line, f"a table without figures of a known metric ({headings})")
        elif nearest is None:
            self._list(element.line, f"a table of results ({headings}): no heading says of what")
        else:
            found = tables.read(element, self._version())
            if isinstance(found, Unread):
                self._list(found.line, found.what)
                return
            section = self._section(nearest)
            if not section.tables:
                section.heading, section.line = nearest.text, nearest.line
            section.tables.append(found)
            self.unread.extend(found.unread)

    def _text(self, element: Element) -> None:
        """A paragraph, an item, code or a comment."""
        area, nearest = self._area(), self._nearest()
        if area == "setting":
            return
        of_results = nearest is not None and (
            area == "results" or any(h.workload for h in self._above)
        )
        if element.text.count("|") >= _FEW_BARS:
            if of_results or element.kind != "code":
                self._list(element.line, "lines with | that make no table")
        elif element.kind in ("paragraph", "item"):
            if nearest is not None and of_results and area != "overview":
                section = self._section(nearest)
                section.charts.extend(element.images)
                section.claims.extend(claims([element], "section", section.name))
            else:
                workload = nearest.workload if nearest and of_results else None
                self._claim(element, "overview", workload)


# ---------------------------------------------------------------- one workload


def _workload(section: _Section, versions: Sequence[str]) -> tuple[Workload, list[Unread]]:
    """The results of one workload, and what is doubtful; ``versions`` are the title's."""
    tables = section.tables
    spellings = version_names.first_spellings(
        label
        for table in tables
        for label in (*table.labels, *(label for row in table.rows for label in row.sides))
    )
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
    shape = main.shape if main else None
    if shape == "single_version" and len(labels) > 1:  # two tables of one version each
        shape = "table_per_version"
    rows = _Rows(spellings, metric)
    for table in tables:
        rows.add(table)
    claims, doubtful = _claims(section.claims, tables, others)
    unread.extend(
        Unread(
            table.line,
            f"a further table of results ({shown(' | '.join(table.columns))}): the same figures as "
            "above, of another setting, or at other threads",
        )
        for table in others
    )
    unread.extend(
        Unread(claim.line, f"a sentence below a table that is not taken: {shown(claim.text)}")
        for claim in doubtful
    )
    return Workload(
        name=section.name,
        heading=section.heading,
        metric=metric,
        shape=shape,
        columns=main.columns if main else (),
        versions=version_names.baseline_first(labels, versions),
        rows=tuple(rows.read()),
        claims=tuple(claims),
        charts=tuple(dict.fromkeys(section.charts)),
        line=section.line,
    ), [*unread, *rows.unread]


def _metric(name: str, tables: Sequence[ResultTable]) -> Metric | None:
    """The throughput that decides, among those in the tables; for TPC-C preferably tpmC."""
    there = {table.metric for table in tables}
    candidates: tuple[Metric, ...] = ("tpmc", *THROUGHPUTS) if name == "tpcc" else THROUGHPUTS
    return next((metric for metric in candidates if metric in there), None)


_Cells = set[tuple[str, Metric]]


def _complementary(
    tables: Sequence[ResultTable], spellings: Mapping[str, str]
) -> tuple[list[ResultTable], list[ResultTable]]:
    """The tables that complete each other, and those that repeat cells.

    A table that adds a metric must have the same thread counts as the others of its versions.
    """
    taken: list[ResultTable] = []
    others: list[ResultTable] = []
    known: list[tuple[_Cells, set[int]]] = []
    for table in tables:
        cells = _cells(table, spellings)
        versions = {label for label, _ in cells}
        threads = {row.threads for row in table.rows}
        if all(
            not cells & there and (threads == at or not versions & {label for label, _ in there})
            for there, at in known
        ):
            taken.append(table)
            known.extend([(cells, threads)] if cells else [])
        else:
            others.append(table)
    return taken, others


def _cells(table: ResultTable, spellings: Mapping[str, str]) -> _Cells:
    return {
        (spellings[label], metric)
        for row in table.rows
        for label, printed in row.sides.items()
        for metric in printed
    }


def _claims(
    claims: Sequence[Claim], tables: Sequence[ResultTable], others: Sequence[ResultTable]
) -> tuple[list[Claim], list[Claim]]:
    """The sentences about the tables, and those whose nearest table above was left out."""
    lines = {table.line: True for table in tables} | {table.line: False for table in others}
    found: tuple[list[Claim], list[Claim]] = ([], [])
    for claim in claims:
        above = [line for line in lines if line < claim.line]
        found[not lines[max(above)] if above else 0].append(claim)
    return found


class _Rows:
    """Rows by thread count, in the page's order."""

    def __init__(self, spellings: Mapping[str, str], metric: Metric | None) -> None:
        self._spellings, self._metric = spellings, metric
        self._found: dict[int, Row] = {}
        self._doubtful: set[tuple[int, str | None]] = set()
        self.unread: list[Unread] = []

    def add(self, table: ResultTable) -> None:
        """Add the figures of one table, and its improvements if they are about the metric."""
        of_metric = table.metric == self._metric
        if not of_metric and any(row.improvement for row in table.rows):
            what = f"improvements of {table.metric}: {self._metric} decides"
            self.unread.append(Unread(table.line, what))
        for row in table.rows:
            self._add(row if of_metric else replace(row, improvement=None))

    def _add(self, row: Row) -> None:
        first = self._found.setdefault(row.threads, replace(row, sides={}))
        sides = dict(first.sides)
        for label, printed in row.sides.items():
            spelling = self._spellings[label]
            known = sides.get(spelling, {})
            if any(known[m].value != p.value for m, p in printed.items() if m in known):
                self._doubt(row, spelling)
            sides[spelling] = {**known, **printed, **known}
        improvement = first.improvement or row.improvement
        if row.improvement and improvement and improvement.value != row.improvement.value:
            self._doubt(row, None)
        self._found[row.threads] = replace(first, sides=sides, improvement=improvement)

    def read(self) -> Iterator[Row]:
        """All rows, without figures that are printed in two ways."""
        for threads, row in self._found.items():
            doubtful = {label for at, label in self._doubtful if at == threads}
            sides = {label: side for label, side in row.sides.items() if label not in doubtful}
            improvement = None if doubtful else row.improvement
            yield replace(row, sides=sides, improvement=improvement)

    def _doubt(self, row: Row, label: str | None) -> None:
        self._doubtful.add((row.threads, label))
        what = f"of {label}" if label else "of the improvement"
        self.unread.append(
            Unread(
                row.line,
                f"other figures {what} at {row.threads} threads than from line "
                f"{self._found[row.threads].line} on; neither is taken",
            )
        )
