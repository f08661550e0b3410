"""The report as one HTML page that stands alone: style and charts are in it, scripts are not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import jinja2
from markupsafe import Markup, escape

from benchlab.report import (
    charts,
    figures,
    hardware,
    hosts,
    markdown,
    method,
    numbers,
    setting,
    trust,
    wording,
)
from benchlab.report.model import Report
from benchlab.spec import SIDES

# A sign beside each verdict's colour, for those who print or cannot tell the colours apart.
_SIGNS = {
    "regression": "▼",
    "improvement": "▲",
    "equivalent": "=",
    "inconclusive": "?",
    "unstable": "!",
}


def render(report: Report, pictures: Mapping[str, bytes]) -> str:
    """The whole page.

    Args:
        report: what it says.
        pictures: the charts by file name, of which those in SVG are put into the page.
    """

    def chart(stem: str, description: str) -> Markup:
        return _inline(pictures[f"{stem}.svg"].decode(), description)

    sides = [report.sides[side] for side in SIDES]
    return _template().render(report=report, sides=sides, chart=chart)


def _inline(svg: str, description: str) -> Markup:
    """A chart as part of a page, with its description for screen readers."""
    start = svg.index("<svg")
    label = escape(description)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[start:], flags=re.DOTALL)
    # Our own drawing: its texts are drawn as outlines.
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("benchlab.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cut"] = markdown.cut
    environment.globals.update(
        wording=wording, trust=trust, method=method, numbers=numbers, figures=figures,
        hosts=hosts, hardware=hardware, setting=setting,
        stem=charts.file_stem, signs=_SIGNS,
    )  # fmt: skip
    return environment.get_template("report.html.j2")
