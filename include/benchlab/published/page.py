"""Reads a published page: a performance test report in Markdown, English or Chinese.

Nothing is guessed. A table is read as a whole or not at all, and what is not read is in
``unread`` with its place and reason; :func:`whole` refuses a page that has such a table.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import yaml

from benchlab.errors import PublishedPageError, meaning_of
from benchlab.language import english
from benchlab.language.names import plain
from benchlab.published import document, recompute, setting, tables, version_names, words
from benchlab.published.document import Document, Element
from benchlab.published.model import (
    Claim,
    PageKind,
    Place,
    PublishedReport,
    Row,
    StatedSetting,
    Unread,
    Workload,
)
from benchlab.published.sentences import claims
from benchlab.published.tables import NotUnderstoodError, ResultTable

# A page's budget: published ones have some 20 KB in 500 lines, and each line and letter takes time.
MOST_BYTES = 250_000
MOST_LINES = 10_000
_LINE_END = re.compile(rb"\r\n|\r|\n")
_KINDS: Mapping[PageKind, str] = {"sysbench": "sysbench", "tpcc": "tpc-c"}


def load(path: Path) -> tuple[PublishedReport, bytes]:
    """Read a page from its file, which may be a pipe: it is read once.

    Returns:
        The report, and the bytes of the page, which its ``sha256`` belongs to.

    Raises:
        PublishedPageError: it cannot be read, is not UTF-8 text, is too long, or is not a report.

    >>> report, page = load(Path("sysbench-v5.2.0-vs-v5.1.1.md"))  # doctest: +SKIP
    >>> report.versions  # doctest: +SKIP
    ('v5.1.1', 'v5.2.0')
    """
    try:
        with path.open("rb") as file:
            page = file.read(MOST_BYTES + 1)
    except OSError as e:
        raise PublishedPageError(f"{path}: cannot be read: {meaning_of(e)}") from e
    return read(page, path.name, str(path)), page


def whole(report: PublishedReport, where: str) -> PublishedReport:
    """The same report, if every table of its page was understood.

    Raises:
        PublishedPageError: a table was not; names each with its line, heading and reason.
    """
    unread = [one for one in report.unread if one.is_table]
    if unread:
        raise PublishedPageError(
            f"{where}: not imported, as it is not understood whole; `benchlab audit` reads the "
            "rest:\n"
            + "\n".join(
                f"  line {one.line}, below {shown(one.heading)!r}: {plain(one.why(english()))}"
                for one in unread
            )
        )
    return report


def read(raw: bytes, source: str, where: str | None = None) -> PublishedReport:
    """Read a page.

    Args:
        raw: the page, in UTF-8.
        source: the file's name, for the report.
        where: the file's path, for messages; None: ``source``.

    Raises:
        PublishedPageError: it is not UTF-8 text, is too long or empty, or is not a performance
            test report in English or Chinese.
    """
    where = where or source
    try:
        page = document.parse(_text(raw, where))
    except (yaml.YAMLError, RecursionError) as e:
        mark = getattr(e, "problem_mark", None)
        raise PublishedPageError(
            f"{where}, line {(mark.line if mark else 0) + 2}: the front matter is no YAML; put a "
            "text with a colon in quotes"
        ) from e
    language, kind, titled = _language(page, where), _kind(page, where), _versions(page, where)
    contents = _Contents(page, kind, titled)
    contents.read_tables()
    contents.turn()
    contents.read_sentences()
    workloads, versions = contents.workloads(), contents.versions
    if not workloads and not contents.claims and not contents.unread:
        raise PublishedPageError(
            f"{where}, line {page.title_line}: no performance test report: neither a table of "
            "results nor a sentence that states a change in percent"
        )
    stated = contents.setting()
    report = PublishedReport(
        id=f"{kind}-{'-vs-'.join(reversed(versions))}-{language}",
        source=source,
        sha256=hashlib.sha256(raw).hexdigest(),
        title=page.title,
        kind=kind,
        language=language,
        versions=versions,
        exact_versions=setting.exact_versions(stated, versions),
        workloads=workloads,
        claims=tuple(contents.claims),
        setting=stated,
        unread=tuple(sorted(contents.unread, key=lambda unread: unread.line)),
    )
    return replace(report, id=f"cloud-{report.id}") if report.is_about_cloud else report


def shown(text: str) -> str:
    """The text without control characters, cut if it is long."""
    text = plain(text)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _text(raw: bytes, where: str) -> str:
    """The page's text; a byte order mark and line ends are kept."""
    if len(raw) > MOST_BYTES:
        raise PublishedPageError(
            f"{where}, line {_line(raw, MOST_BYTES)}: longer than {MOST_BYTES // 1000} KB; "
            "no published page"
        )
    if (lines := len(_LINE_END.findall(raw))) > MOST_LINES:
        raise PublishedPageError(
            f"{where}, line {MOST_LINES + 1}: {lines} lines, more than {MOST_LINES}; no published "
            "page"
        )
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as e:
        raise PublishedPageError(
            f"{where}, line {_line(raw, e.start)}: no UTF-8 text, byte 0x{raw[e.start]:02x}; save "
            "it as UTF-8"
        ) from e
    if "\0" in text:
        line = _line(raw, raw.index(b"\0"))
        raise PublishedPageError(f"{where}, line {line}: a NUL character; no UTF-8 text")
    if not text.strip("\ufeff \t\r\n"):
        raise PublishedPageError(f"{where}, line 1: the page is empty")
    return text


