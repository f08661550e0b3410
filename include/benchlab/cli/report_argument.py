"""The argument REPORT with ``--set`` and ``--on``, and how they become a report type."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime
from typing import Annotated

import typer

from benchlab.campaign import overrides, report_types
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.cli import completing
from benchlab.cli.options import day
from benchlab.errors import StoreError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Request, Versioned
from benchlab.results.store import is_there, open_store

ReportType = Annotated[
    str,
    typer.Argument(
        help="a report type: its name, or the path of its YAML",
        autocompletion=completing.report_types,
    ),
]
Assignments = Annotated[
    list[str],
    typer.Option("--set", help="change a field: rounds=2, threads=2,8, candidate=11.4.5"),
]
OnDay = Annotated[
    date | None,
    typer.Option(
        "--on", parser=day, metavar="DAY", help="version rules as of this day; default: today"
    ),
]


def read_report_type(home: Home, report: str, assignments: list[str]) -> ReportSpec:
    """The report type of this name or file, changed by the assignments of ``--set``.

    Example:
        ``read_report_type(home, "sysbench_local", ["rounds=6"]).rounds`` is 6.

    Raises:
        SpecError: there is no such report type, or it is not valid.
    """
    spec = report_types.load(report_types.find_report(home, report))
    values = overrides.parse_assignments(assignments)
    return overrides.override(spec, values) if values else spec


@contextmanager
def resolver(home: Home, asks: Asks) -> Iterator[Resolver]:
    """A resolver for a person's command; unless it runs a campaign, an unreadable store is skipped.

    Raises:
        StoreError: the store cannot be opened, and ``asks`` is ``Asks.TO_RUN``.
    """
    access = Access.for_a_person()
    if not is_there(home):
        yield Resolver(home, None, access, asks)
        return
    with ExitStack() as stack:
        try:
            store = stack.enter_context(open_store(home))
        except StoreError as error:
            if asks == Asks.TO_RUN:
                raise
            print(f"earlier campaigns: not known: {error}", file=sys.stderr)
            store = None
        yield Resolver(home, store, access, asks)


def request_on(home: Home, report: str, assignments: list[str], on: date | None) -> Request:
    """A report type as of a day; None: today. Raises what :func:`read_report_type` raises."""
    return Request(read_report_type(home, report, assignments), on or datetime.now(UTC).date())


def say_notes(found: Versioned) -> None:
    """Print to standard error which version each version rule names."""
    for note in found.notes:
        print(note, file=sys.stderr)
