"""What people's judgements of findings say about trust: how many are right, and any bias.

Of the findings that people have judged, the share that was right has an exact interval. False ones
should go either way as often as the rule lets them: half and half, and with ``design: watch`` as
its levels for worse and better are, because slower is flagged sooner than faster. A bias, such as a
baseline that always has the better host, shows as false findings that mostly go one way.

Who judges chooses what is judged: where improvements are left alone, no test can tell that from a
bias. So it is known how many of either direction nobody has judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from benchlab.analysis.error_rates.resampling import share_ci95
from benchlab.analysis.trend.watch import RULE
from benchlab.arrays import Array, np
from benchlab.results.findings import Design, Judgement

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Trust:
    """How far findings can be trusted, by people's judgements.

    Attributes:
        judged, right: how many findings.
        right_ci95: of the share that is right; None where nothing is judged.
        not_judged: how many, by direction.
        false_worse, false_better: false findings, by direction.
        p: the chance of false findings as unevenly divided, two-sided, if nothing is biased; None
            if there are so few that even the most uneven division would not be significant.
        expected_worse: of the false findings, if nothing is biased.
    """

    judged: int
    right: int
    right_ci95: tuple[float, float] | None
    not_judged: Counter[str]
    false_worse: int
    false_better: int
    p: float | None
    expected_worse: float


def trust(judgements: Iterable[Judgement]) -> Trust:
    """What all judgements say together.

    Example:
        ``trust(6 * [Judgement("noise", "worse", "fixed")]).p`` is 0.03125.
    """
    found = list(judgements)
    judged = [one for one in found if one.state != "new"]
    false = [one for one in judged if one.state == "noise"]
    right, worse = len(judged) - len(false), sum(one.direction == "worse" for one in false)
    shares = [worse_share(one.design) for one in false]
    return Trust(
        judged=len(judged),
        right=right,
        right_ci95=share_ci95(right, len(judged)) if judged else None,
        not_judged=Counter(one.direction for one in found if one.state == "new"),
        false_worse=worse,
        false_better=len(false) - worse,
        p=_p(worse, shares),
        expected_worse=sum(shares),
    )


def worse_share(design: Design) -> float:
    """The share of false findings that is worse where nothing is biased."""
    return RULE.worse / (RULE.worse + RULE.better) if design == "watch" else 0.5


def _p(worse: int, shares: list[float]) -> float | None:
    """Of so many worse ones or of what is no likelier: exact, of a sum of binomials."""
    chances: Array = np.ones(1)
    for share in shares:
        chances = np.convolve(chances, (1 - share, share))
    # Equally likely ones differ by their last digits.
    as_unlikely = [float(chances[chances <= one * (1 + 1e-9)].sum()) for one in chances]
    return min(1.0, as_unlikely[worse]) if min(as_unlikely) < SIGNIFICANT else None
