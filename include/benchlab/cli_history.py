"""The commands on the history of a workload: history, acknowledge."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchlab import history, long_view
from benchlab.cli_options import CampaignId, Json, open_store, width
from benchlab.comparisons import Comparisons
from benchlab.errors import SpecError
from benchlab.home import Home, find
from benchlab.long_view import LongView
from benchlab.published.model import PublishedReport
from benchlab.published_reports import PublishedReports
from benchlab.report import history as history_view
from benchlab.report import history_chart
from benchlab.results import Campaign
from benchlab.store import Store

app = typer.Typer()

_WORKLOAD = typer.Argument(help="point_select, oltp_read_write, tpcc, ...")
Workload = Annotated[str, _WORKLOAD]


@app.command("history")
def show_history(
    workload: Annotated[str, _WORKLOAD] = "",
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
        compared = [(each, made.of(each).comparison) for each in campaigns]
        found = history.of(workload, reports, compared)
        views = _long_views(home, store, campaigns, found.workload, made)
    if picture is not None:
        history_chart.write(found, picture, views)
    if as_json:
        print(json.dumps(history_view.to_json(found, views), indent=2, ensure_ascii=False))
    else:
        print(history_view.render(found, width(), sys.stdout.isatty(), views), end="")


@app.command()
def acknowledge(
    workload: Workload,
    campaign: CampaignId,
    note: Annotated[
        str, typer.Option(metavar="TEXT", help="what was found, for whoever reads it later")
    ] = "",
    take_back: Annotated[
        bool, typer.Option("--take-back", help="instead: the change point is open again")
    ] = False,
) -> None:
    """Keep that somebody has looked into the change point at a campaign, the first one after it."""
    if take_back and note:
        raise SpecError("acknowledge: give --note or --take-back, not both")
    home = find()
    with open_store(home) as store:
        if take_back:
            long_view.take_back(store, workload, campaign)
            print(f"{campaign}: the acknowledgement is taken back")
        else:
            made = long_view.acknowledge(home, store, workload, campaign, note)
            print(f"{campaign}: {made.workload} {made.direction} is acknowledged by {made.who}")


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
    home: Home, store: Store, campaigns: list[Campaign], workload: str, made: Comparisons
) -> list[LongView]:
    """Of each report type that has something to show, in the order of their names."""
    reports = sorted({each.plan.report for each in campaigns})
    views = (long_view.of(home, store, report, workload, made) for report in reports)
    return [view for view in views if view.chains or view.left_out]
