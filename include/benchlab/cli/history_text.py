"""Shows the history of a workload, from published pages and campaigns: text and a chart.

The two are kept apart. A published page has one measurement per figure, so its change has no
interval and no verdict; a campaign has both. Throughputs of two reports are never compared, because
the same version differs between reports by more than versions differ within one. Only changes can
be shown side by side, each against the baseline of its own report. The long view of each report
type follows (:mod:`benchlab.studies.long_view.text`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from benchlab import workloads
from benchlab.analysis.verdict.compare import WorkloadVerdict
from benchlab.campaign.outline import Outline
from benchlab.charts import picture
from benchlab.charts.charts import Row, forest
from benchlab.errors import SpecError
from benchlab.language import codes, english
from benchlab.language.names import first_of, plain, title_of
from benchlab.language.numbers import MISSING, Numbers
from benchlab.published.changes import PublishedChange, published_changes
from benchlab.published.model import PublishedReport
from benchlab.report.formats.console import console_for, print_table, table_of, text_of
from benchlab.studies.comparisons import ComparedCampaign
from benchlab.studies.long_view import chart, text
from benchlab.studies.long_view.view import LongView

APART = (
    "Each change is against the baseline of its own report. Throughputs of different reports are "
    "not comparable: hosts, settings and data differ. What the long view chains are changes."
)
_ABOUT_PUBLISHED = (
    "Published, by version. One value for each figure: no interval, no verdict. change: mean over "
    "the threads, recomputed; highest: of the candidate; discrepancies: of `benchlab audit`, of "
    "this workload alone."
)
_COLOUR = {"regression": "red", "improvement": "green", "unstable": "yellow"}


class MeasuredChange(NamedTuple):
    """A campaign and its verdict on the workload."""

    campaign: Outline
    found: WorkloadVerdict

    @property
    def baseline(self) -> str:
        """The label of its baseline: the version, with what distinguishes its builds."""
        return self.campaign.labels["baseline"]

    @property
    def candidate(self) -> str:
        """The label of its candidate."""
        return self.campaign.labels["candidate"]


@dataclass(frozen=True)
class History:
    """The known changes of one workload.

    Attributes:
        workload: its full name, such as ``oltp_point_select``.
        published: by version.
        measured: by time.
        single: ids of campaigns of one version, which found no change.
    """

    workload: str
    published: tuple[PublishedChange, ...]
    measured: tuple[MeasuredChange, ...]
    single: tuple[str, ...] = ()


def history_of(
    workload: str,
    reports: Sequence[PublishedReport],
    campaigns: Iterable[ComparedCampaign],
) -> History:
    """Collect the known changes of a workload.

    Args:
        workload: its name; ``oltp_`` may be left out.
        campaigns: with their verdicts.

    Raises:
        SpecError: no page and no campaign has it; lists the known workloads.

    >>> history_of("point_select", PublishedReports(store).all()[0], []).measured  # doctest: +SKIP
    ()
    """
    compared = list(campaigns)
    there = {found.name for report in reports for found in report.workloads}
    there |= {found for one in compared for found in one.verdicts}
    name = workloads.full_name(workload, there)
    if name is None:
        known = ", ".join(sorted(there)) or "no campaign and no published report is in the store"
        raise SpecError(f"workload {workload!r}: nothing is known of it; known: {known}")
    of_workload = [
        MeasuredChange(one.campaign, one.verdicts[name]) for one in compared if name in one.verdicts
    ]
    return History(
        workload=name,
        published=published_changes(name, reports),
        measured=tuple(sorted(filter(_compares, of_workload), key=_by_time)),
        single=tuple(one.campaign.id for one in of_workload if not _compares(one)),
    )


def _compares(change: MeasuredChange) -> bool:
    return change.campaign.has_both_sides


def _by_time(change: MeasuredChange) -> tuple[object, ...]:
    return change.campaign.started_at, change.campaign.id


def render(found: History, width: int, colour: bool, views: Sequence[LongView] = ()) -> str:
    """A history as text, with tables and notes: ``render(found, 100, False)``.

    Args:
        width: in columns.
        colour: whether to use ANSI codes.
        views: its long views, one per report type.
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
        "versions", "metric", "threads", "change", "printed", "highest", "discrepancies", "report"
    )
    for change in changes:
        threads = change.threads
        table.add_row(
            versions_of(change),
            change.metric or "chart",
            f"{min(threads)} to {max(threads)}" if threads else MISSING,
            numbers.change(change.change_pct),
            numbers.change(change.printed_pct),
            numbers.whole(change.highest.get(change.candidate)),
            str(change.discrepancies),
            _pages(change),
        )
    return table


