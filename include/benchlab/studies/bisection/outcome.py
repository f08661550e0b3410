"""How the search of :mod:`benchlab.studies.bisection.search` goes on, or ends."""

from __future__ import annotations

from dataclasses import dataclass

from benchlab.studies.bisection.release_changes import MeasuredStep, PairComparison


@dataclass(frozen=True)
class Next:
    """The comparison that the search needs next.

    Attributes:
        why: what it is to tell, as words.
        suspects: how many releases may have brought the change.
        if_clear: campaigns to the end, this one included, where every comparison tells.
        at_most: the same, where hardly any does. Whoever runs them keeps to it, by `campaigns_left`
            of :func:`benchlab.studies.bisection.search.search`: what a campaign finds may put
            others in doubt that were taken for told.
    """

    baseline: str
    candidate: str
    why: str
    suspects: int
    if_clear: int
    at_most: int


@dataclass(frozen=True)
class Brought:
    """A release, and what it brought against the one before it on the way.

    Attributes:
        untold: releases between the two that cannot be deployed; it may have been one of them.
    """

    release: str
    predecessor: str
    change: MeasuredStep
    untold: tuple[str, ...] = ()


@dataclass(frozen=True)
class Named:
    """The release is found.

    Attributes:
        whole: the change from the first release to the last.
        rest: what it does not explain; None where that is no change of this direction.
        others: other releases that are known to have brought a change, the largest first.
    """

    brought: Brought
    whole: MeasuredStep
    rest: MeasuredStep | None
    others: tuple[Brought, ...]


@dataclass(frozen=True)
class NothingToBisect:
    """The first release and the last do not differ, as far as is known."""

    comparison: PairComparison
    others: tuple[Brought, ...]


@dataclass(frozen=True)
class Undecided:
    """The release is one of several, and no comparison tells which.

    Attributes:
        after: the release that all of them come after.
        suspects: in order.
        why: as a sentence.
        next: the comparison that may tell, where only no campaign is left for it.
    """

    whole: MeasuredStep
    after: str
    suspects: tuple[str, ...]
    why: str
    others: tuple[Brought, ...]
    next: Next | None = None


BisectionOutcome = Named | NothingToBisect | Undecided
