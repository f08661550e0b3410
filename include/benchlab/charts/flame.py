"""A differential flame graph: what each function took on both sides, below the one that calls it.

Example:
    ``flame({("main", "work"): (60.0, 75.0)}, labels)`` is read without a script; with
    ``flame.js``, which its file has and a page loads, it is zoomed and searched.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from benchlab.charts.picture import Picture, script, text_width

_WIDTH, _ROW, _EDGE = 1200.0, 17, 12.0
LEAST = 0.001
"""Narrower frames are merged: of the width of all."""
# A frame's class by the larger side over the smaller one.
_STEPS = ((2.0, "much"), (1.1, "little"))
_LETTER = 7.0


class Labels(NamedTuple):
    """The words of a flame graph.

    Attributes:
        title, remark: above it.
        legend: of the steps of more, then of less, the strongest first; then of what changed, and
            of what only one side has.
        everything: the name of the outermost frame.
        sides: what a frame says of its values on both sides, each with the side's name.
        merged: the name of so many narrower frames.
        find, found: before the field for a search, and what it found, with ``{count}``,
            ``{baseline}`` and ``{candidate}`` for how many frames, and their shares.
    """

    title: str
    remark: str
    legend: tuple[str, ...]
    everything: str
    sides: Callable[[float, float], str]
    merged: Callable[[int], str]
    find: str
    found: str


def flame(
    stacks: Mapping[tuple[str, ...], tuple[float, float]],
    labels: Labels,
    changed: Collection[str] = (),
) -> Picture:
    """Draw stacks of two sides, callers above what they call.

    A frame's width is the mean of both sides, so that what is gone keeps a place.

    Args:
        stacks: what each took on either side; the outermost function first.
        changed: functions to outline.
    """
    rows = sorted(((labels.everything, *stack), both) for stack, both in stacks.items())
    below = [(0.0, 0.0)]
    for _, both in rows:
        below.append((below[-1][0] + both[0], below[-1][1] + both[1]))
    whole = below[-1]
    depth = 1 + max((len(stack) for stack, _ in rows if rows), default=1)
    words = {"find": labels.find, "found": labels.found}
    picture = Picture(_WIDTH, 84 + _ROW * depth, "flame", script("flame"), words)
    picture.text("title", _EDGE, 26, labels.title)
    picture.text("remark", _EDGE, 46, labels.remark)
    _legend(picture, labels.legend)
    work = [(0, len(rows), 0, _EDGE)]
    while work:
        first, end, level, x = work.pop()
        narrow, ends = (0.0, 0.0), 0
        names = [(*stack[level : level + 1], "")[0] for stack, _ in rows[first:end]]
        for name, group in itertools.groupby(range(len(names)), key=names.__getitem__):
            numbers = [first + n for n in group]
            start, stop = below[numbers[0]], below[numbers[-1] + 1]
            both = stop[0] - start[0], stop[1] - start[1]
            if not name:
                continue
            if sum(both) < LEAST * sum(whole):
                narrow, ends = (narrow[0] + both[0], narrow[1] + both[1]), ends + 1
                continue
            css = f"{_step(*both)}{' found' * (name in changed)}"
            width = _frame(picture, labels, name, css, both, whole, (x, level))
            work.append((numbers[0], numbers[-1] + 1, level + 1, x))
            x += width
        if ends:
            css = f"{_step(*narrow)} merged"
            _frame(picture, labels, labels.merged(ends), css, narrow, whole, (x, level))
    return picture


def _frame(
    picture: Picture,
    labels: Labels,
    name: str,
    css: str,
    both: tuple[float, float],
    whole: tuple[float, float],
    place: tuple[float, int],
) -> float:
    """Draw a frame, and return its width."""
    x, y = place[0], 76 + _ROW * place[1]
    width = (_WIDTH - 2 * _EDGE) * sum(both) / sum(whole)
    share = " ".join(f"{100 * one / (of or 1):.3g}" for one, of in zip(both, whole, strict=True))
    with picture.group(title=f"{name}\n{labels.sides(*both)}", share=share):
        picture.box(f"frame {css}", round(x, 2), y, round(x + width, 2), y + _ROW - 1)
        room = int((width - 6) / _LETTER)
        if room >= 4:
            short = name.rpartition("/")[2]
            fits = text_width(short) <= width - 6
            picture.text("", round(x + 3, 2), y + 12, short if fits else f"{short[: room - 1]}…")
    return width


def _step(baseline: float, candidate: float) -> str:
    more, less = max(baseline, candidate), min(baseline, candidate)
    way = "up" if candidate > baseline else "down"
    step = next((f"{way} {name}" for ratio, name in _STEPS if more >= ratio * less), "same")
    return step if less else f"{step} alone"


def _legend(picture: Picture, texts: tuple[str, ...]) -> None:
    steps = [f"{way} {name}" for way in ("up", "down") for _, name in _STEPS]
    x = _EDGE
    for css, text in zip((*steps, "same found", "same alone"), texts, strict=True):
        picture.box(f"frame {css}", x, 56, x + 14, 68)
        picture.text("tick", x + 20, 67, text)
        x += 36 + text_width(text)
