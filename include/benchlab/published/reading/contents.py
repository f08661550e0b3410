"""What stands where on a page: tables, sentences and charts of each workload, and the overview."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from benchlab.published.reading import results, tables, version_names, vocabulary
from benchlab.published.reading.document import Document, Element
from benchlab.published.reading.model import Claim, PageKind, Place, Unread, Workload
from benchlab.published.reading.results import Section
from benchlab.published.reading.sentences import claims
from benchlab.published.reading.vocabulary import Area
from benchlab.published.reading.wording import with_percent_signs

_MOST_CAPTION = 40  # characters of a caption that does not end with a colon
_FEW_BARS = 3  # "|" in text that is no table


@dataclass(frozen=True)
class _Heading:
    level: int
    text: str
    line: int
    area: Area | None
    workload: str | None


@dataclass
class Contents:
    """Walks over a page once; what is not understood is listed.

    Attributes:
        claims: of title, summary and overview.
        tables_unread: how many things look like results and were not understood.
    """

    page: Document
    kind: PageKind
    language: str
    claims: list[Claim] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    tables_unread: int = 0

    def __post_init__(self) -> None:
        first = next(iter(self.page.headings), None)
        is_title = first and (first.level == 1 or first.text == self.page.title)
        self._title_line = first.line if first and is_title else 0
        self._versions = version_names.of_title(self.page.title)
        self._above: list[_Heading] = []
        self._sections: dict[str, Section] = {}
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
        """All workloads of which there is something, in the page's order."""
        found = []
        for section in self._sections.values():
            workload, unread = results.workload(section, self._versions)
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
        """The heading of the workload; on a page about TPC-C it is TPC-C."""
        named = next((h for h in reversed(self._above) if h.workload), None)
        if named or self.kind != "tpcc":
            return named
        of_results = next((h for h in reversed(self._above) if h.area == "results"), None)
        title = _Heading(0, self.page.title, self.page.title_line, None, None)
        return replace(of_results or (self._above or [title])[-1], workload="tpcc")

    def _section(self, heading: _Heading) -> Section:
        name = heading.workload or ""
        return self._sections.setdefault(name, Section(name, heading.text, heading.line))

    def _version(self) -> str | None:
        """The version that caption, headings or title name for all figures of a table."""
        texts = [h.text for h in reversed(self._above) if h.line != self._title_line]
        if self._before is not None and self._before.kind in ("paragraph", "item"):
            caption = self._before.text
            short = caption.endswith((":", "：")) or len(caption) <= _MOST_CAPTION
            if short and "%" not in with_percent_signs(caption):
                texts.insert(0, caption)
        for text in texts:
            # One of the title's, or written as TiDB's are, and not a tool's.
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
        self.claims.extend(claims([element], place, workload, self.language))

    def _table(self, element: Element) -> None:
        headings = tables.shown(" | ".join(element.table[0]))
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
                section.claims.extend(claims([element], "section", section.name, self.language))
            else:
                workload = nearest.workload if nearest and of_results else None
                self._claim(element, "overview", workload)
