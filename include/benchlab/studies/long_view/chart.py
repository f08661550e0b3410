"""Draws a chain: its levels over time with their changes, and below them A/A campaigns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from benchlab.analysis.trend.change_points import MIN_POINTS, ChangePoint, Suspect
from benchlab.analysis.verdict.variances import percent, percents
from benchlab.charts.picture import Picture, Scale, around, change_ticks, day_ticks, text_width
from benchlab.language import Language, english
from benchlab.language.names import plain
from benchlab.language.numbers import Numbers
from benchlab.studies.long_view.text import differences, noise
from benchlab.studies.long_view.view import ChainView, Link, LongView

_WIDTH, _LEFT, _RIGHT = 1120.0, 70.0, 1100.0
_HIGH, _LANE, _NOISE = 240.0, 18.0, 64.0
# Space between the names of two versions, which are written upright.
_APART = 17.0
_SIGNS = {True: ("improvement", "▲"), False: ("regression", "▼")}


def levels(
    chain: ChainView, language: Language, to: Callable[[str], str] = lambda campaign: ""
) -> Picture:
    """Draw the level of every campaign against the first baseline, with its interval.

    Args:
        to: returns the address of a campaign's page; if empty, its point is not a link.
    """
    times = [link.point.ratio.at for link in chain.links]
    aa = [found.at for found in chain.noise.figures]
    across = around((at.timestamp() for at in [*times, *aa]), _LEFT, _RIGHT, least=86_400)
    xs = [across(at.timestamp()) for at in times]
    labels = list(_labels(chain, xs, language))
    lanes = _lanes([x for x, _, _ in labels], [text_width(text) + 20 for _, _, text in labels])
    top = 20 + _LANE * (max(lanes, default=0) + 1 if lanes else 0)
    bottom = top + _HIGH
    names = list(_versions(chain, xs))
    foot = bottom + 14 + max(text_width(name) for _, name, _ in names)
    below = _NOISE + 12 if aa else 0.0
    up, numbers = _up(chain, bottom, top), Numbers(language)
    data = {"across": f"{across.low:.0f} {across.high:.0f} {_LEFT:g} {_RIGHT:g}", "unit": "day"}
    picture = Picture(_WIDTH, foot + below + 30, "levels", data=data)
    picture.rows(change_ticks(up, numbers), _LEFT, _RIGHT)
    heights = [top - 2 - _LANE * lane for lane in lanes]
    with picture.group("zooms"):
        for (x, kind, _), y in zip(labels, heights, strict=True):
            with picture.group(kind):
                picture.line("change", x, y - 4, x, bottom)
        for (x, kind, text), y in zip(labels, heights, strict=True):
            with picture.group(kind):
                css, at = ("label end", x - 6) if x > 0.7 * _WIDTH else ("label", x + 6)
                picture.text(css, at, y, text)
        for from_, until, mean in _means(chain):
            picture.line("mean", xs[from_], up(mean), xs[until], up(mean))
        if drift := chain.drift:
            ends = [
                (xs[at], up(percent(chain.links[at].point.level)))
                for at in (drift.first, drift.last)
            ]
            with picture.group(_SIGNS[chain.is_better(drift.change)][0]):
                picture.line("drift", *ends[0], *ends[1])
        picture.path("bar", "".join(_bars(chain.links, xs, up)))
        for x, name, has_room in names:
            css = "tick end sparse" if has_room else "tick end sparse crowded"
            picture.text(css, x + 4, bottom + 8, name, upright=True)
        for x, link in zip(xs, chain.links, strict=True):
            _point(picture, chain, link, (x, up(percent(link.point.level))), language, to)
    if aa:
        _aa(picture, chain, across, foot, numbers)
    with picture.group("ticks"):
        picture.columns(day_ticks([*times, *aa], across), foot + below - 8)
    return picture


def title(view: LongView, chain: ChainView) -> str:
    """The caption of a chain's picture, in English."""
    named = f", line {chain.line}" if view.has_lines else ""
    of = f", {chain.count.said}" if chain.count else ""
    first = plain(chain.first_baseline)
    differs = f"; {differences(chain.differs, english())}" if chain.differs else ""
    remarks = "; ".join(_remarks(chain))
    return (
        f"Long view of {view.report}{named}{of}: level against {first}, with its 95% interval"
        f"{differs}{remarks and f' ({remarks})'}"
    )


def _remarks(chain: ChainView) -> Iterator[str]:
    if chain.changes:
        yield "lines: means"
    if chain.outliers:
        yield "cross: outlier"
    if chain.lacks_points:
        yield f"change points need {MIN_POINTS} campaigns, there are {len(chain.links)}"
    if any(link.point.bridged_from for link in chain.links):
        yield "hollow: bridged baseline, levels with such a step have no interval"
    if chain.suspects:
        yield "?: suspected, the candidate's or its new baseline's"
    if chain.drift:
        yield "dashed: slow drift"
    if chain.noise.figures:
        yield noise(chain.noise).rstrip(".")


