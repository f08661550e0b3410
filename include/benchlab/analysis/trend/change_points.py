"""Finds where the level of a chain changes for good: between which versions, and by how much.

1. E-divisive proposes places on the levels.
2. Each is moved to the change of candidate that explains the campaigns best.
3. It is a change point if its step, estimated from the campaigns themselves together with all the
   others (:mod:`benchlab.analysis.trend.step_model`), is significant for the number of places where
   it could have been (Bonferroni), is at least the threshold, and does not depend on one campaign
   alone, which may be an outlier. A step that cannot be distinguished from the step of an
   unmeasured baseline is never significant. The least certain place that fails is removed, and the
   others are judged again.
4. Campaigns that no step explains are outliers and do not count.
5. Where a steady change over four candidates or more explains the campaigns better than the step
   does, the step has to pass all of this together with the steady change. Otherwise it is drift,
   cut into steps.

**Suspects.** A baseline that was never a candidate has an unknown level. If it is first used in the
same campaign as a new candidate, the two changes are one figure: the candidate's change less the
baseline's. Such a place is no change point, but may hide one. It is a suspect if the candidate
would be a change point had the baseline not changed, and the other campaigns contradict neither
that nor the opposite. One campaign tells them apart: the new candidate against the previous
baseline.

**Slow drift** is a change over many releases, each too small to be a change point. A change in
equal parts at every new candidate since the last change point is fitted to the campaigns. It is a
drift if its sum is at least the threshold, its 99 % interval excludes zero, and no single step
explains the campaigns better. A candidate that returns is not new, and keeps its level.

**E-divisive** (Matteson and James 2014) finds where the distribution of a series changes.

Among all pairs of neighbouring stretches that begin where the series does, with m and n values, it
takes the pair that maximises the energy statistic

    Q = mn / (m + n) * (2 * mean |x - y| - mean |x - x'| - mean |y - y'|)

(their equations 5 and 7, with exponent 1; means over all pairs of values between and within). The
second stretch may end before the series does, so that a change that is later reverted is found as
well. Each side of the place is searched again in the same way.

They test Q by permutations; here a t test decides whether two stretches differ, as in Hunter
(Fleming and others 2023; Apache Otava). Hunter tests everything to the left and right of the place;
here it is the two stretches of Q, because a reverted change would be missed otherwise. A proposed
place is not yet a change point: it was chosen for its Q, and the values may depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.analysis.trend.chain import Chain
from benchlab.analysis.trend.step_model import StepModel
from benchlab.analysis.verdict.variances import Estimate, percent
from benchlab.arrays import Array, np, special
from benchlab.plan.versions import order

MIN_POINTS = 10
ALPHA = 0.01
MIN_CANDIDATES = 4
"""A drift spans at least this many versions."""


@dataclass(frozen=True)
class ChangePoint:
    """A lasting change of the level.

    Attributes:
        index: of the first point after it.
        change: ln, the level after it less the level before it.
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

    Example:
        ``find(chain(ratios), 2.0)[0].candidate``

    Args:
        threshold_pct: the smallest change that is called one, in percent.
        noise_sd: standard deviation of A/A campaigns' log ratios; None where there are none.
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
    """Move each place, between its neighbours, to where it explains the campaigns best."""
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


@dataclass(frozen=True)
class Suspect:
    """A change that may be the candidate's or its baseline's.

    Attributes:
        index, campaign, candidate, before, previous: as in :class:`ChangePoint`.
        change: ln, what the candidate has changed by if the baseline has not.
        baseline: the new, unmeasured one.
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


def find_suspects(
    chain: Chain,
    changes: Sequence[ChangePoint],
    threshold_pct: float,
    noise_sd: float | None = None,
) -> tuple[Suspect, ...]:
    """The suspects of a chain, by time; none with fewer than :data:`MIN_POINTS` points.

    Example:
        ``find_suspects(chain, find(chain, 2.0), 2.0)[0].linking``

    Args:
        changes: its change points.
        threshold_pct, noise_sd: as given to :func:`find`.
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
    # As if this baseline had the level that it was given; other bridged ones stay unknown.
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
    """Whether the other campaigns rule out either that there is no step, or that it is this one."""
    columns = [model.step(place) for place in places]
    model.leave_outliers_out(columns)
    low, high = model.fit(columns).changes[0].interval(0.95)
    return not (low <= 0 <= high and low <= change <= high)


