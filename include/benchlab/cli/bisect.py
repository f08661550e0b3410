"""The command that searches for the release that brought a change: bisect."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from datetime import date
from typing import Annotated

import typer

from benchlab.campaign.overrides import parse_assignments
from benchlab.campaign.stages import new_id
from benchlab.cli.options import Json, show
from benchlab.cli.report_argument import read_report_type
from benchlab.cli.run import drive
from benchlab.errors import SpecError
from benchlab.home import Home, find
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab.plan.resolved import Resolved
from benchlab.plan.versions import FINAL, RELEASE_KINDS, ReleaseKind
from benchlab.results.store import Store, open_store
from benchlab.studies.bisection import text
from benchlab.studies.bisection.run import ORIGIN, Bisection
from benchlab.studies.bisection.search import Named

app = typer.Typer()

# Exit code of a bisection that names no release.
NOT_NAMED = 2
# Fields that the arguments already set, so that --set may not.
_ASKED = frozenset({*SIDES, "workloads"})

Good = Annotated[str, typer.Argument(help="the older release, from before the change")]
Bad = Annotated[str, typer.Argument(help="the newer one, which has the change")]
Report = Annotated[
    str, typer.Option("--report", help="a report type: its name, or the path of its YAML")
]
Workload = Annotated[
    str, typer.Option("--workload", help="whose throughput has changed: oltp_update_index, ...")
]
Kinds = Annotated[
    str | None,
    typer.Option(
        metavar="KINDS",
        help=f"releases in between that count, of {','.join(RELEASE_KINDS)}; default: "
        f"{','.join(FINAL)}",
    ),
]
Series = Annotated[
    bool, typer.Option("--series", help="instead: only the first release of each series")
]
OfAllCampaigns = Annotated[
    list[str], typer.Option("--set", help="change a field of all campaigns: rounds=6")
]
Approve = Annotated[
    bool,
    typer.Option(
        "--approve",
        help="rent even if all campaigns together may cost more than is allowed, or if GOOD or "
        "BAD is not in the calendar",
    ),
]
OnlyPlan = Annotated[
    bool, typer.Option("--plan", help="only show what is known and what the search may cost")
]


@app.command()
def bisect(
    good: Good,
    bad: Bad,
    report: Report,
    workload: Workload,
    kinds: Kinds = None,
    series: Series = False,
    overrides: OfAllCampaigns = [],  # noqa: B006
    approve: Approve = False,
    plan: OnlyPlan = False,
    as_json: Json = False,
) -> None:
    """Find the release that brought a change, in few campaigns.

    Campaigns in the store are not run again. Exit code 2 if no release is named: there is no
    change between the two, or it cannot be decided which release brought it.

    Example: benchlab bisect v6.1.0 v6.5.0 --report sysbench_ec2 --workload oltp_update_index
    """
    home = find()
    spec = _report_type(home, report, overrides)
    counted = _counted(kinds, series)
    with open_store(home) as store:
        found = Bisection.open(
            home, store, spec, good, bad, workload, counted, first_of_series=series
        )
        if plan:
            found.look()
        else:
            campaign = functools.partial(_measure, home, store, f"{spec.report}-bisect")
            found.run(campaign, functools.partial(print, file=sys.stderr), approved=approve)
    show(found, as_json, text.to_json, text.render)
    if not plan and not isinstance(found.reached, Named):
        raise typer.Exit(NOT_NAMED)


def _report_type(home: Home, report: str, overrides: list[str]) -> ReportSpec:
    if asked := sorted(_ASKED & parse_assignments(overrides).keys()):
        raise SpecError(
            f"--set {', '.join(asked)}: GOOD, BAD and --workload say what is compared; leave it out"
        )
    return read_report_type(home, report, overrides)


def _counted(kinds: str | None, series: bool) -> Sequence[ReleaseKind]:
    """The kinds of releases in between that count."""
    if kinds is None:
        return FINAL
    if series:
        raise SpecError("--series and --kinds both say which releases count; give one of them")
    names = [name.strip() for name in kinds.split(",")]
    if unknown := [name for name in names if name not in RELEASE_KINDS]:
        raise SpecError(
            f"--kinds: unknown: {', '.join(unknown)}; known: {', '.join(RELEASE_KINDS)}"
        )
    return [kind for kind in RELEASE_KINDS if kind in names]


def _measure(
    home: Home, store: Store, name: str, pair: Resolved, interrupted: str | None, on: date | None
) -> str:
    """Run or resume a campaign; returns its id."""
    again = "the same `benchlab bisect`"
    done = drive(home, store, pair, interrupted or new_id(name), ORIGIN, on, again=again)
    done.verdict()
    return done.campaign.id
