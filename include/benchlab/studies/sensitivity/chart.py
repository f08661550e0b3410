"""The picture of how small a slowdown is found: power over slowdown, a line for each workload."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchlab.analysis.error_rates.rates import POWER
from benchlab.language.names import title_of
from benchlab.report.charts import plotting
from benchlab.report.charts.plotting import BLUE, INK, MUTED
from benchlab.studies.sensitivity.findings import ErrorRates, Findings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Lines differ in their marker and dashes as well as in colour (Okabe and Ito), for print in grey.
_LINES = (
    (BLUE, "-", "o", "●"), ("#d55e00", "--", "s", "■"), ("#009e73", "-.", "^", "▲"),
    ("#8a5f00", ":", "D", "◆"), ("#5f3d8c", (0, (6, 2, 1, 2, 1, 2)), "v", "▼"),
    ("#1f2933", (0, (1, 3)), "P", "✚"),
)  # fmt: skip
_ROW = 0.085
_TOP = 1.02


def write(findings: Findings, path: Path) -> None:
    """Draw the throughput of all workloads into a file, an SVG or a PNG by its name.

    Raises:
        SpecError: its name ends in neither .svg nor .png, or it cannot be written.
    """
    plotting.write(path, lambda: _figure(findings))


def _figure(findings: Findings) -> Figure:
    from matplotlib.figure import Figure

    throughput = {name: rates["throughput"] for name, rates in findings.workloads.items()}
    drawn = {name: found for name, found in throughput.items() if found.power}
    spec = findings.spec
    figure = Figure(figsize=(9.6, 4.4))
    axes = figure.subplots()
    axes.set_xlim(0, findings.slowdowns_pct[-1])
    axes.set_ylim(0, _TOP)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}%")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("how much slower the candidate is (throughput)")
    axes.axhline(POWER, color=INK, linewidth=1)
    axes.axvline(spec.threshold_pct, color=MUTED, linewidth=1, linestyle=":")
    axes.text(
        spec.threshold_pct, 1.03, f"threshold {spec.threshold_pct:g}%", ha="center",
        va="bottom", color=MUTED, fontsize=8.5, transform=axes.get_xaxis_transform(),
    )  # fmt: skip
    for number, found in enumerate(drawn.values()):
        _line(axes, findings.slowdowns_pct, found, number)
    _labels(axes, drawn)
    rounds = f"{spec.rounds} round{'s' * (spec.rounds != 1)} of {spec.seconds} s"
    remark = f"{spec.report}, {rounds}; {len(findings.campaigns)} A/A campaigns"
    plotting.titled(figure, "Share of campaigns that call it a regression", remark)
    figure.subplots_adjust(left=0.07, right=0.735, top=0.84, bottom=0.125)
    return figure


def _line(axes: Axes, slowdowns_pct: Sequence[float], found: ErrorRates, number: int) -> None:
    colour, dashes, marker, _ = _LINES[number % len(_LINES)]
    axes.plot(
        slowdowns_pct, found.power, color=colour, linestyle=dashes, linewidth=2,
        marker=marker, markersize=5.5, markevery=(3 * number % 14, 14), markeredgecolor="white",
        clip_on=False,
    )  # fmt: skip
    if found.smallest_change_pct is not None:
        axes.plot(
            [found.smallest_change_pct] * 2, [0, POWER], color=colour, linewidth=1, linestyle=dashes
        )


def _labels(axes: Axes, drawn: Mapping[str, ErrorRates]) -> None:
    """Beside the ends of the lines, from the highest to the lowest, none over another."""
    numbered = sorted(enumerate(drawn.items()), key=lambda item: _rank(item[1][1]))
    heights: list[float] = []
    for _, (_, found) in numbered:
        end = found.power[-1] / _TOP
        heights.append(min(heights[-1] - _ROW, end) if heights else min(end, 1 - _ROW / 2))
    # Those that would stand below the axis push the others up.
    lowest = 0.02
    for place in reversed(range(len(heights))):
        heights[place] = max(heights[place], lowest)
        lowest = heights[place] + _ROW
    axes.text(
        1.02, 1.03, "found in 80% of campaigns from", color=MUTED, fontsize=8.5,
        transform=axes.transAxes, va="bottom",
    )  # fmt: skip
    for (number, (name, found)), height in zip(numbered, heights, strict=True):
        colour, _, _, sign = _LINES[number % len(_LINES)]
        where = found.smallest_change_pct
        text = f"{where:.1f}%" if where is not None else "above 50%"
        axes.text(
            1.02, height, f"{sign} {title_of(name)}  {text}", color=colour,
            fontweight="bold", fontsize=9, va="center", transform=axes.transAxes,
        )  # fmt: skip


def _rank(found: ErrorRates) -> tuple[float, float]:
    """Sorts the highest line first: by where it reaches 80 %, then by its end."""
    where = found.smallest_change_pct
    return math.inf if where is None else where, -found.power[-1]
