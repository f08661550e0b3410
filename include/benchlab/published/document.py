"""Parses a Markdown page into elements: plain text, with its line and the headings above it.

The grammar is CommonMark with GitHub's tables (markdown-it-py). Lines are those of the file, from
1, even though front matter and shortcodes (``{{< copyable "sql" >}}``) are removed. Block quotes
quote others, and comments are not shown: neither is of the page, but a table in them is an element.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

ElementKind = Literal["heading", "paragraph", "item", "table", "code", "table in HTML"]


@dataclass(frozen=True)
class Element:
    """One block of the page.

    Attributes:
        line: its first line; for fenced code, the first line of the code itself.
        text: plain text, without markup, link addresses, images and backticks, entities resolved.
            For code, the code; for a table, "".
        level: of a heading.
        language: of code, from its fence.
        table: rows of plain cells, the heading row first. A row with more or fewer cells than the
            heading row keeps them.
        lines: the line of each table row.
        images: addresses of its images, as printed.
        headings: those above it, the outermost first, without itself.
        aside: for a table, what it stands in: ``a quotation``, ``a comment``, or the summary of the
            ``<details>`` that it is folded in; else "".
    """

    kind: ElementKind
    line: int
    text: str = ""
    level: int = 0
    language: str = ""
    table: tuple[tuple[str, ...], ...] = ()
    lines: tuple[int, ...] = ()
    code_spans: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    headings: tuple[Element, ...] = ()
    aside: str = ""

    @property
    def heading(self) -> str:
        """The innermost heading above it; "" if there is none."""
        return self.headings[-1].text if self.headings else ""


@dataclass(frozen=True)
class Document:
    """A page; without a title or a summary, that is "" and its line is 0.

    Attributes:
        title: from the front matter, or else the first heading.
        summary: from the front matter.
    """

    title: str
    title_line: int
    summary: str
    summary_line: int
    elements: tuple[Element, ...]


def parse(text: str) -> Document:
    """Parse a page.

    >>> parse("# Point Select").title
    'Point Select'

    Raises:
        yaml.YAMLError: the front matter is no YAML.
    """
    lines = re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))
    begin = _front_matter_end(lines)
    front = _front_matter(lines[1 : max(begin - 1, 1)])
    body = [""] * begin + [_SHORTCODE.sub("", line) for line in lines[begin:]]
    elements = tuple(_Walker(body).elements())
    first = next((element for element in elements if element.kind == "heading"), None)
    title, title_line = front.get("title") or ((first.text, first.line) if first else ("", 0))
    summary, summary_line = front.get("summary", ("", 0))
    return Document(title, title_line, summary, summary_line, elements)


_SHORTCODE = re.compile(r"\{\{[<%][^{}]*[>%]\}\}")


# ---------------------------------------------------------------- front matter

_FENCE = "---"
_MOST_LINES = 200  # longer front matter is not accepted: YAML's reader is slow


def _front_matter_end(lines: Sequence[str]) -> int:
    """The number of lines of the front matter; 0 if there is none."""
    fences = [n for n, line in enumerate(lines[:_MOST_LINES]) if line.rstrip() == _FENCE]
    return fences[1] + 1 if fences[:1] == [0] and len(fences) > 1 else 0


def _front_matter(inside: Sequence[str]) -> Mapping[str, tuple[str, int]]:
    """Its texts with their lines, by name: composed, so that a title like a date stays text."""
    root = yaml.compose("\n".join(inside), Loader=yaml.SafeLoader)
    return {
        key.value: (" ".join(value.value.split()), key.start_mark.line + 2)
        for key, value in (root.value if isinstance(root, yaml.MappingNode) else ())
        if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode)
    }


# ---------------------------------------------------------------- body


class _AsPrinted(MarkdownIt):
    """Leaves addresses as they are: none is ever followed."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - its name in markdown-it
        return url

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return True


_MARKDOWN = _AsPrinted("commonmark").enable("table")
_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_HEADING_ID = re.compile(r"\s*\{#[^{}]*\}\s*$")
_BREAK_IN_CJK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\n(?=[\u3000-\u9fff\uff00-\uffef])")
_QUOTATION, _IN_COMMENT = "a quotation", "a comment"


