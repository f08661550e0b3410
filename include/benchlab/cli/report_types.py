"""The command that lists what can be measured: reports."""

from __future__ import annotations

import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.padding import Padding
from rich.text import Text

from benchlab import targets
from benchlab.campaign import report_types
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.cli.options import width
from benchlab.cli.report_argument import resolver
from benchlab.errors import SpecError
from benchlab.home import find
from benchlab.plan import plan
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Request
from benchlab.report.formats.console import console_for, text_of
from benchlab.report.formats.plan_text import duration, measured

app = typer.Typer()


@app.command("reports")
def list_reports() -> None:
    """List the report types: what each measures, minutes and dollars.

    Estimates are those of a plan made now from files of this machine and earlier campaigns.

    Example: benchlab reports
    """
    home, console = find(), console_for(width(), sys.stdout.isatty())
    files = report_types.report_files(home)
    named = max((len(path.stem) for path in files), default=0)
    by_place = defaultdict[str, list[tuple[Path, ReportSpec]]](list)
    for path in files:
        try:
            spec = report_types.load(path)
        except SpecError as error:
            print(f"left out: {error}", file=sys.stderr)
        else:
            by_place[targets.by_name()[spec.target].place].append((path, spec))
    with resolver(home, Asks.NOBODY) as reading:
        for place, found in sorted(by_place.items(), key=lambda one: (_is_elsewhere(one), one[0])):
            console.print(Text(f"on {place}", style="bold"))
            for path, spec in found:
                console.print(Text(f"  {path.stem.ljust(named)}  {_takes(spec, reading)}"))
                console.print(Padding(Text(measured(spec), style="dim"), (0, 0, 0, 6)))
    console.print("\n`benchlab plan REPORT` shows one in full, `benchlab run REPORT` runs it.")
    print(text_of(console), end="")


def _is_elsewhere(found: tuple[str, list[tuple[Path, ReportSpec]]]) -> bool:
    return not targets.by_name()[found[1][0][1].target].can.shares_machine


def _takes(spec: ReportSpec, reading: Resolver) -> str:
    try:
        resolved = reading.resolve(Request(spec, datetime.now(UTC).date()))
        planned = plan.make(resolved, spec.report)
    except SpecError:
        return "cannot be planned today"
    dollars = "" if planned.dollars is None else f"{planned.dollars:,.2f} dollars"
    lacks = "lacks what `benchlab plan` names" if resolved.undecided else ""
    return ", ".join(filter(None, (duration(planned.minutes), dollars, lacks)))
