"""Parses a Markdown page into elements: plain text, with its line and the headings above it.

The grammar is CommonMark with GitHub's tables (markdown-it-py). Lines are those of the file, from
1, even though front matter, shortcodes (``{{< copyable "sql" >}}``) and comments are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import ftfy
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from benchlab.published.reading.model import Unread
from benchlab.published.reading.vocabulary import is_chinese

ElementKind = Literal["heading", "paragraph", "item", "table", "code", "comment"]


@dataclass(frozen=True)
class Element:
    """One block of the page.

    Attributes:
        kind: further paragraphs of a list item are ``paragraph``, not ``item``.
        line: its first line; for fenced code, the first line of the code itself.
        text: plain text, without markup, link addresses, images and backticks, entities resolved.
            For code, the code; for a table, "".
        level: of a heading its level, of an item its depth from 1; else 0.
        language: of code, from its fence.
        table: rows of plain cells, the heading row first. A row with more or fewer cells than the
            heading row keeps them.
        lines: the line of each table row.
        images: addresses of its images, as printed.
        headings: the headings above it, the outermost first, without itself.
        commented: whether it is in an HTML comment.
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
    headings: tuple[str, ...] = ()
    commented: bool = False

    @property
    def heading(self) -> str:
        """The innermost heading above it; "" if there is none."""
        return self.headings[-1] if self.headings else ""


@dataclass(frozen=True)
class Document:
    """A page; without a title or a summary, that is "" and its line is 0.

    Attributes:
        title: from the front matter, or else the first heading.
        summary: from the front matter.
        unread: front matter that is not YAML, and tables in HTML.
    """

    title: str
    title_line: int
    summary: str
    summary_line: int
    elements: tuple[Element, ...]
    unread: tuple[Unread, ...] = ()

    @property
    def headings(self) -> tuple[Element, ...]:
        """All headings, except those in comments."""
        return tuple(e for e in self.elements if e.kind == "heading" and not e.commented)


def parse(text: str) -> Document:
    """Parse a page; any text is accepted.

    >>> parse("# Point Select").title
    'Point Select'
    """
    lines = [
        # Repairs mojibake, and leaves correct text and the number of lines unchanged.
        line if line.isascii() else ftfy.fix_encoding(line).replace("\n", " ")
        for line in re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))
    ]
    begin = _front_matter_end(lines)
    front, unread = _front_matter(lines[1 : max(begin - 1, 1)])
    walker = _Walker([""] * begin + [_SHORTCODE.sub("", line) for line in lines[begin:]])
    elements = tuple(walker.elements(0, ()))
    title, title_line = front.get("title", ("", 0))
    if not title:
        first = next((e for e in elements if e.kind == "heading" and not e.commented), None)
        title, title_line = (first.text, first.line) if first else ("", 0)
    summary, summary_line = front.get("summary", ("", 0))
    return Document(
        title=title,
        title_line=title_line,
        summary=summary,
        summary_line=summary_line if summary else 0,
        elements=elements,
        unread=(*unread, *walker.unread),
    )


_SHORTCODE = re.compile(r"\{\{[<%][^{}]*[>%]\}\}")


# ---------------------------------------------------------------- front matter

_FENCE = "---"
_FIELD = re.compile(r"(title|summary)\s*:(.*)")
_MOST_LINES = 200  # longer front matter is not accepted: YAML's reader is slow


def _front_matter_end(lines: Sequence[str]) -> int:
    """The number of lines of the front matter; 0 if there is none."""
    fences = [n for n, line in enumerate(lines[:_MOST_LINES]) if line.rstrip() == _FENCE]
    return fences[1] + 1 if fences[:1] == [0] and len(fences) > 1 else 0


def _front_matter(inside: Sequence[str]) -> tuple[dict[str, tuple[str, int]], list[Unread]]:
    """Title and summary with their lines, by name.

    Front matter that is not YAML (a colon in an unquoted title is enough) is read line by line, and
    listed as unread.
    """
    found: dict[str, tuple[str, int]] = {}
    try:
        # Composed, not constructed: a title that looks like a date or a number must stay text.
        root = yaml.compose("\n".join(inside), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as e:
        mark = getattr(e, "problem_mark", None)
        line = (mark.line if mark else 0) + 2
        for number, text in enumerate(inside, start=2):
            if match := _FIELD.match(text):
                found.setdefault(match[1], (match[2].strip().strip("'\""), number))
        return found, [Unread(line, "the front matter is no YAML; read line by line")]
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode):
            found[key.value] = (" ".join(value.value.split()), key.start_mark.line + 2)
    return found, []


# ---------------------------------------------------------------- body


