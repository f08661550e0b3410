"""What a page says of how it was measured: tables, labelled lines, settings, and what is quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from benchlab.published import passwords, version_names, words
from benchlab.published.commands import SHELLS, commands
from benchlab.published.document import Element
from benchlab.published.model import Block, Fact, Part, Said, StatedSetting

_FACT = re.compile(r"(?P<label>[^:：。]{1,40}?)\s*[:：]\s*(?P<value>\S.*)", re.DOTALL)
_EXACT = ("TiDB version", "TiDB 版本")


def part(element: Element) -> Part | None:
    """The part of the page that an element is in: that of the innermost heading that begins one."""
    above = (words.part(heading.text) for heading in reversed(element.headings))
    return next((found for found in above if found), None)


def setting(elements: Sequence[Element], claimed: Iterable[int]) -> StatedSetting:
    """What a page says of how it was measured.

    Args:
        elements: of the page, without those of Benchlab's own sections.
        claimed: lines of paragraphs that state changes, or should; they are not quoted.
    """
    texts = [e for e in elements if e.kind in ("paragraph", "item") and e.text]
    facts = tuple(_facts(texts))
    not_quoted = {*claimed, *(fact.line for fact in facts)}
    return StatedSetting(
        hardware=_hardware(elements),
        software=_software(elements),
        git_hashes=_git_hashes(elements),
        facts=facts,
        parameters=tuple(_blocks(elements)),
        said=tuple(
            Said(where, e.heading, passwords.without(e.text), e.line)
            for e in texts
            if (where := part(e) or _of_title(e)) in ("overview", "parameters", "plan", "results")
            and e.line not in not_quoted
        ),
        commands=tuple(commands(elements)),
    )


def exact_versions(setting: StatedSetting, versions: Sequence[str]) -> tuple[str, ...]:
    """The exact names of the page's versions, from its line ``TiDB version``; or ()."""
    for fact in setting.facts:
        if fact.label in _EXACT:
            named = version_names.compared(fact.value)
            pairs = list(zip(versions, named, strict=False))
            if len(pairs) == len(versions) == len(named) and all(
                version_names.covers(version, exact) and version != exact
                for version, exact in pairs
            ):
                return named
    return ()


def _of_title(element: Element) -> Part | None:
    """What stands right below the page's title introduces it."""
    return "overview" if len(element.headings) == 1 and element.headings[0].level == 1 else None


def _facts(texts: Sequence[Element]) -> Iterable[Fact]:
    for element in texts:
        match = _FACT.fullmatch(element.text)
        if match and part(element) == "environment":
            yield Fact(element.heading, match["label"], match["value"], element.line)


def _tables(elements: Sequence[Element], topic: words.Topic) -> Iterable[Element]:
    return (
        element
        for element in elements
        if element.kind == "table" and not element.aside and words.topic(element.table[0]) == topic
    )


def _hardware(elements: Sequence[Element]) -> dict[str, dict[str, str]]:
    """Rows of the same name in several tables are merged; under one heading, the first counts."""
    hardware: dict[str, dict[str, str]] = {}
    for table in _tables(elements, "hosts"):
        names, *rows = table.table
        for row in rows:
            cells = {name: cell for name, cell in zip(names[1:], row[1:], strict=False) if cell}
            hardware[row[0]] = cells | hardware.get(row[0], {})
    return hardware


def _software(elements: Sequence[Element]) -> dict[str, str]:
    rows = (row for table in _tables(elements, "versions") for row in table.table[1:])
    return {row[0]: row[1] for row in rows if len(row) > 1}


def _git_hashes(elements: Sequence[Element]) -> dict[str, dict[str, str]]:
    """Each version's hashes by component; the heading is the version."""
    return {
        version: {row[0]: row[1] for row in table.table[1:] if len(row) > 1}
        for table in _tables(elements, "hashes")
        if (version := version_names.label(words.plain(table.heading)))
    }


def _blocks(elements: Sequence[Element]) -> Iterable[Block]:
    """The code blocks of the parameters; the text right above one may name workloads as code."""
    for above, element in zip((None, *elements), elements, strict=False):
        is_settings = element.kind == "code" and element.language not in SHELLS
        if is_settings and part(element) == "parameters":
            spans = above.code_spans if above and above.kind in ("paragraph", "item") else ()
            named = tuple(name for span in spans if (name := words.named(span)))
            text = passwords.without_in_file(element.text)
            yield Block(element.heading, element.language, text, element.line, named)
