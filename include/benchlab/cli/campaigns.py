"""The command that lists what was measured: campaigns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, date
from typing import Annotated, Any, get_args

import typer
from rich.text import Text

from benchlab.analysis.verdict.decision import Verdict
from benchlab.cli.options import Json, day, show
from benchlab.errors import SpecError
from benchlab.home import find
from benchlab.language import english
from benchlab.language.names import title_of
from benchlab.language.numbers import MISSING, Numbers
from benchlab.plan.report_type import SIDES
from benchlab.report.formats.console import console_for, print_table, table_of, text_of
from benchlab.results.listing import Chosen
from benchlab.results.records import CampaignSummary, StoredVerdict
from benchlab.results.store import open_store

app = typer.Typer()

_NONE = (
    "No campaign was measured yet: `benchlab run sysbench_local` measures one on this machine, "
    "`benchlab plan REPORT` shows what one takes"
)
_NO_MATCH = "None of the {count} campaigns in the store has all of that"
_CHANGES = ("regression", "improvement")
_ORDER: tuple[str, ...] = (*_CHANGES, "unstable", "inconclusive", "equivalent")
_STYLE = {"regression": "red", "improvement": "green", "unstable": "yellow"}


@app.command("campaigns")
def list_campaigns(
    report: Annotated[
        str | None, typer.Option(metavar="REPORT", help="of this report type")
    ] = None,
    version: Annotated[
        str | None, typer.Option(metavar="VERSION", help="with this version or build on a side")
    ] = None,
    verdict: Annotated[
        str | None, typer.Option(metavar="VERDICT", help="with this verdict on any workload")
    ] = None,
    since: Annotated[
        date | None, typer.Option(parser=day, metavar="DAY", help="started on this day or later")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="so many, the latest; 0: all")] = 0,
    as_json: Json = False,
) -> None:
    """List the campaigns in the store, the latest first.

    Verdicts are those of the report as it was last published: `benchlab publish CAMPAIGN` decides
    anew, with all A/A campaigns that there are by now.

    Example: benchlab campaigns --verdict regression --since 2026-01-01
    """
    if verdict is not None and verdict not in get_args(Verdict):
        known = ", ".join(get_args(Verdict))
        raise SpecError(f"--verdict {verdict!r}: there is no such verdict; known: {known}")
    with open_store(find()) as store:
        chosen = Chosen(
            report=report,
            versions=() if version is None else (version,),
            verdict=verdict,
            since=since,
        )
        listed, there = store.summaries(chosen, limit=limit or None), store.count()
    show(
        listed,
        as_json,
        lambda found: [_to_json(one) for one in found],
        lambda found, width, colour: _render(found, there, width, colour),
    )


def _to_json(one: CampaignSummary) -> dict[str, Any]:
    return {
        **asdict(one),
        "started_at": one.started_at.isoformat(),
        "ended_at": one.ended_at.isoformat() if one.ended_at else None,
    }


def _render(found: Sequence[CampaignSummary], known: int, width: int, colour: bool) -> str:
    if not found:
        return f"{_NO_MATCH.format(count=known) if known else _NONE}.\n"
    console, numbers = console_for(width, colour), Numbers(english())
    table = table_of("campaign", "started (UTC)", "took", "versions", "throughput", "p95")
    for one in found:
        ended = one.ended_at
        throughput, latency = _by_metric(one)
        table.add_row(
            one.id,
            f"{one.started_at.astimezone(UTC):%Y-%m-%d %H:%M}",
            numbers.duration(ended - one.started_at) if ended else "",
            " vs. ".join(one.versions[side] for side in SIDES if side in one.versions),
            *(_said(one, verdicts, numbers) for verdicts in (throughput, latency)),
        )
    print_table(console, table)
    return text_of(console)


def _by_metric(one: CampaignSummary) -> tuple[list[StoredVerdict], list[StoredVerdict]]:
    """The verdicts on throughput, and those on p95 latency: they are kept in turn."""
    return list(one.verdicts[::2]), list(one.verdicts[1::2])


def _said(one: CampaignSummary, verdicts: Sequence[StoredVerdict], numbers: Numbers) -> Text:
    """Which verdicts there are and how often, with what changed; or why there is none."""
    if not verdicts:
        return Text(one.state if one.state != "complete" else MISSING, style="dim")
    counted = Counter(found.verdict for found in verdicts)
    parts = [
        Text(
            _words(one, verdict, counted[verdict], verdicts, numbers),
            style="" if one.measures_noise else _STYLE.get(verdict, ""),
        )
        for verdict in _ORDER
        if counted[verdict]
    ]
    return Text(", ").join(parts)


def _words(
    one: CampaignSummary,
    verdict: str,
    count: int,
    verdicts: Sequence[StoredVerdict],
    numbers: Numbers,
) -> str:
    if verdict not in _CHANGES:
        return english().say(f"answer-{verdict}", count=count)
    changed = (
        f"{title_of(found.workload)} {numbers.change(found.estimate_pct)}"
        for found in verdicts
        if found.verdict == verdict
    )
    name = "false-alarm" if one.measures_noise else verdict
    said = english().say(f"answer-{name}", count=count)
    return english().say("answer-named", count=said, each=", ".join(changed))
