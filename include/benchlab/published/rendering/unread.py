"""Translates the record of what was not understood on a published page.

It is recorded in English (:class:`benchlab.published.reading.model.Unread`), in the words of the
English message, by which each kind is recognised here. Quotations from the page are not translated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from benchlab.language import Language, english
from benchlab.published.reading.model import Unread

# By message, without "published-unread-": the names of the values in the recorded text.
_KINDS = {
    **dict.fromkeys(("html", "commented", "bars", "front-matter"), ""),
    "metric": "columns",
    "further": "columns",
    "workload-versions": "workload count versions",
    "column": "heading",
    "cell": "cell",
    "row": "cells headings",
    "row-threads": "cells",
    "row-version": "cells",
    "doubtful-improvement": "threads line",
    "doubtful": "version threads line",
    "improvements": "metric deciding",
    "sentence": "sentence",
}
# Why a table was not understood.
_WHY = {
    **dict.fromkeys(("no-workload", "no-version", "no-figures", "twice", "some-versions"), ""),
    "threads": "count",
    "versions": "count",
    "several": "",
}


def in_language(unread: Unread, language: Language) -> str:
    """What was not understood, in a language; unchanged if its kind is not known here.

    >>> in_language(Unread(7, "the cell 'x'"), english())
    "the cell 'x'"
    """
    table = _values("table", "columns why", unread.what)
    if table and (why := _said(table["why"], _WHY, language)):
        return language.say("published-unread-table", columns=table["columns"], why=why)
    return _said(unread.what, _KINDS, language) or unread.what


def _said(what: str, kinds: Mapping[str, str], language: Language) -> str | None:
    for kind, names in kinds.items():
        values = _values(kind, names, what)
        if values is not None:
            return language.say(f"published-unread-{kind}", **values)
    return None


def _values(kind: str, names: str, what: str) -> dict[str, str] | None:
    """The values in a recorded text of this kind; None if it is of another kind."""
    places = {name: f"{{{name}}}" for name in names.split()}
    form = re.escape(english().say(f"published-unread-{kind}", **places))
    found = re.fullmatch(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.*)", form), what, re.DOTALL)
    return found.groupdict() if found else None
