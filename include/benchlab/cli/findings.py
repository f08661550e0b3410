"""The commands on findings: findings, findings mark and undo."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from benchlab.cli.options import Json, show
from benchlab.errors import SpecError
from benchlab.home import find
from benchlab.language import english
from benchlab.language.names import plain, title_of
from benchlab.report.formats.console import console_for, text_of
from benchlab.report.sentences import findings as sentences
from benchlab.results.findings import STATES, Entry, Finding, FindingState, Judgement, Sought
from benchlab.results.store import open_store

app = typer.Typer()
_findings = typer.Typer(invoke_without_command=True)
app.add_typer(_findings, name="findings")

Number = Annotated[int, typer.Argument(metavar="ID", help="as `benchlab findings` lists it")]
_STYLE = {"regression": "red", "improvement": "green"}


def _state(text: str) -> FindingState:
    for state in STATES:
        if state == text:
            return state
    raise typer.BadParameter(f"{text!r}: must be one of {', '.join(STATES)}")


@_findings.callback()
def list_findings(
    context: typer.Context,
    report: Annotated[
        str | None, typer.Option(metavar="REPORT", help="of this report type")
    ] = None,
    workload: Annotated[
        str | None, typer.Option(metavar="WORKLOAD", help="of this workload")
    ] = None,
    state: Annotated[
        FindingState | None, typer.Option(parser=_state, metavar="STATE", help=", ".join(STATES))
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", help="in whatever state")] = False,
    as_json: Json = False,
) -> None:
    """List the changes that campaigns show and nobody has judged, each once.

    Below them: how many of those that people have judged were right, and whether false ones favour
    a side.

    Example: benchlab findings --report sysbench_ec2_weekly --all
    """
    if context.invoked_subcommand is not None:
        if report or workload or state or show_all or as_json:
            raise SpecError("findings: options before mark and undo are for the list only")
        return
    if state and show_all:
        raise SpecError("findings: give --state or --all, not both")
    states: tuple[FindingState, ...] = () if show_all else (state or "new",)
    with open_store(find()) as store:
        found = store.findings.found(Sought(report, workload=workload, states=states))
        judgements = store.findings.judgements(Sought(report, workload=workload))
    show(
        found,
        as_json,
        lambda found: {
            "findings": [_to_json(one) for one in found],
            "trust": sentences.trusted(judgements, english()),
        },
        lambda found, width, colour: _render(found, judgements, width, colour),
    )


@_findings.command()
def mark(
    number: Number,
    state: Annotated[
        FindingState,
        typer.Argument(
            parser=_state,
            metavar="STATE",
            help="known: real and explained; wanted: intended or accepted; fixed: reverted or "
            "mended; noise: wrong; new: to be judged again",
        ),
    ],
    note: Annotated[str, typer.Option(help="what it was")] = "",
    link: Annotated[str, typer.Option(help="the address of an issue")] = "",
) -> None:
    """Say what a finding is; what was said before stays in its history.

    Example: benchlab findings mark 7 known --note "a new default" --link https://example.org/7
    """
    with open_store(find()) as store:
        told = " ".join(note.split())
        _print_state(store.findings.mark(number, state, getpass.getuser(), told, link))


@_findings.command()
def undo(number: Number) -> None:
    """Take back what was said last of a finding.

    Example: benchlab findings undo 7
    """
    with open_store(find()) as store:
        _print_state(store.findings.take_back(number, getpass.getuser()))


def _print_state(found: Finding) -> None:
    print(f"finding {found.id}, {found.report}, {title_of(found.workload)}: {found.state}")


def _to_json(one: Finding) -> dict[str, Any]:
    return {
        **{name: getattr(one, name) for name in ("id", "report", "workload", "direction")},
        "state": one.state,
        "campaigns": one.campaigns,
        "baseline": one.first.versions.get("baseline"),
        "since": {
            "campaign": one.first.id,
            "candidate": one.first.versions.get("candidate"),
            "started_at": one.first.started_at.isoformat(),
        },
        "changes": [asdict(change) for change in one.changes],
        "history": [{**asdict(entry), "at": entry.at.isoformat()} for entry in one.history],
    }


def _render(
    found: Sequence[Finding], judgements: Sequence[Judgement], width: int, colour: bool
) -> str:
    console = console_for(width, colour)
    if not judgements:
        console.print("No campaign has shown such a change yet.")
        return text_of(console)
    if not found:
        console.print(f"None of the {len(judgements)} findings matches; `--all` lists all.")
    for one in found:
        console.print(Text(f"{one.id}  {one.report}, {title_of(one.workload)}", style="bold"))
        for line in _lines(one):
            console.print(Padding(line, (0, 0, 0, 4)))
    console.print("\n".join(["", *sentences.trusted(judgements, english())]))
    return text_of(console)


def _lines(one: Finding) -> list[Text]:
    """What a finding shows, since when, and what was said of it last."""
    first, further = one.first, len(one.campaigns) - 1
    since = f"since {first.started_at.astimezone(UTC):%Y-%m-%d}, {first.compared}: {first.id}"
    lines = [
        Text(f"{found.metric} ")
        .append(found.change, style=_STYLE[found.verdict])
        .append(f" ({found.interval})" if found.interval else "")
        for found in sentences.changes(one, english())
    ]
    lines.append(Text(since + (f" and {further} more, last {one.newest.id}" if further else "")))
    return [*lines, _said(one.history[-1])] if one.history else lines


def _said(entry: Entry) -> Text:
    who = f"shown again by {entry.campaign}" if entry.campaign else f"by {entry.by}"
    parts = (f"{entry.state}, {who}, {entry.at.astimezone(UTC):%Y-%m-%d}", entry.note, entry.link)
    return Text(plain("; ".join(filter(None, parts))))
