"""The report as one self-contained HTML page: with its style and charts, without scripts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import jinja2
from markupsafe import Markup, escape

from benchlab.report.charts import charts, plotting
from benchlab.report.formats import markdown, series_svg
from benchlab.report.formats.pages import TOP, Page
from benchlab.report.model.report import Report
from benchlab.report.model.series import PairSeries
from benchlab.report.sentences import answer
from benchlab.report.sentences.wording import PLACE

# The colours of charts by the page's own names, so that a dark page has dark charts.
_NAMES = {
    plotting.INK: "ink",
    plotting.MUTED: "muted",
    plotting.GRID: "line",
    plotting.ORANGE: "baseline",
    plotting.BLUE: "candidate",
    "#ffffff": "card",
    **{colour: name for name, colour in plotting.VERDICT_COLOUR.items()},
    charts.BAND: "band",
    charts.CANDIDATE_NAME: "candidate-name",
}
_COLOUR = re.compile("|".join(_NAMES), re.IGNORECASE)


def render(report: Report, pictures: Mapping[str, bytes], page: Page = TOP) -> str:
    """The whole page; ``pictures``: charts by file name, of which those in SVG are put into it."""

    def chart(stem: str, description: str) -> Markup:
        return _inline(pictures[f"{stem}.svg"].decode(), description)

    def series(metric: str, pair: PairSeries) -> Markup:
        return series_svg.draw(report, metric, pair)

    template = environment().get_template("report.html.j2")
    return template.render(markdown.values(report, page), chart=chart, series=series)


def _inline(svg: str, description: str) -> Markup:
    """A chart as part of a page, with its description for screen readers."""
    start = svg.index("<svg")
    label = escape(description)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[start:], flags=re.DOTALL)
    svg = _COLOUR.sub(lambda match: f"var(--{_NAMES[match[0].lower()]})", svg)
    # Safe: it is our own drawing, with its texts as outlines.
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))


@cache
def environment() -> jinja2.Environment:
    """The templates of the page; the benchmark site has parts of them on its own pages."""
    made = markdown.environment(autoescape=True)
    made.filters["place"] = lambda text, html: Markup(escape(text).replace(PLACE, html, 1))
    made.globals["signs"] = answer.SIGNS
    return made
