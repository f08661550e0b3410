"""SVG pictures, drawn mark by mark, without fonts of their own; they need no script.

Marks have CSS classes; ``charts.css`` has their colours for light and dark pages::

    picture = Picture(200, 100, "curves")
    picture.line("grid", 0, 50, 200, 50)
    picture.inline("Throughput")   # for a page that has the style sheet
    picture.file()                 # a file with its own style
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType

from markupsafe import Markup, escape

from benchlab.errors import SpecError, meaning_of
from benchlab.language.numbers import Numbers

Tick = tuple[float, str]
"""A place in pixels, and its text."""

# The width of a date as text, in pixels.
_DAY = 84.0


@dataclass(frozen=True)
class Scale:
    """Maps values to pixels: ``Scale(0, 10, 40, 240)(5)`` is 140.0.

    Attributes:
        low, high: the values at both ends; they differ.
        start, end: their pixels; ``start`` is larger on a vertical axis.
        decimals: of a pixel.
    """

    low: float
    high: float
    start: float
    end: float
    decimals: int = 1

    def __call__(self, value: float) -> float:
        """The pixel of a value; values beyond an end are moved to it."""
        inside = min(max(value, self.low), self.high)
        share = (inside - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), self.decimals)

    def ticks(self, most: int = 6) -> list[float]:
        """About ``most`` round values on the scale, 1, 2 or 5 times a power of 10 apart."""
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [float(f"{n * step:.10g}") for n in range(first, last + 1)]


def around(values: Iterable[float], start: float, end: float, *, least: float = 0.0) -> Scale:
    """A scale for all values, with a margin of 5 % of their spread at each end.

    Args:
        values: without any, -1 and 1.
        least: the smallest spread to use.
    """
    known = list(values) or [-1.0, 1.0]
    low, high = min(known), max(known)
    spread = max(high - low, least) or abs(high) or 1.0
    middle = (low + high) / 2
    half = 0.55 * spread
    return Scale(middle - half, middle + half, start, end)


def value_ticks(scale: Scale, numbers: Numbers, most: int = 5) -> list[Tick]:
    """The ticks of an axis of values."""
    return [(scale(value), numbers.general(value)) for value in scale.ticks(most)]


def change_ticks(scale: Scale, numbers: Numbers) -> list[Tick]:
    """The ticks of an axis of changes in percent."""
    return [(scale(value), numbers.general_change(value)) for value in scale.ticks(5)]


def day_ticks(times: Iterable[datetime], scale: Scale) -> list[Tick]:
    """The ticks of an axis of days: each day once, at its first time, if there is room.

    Example:
        Two campaigns on one day and a third a year later give two ticks.
    """
    ticks: list[Tick] = []
    for at in sorted(times):
        x, day = scale(at.timestamp()), f"{at:%Y-%m-%d}"
        if not ticks or (day != ticks[-1][1] and x >= ticks[-1][0] + _DAY):
            ticks.append((x, day))
    return ticks


SERIES = ("baseline", "candidate", "third", "fourth", "fifth", "sixth")
"""The CSS classes of series; they differ in colour, dashes and marker."""

_MARKERS = {
    "baseline": "a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z",
    "candidate": "v-{r}h{d}v{d}h-{d}z",
    "third": "v{r}h{d}l-{r} -{d}z",
    "fourth": "l{r} {r}l{r} -{r}l-{r} -{r}z",
    "fifth": "v-{r}h{d}l-{r} {d}z",
    "sixth": "v1h{d}v-2h-{d}z",
}
_COLOUR = re.compile(r"--(\w+): light-dark\((#\w+), (#\w+)\)")
_GAP, _CAPTION = 24, 26


class Picture:
    """Marks in a frame of ``width`` by ``height`` pixels; ``kind`` is its CSS class.

    Args:
        script: what its file has a script for, beside what it shows without; a page loads it.
        data: what that script reads of the whole picture, by the name of an attribute ``data-...``.
    """

    def __init__(
        self,
        width: float,
        height: float,
        kind: str = "",
        script: str = "",
        data: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.width, self.height, self.kind, self.script = width, height, kind, script
        self._data = _data(data)
        self._marks: list[str] = []

    def line(self, css: str, x1: float, y1: float, x2: float, y2: float) -> None:
        """Draw a straight line; ``css`` is its class, here and below."""
        self.path(css, f"M{x1:g} {y1:g}L{x2:g} {y2:g}")

    def path(self, css: str, d: str) -> None:
        """Draw a path; ``d`` is SVG path data."""
        self._marks.append(f'<path class="{css}" d="{d}"/>')

    def box(self, css: str, x1: float, y1: float, x2: float, y2: float) -> None:
        """Draw a rectangle, from its upper left to its lower right corner."""
        size = f'width="{x2 - x1:g}" height="{y2 - y1:g}"'
        self._marks.append(f'<rect class="{css}" x="{x1:g}" y="{y1:g}" {size}/>')

    def text(self, css: str, x: float, y: float, text: str, *, upright: bool = False) -> None:
        """Draw a text; class ``middle`` or ``end`` sets its anchor; ``upright``: read upwards."""
        turned = f' transform="rotate(-90 {x:g} {y:g})"' if upright else ""
        self._marks.append(f'<text class="{css}" x="{x:g}" y="{y:g}"{turned}>{escape(text)}</text>')

    def circle(self, css: str, x: float, y: float, r: float) -> None:
        """Draw a circle."""
        self._marks.append(f'<circle class="{css}" cx="{x:g}" cy="{y:g}" r="{r:g}"/>')

    def marker(self, series: str, x: float, y: float, size: float = 4.5, css: str = "") -> None:
        """Draw the marker of one of :data:`SERIES`."""
        shape = _MARKERS[series].format(r=f"{size:g}", d=f"{2 * size:g}")
        self.path(f"mark {series} {css}".rstrip(), f"M{x - size:g} {y:g}{shape}")

    @contextmanager
    def group(self, css: str = "", title: str = "", href: str = "", **data: str) -> Iterator[None]:
        """Group the marks drawn in this context; ``title``: its tooltip, ``href``: its link."""
        name = "a" if href else "g"
        attributes = (
            (f' class="{css}"' if css else "")
            + (f' href="{escape(href)}"' if href else "")
            + _data(data)
        )
        tooltip = f"<title>{escape(title)}</title>" if title else ""
        self._marks.append(f"<{name}{attributes}>{tooltip}")
        yield
        self._marks.append(f"</{name}>")

    def place(self, other: Picture, x: float, y: float) -> None:
        """Draw another picture with its upper left corner at ``x``, ``y``."""
        self._marks.append(f'<g transform="translate({x:g} {y:g})">')
        self._marks += other._marks
        self._marks.append("</g>")

    def rows(self, ticks: Sequence[Tick], left: float, right: float) -> None:
        """Draw a vertical axis: a grid line for each tick, with its text on the left."""
        for y, text in ticks:
            self.line("grid", left, y, right, y)
            self.text("tick end", left - 8, y + 4, text)

    def columns(self, ticks: Sequence[Tick], bottom: float, top: float | None = None) -> None:
        """Draw a horizontal axis at ``bottom``; with grid lines if ``top`` is given."""
        for x, text in ticks:
            if top is not None:
                self.line("grid", x, top, x, bottom)
            self.text("tick middle", x, bottom + 18, text)

    def inline(self, said: str) -> Markup:
        """The picture for a page with :func:`style`; ``said``: its label for screen readers."""
        role = "group" if any(mark.startswith("<a ") for mark in self._marks) else "img"
        return Markup(self._svg(f' role="{role}" aria-label="{escape(said)}"'))  # all is escaped

    def file(self) -> bytes:
        """The picture as an SVG file, light or dark as the reader prefers."""
        size = (
            f' xmlns="http://www.w3.org/2000/svg" width="{self.width:g}" height="{self.height:g}"'
        )
        svg = self._svg(size).replace(">", f"><style>{_style_of_files()}</style>", 1)
        if self.script:
            script = f"<script><![CDATA[\n{self.script}]]></script>\n</svg>"
            svg = svg.removesuffix("</svg>") + script
        return f'<?xml version="1.0" encoding="utf-8"?>\n{svg}\n'.encode()

    def _svg(self, attributes: str) -> str:
        paper = f'<rect class="paper" width="{self.width:g}" height="{self.height:g}"/>'
        marks = "\n".join([paper, *self._marks])
        css = f"chart {self.kind}".rstrip()
        box = f"0 0 {self.width:g} {self.height:g}"
        return f'<svg class="{css}" viewBox="{box}"{self._data}{attributes}>\n{marks}\n</svg>'


def _data(values: Mapping[str, str]) -> str:
    return "".join(f' data-{name}="{escape(value)}"' for name, value in values.items())


def key(series: str) -> Picture:
    """A sample of a series' line and marker, for a legend."""
    picture = Picture(44, 12, "key")
    picture.line(f"line {series}", 0, 6, 44, 6)
    picture.marker(series, 22, 6)
    return picture


