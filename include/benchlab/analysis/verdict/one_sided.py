"""Whether something happened on one side only, or so much more often that it is not chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchlab.arrays import special
from benchlab.language import Message, message, side_name
from benchlab.plan.report_type import SIDES, Side

# Counts are one-sided if two equal sides would differ so much with less than this chance.
CHANCE = 0.001


@dataclass(frozen=True)
class OneSided:
    """Where something happened.

    Attributes:
        side: on which alone, or much more often.
        count: how often there.
        against: how often on the other side.
    """

    side: Side
    count: int
    against: int

    def where(self, what: str) -> Message:
        """As a part of a sentence; ``what`` was counted: trials, cells or errors."""
        return message(
            f"where-{what}-only" if not self.against else f"where-{what}-more",
            side=side_name(self.side),
            count=self.count,
            against=self.against,
        )


def one_sided(counts: Mapping[Side, int], least: int = 1) -> OneSided | None:
    """Where it happened; None where both sides had their share.

    Counts on both sides are compared by the sign test (binomial with p = 0.5, two-sided).

    Args:
        counts: by side, from the same number of trials on each.
        least: how many there must be if the other side has none.
    """
    many = max(SIDES, key=lambda side: counts.get(side, 0))
    few = min(counts.get(side, 0) for side in SIDES)
    count = counts.get(many, 0)
    if few == 0:
        return OneSided(many, count, 0) if count >= least else None
    chance = 2 * float(special.bdtr(few, few + count, 0.5))
    return OneSided(many, count, few) if chance < CHANCE else None
