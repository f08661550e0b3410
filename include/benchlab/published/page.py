"""Reads a published page: a performance test report in Markdown, English or Chinese.

Nothing is guessed. A table is read as a whole or not at all; what is not read is listed in
``unread`` with its place and reason, and :func:`whole` refuses a page with such a table.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import yaml

from benchlab.errors import PublishedPageError, meaning_of
from benchlab.language import english
from benchlab.language.names import plain
from benchlab.published import document, tables, version_names, words
from benchlab.published.document import Document, Element
from benchlab.published.model import Claim, PageKind, Place, PublishedReport, Unread, Workload
from benchlab.published.procedure import procedure
from benchlab.published.sentences import claims
from benchlab.published.tables import NotUnderstoodError, ResultTable

# Limits on the time of reading: published pages have some 20 KB in 500 lines.
MOST_BYTES = 250_000
MOST_LINES = 10_000
_LINE_END = re.compile(rb"\r\n|\r|\n")
_KINDS: Mapping[PageKind, str] = {"sysbench": "sysbench", "tpcc": "tpc-c"}
_EXACT = re.compile(r"(?:TiDB version|TiDB 版本)\s*[:：]\s*(.+)", re.DOTALL)


def load(path: Path) -> tuple[PublishedReport, bytes]:
    """Read a page from its file, which may be a pipe: it is read once.

    Returns:
        The report, and the bytes of the page, whose hash is the report's ``sha256``.

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
    """Return the report if every table of its page was understood.

    Args:
        where: the file's path, for messages.

    Raises:
        PublishedPageError: a table was not; names each with its line, heading and reason.
    """
    unread = [one for one in report.unread if one.is_table]
    if unread:
        raise PublishedPageError(
            f"{where}: not imported, as it is not understood whole; `benchlab audit` reads the "
            "rest:\n"
            + "\n".join(
                f"  line {one.line}, below {_shown(one.heading)!r}: {plain(one.why(english()))}"
                for one in unread
            )
        )
    return report


def read(raw: bytes, source: str, where: str | None = None) -> PublishedReport:
    r"""Read a page.

    Args:
        raw: the page, in UTF-8.
        source: the file's name, for the report.
        where: the file's path, for messages; None: ``source``.

    Raises:
        PublishedPageError: it is not UTF-8 text, is too long or empty, or is not a performance
            test report.

    >>> table = b"| Threads | v5.1.1 QPS | v5.2.0 QPS |\n|---|---|---|\n| 8 | 100 | 110 |"
    >>> read(b"# Sysbench v5.2.0 vs. v5.1.1\n\n## Insert\n\n" + table, "page.md").versions
    ('v5.1.1', 'v5.2.0')
    """
    where = where or source
    try:
        page = document.parse(_text(raw, where))
    except (yaml.YAMLError, RecursionError) as e:
        mark = getattr(e, "problem_mark", None)
        raise PublishedPageError(
            f"{where}, line {(mark.line if mark else 0) + 2}: the front matter is not YAML; put "
            "text with a colon in quotes"
        ) from e
    kind, versions = _kind(page, where), _versions(page, where)
    _refuse_other_language(page, where)
    contents = _Contents(page, kind, versions)
    contents.read()
    workloads, unread = tuple(contents.workloads()), contents.unread
    if not workloads and not contents.claims and not unread:
        raise PublishedPageError(
            f"{where}, line {page.title_line}: not a performance test report: it has neither a "
            "table of results nor a sentence that states a change in percent"
        )
    language = "zh" if re.search(r"[\u3400-\u4dbf\u4e00-\u9fff]", page.title) else "en"
    report = PublishedReport(
        id=f"{kind}-{'-vs-'.join(reversed(versions))}-{language}",
        source=source,
        sha256=hashlib.sha256(raw).hexdigest(),
        title=page.title,
        kind=kind,
        language=language,
        versions=versions,
        exact_versions=_exact_versions(page, versions),
        workloads=workloads,
        claims=tuple(contents.claims),
        procedure=procedure(page.elements),
        unread=tuple(sorted(unread, key=lambda one: one.line)),
    )
    return replace(report, id=f"cloud-{report.id}") if report.is_about_cloud else report


def _shown(text: str) -> str:
    """The text without control characters, cut if it is long."""
    text = plain(text)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _text(raw: bytes, where: str) -> str:
    """The page's text, with byte order mark and line ends."""
    if len(raw) > MOST_BYTES:
        raise PublishedPageError(
            f"{where}, line {_line(raw, MOST_BYTES)}: longer than {MOST_BYTES // 1000} KB; not a "
            "published page"
        )
    if (lines := len(_LINE_END.findall(raw))) > MOST_LINES:
        raise PublishedPageError(
            f"{where}, line {MOST_LINES + 1}: {lines} lines, more than {MOST_LINES}; not a "
            "published page"
        )
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as e:
        raise PublishedPageError(
            f"{where}, line {_line(raw, e.start)}: not UTF-8 text, byte 0x{raw[e.start]:02x}; "
            "save it as UTF-8"
        ) from e
    if "\0" in text:
        line = _line(raw, raw.index(b"\0"))
        raise PublishedPageError(f"{where}, line {line}: a NUL character; not UTF-8 text")
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
            f"{where}, line {page.title_line}: {_shown(page.title)!r} is a report of neither "
            "Sysbench nor TPC-C, or of both; the title has to name one"
        )
    return kinds[0]


def _versions(page: Document, where: str) -> tuple[str, ...]:
    """The one version of the title, or the two that it compares, the older first."""
    versions = version_names.compared(page.title)
    named = tuple(dict.fromkeys((*version_names.named(page.title), *versions)))
    if len(named) == 1:
        return named
    if len(named) != 2 or not versions:
        raise PublishedPageError(
            f"{where}, line {page.title_line}: the title {_shown(page.title)!r} names "
            f"{len(named) or 'no'} versions; a report is about one, written as v6.5.0 or TiDB "
            '6.5.0, or says "A vs. B" of two'
        )
    return versions


