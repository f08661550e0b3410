"""The commands on reports: render, publish, verify, import, audit."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from benchlab import language
from benchlab.campaign.outcome import Comparer
from benchlab.campaign.overrides import override, parse_assignments
from benchlab.campaign.stored import StoredCampaign
from benchlab.cli.options import CampaignId, Json, open_store, show
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
        str, typer.Option(metavar="PUBLISHER", help="only there, beside files: s3, ...")
    ] = "",
    overrides: Annotated[
        list[str], typer.Option("--set", help="other destinations: publish=[{to: s3, bucket: ...}]")
    ] = [],  # noqa: B006
) -> None:
    """Render a campaign's report again and bring it to its destinations; repeatable."""
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
        typer.Argument(metavar="BUNDLE", help="evidence.zip of a report, or its folder"),
    ],
    as_json: Json = False,
) -> None:
    """Compute every figure of a report again from its evidence, offline, and list what differs.

    Exit code 1 if anything differs; 2 if nothing differs but a part could not be verified, such as
    the pages of another version of Benchlab.
    """
    found = evidence.verify(bundle_path)
    # JSON in ASCII, so that no control character of a bundle reaches the terminal.
    print(json.dumps(found.to_json(), indent=2) if as_json else "\n".join(found.lines()))
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
        bool, typer.Option("--replace", help="replace the page that has the same id")
    ] = False,
    name: Annotated[
        str, typer.Option("--as", metavar="NAME", help="store one page under this id")
    ] = "",
    as_json: Json = False,
) -> None:
    """Read published reports into the store; one that cannot be read does not stop the others."""
    if name and len(pages) > 1:
        raise SpecError(f"--as {name}: {len(pages)} pages cannot have one id; import one by one")
    faults, read = [], []
    unread: BrokenPipeError | None = None
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
            read.append(report.to_json())
            if as_json or unread:
                continue
            try:  # at once: nothing that comes later hides what is in the store
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
    findings = len(audits.audit([report])[0].findings)
    head = (
        f"{report.id}: {'imported' if new else 'there already'}; workloads: "
        f"{len(report.workloads)}, figures: {figures}, findings of an audit: {findings}\n"
    )
    unread = (f"  line {one.line}: not understood: {plain(one.what)}\n" for one in report.unread)
    return head + "".join(unread)


@app.command()
def audit(pages: Pages, as_json: Json = False) -> None:
    """Recompute every figure of published pages and list what is wrong in them.

    A version that appears in several pages is compared between them. Exit code 0 even if there are
    findings; 1 if a page cannot be read (the others are audited nevertheless).
    """
    faults, read = [], []
    for path in pages:
        try:
            read.append(page.load(path)[0])
        except PublishedPageError as error:
            faults.append(str(error))

    def documents(found: Sequence[audits.Audit]) -> Any:
        made = [audited.to_json() for audited in found]
        return made if len(pages) > 1 else made[0]  # a single page's is not a list

    if read:
        show(audits.audit(read), as_json, documents, text.render)
    if faults:
        raise BenchlabError("\n".join(faults))
