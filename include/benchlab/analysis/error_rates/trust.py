"""What people's judgements of findings say about trust: how many are right, and any bias.

Of the findings that people have judged, the share that is right has an exact interval. False ones
should go either way as often as the rule lets them: half and half, and with ``design: watch`` as
its levels for worse and better are, because slower is flagged sooner than faster. A bias, such as a
baseline that always has the better host, shows as false findings that mostly go one way.

Who judges chooses what is judged: where improvements are left alone, no test can tell that from a
bias. So it is known how many of either direction nobody has judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchlab.analysis.error_rates.resampling import share_ci95
from benchlab.analysis.trend.watch import RULE
from benchlab.arrays import Array, np
from benchlab.results.findings import Direction, Judgement

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Trust:
    """How far findings can be trusted, by people's judgements.

    Attributes:
        judged, right: how many findings.
        right_ci95: of the share that is right; None where nothing is judged.
        waiting: how many nobody has judged, by direction.
        false: how many are false, by direction.
        expected_worse: of the false ones, if nothing is biased.
        p: the chance of false findings as unevenly divided, two-sided, if nothing is biased; None
            if there are so few that even the most uneven division would not be significant.
    """

    judged: int
    right: int
    right_ci95: tuple[float, float] | None
    waiting: Counter[Direction]
    false: Counter[Direction]
    expected_worse: float
    p: float | None


def trust(judgements: Iterable[Judgement]) -> Trust:
    """What all judgements say together.

    Example:
        ``trust(6 * [Judgement("r", "tpcc", "worse", "fixed", "noise")]).p`` is 0.03125.
    """
    found = list(judgements)
    false = [one for one in found if one.state == "noise"]
    waiting = Counter(one.direction for one in found if one.state == "new")
    judged = len(found) - waiting.total()
    right, of = judged - len(false), Counter(one.direction for one in false)
    watched = RULE.worse / (RULE.worse + RULE.better)
    shares = [watched if one.design == "watch" else 0.5 for one in false]
    interval = share_ci95(right, judged) if judged else None
    p = _p(of["worse"], shares)
    return Trust(judged, right, interval, waiting, of, sum(shares), p)


def _p(worse: int, shares: Sequence[float]) -> float | None:
    """Of so many worse ones or of what is no likelier: exact, of a sum of binomials."""
    chances: Array = np.ones(1)
    for share in shares:
        chances = np.convolve(chances, (1 - share, share))
    # Equally likely ones differ by their last digits.
    as_unlikely = [float(chances[chances <= one * (1 + 1e-9)].sum()) for one in chances]
    return min(1.0, as_unlikely[worse]) if min(as_unlikely) < SIGNIFICANT else None