def sheet(
    title: str,
    panels: Sequence[Sequence[tuple[str, Picture]]],
    *,
    remark: str = "",
    legend: Sequence[tuple[str, str]] = (),
) -> Picture:
    """Lay out pictures in rows under a title, each with its caption, for a file that stands alone.

    Args:
        panels: rows of pairs of caption and picture.
        legend: pairs of one of :data:`SERIES` and its label.
    """
    widths = [sum(one.width + _GAP for _, one in row) for row in panels]
    width = max(*widths, 24 + text_width(title) * 1.25, 24 + text_width(remark))
    head = Picture(width, 0)
    head.text("title", 12, 28, title)
    if remark:
        head.text("remark", 12, 50, remark)
    x, top = 12.0, 72.0 if remark else 50.0
    for number, (series, name) in enumerate(legend):
        room = 74 + text_width(name)
        if number and x + room > width:
            x, top = 12.0, top + 20
        head.place(key(series), x, top - 10)
        head.text("", x + 50, top, name)
        x += room
    top += 6 if legend else -16
    made = Picture(width, top + sum(map(_row_height, panels)), "sheet")
    made.place(head, 0, 0)
    for row in panels:
        x = 0.0
        for caption, one in row:
            made.text("remark", x + 12, top + 18, caption)
            made.place(one, x, top + _CAPTION)
            x += one.width + _GAP
        top += _row_height(row)
    return made


