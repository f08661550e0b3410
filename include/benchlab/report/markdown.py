"""The report as Markdown, in the layout of the published sysbench pages."""

from __future__ import annotations

import json
import re
from functools import cache

import jinja2

from benchlab.compare import CellComparison
from benchlab.report import charts, hardware, hosts, method, numbers, setting, wording
from benchlab.report.model import Report, Section
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


def rows(section: Section) -> list[list[str]]:
    """The cells of one workload's table: threads, QPS, TPS and p95 of each side, improvement."""
    cells = section.figures.cells
    tps = numbers.rate_decimals(cell.sides[side].tps for cell in cells for side in SIDES)
    qps = numbers.rate_decimals(cell.sides[side].qps for cell in cells for side in SIDES)
    return [_row(cell, qps, tps) for cell in cells]


def header(report: Report, section: Section) -> list[str]:
    """The column headings of :func:`rows`, with the sides' versions."""
    of_sides = (
        f"{report.sides[side].label} {column}"
        for side in SIDES
        for column in ("QPS", "TPS", "95% latency (ms)")
    )
    return ["Threads", *of_sides, f"{section.figures.metric.upper()} improvement"]


def _row(cell: CellComparison, qps: int, tps: int) -> list[str]:
    figures = [cell.sides[side] for side in SIDES]
    return [
        str(cell.threads),
        *(
            text
            for side in figures
            for text in (
                numbers.rate(side.qps, qps),
                numbers.rate(side.tps, tps),
                numbers.milliseconds(side.p95_ms),
            )
        ),
        numbers.change(cell.improvement_pct),
    ]


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
        wording=wording, method=method, numbers=numbers, rows=rows, header=header, hosts=hosts,
        hardware=hardware, setting=setting, chart=charts.file_stem,
    )  # fmt: skip
    return environment.get_template("report.md.j2")
