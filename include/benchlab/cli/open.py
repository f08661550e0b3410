"""The command that shows a report in the browser: open."""

from __future__ import annotations

import sys
import webbrowser
from typing import Annotated

import typer

from benchlab.cli.options import CampaignId
from benchlab.errors import StoreError
from benchlab.home import find
from benchlab.results.store import open_store

app = typer.Typer()


@app.command("open")
def open_report(
    campaign: CampaignId,
    lang: Annotated[
        str, typer.Option("--lang", help="the page in this language, of a report with several")
    ] = "",
) -> None:
    """Open a campaign's report in the browser.

    Prints where the page is, and no more than that where this machine has no browser.

    Example: benchlab open CAMPAIGN
    """
    home = find()
    with open_store(home) as store:
        store.target_and_state(campaign)  # an unknown campaign is refused by its name
    folder = home.reports / campaign
    page = folder / lang / "report.html"
    if not page.is_file():
        others = sorted(other.parent.name for other in folder.glob("*/report.html"))
        if lang and (folder / "report.html").is_file():
            there = f"; known: {', '.join(others)}" if others else " but its own"
            raise StoreError(f"--lang {lang}: the report of {campaign} has no such page{there}")
        raise StoreError(
            f"{campaign}: there is no report in {folder}; `benchlab publish {campaign}` makes it "
            "from the store"
        )
    print(page, flush=True)
    if not _shown(page.as_uri()):
        print("this machine has no browser: open that file in one of yours", file=sys.stderr)


def _shown(address: str) -> bool:
    try:
        return webbrowser.get().open(address)
    except webbrowser.Error:
        return False
