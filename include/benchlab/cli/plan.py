"""The commands that plan a campaign, and prepare this machine for it: plan, install."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date
from typing import Annotated

import typer

from benchlab import engines
from benchlab.campaign import planning
from benchlab.campaign.resolving import Asks
from benchlab.cli import dry_run
from benchlab.cli.options import Json, day, show
from benchlab.cli.report_argument import (
    Assignments,
    OnDay,
    ReportType,
    read_report_type,
    request_on,
    resolver,
    say_notes,
)
from benchlab.engines import builds
from benchlab.errors import SpecError, StoreError, UnavailableError
from benchlab.home import Home, find
from benchlab.hosts.access import Access
from benchlab.language import Said
from benchlab.plan import plan
from benchlab.plan.plan import Plan
from benchlab.plan.resolved import Resolved
from benchlab.report.formats import plan_text
from benchlab.results.store import open_store
from benchlab.studies import backfill_text
from benchlab.studies.backfill import backfill_plan
from benchlab.studies.sensitivity import text as sensitivity_text
from benchlab.studies.sensitivity.proposals import PlanSensitivity, plan_sensitivity

app = typer.Typer()
# Exit code of a plan that cannot be run yet.
REFUSED = 2


@app.command("plan")
def show_plan(
    report: ReportType,
    overrides: Assignments = [],  # noqa: B006
    on: OnDay = None,
    as_json: Json = False,
    commands: Annotated[
        bool, typer.Option("--commands", help="print the commands that a campaign would run")
    ] = False,
    detect: Annotated[
        float | None,
        typer.Option(
            metavar="PCT",
            help="the slowdown to be found at the lowest cost; default: 1.5 thresholds",
        ),
    ] = None,
    backfill: Annotated[
        tuple[date, date] | None,
        typer.Option(
            parser=day,
            metavar="FROM TO",
            help="instead: every campaign of a backfill over these days",
        ),
    ] = None,
) -> None:
    """Show steps, minutes, hosts, dollars and trials. Starts nothing.

    Exit code 2 if it cannot be run yet: something is missing that only a person can say or mend,
    which is named at the end.

    Example: benchlab plan sysbench_local --set rounds=6 --set threads=2,8 --detect 3
    """
    home = find()
    if backfill is not None:
        if commands or on is not None or detect is not None:
            raise SpecError("plan: --backfill goes with --set and --json only")
        with open_store(home) as store:
            unplanned = read_report_type(home, report, overrides)
            campaigns = backfill_plan(home, unplanned, *backfill, store)
        show(campaigns, as_json, backfill_text.to_json, backfill_text.render)
        _refuse(campaigns.undecided)
        return
    request = request_on(home, report, overrides, on)
    with resolver(home, Asks.EVERYBODY) as reading:
        versioned = reading.versions(request)
        # Builds are read anew, even if the file already names their hashes.
        spec = builds.pinned(home, versioned.spec, Access(), fetch=False)
        resolved = reading.complete(replace(versioned, spec=spec))
    say_notes(resolved)
    planned = plan.make(resolved, request.spec.report)
    undecided = [*resolved.undecided]
    client = None
    try:
        client = planning.client_here(spec)
    except UnavailableError as error:
        undecided.append(str(error))
    left_open = "; ".join(map(str, undecided))
    arrangements = planning.arrangements(home, spec)
    if as_json:
        found = _sensitivity(home, resolved, planned, detect)
        counts = {metric.name: pct for metric, pct in found.counts} if found else {}
        sensitivity = asdict(found) | {"counts": counts} if found else None
        extra = {
            "client": client,
            "sensitivity": sensitivity,
            "undecided": [str(one) for one in undecided],
        }
        document = {**planned.to_json(), **extra, "arrangements": arrangements}
        print(json.dumps(document, indent=2))
    elif commands:
        print(dry_run.render(dry_run.commands_of(home, spec, planned)), end="")
        if left_open:
            print(f"cannot be run: {left_open}", file=sys.stderr)
    else:
        found = _sensitivity(home, resolved, planned, detect)
        lines = sensitivity_text.plan_lines(found, planned)
        print(
            plan_text.render(
                spec,
                planned,
                str(resolved.reason),
                client=client,
                arrangements=arrangements,
                not_runnable=left_open,
                sensitivity=lines,
            )
        )
    _refuse(undecided)


@app.command()
def install(report: ReportType, overrides: Assignments = [], on: OnDay = None) -> None:  # noqa: B006
    """Install a report type's database servers ahead of a campaign.

    Example: benchlab install sysbench_local
    """
    home = find()
    request = request_on(home, report, overrides, on)
    with resolver(home, Asks.TO_RUN) as reading:
        resolved = reading.versions(request)
    say_notes(resolved)
    engine = resolved.engine
    spec = builds.pinned(home, resolved.spec, Access())
    for of in sorted(
        (spec.side(engine, side) for side in spec.measured_sides), key=lambda of: of.label
    ):
        if not of.builds:
            engines.install(engine, of.version, home)
        print(f"{engine} {of.label}: installed")


def _refuse(undecided: Sequence[Said]) -> None:
    if undecided:
        raise typer.Exit(REFUSED)


def _sensitivity(
    home: Home, resolved: Resolved, planned: Plan, detect_pct: float | None
) -> PlanSensitivity | None:
    try:
        return plan_sensitivity(home, resolved, planned, detect_pct=detect_pct)
    except StoreError as error:  # a plan does not need the store
        print(f"sensitivity: not known: {error}", file=sys.stderr)
        return None
