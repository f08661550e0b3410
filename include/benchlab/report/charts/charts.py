"""The pictures of a report, as SVG and PNG; the same data give the same bytes.

The sides differ in colour, marker and line style. Texts are in the report's language, for which
:mod:`benchlab.report.charts.fonts` finds the fonts.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchlab.plan.report_type import Side
from benchlab.report.charts import fonts
from benchlab.report.charts.plotting import (
    BLUE,
    INK,
    MUTED,
    ORANGE,
    STYLE,
    VERDICT_COLOUR,
    by_threads,
    changes_by_row,
    quiet_matplotlib,
    saved,
    titled,
)
from benchlab.report.model import figures
from benchlab.report.model.report import Report, Section
from benchlab.report.sentences import wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAND = "#eceff2"
_COLOUR: dict[Side, str] = {"baseline": ORANGE, "candidate": BLUE}
CANDIDATE_NAME = "#005b8e"
_LABEL_COLOUR: dict[Side, str] = {
    "baseline": VERDICT_COLOUR["unstable"],
    "candidate": CANDIDATE_NAME,
}
_MARKER: dict[Side, str] = {"baseline": "o", "candidate": "s"}
_LINE: dict[Side, str] = {"baseline": "--", "candidate": "-"}
# How much further than the largest estimate an interval is drawn before it is cut off.
_REACH = 2.5


def draw(report: Report) -> dict[str, bytes]:
    """All charts by file name: ``overview`` and one for each workload, as ``.svg`` and ``.png``.

    ``overview`` shows changes, which one version has not.

    Args:
        report: in :func:`benchlab.report.charts.fonts.language_of_charts` of its language; letters
            that no installed font has are drawn as ``?``.
    """
    charts = {}
    families = fonts.families(report.language)
    with quiet_matplotlib({**STYLE, "font.family": families}):
        drawn = {"overview": _overview(report)} if report.has_verdicts else {}
        for section in report.sections:
            drawn[file_stem(section)] = _workload(report, section)
        for name, figure in drawn.items():
            _make_drawable(figure, families)
            charts[f"{name}.svg"] = _svg(figure, name)
            charts[f"{name}.png"] = saved(figure, "png")
    return charts


def file_stem(section: Section) -> str:
    """The name of a workload's chart, fit for a file."""
    return re.sub(r"[^a-z0-9_-]", "_", section.figures.name.lower())


def _overview(report: Report) -> Figure:
    """A forest plot: one line per workload, estimate and interval against the threshold."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    count = len(report.sections)
    figure = Figure(figsize=(9.6, 1.4 + 0.5 * count))
    axes = figure.subplots()
    low, high = _limits(report)
    axes.set_xlim(low, high)
    changes_by_row(axes, [section.title for section in report.sections])
    axes.axvspan(-report.spec.threshold_pct, report.spec.threshold_pct, color=BAND, zorder=0)
    for row, section in enumerate(report.sections):
        _forest_row(axes, report, section, row)
    numbers, say = report.numbers, report.language.say
    axes.xaxis.set_major_formatter(lambda value, _: numbers.general_change(value))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
    limit = numbers.limit(report.spec.threshold_pct)
    axes.set_xlabel(say("chart-change", limit=limit), color=MUTED)
    slower, faster = f"{say('chart-slower')}  ", f"  {say('chart-faster')}"
    for text, side in ((slower, "right"), (faster, "left")):
        axes.text(
            0, 1.02, text, ha=side, transform=axes.get_xaxis_transform(), color=MUTED, fontsize=8.5
        )
    titled(figure, _versions(report))
    top, bottom = 1 - 0.72 / figure.get_figheight(), 0.5 / figure.get_figheight()
    figure.subplots_adjust(left=0.16, right=0.745, top=top, bottom=bottom)
    return figure


def _forest_row(axes: Axes, report: Report, section: Section, row: int) -> None:
    found = section.figures
    low, high = axes.get_xlim()
    colour = VERDICT_COLOUR.get(found.verdict, MUTED) if not report.campaign.is_aa else MUTED
    if found.ci95_pct is not None:
        left, right = max(found.ci95_pct[0], low), min(found.ci95_pct[1], high)
        axes.plot([left, right], [row, row], color=colour, linewidth=2.2, solid_capstyle="butt")
        # An interval that extends beyond the picture ends in an arrow, any other in a bar.
        ends = (("<", left, found.ci95_pct[0] < low), (">", right, found.ci95_pct[1] > high))
        for arrow, place, beyond in ends:
            axes.plot([place], [row], marker=arrow if beyond else "|", color=colour, clip_on=False)
    if found.estimate_pct is not None:
        axes.plot([found.estimate_pct], [row], "D", color=colour, markersize=6.5, clip_on=False)
    where = axes.get_yaxis_transform()
    axes.text(1.03, row - 0.03, wording.verdict(report, section), transform=where,
              va="bottom", color=colour, fontweight="bold")  # fmt: skip
    axes.text(1.03, row + 0.05, _estimate(report, section), transform=where, va="top",
              color=INK, fontsize=8.5)  # fmt: skip


def _estimate(report: Report, section: Section) -> str:
    found, numbers, limit = section.figures, report.numbers, report.spec.threshold_pct
    estimate = numbers.estimate(found.estimate_pct, limit, found.ci95_pct)
    if found.ci95_pct is not None:
        interval = numbers.interval(found.ci95_pct, limit)
        return report.language.say("chart-interval", estimate=estimate, interval=interval)
    if found.estimate_pct is not None:
        return report.language.say("chart-no-interval", estimate=estimate)
    return estimate


def _limits(report: Report) -> tuple[float, float]:
    """The range of the forest plot: every estimate and, where it can be, every interval."""
    estimates = [f.estimate_pct for s in report.sections if (f := s.figures).estimate_pct]
    ends = [end for s in report.sections for end in s.figures.ci95_pct or ()]
    reach = _REACH * max((abs(value) for value in estimates), default=0.0)
    reach = max(reach, 4 * report.spec.threshold_pct)
    edge = 1.5 * report.spec.threshold_pct
    low = max(min([*ends, *estimates, -edge]), -reach)
    high = min(max([*ends, *estimates, edge]), reach)
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def _workload(report: Report, section: Section) -> Figure:
    """Throughput and a latency against threads: lines through means, a point per round."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 3.5))
    throughput, latency = figure.subplots(1, 2)
    shown, say = figures.display(section, report.language), report.language.say
    _panel(throughput, report, section, section.figures.metric)
    # Units are in the titles: long tick labels would leave no room for a label beside the axis.
    throughput.set_title(say("chart-throughput", metric=shown.name, unit=shown.unit))
    _panel(latency, report, section, shown.latency.metric)
    latency.set_title(say("chart-latency", latency=shown.latency.heading))
    titled(figure, section.title, say("chart-marks"), top_in=0.1575)
    figure.subplots_adjust(left=0.07, right=0.882, top=0.80, bottom=0.145, wspace=0.48)
    return figure


