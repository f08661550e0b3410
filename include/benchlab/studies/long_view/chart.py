"""The picture of the long view: the chained level over time, and below it the A/A campaigns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from statistics import fmean
from textwrap import shorten
from typing import TYPE_CHECKING

from benchlab.analysis.trend.change_points import MIN_POINTS, ChangePoint
from benchlab.analysis.verdict.paired import percent, percents
from benchlab.language import english
from benchlab.language.names import plain
from benchlab.language.numbers import Numbers
from benchlab.report.charts import plotting
from benchlab.report.charts.plotting import BLUE, GRID, INK, MUTED, VERDICT_COLOUR, Panel
from benchlab.studies.long_view.text import differences, noise
from benchlab.studies.long_view.view import ChainView, LongView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE = BLUE
_COLOUR = {True: VERDICT_COLOUR["improvement"], False: VERDICT_COLOUR["regression"]}
_LEFT, _WIDTH, _WIDTH_IN = 0.075, 0.9, 9.6 * 0.9
_TITLE_IN, _LANE_IN, _FRAME_IN, _NOISE_IN, _TICKS_IN = 0.6, 0.36, 2.6, 0.95, 0.5
# Room for a label of a change point, and between two names of versions, along the axis.
_LABEL_IN, _VERSION_IN = 1.75, 0.17
# With more campaigns than this, bars and points are thin, so that they do not cover each other.
_MANY = 40
# Up to so many days, each is named at the axis if two are never closer than this share of it.
_FEW, _DAY_SHARE = 6, 0.13
# The longest title that fits into the width of the picture.
_MOST_LETTERS = 120


def panels(view: LongView) -> list[Panel]:
    """One for each chain, in the order of the view."""
    return [_panel(view, chain) for chain in view.chains]


def _panel(view: LongView, chain: ChainView) -> Panel:
    days = _days(chain)
    places = [_between(chain, found.index) for found in chain.changes]
    lanes = _lanes([_share(days, place) * _WIDTH_IN for place in places])
    head_in = _TITLE_IN + _LANE_IN * len(set(lanes))
    noise_in = _NOISE_IN if chain.noise.figures else 0.0

    def draw(figure: Figure, top_in: float) -> None:
        level = plotting.axes(figure, top_in + head_in, _FRAME_IN, left=_LEFT, width=_WIDTH)
        _title(figure, top_in, view, chain)
        _levels(level, chain)
        if chain.changes:
            _means(level, chain)
        for found, place, lane in zip(chain.changes, places, lanes, strict=True):
            _change(level, found, place, lane, _share(days, place))
        for suspect in chain.suspects:
            _suspect(level, _between(chain, suspect.index))
        _drift(level, chain)
        _versions(level, chain)
        last = level
        if chain.noise.figures:
            below_in = top_in + head_in + _FRAME_IN + 0.3
            last = plotting.axes(figure, below_in, _NOISE_IN - 0.3, left=_LEFT, width=_WIDTH)
            _noise(last, chain)
            level.tick_params(axis="x", labelbottom=False)
        for axes in (level, last):
            _time(axes, days)

    return Panel(head_in + _FRAME_IN + noise_in + _TICKS_IN, draw)


def _title(figure: Figure, top_in: float, view: LongView, chain: ChainView) -> None:
    first = plain(chain.first_baseline)
    named = f", line {chain.line}" if view.has_lines else ""
    title = f"Long view of {view.report}{named}: level against {first}, with its 95% interval"
    if chain.differs:
        differs = differences(chain.differs, english())
        title = shorten(f"{title}; {differs}", _MOST_LETTERS, placeholder=" ...")
    height = figure.get_figheight()
    for text, down_in, size in ((title, 0.22, 10), ("; ".join(_remarks(chain)), 0.42, 8.5)):
        figure.text(
            _LEFT, 1 - (top_in + down_in) / height, text, fontsize=size, color=MUTED, va="center"
        )


def _remarks(chain: ChainView) -> Iterator[str]:
    if chain.changes:
        yield "black: mean"
    if chain.outliers:
        yield "cross: outlier"
    if chain.lacks_points:
        yield f"change points need {MIN_POINTS} campaigns, there are {len(chain.links)}"
    if any(link.point.bridged_from for link in chain.links):
        yield "hollow: bridged baseline (levels with such a step have no interval)"
    if chain.suspects:
        yield "?: suspected, the candidate's or its new baseline's"
    if chain.drift:
        change = Numbers(english()).estimate(percent(chain.drift.change), chain.threshold_pct)
        yield f"dashed: slow drift, {change} over {chain.drift.links} releases"


def _levels(axes: Axes, chain: ChainView) -> None:
    """Every campaign as a point with its interval; outliers crossed out."""
    days = [_day(link.point.ratio.at) for link in chain.links]
    levels = [percent(link.point.level) for link in chain.links]
    many = len(days) > _MANY
    for day, level, link in zip(days, levels, chain.links, strict=True):
        if link.level_ci95 is not None:
            axes.plot(
                [day, day], percents(link.level_ci95), color=_LINE, alpha=0.3,
                linewidth=1.2 if many else 2.4, solid_capstyle="butt", zorder=2,
            )  # fmt: skip
        if link.point.ratio.campaign in chain.outliers:
            axes.plot([day], [level], "x", color=INK, markersize=8, zorder=5)
    hollow = [link.point.bridged_from is not None for link in chain.links]
    axes.scatter(
        days, levels, s=9 if many else 30, zorder=3, edgecolors=_LINE, linewidths=1,
        c=["white" if is_bridged else _LINE for is_bridged in hollow],
    )  # fmt: skip
    axes.yaxis.set_major_formatter(_percent)
    axes.grid(axis="x", visible=False)
    low, high = _reach(chain)
    # Names of versions stand below the points.
    axes.set_ylim(low - 0.3 * (high - low), high + 0.06 * (high - low))


def _means(axes: Axes, chain: ChainView) -> None:
    """The mean of the levels that count, between change points."""
    edges = [0, *(found.index for found in chain.changes), len(chain.links)]
    for begin, end in itertools.pairwise(edges):
        points = [link.point for link in chain.links[begin:end]]
        counted = [point.level for point in points if point.ratio.campaign not in chain.outliers]
        mean = percent(fmean(counted or [point.level for point in points]))
        days = [_day(points[0].ratio.at), _day(points[-1].ratio.at)]
        axes.plot(days, [mean, mean], color=INK, linewidth=1.2, zorder=4)


def _drift(axes: Axes, chain: ChainView) -> None:
    if chain.drift is None:
        return
    ends = [chain.links[index].point for index in (chain.drift.first, chain.drift.last)]
    days = [_day(point.ratio.at) for point in ends]
    axes.plot(
        days, [percent(point.level) for point in ends], "--", zorder=5, linewidth=1.6,
        color=_COLOUR[chain.drift.change > 0],
    )  # fmt: skip


def _reach(chain: ChainView) -> tuple[float, float]:
    """The levels, and intervals that are not so wide that nothing else could be seen."""
    levels = [percent(link.point.level) for link in chain.links]
    low, high = min(levels), max(levels)
    room = max(2 * (high - low), 5.0)
    ends = [end for link in chain.links if link.level_ci95 for end in percents(link.level_ci95)]
    low = max(min([low, *ends, -1.0]), low - room)
    return low, min(max([high, *ends, 1.0]), high + room)


def _between(chain: ChainView, index: int) -> float:
    """The middle between a campaign and the one before it."""
    return fmean(_day(link.point.ratio.at) for link in chain.links[index - 1 : index + 1])


def _change(axes: Axes, found: ChangePoint, at: float, lane: int, share: float) -> None:
    """A line at the time of a change, and above the frame what it is."""
    colour = _COLOUR[found.change > 0]
    axes.axvline(at, color=colour, linestyle=":", linewidth=1.4, zorder=1)
    change = Numbers(english()).change(percent(found.change))
    versions = " to ".join(dict.fromkeys((plain(found.previous), plain(found.candidate))))
    axes.text(
        at, 1 + (0.05 + lane * _LANE_IN) / _FRAME_IN, f"{change}\n{versions}",
        transform=axes.get_xaxis_transform(), color=colour, fontsize=8.5, va="bottom",
        ha="left" if share < 0.1 else "right" if share > 0.9 else "center", linespacing=1.0,
    )  # fmt: skip


def _suspect(axes: Axes, at: float) -> None:
    """A line without a colour, as nobody knows whose change it is."""
    axes.axvline(at, color=MUTED, linestyle=":", linewidth=1.2, zorder=1)
    axes.text(
        at, 0.98, " ?", transform=axes.get_xaxis_transform(), color=MUTED, fontsize=10, va="top"
    )  # fmt: skip


def _versions(axes: Axes, chain: ChainView) -> None:
    """The name of each version below its first point, where there is room for it."""
    days, named, free_in = _days(chain), set[str](), -math.inf
    for link in chain.links:
        version, at = plain(link.point.ratio.candidate), _day(link.point.ratio.at)
        place_in = _share(days, at) * _WIDTH_IN
        if version in named or place_in < free_in:
            continue
        named.add(version)
        free_in = place_in + _VERSION_IN
        axes.text(
            at, 0.02, version, transform=axes.get_xaxis_transform(), rotation=90, fontsize=8,
            color=MUTED, ha="center", va="bottom",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip


def _noise(axes: Axes, chain: ChainView) -> None:
    """What A/A campaigns found, about zero."""
    figures, sd = chain.noise.figures, chain.noise.sd
    values = [percent(found.log_ratio) for found in figures]
    axes.axhline(0, color=MUTED, linewidth=1)
    if sd is not None:
        axes.axhspan(percent(-1.96 * sd), percent(1.96 * sd), color=GRID, zorder=0)
    axes.plot([_day(found.at) for found in figures], values, "o", color=MUTED, markersize=3.5)
    edge = 1.3 * max(1.0, 196 * (sd or 0.0), *map(abs, values))
    axes.set_ylim(-edge, edge)
    axes.grid(visible=False)
    axes.yaxis.set_major_formatter(_percent)
    axes.set_title(noise(chain.noise).rstrip("."), fontsize=8.5, color=MUTED, pad=3)


def _percent(value: float, _: object) -> str:
    return f"{value:+g}%" if value else "0%"


def _day(at: datetime) -> float:
    """Days since 1970, as matplotlib counts them."""
    return at.timestamp() / 86_400


def _days(chain: ChainView) -> list[float]:
    """The times of all campaigns, including A/A campaigns, in order."""
    campaigns = [link.point.ratio.at for link in chain.links]
    return sorted(map(_day, [*campaigns, *(found.at for found in chain.noise.figures)]))


def _time(axes: Axes, days: Sequence[float]) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, DateFormatter

    axes.set_xlim(_ends(days))
    apart = min((after - before for before, after in itertools.pairwise(days)), default=1.0)
    if len(days) <= _FEW and apart >= _DAY_SHARE * (days[-1] - days[0]) and apart >= 1:
        axes.set_xticks(days)
        axes.xaxis.set_major_formatter(DateFormatter("%Y-%m-%d"))
        return
    locator = AutoDateLocator(minticks=2, maxticks=9)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def _ends(days: Sequence[float]) -> tuple[float, float]:
    margin = (days[-1] - days[0]) * (0.1 if len(days) <= _FEW else 0.025) or 1.0
    return days[0] - margin, days[-1] + margin


def _share(days: Sequence[float], at: float) -> float:
    """How far along the axis a moment is, from 0 to 1."""
    first, last = _ends(days)
    return (at - first) / (last - first)


def _lanes(places_in: Sequence[float]) -> list[int]:
    """For labels at these places, from the left, the lowest row in which each has room."""
    free: list[float] = []
    lanes = []
    for place in places_in:
        lane = next((row for row, until in enumerate(free) if place >= until), len(free))
        free[lane : lane + 1] = [place + _LABEL_IN]
        lanes.append(lane)
    return lanes