@dataclass
class _Walker:
    """Turns lines of Markdown into elements."""

    lines: Sequence[str]
    aside: str = ""
    _heading: int = 0
    _at_item: bool = False
    _quotes: int = 0
    _above: list[Element] = field(default_factory=list)

    def elements(self) -> Iterator[Element]:
        """All elements in order, below their headings."""
        for element in self._blocks(_MARKDOWN.parse("\n".join(self.lines))):
            if self._quotes or element.aside in (_QUOTATION, _IN_COMMENT):
                if element.kind == "table":
                    yield replace(element, headings=tuple(self._above))
                continue
            if element.kind == "heading":
                while self._above and self._above[-1].level >= element.level:
                    self._above.pop()
            placed = replace(element, headings=tuple(self._above))
            yield placed
            if element.kind == "heading":
                self._above.append(placed)

    def _blocks(self, tokens: Sequence[Token]) -> Iterator[Element]:
        table: list[Token] | None = None
        for token in tokens:
            if table is not None:
                table.append(token)
                if token.type == "table_close":
                    yield from self._table(table)
                    table = None
            elif token.type == "table_open":
                table = []
            elif token.type == "inline":
                yield self._text(token)
            elif token.type in ("fence", "code_block"):
                yield _code(token)
            elif token.type == "html_block":
                yield from self._html(token)
            else:
                self._enter(token)

    def _enter(self, token: Token) -> None:
        """Note what begins or ends here: it decides the kind of the next text."""
        if token.type == "heading_open":
            self._heading = int(token.tag[1])
        elif token.type in ("list_item_open", "list_item_close"):
            self._at_item = token.type == "list_item_open"
        elif token.type in ("blockquote_open", "blockquote_close"):
            self._quotes += token.nesting

    def _text(self, token: Token) -> Element:
        element = _inline(token, _first_line(token))
        heading, at_item = self._heading, self._at_item
        self._heading, self._at_item = 0, False
        if heading:
            text = _HEADING_ID.sub("", element.text)
            return replace(element, kind="heading", text=text, level=heading)
        return replace(element, kind="item") if at_item else element

    def _table(self, tokens: Sequence[Token]) -> Iterator[Element]:
        """A table, then the lines below it that GitHub counts as rows but have no ``|``."""
        rows: list[tuple[int, list[Element]]] = []
        for token in tokens:
            if token.type == "tr_open":
                rows.append((_first_line(token), []))
            elif token.type == "inline":
                line, cells = rows[-1]
                cells.append(_inline(token, line))
        kept = [row for row in rows if row is rows[0] or "|" in self.lines[row[0] - 1]]
        yield Element(
            kind="table",
            line=kept[0][0],
            table=tuple(
                self._cells(line, row) if number else tuple(cell.text for cell in row)
                for number, (line, row) in enumerate(kept)
            ),
            lines=tuple(line for line, _ in kept),
            aside=_QUOTATION if self._quotes else self.aside,
        )
        below = (cell for row in rows if row not in kept for cell in row[1])
        yield from (cell for cell in below if cell.text or cell.images)

    def _cells(self, line: int, row: Sequence[Element]) -> tuple[str, ...]:
        """The row's cells as in its line; the grammar would pad short rows and cut long ones."""
        source = self.lines[line - 1].strip(" \t>").removeprefix("|")
        if source.endswith("|") and not source.endswith("\\|"):
            source = source[:-1]
        printed = re.split(r"(?<!\\)\|", source)
        parsed = tuple(cell.text for cell in row)
        return parsed[: len(printed)] + tuple(cell.strip() for cell in printed[len(parsed) :])

    def _html(self, token: Token) -> Iterator[Element]:
        """The tables in comments, then the text between tags; notes where something is folded."""
        line = _first_line(token)
        is_nested = self.aside == _IN_COMMENT  # a comment does not nest
        for match in () if is_nested else _COMMENT.finditer(token.content):
            before = line - 1 + token.content[: match.start(1)].count("\n")
            lines = [""] * before + match[1].split("\n")
            yield from _Walker(lines, aside=_IN_COMMENT).elements()
        rest = _COMMENT.sub("", token.content)
        if "<table" in rest.lower():
            yield Element("table in HTML", line)
        if "<details" in rest or "</details" in rest:
            summary = _SUMMARY.search(rest)
            self.aside = " ".join(summary[1].split()) if summary else "details"
            if rest.rfind("</details") > rest.rfind("<details"):
                self.aside = ""
        elif text := " ".join(_TAG.sub(" ", rest).split()):
            yield Element("paragraph", line, text=text)


def _first_line(token: Token) -> int:
    return token.map[0] + 1 if token.map else 1


def _code(token: Token) -> Element:
    words = token.info.split()
    return Element(
        kind="code",
        line=_first_line(token) + (1 if token.type == "fence" else 0),
        text=token.content.rstrip("\n"),
        language=words[0].lower() if words else "",
    )


def _inline(token: Token, line: int) -> Element:
    """The inline content of a block as a paragraph."""
    parts: list[str] = []
    children = token.children or ()
    for child in children:
        if child.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif child.type == "html_inline":
            parts.append(" ")  # else the 1 of 150<sup>1</sup> would become a digit of the 150
        elif child.type == "text":
            # Next to Chinese punctuation, the grammar treats the asterisks of bold as text.
            parts.append(child.content.replace("**", ""))
        elif child.type != "image":
            parts.append(child.content)
    return Element(
        kind="paragraph",
        line=line,
        text=" ".join(_BREAK_IN_CJK.sub("", "".join(parts)).split()),
        code_spans=tuple(child.content for child in children if child.type == "code_inline"),
        images=tuple(str(child.attrGet("src")) for child in children if child.type == "image"),
    )
