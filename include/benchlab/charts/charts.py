"""Charts for reports, pages and studies: forest plots, curves by thread count, time series.

Example:
    ``forest([Row("Insert", "improvement", 3.1, (2.0, 4.2))], numbers).inline("Changes")``
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from benchlab.analysis.verdict.variances import percent
from benchlab.charts.picture import Picture, Scale, around, change_ticks, text_width, value_ticks
from benchlab.language.numbers import Numbers

Line = Sequence[tuple[float, float | None]]
"""Points of x and value; None: not known."""

# Intervals are cut off at this multiple of the largest estimate.
_REACH = 2.5
_ROW, _LINE, _TOP, _STEP = 44, 26, 30, 38
# More points than pixels would show nothing more: neighbours are averaged.
_MOST_POINTS = 450


@dataclass(frozen=True)
class Row:
    """One change in a forest plot.

    Attributes:
        kind: the verdict or ``aa``, which decides the colour.
        estimate, interval: in percent; None: not known. An infinite estimate is beyond the scale.
        word, told: the two lines of text beside it; without a word in any row, rows are lower.
        is_hollow: whether the estimate's mark is only outlined.
    """

    label: str
    kind: str
    estimate: float | None
    interval: tuple[float, float] | None = None
    word: str = ""
    told: str = ""
    is_hollow: bool = False


def forest(
    rows: Sequence[Row],
    numbers: Numbers,
    *,
    threshold_pct: float = 0.0,
    ends: Sequence[str] = (),
    most: float = math.inf,
) -> Picture:
    """Draw a forest plot: a row per change, with its interval.

    Args:
        threshold_pct: half the width of the shaded band around zero; 0: none.
        ends: what changes to the left and to the right mean, such as ``slower`` and ``faster``.
        most: where the scale ends at the latest, in percent; estimates beyond it become arrows.
    """
    left = max(150.0, 24 + max((text_width(row.label) for row in rows), default=0))
    tall = _ROW if any(row.word for row in rows) else _LINE
    right, bottom = left + 270, _TOP + tall * len(rows)
    beside = max((text_width(text) for row in rows for text in (row.word, row.told)), default=0)
    scale = _changes_scale(rows, threshold_pct, left, right, most)
    kind = "forest" if tall == _ROW else "forest fine"
    picture = Picture(max(620.0, right + 30 + beside), bottom + 30, kind)
    if threshold_pct:
        picture.box("band", scale(-threshold_pct), _TOP, scale(threshold_pct), bottom)
    picture.columns(change_ticks(scale, numbers), bottom, _TOP)
    zero = scale(0)
    picture.line("zero", zero, _TOP, zero, bottom)
    for css, x, text in zip(("tick end", "tick"), (zero - 8, zero + 8), ends, strict=False):
        picture.text(css, x, _TOP - 10, text)
    for number, row in enumerate(rows):
        said = " ".join(part for part in (f"{row.label}:", row.word, row.told) if part)
        with picture.group(row.kind, said):
            _forest_row(picture, row, _TOP + tall * (number + 0.5), scale)
    return picture


def _forest_row(picture: Picture, row: Row, y: float, scale: Scale) -> None:
    picture.text("name end", scale.start - 12, y + 4, row.label)
    _span(picture, row.interval, y, scale)
    if row.estimate is not None:
        hollow, x = " hollow" if row.is_hollow else "", scale(row.estimate)
        is_beyond = not scale.low <= row.estimate <= scale.high
        tip = math.copysign(10, row.estimate)
        shape = f"M{x - tip:g} {y - 6:g}l{tip:g} 6l{-tip:g} 6z" if is_beyond else ""
        picture.path(f"estimate{hollow}", shape or f"M{x - 6:g} {y:g}l6 -6l6 6l-6 6z")
    if row.word:
        picture.text("word", scale.end + 14, y - 3, row.word)
    picture.text("", scale.end + 14, y + (13 if row.word else 4), row.told)


def _span(picture: Picture, interval: tuple[float, float] | None, y: float, scale: Scale) -> None:
    """An interval; where it is cut off it ends in an arrow, else in a bar."""
    if interval is None or interval[0] >= scale.high or interval[1] <= scale.low:
        return
    low, high = map(scale, interval)
    picture.line("span", low, y, high, y)
    for x, beyond, way in (
        (low, interval[0] < scale.low, -7),
        (high, interval[1] > scale.high, 7),
    ):
        arrow = f"M{x - way:g} {y - 6:g}L{x:g} {y:g}L{x - way:g} {y + 6:g}"
        picture.path("span", arrow if beyond else f"M{x:g} {y - 6:g}V{y + 6:g}")


def _changes_scale(
    rows: Sequence[Row], threshold_pct: float, left: float, right: float, most: float
) -> Scale:
    """A scale with all estimates, zero and the threshold, and intervals up to a limit."""
    estimates = [row.estimate for row in rows if row.estimate is not None]
    estimates = [min(max(value, -most), most) for value in estimates]
    ends = [end for row in rows for end in row.interval or () if math.isfinite(end)]
    reach = max(_REACH * max(map(abs, estimates), default=0.0), 4 * threshold_pct, 1.0)
    reach = min(reach, most)
    edge = 1.5 * threshold_pct
    low = max(min([*ends, *estimates, -edge]), -reach)
    high = min(max([*ends, *estimates, edge]), reach)
    return around((low, high), left, right)


@dataclass(frozen=True)
class Step:
    """One step of a waterfall: a factor, as a logarithm with its interval; ``kind``: its colour."""

    label: str
    kind: str
    told: str
    change: float
    interval: tuple[float, float]


def waterfall(first: str, steps: Sequence[Step], last: Step, numbers: Numbers) -> Picture:
    """Draw how factors lead from one level to another, a row for each; readable on a phone.

    Args:
        first: what the level is called from which the steps lead.
        last: the whole change.
    """
    starts = [*accumulate((step.change for step in steps), initial=0.0)][:-1]
    drawn = [*zip(starts, steps, strict=True), (0.0, last)]
    rows = [
        Row(
            step.label,
            step.kind,
            percent(start + step.change),
            (percent(start + step.interval[0]), percent(start + step.interval[1])),
        )
        for start, step in drawn
    ]
    widest = max(text_width(f"{step.label}{step.told}") for _, step in drawn)
    picture = Picture(max(340.0, widest + 40), _STEP * (len(rows) + 1) + 30, "waterfall")
    bottom = picture.height - 26
    scale = _changes_scale(rows, 0.0, 14, picture.width - 14, math.inf)
    picture.columns(change_ticks(scale, numbers), bottom, _STEP / 2)
    picture.line("zero", scale(0), _STEP / 2, scale(0), bottom)
    picture.text("name", 12, 14, first)
    for number, ((start, step), row) in enumerate(zip(drawn, rows, strict=True), 1):
        top = _STEP * number
        picture.text("name over", 12, top + 10, step.label)
        picture.text("end over", picture.width - 12, top + 10, step.told)
        with picture.group(step.kind, f"{step.label}: {step.told}"):
            ends = sorted((scale(percent(start)), scale(row.estimate or 0.0)))
            picture.box("step", ends[0], top + 16, max(ends[1], ends[0] + 1), top + 28)
            _span(picture, row.interval, top + 22, scale)
    return picture


@dataclass(frozen=True)
class Curve:
    """One side's means by thread count, and the values of single rounds.

    Attributes:
        series: its class.
        said: what each mean says to who points at it.
    """

    series: str
    means: Sequence[float | None]
    rounds: Sequence[Iterable[float]]
    said: Sequence[str]


def curves(
    lines: Sequence[Curve], threads: Sequence[str], numbers: Numbers, foot: str, empty: str
) -> Picture:
    """Draw one metric against thread counts, from 0 upwards.

    Args:
        threads: the thread counts as text, in the order of the curves' values.
        foot: the title of the axis below.
        empty: the text to show if there is no value.
    """
    left, right, top, bottom = 64.0, 500.0, 12.0, 220.0
    picture = Picture(520, 262, "curves")
    values = [mean for line in lines for mean in line.means if mean is not None]
    values += [value for line in lines for of_round in line.rounds for value in of_round]
    if not values or max(values) <= 0:
        picture.text("tick middle", 260, 120, empty)
        return picture
    scale = Scale(0, 1.08 * max(values), bottom, top)
    step = (right - left) / len(threads)
    places = [round(left + step * (number + 0.5), 1) for number in range(len(threads))]
    picture.rows(value_ticks(scale, numbers), left, right)
    picture.columns([*zip(places, threads, strict=True)], bottom)
    picture.text("tick middle", (left + right) / 2, picture.height - 6, foot)
    for number, line in enumerate(lines):
        # Beside the line, so that the rounds of all can be seen.
        beside = 14 * (number - (len(lines) - 1) / 2)
        for x, of_round in zip(places, line.rounds, strict=False):
            for value in of_round:
                picture.marker(line.series, x + beside, scale(value), 2.6, "round")
    for line in lines:
        picture.path(f"line {line.series}", path(zip(places, line.means, strict=True), scale))
        for x, mean, said in zip(places, line.means, line.said, strict=True):
            if mean is not None:
                with picture.group(title=said):
                    picture.marker(line.series, x, scale(mean))
    return picture


def path(points: Iterable[tuple[float, float | None]], scale: Scale) -> str:
    """An SVG path through points of x in pixels and a value; None makes a gap.

    Example:
        ``path([(0, 1), (5, 2), (9, None)], Scale(0, 2, 20, 0))`` is ``M0 10h0L5 0``. The ``h0``
        makes a point between two gaps visible.
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
    """One metric over time.

    Attributes:
        lines: by series, such as ``baseline``.
        names: what each series is called.
        most: the top of its axis; None: a little above the largest value.
    """

    title: str
    lines: Mapping[Any, Line]
    names: Mapping[Any, str]
    most: float | None = None


