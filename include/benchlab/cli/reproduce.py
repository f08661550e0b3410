"""The command that measures a pair of trials of a stored campaign again: reproduce."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from benchlab import workloads
from benchlab.analysis.verdict import aa_campaigns
from benchlab.analysis.verdict.compare import CellComparison, Comparison
from benchlab.analysis.verdict.variances import percent
from benchlab.campaign import reproducing
from benchlab.campaign.outcome import Comparer, Outcome
from benchlab.campaign.resolving import Resolver
from benchlab.campaign.stages import new_id
from benchlab.campaign.stored import StoredCampaign
from benchlab.cli import completing
from benchlab.cli.options import CampaignId, width
from benchlab.cli.report_argument import read_report_type
from benchlab.cli.run import drive, refuse_unapproved, say_where_the_report_is
from benchlab.errors import NothingToMeasureError, SpecError
from benchlab.home import find
from benchlab.hosts.access import Access
from benchlab.language import english
from benchlab.language.names import title_of
from benchlab.language.numbers import MISSING, Numbers
from benchlab.plan import plan
from benchlab.plan.metric import COUNT, Metric
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES
from benchlab.report.evidence import kit
from benchlab.report.evidence.kit import Cell
from benchlab.report.formats.console import console_for, print_table, table_of, text_of
from benchlab.report.formats.plan_text import duration
from benchlab.results.records import REPRODUCES
from benchlab.results.store import open_store

app = typer.Typer()


@app.command()
def reproduce(
    campaign: CampaignId,
    workload: Annotated[
        str | None, typer.Option(help="its workload; default: that of the strongest change")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="of its thread counts; default: likewise")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="how many pairs, on one deployment")] = 1,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="REPORT",
            autocompletion=completing.report_types,
            help="on the target of this report type; default: its own",
        ),
    ] = None,
    as_id: Annotated[
        str, typer.Option("--campaign", help="id of the new campaign, or of one to resume")
    ] = "",
    approve: Annotated[
        bool, typer.Option("--approve", help="rent even if it costs more than budget.approve_above")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="wait while another campaign is running there")
    ] = False,
) -> None:
    """Measure one pair of trials of a campaign again; compare both.

    Both sides have the versions, builds, parameters and dataset that they had. It is a campaign of
    its own: no history, watch, finding or calibration counts it.

    Example: benchlab reproduce CAMPAIGN --workload oltp_update_index --threads 4
    """
    home = find()
    with open_store(home) as store:
        comparer = Comparer(home, store)
        original = comparer.outcome(store.campaign(campaign))
        place = read_report_type(home, on, []) if on else None
        cell = _cell(original, workload, threads)
        spec = reproducing.report_type(
            original.campaign, cell.workload, cell.threads, rounds, place
        )
        resolver = Resolver(home, store, Access.for_a_person())
        resolved = reproducing.resolved(resolver, original.campaign, spec)
        if not approve:
            refuse_unapproved(resolved)
        name = as_id or new_id(f"repro-{original.campaign.plan.report}")
        print(_planned(cell, plan.make(resolved, name)), file=sys.stderr)
        words = ["benchlab", "reproduce", campaign, "--workload", cell.workload]
        words += ["--threads", str(cell.threads), "--rounds", str(rounds)]
        words += ["--on", on] if on else []
        again = f"`{shlex.join([*words, *['--approve'] * approve, '--campaign', name])}`"
        work: StoredCampaign
        try:
            origin = f"{REPRODUCES}{campaign}"
            work = drive(
                home, store, resolved, name, origin, again=again, wait=wait, approve=approve
            )
        except NothingToMeasureError as error:  # it was complete before
            print(error, file=sys.stderr)
            work = StoredCampaign(home, store, store.campaign(name))
        print("\n".join(_lines(original, work.outcome(), cell)))
        say_where_the_report_is(work)
        work.verdict()


def _cell(original: Outcome, workload: str | None, threads: int | None) -> Cell:
    """The cell that is asked for, or else that of the strongest change."""
    made = original.campaign
    if made.report_type.sides == "single":
        raise SpecError(
            f"{made.id}: it measured one version (sides: single), so there is no pair; "
            "`benchlab run` measures it again"
        )
    planned = {name: made.plan.threads_in_order(name) for name in made.plan.workloads_in_order}
    name = workload and workloads.full_name(workload, planned)
    if workload and name is None:
        raise SpecError(f"--workload {workload}: {made.id} measured {', '.join(planned)}")
    counts = {count for of in ([name] if name else planned) for count in planned[of]}
    if threads is not None and threads not in counts:
        there = ", ".join(map(str, sorted(counts)))
        raise SpecError(f"--threads {threads}: {made.id} measured {there} threads")
    if found := kit.strongest(original.comparison, name, threads):
        return found
    if name and threads:
        return Cell(name, threads, made.plan.throughput)
    raise SpecError(
        f"{made.id}: no workload has figures of both sides; say what to measure: --workload and "
        "--threads"
    )


def _planned(cell: Cell, planned: Plan) -> str:
    cost = "" if planned.dollars is None else f", about {planned.dollars:,.2f} dollars"
    return (
        f"{title_of(cell.workload)}, {cell.threads} threads: {len(planned.trials)} trials, about "
        f"{duration(planned.minutes)}{cost}"
    )


def _lines(original: Outcome, made: Outcome, cell: Cell) -> Iterator[str]:
    """What the original said of the cell, and what its pair shows now; no verdict."""
    first, threads = original.campaign, f"{cell.threads} threads"
    (workload,) = (one for one in original.comparison.workloads if one.name == cell.workload)
    before, now = (_figures(one.comparison, cell) for one in (original, made))
    limit, numbers = first.report_type.threshold_pct, Numbers(english())
    table = table_of("metric", "said", "verdict", f"{threads} then", f"{threads} now", *SIDES)
    decided = [one for one in workload.decided if one[0].family != COUNT or one[0] == cell.metric]
    for metric, found in decided:
        said = numbers.estimate(found.estimate_pct, limit, found.ci95_pct)
        if found.ci95_pct:
            said = f"{said} ({numbers.interval(found.ci95_pct, limit)})"
        changes = [numbers.change(_change(one, metric)) for one in (before, now)]
        means = [now.sides[side].means.get(metric.name) if now else None for side in SIDES]
        figures = [numbers.digits(mean, 5) for mean in means]
        table.add_row(str(metric.said), said, found.verdict, *changes, *figures)
    console = console_for(width(), sys.stdout.isatty())
    print_table(console, table)
    versions = " vs. ".join(first.plan.sides[side].label for side in SIDES[::-1])
    yield f"{title_of(cell.workload)}, {threads}, {versions}"
    yield f"said by {first.id}; now by {made.campaign.id}:"
    yield ""
    yield text_of(console)
    rounds = made.campaign.plan.rounds
    yield f"{rounds} pair{'s' * (rounds > 1)} on one deployment: no verdict follows from it."
    if unlike := [*_unlike(original, made)]:
        yield f"Measured otherwise: {'; '.join(unlike)}."


def _figures(comparison: Comparison, cell: Cell) -> CellComparison | None:
    cells = (one for of in comparison.workloads if of.name == cell.workload for one in of.cells)
    return next((one for one in cells if one.threads == cell.threads), None)


def _change(cell: CellComparison | None, metric: Metric) -> float | None:
    ratio = kit.log_ratio(cell, metric.name) if cell else None
    return None if ratio is None else percent(ratio)


def _unlike(original: Outcome, made: Outcome) -> Iterator[str]:
    """What differs in where and with which servers it was measured: now, and before."""
    for what, (was, by_now) in aa_campaigns.differences(original.campaign, made.campaign).items():
        if what != "report type":
            yield f"{what} {by_now or MISSING}, not {was or MISSING}"
    for side, facts in original.campaign.facts.items():
        now = made.campaign.facts.get(side)
        for what in ("version", "git_hash"):
            was, by_now = (getattr(one, what, None) for one in (facts, now))
            if now and was != by_now:
                yield f"{side}: {what} {by_now or MISSING}, not {was or MISSING}"
