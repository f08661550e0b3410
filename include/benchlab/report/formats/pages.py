"""A report's pages: Markdown, in the layout of the published ones, and self-contained HTML.

Also its answer alone as Markdown, for a comment on GitHub or the note of a run.

>>> comment(build(campaign, comparison, results)).splitlines()[0]
'### TiDB Sysbench Performance Test Report – v6.5.0 vs. v6.1.0'
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

import jinja2
import markupsafe
from markupsafe import Markup

from benchlab.charts import picture
from benchlab.language import REFERENCE, Language, load, templates
from benchlab.language.names import items
from benchlab.language.numbers import MISSING
from benchlab.report import charts
from benchlab.report.model import cost, counts, document_tables, figures, hardware, hosts, software
from benchlab.report.model.report import Report
from benchlab.report.sentences import (
    answer,
    looked,
    method,
    moved,
    opening,
    profiles,
    split,
    statements,
    watched,
    why,
    wording,
)


@dataclass(frozen=True)
class Page:
    """The location of a page in one language, for its links.

    Attributes:
        folder: the page's, from the report's root: empty in the first language, else as ``zh/``.
        root: the way back to the report's root: empty or ``../``.
        others: the other languages, each with its folder relative to this page.
    """

    folder: str = ""
    root: str = ""
    others: tuple[tuple[Language, str], ...] = ()


TOP = Page()
"""The page of a report in one language."""


def of_languages(codes: Iterable[str]) -> dict[str, Page]:
    """The pages of a report in these languages, by code.

    >>> of_languages(["en", "zh"])["zh"].root
    '../'

    Raises:
        LanguageError: there is no locale file for one of them.
    """
    languages = [load(code) for code in dict.fromkeys(codes)]
    folders = dict.fromkeys(languages, "")
    folders |= {language: f"{language.code}/" for language in languages[1:]}
    pages = {}
    for language, folder in folders.items():
        root = "../" if folder else ""
        others = ((o, f"{root}{its}") for o, its in folders.items() if o is not language)
        pages[language.code] = Page(folder, root, tuple(others))
    return pages


# Characters with a meaning in a line of Markdown or of a table; "_" within a word has none.
_SPECIAL = re.compile(r"[\\`*\[\]|~#]|(?<![^\W_])_|_(?![^\W_])")
_IN_MARKUP = re.compile(r"[<>&\[\]`*~|]")
_LONGEST_VALUE = 60


def markdown(report: Report, page: Page = TOP) -> str:
    """Render the page as Markdown; it refers to images as ``charts/<workload>.svg``."""
    return environment("md").get_template("report.md.j2").render(values(report, page))


def html(report: Report, page: Page = TOP) -> str:
    """Render the page as HTML with its style and charts in it; it needs no script."""
    return environment("html").get_template("report.html.j2").render(values(report, page))


def values(report: Report, page: Page) -> dict[str, Any]:
    """The variables of the templates of all formats."""
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
    r"""Escape a text on one line, so that no part of it is read as Markdown or HTML.

    >>> escape("a *b* <c>")
    'a \\*b\\* &lt;c&gt;'
    """
    text = " ".join(str(value).split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(lambda match: "\\" + match.group(), text)


def _markdown(value: object) -> Markup:
    """Escape a value in a Markdown template, unless it is markup already."""
    return value if isinstance(value, Markup) else Markup(escape(value))


def answer_table(report: Report) -> list[str]:
    """The lines of the answer's table in Markdown, its two header lines first.

    It has verdicts with their signs or, for one version, each workload's highest throughput.
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
    r"""Quote a text for YAML, with escapes for characters that HTML or Markdown would interpret.

    Many renderers show front matter as a heading. A YAML parser restores the original text.

    >>> _in_front_matter("a <b>")
    '"a \\u003cb\\u003e"'
    """
    quoted = json.dumps(text, ensure_ascii=False)
    return _IN_MARKUP.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _shown(value: object, language: Language, short: bool) -> str:
    """A table cell; if ``short``, a long value is cut, with a note of its length."""
    text = MISSING if value is None else str(value)
    if not short or len(text) <= _LONGEST_VALUE:
        return text
    return language.say("value-cut", value=text[:_LONGEST_VALUE], length=len(text))


def comment(report: Report) -> str:
    """The answer as a comment for GitHub: sentences and table, with the reasons collapsed below."""
    say, (first, trust) = report.language.say, opening.sentences(report)
    judged = report.sections if report.has_verdicts else ()
    reasons = [
        *(wording.outcome(report, section) for section in judged),
        *(wording.latency(report, section) for section in judged),
        wording.deployments(report),
        *wording.quality(report),
    ]
    return "\n".join(
        [
            f"### {escape(wording.title(report))}",
            "",
            f"**{escape(first)}** {escape(trust)}",
            "",
            *(f"- {escape(line)}" for line in why.lines(report)),
            "",
            *answer_table(report),
            "",
            f"<details><summary>{escape(say('answer-reasons'))}</summary>",
            "",
            *(f"- {escape(reason)}" for reason in reasons),
            "",
            "</details>",
            "",
            f"<sub>{escape(method.about(report))}</sub>",
            "",
        ]
    )


def note(report: Report, room: int) -> str:
    """The answer for the note of a run: its sentences, then as many rows as fit.

    In between it says why, if that fits as well. Rows that do not fit are counted.

    Args:
        room: the maximum number of characters; longer sentences are cut.
    """
    said, table = escape(opening.text(report)), answer_table(report)
    reasons = [escape(line) for line in why.lines(report)]
    for told in ("\n\n".join([said, *reasons]), said):
        for end in range(len(table), 2, -1):  # two lines are its head
            more = len(table) - end
            rest = ["", report.language.say("answer-more", more=more)] if more else []
            if len(made := "\n".join([told, "", *table[:end], *rest])) <= room:
                return made
    return said[:room]


@cache
def style(*more: str) -> Markup:
    """The style sheet of a page: charts, rules for all pages, and the sheets named in ``more``."""
    folder = resources.files("benchlab.report.formats")
    own = (folder.joinpath(f"{name}.css").read_text("utf-8") for name in ("page", *more))
    return picture.style() + Markup("".join(own))


@cache
def environment(form: Literal["md", "html"], *packages: str) -> jinja2.Environment:
    """The Jinja environment of a format; ``packages``: others whose templates include these."""
    is_markdown, ours = form == "md", "benchlab.report.formats"
    escaped = _markdown if is_markdown else markupsafe.escape
    made = templates.environment(
        *packages, ours, finalize=escaped, keep_trailing_newline=is_markdown
    )
    made.filters["shown"] = _shown
    made.filters["place"] = lambda text, link: escaped(text).replace(wording.PLACE, link, 1)
    made.filters["yaml"] = lambda text: Markup(_in_front_matter(text))
    made.globals.update(
        answer=answer, wording=wording, method=method, cost=cost, looked=looked, split=split,
        moved=moved, opening=opening, profiles=profiles, statements=statements, watched=watched,
        why=why,
        document=document_tables, figures=figures, counts=counts, hosts=hosts, hardware=hardware,
        software=software, commands=software.commands_of, items=items,
        stem=charts.file_stem, signs=answer.SIGNS, charts=charts, key=picture.key, style=style,
        script=picture.script,
        parts_of_reports=f"report-parts.{form}.j2",
        PLACE=wording.PLACE, REFERENCE=REFERENCE, MISSING=MISSING,
    )  # fmt: skip
    return made
