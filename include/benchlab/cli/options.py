"""Arguments and options that several commands share, and how they are read."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Annotated, Any, TypeVar

import typer

from benchlab.campaign import overrides, report_types
from benchlab.home import Home
from benchlab.plan.report_type import ReportSpec
from benchlab.results.store import Store

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


ReportType = Annotated[str, typer.Argument(help="a report type: its name, or the path of its YAML")]
Assignments = Annotated[
    list[str],
    typer.Option("--set", help="change a field: rounds=2, threads=2,8, candidate=11.4.5"),
]
OnDay = Annotated[
    date | None,
    typer.Option(
        "--on", parser=day, metavar="DAY", help="version rules as of this day; else today"
    ),
]


def open_store(home: Home) -> Store:
    """The results store of an installation."""
    return Store(home.store_url, home.objects)


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


def read_report_type(home: Home, report: str, assignments: list[str]) -> ReportSpec:
    """The report type of this name or file, changed by the assignments of ``--set``.

    Raises:
        SpecError: there is none, or it is not valid.
    """
    spec = report_types.load(report_types.find_report(home, report))
    values = overrides.parse_assignments(assignments)
    return overrides.override(spec, values) if values else spec


def report_type_on(home: Home, report: str, assignments: list[str], on: date | None) -> ReportSpec:
    """A report type as of a day (None: today); prints notes on version rules to standard error.

    Raises:
        SpecError: there is none, or it is not valid.
        NoReleaseError: the calendar has no release that a rule names.
    """
    as_of = on or datetime.now(UTC).date()
    found = report_types.resolve(home, read_report_type(home, report, assignments), as_of)
    for note in found.notes:
        print(note, file=sys.stderr)
    return found.spec
