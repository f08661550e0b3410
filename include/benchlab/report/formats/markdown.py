"""The report as Markdown, in the layout of the published sysbench pages; and its templates.

>>> text = render(build(campaign, comparison, results))
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import jinja2

from benchlab.language import REFERENCE, Language, templates
from benchlab.language.names import items
from benchlab.language.numbers import MISSING
from benchlab.report import charts
from benchlab.report.formats.pages import TOP, Page
from benchlab.report.model import (
    commands,
    document_tables,
    figures,
    hardware,
    hosts,
    software,
)
from benchlab.report.model.report import Report
from benchlab.report.sentences import answer, method, setting, trust, wording

# Characters with a meaning in a line of Markdown or of a table; "_" within a word has none.
_SPECIAL = re.compile(r"[\\`*\[\]|~#]|(?<![^\W_])_|_(?![^\W_])")
_IN_MARKUP = re.compile(r"[<>&\[\]`*~|]")
_LONGEST_VALUE = 60


def render(report: Report, page: Page = TOP) -> str:
    """The whole page; images are referred to as ``charts/<workload>.svg``."""
    return _template().render(values(report, page))


def values(report: Report, page: Page) -> dict[str, Any]:
    """What the templates of all formats get."""
    say = report.language.say
    return {
        "report": report,
        "page": page,
        "language": report.language,
        "say": say,
        "columns": lambda *names: [say(f"column-{name}") for name in names],
        "sides": list(report.sides.values()),
    }


def escape(value: object) -> str:
    """Text of which nothing is taken for Markdown or HTML."""
    text = " ".join(str(value).split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(lambda match: "\\" + match.group(), text)


def answer_table(report: Report) -> list[str]:
    """The lines of the answer's table, two of them its head; verdicts have their sign.

    Of one version it has the highest figures.
    """
    columns: Sequence[str] = answer.COLUMNS
    rows: list[Sequence[str]] = [
        (*line[:-2], f"{answer.SIGNS[line.found]} {line.verdict}") for line in answer.lines(report)
    ]
    if not report.has_verdicts:
        columns, rows = answer.HIGHEST, [*answer.highest(report)]
    headings = [report.language.say(f"column-{name}") for name in columns]
    lines = [f"| {' | '.join(map(escape, cells))} |" for cells in (headings, *rows)]
    return [lines[0], "|---" * len(headings) + "|", *lines[1:]]


def _in_front_matter(text: str) -> str:
    r"""Text in quotes in YAML, by its numbers where it could be a tag, an entity or a link.

    Many a renderer takes front matter for a heading; one that reads it gets the text as it was.

    >>> _in_front_matter("a <b>")
    '"a \\u003cb\\u003e"'
    """
    quoted = json.dumps(text, ensure_ascii=False)
    return _IN_MARKUP.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def environment(*, autoescape: bool) -> jinja2.Environment:
    """The templates of the report's pages."""
    made = templates.environment(
        "benchlab.report.formats", autoescape=autoescape, keep_trailing_newline=not autoescape
    )
    made.filters["shown"] = _shown
    made.globals.update(
        answer=answer, wording=wording, trust=trust, method=method, setting=setting,
        document=document_tables, figures=figures, hosts=hosts, hardware=hardware,
        software=software, commands=commands.of_campaign, items=items, stem=charts.file_stem,
        PLACE=wording.PLACE, REFERENCE=REFERENCE,
    )  # fmt: skip
    return made


def _shown(value: object, language: Language, short: bool) -> str:
    """A cell of a table; if it has to be short, it says how much was left out."""
    text = MISSING if value is None else str(value)
    if not short or len(text) <= _LONGEST_VALUE:
        return text
    return language.say("value-cut", value=text[:_LONGEST_VALUE], length=len(text))


@cache
def _template() -> jinja2.Template:
    made = environment(autoescape=False)  # Markdown, not HTML; every value goes through `md`
    made.filters.update(
        md=escape,
        place=lambda text, made: text.replace(wording.PLACE, made, 1),
        yaml=_in_front_matter,
    )
    return made.get_template("report.md.j2")