def _measured(changes: Sequence[MeasuredChange]) -> Table:
    numbers = Numbers(english())
    table = table_of(
        "started", "versions", "metric", "rounds", "estimate", "95% interval", "verdict", "campaign"
    )
    for change in changes:
        campaign, found = change.campaign, change.found
        threshold_pct = campaign.threshold_pct
        apart: list[str] = [found.verdict, *["A/A"] * campaign.is_aa]
        if campaign.slowdown_pct:
            apart.append(f"slowed by {campaign.slowdown_pct:g}%")
        if campaign.state != "complete":
            apart.append(campaign.state)
        table.add_row(
            f"{campaign.started_at:%Y-%m-%d %H:%M}",
            versions_of(change),
            found.metric,
            str(found.rounds_used),
            numbers.estimate(found.estimate_pct, threshold_pct, found.ci95_pct),
            numbers.interval(found.ci95_pct, threshold_pct),
            Text(", ".join(apart), style=_COLOUR.get(found.verdict, "")),
            campaign.id,
        )
    return table


def versions_of(change: PublishedChange | MeasuredChange) -> str:
    """The versions of a change, as in titles: ``v5.2.0 vs. v5.1.1``."""
    shown = f" vs. {plain(change.baseline)}" if change.baseline is not None else ""
    return f"{plain(change.candidate)}{shown}"


def _pages(change: PublishedChange) -> str:
    """The ids of a page, translations combined: ``sysbench-v5.2.0-vs-v5.1.1-{en,zh}``."""
    languages: dict[str, list[str]] = {}
    for name in map(plain, change.reports):
        report, _, language = name.rpartition("-")
        if report and language in codes():
            languages.setdefault(report, []).append(language)
        else:
            languages[name] = []  # imported with --as
    return "\n".join(
        f"{report}-{{{','.join(found)}}}" if len(found) > 1 else "-".join((report, *found))
        for report, found in languages.items()
    )


# Each campaign takes a row; the long view has room for more.
_MOST_MEASURED = 12


def write(found: History, path: Path, views: Sequence[LongView] = ()) -> None:
    """Draw a history into an SVG file: ``write(found, Path("history.svg"))``.

    Args:
        views: its long views, one per report type.

    Raises:
        SpecError: its name does not end in .svg, or it cannot be written.
    """
    numbers = Numbers(english())
    measured = [change for change in found.measured if change.found.estimate_pct is not None]
    shown = measured[-_MOST_MEASURED:]
    title = "Measured: estimate with its 95% interval"
    if len(shown) < len(measured):
        title += f"; the latest {len(shown)} of {len(measured)} campaigns"
    panels = [
        (
            "Published: one value for each figure, so no interval; hollow: as printed",
            forest(
                [row for one in found.published for row in _published_row(one, numbers)], numbers
            ),
        ),
        (title, forest([_measured_row(change, numbers) for change in shown], numbers)),
        *(
            (chart.title(view, chain), chart.levels(chain, english()))
            for view in (one for both in views for one in (both, *both.counts))
            for chain in view.chains
            if not chain.count or chain.changes or chain.drift
        ),
    ]
    what = "change of throughput, each against the baseline of its own report"
    sheet = picture.sheet(f"{title_of(found.workload)}: {what}", [[panel] for panel in panels])
    picture.write(path, sheet)


def _published_row(change: PublishedChange, numbers: Numbers) -> list[Row]:
    """A row with the recomputed change, else the printed one; none if it has neither."""
    is_printed = change.change_pct is None
    value = change.printed_pct if is_printed else change.change_pct
    if value is None:
        return []
    told = numbers.general_change(value) if is_printed else numbers.change(value)
    return [Row(versions_of(change), "published", value, told=told, is_hollow=is_printed)]


def _measured_row(change: MeasuredChange, numbers: Numbers) -> Row:
    campaign, found = change.campaign, change.found
    return Row(
        label=f"{versions_of(change)}, {campaign.started_at:%Y-%m-%d}",
        kind="aa" if campaign.is_aa else found.verdict,
        estimate=found.estimate_pct,
        interval=found.ci95_pct,
        word=found.verdict,
        told=numbers.estimate(found.estimate_pct, campaign.threshold_pct, found.ci95_pct),
    )