def _row_height(row: Sequence[tuple[str, Picture]]) -> float:
    return _CAPTION + 12 + max(one.height for _, one in row)


def text_width(text: str) -> float:
    """The approximate width of a text in pixels; no font is consulted."""
    return sum(12.5 if unicodedata.east_asian_width(letter) in "WF" else 7 for letter in text)


def write(path: Path, picture: Picture) -> None:
    """Write a picture to the file given by ``--picture``.

    Raises:
        SpecError: the name does not end in .svg, or the file cannot be written.
    """
    if path.suffix.lower() != ".svg":
        raise SpecError(f"--picture {path}: must end in .svg")
    try:
        path.write_bytes(picture.file())
    except OSError as error:
        raise SpecError(f"--picture {path}: cannot be written: {meaning_of(error)}") from error


@cache
def script(name: str) -> str:
    """What a page loads: ``charts`` for values and zoom, ``flame`` for flame graphs."""
    return resources.files("benchlab.charts").joinpath(f"{name}.js").read_text("utf-8")


@cache
def style() -> Markup:
    """The style sheet of pages: colours, and rules for pictures."""
    return Markup(resources.files("benchlab.charts").joinpath("charts.css").read_text("utf-8"))


@cache
def _style_of_files() -> str:
    """The rules for pictures with literal colours, as many viewers do not support variables."""
    colours, rules, _ = re.split(r"/\* Pictures.*\n", style())
    of_page = {name: both for name, *both in _COLOUR.findall(colours)}

    def drawn(dark: bool) -> str:
        return re.sub(r"var\(--(\w+)\)", lambda found: of_page[found[1]][dark], rules)

    return f"{drawn(False)}@media (prefers-color-scheme: dark) {{\n{drawn(True)}}}\n"
