"""The command that shows who deleted, pruned and gave back what: journal."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.text import Text

from benchlab.cli.options import Json, show
from benchlab.home import find
from benchlab.report.formats.console import console_for, print_table, table_of, text_of
from benchlab.results import journal as kept

app = typer.Typer()


@app.command()
def journal(as_json: Json = False) -> None:
    """List who deleted, pruned and gave back what, the latest first.

    Who judged a finding is shown with it, and who approved a campaign in its report. What people do
    in Airflow is in Airflow's own audit log.

    Example: benchlab journal --json
    """
    show(
        kept.read(find())[::-1],
        as_json,
        lambda found: [{**asdict(one), "at": one.at.isoformat()} for one in found],
        _render,
    )


def _render(found: list[kept.Act], width: int, colour: bool) -> str:
    if not found:
        return "Nobody has deleted, pruned or given back anything with the command line.\n"
    console, table = console_for(width, colour), table_of("at (UTC)", "by", "did", "of")
    for one in found:
        table.add_row(*map(Text, (f"{one.at:%Y-%m-%d %H:%M:%S}", one.by, one.act, one.of)))
    print_table(console, table)
    return text_of(console)
