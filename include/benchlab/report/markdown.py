"""The report as Markdown, in the layout of the published sysbench pages."""

from __future__ import annotations

import json
import re
from functools import cache

import jinja2

from benchlab.report import (
    charts,
    figures,
    hardware,
    hosts,
    method,
    numbers,
    setting,
    trust,
    wording,
)
from benchlab.report.model import Report
from benchlab.spec import SIDES

# What has a meaning within a line of Markdown or of a table; "_" within a word has none.
_SPECIAL = re.compile(r"[\\`*\[\]|~#]|(?<![^\W_])_|_(?![^\W_])")
_LONGEST_VALUE = 60


def render(report: Report) -> str:
    """The whole page; images are referred to as ``charts/<workload>.svg``."""
    return _template().render(report=report, sides=[report.sides[side] for side in SIDES])


def escape(value: object) -> str:
    """Text that stands for itself: nothing in it is taken for Markdown or HTML."""
    text = " ".join(str(value).split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(lambda match: "\\" + match.group(), text)


def cut(value: str) -> str:
    """A value that fits a table; how much was left out is said."""
    if len(value) <= _LONGEST_VALUE:
        return value
    return f"{value[:_LONGEST_VALUE]}… ({len(value)} characters)"


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("benchlab.report"),
        autoescape=False,  # noqa: S701 - Markdown, not HTML; every value goes through `md`
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        md=escape, cut=cut, yaml=lambda text: json.dumps(text, ensure_ascii=False)
    )
    environment.globals.update(
        wording=wording, trust=trust, method=method, numbers=numbers, figures=figures, hosts=hosts,
        hardware=hardware, setting=setting, chart=charts.file_stem,
    )  # fmt: skip
    return environment.get_template("report.md.j2")
