"""The commands on findings: findings, findings mark and undo."""

from __future__ import annotations

import getpass
import os
import sys
import textwrap
from collections.abc import Iterator
from typing import Annotated

import typer

from benchlab.cli import completing
from benchlab.cli.documents import opened, print_document
from benchlab.cli.options import Json, width
from benchlab.home import find
from benchlab.language import english
from benchlab.language.names import plain, title_of
from benchlab.report.sentences.findings import changes, trusted
from benchlab.results.findings import Finding, FindingState, Sought
from benchlab.results.store import open_store
from benchlab.site import findings

app = typer.Typer()
_findings = typer.Typer(invoke_without_command=True)
app.add_typer(_findings, name="findings")

_MEANING = "real and explained, intended, mended, wrong; new: to be judged again"
Number = Annotated[int, typer.Argument(metavar="ID", help="as `benchlab findings` lists it")]


@_findings.callback()
def list_findings(
    context: typer.Context,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="REPORT", autocompletion=completing.report_types, help="its report type"
        ),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(metavar="WORKLOAD", autocompletion=completing.workloads, help="its workload"),
    ] = None,
    state: Annotated[FindingState | None, typer.Option(help="in this state")] = None,
    show_all: Annotated[bool, typer.Option("--all", help="in whatever state")] = False,
    as_json: Json = False,
) -> None:
    """List the changes that nobody has judged, each once.

    Below them: how many of those that people have judged are right, and whether false ones favour a
    side.

    Example: benchlab findings --report sysbench_ec2_weekly --all
    """
    if context.invoked_subcommand is not None:
        return
    wanted = None if show_all and not state else (state or "new")
    if as_json:
        with opened() as site:
            page = findings.findings(site, report or "", workload or "", wanted, most=None)
            print_document(site, page)
        return
    states = () if wanted is None else (wanted,)
    with open_store(find()) as store:
        found = store.findings.found(Sought(report, workload=workload, states=states))
        judgements = store.findings.judgements(Sought(report, workload=workload))
    for line in (line for one in found for line in _lines(one)):
        _print(line)
    if not judgements:
        print("No campaign has shown such a change yet.")
        return
    hidden = len(judgements) - len(found)
    print(f"{hidden} in other states; `--all` lists all.\n" if hidden else "")
    for line in trusted(judgements, english()):
        _print(line)


def _print(line: str) -> None:
    """Print a line; one that is wider than a terminal goes on below, indented."""
    if not (sys.stdout.isatty() or os.environ.get("COLUMNS")):
        print(line)
        return
    whole = textwrap.TextWrapper(
        width(), subsequent_indent=" " * 6, break_on_hyphens=False, break_long_words=False
    )
    print(whole.fill(line))


@_findings.command()
def mark(
    number: Number,
    state: Annotated[FindingState, typer.Argument(help=_MEANING)],
    note: Annotated[str, typer.Option(help="what it was")] = "",
    link: Annotated[str, typer.Option(help="the address of an issue")] = "",
) -> None:
    """Say what a finding is; what was said before is kept.

    Example: benchlab findings mark 7 known --note "a new default" --link https://example.org/7
    """
    with open_store(find()) as store:
        told = " ".join(note.split())
        _print_state(store.findings.mark(number, state, _person(), told, link))


@_findings.command()
def undo(number: Number) -> None:
    """Take back what was said last of a finding.

    Example: benchlab findings undo 7
    """
    with open_store(find()) as store:
        _print_state(store.findings.take_back(number, _person()))


def _person() -> str:
    """The login name; in a container that has none for it, the user's number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _print_state(found: Finding) -> None:
    print(f"finding {found.id}, {found.report}, {title_of(found.workload)}: {found.state}")


def _lines(one: Finding) -> Iterator[str]:
    """What a finding shows, since when, and what was said of it last."""
    yield f"{one.id}  {one.report}, {title_of(one.workload)}"
    for found in changes(one, english()):
        interval = f" ({found.interval})" if found.interval else ""
        yield f"    {found.metric} {found.change}{interval}"
    first, more = one.first, len(one.campaigns) - 1
    further = f" and {more} more, last {one.newest.id}" if more else ""
    yield f"    since {first.started_at:%Y-%m-%d}, {first.compared}: {first.id}{further}"
    for last in one.history[-1:]:
        how = "closed by" if last.state == "fixed" else "shown again by"
        who = f"{how} {last.campaign}" if last.campaign else f"by {last.by}"
        parts = (f"{last.state}, {who}, {last.at:%Y-%m-%d}", last.note, last.link)
        yield f"    {plain('; '.join(filter(None, parts)))}"
