"""The command that searches for the release that brought a change: bisect."""

from __future__ import annotations

import functools
import sys
from datetime import date
from typing import Annotated, get_args

import typer

from benchlab.campaign.overrides import parse_assignments
from benchlab.campaign.stages import new_id
from benchlab.cli.options import Json, open_store, read_report_type, show
from benchlab.cli.run import drive
from benchlab.errors import SpecError
from benchlab.home import find
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab.plan.versions import FINAL, RELEASE_KINDS, ReleaseKind
from benchlab.studies.bisection import text as bisect_view
from benchlab.studies.bisection.run import ORIGIN, Bisection
from benchlab.studies.bisection.search import Named

app = typer.Typer()

# Exit code of a bisection that names no release.
NOT_NAMED = 2
# Fields that the arguments already set, so that --set may not.
_ASKED = frozenset({*SIDES, "workloads"})


@app.command()
def bisect(
    good: Annotated[str, typer.Argument(help="the older release, as it was before the change")],
    bad: Annotated[str, typer.Argument(help="the newer one, which has the change")],
    report: Annotated[
        str, typer.Option("--report", help="a report type: its name, or the path of its YAML")
    ],
    workload: Annotated[
        str, typer.Option("--workload", help="whose throughput has changed: oltp_update_index, ...")
    ],
    kinds: Annotated[
        str | None,
        typer.Option(
            metavar="KINDS",
            help=f"releases in between that count, of {','.join(RELEASE_KINDS)}; "
            f"else {','.join(FINAL)}",
        ),
    ] = None,
    series: Annotated[
        bool, typer.Option("--series", help="instead: only the first release of each series")
    ] = False,
    overrides: Annotated[
        list[str], typer.Option("--set", help="change a field of all campaigns: rounds=6")
    ] = [],  # noqa: B006
    approve: Annotated[
        bool,
        typer.Option(
            "--approve",
            help="rent even where all campaigns together may cost more than is allowed, or where "
            "GOOD or BAD is not in the calendar",
        ),
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="only show what is known and what the search may take")
    ] = False,
    as_json: Json = False,
) -> None:
    """Name the release that brought a change, with as few campaigns as possible.

    Campaigns in the store are not run again. Exit code 2 if no release is named: there is no
    change between the two, or it cannot be decided which release brought it.
    """
    home = find()
    if asked := sorted(_ASKED & parse_assignments(overrides).keys()):
        raise SpecError(
            f"--set {', '.join(asked)}: GOOD, BAD and --workload say what is compared; leave it out"
        )
    spec = read_report_type(home, report, overrides)
    if series and kinds is not None:
        raise SpecError("--series and --kinds both say which releases count; give one of them")
    counted = FINAL if kinds is None else _kinds(kinds)

    def campaign(pair: ReportSpec, interrupted: str | None, on: date | None) -> str:
        name = interrupted or new_id(f"{spec.report}-bisect")
        done, _ = drive(home, store, pair, name, ORIGIN, on)
        done.verdict()
        return done.campaign.id

    with open_store(home) as store:
        found = Bisection.open(
            home, store, spec, good, bad, workload, counted, first_of_series=series
        )
        if plan:
            found.look()
        else:
            found.run(campaign, functools.partial(print, file=sys.stderr), approved=approve)
    show(found, as_json, bisect_view.to_json, bisect_view.render)
    if not plan and not isinstance(found.reached, Named):
        raise typer.Exit(NOT_NAMED)


def _kinds(text: str) -> tuple[ReleaseKind, ...]:
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in RELEASE_KINDS]:
        raise SpecError(
            f"--kinds: unknown: {', '.join(unknown)}; there are: {', '.join(RELEASE_KINDS)}"
        )
    return tuple(kind for kind in get_args(ReleaseKind) if kind in names)
