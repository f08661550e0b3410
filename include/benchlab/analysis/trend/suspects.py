"""Where a level changed as a baseline that nobody measured became new: by which, nobody can tell.

A baseline that was never a candidate has an unknown level (:mod:`benchlab.analysis.trend
.step_model`). If it is used first in the very campaign in which a candidate is new, the two changes
are one figure: what the candidate changed by, less what the baseline changed by. Such a place is no
change point, but it is not nothing either. It is suspected if the candidate would be a change point
had the baseline not changed, and the other campaigns contradict neither that nor the opposite.

One campaign tells them apart: the new candidate against the baseline of before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.analysis.trend.chain import Chain
from benchlab.analysis.trend.change_points import ALPHA, MIN_POINTS, ChangePoint
from benchlab.analysis.trend.step_model import StepModel
from benchlab.analysis.verdict.paired import percent
from benchlab.plan.versions import order


@dataclass(frozen=True)
class Suspect:
    """A change of which it is not known whether it is the candidate's or its baseline's.

    Attributes:
        index: of the first point after it.
        change: ln, what the candidate has changed by if the baseline has not.
        ci95: of that.
        campaign, candidate: of the first point after it.
        before, previous: campaign and candidate of the last point before it.
        baseline: the unmeasured one that became new.
        bridged_from: the version whose level it was given.
        linking: the baseline to compare the candidate with, to tell them apart.
    """

    index: int
    change: float
    ci95: tuple[float, float]
    campaign: str
    candidate: str
    before: str
    previous: str
    baseline: str
    bridged_from: str
    linking: str


def find(
    chain: Chain,
    changes: Sequence[ChangePoint],
    threshold_pct: float,
    noise_sd: float | None = None,
) -> tuple[Suspect, ...]:
    """The suspects of a chain, by time; none with fewer points than change points need.

    Args:
        changes: its change points.
        threshold_pct, noise_sd: as change points were looked for.

    Example:
        ``find(chain, changes, 2.0)[0].linking``
    """
    if len(chain.points) < MIN_POINTS:
        return ()
    places = {found.index for found in changes}
    suspects = (
        _suspect(chain, place, sorted(places), threshold_pct, noise_sd)
        for place in _coincidences(chain)
        if place not in places
    )
    return tuple(found for found in suspects if found is not None)


def _coincidences(chain: Chain) -> list[int]:
    """The points at which a candidate and a bridged baseline are new at the same time."""
    used: set[object] = set()
    found = []
    for index, point in enumerate(chain.points):
        names = order(point.ratio.candidate), order(point.ratio.baseline)
        if index and point.bridged_from and used.isdisjoint(names):
            found.append(index)
        used.update(names)
    return found


def _suspect(
    chain: Chain, place: int, places: Sequence[int], threshold_pct: float, noise_sd: float | None
) -> Suspect | None:
    before, after = chain.points[place - 1].ratio, chain.points[place].ratio
    bridged_from = chain.points[place].bridged_from
    assert bridged_from is not None  # noqa: S101 - a coincidence
    # As if the baseline had the level that it was given, and the others were unknown as before.
    model = StepModel(chain, noise_sd, unchanged=after.baseline)
    columns = [model.step(other) for other in (place, *places)]
    model.leave_outliers_out(columns)
    fit = model.fit(columns)
    step = fit.changes[0]
    edges = [0, *places, model.size]
    begin = max(edge for edge in edges if edge < place)
    end = min(edge for edge in edges if edge > place)
    sides = ((begin, place), (place, end))
    if (
        step.p_value * len(model.boundaries) >= ALPHA
        or abs(percent(step.mean)) < threshold_pct
        or not model.is_borne_out(step.mean, sides, fit.informs[:, 0])
        or _is_known(StepModel(chain, noise_sd), (place, *places), step.mean)
    ):
        return None
    return Suspect(
        *(place, step.mean, step.interval(0.95), after.campaign, after.candidate),
        *(before.campaign, before.candidate, after.baseline, bridged_from, before.baseline),
    )


def _is_known(model: StepModel, places: Sequence[int], change: float) -> bool:
    """Whether the other campaigns say that the step is none, or that it is this change."""
    columns = [model.step(place) for place in places]
    model.leave_outliers_out(columns)
    low, high = model.fit(columns).changes[0].interval(0.95)
    return not (low <= 0 <= high and low <= change <= high)