def _line(raw: bytes, place: int) -> int:
    return raw[:place].count(b"\n") + 1


# ---------------------------------------------------------------- what the page is about


def _kind(page: Document, where: str) -> PageKind:
    """The kind that the title names."""
    if not page.title:
        raise PublishedPageError(
            f"{where}, line 1: no title; give it one in the front matter or as a heading"
        )
    title = page.title.lower()
    kinds = [kind for kind, name in _KINDS.items() if name in title]
    if len(kinds) != 1:
        raise PublishedPageError(
            f"{where}, line {page.title_line}: {shown(page.title)!r} is a report of neither "
            "Sysbench nor TPC-C, or of both; the title has to name one"
        )
    return kinds[0]


def _language(page: Document, where: str) -> str:
    """``zh`` if the title is Chinese, else ``en``."""
    headings = [(page.title_line, page.title)]
    headings += [(e.line, e.text) for e in page.elements if 0 < e.level <= 2]
    for line, text in headings:
        if words.foreign(text):
            raise PublishedPageError(
                f"{where}, line {line}: the heading {shown(text)!r} is neither English nor "
                "Chinese; only pages in these are read"
            )
    return "zh" if words.chinese(page.title) else "en"


def _versions(page: Document, where: str) -> tuple[str, ...]:
    """The one version of the title, or the two that it compares, the older first."""
    named, versions = version_names.named(page.title), version_names.compared(page.title)
    if len(named) == 1:
        return versions or named
    if len(named) != 2 or not versions:
        raise PublishedPageError(
            f"{where}, line {page.title_line}: the title {shown(page.title)!r} names "
            f'{len(named) or "no"} versions; a report is about one, or says "A vs. B" of two'
        )
    return versions


# ---------------------------------------------------------------- contents


@dataclass
class _Section:
    """What the page has of one workload."""

    heading: str
    line: int
    tables: list[ResultTable] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)


