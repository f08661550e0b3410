"""The commands on pages that others published: import, audit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from benchlab.cli.options import Json, show
from benchlab.errors import BenchlabError, PublishedPageError, SpecError, StoreError
from benchlab.home import find
from benchlab.language import english
from benchlab.language.names import plain
from benchlab.published import page
from benchlab.published.audit import audit as audits
from benchlab.published.audit.audit import Audit
from benchlab.published.audit.discrepancy import Discrepancy
from benchlab.published.model import PublishedReport
from benchlab.published.store import PublishedReports, called
from benchlab.report.formats.console import console_for, text_of
from benchlab.results.store import open_store

app = typer.Typer()

Pages = Annotated[list[Path], typer.Argument(metavar="PAGE.md...", help="published pages")]


@app.command("import")
def import_pages(
    pages: Pages,
    replace: Annotated[
        bool, typer.Option("--replace", help="replace the page that has the same id")
    ] = False,
    name: Annotated[
        str, typer.Option("--as", metavar="NAME", help="store one page under this id")
    ] = "",
    as_json: Json = False,
) -> None:
    """Import published reports; a refused one does not stop the others.

    A page is refused if a table of it is not understood: `benchlab audit` reads the others.

    Example: benchlab import benchmark-sysbench-v6.1.0-vs-v6.0.0.md
    """
    if name and len(pages) > 1:
        raise SpecError(f"--as {name}: {len(pages)} pages cannot have one id; import one by one")
    faults, read = [], []
    unread: BrokenPipeError | None = None
    with open_store(find()) as store:
        imported = PublishedReports(store)
        for path in pages:
            try:
                report, raw = page.load(path)
                report = page.whole(called(report, name) if name else report, str(path))
                new = imported.add(report, raw, replace=replace)
            except (PublishedPageError, StoreError) as error:
                faults.append(str(error))
                continue
            read.append(report.to_json())
            if as_json or unread:
                continue
            try:  # printed at once, so that a later failure cannot hide this import
                print(_imported(report, new), end="", flush=True)
            except BrokenPipeError as error:  # the other pages are imported all the same
                unread = error
    if as_json:
        print(json.dumps(read, indent=2, ensure_ascii=False))
    if faults:
        raise BenchlabError("\n".join(faults))
    if unread:
        raise unread


def _imported(report: PublishedReport, new: bool) -> str:
    rows = [row for workload in report.workloads for row in workload.rows]
    figures = sum(len(side) for row in rows for side in row.sides.values())
    discrepancies = len(audits.audit([report])[0].discrepancies)
    head = (
        f"{report.id}: {'imported' if new else 'there already'}; workloads: "
        f"{len(report.workloads)}, figures: {figures}, discrepancies of an audit: {discrepancies}\n"
    )
    unread = (f"  line {one.line}: {plain(one.why(english()))}\n" for one in report.unread)
    return head + "".join(unread)


@app.command()
def audit(pages: Pages, as_json: Json = False) -> None:
    """Recompute every figure of published pages; list what is wrong.

    A table that is not understood whole is listed as not read, with its line and the reason.

    A version that appears in several pages is compared between them. Exit code 0 even if there are
    discrepancies; 1 if a page cannot be read (the others are audited nevertheless).

    Example: benchlab audit docs/*.md --json
    """
    faults, read = [], []
    for path in pages:
        try:
            read.append(page.load(path)[0])
        except PublishedPageError as error:
            faults.append(str(error))

    def documents(found: Sequence[audits.Audit]) -> Any:
        made = [audited.to_json() for audited in found]
        return made if len(pages) > 1 else made[0]  # no list for a single page

    if read:
        show(audits.audit(read), as_json, documents, render)
    if faults:
        raise BenchlabError("\n".join(faults))


def render(audits: Sequence[Audit], width: int, colour: bool) -> str:
    """The discrepancies of each page, and what was not read; ``colour`` adds ANSI codes."""
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
    if not audit.discrepancies and not any(workload.rows for workload in report.workloads):
        yield Text(
            "no row of figures was understood, so nothing could be recomputed", style="yellow"
        )
    elif not audit.discrepancies:
        yield Text("no discrepancies", style="green")
    else:
        yield Text(_counted(len(audit.discrepancies), "discrepancy"), style="red")
        yield Padding(_table(audit.discrepancies), (0, 0, 0, 2))
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


def _table(discrepancies: Sequence[Discrepancy]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("kind", no_wrap=True)
    for heading in ("where", "published", "recomputed", "why"):
        table.add_column(heading, overflow="fold")
    for found in discrepancies:
        figures = ["" if f is None else str(f) for f in (found.published, found.recomputed)]
        table.add_row(found.kind, *map(plain, (found.where, *figures, found.explanation)))
    return table


def _total(audits: Sequence[Audit]) -> str:
    found = [len(audit.discrepancies) for audit in audits]
    clean = found.count(0)
    total = _counted(sum(found), "discrepancy")
    return f"{_counted(len(found), 'page')}, {total}, {clean} without any"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun if count == 1 else noun.replace('cy', 'cie') + 's'}"
