"""The commands on stored campaigns: campaigns, campaigns delete, note and tag."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date
from typing import Annotated, Any, get_args

import typer
from rich.text import Text

from benchlab.analysis.verdict import aa_campaigns
from benchlab.analysis.verdict.decision import Verdict
from benchlab.campaign import removal
from benchlab.cli import completing
from benchlab.cli.documents import opened, print_document
from benchlab.cli.options import CampaignId, Json, day, width
from benchlab.errors import SpecError, StoreError
from benchlab.home import find
from benchlab.language.names import plain
from benchlab.language.numbers import MISSING
from benchlab.report.formats.console import console_for, print_table, table_of, text_of
from benchlab.report.sentences import answer
from benchlab.results import journal
from benchlab.results.records import CampaignSummary, Remarks
from benchlab.results.store import Store, open_store
from benchlab.site import campaigns

app = typer.Typer()
_campaigns = typer.Typer(invoke_without_command=True)
app.add_typer(_campaigns, name="campaigns")

_NONE = (
    "No campaign was measured yet: `benchlab run sysbench_local` measures one on this machine, "
    "`benchlab plan REPORT` shows what one takes"
)
_NO_MATCH = "No campaign in the store has all of that; `benchlab campaigns` lists all {count}"
_HEADINGS = (
    *("campaign", "started (UTC)", "took", "compared", "throughput", "p95", "counts"),
    "remarks",
)
# From here on, a column that is empty is left out.
_OPTIONAL = _HEADINGS.index("counts")
_TAG = r"[\w.-]{1,50}"
_STYLE = {"regression": "red", "improvement": "green", "unstable": "yellow"}


@_campaigns.callback()
def list_campaigns(
    context: typer.Context,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="REPORT", autocompletion=completing.report_types, help="of this report type"
        ),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            autocompletion=completing.versions,
            help="with this version or build on a side",
        ),
    ] = None,
    verdict: Annotated[
        str | None, typer.Option(metavar="VERDICT", help="with this verdict on any workload")
    ] = None,
    since: Annotated[
        date | None, typer.Option(parser=day, metavar="DAY", help="started on this day or later")
    ] = None,
    tag: Annotated[str | None, typer.Option(metavar="TAG", help="with this tag")] = None,
    limit: Annotated[int, typer.Option(min=0, help="at most this many, the latest; 0: all")] = 0,
    as_json: Json = False,
) -> None:
    """List the campaigns in the store, the latest first.

    Verdicts are those of the published report, calibrated by the A/A campaigns that there were when
    the campaign ended; `benchlab compare CAMPAIGN` says where later ones would change them.

    Example: benchlab campaigns --verdict regression --since 2026-01-01
    """
    if context.invoked_subcommand is not None:
        if report or version or verdict or since or tag or limit or as_json:
            raise SpecError("campaigns: options before delete, note and tag are for the list only")
        return
    if verdict is not None and verdict not in get_args(Verdict):
        known = ", ".join(get_args(Verdict))
        raise SpecError(f"--verdict {verdict!r}: there is no such verdict; known: {known}")
    asked = campaigns.Filter(report or "", version or "", verdict or "", tag=tag or "", since=since)
    with opened() as site:
        page = campaigns.campaigns(site, asked, limit or max(1, site.store.listing.count()))
        if as_json:
            print_document(site, page)
        else:
            print(_render(page.values, width(), sys.stdout.isatty()), end="")


@_campaigns.command()
def delete(
    campaign: CampaignId,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask for confirmation")] = False,
) -> None:
    """Remove a campaign: its trials, raw output, directory and report.

    Refused while it runs or may hold hosts. Copies of its report elsewhere, and what Airflow keeps
    of its run, stay.

    Example: benchlab campaigns delete CAMPAIGN --yes
    """
    home = find()
    with open_store(home) as store:
        removal.refuse(home, store, campaign)
        origin = store.origin(campaign)
        if not yes:
            _confirm(campaign, len(store.trial_ids(campaign)), is_used=_is_used(store, campaign))
        journal.write(home, "campaigns delete", campaign)
        elsewhere = removal.remove(home, store, campaign)
    print(f"{campaign}: removed from the store, with its raw outputs, directory and report")
    for address in elsewhere:
        print(f"stays, as it was published there: {address}")
    if origin.startswith("Airflow"):
        print(f"stays in Airflow: {origin}")


def _is_used(store: Store, campaign: str) -> bool:
    """Whether intervals of others may rest on it; none can rest on one that cannot be read."""
    try:
        found = store.campaign(campaign)
    except StoreError:
        return False
    return found.is_aa or aa_campaigns.shows_deployments(found)


def _confirm(campaign: str, trials: int, *, is_used: bool) -> None:
    if not sys.stdin.isatty():
        raise SpecError(
            f"campaigns delete {campaign}: there is no terminal to confirm on; give --yes"
        )
    used = " Intervals of others rest on it: reports made from now on do without." * is_used
    what = f"{campaign} has {trials} trials, whose figures would be lost.{used} Remove it?"
    typer.confirm(what, abort=True, err=True)


@_campaigns.command()
def note(
    campaign: CampaignId,
    text: Annotated[str, typer.Argument(help="the note; an empty one removes it")],
) -> None:
    """Keep a note on a campaign; its report stays as it is.

    Example: benchlab campaigns note CAMPAIGN "the disk was replaced the day before"
    """
    with open_store(find()) as store:
        known = store.remarks().get(campaign, Remarks())
        store.set_remarks(campaign, replace(known, note=" ".join(text.split())))


@_campaigns.command()
def tag(
    campaign: CampaignId,
    tags: Annotated[list[str], typer.Argument(metavar="TAG...", help="words to find it by")],
    remove: Annotated[bool, typer.Option("--remove", help="remove these tags")] = False,
) -> None:
    """Give a campaign tags, by which `campaigns --tag` lists it.

    Example: benchlab campaigns tag CAMPAIGN before-upgrade
    """
    if wrong := [word for word in tags if not re.fullmatch(_TAG, word)]:
        raise SpecError(
            f"campaigns tag: {', '.join(map(repr, wrong))}: a tag is a word of letters, digits, "
            "`.`, `_` and `-`"
        )
    with open_store(find()) as store:
        known = store.remarks().get(campaign, Remarks())
        now = set(known.tags) - set(tags) if remove else {*known.tags, *tags}
        store.set_remarks(campaign, replace(known, tags=tuple(sorted(now))))


def _render(page: Mapping[str, Any], width: int, colour: bool) -> str:
    if not page["rows"]:
        return f"{_NO_MATCH.format(count=page['known']) if page['known'] else _NONE}.\n"
    console, rows = console_for(width, colour), [_row(row) for row in page["rows"]]
    # Without counts there is no column for them, nor without remarks and failures.
    shown = [n for n in range(len(_HEADINGS)) if n < _OPTIONAL or any(row[n] for row in rows)]
    table = table_of(*(_HEADINGS[n] for n in shown))
    for row in rows:
        table.add_row(*(row[n] for n in shown))
    print_table(console, table)
    return text_of(console)


def _said(one: CampaignSummary, counted: Sequence[answer.Counted]) -> Text:
    """The verdicts of a campaign and how often each occurs; or why there is none."""
    if not counted:
        alone = "one version" if len(one.versions) == 1 else MISSING
        return Text(one.state if one.state != "complete" else alone, style="dim")
    return Text(", ").join(
        Text(said.text, style="" if one.measures_noise else _STYLE.get(said.verdict, ""))
        for said in counted
    )


def _row(row: Mapping[str, Any]) -> list[Text]:
    """The cells of a campaign below :data:`_HEADINGS`."""
    one, remarks = row["campaign"], row["remarks"]
    failed = str(one.failure.lines[0]) if one.failure else ""
    return [
        Text(one.id),
        Text(f"{one.started_at.astimezone(UTC):%Y-%m-%d %H:%M}"),
        Text(row["took"] if one.ended_at else ""),
        Text(one.compared),
        _said(one, row["throughput"]),
        _said(one, row["latency"]),
        _said(one, row["counts"]) if row["counts"] else Text(""),
        Text(plain("; ".join(filter(None, (failed, " ".join(remarks.tags), remarks.note))))),
    ]
