"""The comparison as a table for a terminal."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from benchlab.report import figures as tables_of
from benchlab.report import numbers, wording
from benchlab.report.model import Report, Section
from benchlab.spec import SIDES

_COLOUR = {"regression": "red", "improvement": "green", "unstable": "yellow"}


def render(report: Report, width: int, colour: bool) -> str:
    """One block of rows per workload, its verdict first; ``colour`` asks for ANSI codes."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
        emoji=False,
        markup=False,
        highlight=False,
    )
    console.print(Text(wording.title(report), style="bold"))
    console.print(Text(wording.subject(report)))
    console.print(Group(*(_table(report, section) for section in report.sections)))
    console.print()
    for line in wording.quality(report)[:3]:
        console.print(Text(line))
    console.print(Text(wording.scope(report), style="dim"))
    lines = out.getvalue().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _table(report: Report, section: Section) -> Group:
    cells, shown = section.figures.cells, tables_of.display(section)
    metric, latency = section.figures.metric, shown.latency.metric
    rates = [cell.sides[side].means[metric] for cell in cells for side in SIDES]
    decimals = numbers.rate_decimals(rates)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("threads", justify="right")
    for side in SIDES:
        label = report.sides[side].label
        table.add_column(Text(f"{label} {shown.name}"), justify="right")
        table.add_column("p95 ms", justify="right")
    table.add_column(f"{shown.name} change", justify="right")
    for cell in cells:
        means = [cell.sides[side].means for side in SIDES]
        table.add_row(
            str(cell.threads),
            *(
                text
                for side in means
                for text in (
                    numbers.rate(side[metric], decimals),
                    numbers.milliseconds(side[latency]),
                )
            ),
            numbers.change(cell.improvement_pct),
        )
    verdict = Text.assemble(
        (f"\n{section.title}: ", "bold"),
        (
            wording.verdict(report, section),
            f"bold {'' if report.aa else _COLOUR.get(section.figures.verdict, '')}",
        ),
        f", {wording.figures(report, section)}",
    )
    why = wording.why(report, section)
    return Group(verdict, *([Padding(Text(why, style="dim"), (0, 0, 0, 2))] if why else []), table)
