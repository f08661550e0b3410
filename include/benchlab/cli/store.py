"""The commands on the results store itself: store upgrade."""

from __future__ import annotations

import typer

from benchlab.home import find
from benchlab.results import store

app = typer.Typer()
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
