"""The commands on reports: render, publish, verify."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from benchlab import language
from benchlab.campaign.outcome import Comparer
from benchlab.campaign.overrides import override, parse_assignments
from benchlab.campaign.stored import StoredCampaign
from benchlab.cli.options import CampaignId, Json
from benchlab.errors import PublishedPageError, SpecError
from benchlab.home import Home, find
from benchlab.plan.fields.publish import Destination
from benchlab.plan.fields.published import Layout
from benchlab.published import rendering
from benchlab.published.store import PublishedReports
from benchlab.report import bundle, evidence
from benchlab.report.model import validation
from benchlab.report.publish import files
from benchlab.results.store import Store, open_store

app = typer.Typer()

# The file of each format.
_FILE = {"md": "report.md", "html": "report.html", "json": "report.json"}
# Exit codes by outcome of a verification.
_EXIT = {"differs": 1, "not verified": 2}


@app.command()
def render(
    report: Annotated[
        str, typer.Argument(help="a campaign's id, or that of an imported published report")
    ],
    form: Annotated[Literal["md", "html", "csv", "json"], typer.Option("--format")] = "md",
    lang: Annotated[
        str, typer.Option("--lang", help=f"language: {', '.join(language.codes())}")
    ] = language.REFERENCE,
    to: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="write all files into a directory instead, with charts"),
    ] = None,
    layout: Annotated[
        Layout | None,
        typer.Option(help="of a campaign's tables of results; default: the campaign's own"),
    ] = None,
) -> None:
    """Print a report in one format from the store, or write its files.

    With ``--layout published`` its tables of results have the layout of the published document.

    Example: benchlab render CAMPAIGN --lang zh --to report
    """
    home, chosen = find(), language.load(lang)
    with open_store(home) as store:
        contents, table = _contents(home, store, report, chosen, layout)
    if to is not None:
        for path in files.write(contents, to):
            print(path)
        return
    name = table if form == "csv" else _FILE[form]
    if name not in contents:
        raise PublishedPageError(
            f"--format {form}: {report} is an imported page, which is rendered as md, csv or json"
        )
    sys.stdout.write(contents[name].decode())


@app.command()
def publish(
    campaign: CampaignId,
    to: Annotated[
        str, typer.Option(metavar="PUBLISHER", help="only to this publisher, beside files: s3, ...")
    ] = "",
    overrides: Annotated[
        list[str], typer.Option("--set", help="other destinations: publish=[{to: s3, bucket: ...}]")
    ] = [],  # noqa: B006
) -> None:
    """Render a campaign's report again and publish it; repeatable.

    Example: benchlab publish CAMPAIGN --to s3
    """
    home = find()
    with open_store(home) as store:
        work = StoredCampaign(home, store, store.campaign(campaign))
        work.publish(to or None, _destinations(work, overrides))
        for address in work.published().values():
            print(address)


def _destinations(work: StoredCampaign, assignments: list[str]) -> tuple[Destination, ...] | None:
    values = parse_assignments(assignments)
    if others := sorted(set(values) - {"publish"}):
        raise SpecError(
            f"--set {', '.join(others)}: the campaign has been measured; only `publish` can change"
        )
    return override(work.spec, values).publish if values else None


@app.command()
def verify(
    bundle_path: Annotated[
        Path,
        typer.Argument(metavar="BUNDLE", help="evidence.zip of a report"),
    ],
    as_json: Json = False,
) -> None:
    """Recompute a report from its evidence, offline; list differences.

    Exit code 1 if anything differs; 2 if nothing differs but a part could not be verified, such as
    the pages of another version of Benchlab.

    Example: benchlab verify .benchlab/reports/CAMPAIGN/evidence.zip
    """
    found = evidence.verify(bundle_path)
    # JSON in ASCII, so that no control character of a bundle reaches the terminal.
    print(json.dumps(found.to_json(), indent=2) if as_json else "\n".join(found.lines()))
    if found.outcome != "holds":
        raise typer.Exit(_EXIT[found.outcome])


def _contents(
    home: Home, store: Store, report: str, chosen: language.Language, layout: Layout | None
) -> tuple[dict[str, bytes], str]:
    """A report's files, and the name of its table."""
    imported = PublishedReports(store)
    if report in imported.ids():
        if layout == "own":
            raise PublishedPageError(
                f"--layout own: {report} is an imported page, which has the layout of its page only"
            )
        return rendering.make(imported.get(report), chosen), "figures.csv"
    made = Comparer(home, store).outcome(store.campaign(report))
    campaign, spec = made.campaign, made.campaign.report_type
    if layout is not None:
        spec = spec.model_copy(update={"layout": layout})
    files = bundle.make(
        dataclasses.replace(campaign, report_type=spec),
        made.comparison,
        made.trials,
        languages=(chosen.code,),
        read_object=store.read_bytes,
        validation=validation.read(home.campaign(campaign.id) / validation.NAME),
    )
    return files, "comparison.csv"
