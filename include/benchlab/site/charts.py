"""The charts of a campaign as places in a picture, which ``charts.html.j2`` draws.

Example:
    ``forest(rows, 2.0, numbers)`` has for every row the pixels of its interval and estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchlab.analysis.verdict.decision import Decision
from benchlab.language.numbers import Numbers
from benchlab.plan.report_type import SIDES, Side
from benchlab.report.model import figures
from benchlab.report.model.report import Report, Section
from benchlab.report.model.series import Line
from benchlab.report.sentences import wording
from benchlab.site.scales import Scale, around

Tick = tuple[float, str]
"""A pixel, and the text beside it."""

# How much further than the largest estimate an interval is drawn before it is cut off.
_REACH = 2.5
_ROW, _FOREST_TOP = 44, 30
_LEFT, _RIGHT, _WIDTH = 150, 420, 620
# A series with more points than pixels shows nothing more: neighbours are averaged.
_MOST_POINTS = 450


@dataclass(frozen=True)
class ForestRow:
    """One change: ``low`` and ``high`` are the pixels of its interval.

    Attributes:
        mark: the pixel of the estimate; None where there is none.
        beyond: whether the interval goes on beyond the left and the right edge.
        kind: the verdict, by which it has its colour and sign; ``aa`` in an A/A campaign.
    """

    y: float
    label: str
    kind: str
    found: str
    verdict: str
    figures: str
    mark: float | None
    low: float | None = None
    high: float | None = None
    beyond: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class Forest:
    """Changes below each other, against the band of the threshold."""

    rows: tuple[ForestRow, ...]
    ticks: tuple[Tick, ...]
    zero: float
    band: tuple[float, float]
    top: float
    bottom: float
    height: float
    left: float = _LEFT
    right: float = _RIGHT
    width: float = _WIDTH


@dataclass(frozen=True)
class Change:
    """What a row of a forest shows."""

    label: str
    decision: Decision
    verdict: str
    is_aa: bool = False


def forest(changes: Sequence[Change], threshold_pct: float, numbers: Numbers) -> Forest:
    """Changes with their intervals, in percent."""
    scale = _changes_scale([change.decision for change in changes], threshold_pct)
    bottom = _FOREST_TOP + _ROW * len(changes)
    return Forest(
        rows=tuple(
            _forest_row(change, _FOREST_TOP + _ROW * (number + 0.5), scale, threshold_pct, numbers)
            for number, change in enumerate(changes)
        ),
        ticks=tuple((scale(value), numbers.general_change(value)) for value in scale.ticks(5)),
        zero=scale(0),
        band=(scale(-threshold_pct), scale(threshold_pct)),
        top=_FOREST_TOP,
        bottom=bottom,
        height=bottom + 30,
    )


def _changes_scale(found: Iterable[Decision], threshold_pct: float) -> Scale:
    """Every estimate and, where it can be, every interval; zero and the threshold always."""
    known = list(found)
    estimates = [one.estimate_pct for one in known if one.estimate_pct is not None]
    ends = [end for one in known for end in one.ci95_pct or ()]
    reach = max(_REACH * max(map(abs, estimates), default=0.0), 4 * threshold_pct)
    edge = 1.5 * threshold_pct
    low = max(min([*ends, *estimates, -edge]), -reach)
    high = min(max([*ends, *estimates, edge]), reach)
    return around((low, high), _LEFT, _RIGHT)


def _forest_row(
    change: Change, y: float, scale: Scale, threshold_pct: float, numbers: Numbers
) -> ForestRow:
    found = change.decision
    within = found.ci95_pct
    told = numbers.estimate(found.estimate_pct, threshold_pct, within)
    if within is not None:
        told = f"{told} ({numbers.interval(within, threshold_pct)})"
    return ForestRow(
        y=y,
        label=change.label,
        kind="aa" if change.is_aa else found.verdict,
        found=found.verdict,
        verdict=change.verdict,
        figures=told,
        mark=None if found.estimate_pct is None else scale(found.estimate_pct),
        low=None if within is None else scale(within[0]),
        high=None if within is None else scale(within[1]),
        beyond=(False, False)
        if within is None
        else (within[0] < scale.low, within[1] > scale.high),
    )


def forests(report: Report) -> dict[str, Forest]:
    """The changes of a campaign's workloads: of throughput, and of p95 latency."""
    threshold, numbers = report.spec.threshold_pct, report.numbers

    def row(section: Section, found: Decision) -> Change:
        word = wording.verdict_word(report, found.verdict)
        return Change(section.title, found, word, report.campaign.is_aa)

    return {
        "throughput": forest([row(s, s.figures) for s in report.sections], threshold, numbers),
        "latency": forest([row(s, s.figures.p95) for s in report.sections], threshold, numbers),
    }


