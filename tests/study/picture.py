"""The picture of the study: false alarms beside power, rule by rule."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from benchlab.report.charts.plotting import quiet_matplotlib
from tests.study.figures import CHANGES, OURS, POWER_WORLDS, RULES, Key, Share
from tests.study.rules import ALPHA
from tests.study.worlds import WORLDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e7eb",
    "svg.fonttype": "path",
    "svg.hashsalt": "benchlab",
}
# After Okabe and Ito, whom colour-blind readers tell apart; ours are blue.
_COLOURS = ("#0072b2", "#56b4e9", "#003a5d", "#999999", "#cc79a7", "#e69f00", "#d55e00")
_MARKERS = "os^vDPX"


def draw(shares: Mapping[Key, Share]) -> bytes:
    """The picture as SVG; the same figures give the same bytes."""
    from matplotlib.figure import Figure

    with quiet_matplotlib(_STYLE):
        figure = Figure(figsize=(9.6, 7.6))
        alarms, *power = figure.subplot_mosaic([["alarms", "alarms"], ["left", "right"]]).values()
        _alarms(alarms, shares)
        for axes, world in zip(power, POWER_WORLDS, strict=True):
            _power(axes, shares, world.name)
        handles, labels = alarms.get_legend_handles_labels()
        figure.legend(handles, labels, loc="lower center", ncols=3, frameon=False)
        figure.subplots_adjust(left=0.07, right=0.985, top=0.955, bottom=0.19, hspace=0.3)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Title": "Simulation study"})
    return buffer.getvalue()


def _alarms(axes: Axes, shares: Mapping[Key, Share]) -> None:
    for index, rule in enumerate(RULES):
        shift = 0.09 * (index - (len(RULES) - 1) / 2)
        found = [
            (place + shift, shares[key])
            for place, world in enumerate(WORLDS)
            if (key := ("called", rule, world.name)) in shares
        ]
        _points(axes, found, rule, line="none")
    axes.axhline(100 * ALPHA, color="#5f6b76", linewidth=1)
    axes.set_xticks(range(len(WORLDS)), [world.name for world in WORLDS])
    axes.grid(axis="x", visible=False)
    axes.set_title("Nothing changed: campaigns with a false change, %. The line is at 5 %")
    axes.set_ylim(bottom=0)


def _power(axes: Axes, shares: Mapping[Key, Share], world: str) -> None:
    for rule in RULES:
        found = [
            (place, shares[key])
            for place, change in enumerate(CHANGES)
            if (key := ("power", rule, world, f"{change:g}")) in shares
        ]
        _points(axes, found, rule, line="-" if rule in OURS else ":")
    axes.set_xticks(range(len(CHANGES)), [f"{change:g} %" for change in CHANGES])
    axes.set_title(f"Real change found, %: {world}")
    axes.set_ylim(0, 103)


def _points(axes: Axes, found: Sequence[tuple[float, Share]], rule: str, line: str) -> None:
    """Shares in percent, each with the 95 % interval of the simulation."""
    values = [100 * share.value for _, share in found]
    intervals = [share.interval for _, share in found]
    errors = [
        [value - 100 * low for value, (low, _) in zip(values, intervals, strict=True)],
        [100 * high - value for value, (_, high) in zip(values, intervals, strict=True)],
    ]
    index = RULES.index(rule)
    axes.errorbar(
        [place for place, _ in found], values, errors, label=rule, linestyle=line,
        color=_COLOURS[index], marker=_MARKERS[index], markersize=5, linewidth=1.3,
    )  # fmt: skip
