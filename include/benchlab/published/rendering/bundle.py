"""Renders a published page again from its data: the same figures, in the same layout.

Everything that is written about the figures is computed from them: improvements, means, directions,
and the versions and thread counts in sentences. So the page cannot contradict itself.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

import jinja2
from markupsafe import Markup

from benchlab.charts.picture import Picture
from benchlab.language import Language, templates
from benchlab.plan.document_tables import Metric
from benchlab.published.model import PublishedReport
from benchlab.published.rendering import charts
from benchlab.published.rendering.page import Page
from benchlab.report.formats.html import style
from benchlab.report.formats.markdown import escape

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_METRICS: tuple[Metric, ...] = get_args(Metric)
_LONGEST_FENCE = re.compile(r"`{3,}")


def make(report: PublishedReport, language: Language) -> dict[str, bytes]:
    """Render a page in every format. The same arguments give the same bytes.

    Returns:
        Files by relative path: ``report.md``; ``report.html``, self-contained; ``report.json``, the
        page's data and what was computed from them; ``figures.csv``, the figures as printed with
        one row per workload, thread count and version; ``charts/<workload>.svg``.

    >>> sorted(make(report, english()))[:2]  # doctest: +SKIP
    ['charts/oltp_point_select.svg', 'figures.csv']
    """
    page = Page(report, language)
    pictures = charts.draw(page)
    body = Markup(_markdown().render(_body(page), {"pictures": pictures}))
    html = {"title": page.title, "summary": page.summary, "body": body}
    texts = {
        "report.md": markdown(page),
        "report.html": _template("published.html.j2").render(
            language=language.code, style=style(), **html
        ),
        "report.json": json.dumps(_document(page), indent=2, ensure_ascii=False, default=float)
        + "\n",
        "figures.csv": _figures(report),
    }
    return {
        **{name: text.encode() for name, text in texts.items()},
        **{f"charts/{name}.svg": drawn.file() for name, drawn in pictures.items()},
    }


def markdown(page: Page) -> str:
    """The page as Markdown, with front matter; it refers to images as ``charts/<workload>.svg``."""
    title, summary = (json.dumps(text, ensure_ascii=False) for text in (page.title, page.summary))
    return f"---\ntitle: {title}\nsummary: {summary}\n---\n\n{_body(page)}"


def _body(page: Page) -> str:
    return _template("published.md.j2").render(page=page).rstrip("\n") + "\n"


def _document(page: Page) -> dict[str, Any]:
    return {
        "language": page.language.code,
        "title": page.title,
        "report": page.report.to_json(),
        "recomputed": [
            {
                "workload": section.workload.name,
                "metric": section.workload.metric,
                "rows": [
                    {"threads": threads, "improvement_pct": value}
                    for threads, value in section.improvements.items()
                ],
                "headline_pct": section.headline,
            }
            for section in page.sections
        ],
    }


def _figures(report: PublishedReport) -> str:
    """The figures as printed; a missing one is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("workload", "threads", "version", *_METRICS))
    for workload in report.workloads:
        for row in workload.rows:
            for version in workload.versions:
                figures = row.sides.get(version, {})
                texts = [figures[m].text if m in figures else None for m in _METRICS]
                writer.writerow((workload.name, row.threads, version, *texts))
    return out.getvalue()


def _code(text: str, language: str) -> str:
    """A code block; its fence is longer than any in the text."""
    longest = max((len(fence) for fence in _LONGEST_FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{re.sub(r'[^A-Za-z0-9+-]', '', language)}\n{text}\n{fence}"


@cache
def _template(name: str) -> jinja2.Template:
    environment = templates.environment(
        "benchlab.published.rendering",
        autoescape=name.endswith(".html.j2"),  # in Markdown every value goes through `md`
        keep_trailing_newline=True,
    )
    environment.filters.update(md=escape, code=_code)
    return environment.get_template(name)


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    found = MarkdownIt("commonmark", {"html": False}).enable("table")
    found.add_render_rule("image", _picture)
    found.add_render_rule("table_open", lambda *_: '<div class="scroll"><table>')
    found.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return found


def _picture(
    renderer: Any, tokens: Sequence[Any], index: int, options: Any, environment: Mapping[str, Any]
) -> str:
    """The picture itself, in place of an image that refers to its file."""
    name = str(tokens[index].attrs["src"]).removeprefix("charts/").removesuffix(".svg")
    drawn: Picture = environment["pictures"][name]
    return f'<div class="scroll">{drawn.inline(tokens[index].content)}</div>'
