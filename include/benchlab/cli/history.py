"""The command that shows a workload over the versions: history."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchlab.cli.options import Json, show
from benchlab.errors import SpecError
from benchlab.home import find
from benchlab.published import history, history_chart, history_text
from benchlab.published.reading.model import PublishedReport
from benchlab.published.store import PublishedReports
from benchlab.results.records import Campaign
from benchlab.results.store import Store, open_store
from benchlab.studies.comparisons import Comparisons
from benchlab.studies.long_view.view import LongView, long_view

app = typer.Typer()


@app.command("history")
def show_history(
    workload: Annotated[str, typer.Argument(help="point_select, oltp_read_write, tpcc, ...")] = "",
    report: Annotated[
        str | None, typer.Option(metavar="REPORT", help="campaigns of this report type only")
    ] = None,
    as_json: Json = False,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="draw it: .svg or .png")
    ] = None,
) -> None:
    """List what published reports and campaigns say about a workload, and chain the campaigns.

    The chain shows the workload over the versions, with change points and slow drift. Absolute
    figures of different campaigns are never compared.

    Example: benchlab history oltp_update_index --report sysbench_ec2_weekly
    """
    home = find()
    with open_store(home) as store:
        reports, faults = PublishedReports(store).all()
        for fault in faults:
            print(f"left out: {fault}", file=sys.stderr)
        campaigns, made = _campaigns(store, report), Comparisons(home, store)
        if not workload:
            raise SpecError(_no_workload(report, campaigns, [] if report else reports))
        compared = [(campaign, made.compared(campaign).comparison) for campaign in campaigns]
        found = history.history_of(workload, reports, compared)
        views = _long_views(campaigns, found.workload, made)
    if picture is not None:
        history_chart.write(found, picture, views)
    show(
        found,
        as_json,
        lambda found: history_text.to_json(found, views),
        lambda found, columns, colour: history_text.render(found, columns, colour, views),
    )


def _campaigns(store: Store, report: str | None) -> list[Campaign]:
    found = store.campaigns()[::-1]
    chosen = [campaign for campaign in found if report in (None, campaign.plan.report)]
    if report is not None and not chosen:
        known = (
            ", ".join(sorted({campaign.plan.report for campaign in found})) or "the store is empty"
        )
        raise SpecError(f"--report {report!r}: there is no campaign of it; known: {known}")
    return chosen


def _no_workload(
    report: str | None, campaigns: list[Campaign], reports: Sequence[PublishedReport]
) -> str:
    there = {trial.workload for campaign in campaigns for trial in campaign.plan.trials}
    there |= {workload.name for page in reports for workload in page.workloads}
    of = f" of {report}" if report else ""
    return f"history: name a workload{of}: {', '.join(sorted(there)) or 'the store is empty'}"


def _long_views(campaigns: list[Campaign], workload: str, made: Comparisons) -> list[LongView]:
    """The long views of all report types that have something to show, by report type."""
    reports = sorted({campaign.plan.report for campaign in campaigns})
    views = (long_view(made, report, workload) for report in reports)
    return [view for view in views if view.chains or view.left_out]