def strips(
    metrics: Iterable[Strip], seconds: float, numbers: Numbers, foot: str, *, tall: int
) -> Picture | None:
    """Draw metrics one below the other over a shared time axis; None if none has a value.

    Args:
        seconds: the length of the time axis.
        foot: its title.
        tall: the height of each strip, in pixels.
    """
    known = [one for one in metrics if _values(one)]
    if not known:
        return None
    left, right = 80.0, 980.0
    time = Scale(0, max(seconds, 1), left, right)
    data = {"across": f"{time.low:g} {time.high:g} {left:g} {right:g}", "unit": "s"}
    picture = Picture(1000, (26 + tall) * len(known) + 40, "strips", data=data)
    ticks = value_ticks(time, numbers, 10)
    with picture.group("ticks"):
        picture.columns(ticks, picture.height - 40, 26)
    for number, one in enumerate(known):
        bottom = (26.0 + tall) * (number + 1)
        picture.text("name", left, bottom - tall - 8, one.title)
        scale = Scale(0, one.most or 1.08 * max(_values(one)) or 1.0, bottom, bottom - tall)
        picture.rows(value_ticks(scale, numbers, 3), left, right)
        lines = {
            series: [(time(t), value) for t, value in _thinned(line)]
            for series, line in one.lines.items()
        }
        _lines(picture, one, lines, scale)
    picture.text("tick middle", (left + right) / 2, picture.height - 6, foot)
    return picture


