"""What a page says that is neither a figure nor a claim: purpose, causes, configuration.

The sentences are kept as they are. They are the page's own, and nothing is concluded from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from benchlab.published.reading import vocabulary
from benchlab.published.reading.document import Element
from benchlab.published.reading.model import Said
from benchlab.published.reading.sentences import changes_in
from benchlab.published.reading.wording import FLAGS, sentences, workloads

_CAUSE = re.compile(
    r"\b(?:because|due to|caused by|owing to|thanks to|as a result of|the reasons?)\b"
    r"|由于|因为|原因|导致|得益于",
    FLAGS,
)
_PURPOSE = re.compile(
    r"\b(?:aims?|aimed|purpose|goal|intended|provides?|can (?:also )?be used)\b"
    r"|旨在|目的|为了|对比|提供|可以?作为",
    FLAGS,
)
_LABEL = re.compile(r"\w+\s*[:：]")  # "Note:" above a note
_BAR = "|"  # of a broken table


def said(elements: Sequence[tuple[Element, str | None]], title: str) -> Iterator[Said]:
    """Yield what the paragraphs and items of a page say, in order.

    Args:
        elements: those of the page, each with the part of the page that it is in.
        title: the page's; its purpose stands below it, in the first section or in an overview.

    Example:
        ``[said.about for said in said(elements, "A against B")]`` is ``["purpose", "cause"]``.
    """
    headings = [element.text for element, _ in elements if element.kind == "heading"]
    first = ("", title, *[text for text in headings if text != title][:1])
    for element, part in elements:
        if element.kind not in ("paragraph", "item"):
            continue
        of_page = part is None and (
            element.heading in first or vocabulary.area(element.heading) == "overview"
        )
        for text in sentences(element.text):
            if _BAR in text or _LABEL.fullmatch(text):
                continue
            if part == "parameters":
                yield Said("configuration", element.heading, text, element.line)
            elif part in (None, "results") and _CAUSE.search(text):
                yield Said("cause", element.heading, text, element.line)
            elif of_page and _PURPOSE.search(text) and not changes_in(text, None):
                yield Said("purpose", element.heading, text, element.line)


def named(element: Element | None) -> tuple[str, ...]:
    """The workloads that the text above a block of settings names; empty: it is for all."""
    if element is None or element.kind not in ("paragraph", "item"):
        return ()
    return tuple(dict.fromkeys(found.name for found in workloads(element.text)))
