"""The command on the history of a workload: history."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchlab.cli.options import Json, open_store, width
from benchlab.errors import SpecError
from benchlab.home import Home, find
from benchlab.published import history, history_chart, history_text
from benchlab.published.reading.model import PublishedReport
from benchlab.published.store import PublishedReports
from benchlab.results.records import Campaign
from benchlab.results.store import Store
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
    """List what published reports and campaigns say of a workload, and chain the campaigns.

    The chain shows the workload over the versions: lasting changes, and slow drift. Absolute
    figures of different campaigns are never compared.
    """
    home = find()
    with open_store(home) as store:
        reports, faults = PublishedReports(store).all()
        for fault in faults:
            print(f"left out: {fault}", file=sys.stderr)
        campaigns, made = _campaigns(store, report), Comparisons(home, store)
        if not workload:
            raise SpecError(_no_workload(report, campaigns, [] if report else reports))
        compared = [(each, made.compared(each).comparison) for each in campaigns]
        found = history.history_of(workload, reports, compared)
        views = _long_views(home, campaigns, found.workload, made)
    if picture is not None:
        history_chart.write(found, picture, views)
    if as_json:
        print(json.dumps(history_text.to_json(found, views), indent=2, ensure_ascii=False))
    else:
        print(history_text.render(found, width(), sys.stdout.isatty(), views), end="")


def _campaigns(store: Store, report: str | None) -> list[Campaign]:
    found = [store.campaign(campaign) for campaign in store.campaign_ids()]
    chosen = [each for each in found if report in (None, each.plan.report)]
    if report is not None and not chosen:
        known = ", ".join(sorted({each.plan.report for each in found})) or "the store is empty"
        raise SpecError(f"--report {report!r}: there is no campaign of it; known: {known}")
    return chosen


def _no_workload(
    report: str | None, campaigns: list[Campaign], reports: Sequence[PublishedReport]
) -> str:
    there = {trial.workload for each in campaigns for trial in each.plan.trials}
    there |= {each.name for page in reports for each in page.workloads}
    of = f" of {report}" if report else ""
    return f"history: name a workload{of}: {', '.join(sorted(there)) or 'the store is empty'}"


def _long_views(
    home: Home, campaigns: list[Campaign], workload: str, made: Comparisons
) -> list[LongView]:
    """Of each report type that has something to show, in the order of their names."""
    reports = sorted({each.plan.report for each in campaigns})
    views = (long_view(home, made, report, workload) for report in reports)
    return [view for view in views if view.chains or view.left_out]
