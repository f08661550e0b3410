"""What changed between releases, by campaigns that compare them in pairs.

An estimate is the logarithm of a ratio, so that those of pairs that meet add up: the change from A
to C is that from A to B and that from B to C. Campaigns are independent, so variances add, with
degrees of freedom after Satterthwaite (1946), as in :mod:`benchlab.analysis.verdict.paired`.
"""

from __future__ import annotations

import functools
import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from benchlab.analysis.verdict.compare import Scope
from benchlab.analysis.verdict.decision import Verdict
from benchlab.analysis.verdict.paired import Estimate, Variance, percent

CHANGES: tuple[Verdict, Verdict] = ("regression", "improvement")
MIRRORED: Mapping[Verdict, Verdict] = {"regression": "improvement", "improvement": "regression"}


@dataclass(frozen=True)
class PairComparison:
    """Two releases as a campaign has compared them.

    Attributes:
        estimate: of the log ratio candidate / baseline; None where there is none.
        reasons: why the verdict is what it is, as sentences.
        scope: whether the verdict holds for the releases, or for the two deployments only.
    """

    baseline: str
    candidate: str
    verdict: Verdict
    estimate: Estimate | None
    campaign: str
    reasons: tuple[str, ...] = ()
    scope: Scope = "this deployment"

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
    """What changed between two releases: a sum of comparisons, each with a factor.

    Kept as a sum, so that a comparison that is in two changes is not taken for two.
    """

    terms: Mapping[PairComparison, int]

    @classmethod
    def from_comparison(cls, comparison: PairComparison) -> MeasuredStep:
        """That of one comparison, which has an estimate."""
        return cls({comparison: 1})

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
        parts = [(each.estimate, f) for each, f in self.terms.items() if each.estimate]
        variance = Variance(0.0, math.inf)
        for part, factor in parts:
            variance += Variance(factor**2 * part.variance.value, part.variance.df)
        return Estimate(sum(factor * part.mean for part, factor in parts), variance)

    @property
    def pct(self) -> float:
        """In percent."""
        return percent(self.estimate.mean)

    @property
    def ci95_pct(self) -> tuple[float, float]:
        """Its 95 % interval, in percent."""
        low, high = self.estimate.interval(0.95)
        return percent(low), percent(high)

    @property
    def campaigns(self) -> tuple[str, ...]:
        """Those it is from."""
        return tuple(each.campaign for each in self.terms)

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
        self.comparisons = {(each.baseline, each.candidate): each for each in known}
        self._steps: dict[str, dict[str, MeasuredStep]] = {}
        for each in self.comparisons.values():
            if each.estimate is not None and each.verdict != "unstable":
                change = MeasuredStep.from_comparison(each)
                self._steps.setdefault(each.baseline, {})[each.candidate] = change
                self._steps.setdefault(each.candidate, {})[each.baseline] = -change
        self._from: dict[str, Mapping[str, MeasuredStep]] = {}

    def changes_from(self, start: str) -> Mapping[str, MeasuredStep]:
        """The change to each release that comparisons lead to, by way of the fewest of them."""
        if start not in self._from:
            found = {start: MeasuredStep({})}
            waiting = deque([start])
            while waiting:
                here = waiting.popleft()
                for there, step in self._steps.get(here, {}).items():
                    if there not in found:
                        found[there] = found[here] + step
                        waiting.append(there)
            self._from[start] = found
        return self._from[start]
