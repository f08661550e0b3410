"""The commands that judge what was measured: campaigns, compare, calibrate, parse."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from benchlab import workloads
from benchlab.analysis.elsewhere import compare as elsewhere
from benchlab.campaign.outcome import Comparer
from benchlab.cli.options import Json, open_store, width
from benchlab.errors import BenchlabError, SpecError
from benchlab.home import find
from benchlab.report.formats import json_text, terminal
from benchlab.report.model import report as model
from benchlab.studies.sensitivity import chart, findings, selection
from benchlab.studies.sensitivity import text as sensitivity_text

app = typer.Typer()


@app.command("campaigns")
def list_campaigns() -> None:
    """List the campaigns in the store, the latest first."""
    with open_store(find()) as store:
        for campaign in store.campaign_ids():
            record = store.campaign(campaign)
            sides = " vs. ".join(side.version for side in record.plan.sides.values())
            print(f"{campaign}  {record.state:8}  {record.plan.engine} {sides}  ({record.origin})")


@app.command()
def compare(
    campaign: Annotated[
        str, typer.Argument(help="a campaign's id; `benchlab campaigns` lists them")
    ] = "",
    trials: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="instead: trials that were measured elsewhere, with the columns workload, "
            "threads, round, side, any of tps, qps, tpmc, p95_ms, errors, and maybe campaign",
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
        typer.Option(
            help="with --trials: the smallest change that is called one, in %; 2 if not given"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare the sides of a campaign from what the store has, or of trials in a file."""
    home = find()
    if trials is not None:
        if campaign:
            raise SpecError("compare: give a campaign or --trials, not both")
        found = elsewhere.compare(home, trials, calibration, threshold)
        if as_json:
            print(json_text.trials_to_json(found), end="")
        else:
            print(terminal.render_outcome(found, width(), sys.stdout.isatty()), end="")
        return
    if not campaign:
        raise SpecError("compare: give a campaign (`benchlab campaigns` lists them) or --trials")
    if calibration is not None or threshold is not None:
        raise SpecError(
            "--calibration and --threshold go with --trials; a campaign of the store has its own "
            "threshold, and A/A campaigns of its report type are taken"
        )
    with open_store(home) as store:
        made = Comparer(home, store).outcome(store.campaign(campaign))
        if as_json:
            document = json_text.to_json(made.campaign, made.comparison, made.trials)
            print(json.dumps(document, indent=2, ensure_ascii=False))
        else:
            built = model.build(made.campaign, made.comparison, made.trials)
            print(terminal.render(built, width(), sys.stdout.isatty()))


@app.command()
def calibrate(
    named: Annotated[
        list[str],
        typer.Argument(metavar="CAMPAIGN", help="A/A campaigns; none: lists those there are"),
    ] = [],  # noqa: B006
    detect: Annotated[
        float | None,
        typer.Option(metavar="PCT", help="the slowdown that is to be found; else 1.5 thresholds"),
    ] = None,
    as_json: Json = False,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="draw how often each slowdown is found: .svg or .png"),
    ] = None,
) -> None:
    """Say by A/A campaigns how often a verdict errs, how small a change is found, what finds more.

    They are made by `benchlab run REPORT --set sides=same`. Five or more, each deployed and loaded
    on its own, tell what one deployment happens to be.
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
    if as_json:
        print(json.dumps(sensitivity_text.to_json(found), indent=2, ensure_ascii=False))
    else:
        print(sensitivity_text.render(found, width(), sys.stdout.isatty()), end="")


@app.command()
def parse(
    tool: Annotated[
        Literal["sysbench", "go-tpc"], typer.Argument(help="the client that printed the file")
    ],
    file: Annotated[Path, typer.Argument(help="its output")],
    as_json: Json = False,
) -> None:
    """Read a client's output, good or broken."""
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