@dataclass(frozen=True)
class SideCurve:
    """One side's means as pixels, with the points of single rounds."""

    side: Side
    label: str
    line: str
    means: tuple[tuple[float, float], ...]
    rounds: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Curves:
    """One metric of both sides against thread counts; ``unit`` is part of its title."""

    title: str
    sides: tuple[SideCurve, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    left: float = 64
    right: float = 500
    top: float = 12
    bottom: float = 220
    width: float = 520
    height: float = 262


def curves(report: Report, section: Section) -> tuple[Curves, Curves]:
    """A workload's throughput and latency."""
    shown, say = figures.display(section, report.language), report.language.say
    return (
        _curves(
            report,
            section,
            section.figures.metric,
            say("chart-throughput", metric=shown.name, unit=shown.unit),
        ),
        _curves(
            report,
            section,
            shown.latency.metric,
            say("chart-latency", latency=shown.latency.heading),
        ),
    )


def _curves(report: Report, section: Section, metric: str, title: str) -> Curves:
    frame = Curves(title, (), (), ())
    cells = sorted(section.figures.cells, key=lambda cell: cell.threads)
    step = (frame.right - frame.left) / len(cells)
    places = [round(frame.left + step * (number + 0.5), 1) for number in range(len(cells))]
    by_side = {
        side: [
            (place, cell.sides[side].means[metric], cell.sides[side].by_round(metric).values())
            for place, cell in zip(places, cells, strict=True)
        ]
        for side in report.sides
    }
    # Beside the line, so that the rounds of both sides can be seen.
    beside = {"baseline": -7, "candidate": 7} if report.has_verdicts else {"baseline": 0}
    drawn = [
        value
        for points in by_side.values()
        for _, mean, rounds in points
        for value in (*rounds, *([] if mean is None else [mean]))
    ]
    if not drawn or max(drawn) <= 0:
        return frame
    scale = Scale(0, 1.08 * max(drawn), frame.bottom, frame.top)
    return Curves(
        title,
        tuple(
            SideCurve(
                side,
                report.sides[side].label,
                path([(place, mean) for place, mean, _ in by_side[side]], scale),
                tuple((x, scale(mean)) for x, mean, _ in by_side[side] if mean is not None),
                tuple(
                    (x + beside[side], scale(value))
                    for x, _, rounds in by_side[side]
                    for value in rounds
                ),
            )
            for side in report.sides
        ),
        tuple(
            (place, report.numbers.whole(cell.threads))
            for place, cell in zip(places, cells, strict=True)
        ),
        y_ticks(scale, report.numbers),
    )


def y_ticks(scale: Scale, numbers: Numbers, most: int = 5) -> tuple[Tick, ...]:
    """The ticks of an axis of values."""
    return tuple((scale(value), numbers.general(value)) for value in scale.ticks(most))


def path(points: Iterable[tuple[float, float | None]], scale: Scale) -> str:
    """An SVG path through points with pixels to the right and values upwards; None is a gap.

    Example:
        ``path([(0, 1), (5, 2), (9, None)], Scale(0, 2, 20, 0))`` is ``M0 10h0L5 0``: without the
        ``h0`` a point between two gaps would not be seen.
    """
    made, drawn = [], False
    for x, value in points:
        if value is not None:
            place = f"{x:g} {scale(value):g}"
            made.append(f"L{place}" if drawn else f"M{place}h0")
        drawn = value is not None
    return "".join(made)


@dataclass(frozen=True)
class Strip:
    """One metric over time."""

    title: str
    lines: tuple[tuple[Side, str], ...]
    y_ticks: tuple[Tick, ...]
    top: float
    bottom: float


@dataclass(frozen=True)
class Strips:
    """Metrics below each other on one axis of time, in seconds."""

    strips: tuple[Strip, ...]
    x_ticks: tuple[Tick, ...]
    height: float
    left: float = 80
    right: float = 980
    width: float = 1000


def strips(
    metrics: Sequence[tuple[str, Mapping[Side, Line], float | None]],
    seconds: float,
    numbers: Numbers,
    *,
    tall: int = 110,
) -> Strips:
    """Series below each other.

    Args:
        metrics: the title with its unit, the lines, and the top of the axis (None: the largest
            value); one without any value is left out.
        seconds: the length of the axis of time.
        tall: the height of each in pixels.
    """
    frame = Strips((), (), 0)
    time = Scale(0, max(seconds, 1), frame.left, frame.right)
    made, foot = [], 0.0
    for title, whole, most in metrics:
        lines = {side: _thinned(line) for side, line in whole.items()}
        known = [value for line in lines.values() for _, value in line if value is not None]
        if not known:
            continue
        top, foot = foot + 26, foot + 26 + tall
        scale = Scale(0, most or 1.08 * max(known) or 1.0, foot, top)
        drawn = (
            (side, path([(time(t), value) for t, value in lines[side]], scale))
            for side in SIDES
            if side in lines
        )
        made.append(Strip(title, tuple(drawn), y_ticks(scale, numbers, 3), top, foot))
    ticks = tuple((time(value), numbers.general(value)) for value in time.ticks(10))
    return Strips(tuple(made), ticks, foot + 40)


def _thinned(line: Line) -> Line:
    size = math.ceil(len(line) / _MOST_POINTS)
    if size <= 1:
        return line
    thinned: list[tuple[float, float | None]] = []
    for start in range(0, len(line), size):
        part = line[start : start + size]
        known = [value for _, value in part if value is not None]
        thinned.append((part[-1][0], math.fsum(known) / len(known) if known else None))
    return thinned