def _refuse_other_language(page: Document, where: str) -> None:
    headings = " ".join(one.text for one in page.elements if one.kind == "heading")
    texts = " ".join(one.text for one in page.elements if one.kind == "text")
    if any(map(words.is_other_language, (page.title, headings, texts))):
        raise PublishedPageError(
            f"{where}, line {page.title_line}: the page is in neither English nor Chinese; pages "
            "in other languages are not read"
        )


def _exact_versions(page: Document, versions: Sequence[str]) -> tuple[str, ...]:
    """The page's exact versions, from its line ``TiDB version: A vs. B``; () without one."""
    for element in page.elements:
        match = _EXACT.fullmatch(element.text) if element.kind == "text" else None
        exact = version_names.compared(match[1]) if match else ()
        pairs = list(zip(versions, exact, strict=False))
        if len(pairs) == len(versions) == len(exact) and all(
            version_names.covers(version, name) and version != name for version, name in pairs
        ):
            return exact
    return ()


# ---------------------------------------------------------------- contents


def _is_table_in_code(element: Element) -> bool:
    """Whether a code block is a table: lines with bars and metrics, not commands with pipes."""
    of_results = element.kind == "code" and words.names_result(element.text)
    return of_results and document.are_like_table(element.text.splitlines())


@dataclass
class _Section:
    """The page's results of one workload; if each version has a table, these are joined."""

    name: str
    heading: str
    line: int
    table: ResultTable | None = None
    claims: list[Claim] = field(default_factory=list)


@dataclass
class _Contents:
    """Reads tables and sentences in the page's order.

    Attributes:
        versions: the page's, the older first.
        claims: those of summary and overview.
    """

    page: Document
    kind: PageKind
    versions: tuple[str, ...]
    claims: list[Claim] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    sections: dict[str, _Section] = field(default_factory=dict)

    def read(self) -> None:
        """Read every table and every sentence with a percentage, or list it as unread."""
        self._claims(Element("text", self.page.summary_line, self.page.summary), "summary", None)
        for before, element in pairwise((Element("text", 0), *self.page.elements)):
            section = self._section(element)
            if element.kind == "text":
                self._claims(element, "section" if section else "overview", section)
                continue
            try:
                if element.kind == "table in HTML":
                    raise NotUnderstoodError(element, "html")
                if element.kind == "quoted table":
                    raise NotUnderstoodError(element, "quoted")
                if element.kind == "lines with bars" or _is_table_in_code(element):
                    raise NotUnderstoodError(element, "bars")
                if element.kind == "table" and not words.is_of_setting(element.table):
                    self._table(element, section, before)
            except NotUnderstoodError as error:
                self.unread.append(error.unread)

    def _section(self, element: Element, *, is_tpcc: bool = False) -> _Section | None:
        """The section that an element belongs to; None if it belongs to none.

        The innermost heading that is not a version names the workload. On a page about TPC-C,
        everything below the heading of the results belongs to ``tpcc``. Nothing below the heading
        of another benchmark belongs to a section.

        Args:
            is_tpcc: whether the element itself says that it is about TPC-C.
        """
        above = [one for one in element.headings if not self._version_in(one)]
        if not above or any(words.is_other_benchmark(one.text, self.kind) for one in above):
            return None
        nearest = above[-1]
        name = words.workload(nearest.text)
        if not name and self.kind == "tpcc":
            below_results = any(words.begins_results(one.text) for one in above)
            name = "tpcc" if below_results or is_tpcc else None
        if not name:
            return None
        return self.sections.setdefault(name, _Section(name, nearest.text, nearest.line))

    def _version_in(self, element: Element) -> str | None:
        """The page's version, if a heading or the line over a table is just that."""
        return version_names.heads(words.plain(element.text), self.versions)

    def _table(self, element: Element, section: _Section | None, before: Element) -> None:
        over = (before, *element.headings[-1:])
        version = next(filter(None, map(self._version_in, over)), None)
        table = tables.read(element, self.versions[0] if len(self.versions) == 1 else version)
        if unit := next((one for one in self._units if one.is_above(element)), None):
            raise NotUnderstoodError(element, "unit", sentence=unit.text)
        section = section or self._section(element, is_tpcc=table.metric == "tpmc")
        if section is None:
            raise NotUnderstoodError(element, "no-workload", name=element.heading)
        if (first := section.table) and not (joined := tables.joined(first, table)):
            raise NotUnderstoodError(element, "further", first=str(first.line))
        section.table = joined if first else table

    @cached_property
    def _units(self) -> list[Element]:
        """The texts that name the unit of printed figures."""
        texts = (one for one in self.page.elements if one.kind == "text")
        return [one for one in texts if words.says_unit(one.text)]

    def _claims(self, element: Element, place: Place, section: _Section | None) -> None:
        about = section.name if section else "tpcc" if self.kind == "tpcc" else None
        for one in claims(element, place, self.versions, about):
            if isinstance(one, Unread):
                self.unread.append(one)
            else:
                (section or self).claims.append(one)

    def workloads(self) -> Iterator[Workload]:
        """All workloads with a table or a claim, in the page's order."""
        for name, section in self.sections.items():
            if (table := section.table) or section.claims:
                yield Workload(
                    name=name,
                    heading=section.heading,
                    line=section.line,
                    metric=table.metric if table else None,
                    versions=table.versions if table else (),
                    rows=table.rows if table else (),
                    claims=tuple(section.claims),
                )
