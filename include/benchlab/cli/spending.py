"""The command on what rented hosts cost: spending."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from benchlab.cli.options import Json, show
from benchlab.home import find
from benchlab.plan.fields import budget
from benchlab.report.formats.console import console_for, print_table, table_of, text_of
from benchlab.report.sentences.spending import sentence
from benchlab.results.spending import Month, Record, month_of, vcpus_by_region
from benchlab.results.store import open_store

app = typer.Typer()


def _month(text: str) -> str:
    if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", text):
        raise typer.BadParameter(f"{text!r}: write a month as YYYY-MM")
    return text


@app.command()
def spending(
    month: Annotated[
        str | None,
        typer.Option(parser=_month, metavar="MONTH", help="such as 2026-11; default: this one"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the dollars spent and committed in a month, and held vCPUs.

    A campaign counts in the month (UTC) in which it registered. What is committed is the most that
    campaigns which are not given back may still cost.

    Example: benchlab spending --month 2026-11
    """
    home = find()
    limit = budget.shared(home.budget).month
    with open_store(home) as store:
        named = month or month_of(datetime.now(UTC))
        found = Month(named, store.spending.of_month(named))
        held = vcpus_by_region(store.spending.open())
    show(
        found,
        as_json,
        lambda found: _to_json(found, limit, held),
        lambda found, width, colour: _render(found, limit, held, width, colour),
    )


def _to_json(found: Month, limit: float | None, held: dict[str, int]) -> dict[str, Any]:
    return {
        "month": found.month,
        "spent": round(found.spent, 2),
        "committed": round(found.committed, 2),
        "limit": limit,
        "vcpus": held,
        "campaigns": [{**asdict(one), **_times(one)} for one in found.records],
    }


def _times(one: Record) -> dict[str, str | None]:
    times = {name: getattr(one, name) for name in ("begun_at", "until", "ended_at")}
    return {name: at.isoformat() if at else None for name, at in times.items()}


def _render(
    found: Month, limit: float | None, held: dict[str, int], width: int, colour: bool
) -> str:
    console = console_for(width, colour)
    console.print(sentence(found, limit))
    for region, count in held.items():
        console.print(f"held now in {region}: {count} vCPUs")
    by_report: defaultdict[str, list[Record]] = defaultdict(list)
    for one in found.records:
        by_report[one.report].append(one)
    table = table_of("report", "campaign", "spent", "committed", "vCPUs", "region")
    for report, records in sorted(by_report.items()):
        table.add_row(report, f"{len(records)} in all", *_dollars(*records))
        for one in records:
            vcpus = "" if one.vcpus is None else str(one.vcpus)
            table.add_row("", one.id, *_dollars(one), vcpus, one.region or "")
    if found.records:
        console.print()
        print_table(console, table)
    return text_of(console)


def _dollars(*records: Record) -> Iterator[str]:
    of = Month("", records)
    yield f"{of.spent:,.2f}"
    yield f"{of.committed:,.2f}" if of.open else ""
