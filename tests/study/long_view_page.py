"""The part of docs/statistics.md on the long view that the study writes, and its picture."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from benchlab.analysis.trend.chain import chain
from benchlab.report.charts.plotting import ENGLISH_STYLE, quiet_matplotlib
from tests.study import long_view, otava
from tests.study.figures import Share
from tests.study.long_view import (
    ABSOLUTE,
    LATE,
    LOOKED_AT,
    MOST_LATE,
    OTAVA,
    OURS,
    SERIES,
    WITHOUT_AA,
    LongViewFigures,
    Score,
)
from tests.study.weekly import NOISE, SCENES, SINGLE, draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEGIN = "<!-- the long view, written by `make study`; edits are replaced -->"
END = "<!-- end of the long view that `make study` writes -->"
RULES = (OURS, WITHOUT_AA, OTAVA, ABSOLUTE)
_SHOWN, _SHOWN_NOISE, _SHOWN_NUMBER = "three changes of 5 %", NOISE[0], 1


def tables(figures: LongViewFigures) -> str:
    """All tables, each with what its figures are."""
    return f"""\
Figures are percent, with the 95 % interval of the simulation itself in brackets where they are
shares; {SERIES} series each. A dash: there is nothing that could be found, or nothing was.

{"".join(_of_noise(noise, figures) for noise in NOISE)}\
**How late.** One loss, looked for after each campaign: in how many of {LATE} series it was found
first when it had so many points. Never: not by the {MOST_LATE}th.

{_late(figures)}
**Looking again and again.** The tables above look once, at the end. Who looks after every second
week sees a change point at some time, where nothing changes, in {_looks(figures)}
series of {LOOKED_AT} of two years.
"""


def _of_noise(noise: float, figures: LongViewFigures) -> str:
    return f"""\
**Campaigns with a noise of {100 * noise:g} %.** False: places that are no change, in the mean of a
series. Drift: the share of series in which a slow drift is reported. Suspected: changes that may be
the candidate's or its unmeasured baseline's, in the mean of a series.

{_scores(noise, figures)}
"""


def _scores(noise: float, figures: LongViewFigures) -> str:
    lines = [
        ["series", "rule", "precision", "recall", "false", "drift", "suspected"],
        ["---", "---", "---:", "---:", "---:", "---:", "---:"],
    ]
    for scene in SCENES:
        for rule in RULES:
            score = figures.scores[scene.name, noise, rule]
            name = scene.name if rule == RULES[0] else ""
            lines.append([name, rule, *_cells(score, rule)])
    return _table(lines)


def _cells(score: Score, rule: str) -> list[str]:
    is_ours = rule in (OURS, WITHOUT_AA)
    drifts = Share(score.drifts, score.series) if is_ours else None
    return [
        _share(score.precision),
        _share(score.recall),
        f"{score.false_alarms:.2f}",
        _share(drifts),
        f"{score.suspected:.2f}" if is_ours else "–",
    ]


def _late(figures: LongViewFigures) -> str:
    columns = (1, 2, 3, 4)
    headings = ["noise", "change", *map(str, columns), f"5 to {MOST_LATE}", "never"]
    lines = [headings, ["---", "---", *["---:"] * (len(headings) - 2)]]
    for noise in NOISE:
        for scene in SINGLE:
            counts = figures.late[scene.name, noise]
            later = sum(counts.get(late, 0) for late in range(5, MOST_LATE + 1))
            found = [*(counts.get(late, 0) for late in columns), later, counts.get(0, 0)]
            lines.append([f"{100 * noise:g} %", scene.name, *map(str, found)])
    return _table(lines)


def _looks(figures: LongViewFigures) -> str:
    return " and ".join(f"{figures.looks[n].hits} (noise {100 * n:g} %)" for n in NOISE)


def _table(lines: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _share(share: Share | None) -> str:
    if share is None:
        return "–"
    low, high = share.interval
    return f"{100 * share.value:.0f} ({100 * low:.0f}–{100 * high:.0f})"


def picture() -> bytes:
    """One series of the study as SVG: its chain, what is found, and absolute throughputs."""
    from matplotlib.figure import Figure

    (scene,) = (scene for scene in SCENES if scene.name == _SHOWN)
    years = draw(scene, _SHOWN_NOISE, long_view.rng_of(scene, _SHOWN_NOISE, _SHOWN_NUMBER))
    levels = [point.level for point in chain(years.ratios).points]
    with quiet_matplotlib(ENGLISH_STYLE):
        figure = Figure(figsize=(9.6, 5.6))
        above, below = figure.subplots(2, 1, sharex=True)
        absolute = years.absolute - years.absolute.mean()
        _series(above, levels, list(long_view.ours(chain(years.ratios), years.noise_sd)))
        above.set_title("Chained ratios, %, and the change points found (lines)")
        found = otava.find(absolute.tolist(), long_view.THRESHOLD_PCT / 100)
        _series(below, absolute.tolist(), list(found))
        below.set_title("The same campaigns by absolute throughput, %, and what Otava finds")
        for axes in (above, below):
            axes.plot(
                list(years.changes), [axes.get_ylim()[0]] * len(years.changes), "^",
                color="#d55e00", markersize=8, clip_on=False, label="true change",
            )  # fmt: skip
        below.set_xlabel("week")
        below.legend(loc="upper left", frameon=False)
        figure.subplots_adjust(left=0.06, right=0.985, top=0.95, bottom=0.09, hspace=0.2)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Title": "The long view"})
    return buffer.getvalue()


def _series(axes: Axes, values: list[float], places: list[int]) -> None:
    axes.plot(100 * np.expm1(values), "o", color="#0072b2", markersize=3.5)
    for place in places:
        axes.axvline(place - 0.5, color="#5f6b76", linewidth=1.2)
