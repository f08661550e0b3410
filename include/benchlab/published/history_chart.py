"""The chart of a workload's history: published changes, measured changes and the long view."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchlab.language.names import title_of
from benchlab.published.history import History, MeasuredChange, PublishedChange
from benchlab.published.history_text import versions_of
from benchlab.report.charts import plotting
from benchlab.report.charts.plotting import INK, MUTED, VERDICT_COLOUR, Panel
from benchlab.studies.long_view import chart
from benchlab.studies.long_view.view import LongView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEAD_IN, _ROW_IN, _TITLE_IN, _TICKS_IN = 0.5, 0.3, 0.35, 0.4
# Each takes a row; the long view has room for more.
_MOST_MEASURED = 12


def write(found: History, path: Path, views: Sequence[LongView] = ()) -> None:
    """Draw a history into a file: ``write(found, Path("history.svg"))``.

    Args:
        path: its suffix, ``.svg`` or ``.png``, decides the format.
        views: its long views, one per report type.

    Raises:
        SpecError: the suffix is another one, or the file cannot be written.
    """
    plotting.write(path, lambda: _figure(found, views))


def _figure(found: History, views: Sequence[LongView]) -> Figure:
    from matplotlib.figure import Figure

    published = [
        (change, pct) for change in found.published if (pct := _change(change)) is not None
    ]
    measured = [change for change in found.measured if change.found.estimate_pct is not None]
    shown = measured[-_MOST_MEASURED:]
    title = "Measured: estimate with its 95% interval"
    if len(shown) < len(measured):
        title += f"; the latest {len(shown)} of {len(measured)} campaigns"
    panels = [
        _panel(
            "Published: one value for each figure, so no interval",
            [versions_of(change) for change, _ in published],
            [partial(_published, change, pct) for change, pct in published],
            [pct for _, pct in published],
        ),
        _panel(
            title,
            [f"{versions_of(one)}, {one.campaign.started_at:%Y-%m-%d}" for one in shown],
            [partial(_measured, change) for change in shown],
            _reach(shown),
        ),
        *(panel for view in views for panel in chart.panels(view)),
    ]
    height = _HEAD_IN + sum(panel.height_in for panel in panels)
    figure = Figure(figsize=(9.6, height))
    what = "change of throughput, each against the baseline of its own report"
    plotting.titled(figure, f"{title_of(found.workload)}: {what}")
    top_in = _HEAD_IN
    for panel in panels:
        panel.draw(figure, top_in)
        top_in += panel.height_in
    return figure


def _panel(
    title: str,
    names: Sequence[str],
    rows: Sequence[Callable[[Axes, int], None]],
    drawn: Sequence[float],
) -> Panel:
    """A panel with a row for each change; ``drawn`` are the values that have to fit into it."""
    frame_in = _ROW_IN * max(1, len(rows))

    def draw(figure: Figure, top_in: float) -> None:
        axes = plotting.axes(figure, top_in + _TITLE_IN, frame_in, left=0.27, width=0.57)
        axes.set_title(title, loc="left", fontsize=10, color=MUTED)
        plotting.changes_by_row(axes, names)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:+g}%" if value else "0")
        if not rows:
            axes.text(0.02, 0.5, "none", transform=axes.transAxes, va="center", color=MUTED)
        for place, row in enumerate(rows):
            row(axes, place)
        edge = 1.12 * max(5.0, *(abs(value) for value in drawn), 0.0)
        axes.set_xlim(-edge, edge)

    return Panel(_TITLE_IN + frame_in + _TICKS_IN, draw)


def _published(change: PublishedChange, value: float, axes: Axes, row: int) -> None:
    recomputed = change.change_pct is not None
    axes.plot(
        [value], [row], "o", color=INK, markersize=7,
        markerfacecolor=INK if recomputed else "white",
    )  # fmt: skip
    said = f"{value:+.2f}%" if recomputed else f"{value:+g}% (as printed)"
    axes.text(1.02, row, said, transform=axes.get_yaxis_transform(), va="center", fontsize=8.5)


def _measured(change: MeasuredChange, axes: Axes, row: int) -> None:
    found = change.found
    colour = MUTED if change.campaign.is_aa else VERDICT_COLOUR.get(found.verdict, MUTED)
    if found.ci95_pct is not None:
        axes.plot(list(found.ci95_pct), [row, row], color=colour, linewidth=2.2)
    assert found.estimate_pct is not None  # noqa: S101 - those without are not drawn
    axes.plot([found.estimate_pct], [row], "D", color=colour, markersize=6.5)
    axes.text(
        1.02, row, found.verdict, transform=axes.get_yaxis_transform(), va="center",
        color=colour, fontsize=8.5,
    )  # fmt: skip


def _change(change: PublishedChange) -> float | None:
    return change.printed_pct if change.change_pct is None else change.change_pct


def _reach(changes: Sequence[MeasuredChange]) -> list[float]:
    """Estimates and ends of intervals; very wide intervals are cut, or they would hide the rest."""
    estimates = [abs(change.found.estimate_pct or 0.0) for change in changes]
    limit = max(5 * max(estimates, default=0.0), 20.0)
    ends = [end for change in changes for end in change.found.ci95_pct or ()]
    return [*estimates, *(min(abs(end), limit) for end in ends if math.isfinite(end))]
