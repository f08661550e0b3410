"""Audits of published pages for a terminal, or as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from benchlab.language import english
from benchlab.language.names import plain
from benchlab.published.audit.audit import Audit
from benchlab.published.audit.finding import Finding
from benchlab.report.formats.console import console_for, text_of


def render(audits: Sequence[Audit], width: int, colour: bool) -> str:
    """The findings of each page and what was not read in it; ``colour`` adds ANSI codes."""
    console = console_for(width, colour)
    for audit in audits:
        console.print(Group(*_page(audit)))
        console.print()
    if len(audits) > 1:
        console.print(Text(_total(audits), style="bold"))
    return text_of(console)


def _page(audit: Audit) -> Iterator[RenderableType]:
    report = audit.report
    yield Text(f"{plain(report.source)}: {plain(report.title)}", style="bold")
    yield Text(_extent(audit))
    if not audit.findings and not any(workload.rows for workload in report.workloads):
        yield Text(
            "no row of figures was understood, so nothing could be recomputed", style="yellow"
        )
    elif not audit.findings:
        yield Text("no findings", style="green")
    else:
        yield Text(_counted(len(audit.findings), "finding"), style="red")
        yield Padding(_table(audit.findings), (0, 0, 0, 2))
    for unread in report.unread:
        where = f", below {plain(unread.heading)!r}" if unread.heading else ""
        why = plain(unread.why(english()))
        yield Text(f"not read, line {unread.line}{where}: {why}", style="yellow")


def _extent(audit: Audit) -> str:
    workloads = audit.report.workloads
    rows = sum(len(workload.rows) for workload in workloads)
    charts = [workload.name for workload in workloads if not workload.rows]
    text = f"{_counted(len(workloads), 'workload')}, {_counted(rows, 'row')}"
    return text + (f"; no table of {', '.join(charts)}" if charts else "")


def _table(findings: Sequence[Finding]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("kind", no_wrap=True)
    for heading in ("where", "published", "recomputed", "why"):
        table.add_column(heading, overflow="fold")
    for found in findings:
        figures = ["" if f is None else str(f) for f in (found.published, found.recomputed)]
        table.add_row(found.kind, *map(plain, (found.where, *figures, found.explanation)))
    return table


def _total(audits: Sequence[Audit]) -> str:
    found = [len(audit.findings) for audit in audits]
    clean = found.count(0)
    return f"{_counted(len(found), 'page')}, {_counted(sum(found), 'finding')}, {clean} without any"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
