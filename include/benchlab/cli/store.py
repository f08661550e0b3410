"""The commands on kept builds and the results store: builds, store upgrade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer

from benchlab.cli.options import Json, show
from benchlab.engines import builds
from benchlab.engines.builds import Kept
from benchlab.home import find
from benchlab.results import store

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


_store = typer.Typer(no_args_is_help=True)
app.add_typer(_store, name="store")


@_store.callback()
def _about() -> None:
    """Upgrade the results store to the schema of this Benchlab.

    Example: benchlab store upgrade
    """


@_store.command()
def upgrade() -> None:
    """Upgrade a store that an earlier release made; a file of SQLite is copied beside it first.

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