def sparklines(metrics: Iterable[Strip], numbers: Numbers) -> Picture:
    """Draw metrics one below the other, small enough for hundreds on a page, at equal steps."""
    left, right, top = 34.0, 300.0, 0.0
    picture = Picture(300, 118, "small")
    for one in metrics:
        values, tall = _values(one), 22 if one.most else 56
        bottom = top + tall
        picture.line("grid", left, bottom, right, bottom)
        picture.text("tick", 0, bottom, one.title)
        most = one.most or max(values, default=0.0)
        if values and not one.most:
            picture.text("tick", 0, top + 9, numbers.whole(most))
        step = (right - left) / max(1, *map(len, one.lines.values()))
        lines = {
            series: [(round(left + (n + 0.5) * step), v) for n, (_, v) in enumerate(line)]
            for series, line in one.lines.items()
        }
        if most:
            _lines(picture, one, lines, Scale(0, most, bottom, top))
        top = bottom + 6
    return picture


def _lines(picture: Picture, one: Strip, lines: Mapping[Any, Line], scale: Scale) -> None:
    """The lines of a strip, in pixels across, with what a script needs to read their values."""
    ends = " ".join(f"{end:.6g}" for end in (scale.low, scale.high, scale.start, scale.end))
    finer = replace(scale, decimals=2)
    with picture.group("zooms", strip=ends, name=one.title):
        for series, line in lines.items():
            if d := path(line, finer):
                with picture.group(title=one.names[series]):
                    picture.path(f"line thin {series}", d)


def _values(one: Strip) -> list[float]:
    return [value for line in one.lines.values() for _, value in line if value is not None]


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
