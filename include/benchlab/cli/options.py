"""Arguments and options that several commands share, and how a result is shown."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Annotated, Any, TypeVar

import typer

Found = TypeVar("Found")
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
CampaignId = Annotated[str, typer.Argument(help="a campaign's id; `benchlab campaigns` lists them")]


def day(text: str) -> date:
    """The day that an option names: ``day("2022-09-30")``.

    Raises:
        BadParameter: there is no such day.
    """
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise typer.BadParameter(
            f"{text!r}: there is no such day, or it is not written as YYYY-MM-DD"
        ) from None


def width() -> int:
    """The width of the terminal in columns; 100 if there is none."""
    return shutil.get_terminal_size((100, 24)).columns


def show(
    found: Found,
    as_json: bool,
    to_json: Callable[[Found], Any],
    render: Callable[[Found, int, bool], str],
) -> None:
    """Print a result, as JSON or for the terminal.

    Args:
        render: makes the text, from the result, the terminal's columns, and whether it has colour.
    """
    if as_json:
        print(json.dumps(to_json(found), indent=2, ensure_ascii=False))
    else:
        print(render(found, width(), sys.stdout.isatty()), end="")
