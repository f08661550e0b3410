"""The argument REPORT with ``--set`` and ``--on``, and the report type that they name."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from typing import Annotated

import typer

from benchlab.campaign import overrides, report_types
from benchlab.campaign.measured_versions import asks, measured_by
from benchlab.cli.options import day
from benchlab.home import Home
from benchlab.plan.report_type import ReportSpec
from benchlab.results.store import is_there, open_store

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


def read_report_type(home: Home, report: str, assignments: list[str]) -> ReportSpec:
    """The report type of this name or file, changed by the assignments of ``--set``.

    Raises:
        SpecError: there is none, or it is not valid.
    """
    spec = report_types.load(report_types.find_report(home, report))
    values = overrides.parse_assignments(assignments)
    return overrides.override(spec, values) if values else spec


def report_type_on(
    home: Home, report: str, assignments: list[str], on: date | None, *, to_run: bool = True
) -> ReportSpec:
    """A report type as of a day (None: today); prints notes on version rules to standard error.

    Raises:
        SpecError: there is none, or it is not valid.
        NoReleaseError: the calendar has no release that a rule names.
    """
    as_of = on or datetime.now(UTC).date()
    spec = read_report_type(home, report, assignments)
    if asks(spec) and is_there(home):
        with open_store(home) as store:
            measured = measured_by(home, store, spec.report)
            found = report_types.resolve(home, spec, as_of, measured=measured, to_run=to_run)
    else:
        found = report_types.resolve(home, spec, as_of, to_run=to_run)
    for note in found.notes:
        print(note, file=sys.stderr)
    return found.spec
