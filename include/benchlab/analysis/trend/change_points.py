"""Where the level of a chain changes for good: between which two versions, and by how much.

1. E-divisive proposes places on the levels (:mod:`benchlab.analysis.trend.e_divisive`).
2. Each is moved to the change of candidate that explains the campaigns best.
3. It is a change point if its step, estimated from the campaigns themselves together with all the
   others (:mod:`benchlab.analysis.trend.step_model`), is significant for the number of places where
   it could have been (Bonferroni), is at least the threshold, and does not depend on one campaign
   alone, which may be an outlier. A step that cannot be distinguished from the step of an
   unmeasured baseline is never significant. The least certain place that fails is taken out, and
   the others are judged again.
4. Campaigns that no step explains are outliers and do not count.
5. Where a steady change over four candidates or more explains the campaigns better than the step
   does, the step has to pass all that in addition to the steady change. Otherwise it is drift, cut
   in steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.analysis.trend.chain import Chain
from benchlab.analysis.trend.e_divisive import propose
from benchlab.analysis.trend.step_model import StepModel
from benchlab.analysis.verdict.paired import Estimate, percent
from benchlab.arrays import np

MIN_POINTS = 10
ALPHA = 0.01
MIN_CANDIDATES = 4
"""A drift spans at least so many versions."""


@dataclass(frozen=True)
class ChangePoint:
    """A lasting change of the level.

    Attributes:
        index: of the first point after it.
        change: ln, the level after it less the level before it.
        ci95: of the change.
        p: p value, adjusted for the number of places where it could have been.
        campaign, candidate: of the first point after it.
        before, previous: campaign and candidate of the last point before it.
        outliers: campaigns of the chain that did not count.
    """

    index: int
    change: float
    ci95: tuple[float, float]
    p: float
    campaign: str
    before: str
    candidate: str
    previous: str
    outliers: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Judged:
    place: int
    step: Estimate
    p: float
    holds: bool


def find(
    chain: Chain, threshold_pct: float, noise_sd: float | None = None
) -> tuple[ChangePoint, ...]:
    """The change points of a chain, by time; none with fewer than :data:`MIN_POINTS` points.

    Args:
        threshold_pct: the smallest change that is called one, in percent.
        noise_sd: standard deviation of A/A campaigns' log ratios; None where there are none.

    Example:
        ``find(chain(ratios), 2.0)[0].candidate``
    """
    model = StepModel(chain, noise_sd)
    if model.size < MIN_POINTS:
        return ()
    proposed = propose(np.array([point.level for point in chain.points]))
    if not model.boundaries:
        return ()
    nearest = {min(model.boundaries, key=lambda b: abs(b - place)) for place in proposed}
    places = _moved(model, sorted(nearest))
    while places:
        model.leave_outliers_out([model.step(place) for place in places])
        places = _moved(model, places)
        judged = _judge(model, places, threshold_pct)
        failed = [place for place in judged if not place.holds]
        if not failed:
            return tuple(_change_point(model, place) for place in judged)
        worst = max(failed, key=lambda place: place.p)
        places.remove(worst.place)
    return ()


def _moved(model: StepModel, places: Sequence[int]) -> list[int]:
    """Each place where, between its neighbours, it explains the campaigns best."""
    found = list(places)
    for _ in range(5):  # each pass explains no less; more passes were never needed
        before = list(found)
        for index in range(len(found)):
            edges = [0, *found, model.size]
            others = [model.step(place) for place in found if place != found[index]]
            possible = model.inside(edges[index], edges[index + 2])
            found[index], _ = model.best_step(others, possible)
        if found == before:
            break
    return found


def _judge(model: StepModel, places: Sequence[int], threshold_pct: float) -> list[_Judged]:
    columns = [model.step(place) for place in places]
    fit = model.fit(columns)
    edges = [0, *places, model.size]
    judged = []
    for index, place in enumerate(places):
        begin, end = edges[index], edges[index + 2]
        step = fit.changes[index]
        if len(model.candidates(begin, end)) >= MIN_CANDIDATES:
            slope = model.slope(begin, end)
            if model.fit([*columns[:index], *columns[index + 1 :], slope]).squares < fit.squares:
                step = model.fit([*columns, slope]).changes[index]
        p = min(1.0, step.p_value * len(model.boundaries))
        is_large = abs(percent(step.mean)) >= threshold_pct
        sides = ((begin, place), (place, end))
        holds = (
            p < ALPHA and is_large and model.is_borne_out(step.mean, sides, fit.informs[:, index])
        )
        judged.append(_Judged(place, step, p, holds))
    return judged


def _change_point(model: StepModel, found: _Judged) -> ChangePoint:
    points = model.chain.points
    before, after = points[found.place - 1].ratio, points[found.place].ratio
    return ChangePoint(
        index=found.place,
        change=found.step.mean,
        ci95=found.step.interval(0.95),
        p=found.p,
        campaign=after.campaign,
        before=before.campaign,
        candidate=after.candidate,
        previous=before.candidate,
        outliers=tuple(
            point.ratio.campaign
            for point, counted in zip(points, model.counted, strict=True)
            if not counted
        ),
    )
