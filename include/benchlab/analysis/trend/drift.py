"""Slow drift: a change over many releases, each too small to be a change point.

A change in equal parts at every new candidate since the last change point is fitted to the
campaigns (:mod:`benchlab.analysis.trend.step_model`). It is a drift if its sum is at least the
threshold, its 99 % interval excludes zero, and no single step explains the campaigns better. A
candidate that comes back is not new, and keeps its level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.analysis.trend.chain import Chain
from benchlab.analysis.trend.change_points import MIN_CANDIDATES, MIN_POINTS, ChangePoint
from benchlab.analysis.trend.step_model import StepModel
from benchlab.analysis.verdict.paired import percent

ALPHA = 0.01


@dataclass(frozen=True)
class Drift:
    """A change over many releases, none of which explains it.

    Attributes:
        first, last: indices of the points: the first since the last change point, and the last
            of the newest candidate.
        oldest, newest: the first candidate since then and the last that was new.
        change: ln, over all of them.
        ci99: of the change.
        links: how many different candidates there are.
        p: p value of the test that there is none.
    """

    first: int
    last: int
    oldest: str
    newest: str
    change: float
    ci99: tuple[float, float]
    links: int
    p: float


def find(
    chain: Chain,
    change_points: Sequence[ChangePoint],
    threshold_pct: float,
    noise_sd: float | None = None,
) -> Drift | None:
    """The drift since the last change point; None where there is none.

    Also None with fewer than ``MIN_POINTS`` points in the chain, or ``MIN_CANDIDATES`` candidates
    since the change point.

    Args:
        change_points: of the same chain.
        threshold_pct: the smallest change that is called one, in percent.
        noise_sd: standard deviation of A/A campaigns' log ratios; None where there are none.

    Example:
        ``find(made, change_points.find(made, 2.0), 2.0)`` for ``made = chain(ratios)``
    """
    model = StepModel(chain, noise_sd)
    first = max((point.index for point in change_points), default=0)
    places = model.inside(first, model.size)
    candidates = model.candidates(first, model.size)
    if model.size < MIN_POINTS or len(candidates) < MIN_CANDIDATES:
        return None
    steps = [model.step(point.index) for point in change_points]
    slope = model.slope(first, model.size)
    model.leave_outliers_out([*steps, slope])
    fit = model.fit([*steps, slope])
    found = fit.changes[-1]
    _, by_one_step = model.best_step(steps, places)
    is_large = abs(percent(found.mean)) >= threshold_pct
    if found.p_value >= ALPHA or not is_large or by_one_step <= fit.squares:
        return None
    last = max(model.points_of(candidates[-1]))
    return Drift(
        first=first,
        last=last,
        oldest=chain.points[first].ratio.candidate,
        newest=chain.points[last].ratio.candidate,
        change=found.mean,
        ci99=found.interval(0.99),
        links=len(candidates),
        p=found.p_value,
    )
