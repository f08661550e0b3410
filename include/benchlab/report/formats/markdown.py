"""The report as Markdown, in the layout of the published sysbench pages."""

from __future__ import annotations

import json
import re
from functools import cache

import jinja2

from benchlab.language import Language, templates
from benchlab.plan.report_type import SIDES
from benchlab.report.charts import charts
from benchlab.report.formats.pages import TOP, Page
from benchlab.report.model import figures, hardware, hosts
from benchlab.report.model.report import Report
from benchlab.report.sentences import method, setting, trust, wording

# What has a meaning within a line of Markdown or of a table; "_" within a word has none.
_SPECIAL = re.compile(r"[\\`*\[\]|~#]|(?<![^\W_])_|_(?![^\W_])")
_LONGEST_VALUE = 60


def render(report: Report, page: Page = TOP) -> str:
    """The whole page; images are referred to as ``charts/<workload>.svg``.

    Args:
        report: what it says, and in which language.
        page: where it lies, and which pages in other languages it refers to.
    """
    return _template().render(
        report=report,
        page=page,
        language=report.language,
        say=report.language.say,
        sides=[report.sides[side] for side in SIDES],
    )


def escape(value: object) -> str:
    """Text that stands for itself: nothing in it is taken for Markdown or HTML."""
    text = " ".join(str(value).split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(lambda match: "\\" + match.group(), text)


def cut(value: str, language: Language) -> str:
    """A value that fits a table; how much was left out is said."""
    if len(value) <= _LONGEST_VALUE:
        return value
    return language.say("value-cut", value=value[:_LONGEST_VALUE], length=len(value))


def place(text: str, made: str) -> str:
    """Put Markdown where an escaped sentence has a place for it."""
    return text.replace(wording.PLACE, made, 1)


@cache
def _template() -> jinja2.Template:
    environment = templates.environment(
        "benchlab.report.formats",
        autoescape=False,  # Markdown, not HTML; every value goes through `md`
        keep_trailing_newline=True,
    )
    environment.filters.update(
        md=escape,
        cut=cut,
        place=place,
        yaml=lambda text: json.dumps(text, ensure_ascii=False),
    )
    environment.globals.update(
        wording=wording, trust=trust, method=method, figures=figures, hosts=hosts,
        hardware=hardware, setting=setting, chart=charts.file_stem, PLACE=wording.PLACE,
    )  # fmt: skip
    return environment.get_template("report.md.j2")
