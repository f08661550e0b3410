"""Parses a Markdown page into elements: plain text, with its line and the headings above it.

The grammar is CommonMark with GitHub's tables (markdown-it-py). Lines are those of the file, from
1, even though front matter and shortcodes (``{{< copyable "sql" >}}``) are removed. Comments are
dropped, as are block quotes, which quote other texts; a quoted table is an element nevertheless.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import yaml
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

ElementKind = Literal[
    "heading", "text", "code", "table", "quoted table", "table in HTML", "lines with bars"
]


@dataclass(frozen=True)
class Element:
    """One block of the page.

    Attributes:
        kind: ``text``: a paragraph, or an item of a list.
        line: its first line; for fenced code, the first line of the code itself.
        text: plain text, without markup, link addresses, images and backticks, entities resolved.
            For code, the code; for a table, "".
        level: of a heading.
        language: of code, from its fence.
        table: rows of plain cells, the heading row first. A row keeps its cells even if they are
            more or fewer than the heading row's.
        lines: the line of each table row.
        code_spans: the inline code of a text.
        headings: those above it, the outermost first, without itself.
    """

    kind: ElementKind
    line: int
    text: str = ""
    level: int = 0
    language: str = ""
    table: tuple[tuple[str, ...], ...] = ()
    lines: tuple[int, ...] = ()
    code_spans: tuple[str, ...] = ()
    headings: tuple[Element, ...] = ()

    @property
    def heading(self) -> str:
        """The innermost heading above it; "" if there is none."""
        return self.headings[-1].text if self.headings else ""

    def is_above(self, other: Element) -> bool:
        """Whether the headings above it are also above the other element."""
        lines = [[one.line for one in element.headings] for element in (self, other)]
        return lines[0] == lines[1][: len(lines[0])]


@dataclass(frozen=True)
class Document:
    """A parsed page. A missing title or summary is "" and its line 0.

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
        yaml.YAMLError: the front matter is not YAML.
    """
    lines = re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))
    begin = _front_matter_end(lines)
    front = _front_matter(lines[1 : max(begin - 1, 1)])
    body = [""] * begin + [_SHORTCODE.sub("", line) for line in lines[begin:]]
    elements = tuple(_placed(_elements(body)))
    first = next((element for element in elements if element.kind == "heading"), None)
    title, title_line = front.get("title") or ((first.text, first.line) if first else ("", 0))
    summary, summary_line = front.get("summary", ("", 0))
    return Document(title, title_line, summary, summary_line, elements)


_SHORTCODE = re.compile(r"\{\{[<%][^{}]*[>%]\}\}")


# ---------------------------------------------------------------- front matter

_FENCE = "---"
_MOST_LINES = 200  # longer front matter is not recognized: YAML's reader is slow


def _front_matter_end(lines: Sequence[str]) -> int:
    """The number of lines of the front matter; 0 if there is none."""
    fences = [n for n, line in enumerate(lines[:_MOST_LINES]) if line.rstrip() == _FENCE]
    return fences[1] + 1 if fences[:1] == [0] and len(fences) > 1 else 0


def _front_matter(inside: Sequence[str]) -> Mapping[str, tuple[str, int]]:
    """The texts of the front matter with their lines, by name.

    YAML is composed, not loaded, so that a title that looks like a date stays text.
    """
    root = yaml.compose("\n".join(inside), Loader=yaml.SafeLoader)
    return {
        key.value: (" ".join(value.value.split()), key.start_mark.line + 2)
        for key, value in (root.value if isinstance(root, yaml.MappingNode) else ())
        if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode)
    }


# ---------------------------------------------------------------- body

_MARKDOWN = MarkdownIt("commonmark").enable("table")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_HEADING_ID = re.compile(r"\s*\{#[^{}]*\}\s*$")
_BREAK_IN_CJK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\n(?=[\u3000-\u9fff\uff00-\uffef])")


def _placed(elements: Iterator[Element]) -> Iterator[Element]:
    """The elements with the headings above them."""
    above: list[Element] = []
    for element in elements:
        if element.kind == "heading":
            while above and above[-1].level >= element.level:
                above.pop()
        placed = replace(element, headings=tuple(above))
        yield placed
        if element.kind == "heading":
            above.append(placed)


def _elements(lines: Sequence[str]) -> Iterator[Element]:
    """All elements in order; of quoted blocks, only the tables."""
    for block in SyntaxTreeNode(_MARKDOWN.parse("\n".join(lines))).walk():
        if block.type == "table":
            yield from _table(block, lines, "quoted table" if _is_quoted(block) else "table")
        elif block.type in _READERS and not _is_quoted(block):
            yield from _READERS[block.type](block)


def _is_quoted(block: SyntaxTreeNode) -> bool:
    above = block.parent
    return above is not None and (above.type == "blockquote" or _is_quoted(above))


def _first_line(block: SyntaxTreeNode) -> int:
    return block.map[0] + 1 if block.map else 1


def _heading(block: SyntaxTreeNode) -> Iterator[Element]:
    (inline,) = block.children
    text = _HEADING_ID.sub("", _plain_text(inline))
    yield Element("heading", _first_line(block), text, level=int(block.tag[1]))


def _paragraph(block: SyntaxTreeNode) -> Iterator[Element]:
    (inline,) = block.children
    if are_like_table(inline.content.splitlines()):
        yield Element("lines with bars", _first_line(block))
    yield _text(inline, _first_line(block))


def are_like_table(lines: Sequence[str]) -> bool:
    """Whether lines look like a table to a person, though Markdown sees none.

    >>> are_like_table(["Threads | QPS", "8 | 100"])
    True
    """
    rows = [line for line in lines if set(line) - set("+-=:| ")]
    return len(rows) > 1 and all("|" in line for line in rows)


def _code(block: SyntaxTreeNode) -> Iterator[Element]:
    language, *_ = [*block.info.lower().split(), ""]
    line = _first_line(block) + (block.type == "fence")
    yield Element("code", line, block.content.rstrip("\n"), language=language)


def _html(block: SyntaxTreeNode) -> Iterator[Element]:
    """The text between tags, without comments."""
    html = _COMMENT.sub("", block.content)
    if "<table" in html.lower():
        yield Element("table in HTML", _first_line(block))
    if text := " ".join(_TAG.sub(" ", html).split()):
        yield Element("text", _first_line(block), text)


_READERS: Mapping[str, Callable[[SyntaxTreeNode], Iterator[Element]]] = {
    "heading": _heading,
    "paragraph": _paragraph,
    "fence": _code,
    "code_block": _code,
    "html_block": _html,
}


def _table(block: SyntaxTreeNode, lines: Sequence[str], kind: ElementKind) -> Iterator[Element]:
    """A table, then as texts the lines below it that GitHub counts as rows but have no ``|``."""
    heading, *rows = [row for part in block.children for row in part.children]
    kept = [row for row in rows if _has_bar(row, lines)]
    yield Element(
        kind,
        _first_line(heading),
        table=(_cells(heading), *(_printed_cells(row, lines) for row in kept)),
        lines=tuple(map(_first_line, (heading, *kept))),
    )
    for row in rows:
        inline = row.children[0].children[0]
        if not _has_bar(row, lines) and _plain_text(inline):
            yield _text(inline, _first_line(row))


def _has_bar(row: SyntaxTreeNode, lines: Sequence[str]) -> bool:
    return "|" in lines[_first_line(row) - 1]


def _cells(row: SyntaxTreeNode) -> tuple[str, ...]:
    return tuple(_plain_text(cell.children[0]) for cell in row.children)


def _printed_cells(row: SyntaxTreeNode, lines: Sequence[str]) -> tuple[str, ...]:
    """The row's cells as written; the grammar would pad short rows and cut long ones."""
    source = lines[_first_line(row) - 1].strip(" \t>").removeprefix("|")
    if source.endswith("|") and not source.endswith("\\|"):
        source = source[:-1]
    printed = re.split(r"(?<!\\)\|", source)
    cells = _cells(row)
    return cells[: len(printed)] + tuple(cell.strip() for cell in printed[len(cells) :])


def _text(inline: SyntaxTreeNode, line: int) -> Element:
    spans = tuple(part.content for part in inline.children if part.type == "code_inline")
    return Element("text", line, _plain_text(inline), code_spans=spans)


def _plain_text(inline: SyntaxTreeNode) -> str:
    """Inline content on one line, without markup."""
    text = "".join(_pieces(inline))
    return " ".join(_BREAK_IN_CJK.sub("", text).split())


def _pieces(inline: SyntaxTreeNode) -> Iterator[str]:
    for part in inline.children:
        match part.type:
            case "softbreak" | "hardbreak":
                yield "\n"
            case "html_inline":
                yield " "  # else 150<sup>1</sup> would become 1501
            case "text":
                # Next to Chinese punctuation, the grammar takes the asterisks of bold for text.
                yield part.content.replace("**", "")
            case "code_inline":
                yield part.content
            case "image":
                pass  # its description is not shown
            case _:  # emphasis, links
                yield from _pieces(part)
