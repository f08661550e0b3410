"""The chart of a workload's history: published changes, measured changes and the long view."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchlab.charts import picture
from benchlab.charts.charts import Row, forest
from benchlab.cli.history_text import History, MeasuredChange, versions_of
from benchlab.language import english
from benchlab.language.names import title_of
from benchlab.language.numbers import Numbers
from benchlab.published.changes import PublishedChange
from benchlab.studies.long_view import chart
from benchlab.studies.long_view.view import LongView

# Each takes a row; the long view has room for more.
_MOST_MEASURED = 12


def write(found: History, path: Path, views: Sequence[LongView] = ()) -> None:
    """Draw a history into a file: ``write(found, Path("history.svg"))``.

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
            forest([row for one in found.published for row in _published(one, numbers)], numbers),
        ),
        (title, forest([_measured(change, numbers) for change in shown], numbers)),
        *(
            (chart.title(view, chain), chart.levels(chain, english()))
            for view in views
            for chain in view.chains
        ),
    ]
    what = "change of throughput, each against the baseline of its own report"
    sheet = picture.sheet(f"{title_of(found.workload)}: {what}", [[panel] for panel in panels])
    picture.write(path, sheet)


def _published(change: PublishedChange, numbers: Numbers) -> list[Row]:
    """As recomputed, else as printed; nothing where it has neither."""
    is_printed = change.change_pct is None
    value = change.printed_pct if is_printed else change.change_pct
    if value is None:
        return []
    told = numbers.general_change(value) if is_printed else numbers.change(value)
    return [Row(versions_of(change), "published", value, told=told, is_hollow=is_printed)]


def _measured(change: MeasuredChange, numbers: Numbers) -> Row:
    campaign, found = change.campaign, change.found
    return Row(
        label=f"{versions_of(change)}, {campaign.started_at:%Y-%m-%d}",
        kind="aa" if campaign.is_aa else found.verdict,
        estimate=found.estimate_pct,
        interval=found.ci95_pct,
        word=found.verdict,
        told=numbers.estimate(found.estimate_pct, campaign.threshold_pct, found.ci95_pct),
    )
