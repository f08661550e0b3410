"""The command that removes what an installation need not keep any longer: prune."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer
from rich.text import Text

from benchlab.campaign.pruning import KINDS, OF_CAMPAIGNS, Prunable, Pruning
from benchlab.cli import completing
from benchlab.cli.options import Json, width
from benchlab.errors import SpecError, StoreError, noting
from benchlab.home import find
from benchlab.report.formats.console import console_for, print_table, table_of, text_of
from benchlab.results import journal
from benchlab.results.store import open_store

app = typer.Typer()


def _days(text: str) -> timedelta:
    if not re.fullmatch("[1-9][0-9]{0,4}d", text):
        raise typer.BadParameter(f"{text!r}: write a number of days, such as 90d")
    return timedelta(days=int(text[:-1]))


def _kind(text: str) -> str:
    if text not in KINDS:
        raise typer.BadParameter(f"{text!r}: must be one of {', '.join(KINDS)}")
    return text


@app.command()
def prune(
    older_than: Annotated[
        timedelta, typer.Option(parser=_days, metavar="DAYS", help="such as 90d")
    ],
    kinds: Annotated[
        list[str],
        typer.Argument(parser=_kind, metavar="[WHAT]...", help=f"{', '.join(KINDS)}; default: all"),
    ] = [],  # noqa: B006
    report: Annotated[
        str | None,
        typer.Option(
            metavar="REPORT",
            autocompletion=completing.report_types,
            help="only profiles and jobs of this report type",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="remove it; without, it is only shown")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what is old and can be removed; with --yes, remove it.

    Profiles that diagnosis took; jobs, what clients and servers wrote in a campaign's directory;
    builds that no newer campaign and no report type uses; logs. Results, series and reports stay.
    So does everything of campaigns that are at work, show an open finding, or calibrate others.

    Example: benchlab prune --older-than 90d profiles jobs
    """
    possible = OF_CAMPAIGNS if report else KINDS
    wanted = [kind for kind in possible if kind in kinds or not kinds]
    if report and (others := [kind for kind in kinds if kind not in OF_CAMPAIGNS]):
        raise SpecError(f"--report {report}: {' and '.join(others)} belong to no report type")
    home, faults = find(), list[str]()
    with open_store(home) as store:
        if report is not None and report not in (known := store.report_names()):
            raise SpecError(f"--report {report}: no campaign of it; known: {', '.join(known)}")
        pruning = Pruning(home, store, datetime.now(UTC) - older_than, report)
        found = pruning.found(wanted)
        for one in found if yes else ():
            with noting(faults):
                journal.write(home, "prune", f"{one.kind} of {one.of}")
                pruning.remove(one)
    if as_json:
        print(json.dumps(_document(found, removed=yes), indent=2))
    else:
        print(_text(found, Counter(pruning.kept.values()), removed=yes))
    if faults:
        raise StoreError("\n".join(faults))


def _document(found: Sequence[Prunable], *, removed: bool) -> dict[str, Any]:
    return {"removed": removed, "found": [asdict(one) for one in found]}


def _text(found: Sequence[Prunable], kept: Counter[str], *, removed: bool) -> str:
    console, table = console_for(width(), colour=False), table_of("kind", "of", "files", "MB")
    for one in found:
        table.add_row(*_row(one))
    for kind in dict.fromkeys(one.kind for one in found):
        own = [one for one in found if one.kind == kind]
        files, size = sum(one.files for one in own), sum(one.size for one in own)
        table.add_row(*_row(Prunable(kind, f"all {len(own)}", files, size)))
    lines = ["nothing is that old and can be removed"]
    if found:
        print_table(console, table)
        lines = [text_of(console)]
        lines += ["removed" if removed else "nothing was removed; --yes removes it"]
    for why, count in kept.items():
        lines.append(f"kept, however old: {count} campaign{'s' * (count != 1)} for {why}")
    return "\n".join(lines)


def _row(one: Prunable) -> tuple[Text, ...]:
    return tuple(map(Text, (one.kind, one.of, f"{one.files:,}", f"{one.size / 1e6:,.1f}")))
