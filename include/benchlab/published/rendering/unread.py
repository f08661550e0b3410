"""Translates the record of what was not understood on a published page.

It is recorded in English (:class:`benchlab.published.reading.model.Unread`), in the words of the
English message, by which each kind is recognised here. Quotations from the page are not translated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchlab.language import Language, english
from benchlab.published.reading.model import Unread

# By message, without "published-unread-"; the first whose English form fits counts.
_KINDS = (
    "html", "commented", "bars", "front-matter", "metric", "further", "workload-versions", "column",
    "cell", "row", "row-threads", "row-version", "doubtful-improvement", "doubtful", "improvements",
    "sentence",
)  # fmt: skip
# Why a table was not understood.
_WHY = (
    "no-workload", "no-version", "no-figures", "twice", "some-versions", "threads", "versions",
    "several",
)  # fmt: skip
# The values of all these messages, each written as its name in braces.
_PLACES = {
    name: f"{{{name}}}"
    for name in (
        "cell", "cells", "columns", "count", "deciding", "heading", "headings", "line", "metric",
        "sentence", "threads", "version", "versions", "why", "workload",
    )
}  # fmt: skip


def in_language(unread: Unread, language: Language) -> str:
    """What was not understood, in a language; unchanged if its kind is not known here.

    >>> in_language(Unread(7, "the cell 'x'"), english())
    "the cell 'x'"
    """
    table = _values("table", unread.what)
    if table and (why := _said(table["why"], _WHY, language)):
        return language.say("published-unread-table", columns=table["columns"], why=why)
    return _said(unread.what, _KINDS, language) or unread.what


def _said(what: str, kinds: Sequence[str], language: Language) -> str | None:
    for kind in kinds:
        values = _values(kind, what)
        if values is not None:
            return language.say(f"published-unread-{kind}", **values)
    return None


def _values(kind: str, what: str) -> dict[str, str] | None:
    """The values in a recorded text of this kind; None if it is of another kind."""
    form = re.escape(english().say(f"published-unread-{kind}", **_PLACES))
    found = re.fullmatch(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.*)", form), what, re.DOTALL)
    return found.groupdict() if found else None
