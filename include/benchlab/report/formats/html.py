"""The report as one self-contained HTML page: with its style and charts, without scripts."""

from __future__ import annotations

from functools import cache
from importlib import resources

import jinja2
from markupsafe import Markup, escape

from benchlab.charts import picture
from benchlab.report import charts
from benchlab.report.formats import markdown
from benchlab.report.formats.pages import TOP, Page
from benchlab.report.model.report import Report
from benchlab.report.sentences import answer
from benchlab.report.sentences.wording import PLACE


def render(report: Report, page: Page = TOP) -> str:
    """The whole page."""
    return environment().get_template("report.html.j2").render(markdown.values(report, page))


@cache
def style() -> Markup:
    """The style sheet of a page that has all of it: charts, and what all pages have in common."""
    own = resources.files("benchlab.report.formats").joinpath("page.css").read_text("utf-8")
    return picture.style() + Markup(own)


@cache
def environment() -> jinja2.Environment:
    """The templates of the page; the benchmark site has parts of them on its own pages."""
    made = markdown.environment(autoescape=True)
    made.filters["place"] = lambda text, html: Markup(escape(text).replace(PLACE, html, 1))
    made.globals.update(signs=answer.SIGNS, charts=charts, key=picture.key, style=style)
    return made
