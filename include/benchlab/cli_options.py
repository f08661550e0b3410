"""What the commands of the command line share."""

from __future__ import annotations

import shutil
from datetime import UTC, date, datetime
from typing import Annotated

import typer

from benchlab.home import Home
from benchlab.store import Store

Json = Annotated[bool, typer.Option("--json", help="print JSON")]
CampaignId = Annotated[str, typer.Argument(help="a campaign's id; `benchlab campaigns` lists them")]


def day(text: str) -> date:
    """A day of an option.

    Raises:
        BadParameter: there is none of this name.
    """
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise typer.BadParameter(
            f"{text!r}: there is no such day, or it is not written as YYYY-MM-DD"
        ) from None


def open_store(home: Home) -> Store:
    """The results store of an installation."""
    return Store(home.store_url, home.objects)


def width() -> int:
    """Of the terminal, in columns."""
    return shutil.get_terminal_size((100, 24)).columns