def _panel(axes: Axes, report: Report, section: Section, metric: str) -> None:
    cells = sorted(section.figures.cells, key=lambda cell: cell.threads)
    drawn: list[float] = []
    ends: dict[Side, float] = {}
    step = 0.012 * len(cells)
    offsets = (-step, step) if report.has_verdicts else (0.0,)
    for offset, side in zip(offsets, report.sides, strict=True):
        means = []
        for place, cell in enumerate(cells):
            found = cell.sides[side]
            mean, values = found.means[metric], list(found.by_round(metric).values())
            means.append(math.nan if mean is None else mean)
            drawn += [*values, *([] if mean is None else [mean])]
            axes.plot(
                [place + 3 * offset] * len(values), values, _MARKER[side], color=_COLOUR[side],
                alpha=0.45, markersize=3.8, markeredgewidth=0, zorder=2,
            )  # fmt: skip
        axes.plot(
            [n + offset for n in range(len(cells))], means, _LINE[side], marker=_MARKER[side],
            color=_COLOUR[side], linewidth=2, markersize=6, markeredgecolor="white", zorder=3,
        )  # fmt: skip
        if known := [mean for mean in means if mean == mean]:
            ends[side] = known[-1]
    numbers, say = report.numbers, report.language.say
    by_threads(axes, [cell.threads for cell in cells], say("chart-threads"))
    axes.yaxis.set_major_formatter(lambda value, _: numbers.general(value))
    if not drawn:
        axes.set_ylim(0, 1)
        axes.set_yticks([])
        axes.text(0.5, 0.5, say("chart-no-trial"), transform=axes.transAxes, ha="center",
                  color=MUTED)  # fmt: skip
        return
    top = 1.12 * max(drawn)
    axes.set_ylim(0, top)
    lines = 1 + _end_label(report, "baseline").count("\n")
    apart = 0.085 * lines * top
    heights = _spread(list(ends.values()), apart, top)
    for height, side in zip(heights, ends, strict=True):
        axes.text(
            1.02, height / top, _end_label(report, side), transform=axes.transAxes,
            color=_LABEL_COLOUR[side], va="center", fontweight="bold", fontsize=9,
        )  # fmt: skip


def _end_label(report: Report, side: Side) -> str:
    """A side's name beside its line; over two lines where the version alone is not enough."""
    sign = {"baseline": "●", "candidate": "■"}[side]
    version = report.sides[side].version
    apart = report.sides[side].label.removeprefix(version).strip()
    return f"{sign} {version}\n   {apart}" if apart else f"{sign} {version}"


def _spread(heights: Sequence[float], apart: float, top: float) -> list[float]:
    """Heights of the (at most two) labels, moved apart where they would cover each other."""
    if len(heights) < 2 or abs(heights[0] - heights[1]) >= apart:
        return list(heights)
    middle = min(max(sum(heights) / 2, apart / 2), top - apart / 2)
    up = apart / 2 if heights[0] >= heights[1] else -apart / 2
    return [middle + up, middle - up]


def _versions(report: Report) -> str:
    baseline, candidate = report.sides["baseline"], report.sides["candidate"]
    say, engine = report.language.say, report.engine_title
    if report.campaign.is_aa:
        return say("chart-title-aa", engine=engine, version=baseline.version)
    return say("chart-title", engine=engine, candidate=candidate.label, baseline=baseline.label)


def _make_drawable(figure: Figure, families: Sequence[str]) -> None:
    """Replace letters that no font has, as in a recorded name, by ``?``: no box, no warning."""
    from matplotlib.text import Text

    texts = figure.findobj(Text)
    lacking = fonts.lacking("".join(text.get_text() for text in texts), families)
    for text in texts if lacking else ():
        text.set_text(text.get_text().translate({ord(letter): "?" for letter in lacking}))


def _svg(figure: Figure, name: str) -> bytes:
    """The figure as SVG without date, tool and document type; ids carry the chart's name.

    The document type names a file elsewhere, and ids must differ where several charts are put
    into one page.
    """
    out = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(out, format="svg", metadata=nothing)
    text = out.getvalue().decode()
    text = re.sub(r"<!--.*?-->\s*", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}'.encode()
