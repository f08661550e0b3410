"""Counts that do not vary, or that one side never has: compared exactly, without a statistic.

How many rows a statement reads or writes follows from its text, its plan and its data. All trials
of a side then show one value, and a variance of zero says nothing of what another deployment would
show. What is left is how finely such a count can be read: the servers' counters are read while
queries are under way.

Of something that one side never does there is no ratio. If the other side does it in every trial,
about as often in each, the sides differ all the same: transactions that commit in one phase send no
Commit request, others send one or two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchlab.analysis.verdict.estimates import LEAST_ROUNDS
from benchlab.arrays import Array, np

RESOLUTION = 5e-4
"""Half of the range, as a share, within which all values of a side are one: some queries under way
of the ten thousand between two readings."""
ABOUT_AS_OFTEN = 2.0
"""The most by which the trials of a side may differ, as a factor, where the other one has none."""
FINEST = 2 * RESOLUTION
"""The smallest change, as a logarithm, that two such values show."""


@dataclass(frozen=True)
class Exact:
    """A count that is one value on each side, or none on one of them.

    Attributes:
        rounds: in how many every thread count has a figure on both sides.
        before, after: the values of baseline and candidate, means over thread counts.
        change: mean over thread counts of ln(candidate / baseline); infinite where the baseline
            has none, or the candidate.
    """

    rounds: int
    before: float
    after: float
    change: float

    @property
    def differs(self) -> bool:
        """Whether the sides differ by more than the counters can be read."""
        return abs(self.change) > FINEST


def exact(values: Array) -> Exact | None:
    """What a count that does not vary differs by; None where it varies on a side and both have it.

    Fewer than :data:`LEAST_ROUNDS` complete rounds do not show that it does not.

    Args:
        values: of shape (rounds, threads, 2), NaN where missing.

    Example:
        ``exact(np.array(3 * [[[1.0, 3.0]]])).after`` is 3.0.
    """
    finite = np.isfinite(values)
    rounds = int(finite.all(axis=(1, 2)).sum())
    if rounds < LEAST_ROUNDS:
        return None
    low = np.where(finite, values, np.inf).min(axis=0)
    high = np.where(finite, values, -np.inf).max(axis=0)
    varies = (high - low > RESOLUTION * (high + low)).any(axis=0)
    for varying, other in ((0, 1), (1, 0)):
        if varies[varying] and not (
            (high[:, other] == 0).all()
            and (high[:, varying] <= ABOUT_AS_OFTEN * low[:, varying]).all()
        ):
            return None
    middle = (high + low) / 2
    before, after = middle.mean(axis=0).tolist()
    if (middle == 0).any():
        # Of some thread counts there are none: comparable only if that is so of all or of a side.
        none = (middle == 0).all(axis=0).tolist()
        if not any(none) or (middle[:, [side for side in (0, 1) if not none[side]]] == 0).any():
            return None
        change = 0.0 if all(none) else math.inf if none[0] else -math.inf
        return Exact(rounds, before, after, change)
    return Exact(rounds, before, after, float(np.log(middle[:, 1] / middle[:, 0]).mean()))