@dataclass(frozen=True)
class Drift:
    """A change over many releases, none of which explains it alone.

    Attributes:
        first, last: indices of the points: the first since the last change point, and the last
            of the newest candidate.
        oldest, newest: the first candidate since then and the last that was new.
        change: ln, over all of them.
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


def find_drift(
    chain: Chain,
    change_points: Sequence[ChangePoint],
    threshold_pct: float,
    noise_sd: float | None = None,
) -> Drift | None:
    """The drift since the last change point; None where there is none.

    Also None with fewer than ``MIN_POINTS`` points in the chain, or ``MIN_CANDIDATES`` candidates
    since the change point.

    Example:
        ``find_drift(made, find(made, 2.0), 2.0)`` for ``made = chain(ratios)``

    Args:
        change_points: of the same chain.
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


# E-divisive

_PROPOSED = 0.001


def propose(values: Array, alpha: float = _PROPOSED) -> tuple[int, ...]:
    """Where E-divisive finds changes: indices of the first values after each, in order.

    Example:
        ``propose(np.array([0.0, 0.001, -0.001, 0.0, 0.1, 0.101, 0.099, 0.1]))`` is ``(4,)``.

    Args:
        values: of shape (points,), by time.
        alpha: of the t test of each place.
    """
    places: list[int] = []
    searched = [(0, len(values))]
    while searched:
        begin, end = searched.pop()
        # With two values, one on each side, nothing shows how they scatter.
        if end - begin < 3:
            continue
        place, until = split(values[begin:end])
        if _p_value(values[begin : begin + place], values[begin + place : begin + until]) <= alpha:
            places.append(begin + place)
            searched += [(begin, begin + place), (begin + place, end)]
    return tuple(sorted(places))


def split(values: Array) -> tuple[int, int]:
    """Where the second stretch of the best pair begins, and where it ends.

    Example:
        ``split(np.array([0, 0, 0, 1, 1]))`` is ``(3, 5)``.

    Args:
        values: two at least.
    """
    size = len(values)
    sums = np.zeros((size + 1, size + 1))
    sums[1:, 1:] = np.abs(values[:, None] - values[None, :]).cumsum(axis=0).cumsum(axis=1)
    of_first = np.diagonal(sums)
    place, until = np.arange(1, size)[:, None], np.arange(2, size + 1)[None, :]
    # Sums over pairs of values, each pair once: in both stretches, in the first, in the second.
    both, first = of_first[2:][None, :] / 2, of_first[1:size][:, None] / 2
    second = both + first - sums[1:size, 2:]
    m, n = place, np.maximum(until - place, 1)
    between = 2 / (m + n) * (both - first - second)
    within_first = 2 * n / (m + n) / np.maximum(m - 1, 1) * first
    within_second = 2 * m / (m + n) / np.maximum(n - 1, 1) * second
    q = np.where(until > place, between - within_first - within_second, -np.inf)
    row, column = np.unravel_index(int(np.argmax(q)), q.shape)
    return int(row) + 1, int(column) + 2


def _p_value(before: Array, after: Array) -> float:
    """The p value of Student's t test of two samples with equal variances."""
    df = len(before) + len(after) - 2
    difference = abs(float(after.mean() - before.mean()))
    if df == 0 or difference == 0:
        return 1.0
    squares = len(before) * float(before.var()) + len(after) * float(after.var())
    error = math.sqrt(squares / df * (1 / len(before) + 1 / len(after)))
    return float(2 * special.stdtr(df, -difference / error)) if error else 0.0
