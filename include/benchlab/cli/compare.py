"""The commands that judge measurements: compare, calibrate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from benchlab.analysis.elsewhere import compare as elsewhere
from benchlab.cli import completing
from benchlab.cli.documents import opened, print_document
from benchlab.cli.options import CampaignId, FailOn, Json, fail_on, show, width
from benchlab.errors import SpecError
from benchlab.home import find
from benchlab.report import gate_files
from benchlab.report.formats import json_text, pages, terminal
from benchlab.report.model.report import Report
from benchlab.report.sentences import opening, wording
from benchlab.results.store import open_store
from benchlab.site.campaign import place_of
from benchlab.site.page import Page
from benchlab.site.side_by_side import PLACE
from benchlab.studies import before_after
from benchlab.studies.sensitivity import findings, selection
from benchlab.studies.sensitivity import text as sensitivity_text

app = typer.Typer()


@app.command()
def compare(
    campaign: CampaignId = "",
    before: Annotated[
        str,
        typer.Option(
            metavar="CAMPAIGN",
            autocompletion=completing.campaigns,
            help="instead: a campaign of one version ...",
        ),
    ] = "",
    after: Annotated[
        str,
        typer.Option(
            metavar="CAMPAIGN",
            autocompletion=completing.campaigns,
            help="... with a later one of the same plan",
        ),
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
        typer.Option(help="with --trials: the smallest change that counts, in %; default: 2"),
    ] = None,
    as_json: Json = False,
    form: Annotated[
        Literal["github"] | None,
        typer.Option("--format", help="github: Markdown for a comment or a job's summary there"),
    ] = None,
    failing: FailOn = [],  # noqa: B006
) -> None:
    """Show what a campaign found; or compare two, or trials in a file.

    Exit code 0 whatever the verdicts are; 3 with --fail-on if one of them is asked for.

    Example: benchlab compare CAMPAIGN --format github
    """
    home = find()
    two = bool(before or after)
    if two + bool(campaign) + (trials is not None) > 1:
        raise SpecError("compare: give a campaign, --before and --after, or --trials, not several")
    if two and not (before and after):
        raise SpecError("compare: --before and --after go together")
    if trials is not None:
        if form or failing:
            raise SpecError("compare: --format and --fail-on go with a campaign, not with --trials")
        gates = gate_files.load_all(home.configs / "quality")
        found = elsewhere.compare(gates, trials, calibration, threshold)
        show(found, as_json, json_text.trials_to_json, terminal.render_outcome)
        return
    if not campaign and not two:
        raise SpecError("compare: give a campaign (`benchlab campaigns` lists them) or --trials")
    if calibration is not None or threshold is not None:
        raise SpecError(
            "--calibration and --threshold go with --trials; a stored campaign has its own "
            "threshold and is calibrated by A/A campaigns of its report type"
        )
    if form and as_json:
        raise SpecError("compare: give --json or --format, not both")
    with opened() as site:
        if two:
            made = before_after.compared(home, site.store, before, after)
        else:
            made = site.comparisons.outcome(site.store.campaign(campaign))
        report = made.report(made.causes(site.store))
        said = opening.later(report, site.comparisons.later(made))
        if as_json:
            values = {"campaign": report.campaign, "report": report, "later": said}
            place, title = place_of(campaign) if campaign else PLACE, wording.title(report)
            print_document(site, Page(place, "campaigns/", title, "campaign.html.j2", values))
        else:
            _print(report, said, form)
    fail_on(made, failing)


def _print(report: Report, later: str, form: str | None) -> None:
    shown = terminal.render(report, width(), sys.stdout.isatty())
    print(pages.comment(report) if form else f"{shown}\n", end="")
    print(f"\n{later}\n" if later else "", end="")


@app.command()
def calibrate(
    named: Annotated[
        list[str],
        typer.Argument(metavar="CAMPAIGN", help="A/A campaigns; none: lists those there are"),
    ] = [],  # noqa: B006
    detect: Annotated[
        float | None,
        typer.Option(metavar="PCT", help="the slowdown to be found; default: 1.5 thresholds"),
    ] = None,
    as_json: Json = False,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="draw how often each slowdown is found, as .svg"),
    ] = None,
) -> None:
    """Show from A/A campaigns how often verdicts err or miss a change.

    `benchlab run REPORT --set sides=same` makes an A/A campaign. Five or more, each deployed and
    loaded on its own, show how much deployments differ.

    Example: benchlab calibrate CAMPAIGN CAMPAIGN --detect 3
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
        sensitivity_text.write_picture(found, picture)
    show(found, as_json, sensitivity_text.to_json, sensitivity_text.render)
