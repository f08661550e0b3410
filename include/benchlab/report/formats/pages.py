"""The report's pages: Markdown, in the layout of the published ones, and self-contained HTML.

Also its answer as Markdown for places that hold less: a comment on GitHub, the note of a run.

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
from benchlab.report.model import counts, document_tables, figures, hardware, hosts, software
from benchlab.report.model.report import Report
from benchlab.report.sentences import answer, method, wording


@dataclass(frozen=True)
class Page:
    """Where a page is.

    Attributes:
        folder: relative to the report's root: empty in the first language, else such as ``zh/``.
        root: the report's root relative to the page: empty, or ``../``.
        others: the other languages, each with its page's folder relative to this page.
    """

    folder: str = ""
    root: str = ""
    others: tuple[tuple[Language, str], ...] = ()


TOP = Page()
"""The page of a report in a single language."""


def of_languages(codes: Iterable[str]) -> dict[str, Page]:
    """The pages of a report in these languages, by code.

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
    """The whole page as Markdown; images are referred to as ``charts/<workload>.svg``."""
    return environment("md").get_template("report.md.j2").render(values(report, page))


def html(report: Report, page: Page = TOP) -> str:
    """The whole page as HTML, with its style and charts, without scripts."""
    return environment("html").get_template("report.html.j2").render(values(report, page))


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


def _markdown(value: object) -> Markup:
    """A value in a template of Markdown; what is of a template itself stays."""
    return value if isinstance(value, Markup) else Markup(escape(value))


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


def _shown(value: object, language: Language, short: bool) -> str:
    """A cell of a table; if it has to be short, it says how much was left out."""
    text = MISSING if value is None else str(value)
    if not short or len(text) <= _LONGEST_VALUE:
        return text
    return language.say("value-cut", value=text[:_LONGEST_VALUE], length=len(text))


def comment(report: Report) -> str:
    """Sentence and table of the answer for GitHub; the reasons are folded below them."""
    say = report.language.say
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
            f"**{escape(answer.summary(report))}**",
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
    """The sentence, then as many rows of the table as there is room for; the others are counted.

    Args:
        room: how many characters it may have; a sentence that has more is cut.
    """
    said, table = escape(answer.sentence(report)), answer_table(report)
    for end in range(len(table), 2, -1):  # two lines are its head
        more = len(table) - end
        rest = ["", report.language.say("answer-more", more=more)] if more else []
        if len(made := "\n".join([said, "", *table[:end], *rest])) <= room:
            return made
    return said[:room]


@cache
def style(*more: str) -> Markup:
    """The style sheet of a page: charts, what all pages have in common, and ``more`` sheets."""
    folder = resources.files("benchlab.report.formats")
    own = (folder.joinpath(f"{name}.css").read_text("utf-8") for name in ("page", *more))
    return picture.style() + Markup("".join(own))


@cache
def environment(form: Literal["md", "html"], *packages: str) -> jinja2.Environment:
    """The templates of a format; with those of other packages, which have parts of these."""
    is_markdown, ours = form == "md", "benchlab.report.formats"
    escaped = _markdown if is_markdown else markupsafe.escape
    made = templates.environment(
        *packages, ours, finalize=escaped, keep_trailing_newline=is_markdown
    )
    made.filters["shown"] = _shown
    made.filters["place"] = lambda text, link: escaped(text).replace(wording.PLACE, link, 1)
    made.filters["yaml"] = lambda text: Markup(_in_front_matter(text))
    made.globals.update(
        answer=answer, wording=wording, method=method,
        document=document_tables, figures=figures, counts=counts, hosts=hosts, hardware=hardware,
        software=software, commands=software.commands_of, items=items, stem=charts.file_stem,
        signs=answer.SIGNS, charts=charts, key=picture.key, style=style,
        parts_of_reports=f"report-parts.{form}.j2",
        PLACE=wording.PLACE, REFERENCE=REFERENCE, MISSING=MISSING,
    )  # fmt: skip
    return made
