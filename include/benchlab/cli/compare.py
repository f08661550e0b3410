"""The commands that judge what was measured: campaigns, compare, calibrate, history, parse."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from benchlab import workloads
from benchlab.analysis.elsewhere import compare as elsewhere
from benchlab.campaign.outcome import Comparer
from benchlab.cli.options import Json, open_store, show
from benchlab.errors import BenchlabError, SpecError
from benchlab.home import find
from benchlab.published import history, history_chart, history_text
from benchlab.published.reading.model import PublishedReport
from benchlab.published.store import PublishedReports
from benchlab.report.formats import json_text, terminal
from benchlab.report.model import report as model
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from benchlab.studies.comparisons import Comparisons
from benchlab.studies.long_view.view import LongView, long_view
from benchlab.studies.sensitivity import chart, findings, selection
from benchlab.studies.sensitivity import text as sensitivity_text

app = typer.Typer()


@app.command("campaigns")
def list_campaigns() -> None:
    """List the campaigns in the store, the latest first."""
    with open_store(find()) as store:
        for record in reversed(store.campaigns()):
            sides = " vs. ".join(side.version for side in record.plan.sides.values())
            print(f"{record.id}  {record.state:8}  {record.plan.engine} {sides}  ({record.origin})")


@app.command()
def compare(
    campaign: Annotated[
        str, typer.Argument(help="a campaign's id; `benchlab campaigns` lists them")
    ] = "",
    trials: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="instead: trials measured elsewhere, with the columns workload, "
            "threads, round, side, any of tps, qps, tpmc, p95_ms, errors, and optionally campaign",
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            metavar="AA.csv",
            help="with --trials: A/A campaigns, each deployed on its own, in the same columns",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="with --trials: the smallest change that counts, in %; 2 if not given"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare the sides of a stored campaign, or of trials in a file."""
    home = find()
    if trials is not None:
        if campaign:
            raise SpecError("compare: give a campaign or --trials, not both")
        found = elsewhere.compare(home, trials, calibration, threshold)
        show(found, as_json, json_text.trials_to_json, terminal.render_outcome)
        return
    if not campaign:
        raise SpecError("compare: give a campaign (`benchlab campaigns` lists them) or --trials")
    if calibration is not None or threshold is not None:
        raise SpecError(
            "--calibration and --threshold go with --trials; a stored campaign has its own "
            "threshold and is calibrated by A/A campaigns of its report type"
        )
    with open_store(home) as store:
        made = Comparer(home, store).outcome(store.campaign(campaign))
    show(
        (made.campaign, made.comparison, made.trials),
        as_json,
        lambda measured: json_text.to_json(*measured),
        lambda measured, *on: terminal.render(model.build(*measured), *on) + "\n",
    )


@app.command()
def calibrate(
    named: Annotated[
        list[str],
        typer.Argument(metavar="CAMPAIGN", help="A/A campaigns; none: lists those there are"),
    ] = [],  # noqa: B006
    detect: Annotated[
        float | None,
        typer.Option(metavar="PCT", help="the slowdown to be found; else 1.5 thresholds"),
    ] = None,
    as_json: Json = False,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="draw how often each slowdown is found: .svg or .png"),
    ] = None,
) -> None:
    """Show from A/A campaigns how often verdicts err, how small a change is found, what finds more.

    `benchlab run REPORT --set sides=same` makes an A/A campaign. Five or more, each deployed and
    loaded on its own, show how much deployments differ.
    """
    home = find()
    with open_store(home) as store:
        if not named:
            if as_json:
                raise SpecError("--json goes with campaigns; `benchlab calibrate` lists them")
            print(sensitivity_text.render_groups(selection.aa_groups(store)), end="")
            return
        found = findings.calibrate(home, store, named, detect)
    if picture is not None:
        chart.write(found, picture)
    show(found, as_json, sensitivity_text.to_json, sensitivity_text.render)


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


@app.command()
def parse(
    tool: Annotated[
        Literal["sysbench", "go-tpc"], typer.Argument(help="the client that printed the file")
    ],
    file: Annotated[Path, typer.Argument(help="its output")],
    as_json: Json = False,
) -> None:
    """Read a client's output, complete or not."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BenchlabError(f"{file}: cannot be read: {error.strerror}") from error
    output = workloads.parsers()[tool](text)
    document: dict[str, Any] = output.to_json()
    if as_json:
        print(json.dumps(document, indent=2))
        return
    series = document.pop("series")
    for key, value in document.items():
        print(f"{key}: {json.dumps(value) if isinstance(value, dict | list) else value}")
    print(f"series: {len(series)} intervals")
