"""Which release brought a change: a search over the releases on the way, by comparisons of pairs.

Each comparison of two releases is a campaign's, by the decision rule
(:mod:`benchlab.analysis.verdict.decision`); how comparisons add up says
:mod:`benchlab.studies.bisection.release_changes`.

1. The change to be found is that from the first release to the last: by a comparison of the two
   whose verdict is a change, or else as the sum of stored comparisons that lead from one to the
   other, where its 95 % interval excludes zero and it reaches the threshold. Where neither is
   there, the two are compared first. No change: there is nothing to bisect.
2. A stored comparison of two releases in between whose verdict is this change, with half of it or
   more, narrows the search to what lies between them; of several, the two that are nearest to each
   other. Two neighbours name the release at once.
3. A release is *changed* where most of the change is before it, *unchanged* where most is after
   it. The comparison with the first release tells it by its verdict: the change, with half of it
   or more; or equivalent or the opposite, with less than half. So does, mirrored, the comparison
   with the last. Where no verdict does, the difference of what is before and after does, if its
   95 % interval excludes zero. Stored comparisons count as new ones do.
4. Searched are the releases after the last unchanged one up to the first changed one behind it.
   The one in the middle of them is compared with the first release; where that does not tell,
   with the last, too. Where both have the change, it came in several parts, and the search goes on
   in the larger one; a release that is known to be such a one is taken as the middle. Where
   nothing tells, it stops: a pair is never measured again to get another answer.
5. Two neighbours are left: the change between them is that of their comparison or, where the sum
   of others shows it, theirs; else the two are compared. Stored comparisons of neighbours that
   show more are named first.

A change that came at once is found in one comparison of the ends and at most ceil(log2 n) more,
for n releases after the first. Where comparisons tell little or disagree it takes more, and ends
undecided where as many as were announced do not suffice. Of a change in several parts the search
finds one of the larger ones, not always the largest; what the named release does not explain is
told.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from benchlab.analysis.verdict.decision import Verdict
from benchlab.studies.bisection.outcome import (
    BisectionOutcome,
    Brought,
    Named,
    Next,
    NothingToBisect,
    Undecided,
)
from benchlab.studies.bisection.release_changes import (
    CHANGES,
    MIRRORED,
    MeasuredStep,
    Network,
    PairComparison,
)


def search(
    way: Sequence[str],
    known: Iterable[PairComparison],
    threshold_pct: float,
    undeployable: Collection[str] = (),
    campaigns_left: int | None = None,
) -> Next | BisectionOutcome:
    """What the comparisons tell, or the one that is needed next; see above.

    Args:
        way: the releases from the good one to the bad one, two or more.
        known: comparisons of releases of the way, the earlier one as the baseline, each pair once.
        threshold_pct: the smallest change that is called one, in percent.
        undeployable: releases that can be in no campaign, only in stored comparisons.
        campaigns_left: of those that were announced; with none the search ends undecided. None:
            nothing was announced yet.
    """
    return _Search(
        way, Network(known), threshold_pct, frozenset(undeployable), campaigns_left
    ).outcome()


class _Search:
    """One look at what is known; positions are those of the releases on the way."""

    def __init__(
        self,
        way: Sequence[str],
        network: Network,
        threshold_pct: float,
        closed: frozenset[str],
        left: int | None,
    ) -> None:
        self._way, self._network = tuple(way), network
        self._threshold_pct, self._closed, self._left = threshold_pct, closed, left
        self._last = len(self._way) - 1

    def outcome(self) -> Next | BisectionOutcome:
        ends, whole = self._compared(0, self._last), self._change(0, self._last)
        if ends is not None and ends.verdict not in CHANGES:
            return NothingToBisect(ends, self._others())
        if whole is None:  # nothing leads from end to end: no campaign can be used up yet
            return self._compare_ends()
        self._whole = whole
        if ends is None and not self._is_change(whole):
            return self._next(0, self._last, self._compare_ends())
        self._direction = 1 if whole.estimate.mean > 0 else -1
        self._wanted: Verdict = "improvement" if self._direction > 0 else "regression"
        first, last = self._narrowest()
        return self._within(first, last, first, last)

    # The way

    def _compared(self, first: int, last: int) -> PairComparison | None:
        return self._network.comparisons.get((self._way[first], self._way[last]))

    def _change(self, first: int, last: int) -> MeasuredStep | None:
        return self._network.changes_from(self._way[first]).get(self._way[last])

    def _open(self, low: int, high: int) -> list[int]:
        """The releases between two that can be compared."""
        return [at for at in range(low + 1, high) if self._way[at] not in self._closed]

    def _can_compare(self, *releases: int) -> bool:
        return self._closed.isdisjoint(self._way[at] for at in releases)

    def _is_change(self, change: MeasuredStep) -> bool:
        return any(change.shows(direction, self._threshold_pct) for direction in (1, -1))

    # The search

    def _narrowest(self) -> tuple[int, int]:
        """The nearest two releases inside the way between which half of the change is known."""
        inside = [
            (last - first, -abs(self._mean(first, last)), first, last)
            for first in range(1, self._last)
            for last in range(first + 1, self._last)
            if self._has_most(first, last, self._whole)
            and (self._can_compare(first, last) or not self._open(first, last))
        ]
        return min(inside)[2:] if inside else (0, self._last)

    def _mean(self, first: int, last: int) -> float:
        found = self._compared(first, last)
        return found.estimate.mean if found and found.estimate else 0.0

    def _has_most(self, first: int, last: int, of: MeasuredStep) -> bool | None:
        """Whether the verdict on two releases says that they have most of a change, or little."""
        found = self._compared(first, last)
        if found is None or found.estimate is None:
            return None
        has_half = 2 * self._direction * found.estimate.mean >= abs(of.estimate.mean)
        if found.verdict == self._wanted and has_half:
            return True
        if found.verdict in ("equivalent", MIRRORED[self._wanted]) and not has_half:
            return False
        return None

    def _is_changed(self, at: int, first: int, last: int, part: MeasuredStep) -> bool | None:
        """Whether most of the change from first to last is before a release; None: not told."""
        before, after = self._has_most(first, at, part), self._has_most(at, last, part)
        told = {before, None if after is None else not after} - {None}
        if len(told) == 1:
            return told.pop()
        up_to, back = self._change(first, at), self._change(last, at)
        if up_to is None or back is None:
            return None
        direction = (up_to + back).direction * self._direction
        return direction > 0 if direction else None

    def _within(self, first: int, last: int, low: int, high: int) -> Next | BisectionOutcome:
        """Search after `low` up to `high` for what brought the change from first to last."""
        part = self._change(first, last) or self._whole
        for at in range(low + 1, high):
            changed = self._is_changed(at, first, last, part)
            low = at if changed is False else low
        for at in reversed(range(low + 1, high)):
            high = at if self._is_changed(at, first, last, part) else high
        inside = self._open(low, high)
        if not inside:
            return self._end(low, high)
        # Another middle than the one whose parts are searched would begin the search anew.
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
        """Neither comparison of the middle tells: the change came in parts, or is not seen."""
        if self._is_halfway(first, middle, last):
            if abs(self._mean(first, middle)) >= abs(self._mean(middle, last)):
                return self._within(first, middle, low, middle)
            return self._within(middle, last, middle, high)
        before, after = self._compared(first, middle), self._compared(middle, last)
        verdicts = " and ".join(
            f"{each.candidate} against {each.baseline} is {each.verdict}"
            for each in (before, after)
            if each
        )
        return self._undecided(low, high, f"{verdicts}, and no comparison tells more")

    def _is_halfway(self, first: int, at: int, last: int) -> bool:
        """Whether the change came partly before and partly after a release, by both verdicts."""
        before, after = self._compared(first, at), self._compared(at, last)
        return bool(before and after and before.verdict == after.verdict == self._wanted)

    def _end(self, low: int, high: int) -> Next | BisectionOutcome:
        """Nothing between the two can be compared."""
        compared, change = self._compared(low, high), self._change(low, high)
        pair = f"{self._way[high]} against {self._way[low]}"
        if compared is not None and compared.verdict != self._wanted:
            return self._undecided(low, high, f"{pair} is {compared.verdict}, taken alone")
        if change is not None and (
            compared is not None or change.shows(self._direction, self._threshold_pct)
        ):
            untold = self._way[low + 1 : high]
            return self._named(Brought(self._way[high], self._way[low], change, untold))
        if self._can_compare(low, high):
            why = f"whether {self._way[high]} alone brought it"
            return self._next(low, high, Next(self._way[low], self._way[high], why, 1, 1, 1))
        why = f"{pair} was not compared, and one of the two cannot be deployed"
        return self._undecided(low, high, why)

    # Outcomes

    def _next(self, low: int, high: int, wanted: Next) -> Next | Undecided:
        """A comparison, as far as campaigns are left for it."""
        if self._left is None:
            return wanted
        if self._left > 0:
            if_clear, at_most = min(wanted.if_clear, self._left), min(wanted.at_most, self._left)
            return replace(wanted, if_clear=if_clear, at_most=at_most)
        why = "as many campaigns as were announced at most have been run"
        return replace(self._undecided(low, high, why), next=wanted)

    def _compare_ends(self) -> Next:
        suspects = len(self._open(0, self._last)) + 1
        halvings = _halvings(suspects)
        why = "whether there is a change at all"
        at_most = 2 + 2 * halvings if halvings else 1
        return Next(self._way[0], self._way[-1], why, suspects, 1 + halvings, at_most)

    def _compare_middle(self, first: int, last: int, suspects: int, *, is_second: bool) -> Next:
        later = _halvings(math.ceil(suspects / 2))
        ends = "the last one" if is_second else "the first one"
        why = f"the middle of {suspects} releases against {ends}"
        at_most = (1 if is_second else 2) + 2 * later + 1
        return Next(self._way[first], self._way[last], why, suspects, 1 + later, at_most)

    def _named(self, found: Brought) -> Named:
        known = [each for each in self._others() if each.release != found.release]
        same = [each for each in known if each.change.direction == self._direction]
        ranked = sorted([found, *same], key=lambda each: -abs(each.change.estimate.mean))
        rest = self._whole - ranked[0].change
        return Named(
            ranked[0],
            self._whole,
            rest if rest.shows(self._direction, self._threshold_pct) else None,
            tuple(each for each in _by_size([found, *known]) if each is not ranked[0]),
        )

    def _undecided(self, low: int, high: int, why: str) -> Undecided:
        suspects = self._way[low + 1 : high + 1]
        return Undecided(self._whole, self._way[low], suspects, why, self._others())

    def _others(self) -> tuple[Brought, ...]:
        """Neighbours whose comparison is a change, the largest first."""
        pairs = (self._network.comparisons.get(pair) for pair in pairwise(self._way))
        return _by_size(
            Brought(each.candidate, each.baseline, MeasuredStep.from_comparison(each))
            for each in pairs
            if each and each.verdict in CHANGES and each.estimate
        )


def _by_size(found: Iterable[Brought]) -> tuple[Brought, ...]:
    return tuple(sorted(found, key=lambda each: -abs(each.change.estimate.mean)))


def _halvings(count: int) -> int:
    """How often a number of releases is halved until one is left: ceil(log2)."""
    return (count - 1).bit_length()
