"""What the decision rule promises of itself: shares of simulated campaigns, each with its bound.

A row is a world and what is counted in it. ``before`` is what the rule of the first release did, in
percent, measured once by the same count; ``bound`` is what the rule of today has to keep. Where
that falls short of what was wanted, the row says so, and why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.study.figures import Share

Count = Callable[[int, np.random.Generator], Share]
"""Simulates so many campaigns and says in how many of them it happened."""


@dataclass(frozen=True)
class Row:
    """One promise.

    Attributes:
        world: what the campaigns have, in words of docs/statistics.md.
        counted: what is counted, as `called a change`, `found`, `equivalent`, `covered`.
        before, bound: percent; None: the first release was not measured.
        at_most: whether the bound is an upper one.
        count: the simulation; ``campaigns`` are drawn from the given generator.
        campaigns: so many for the table of `make study`.
        wanted: percent, where the bound falls short of it.
        why: the reason for that, as a sentence.
    """

    world: str
    counted: str
    before: float | None
    bound: float
    at_most: bool
    count: Count
    campaigns: int = 4000
    wanted: float | None = None
    why: str = ""

    def holds(self, share: Share) -> bool:
        """Whether a simulated share keeps the bound, within the simulation's own error."""
        low, high = share.interval
        return 100 * low <= self.bound if self.at_most else 100 * high >= self.bound

    def is_beyond(self, share: Share) -> bool:
        """Whether the share itself is on the wrong side of the bound."""
        return (100 * share.value > self.bound) == self.at_most and 100 * share.value != self.bound
