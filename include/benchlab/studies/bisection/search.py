"""Finds the release that brought a change, by comparing pairs of releases on the way.

Each comparison of two releases is one campaign's, judged by the decision rule
(:mod:`benchlab.analysis.verdict.decision`). Estimates are logarithms of ratios, so they add up: the
change from A to C is the change from A to B plus the change from B to C. Campaigns are independent,
so variances add, with degrees of freedom after Satterthwaite (1946).

1. The change to be found is the one from the first release to the last. It is taken from a
   comparison of the two whose verdict is a change, or else from the sum of stored comparisons that
   lead from one to the other, if its 95 % interval excludes zero and it reaches the threshold.
   Without either, the two are compared first. If there is no change, there is nothing to bisect.
2. A stored comparison of two releases in between narrows the search to the releases between them,
   if its verdict is this change and it shows at least half of it. If several do, the pair of
   releases closest together is used. Two neighbours name the release at once.
3. A release is *changed* if most of the change is before it, *unchanged* if most is after it. The
   verdict of its comparison with the first release decides. It is changed if the verdict is the
   change, with at least half of it; unchanged if the verdict is equivalent or the opposite, with
   less than half. The comparison with the last release does the same, mirrored. If no verdict
   decides, the change before it less the change after it does, if its 95 % interval excludes zero.
   Stored comparisons count as new ones do.
4. The search covers the releases after the last unchanged one, up to the first changed one after
   that. The middle one is compared with the first release and, if that does not decide, with the
   last. If both show the change, it came in several parts, and the search continues in the larger
   one; a release that is known to split it is taken as the middle. If nothing decides, the search
   stops: no pair is measured again in the hope of another answer.
5. When two neighbours are left, the change between them is taken from their comparison, or from the
   sum of others if that shows it; otherwise the two are compared. If a stored comparison of other
   neighbours shows a larger change, its release is named instead.

A change that one release brought is found with one comparison of the ends and at most ceil(log2 n)
more, for n releases after the first. If comparisons are unclear or disagree, the search needs more,
and ends undecided if the announced number of campaigns does not suffice. If a change came in
several parts, the search finds one of the larger ones, not always the largest; the outcome says
what the named release does not explain.
"""

from __future__ import annotations

import functools
import math
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from benchlab.analysis.verdict.decision import Verdict
from benchlab.analysis.verdict.estimates import Basis
from benchlab.analysis.verdict.variances import Estimate, Variance, percent, percents

CHANGES: tuple[Verdict, Verdict] = ("regression", "improvement")
MIRRORED: Mapping[Verdict, Verdict] = {"regression": "improvement", "improvement": "regression"}


@dataclass(frozen=True)
class PairComparison:
    """One campaign's comparison of two releases.

    Example:
        ``PairComparison("v6.1.0", "v6.2.0", "regression", estimate, "c1").turned().verdict`` is
        ``"improvement"``.

    Attributes:
        estimate: of the log ratio candidate / baseline; None if there is none.
        basis: where the estimate's deployment variance comes from.
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
    """The change between two releases: a sum of comparisons that have an estimate.

    Attributes:
        terms: the comparisons with their factors, so that sums of changes add the variance of a
            shared comparison correctly.

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
        """The change as a logarithm, with its variance."""
        mean, variance = 0.0, Variance(0.0, math.inf)
        for comparison, factor in self.terms.items():
            if found := comparison.estimate:
                mean += factor * found.mean
                variance += Variance(factor**2 * found.variance.value, found.variance.df)
        return Estimate(mean, variance)

    @property
    def pct(self) -> float:
        """The change in percent."""
        return percent(self.estimate.mean)

    @property
    def ci95_pct(self) -> tuple[float, float]:
        """The 95 % interval of the change, in percent."""
        return percents(self.estimate.interval(0.95))

    @property
    def campaigns(self) -> tuple[str, ...]:
        """The campaigns that measured it."""
        return tuple(comparison.campaign for comparison in self.terms)

    @property
    def direction(self) -> int:
        """1 for an increase, -1 for a decrease; 0 if the 95 % interval includes zero."""
        low, high = self.estimate.interval(0.95)
        return (low > 0) - (high < 0)

    def shows(self, direction: int, threshold_pct: float) -> bool:
        """Whether it is a significant change in this direction that reaches the threshold."""
        return self.direction == direction and abs(self.pct) >= threshold_pct


