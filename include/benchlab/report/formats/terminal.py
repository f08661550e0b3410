"""The comparison as a table for a terminal, in English."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from benchlab.analysis.elsewhere.compare import ComparedFile, ComparedFileCampaign
from benchlab.language import english
from benchlab.language.names import plain
from benchlab.language.numbers import Numbers, rate_decimals
from benchlab.report.formats.console import console_for, print_table, table_of, text_of
from benchlab.report.model import cost, counts
from benchlab.report.model import figures as tables_of
from benchlab.report.model.report import Report, Section
from benchlab.report.sentences import answer, method, opening, why, wording

# At most this many sentences are printed about a campaign that was measured elsewhere.
MOST_SENTENCES = 20

_COLOUR = {"regression": "red", "improvement": "green", "unstable": "yellow"}


def render(report: Report, width: int, colour: bool) -> str:
    """The report as text: the answer, then a table per workload; ``colour``: with ANSI codes.

    Example:
        ``render(report, 120, colour=False)``
    """
    console = console_for(width, colour)
    console.print(Text(wording.title(report), style="bold"))
    first, trust = opening.sentences(report)
    console.print(Text(first, style="bold"))
    for line in (trust, *why.lines(report)):
        console.print(Text(line))
    console.print(Text(wording.subject(report), style="dim"))
    for section in report.sections:
        _print_section(console, report, section)
    console.print()
    for line in wording.quality(report)[:3]:
        console.print(Text(line))
    if (spent := method.spent(report)) is not None:
        console.print(Text(f"{report.language.say('provenance-spent')}: {spent}"))
    console.print(Text(wording.deployments(report), style="dim"))
    console.print()
    if report.has_verdicts:
        print_table(console, _answers(answer.lines(report), report.campaign.is_aa))
    _print_taken(console, report)
    console.print(Text(method.about(report), style="dim"))
    return text_of(console)


def _print_taken(console: Console, report: Report) -> None:
    """What a transaction takes of the servers, and of money."""
    if taken := answer.taken(report):
        table = table_of(*counts.columns(report))
        for row in taken:
            table.add_row(*map(Text, row))
        console.print(Text(f"\n{report.language.say('head-taken')}", style="bold"))
        print_table(console, table)
        for line in answer.left_out(report):
            console.print(Text(line, style="dim"))
    if prices := cost.rows(report):
        heading = report.language.say("head-cost", metric=report.plan.throughput.name)
        table = table_of(*cost.columns(report))
        for row in prices:
            table.add_row(*map(Text, row))
        console.print(Text(heading, style="bold"))
        print_table(console, table)
        console.print(Text("\n".join(cost.sentences(report)), style="dim"))


def render_outcome(outcome: ComparedFile, width: int, colour: bool) -> str:
    """The campaigns of a file of trials as text; see :mod:`benchlab.analysis.elsewhere.file`."""
    return "".join(
        _elsewhere(compared, outcome.threshold_pct, console_for(width, colour))
        for compared in outcome.campaigns
    )


def _elsewhere(compared: ComparedFileCampaign, threshold_pct: float, console: Console) -> str:
    """One campaign measured elsewhere: a row per workload and metric, then sentences."""
    measured, workloads = compared.measured, compared.workloads
    table = _answers(
        answer.line(plain(workload.name), english(), threshold_pct, one.name, found, found.verdict)
        for workload in workloads
        for one, found in workload.decided
    )
    basis = ", ".join(dict.fromkeys(workload.basis for workload in workloads))
    rounds = f"{measured.rounds} round{'s' * (measured.rounds != 1)}"
    title = f"{plain(measured.campaign)}, {rounds}; deployments known by: {basis}"
    console.print(Text(title, style="bold"))
    print_table(console, table)
    sentences: list[str] = []
    for workload in workloads:
        beside = (
            f"{metric.name}: {why}"
            for metric, found in workload.decided[1:]
            for why in found.reasons
            if why not in workload.reasons
        )
        moved = wording.moved(workload, english())
        said = dict.fromkeys((*map(str, workload.reasons), *moved, *beside))
        sentences += [f"{workload.name}: {sentence}" for sentence in said]
    sentences += measured.notes
    sentences += [f"missing: {trial}" for trial in measured.missing]
    sentences += [f"{row.trial}: {'; '.join(row.reasons)}" for row in measured.excluded]
    if (more := len(sentences) - MOST_SENTENCES) > 0:
        sentences[MOST_SENTENCES:] = [f"... and {more} more; --json has all of them"]
    for sentence in sentences:
        console.print(Text(plain(sentence), style="dim"))
    console.print()
    return text_of(console)


def _answers(lines: Iterable[answer.Line], is_aa: bool = False) -> Table:
    """The answer's table: a row for each metric of a workload."""
    table = table_of(*(english().say(f"column-{name}").lower() for name in answer.COLUMNS))
    for line in lines:
        style = "" if is_aa else _COLOUR.get(line.found, "")
        *texts, verdict = (getattr(line, name) for name in answer.COLUMNS)
        table.add_row(*map(Text, texts), Text(verdict, style=style))
    return table


def _print_section(console: Console, report: Report, section: Section) -> None:
    """A workload's verdict with its reasons, then its table by thread count."""
    table = _table(report, section)
    if not report.has_verdicts:
        console.print(Text(f"\n{section.title}", style="bold"))
        print_table(console, table)
        return
    verdict = Text.assemble(
        (f"\n{section.title}: ", "bold"),
        (
            wording.verdict(report, section),
            f"bold {'' if report.campaign.is_aa else _COLOUR.get(section.leading.verdict, '')}",
        ),
        *(f", {said}" for said in _said_first(report, section)),
    )
    console.print(verdict)
    why = wording.why(report, section)
    beside = (why, wording.latency(report, section), *wording.moved(section.figures, english()))
    for line in filter(None, beside):
        console.print(Padding(Text(line, style="dim"), (0, 0, 0, 2)))
    print_table(console, table)


def _table(report: Report, section: Section) -> Table:
    cells, shown = section.figures.cells, tables_of.display(section, english())
    numbers, metric, latency = Numbers(english()), shown.throughput.name, shown.latency.name
    decimals = rate_decimals(side.means[metric] for cell in cells for side in cell.sides.values())
    table = table_of()
    table.add_column("threads", justify="right")
    for named in report.sides.values():
        table.add_column(f"{named.label} {shown.name}", justify="right")
        table.add_column(f"{shown.latency_name} (ms)", justify="right")
    for heading in shown.changes if report.has_verdicts else ():
        table.add_column(heading, justify="right")
    for cell in cells:
        means = [side.means for side in cell.sides.values()]
        table.add_row(
            str(cell.threads),
            *(
                text
                for side in means
                for text in (
                    numbers.rate(side[metric], decimals),
                    numbers.milliseconds(side[latency]),
                )
            ),
            *tables_of.changes(cell, shown, numbers),
        )
    return table


def _said_first(report: Report, section: Section) -> Iterable[str]:
    """What goes beside the verdict: the reach of an inconclusive one, then the figures."""
    reach = wording.reach(report, section.leading)
    return filter(None, (reach, wording.figures(report, section)))
