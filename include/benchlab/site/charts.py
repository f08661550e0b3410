"""The pictures of a campaign: what changed against the threshold, and figures over threads.

Only their layout, in units of a view box; templates draw them with classes, so that they follow the
page's colours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchlab.analysis.verdict.decision import Decision
from benchlab.language import Language
from benchlab.language.numbers import Numbers
from benchlab.plan.report_type import SIDES, Side
from benchlab.report.model import figures
from benchlab.report.model.report import Report, Section
from benchlab.report.sentences import wording
from benchlab.site.scales import Scale, around

# How much further than the largest estimate an interval is drawn before it is cut off.
_REACH = 2.5
_ROW = 30.0
_MARGIN = 12.0
_SIDE_SHIFT = 3.0

Tick = tuple[float, str]
"""Where a tick is, and its text."""


@dataclass(frozen=True)
class ForestRow:
    """A metric of a workload: its estimate and interval; None where there is none.

    Attributes:
        low, high: of the interval, as far as it is drawn.
        cut_low, cut_high: whether it goes on beyond the picture.
    """

    title: str
    metric: str
    y: float
    verdict: str
    word: str
    estimate: float | None
    low: float | None
    high: float | None
    cut_low: bool
    cut_high: bool
    text: str


@dataclass(frozen=True)
class Forest:
    """Changes of all workloads against the threshold; ``band`` is from minus to plus it."""

    width: float
    height: float
    left: float
    right: float
    zero: float
    band: tuple[float, float]
    ticks: tuple[Tick, ...]
    rows: tuple[ForestRow, ...]


def forest(report: Report) -> Forest | None:
    """The forest chart; None where nothing was compared."""
    found = list(_decisions(report))
    if not found:
        return None
    threshold = report.spec.threshold_pct
    width, left, right = 1120.0, 250.0, 760.0
    estimates = [d.estimate_pct for _, _, d in found if d.estimate_pct is not None]
    ends = [end for _, _, d in found for end in d.ci95_pct or ()]
    reach = max(_REACH * max(map(abs, estimates), default=0.0), 4 * threshold)
    inside = [min(max(end, -reach), reach) for end in (*ends, *estimates)]
    across = around([*inside, -1.5 * threshold, 1.5 * threshold], left, right)
    return Forest(
        width=width,
        height=_ROW * len(found) + 40,
        left=left,
        right=right,
        zero=across(0),
        band=(across(-threshold), across(threshold)),
        ticks=tuple((across(t), report.numbers.general_change(t)) for t in across.ticks(6)),
        rows=tuple(
            _forest_row(report, across, title, metric, decision, 22 + _ROW * at)
            for at, (title, metric, decision) in enumerate(found)
        ),
    )


def _decisions(report: Report) -> Iterator[tuple[str, str, Decision]]:
    for section in report.sections:
        shown = figures.display(section, report.language)
        yield section.title, shown.name, section.figures
        yield section.title, shown.latency.heading, section.figures.p95


def _forest_row(
    report: Report, across: Scale, title: str, metric: str, found: Decision, y: float
) -> ForestRow:
    interval, numbers = found.ci95_pct, report.numbers
    threshold = report.spec.threshold_pct
    return ForestRow(
        title=title,
        metric=metric,
        y=y,
        verdict="aa" if report.campaign.is_aa else found.verdict,
        word=wording.verdict_word(report, found.verdict),
        estimate=None if found.estimate_pct is None else across(found.estimate_pct),
        low=across(interval[0]) if interval else None,
        high=across(interval[1]) if interval else None,
        cut_low=interval is not None and interval[0] < across.low,
        cut_high=interval is not None and interval[1] > across.high,
        text=numbers.interval(interval, threshold) if interval else numbers.estimate(None, 0),
    )


@dataclass(frozen=True)
class Mark:
    """One round's figure, or the mean of a side, in the chart's units; ``text`` says both."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Line:
    """One side: its mean at each thread count that has one, and a point for each round."""

    side: Side
    path: str
    means: tuple[Mark, ...]
    rounds: tuple[Mark, ...]


@dataclass(frozen=True)
class Curves:
    """One metric over the thread counts."""

    title: str
    width: float
    height: float
    left: float
    right: float
    bottom: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[Line, ...]


def curves(report: Report, section: Section) -> tuple[Curves, Curves]:
    """A workload's throughput and its p95 latency; both begin at zero."""
    shown, say = figures.display(section, report.language), report.language.say
    throughput = say("chart-throughput", metric=shown.name, unit=shown.unit)
    latency = say("chart-latency", latency=shown.latency.heading)
    return (
        _curves(report.language, section, section.figures.metric, throughput),
        _curves(report.language, section, shown.latency.metric, latency),
    )


def _curves(language: Language, section: Section, metric: str, title: str) -> Curves:
    cells = sorted(section.figures.cells, key=lambda cell: cell.threads)
    width, height, left, right, top, bottom = 540.0, 260.0, 64.0, 525.0, 16.0, 226.0
    drawn = [
        value
        for cell in cells
        for side in SIDES
        for value in (*cell.sides[side].by_round(metric).values(), cell.sides[side].means[metric])
        if value is not None
    ]
    up = Scale(0.0, 1.08 * max(drawn, default=1.0), bottom, top)
    step = (right - left) / max(1, len(cells))
    places = [left + step * (at + 0.5) for at in range(len(cells))]
    numbers = Numbers(language)
    lines = []
    for shift, side in zip((-_SIDE_SHIFT, _SIDE_SHIFT), SIDES, strict=True):
        means, rounds = [], []
        for x, cell in zip(places, cells, strict=True):
            found = cell.sides[side]
            mean, unit = found.means[metric], " ms" if figures.is_latency(metric) else ""
            if mean is not None:
                text = f"{cell.threads}: {numbers.rate(mean, 2)}{unit}"
                means.append(Mark(round(x + shift, 1), up(mean), text))
            rounds += [
                Mark(
                    round(x + 3 * shift, 1), up(value), f"{number}: {numbers.rate(value, 2)}{unit}"
                )
                for number, value in found.by_round(metric).items()
            ]
        lines.append(Line(side, _path(means), tuple(means), tuple(rounds)))
    return Curves(
        title=title,
        width=width,
        height=height,
        left=left,
        right=right,
        bottom=bottom,
        x_ticks=tuple((x, str(cell.threads)) for x, cell in zip(places, cells, strict=True)),
        y_ticks=tuple((up(tick), numbers.general(tick)) for tick in up.ticks(4)),
        lines=tuple(lines),
    )


def _path(marks: Sequence[Mark]) -> str:
    """A line through the marks, as SVG has it."""
    return "".join(f"{'L' if at else 'M'}{mark.x} {mark.y}" for at, mark in enumerate(marks))
