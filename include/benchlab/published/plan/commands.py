"""The commands of a published page, from its code blocks and its sentences.

Only lines that start a known program are commands; anything else in a block may be output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from benchlab.published.plan.command_line import words
from benchlab.published.reading.document import Element
from benchlab.published.reading.model import Command

SHELLS = frozenset({"bash", "sh", "shell", "shell-regular", "shell-root", "console", "zsh"})
_UNNAMED = frozenset({"", "txt", "text", "plain", "plaintext"})  # may hold commands or settings
_COMPONENT = re.compile(r"([a-z]+)(?::\S+)?", re.ASCII)
_MOST_CHARACTERS = 10_000  # of a command; longer text is not a command, and slow to parse
# "# " alone begins a comment; in a prompt, a host stands before it.
_PROMPT = re.compile(r"\A\s*(?:\[[^\]]*\][$#]\s+|[\w.@~:/-]*\$\s+|[\w.@~:/-]+#\s+|>\s+)?", re.ASCII)
_OPTION = re.compile(r"(?:\A|\s)--?[A-Za-z]", re.ASCII)


def commands(elements: Sequence[Element]) -> tuple[Command, ...]:
    """The commands in some elements, in order, except those in HTML comments.

    In a sentence, inline code is a command only if it has an option: ``sysbench run`` is a name.
    """
    return tuple(
        command
        for element in elements
        if not element.commented
        for command in (_in_block(element) if element.kind == "code" else _in_sentences(element))
    )


def is_shell(element: Element) -> bool:
    """Whether a code block holds commands, judged by its language or, without one, by its text."""
    if element.language.lower() in SHELLS:
        return True
    return element.language.lower() in _UNNAMED and any(_in_block(element))


def sentences_alone(element: Element) -> str:
    """The text of a paragraph or item without the commands in it."""
    text = element.text
    for command in _in_sentences(element):
        text = text.replace(command.text, " ", 1)
    return text


def _in_block(element: Element) -> Iterator[Command]:
    """The commands of a block; none if its language is not a shell's."""
    if element.language.lower() in SHELLS | _UNNAMED:
        for line, text in _whole_lines(element.text):
            if tool := _tool(text):
                yield Command(tool, text, element.line + line, in_code_block=True)


def _in_sentences(element: Element) -> Iterator[Command]:
    for span in element.code_spans:
        text = " ".join(span.split())
        if _OPTION.search(text) and (tool := _tool(text)):
            yield Command(tool, text, element.line, in_code_block=False)


def _whole_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines joined with those that continue them, each with its number from 0.

    A line continues if it ends with a backslash or, because pages lose backslashes, if the next one
    is indented and begins with an option.
    """
    begin, parts, goes_on = 0, list[str](), False
    for number, line in enumerate(text.split("\n")):
        continued = goes_on or (bool(parts) and re.match(r"\s+--?[A-Za-z]", line) is not None)
        if not continued:
            if parts:
                yield begin, " ".join(parts)
            begin, parts = number, []
        bare = (line if parts else _PROMPT.sub("", line)).strip()
        goes_on = bare.endswith("\\")
        bare = bare.removesuffix("\\").strip()
        if bare and not bare.startswith("#"):
            parts.append(" ".join(bare.split()))
    if parts:
        yield begin, " ".join(parts)


def _tool(text: str) -> str | None:
    """The program that a line starts; None if it starts no known program."""
    found = words(text) if len(text) <= _MOST_CHARACTERS else ()
    if not found:
        return None
    first, *rest = found
    if first == "tiup":
        # A component may have a version: ``bench:v1.9.0``.
        parts = [part[1] for word in rest[:2] if (part := _COMPONENT.fullmatch(word))]
        return " ".join([first, *(parts if parts[:1] == ["bench"] else parts[:1])])
    if first == "go-tpc":
        return " ".join([first, *(word for word in rest[:1] if _COMPONENT.fullmatch(word))])
    return first
