"""The commands on kept builds and the store: builds, backup, restore, sql, store upgrade."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from benchlab.cli.options import Json, show
from benchlab.engines import builds
from benchlab.engines.builds import Kept
from benchlab.home import find
from benchlab.language.names import plain
from benchlab.language.numbers import MISSING
from benchlab.report.formats.console import console_for, print_table, table_of, text_of
from benchlab.results import backup, sql, store

app = typer.Typer()


@app.command("builds")
def list_builds(as_json: Json = False) -> None:
    """List the kept builds of this machine, the newest first.

    Example: benchlab builds --json
    """
    show(builds.all_kept(find()), as_json, _documents, lambda found, *_: _text(found))


def _documents(found: Sequence[Kept]) -> list[dict[str, Any]]:
    return [asdict(one) for one in found]


def _text(found: Sequence[Kept]) -> str:
    lines = [f"{len(found)} build{'s' * (len(found) != 1)} in {find().builds}"]
    for one in found:
        lines.append(f"  {one.sha256}  {one.engine} {one.component}  for {one.version}")
        commit = f", commit {one.git_hash}" if one.git_hash else ""
        lines.append(f"    kept {one.kept_at} from {one.source}{commit}")
    return "\n".join([*lines, ""])


@app.command("backup")
def make_backup(
    to: Annotated[Path, typer.Argument(metavar="DIR", help="a new directory, outside the home")],
    also: Annotated[
        list[str],
        typer.Option(
            "--with", metavar="NAME", help="copy this directory of the home too, such as builds"
        ),
    ] = [],  # noqa: B006
) -> None:
    """Copy store, objects and reports, even while a campaign runs.

    What else is in the home is listed, with its size and how many of its files are secrets, and
    copied only if --with names it. Of a store on a server it says how to dump it first.

    Example: benchlab backup /mnt/backups/monday
    """
    backup.make(find(), to, also, print)


@app.command("restore")
def restore_backup(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="what `benchlab backup` made")],
) -> None:
    """Put a backup into an empty home, and check that it is complete.

    The variable BENCHLAB_HOME names the home.

    Example: benchlab restore /mnt/backups/monday
    """
    backup.restore(find(), source, print)


@app.command("sql")
def ask(
    query: Annotated[str, typer.Argument(help="one SELECT; without it, tables are listed")] = "",
    as_csv: Annotated[bool, typer.Option("--csv", help="print CSV")] = False,
    as_json: Json = False,
) -> None:
    """Ask the results store in SQL, which changes nothing.

    It is answered by the store's own database, in its dialect: SQLite, MariaDB or PostgreSQL.

    Example: benchlab sql "SELECT report, COUNT(*) AS campaigns FROM campaigns GROUP BY report"
    """
    found = sql.select(find(), query) if query else sql.tables()
    if as_csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows([found.columns, *found.rows])
        return
    show(found, as_json, _rows, _table)


def _rows(found: sql.Answer) -> list[dict[str, Any]]:
    return [
        {
            name: cell if isinstance(cell, bool | int | float | None) else str(cell)
            for name, cell in zip(found.columns, row, strict=True)
        }
        for row in found.rows
    ]


def _table(found: sql.Answer, columns: int, colour: bool) -> str:
    console, table = console_for(columns, colour), table_of(*found.columns)
    for row in found.rows:
        table.add_row(*(MISSING if cell is None else plain(str(cell)) for cell in row))
    print_table(console, table)
    return text_of(console)


_store = typer.Typer(no_args_is_help=True)
app.add_typer(_store, name="store")


@_store.callback()
def _about() -> None:
    """Upgrade the results store to the schema of this Benchlab.

    Example: benchlab store upgrade
    """


@_store.command()
def upgrade() -> None:
    """Upgrade an earlier release's store; SQLite's file is copied first.

    `make up`, `make demo` and docker-compose do so as well. Nothing else may write into the store
    meanwhile. Another store than this installation's is named by BENCHLAB_STORE_URL.

    Example: benchlab store upgrade
    """
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        print(text)

    store.upgrade(find(), say)
    if not said:
        print("nothing to upgrade")
