"""Shows a planned backfill in a terminal, and as JSON: the total, every moment, the commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from benchlab.language.names import plain
from benchlab.language.numbers import MISSING
from benchlab.plan.fields.budget import APPROVAL_DAYS
from benchlab.report.formats.console import console_for, print_table, table_of, text_of
from benchlab.report.formats.plan_text import ESTIMATES, duration
from benchlab.studies.backfill import BackfillMoment, BackfillPlan

AGAIN = (
    "Moments that Airflow has a run for already are left alone (`--reprocess-behavior failed` "
    "repeats failed ones)."
)


def to_json(plan: BackfillPlan) -> dict[str, Any]:
    """The plan as JSON: moments in ISO 8601; dollars are null if nothing is rented."""
    return {
        "report": plan.report,
        "first": plan.first.isoformat(),
        "last": plan.last.isoformat(),
        "campaigns": len(plan.campaigns),
        "refused": len(plan.refused),
        "minutes": round(plan.minutes, 1),
        "dollars": plan.dollars,
        "vcpus": plan.vcpus,
        "approvals": len(plan.asked),
        "undecided": list(map(str, plan.undecided)),
        "notes": list(_notes(plan)),
        "moments": [{**asdict(moment), "at": moment.at.isoformat()} for moment in plan.moments],
        "command": command(plan) if plan.campaigns else None,
        "commands": list(commands(plan)) if plan.campaigns else [],
    }


def render(plan: BackfillPlan, width: int, colour: bool) -> str:
    """The total first, then every moment, then the commands; ``colour`` asks for ANSI codes."""
    console = console_for(width, colour)
    console.print(Text(_total(plan), style="bold"))
    if plan.vcpus is not None:
        console.print(f"vCPUs: {plan.vcpus} at a time, which the account's quota has to allow")
        console.print(Text(ESTIMATES, style="dim"))
    for note in _notes(plan):
        console.print(Text(f"note: {plain(note)}"))
    console.print()
    print_table(console, _table(plan))
    if len(plan.campaigns) < len(plan.moments):
        console.print()
        console.print(Text("\n".join(_without(plan))))
    if plan.campaigns:
        console.print()
        console.print(
            Text("To start it; unpaused, the report type also runs by its schedule from then on:")
        )
        for line in commands(plan):
            # What a reader copies must not be broken into lines.
            console.print(Text(f"  {line}"), soft_wrap=True)
        console.print(Text(AGAIN, style="dim"))
    return text_of(console)


def commands(plan: BackfillPlan) -> tuple[str, ...]:
    """The commands that start Airflow, its DAG and the backfill; each may be repeated."""
    unpause = shlex.join(["bin/airflow", "dags", "unpause", plan.report])
    return "make up", unpause, command(plan)


def command(plan: BackfillPlan) -> str:
    """The command by which Airflow runs the backfill, one campaign after the other.

    Example:
        It begins with ``bin/airflow backfill create --dag-id sysbench_ec2_weekly``.
    """
    # Airflow takes a day as its midnight in UTC, and moments come later in their day.
    last = f"{plan.last}T23:59:59"
    return shlex.join(
        [
            *("bin/airflow", "backfill", "create", "--dag-id", plan.report),
            *("--from-date", plan.first.isoformat(), "--to-date", last),
            *("--max-active-runs", "1"),
        ]
    )


def _total(plan: BackfillPlan) -> str:
    count = len(plan.campaigns)
    parts = [f"{count} campaign{'s' * (count != 1)}"]
    if count:
        parts.append(f"about {duration(plan.minutes)}")
        parts.append(
            "nothing is rented" if plan.dollars is None else f"about {plan.dollars:,.2f} dollars"
        )
    if plan.refused:
        parts.append(f"{len(plan.refused)} refused")
    return f"{plan.report}, {plan.first} to {plan.last}: {', '.join(parts)}"


def _notes(plan: BackfillPlan) -> Iterator[str]:
    """What must be decided or approved before the runs, and what is rented without approval."""
    if not plan.campaigns:
        return
    if plan.asked:
        yield (
            f"{_of_all(plan.asked, plan)} more than {_limit(plan)}: each waits in Airflow, up to "
            f"{APPROVAL_DAYS} days, until a person approves it; without approval it fails and "
            "rents nothing"
        )
    if plan.unasked:
        yield (
            f"{_of_all(plan.unasked, plan)} no more than {_limit(plan)}: hosts are rented without "
            "anybody being asked"
        )
    if watched := [one for one in plan.campaigns if one.most_minutes is not None]:
        dearest = max(watched, key=lambda one: one.most_minutes or 0.0)
        most = duration(dearest.most_minutes or 0.0)
        if dearest.most_dollars is not None:
            most += f" and {dearest.most_dollars:,.2f} dollars"
        yield (
            "time and cost are of campaigns in which nothing is flagged; one in which everything "
            f"is confirmed takes {most}"
        )
    if plan.undecided:
        yield f"every run is refused until this is decided: {'; '.join(map(str, plan.undecided))}"


def _of_all(some: Sequence[BackfillMoment], plan: BackfillPlan) -> str:
    count, total = len(some), len(plan.campaigns)
    if count < total:
        return f"{count} of {total} campaigns {'costs' if count == 1 else 'cost'}"
    return "the campaign costs" if total == 1 else f"each of the {total} campaigns costs"


def _limit(plan: BackfillPlan) -> str:
    return f"budget.approve_above ({plan.approve_above or 0:g} dollars)"


def _table(plan: BackfillPlan) -> Table:
    rented = plan.dollars is not None
    table = table_of(
        "day" if plan.by_release else "moment (UTC)",
        *("versions", "campaign", "time", "dollars")[: 3 + rented],
    )
    for column in table.columns[3:]:
        column.justify = "right"
    for moment in plan.moments:
        figures = (
            MISSING if moment.minutes is None else duration(moment.minutes),
            MISSING if moment.dollars is None else f"{moment.dollars:,.2f}",
        )
        table.add_row(
            f"{moment.at:%Y-%m-%d}" if plan.by_release else f"{moment.at:%Y-%m-%d %H:%M}",
            " vs. ".join(reversed(list(moment.versions.values()))) or MISSING,
            _kind(moment),
            *figures[: 1 + rented],
        )
    return table


def _kind(moment: BackfillMoment) -> Text:
    if moment.refused:
        return Text("refused", style="red")
    if moment.no_campaign is not None:
        return Text("none", style="dim")
    return Text("A/A" if moment.aa else "bridge" if moment.bridge else "comparison")


def _without(plan: BackfillPlan) -> Iterator[str]:
    """Each reason for having no campaign once, with its days."""
    days: dict[tuple[str, str], list[str]] = {}
    for moment in plan.moments:
        if moment.no_campaign is not None:
            why = (str(_kind(moment)), moment.no_campaign)
            days.setdefault(why, []).append(f"{moment.at:%Y-%m-%d}")
    for (kind, reason), on in days.items():
        yield f"{kind} on {', '.join(on)}:"
        yield from (f"  {plain(line)}" for line in reason.splitlines())
