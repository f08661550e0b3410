"""The command that lists what was measured: campaigns."""

from __future__ import annotations

import typer

from benchlab.home import find
from benchlab.results.store import open_store

app = typer.Typer()


@app.command("campaigns")
def list_campaigns() -> None:
    """List the campaigns in the store, the latest first."""
    with open_store(find()) as store:
        for record in reversed(store.campaigns()):
            sides = " vs. ".join(side.label for side in record.plan.sides.values())
            print(f"{record.id}  {record.state:8}  {record.plan.engine} {sides}  ({record.origin})")
