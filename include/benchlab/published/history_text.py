"""The history of a workload for a terminal, and as JSON; published and measured kept apart.

Below them stands the long view of each report type (:mod:`benchlab.studies.long_view.text`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from benchlab.language import codes, english
from benchlab.language.names import first_of, plain, title_of
from benchlab.language.numbers import MISSING, Numbers
from benchlab.published.history import History, MeasuredChange, PublishedChange
from benchlab.report.formats.console import console_for, print_table, table_of, text_of
from benchlab.studies.long_view import text
from benchlab.studies.long_view.view import LongView

APART = (
    "Each change is against the baseline of its own report. Throughputs of different reports are "
    "not comparable: hosts, settings and data differ. What the long view chains are changes."
)
_ABOUT_PUBLISHED = (
    "Published, by version. One value for each figure: no interval, no verdict. change: mean over "
    "the threads, recomputed; highest: of the candidate; findings: of `benchlab audit`, of this "
    "workload alone."
)
_COLOUR = {"regression": "red", "improvement": "green", "unstable": "yellow"}


def to_json(found: History, views: Sequence[LongView] = ()) -> dict[str, Any]:
    """All of it; times as ISO 8601.

    Args:
        views: of its workload, one for each report type.
    """
    document = asdict(found)
    for change in document["measured"]:
        change["started_at"] = change["started_at"].isoformat()
    document["long_view"] = [text.to_json(view) for view in views]
    return document


def render(found: History, width: int, colour: bool, views: Sequence[LongView] = ()) -> str:
    """Its tables, and what must be known to read them.

    Args:
        width: of the terminal, in columns.
        colour: whether it has ANSI codes.
        views: of its workload, one for each report type.
    """
    console = console_for(width, colour)
    console.print(Text(f"{title_of(found.workload)} ({found.workload})", style="bold"))
    console.print()
    console.print(Text(_ABOUT_PUBLISHED))
    if found.published:
        print_table(console, _published(found.published))
    else:
        console.print("  none imported")
    console.print(Text("Measured, by time"))
    if found.measured:
        print_table(console, _measured(found.measured))
    else:
        console.print("  no campaign")
    if found.single:
        console.print(Text(f"Left out: {first_of(found.single)}: one version alone, so no change"))
    console.print()
    for view in views:
        text.write(console, view)
        console.print()
    console.print(Text(APART, style="dim"))
    return text_of(console)


def _published(changes: Sequence[PublishedChange]) -> Table:
    numbers = Numbers(english())
    table = table_of(
        "versions", "metric", "threads", "change", "printed", "highest", "findings", "report"
    )
    for each in changes:
        threads = f"{min(each.threads)} to {max(each.threads)}" if each.threads else MISSING
        table.add_row(
            versions_of(each),
            each.metric or "chart",
            threads,
            numbers.change(each.change_pct),
            numbers.change(each.printed_pct),
            numbers.whole(each.highest.get(each.candidate)),
            str(each.findings),
            _pages(each),
        )
    return table


def _measured(changes: Sequence[MeasuredChange]) -> Table:
    numbers = Numbers(english())
    table = table_of(
        "started", "versions", "metric", "rounds", "estimate", "95% interval", "verdict", "campaign"
    )
    for each in changes:
        table.add_row(
            f"{each.started_at:%Y-%m-%d %H:%M}",
            f"{each.candidate} vs. {each.baseline}",
            each.metric,
            str(each.rounds_used),
            numbers.estimate(each.estimate_pct, each.threshold_pct),
            numbers.interval(each.ci95_pct, each.threshold_pct),
            Text(_verdict(each), style=_COLOUR.get(each.verdict, "")),
            each.campaign,
        )
    return table


def versions_of(change: PublishedChange) -> str:
    """As titles have them."""
    if change.baseline is None:
        return plain(change.candidate)
    return f"{plain(change.candidate)} vs. {plain(change.baseline)}"


def _pages(change: PublishedChange) -> str:
    """Ids of a page in several languages at once: ``sysbench-v5.2.0-vs-v5.1.1-{en,zh}``."""
    languages: dict[str, list[str]] = {}
    for each in map(plain, change.reports):
        report, _, language = each.rpartition("-")
        if report and language in codes():
            languages.setdefault(report, []).append(language)
        else:
            languages[each] = []  # a name that was given to it
    return "\n".join(
        f"{report}-{{{','.join(found)}}}" if len(found) > 1 else "-".join((report, *found))
        for report, found in languages.items()
    )


def _verdict(change: MeasuredChange) -> str:
    apart: list[str] = [change.verdict]
    if change.aa:
        apart.append("A/A")
    if change.slowdown_pct:
        apart.append(f"slowed by {change.slowdown_pct:g}%")
    if change.state != "complete":
        apart.append(change.state)
    return ", ".join(apart)
