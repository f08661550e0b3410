"""The command that shows a workload over the versions: history."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchlab.campaign.outline import Outline
from benchlab.cli import completing, history_text
from benchlab.cli.documents import opened, print_document
from benchlab.cli.options import Json, width
from benchlab.errors import SpecError
from benchlab.published.model import PublishedReport
from benchlab.published.store import PublishedReports
from benchlab.results.store import Store
from benchlab.site.history import PUBLISHED, history
from benchlab.studies.comparisons import Comparisons
from benchlab.studies.long_view.view import LongView, long_view

app = typer.Typer()


@app.command("history")
def show_history(
    workload: Annotated[
        str,
        typer.Argument(
            help="point_select, oltp_read_write, tpcc, ...", autocompletion=completing.workloads
        ),
    ] = "",
    report: Annotated[
        str | None,
        typer.Option(
            metavar="REPORT",
            autocompletion=completing.report_types,
            help="campaigns of this report type only",
        ),
    ] = None,
    as_json: Json = False,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="draw it, as .svg")] = None,
) -> None:
    """Show a workload over the versions: levels, change points, drift.

    The chain shows the workload over the versions, with change points and slow drift. Absolute
    figures of different campaigns are never compared.

    Example: benchlab history oltp_update_index --report sysbench_ec2_weekly
    """
    with opened() as site:
        store, made = site.store, site.comparisons
        reports, faults = PublishedReports(store).all()
        for fault in faults:
            print(f"left out: {fault}", file=sys.stderr)
        campaigns = _campaigns(store, made, report)
        if not workload:
            raise SpecError(_no_workload(report, campaigns, [] if report else reports))
        compared = made.all_compared(campaigns).values()
        found = history_text.history_of(workload, reports, compared)
        views = _long_views(campaigns, found.workload, made)
        of = report or (_one_of([view.report for view in views]) if as_json else "")
        if picture is not None:
            history_text.write(found, picture, views)
        if as_json:
            print_document(site, history(site, of, found.workload))
            return
    print(history_text.render(found, width(), sys.stdout.isatty(), views), end="")


def _campaigns(store: Store, made: Comparisons, report: str | None) -> list[Outline]:
    """The campaigns of all report types or of one, the latest first."""
    known = [found.report for found in store.listing.reports()]
    if report is not None and report not in known:
        there = ", ".join(known) or "the store is empty"
        raise SpecError(f"--report {report!r}: there is no campaign of it; known: {there}")
    chosen = known if report is None else [report]
    found = [campaign for name in chosen for campaign in made.outlines(name)]
    return sorted(found, key=lambda campaign: (campaign.started_at, campaign.id), reverse=True)


def _no_workload(
    report: str | None, campaigns: list[Outline], reports: Sequence[PublishedReport]
) -> str:
    there = {workload for campaign in campaigns for workload in campaign.threads}
    there |= {workload.name for page in reports for workload in page.workloads}
    of = f" of {report}" if report else ""
    return f"history: name a workload{of}: {', '.join(sorted(there)) or 'the store is empty'}"


def _one_of(reports: Sequence[str]) -> str:
    """The report type of the page: the only one, or that of published reports if there is none."""
    if len(reports) > 1:
        raise SpecError(f"history: --json goes with --report, one of {', '.join(reports)}")
    return next(iter(reports), PUBLISHED)


def _long_views(campaigns: list[Outline], workload: str, made: Comparisons) -> list[LongView]:
    """The long views of all report types that have something to show, by report type."""
    reports = sorted({campaign.report for campaign in campaigns})
    views = (long_view(made, report, workload) for report in reports)
    return [view for view in views if view.chains or view.left_out]
