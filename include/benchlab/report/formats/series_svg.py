"""The series of a pair of trials as a small picture within a page: three strips above each other.

Throughput, then CPU and disk of the busiest host; both sides in each, in the page's own colours.
No library draws it: hundreds of them belong to one page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from markupsafe import Markup, escape

from benchlab.plan.report_type import SIDES
from benchlab.report.model.report import Report
from benchlab.report.model.series import PairSeries, Points, TrialSeries

_WIDTH, _LEFT, _GAP = 300, 34, 6
# Height of each strip in pixels.
_STRIPS: tuple[tuple[str, int, Callable[[TrialSeries], Points]], ...] = (
    ("throughput", 56, lambda one: one.throughput),
    ("cpu", 22, lambda one: one.cpu),
    ("disk", 22, lambda one: one.disk),
)
_HEIGHT = sum(height + _GAP for _, height, _ in _STRIPS)


def draw(report: Report, metric: str, pair: PairSeries) -> Markup:
    """The picture with its caption; lines have the classes of their sides.

    Args:
        metric: the name of the throughput.
    """
    say = report.language.say
    caption = say(
        "series-caption", threads=str(pair.threads), round=pair.round, attempt=pair.attempt
    )
    inside = "".join(_strips(report, metric, pair))
    # Safe: numbers of ours, and texts that are escaped.
    return Markup(
        f'<figure><svg role="img" aria-label="{escape(caption)}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}">{inside}</svg>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _strips(report: Report, metric: str, pair: PairSeries) -> Iterator[str]:
    top = 0
    for name, height, points_of in _STRIPS:
        lines = {side: points_of(pair.sides[side]) for side in SIDES if side in pair.sides}
        known = [value for line in lines.values() for value in line if value is not None]
        most = max(known, default=0.0) if name == "throughput" else 1.0
        foot = top + height
        label = metric if name == "throughput" else report.language.say(f"series-{name}")
        yield f'<path d="M{_LEFT} {foot}H{_WIDTH}"/><text y="{foot}">{escape(label)}</text>'
        if name == "throughput" and known:
            yield f'<text y="{top + 9}">{escape(report.numbers.whole(most))}</text>'
        for side, line in lines.items():
            if most > 0 and (path := _path(line, most, top, height)):
                yield f'<path class="{side}" d="{path}"/>'
        top = foot + _GAP


def _path(line: Points, most: float, top: int, height: int) -> str:
    """A line through the points that are known, with a gap where one is not."""
    step = (_WIDTH - _LEFT) / max(len(line), 1)
    path, drawn = [], False
    for number, value in enumerate(line):
        if value is not None:
            x = round(_LEFT + (number + 0.5) * step)
            y = round(top + height * (1 - min(max(value / most, 0), 1)), 1)
            path.append(f"{'L' if drawn else 'M'}{x} {y:g}")
        drawn = value is not None
    return "".join(path)