class _AsPrinted(MarkdownIt):
    """Leaves addresses as they are: none is ever followed."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - its name in markdown-it
        return url

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return True


_MARKDOWN = _AsPrinted("commonmark").enable("table")
_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_HEADING_ID = re.compile(r"\s*\{#[^{}]*\}\s*$")
_BREAK_IN_CJK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\n(?=[\u3000-\u9fff\uff00-\uffef])")


@dataclass
class _Walker:
    """Turns lines of Markdown into elements."""

    lines: Sequence[str]
    commented: bool = False
    unread: list[Unread] = field(default_factory=list)
    _heading: int = 0
    _depth: int = 0
    _at_item: bool = False

    def elements(self, offset: int, headings: tuple[tuple[int, str], ...]) -> Iterator[Element]:
        """All elements, in order, ``offset`` lines further down and below ``headings``."""
        above = list(headings)
        for element in self._blocks(_MARKDOWN.parse("\n".join(self.lines)), above):
            if element.kind == "heading":
                while above and above[-1][0] >= element.level:
                    above.pop()
            yield replace(
                element,
                line=element.line + offset,
                lines=tuple(line + offset for line in element.lines),
                headings=element.headings or tuple(text for _, text in above),
                commented=self.commented or element.commented,
            )
            if element.kind == "heading":
                above.append((element.level, element.text))

    def _blocks(self, tokens: Sequence[Token], above: list[tuple[int, str]]) -> Iterator[Element]:
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
                yield from self._html(token, above)
            else:
                self._enter(token)

    def _enter(self, token: Token) -> None:
        """Note what begins or ends here: it decides the kind of the next text."""
        if token.type == "heading_open":
            self._heading = int(token.tag[1])
        elif token.type in ("list_item_open", "list_item_close"):
            self._at_item = token.type == "list_item_open"
            self._depth += token.nesting

    def _text(self, token: Token) -> Element:
        element = _inline(token, _first_line(token))
        heading, at_item = self._heading, self._at_item
        self._heading, self._at_item = 0, False
        if heading:
            text = _HEADING_ID.sub("", element.text)
            return replace(element, kind="heading", text=text, level=heading)
        return replace(element, kind="item", level=self._depth) if at_item else element

    def _table(self, tokens: Sequence[Token]) -> Iterator[Element]:
        """A table, then the lines below it that GitHub counts as rows but have no ``|``."""
        rows: list[tuple[int, list[Element]]] = []
        for token in tokens:
            if token.type == "tr_open":
                rows.append((_first_line(token), []))
            elif token.type == "inline":
                line, cells = rows[-1]
                cells.append(_inline(token, line))
        kept = [rows[0]]
        rest: list[tuple[int, list[Element]]] = []
        for line, row in rows[1:]:
            (kept if "|" in self.lines[line - 1] else rest).append((line, row))
        cells = [cell for _, row in kept for cell in row]
        yield Element(
            kind="table",
            line=kept[0][0],
            table=tuple(
                self._cells(line, row) if number else tuple(cell.text for cell in row)
                for number, (line, row) in enumerate(kept)
            ),
            lines=tuple(line for line, _ in kept),
            code_spans=tuple(span for cell in cells for span in cell.code_spans),
            images=tuple(image for cell in cells for image in cell.images),
        )
        yield from (cell for _, row in rest for cell in row if cell.text or cell.images)

    def _cells(self, line: int, row: Sequence[Element]) -> tuple[str, ...]:
        """The row's cells as in its line; the grammar would pad short rows and cut long ones."""
        source = self.lines[line - 1].strip(" \t>").removeprefix("|")
        if source.endswith("|") and not source.endswith("\\|"):
            source = source[:-1]
        printed = re.split(r"(?<!\\)\|", source)
        known = tuple(cell.text for cell in row)
        return known[: len(printed)] + tuple(cell.strip() for cell in printed[len(known) :])

    def _html(self, token: Token, above: list[tuple[int, str]]) -> Iterator[Element]:
        """Comments, each followed by the elements in it, then the text between tags."""
        line = _first_line(token)
        for match in _COMMENT.finditer(token.content):
            inside = match[1]
            before = line + token.content[: match.start(1)].count("\n")
            yield Element("comment", before, text=inside.strip(), commented=True)
            if not self.commented:  # a comment does not nest
                walker = _Walker(inside.split("\n"), commented=True)
                yield from walker.elements(before - 1, tuple(above))
        rest = _COMMENT.sub("", token.content)
        if "<table" in rest.lower():
            self.unread.append(Unread(line, "a table in HTML"))
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
        language=words[0] if words else "",
    )


def _inline(token: Token, line: int) -> Element:
    """The inline content of a block as a paragraph."""
    parts: list[str] = []
    spans: list[str] = []
    images: list[str] = []
    for child in token.children or ():
        if child.type == "code_inline":
            spans.append(child.content)
        if child.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif child.type == "image":
            images.append(str(child.attrGet("src") or ""))
        elif child.type == "html_inline":
            parts.append(" ")  # else the 1 of 150<sup>1</sup> would become a digit of the 150
        elif is_chinese(child.content) and child.type != "code_inline":
            # Next to Chinese punctuation, the grammar treats the asterisks of bold as text.
            parts.append(child.content.replace("**", ""))
        else:
            parts.append(child.content)
    text = _BREAK_IN_CJK.sub("", "".join(parts))
    return Element(
        kind="paragraph",
        line=line,
        text=" ".join(text.split()),
        code_spans=tuple(spans),
        images=tuple(images),
    )
