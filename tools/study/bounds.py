"""What the decision rule promises of itself: shares of simulated campaigns, each with its bound.

A row is a world, what is counted in it, and the bound that the rule has to keep. Where that falls
short of what was wanted, the row says so, and why.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

PROCESSES = 2


@dataclass(frozen=True)
class Share:
    """``hits`` of ``count``."""

    hits: int
    count: int

    @property
    def value(self) -> float:
        """Between 0 and 1."""
        return self.hits / self.count

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of a binomial share (Wilson 1927)."""
        z2 = float(ndtri(0.975)) ** 2
        middle = (self.hits + z2 / 2) / (self.count + z2)
        spread = self.hits * (self.count - self.hits) / self.count + z2 / 4
        half = math.sqrt(z2 * spread) / (self.count + z2)
        return middle - half, middle + half

    def __str__(self) -> str:
        """In percent, with its interval: ``4.0 (2.0–7.7)``."""
        low, high = self.interval
        return f"{100 * self.value:.1f} ({100 * low:.1f}–{100 * high:.1f})"


def share_of(hits: ArrayLike) -> Share:
    """How many of these are true."""
    flags = np.asarray(hits, dtype=bool)
    return Share(int(flags.sum()), flags.size)


Count = Callable[[int, np.random.Generator], Share]
"""Simulates so many campaigns and says in how many of them it happened."""


@dataclass(frozen=True)
class Row:
    """One promise.

    Attributes:
        world: what the campaigns have, in words of docs/statistics.md.
        counted: what is counted, as `called a change`, `found`, `equivalent`, `covered`.
        bound: percent.
        at_most: whether the bound is an upper one.
        count: the simulation; ``campaigns`` are drawn from the given generator.
        campaigns: so many for the table of `make study`.
        wanted: percent, where the bound falls short of it.
        why: the reason for that, as a sentence.
    """

    world: str
    counted: str
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
