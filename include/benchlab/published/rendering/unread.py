"""What of a published page was not understood, in a language.

It is recorded in English (:class:`benchlab.published.reading.model.Unread`), each kind in one form,
by which it is known here. What the page itself prints is quoted as it stands there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from benchlab.language import Language
from benchlab.published.reading.model import Unread

# By message: the form in which it is recorded, with its values.
_KINDS = {
    "published-unread-html": "a table in HTML",
    "published-unread-commented": "a table of results within a comment",
    "published-unread-bars": "lines with | that make no table",
    "published-unread-front-matter": "the front matter is no YAML; read line by line",
    "published-unread-metric": "a table without figures of a known metric ({columns})",
    "published-unread-further": (
        "a further table of results ({columns}): the same figures as above, of another setting, "
        "or at other threads"
    ),
    "published-unread-workload-versions": (
        "a table of results: {workload} has {count} versions ({versions}); two can be compared"
    ),
    "published-unread-column": "the column {heading}",
    "published-unread-cell": "the cell {cell}",
    "published-unread-row": "a row of {cells} cells below {headings} headings",
    "published-unread-row-threads": "a row without thread count ({cells})",
    "published-unread-row-version": "a row without version ({cells})",
    "published-unread-doubtful-improvement": (
        "other figures of the improvement at {threads} threads than from line {line} on; "
        "neither is taken"
    ),
    "published-unread-doubtful": (
        "other figures of {version} at {threads} threads than from line {line} on; neither is taken"
    ),
    "published-unread-improvements": "improvements of {metric}: {deciding} decides",
    "published-unread-sentence": "a sentence below a table that is not taken: {sentence}",
}
_TABLE = "a table of results ({columns}): {why}"
# Why a table was not understood.
_WHY = {
    "published-unread-no-workload": "no heading says of what",
    "published-unread-no-version": "nothing says of which version",
    "published-unread-no-figures": "no column of figures",
    "published-unread-twice": "the same figure twice",
    "published-unread-threads": "{count} columns of threads",
    "published-unread-versions": "{count} versions; two can be compared",
    "published-unread-some-versions": "a version for some figures alone, or twice for the same",
    "published-unread-several": "several columns of versions or of improvements",
}


def told(unread: Unread, language: Language) -> str:
    """What was not understood; of a kind that is not known here as it was recorded."""
    table = _values(_TABLE, unread.what)
    if table and (why := _said(table["why"], _WHY, language)):
        return language.say("published-unread-table", columns=table["columns"], why=why)
    return _said(unread.what, _KINDS, language) or unread.what


def _said(what: str, forms: Mapping[str, str], language: Language) -> str | None:
    for message, form in forms.items():
        values = _values(form, what)
        if values is not None:
            return language.say(message, **values)
    return None


def _values(form: str, what: str) -> dict[str, str] | None:
    """The values of a text that has a form; None where it has another."""
    pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.*)", re.escape(form))
    found = re.fullmatch(pattern, what, re.DOTALL)
    return found.groupdict() if found else None
