"""The ratios of a chain as a model of steps: estimates of each step, with standard errors.

A campaign shows level(candidate) - level(baseline), and the level of a baseline is the mean of
earlier points (:mod:`benchlab.analysis.trend.chain`). A baseline that was never a candidate has an
unknown level of its own: here it is not bridged. So the ratios follow from the levels by
d = A @ level - B @ unmeasured, with A and B known from the chain alone. If the level is constant
except for steps at known places, level = S @ steps, the ratios follow from the steps by
d = (A @ S) @ steps - B @ unmeasured + error. The errors of campaigns are independent, as each
campaign deploys anew: weighted least squares (any textbook) give the steps with their standard
errors. The levels themselves are a random walk of those errors, which this form accounts for
exactly.

The unmeasured levels are removed first: each column keeps only what they cannot explain of it
(Frisch and Waugh 1933). A step of which nothing is left cannot be distinguished from an unmeasured
one, as when baseline and candidate become new at the same time; its variance is infinite.

The variance of a campaign is its standard error squared, and at least that of A/A campaigns, which
show what its rounds cannot; without A/A campaigns, at least the mean of the known ones. All
variances are multiplied by what the residuals show beyond them (Birge 1932), never by less than
one. Where no variance is known, the residuals alone give it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchlab.analysis.trend.chain import Chain
from benchlab.analysis.verdict.variances import Estimate, Variance
from benchlab.arrays import Array, NDArray, np, special
from benchlab.plan.versions import order

# A campaign is an outlier if its residual's p value, times the number of campaigns, is no larger.
OUTLIER_ALPHA = 0.01
# If more than one in ten seem to be outliers, the model does not fit.
_MOST_OUTLIERS = 0.1
# No throughput is known more precisely; without it equal ratios would have no error at all.
_LEAST_SD = 1e-6
# The share of a step that other campaigns have to show where one alone informs about it.
_SHOWN = 1 / 3
# In a column of length one, anything shorter than this is a rounding error.
_NOTHING = 1e-6


@dataclass(frozen=True)
class Fit:
    """A fitted model.

    Attributes:
        changes: one for each column; its variance is infinite where it cannot be estimated.
        squares: weighted sum of squared residuals; of two models the smaller fits better.
        residuals: of every campaign that counts, in its standard deviations; 0 for others.
        leverages: how far each campaign determines its own prediction, from 0 to 1.
        informs: of shape (campaigns, columns): whether a campaign adds anything about a column to
            the others.
    """

    changes: tuple[Estimate, ...]
    squares: float
    residuals: Array
    leverages: Array
    informs: NDArray[np.bool_]
    df: int


class StepModel:
    """A chain with what is known about its errors, to which steps and slopes are fitted.

    Example:
        ``model.fit([model.step(12)]).changes[0].mean`` for ``model = StepModel(chain, None)``

    Attributes:
        size: how many points it has; a column has a value for each.
        boundaries: indices of the points whose candidate differs from the one of the point before.
            A version does not change, so a level can only change there.
        counted: for each point, whether its campaign counts; outliers do not.
    """

    def __init__(
        self, chain: Chain, noise_sd: float | None, *, unchanged: str | None = None
    ) -> None:
        """Make the model of a chain.

        Args:
            noise_sd: standard deviation of A/A campaigns' log ratios; None where there are none.
            unchanged: a bridged baseline that is assumed to have the level that it was given.
        """
        self.chain = chain
        ratios = [point.ratio for point in chain.points]
        self.size = len(ratios)
        self._candidates = [order(ratio.candidate) for ratio in ratios]
        self._ratios = np.array([ratio.log_ratio for ratio in ratios])
        self._variances, self._is_scale_known = _variances(
            [ratio.standard_error for ratio in ratios], noise_sd
        )
        # The version whose level its baseline has; the links of a bridged one say nothing about it.
        self._level_of = [
            (point.ratio.baseline == unchanged and point.bridged_from) or point.ratio.baseline
            for point in chain.points
        ]
        self._links = [
            () if point.bridged_from and own == point.ratio.baseline else point.before
            for point, own in zip(chain.points, self._level_of, strict=True)
        ]
        self._of_levels = np.eye(self.size)
        for index, before in enumerate(self._links):
            if before:
                self._of_levels[index, list(before)] -= 1 / len(before)
        self._steps: dict[int, Array] = {}
        self._unmeasured = self._columns_of_unmeasured()
        self.boundaries = tuple(
            index
            for index in range(1, self.size)
            if self._candidates[index] != self._candidates[index - 1]
        )
        self._count(np.ones(self.size, dtype=bool))

    def step(self, place: int) -> Array:
        """The column of a step at one of the boundaries."""
        if place not in self._steps:
            self._steps[place] = self._of_levels[:, place:].sum(axis=1)
        return self._steps[place]

    def slope(self, begin: int, end: int) -> Array:
        """The column of a change in equal parts at every new candidate of ``begin`` .. ``end``.

        A candidate that returns keeps its level. There must be at least two candidates.
        """
        places = {name: number for number, name in enumerate(self.candidates(begin, end))}
        ramp = np.zeros(self.size)
        ramp[begin:end] = [places[name] for name in self._candidates[begin:end]]
        ramp[begin:end] /= len(places) - 1
        ramp[end:] = 1
        column: Array = self._of_levels @ ramp
        return column

    def candidates(self, begin: int, end: int) -> tuple[object, ...]:
        """The different candidates of the points ``begin`` .. ``end``, as they first appear."""
        return tuple(dict.fromkeys(self._candidates[begin:end]))

    def points_of(self, candidate: object) -> tuple[int, ...]:
        """The points of one of the candidates."""
        return tuple(index for index, name in enumerate(self._candidates) if name == candidate)

    def inside(self, begin: int, end: int) -> tuple[int, ...]:
        """The boundaries after the point ``begin`` and before the point ``end``."""
        return tuple(place for place in self.boundaries if begin < place < end)

    def is_borne_out(
        self, step: float, sides: Sequence[tuple[int, int]], informs: NDArray[np.bool_]
    ) -> bool:
        """Whether a step does not depend on one campaign alone, which may be an outlier.

        Each side, given as its points ``begin`` .. ``end``, needs two campaigns that count and
        inform about the step. If there is only one, the levels of the other campaigns have to show
        the step as well, with unmeasured steps counted as zero.
        """
        informing = [self._informing(begin, end, informs) for begin, end in sides]
        if not all(informing):
            return False
        alone = {campaigns[0] for campaigns in informing if len(campaigns) == 1}
        others = [
            [
                self.chain.points[index].level
                for index in range(begin, end)
                if self.counted[index] and index not in alone
            ]
            for begin, end in sides
        ]
        if not alone or not all(others):
            return not alone
        before, after = (float(np.median(levels)) for levels in others)
        return (after - before) / step > _SHOWN

    def fit(self, columns: Sequence[Array]) -> Fit:
        """Fit these columns, and the levels that were not measured."""
        design, lengths = self._left(columns)
        left, sizes, right = np.linalg.svd(design, full_matrices=False)
        known = sizes > _NOTHING
        left, inverse = left[:, known], right[known].T / sizes[known]
        steps = inverse @ (left.T @ self._left_of_ratios)
        residuals = self._left_of_ratios - design @ steps
        squares = float((residuals**2).sum())
        df = max(1, int(self.counted.sum()) - self._basis.shape[1] - int(known.sum()))
        scale = squares / df if not self._is_scale_known else max(1.0, squares / df)
        is_known = np.abs((inverse @ left.T @ design).diagonal() - 1) < _NOTHING
        variances = scale * (inverse**2).sum(axis=1) / lengths**2
        return Fit(
            changes=tuple(
                Estimate(float(step), Variance(float(variance), df))
                if known
                else Estimate(0.0, Variance(math.inf, df))
                for step, variance, known in zip(steps / lengths, variances, is_known, strict=True)
            ),
            squares=squares,
            residuals=residuals,
            leverages=(left**2).sum(axis=1) + (self._basis**2).sum(axis=1),
            informs=np.abs(left @ inverse.T) > _NOTHING,
            df=df,
        )

    def best_step(self, columns: Sequence[Array], places: Sequence[int]) -> tuple[int, float]:
        """The place whose step, added to these columns, explains the campaigns best.

        Returns:
            The place, the first if several are equally good, and the weighted sum of squared
            residuals with it.
        """
        beside, _ = self._left(columns)
        left, sizes, _ = np.linalg.svd(beside, full_matrices=False)
        left = left[:, sizes > _NOTHING]
        steps, _ = self._left([self.step(place) for place in places])
        steps = steps - left @ (left.T @ steps)
        ratios = self._left_of_ratios - left @ (left.T @ self._left_of_ratios)
        lengths = (steps**2).sum(axis=0)
        is_known = lengths > _NOTHING**2
        gains = np.where(is_known, (ratios @ steps) ** 2 / np.where(is_known, lengths, 1.0), 0.0)
        most = float(gains.max())
        first = int(np.argmax(gains >= most * (1 - 1e-9)))
        return places[first], float((ratios**2).sum()) - most

    def leave_outliers_out(self, columns: Sequence[Array]) -> None:
        """Count all campaigns except those that this model cannot explain.

        They are left out one by one, each time the one furthest from what the others predict, by
        the t test of deleted residuals (Cook and Weisberg 1982, section 2.2), adjusted for the
        number of campaigns. A campaign that alone determines its prediction is never an outlier.
        """
        self._count(np.ones(self.size, dtype=bool))
        for _ in range(int(_MOST_OUTLIERS * self.size)):
            fit = self.fit(columns)
            free = 1 - fit.leverages
            judged = self.counted & (free > 1e-6)
            squares = np.where(judged, fit.residuals**2 / np.where(judged, free, 1.0), 0.0)
            furthest = int(np.argmax(squares))
            others = (fit.squares - squares[furthest]) / max(1, fit.df - 1)
            if self._is_scale_known:
                others = max(1.0, others)
            distance = math.sqrt(squares[furthest] / max(others, 1e-12))
            if 2 * special.stdtr(max(1, fit.df - 1), -distance) * self.size > OUTLIER_ALPHA:
                return
            self._count(self.counted & (np.arange(self.size) != furthest))

    def _informing(self, begin: int, end: int, informs: NDArray[np.bool_]) -> list[int]:
        """Campaigns that count and inform, with a candidate or baseline among these points."""
        return [
            index
            for index in range(self.size)
            if self.counted[index]
            and informs[index]
            and any(begin <= point < end for point in (index, *self._links[index]))
        ]

    def _columns_of_unmeasured(self) -> Array:
        """One for each baseline that no earlier campaign measured: 1 where it is the baseline."""
        unmeasured = [
            None if before else order(version)
            for version, before in zip(self._level_of, self._links, strict=True)
        ]
        columns = [
            [version == baseline for version in unmeasured]
            for baseline in dict.fromkeys(unmeasured)
            if baseline is not None
        ]
        return np.array(columns, dtype=float).reshape(-1, self.size).T

    def _count(self, counted: NDArray[np.bool_]) -> None:
        """Let these campaigns count."""
        self.counted = counted
        self._weights = np.sqrt(counted / self._variances)
        # Each campaign has one baseline, so that these columns are orthogonal.
        basis = self._unmeasured * self._weights[:, None]
        lengths = np.sqrt((basis**2).sum(axis=0))
        self._basis = basis[:, lengths > 0] / lengths[lengths > 0]
        ratios = self._weights * self._ratios
        self._left_of_ratios = ratios - self._basis @ (self._basis.T @ ratios)

    def _left(self, columns: Sequence[Array]) -> tuple[Array, Array]:
        """Weighted columns, scaled to length one, less what unmeasured levels explain of them.

        And their lengths before scaling.
        """
        weighted = np.array(columns).reshape(len(columns), self.size).T * self._weights[:, None]
        lengths = np.sqrt((weighted**2).sum(axis=0))
        lengths = np.where(lengths > 0, lengths, 1.0)
        weighted = weighted / lengths
        return weighted - self._basis @ (self._basis.T @ weighted), lengths


def _variances(errors: Sequence[float | None], noise_sd: float | None) -> tuple[Array, bool]:
    """The variance of each campaign, and whether it is known; if not, all are 1."""
    known = [error**2 for error in errors if error is not None]
    least = noise_sd**2 if noise_sd is not None else sum(known) / max(1, len(known))
    if noise_sd is None and not known:
        return np.ones(len(errors)), False
    own = [max(least, 0.0 if error is None else error**2, _LEAST_SD**2) for error in errors]
    return np.array(own), True