@dataclass
class _Contents:
    """Reads tables, then sentences, but for the sections that only Benchlab's reports have.

    Attributes:
        versions: the page's, the baseline first.
        claims: those of summary and overview.
    """

    page: Document
    kind: PageKind
    versions: tuple[str, ...]
    claims: list[Claim] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    sections: dict[str, _Section] = field(default_factory=dict)
    turned: bool = False

    @cached_property
    def is_benchlab_s(self) -> bool:
        """Whether it is a report of Benchlab's, or a page that Benchlab rendered again."""
        return words.by_benchlab(one.text for one in self.page.elements if one.kind == "heading")

    @cached_property
    def elements(self) -> tuple[Element, ...]:
        """Those that are not in Benchlab's own sections."""
        elements = self.page.elements
        if not self.is_benchlab_s:
            return elements
        return tuple(one for one in elements if setting.part(one) != "own")

    # ------------------------------------------------------------ tables

    def read_tables(self) -> None:
        """Read every table as a whole, or list it as unread."""
        for before, element in zip((None, *self.elements), self.elements, strict=False):
            try:
                if element.kind == "table in HTML":
                    raise NotUnderstoodError(element, "html")
                if element.kind == "table":
                    self._table(element, before)
            except NotUnderstoodError as error:
                self.unread.append(error.unread)

    def _table(self, element: Element, before: Element | None) -> None:
        topic = words.topic(element.table[0])
        if topic is None or (topic == "own" and not self.is_benchlab_s):
            strange = [one for one in element.table[0] if not words.column(one)]
            columns = " | ".join(element.table[0])
            if not strange:
                raise NotUnderstoodError(element, "no-threads", columns=columns)
            raise NotUnderstoodError(element, "columns", columns=columns, strange=strange[0])
        if element.aside and not words.folded_by_benchlab(element.aside):
            raise NotUnderstoodError(element, "aside", where=element.aside)
        if topic != "results" or element.aside:
            return
        section = self._section(element)
        if section is None:
            raise NotUnderstoodError(element, "no-workload", name=element.heading)
        version, above = self._version(element, before)
        table = tables.read(element, version)
        others = {label for there in section.tables for label in there.labels}
        if section.tables and (not above or others & set(table.labels) or len(others) > 1):
            raise NotUnderstoodError(element, "further", first=str(section.tables[0].line))
        section.tables.append(table)

    def _section(self, element: Element) -> _Section | None:
        """That of the innermost heading but a version's; on a page about TPC-C, any heading's."""
        headings = [
            heading
            for heading in element.headings
            if version_names.label(words.plain(heading.text)) is None
        ]
        nearest = headings[-1] if headings else Element("heading", 1, self.page.title)
        name = words.workload(nearest.text) or ("tpcc" if self.kind == "tpcc" else None)
        section = _Section(nearest.text, nearest.line)
        return self.sections.setdefault(name, section) if name else None

    def _version(self, element: Element, before: Element | None) -> tuple[str | None, bool]:
        """The version of all figures of a table, and whether a heading or caption says it."""
        caption = before.text if before and before.kind in ("paragraph", "item") else ""
        for text in (caption, element.heading):
            if version := version_names.label(words.plain(text).rstrip(": ")):
                return version, True
        return (self.versions[0] if len(self.versions) == 1 else None), False

    def turn(self) -> None:
        """Take the newer version for the baseline, if all printed improvements are against it."""
        right, turned = (
            [
                not recompute.is_wrong(row, workload)
                for workload in self.workloads(turned=turned)
                for row in workload.rows
                if row.improvement and recompute.improvement(row, workload)
            ]
            for turned in (False, True)
        )
        if all(turned) and not all(right):
            self.turned, self.versions = True, self.versions[::-1]

    def workloads(self, *, turned: bool | None = None) -> tuple[Workload, ...]:
        """All workloads with a table, a claim or a chart, in the page's order."""
        turned = self.turned if turned is None else turned
        return tuple(
            _workload(name, section, turned=turned)
            for name, section in sorted(self.sections.items(), key=lambda item: item[1].line)
            if section.tables or section.claims or section.charts
        )

    # ------------------------------------------------------------ sentences

    def read_sentences(self) -> None:
        """Read the sentences of summary, overview and results that state changes in percent."""
        page = self.page
        self._claims(Element("paragraph", page.summary_line, text=page.summary), "summary")
        for element in self.elements:
            part = setting.part(element)
            if element.kind in ("paragraph", "item") and part in (None, "overview", "results"):
                section = self._section(element) if part == "results" else None
                self._claims(element, "section" if section else "overview", section)
                if section:
                    section.charts.extend(element.images)

    def _claims(self, element: Element, place: Place, section: _Section | None = None) -> None:
        of_page = "tpcc" if self.kind == "tpcc" else None
        about = next((name for name, one in self.sections.items() if one is section), of_page)
        for one in claims(element, place, self.versions, about):
            if isinstance(one, Unread):
                self.unread.append(one)
            else:
                (section or self).claims.append(one)

    def setting(self) -> StatedSetting:
        """What the page says of how it was measured."""
        claims = [*self.claims, *(c for found in self.sections.values() for c in found.claims)]
        lines = [one.line for one in claims] + [one.line for one in self.unread]
        return setting.setting(self.elements, lines)


def _workload(name: str, section: _Section, *, turned: bool) -> Workload:
    main = section.tables[0] if section.tables else None
    rows: dict[int, Row] = {}
    for table in section.tables:
        for row in table.rows:
            there = rows.get(row.threads, replace(row, sides={}))
            sides = {**there.sides, **row.sides}
            improvement = there.improvement or row.improvement
            rows[row.threads] = replace(there, sides=sides, improvement=improvement)
    labels = version_names.baseline_first([one for table in section.tables for one in table.labels])
    several = len(section.tables) > 1
    return Workload(
        name=name,
        heading=section.heading,
        line=section.line,
        metric=main.metric if main else None,
        shape="table_per_version" if several else main.shape if main else None,
        columns=main.columns if main else (),
        versions=labels[::-1] if turned else labels,
        rows=tuple(rows.values()),
        claims=tuple(section.claims),
        charts=tuple(dict.fromkeys(section.charts)),
    )