class Network:
    """A graph of releases, connected by comparisons.

    Args:
        known: comparisons, at most one of each pair of releases.

    Example:
        ``Network(known).changes_from("v6.1.0")["v6.3.0"].pct``
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
        """The change from a release to each one it is connected to, over the fewest comparisons."""
        found = {start: MeasuredStep({})}
        waiting = deque([start])
        while waiting:
            here = waiting.popleft()
            for there, step in self._steps.get(here, {}).items():
                if there not in found:
                    found[there] = found[here] + step
                    waiting.append(there)
        return found


@dataclass(frozen=True)
class Next:
    """The comparison that the search needs next.

    Attributes:
        why: what it is to decide, in words.
        suspects: how many releases may have brought the change.
        if_clear: campaigns to the end, including this one, if every comparison is clear.
        at_most: the same if hardly any is clear. ``campaigns_left`` of :func:`search` enforces it,
            since a campaign may cast doubt on earlier answers.
    """

    baseline: str
    candidate: str
    why: str
    suspects: int
    if_clear: int
    at_most: int


@dataclass(frozen=True)
class Brought:
    """A release, and its change against the one before it on the way.

    Attributes:
        untold: releases between the two that cannot be deployed: one of them may have brought the
            change instead.
    """

    release: str
    predecessor: str
    change: MeasuredStep
    untold: tuple[str, ...] = ()


@dataclass(frozen=True)
class Named:
    """The outcome of a bisection that found the release.

    Attributes:
        whole: the change from the first release to the last.
        rest: what the release does not explain; None if that is not a change in this direction.
        others: other releases known to have brought a change, the largest change first.
    """

    brought: Brought
    whole: MeasuredStep
    rest: MeasuredStep | None
    others: tuple[Brought, ...]


@dataclass(frozen=True)
class NothingToBisect:
    """The outcome if no change between the first release and the last was shown."""

    comparison: PairComparison
    others: tuple[Brought, ...]


@dataclass(frozen=True)
class Undecided:
    """The outcome if the release is one of several, and no comparison shows which.

    Attributes:
        after: the release before all suspects.
        next: the comparison that may decide, if the search stopped only for lack of campaigns.
    """

    whole: MeasuredStep
    after: str
    suspects: tuple[str, ...]
    why: str
    others: tuple[Brought, ...]
    next: Next | None = None


BisectionOutcome = Named | NothingToBisect | Undecided


def search(
    way: Sequence[str],
    known: Iterable[PairComparison],
    threshold_pct: float,
    undeployable: Collection[str] = (),
    campaigns_left: int | None = None,
) -> Next | BisectionOutcome:
    """The outcome, or the comparison that is needed next; the module describes the search.

    Args:
        way: the releases from the good one to the bad one, two or more.
        known: comparisons of releases of the way, the earlier one as the baseline, each pair once.
        undeployable: releases that no new campaign can measure; stored comparisons of them count.
        campaigns_left: how many of the announced campaigns; at 0 the search ends undecided. None:
            none have been announced yet.

    Example:
        ``search(["v6.1.0", "v6.2.0", "v6.3.0"], (), 2.0)`` is a :class:`Next` that asks for v6.3.0
        against v6.1.0.
    """
    network = Network(known)
    return _Search(
        tuple(way), network, threshold_pct, frozenset(undeployable), campaigns_left
    ).outcome()


@dataclass
class _Search:
    """One search over the known comparisons; integers are positions of releases on the way."""

    way: tuple[str, ...]
    network: Network
    threshold_pct: float
    closed: frozenset[str]
    left: int | None
    whole: MeasuredStep = field(init=False)
    direction: int = field(init=False)
    wanted: Verdict = field(init=False)

    def outcome(self) -> Next | BisectionOutcome:
        ends, whole = self._compared(0, self.last), self._change(0, self.last)
        if ends is not None and ends.verdict not in CHANGES:
            return NothingToBisect(ends, self._others())
        if whole is None:  # nothing leads from end to end: no campaign was run yet
            return self._compare_ends()
        self.whole = whole
        if ends is None and not any(whole.shows(sign, self.threshold_pct) for sign in (1, -1)):
            return self._next(0, self.last, self._compare_ends())
        self.direction = 1 if whole.estimate.mean > 0 else -1
        self.wanted: Verdict = "improvement" if self.direction > 0 else "regression"
        first, last = self._narrowest()
        return self._within(first, last, first, last)

    @property
    def last(self) -> int:
        """The position of the last release."""
        return len(self.way) - 1

    # The way

    def _compared(self, first: int, last: int) -> PairComparison | None:
        return self.network.comparisons.get((self.way[first], self.way[last]))

    def _change(self, first: int, last: int) -> MeasuredStep | None:
        return self.network.changes_from(self.way[first]).get(self.way[last])

    def _open(self, low: int, high: int) -> list[int]:
        """The releases between two others that can be deployed."""
        return [at for at in range(low + 1, high) if self.way[at] not in self.closed]

    def _can_compare(self, *releases: int) -> bool:
        return self.closed.isdisjoint(self.way[at] for at in releases)

    # The search

    def _narrowest(self) -> tuple[int, int]:
        """The closest pair of releases inside the way that shows at least half of the change.

        Without one, the ends of the way.
        """
        inside = [
            (last - first, -abs(self._mean(first, last)), first, last)
            for first in range(1, self.last)
            for last in range(first + 1, self.last)
            if self._has_most(first, last, self.whole)
            and (self._can_compare(first, last) or not self._open(first, last))
        ]
        return min(inside)[2:] if inside else (0, self.last)

    def _mean(self, first: int, last: int) -> float:
        found = self._compared(first, last)
        return found.estimate.mean if found and found.estimate else 0.0

    def _has_most(self, first: int, last: int, of: MeasuredStep) -> bool | None:
        """Whether most of a change lies between two releases, by their verdict; None: unclear."""
        found = self._compared(first, last)
        if found is None or found.estimate is None:
            return None
        has_half = 2 * self.direction * found.estimate.mean >= abs(of.estimate.mean)
        if found.verdict == self.wanted and has_half:
            return True
        if found.verdict in ("equivalent", MIRRORED[self.wanted]) and not has_half:
            return False
        return None

    def _is_changed(self, at: int, first: int, last: int, part: MeasuredStep) -> bool | None:
        """Whether a release has most of the change from first to last; None: unknown."""
        before, after = self._has_most(first, at, part), self._has_most(at, last, part)
        answers = {before, None if after is None else not after} - {None}
        if len(answers) == 1:
            return answers.pop()
        up_to, back = self._change(first, at), self._change(last, at)
        if up_to is None or back is None:
            return None
        direction = (up_to + back).direction * self.direction
        return direction > 0 if direction else None

    def _within(self, first: int, last: int, low: int, high: int) -> Next | BisectionOutcome:
        """Search after ``low`` up to ``high`` for the release behind the change first to last."""
        part = self._change(first, last) or self.whole
        for at in range(low + 1, high):
            changed = self._is_changed(at, first, last, part)
            low = at if changed is False else low
        for at in reversed(range(low + 1, high)):
            high = at if self._is_changed(at, first, last, part) else high
        inside = self._open(low, high)
        if not inside:
            return self._end(low, high)
        # Keep a middle that splits the change: another one would begin the search anew.
        halfway = [at for at in inside if self._is_halfway(first, at, last)] or inside
        middle = halfway[(len(halfway) - 1) // 2]
        if self._compared(first, middle) is None:
            pair = self._compare_middle(first, middle, len(inside) + 1, is_second=False)
            return self._next(low, high, pair)
        if self._compared(middle, last) is None:
            pair = self._compare_middle(middle, last, len(inside) + 1, is_second=True)
            return self._next(low, high, pair)
        return self._split(first, middle, last, low, high)

    def _split(
        self, first: int, middle: int, last: int, low: int, high: int
    ) -> Next | BisectionOutcome:
        """The middle does not decide: search the larger part, or stop if there are no parts."""
        if self._is_halfway(first, middle, last):
            if abs(self._mean(first, middle)) >= abs(self._mean(middle, last)):
                return self._within(first, middle, low, middle)
            return self._within(middle, last, middle, high)
        before, after = self._compared(first, middle), self._compared(middle, last)
        verdicts = " and ".join(
            f"{pair.candidate} against {pair.baseline} is {pair.verdict}"
            for pair in (before, after)
            if pair
        )
        return self._undecided(low, high, f"{verdicts}, and no other comparison helps")

    def _is_halfway(self, first: int, at: int, last: int) -> bool:
        """Whether a release splits the change: both of its comparisons show it."""
        before, after = self._compared(first, at), self._compared(at, last)
        return bool(before and after and before.verdict == after.verdict == self.wanted)

    def _end(self, low: int, high: int) -> Next | BisectionOutcome:
        """The outcome or last comparison if no release between the two can be compared."""
        compared, change = self._compared(low, high), self._change(low, high)
        pair = f"{self.way[high]} against {self.way[low]}"
        if compared is not None and compared.verdict != self.wanted:
            return self._undecided(low, high, f"{pair} is {compared.verdict}, taken alone")
        if change is not None and (
            compared is not None or change.shows(self.direction, self.threshold_pct)
        ):
            untold = self.way[low + 1 : high]
            return self._named(Brought(self.way[high], self.way[low], change, untold))
        if self._can_compare(low, high):
            why = f"whether {self.way[high]} alone brought it"
            return self._next(low, high, Next(self.way[low], self.way[high], why, 1, 1, 1))
        why = f"{pair} was not compared, and one of the two cannot be deployed"
        return self._undecided(low, high, why)

    # Outcomes

    def _next(self, low: int, high: int, wanted: Next) -> Next | Undecided:
        """The wanted comparison if a campaign is left for it; else undecided."""
        if self.left is None:
            return wanted
        if self.left > 0:
            if_clear, at_most = min(wanted.if_clear, self.left), min(wanted.at_most, self.left)
            return replace(wanted, if_clear=if_clear, at_most=at_most)
        why = "as many campaigns as were announced at most have been run"
        return replace(self._undecided(low, high, why), next=wanted)

    def _compare_ends(self) -> Next:
        suspects = len(self._open(0, self.last)) + 1
        halvings = _halvings(suspects)
        why = "whether there is a change at all"
        at_most = 2 + 2 * halvings if halvings else 1
        return Next(self.way[0], self.way[-1], why, suspects, 1 + halvings, at_most)

    def _compare_middle(self, first: int, last: int, suspects: int, *, is_second: bool) -> Next:
        later = _halvings(math.ceil(suspects / 2))
        ends = "the last one" if is_second else "the first one"
        why = f"the middle of {suspects} releases against {ends}"
        at_most = (1 if is_second else 2) + 2 * later + 1
        return Next(self.way[first], self.way[last], why, suspects, 1 + later, at_most)

    def _named(self, found: Brought) -> Named:
        known = [other for other in self._others() if other.release != found.release]
        same = [other for other in known if other.change.direction == self.direction]
        largest = _by_size([found, *same])[0]
        rest = self.whole - largest.change
        return Named(
            largest,
            self.whole,
            rest if rest.shows(self.direction, self.threshold_pct) else None,
            tuple(other for other in _by_size([found, *known]) if other is not largest),
        )

    def _undecided(self, low: int, high: int, why: str) -> Undecided:
        suspects = self.way[low + 1 : high + 1]
        return Undecided(self.whole, self.way[low], suspects, why, self._others())

    def _others(self) -> tuple[Brought, ...]:
        """Releases whose comparison with their neighbour is a change, the largest first."""
        pairs = (self.network.comparisons.get(pair) for pair in pairwise(self.way))
        return _by_size(
            Brought(pair.candidate, pair.baseline, MeasuredStep({pair: 1}))
            for pair in pairs
            if pair and pair.verdict in CHANGES and pair.estimate
        )


def _by_size(found: Iterable[Brought]) -> tuple[Brought, ...]:
    """Sort by the size of the change, the largest first."""
    return tuple(sorted(found, key=lambda brought: -abs(brought.change.estimate.mean)))


def _halvings(count: int) -> int:
    """How often ``count`` releases are halved until one is left: ceil(log2(count))."""
    return (count - 1).bit_length()
