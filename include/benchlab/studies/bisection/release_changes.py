"""What changed between releases, from campaigns that compare them in pairs.

An estimate is the logarithm of a ratio, so estimates of pairs that meet add up: the change from A
to C is the change from A to B plus the change from B to C. Campaigns are independent, so variances
add, with degrees of freedom after Satterthwaite (1946), as in
:mod:`benchlab.analysis.verdict.variances`.
"""

from __future__ import annotations

import functools
import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from benchlab.analysis.verdict.decision import Verdict
from benchlab.analysis.verdict.estimates import Basis
from benchlab.analysis.verdict.variances import Estimate, Variance, percent, percents

CHANGES: tuple[Verdict, Verdict] = ("regression", "improvement")
MIRRORED: Mapping[Verdict, Verdict] = {"regression": "improvement", "improvement": "regression"}


@dataclass(frozen=True)
class PairComparison:
    """Two releases as a campaign has compared them.

    Attributes:
        estimate: of the log ratio candidate / baseline; None where there is none.
        basis: what the estimate knows of how deployments differ.
    """

    baseline: str
    candidate: str
    verdict: Verdict
    estimate: Estimate | None
    campaign: str
    reasons: tuple[str, ...] = ()
    basis: Basis = "prior"

    def turned(self) -> PairComparison:
        """The same evidence with the sides exchanged."""
        found = self.estimate
        return replace(
            self,
            baseline=self.candidate,
            candidate=self.baseline,
            verdict=MIRRORED.get(self.verdict, self.verdict),
            estimate=Estimate(-found.mean, found.variance) if found else None,
        )


@dataclass(frozen=True)
class MeasuredStep:
    """What changed between two releases: a sum of comparisons that have an estimate.

    Attributes:
        terms: the comparisons with their factors: one that is part of two changes must not count
            twice.

    Example:
        ``(MeasuredStep({b_against_a: 1}) + MeasuredStep({c_against_b: 1})).pct`` is the change
        from A to C in percent.
    """

    terms: Mapping[PairComparison, int]

    def __add__(self, other: MeasuredStep) -> MeasuredStep:
        terms = Counter(self.terms)
        terms.update(other.terms)
        return MeasuredStep({key: factor for key, factor in terms.items() if factor})

    def __neg__(self) -> MeasuredStep:
        return MeasuredStep({key: -factor for key, factor in self.terms.items()})

    def __sub__(self, other: MeasuredStep) -> MeasuredStep:
        return self + -other

    @functools.cached_property
    def estimate(self) -> Estimate:
        """As a logarithm."""
        mean, variance = 0.0, Variance(0.0, math.inf)
        for comparison, factor in self.terms.items():
            if found := comparison.estimate:
                mean += factor * found.mean
                variance += Variance(factor**2 * found.variance.value, found.variance.df)
        return Estimate(mean, variance)

    @property
    def pct(self) -> float:
        """In percent."""
        return percent(self.estimate.mean)

    @property
    def ci95_pct(self) -> tuple[float, float]:
        """Its 95 % interval, in percent."""
        return percents(self.estimate.interval(0.95))

    @property
    def campaigns(self) -> tuple[str, ...]:
        """The campaigns that measured it."""
        return tuple(comparison.campaign for comparison in self.terms)

    @property
    def direction(self) -> int:
        """1 for more, -1 for less; 0 where the 95 % interval includes zero."""
        low, high = self.estimate.interval(0.95)
        return (low > 0) - (high < 0)

    def shows(self, direction: int, threshold_pct: float) -> bool:
        """Whether it is a change in this direction that reaches the threshold."""
        return self.direction == direction and abs(self.pct) >= threshold_pct


class Network:
    """Comparisons as connections between releases.

    Args:
        known: each pair of releases once.
    """

    def __init__(self, known: Iterable[PairComparison]) -> None:
        self.comparisons = {(pair.baseline, pair.candidate): pair for pair in known}
        self._steps: dict[str, dict[str, MeasuredStep]] = {}
        for (baseline, candidate), pair in self.comparisons.items():
            if pair.estimate is not None and pair.verdict != "unstable":
                change = MeasuredStep({pair: 1})
                self._steps.setdefault(baseline, {})[candidate] = change
                self._steps.setdefault(candidate, {})[baseline] = -change
        self.changes_from = functools.cache(self._changes_from)

    def _changes_from(self, start: str) -> Mapping[str, MeasuredStep]:
        """The change to each release that comparisons lead to, by way of the fewest of them."""
        found = {start: MeasuredStep({})}
        waiting = deque([start])
        while waiting:
            here = waiting.popleft()
            for there, step in self._steps.get(here, {}).items():
                if there not in found:
                    found[there] = found[here] + step
                    waiting.append(there)
        return found