def _up(chain: ChainView, bottom: float, top: float) -> Scale:
    """The scale of levels, with intervals; very wide intervals are cut to keep levels readable."""
    values = [percent(link.point.level) for link in chain.links]
    ends = [end for link in chain.links if link.level_ci95 for end in percents(link.level_ci95)]
    reach = max(3 * (max(values) - min(values)), 5.0)
    low, high = min(values) - reach, max(values) + reach
    within = (min(max(end, low), high) for end in ends)
    return around([0.0, *values, *within], bottom, top, least=chain.threshold_pct)


def _labels(
    chain: ChainView, xs: Sequence[float], language: Language
) -> Iterator[tuple[float, str, str]]:
    """Place, kind and text of each change, from left to right; suspects begin with ``?``."""
    numbers = Numbers(language)
    of_all: list[ChangePoint | Suspect] = [*chain.changes, *chain.suspects]
    for found in sorted(of_all, key=lambda one: one.index):
        change = numbers.estimate(percent(found.change), chain.threshold_pct, percents(found.ci95))
        known = isinstance(found, ChangePoint)
        kind, sign = _SIGNS[chain.is_better(found.change)] if known else ("suspect", "?")
        x = round((xs[found.index - 1] + xs[found.index]) / 2, 1)
        yield x, kind, f"{sign} {plain(found.candidate)} {change}"


def _lanes(places: Sequence[float], widths: Sequence[float]) -> list[int]:
    """For labels from left to right, the lowest row in which each overlaps no other."""
    free: list[float] = []
    lanes = []
    for x, width in zip(places, widths, strict=True):
        begin = x - width if x > 0.7 * _WIDTH else x
        lane = next((row for row, until in enumerate(free) if begin >= until), len(free))
        free[lane : lane + 1] = [begin + width]
        lanes.append(lane)
    return lanes


def _means(chain: ChainView) -> Iterator[tuple[int, int, float]]:
    """The mean level between change points, without outliers: first and last campaign, mean."""
    if not chain.changes:
        return
    edges = [0, *(found.index for found in chain.changes), len(chain.links)]
    for begin, end in itertools.pairwise(edges):
        points = [link.point for link in chain.links[begin:end]]
        counted = [one.level for one in points if one.ratio.campaign not in chain.outliers]
        yield begin, end - 1, percent(fmean(counted or [one.level for one in points]))


def _bars(links: Sequence[Link], xs: Sequence[float], up: Scale) -> Iterator[str]:
    """The intervals of all levels in one path, since a page may have a thousand."""
    for x, link in zip(xs, links, strict=True):
        if link.level_ci95 is not None:
            low, high = percents(link.level_ci95)
            yield f"M{x:g} {up(high):g}V{up(low):g}"


def _versions(chain: ChainView, xs: Sequence[float]) -> Iterator[tuple[float, str, bool]]:
    """The name of each version at its first point, and whether there is room for it.

    Those without room are shown where the chart is zoomed.
    """
    named, free = set[str](), 0.0
    for x, link in zip(xs, chain.links, strict=True):
        version = plain(link.point.ratio.candidate)
        if version not in named:
            named.add(version)
            yield x, version, x >= free
            free = x + _APART if x >= free else free


def _point(
    picture: Picture,
    chain: ChainView,
    link: Link,
    at: tuple[float, float],
    language: Language,
    to: Callable[[str], str],
) -> None:
    ratio, threshold, numbers = link.point.ratio, chain.threshold_pct, Numbers(language)
    within = link.level_ci95 and percents(link.level_ci95)
    change = numbers.estimate(percent(ratio.log_ratio), threshold, link.ci95_pct)
    interval = numbers.interval(link.ci95_pct, threshold)
    level = numbers.estimate(percent(link.point.level), threshold, within)
    of_level = f" ({numbers.interval(within, threshold)})" if within else ""
    said = (
        f"{ratio.at:%Y-%m-%d}, {plain(ratio.candidate)} vs. {plain(ratio.baseline)}: {change} "
        f"({interval}); {language.say('site-column-level')} {level}{of_level}"
    )
    with picture.group(title=said, href=to(ratio.campaign)):
        picture.circle("point hollow" if link.point.bridged_from else "point", *at, 4)
        if ratio.campaign in chain.outliers:
            x, y = at
            picture.path("outlier", f"M{x - 6:g} {y - 6:g}l12 12m0 -12l-12 12")


def _aa(picture: Picture, chain: ChainView, across: Scale, top: float, numbers: Numbers) -> None:
    """Draw the A/A campaigns' ratios around zero, with the band that should hold 95 % of them."""
    values = [percent(found.log_ratio) for found in chain.noise.figures]
    reach = 196 * (chain.noise.sd or 0.0)
    edge = 1.3 * max(1.0, reach, *map(abs, values))
    up = Scale(-edge, edge, top + _NOISE, top)
    picture.box("band", _LEFT, up(reach), _RIGHT, up(-reach))
    picture.rows([(up(0), "A/A 0")], _LEFT, _RIGHT)
    with picture.group("zooms"):
        for found, value in zip(chain.noise.figures, values, strict=True):
            with picture.group(title=f"A/A {found.at:%Y-%m-%d}: {numbers.change(value)}"):
                picture.circle("quiet", across(found.at.timestamp()), up(value), 3)
