"""The commands on reports: render, publish, verify, import, audit."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from benchlab import language
from benchlab.campaign.outcome import Comparer
from benchlab.campaign.overrides import override, parse_assignments
from benchlab.campaign.stored import StoredCampaign
from benchlab.cli.options import CampaignId, Json, open_store, width
from benchlab.errors import BenchlabError, PublishedPageError, SpecError, StoreError
from benchlab.home import Home, find
from benchlab.language.names import plain
from benchlab.plan.report_type import Destination
from benchlab.published import page
from benchlab.published.audit import audit as audits
from benchlab.published.audit import text
from benchlab.published.reading.model import PublishedReport
from benchlab.published.rendering import bundle as published_bundle
from benchlab.published.store import PublishedReports, called
from benchlab.report import bundle, evidence
from benchlab.report.publish import files
from benchlab.results.store import Store

app = typer.Typer()

Pages = Annotated[list[Path], typer.Argument(metavar="PAGE.md...", help="published pages")]
# Of a report's files, the one that each format is.
_FILE = {"md": "report.md", "html": "report.html", "json": "report.json"}
# By the outcome of a verification, of a bundle that does not hold.
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
) -> None:
    """Print a report in one format, rebuilt from the store, or write all its files."""
    home, chosen = find(), language.load(lang)
    with open_store(home) as store:
        contents, table = _contents(home, store, report, chosen)
    if to is not None:
        for path in files.write(contents, to):
            print(path)
        return
    sys.stdout.write(contents[table if form == "csv" else _FILE[form]].decode())


@app.command()
def publish(
    campaign: CampaignId,
    to: Annotated[
        str, typer.Option(metavar="PUBLISHER", help="beside files only there: s3, ...")
    ] = "",
    overrides: Annotated[
        list[str], typer.Option("--set", help="other destinations: publish=[{to: s3, bucket: ...}]")
    ] = [],  # noqa: B006
) -> None:
    """Render a campaign's report anew and bring it to its destinations; repeatable."""
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
        Path, typer.Argument(metavar="BUNDLE", help="evidence.zip of a report, or it unpacked")
    ],
    as_json: Json = False,
) -> None:
    """Compute every figure of a report again from its evidence, offline, and say what differs.

    Exit code 1 where anything does; 2 where nothing does and a part could not be verified, as the
    pages of another Benchlab.
    """
    found = evidence.verify(bundle_path)
    if as_json:
        # In ASCII: whatever a bundle says, it cannot reach a terminal.
        print(json.dumps(found.to_json(), indent=2))
    else:
        print("\n".join(found.lines()))
    if found.outcome != "holds":
        raise typer.Exit(_EXIT[found.outcome])


def _contents(
    home: Home, store: Store, report: str, chosen: language.Language
) -> tuple[dict[str, bytes], str]:
    """A report's files, and the name of its table."""
    imported = PublishedReports(store)
    if report in imported.ids():
        return published_bundle.make(imported.get(report), chosen), "figures.csv"
    made = Comparer(home, store).outcome(store.campaign(report))
    files = bundle.make(made.campaign, made.comparison, made.trials, languages=(chosen.code,))
    return files, "comparison.csv"


@app.command("import")
def import_pages(
    pages: Pages,
    replace: Annotated[
        bool, typer.Option("--replace", help="take a page although another one has its id")
    ] = False,
    name: Annotated[
        str, typer.Option("--as", metavar="NAME", help="keep one page under an id of its own")
    ] = "",
    as_json: Json = False,
) -> None:
    """Read published reports into the store; one that cannot be read leaves the others be."""
    if name and len(pages) > 1:
        raise SpecError(f"--as {name}: {len(pages)} pages cannot have one id; import one by one")
    faults, read = [], []
    with open_store(find()) as store:
        imported = PublishedReports(store)
        for path in pages:
            try:
                report, raw = page.load(path)
                report = called(report, name) if name else report
                new = imported.add(report, raw, replace=replace)
            except (PublishedPageError, StoreError) as error:
                faults.append(str(error))
                continue
            read.append(report)
            if not as_json:
                print(_imported(report, new))
    if as_json:
        print(json.dumps([each.to_json() for each in read], indent=2, ensure_ascii=False))
    if faults:
        raise BenchlabError("\n".join(faults))


def _imported(report: PublishedReport, new: bool) -> str:
    figures = sum(
        len(side) for each in report.workloads for row in each.rows for side in row.sides.values()
    )
    findings = len(audits.audit([report])[0].findings)
    lines = [
        (
            f"{report.id}: {'imported' if new else 'there already'}; workloads: "
            f"{len(report.workloads)}, figures: {figures}, findings of an audit: {findings}"
        )
    ]
    lines += [f"  line {each.line}: not understood: {plain(each.what)}" for each in report.unread]
    return "\n".join(lines)


@app.command()
def audit(pages: Pages, as_json: Json = False) -> None:
    """Recompute every figure of published pages and say what is wrong in them.

    Of several pages, the same version in two of them is compared, too. Exit code 0 whatever is
    found: a finding is a result. Where a page cannot be read it is 1, and the others are audited.
    """
    faults, read = [], []
    for path in pages:
        try:
            read.append(page.load(path)[0])
        except PublishedPageError as error:
            faults.append(str(error))
    if read:
        _print_audits(audits.audit(read), as_json=as_json, alone=len(pages) == 1)
    if faults:
        raise BenchlabError("\n".join(faults))


def _print_audits(found: list[audits.Audit], *, as_json: bool, alone: bool) -> None:
    """As JSON one page that was asked for alone is no list."""
    if as_json:
        documents = [each.to_json() for each in found]
        print(json.dumps(documents[0] if alone else documents, indent=2, ensure_ascii=False))
    else:
        print(text.render(found, width(), sys.stdout.isatty()), end="")
