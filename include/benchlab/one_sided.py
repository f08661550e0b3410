"""Whether something happened on one side only, or so much more often that chance is no reason."""

from __future__ import annotations

from collections.abc import Mapping

from benchlab.spec import SIDES, Side

# The chance that counts of two sides alike differ so much that it is called one-sided.
CHANCE = 0.001


def one_sided(counts: Mapping[Side, int], noun: str, least: int = 1) -> str | None:
    """Where it happened, as a part of a sentence; None where both sides had their share.

    Counts on both sides are compared by the sign test (binomial with p = 0.5, two-sided).

    Args:
        counts: by side, of as many trials on each.
        noun: what was counted, in the singular.
        least: from how many on one side only.
    """
    many = max(SIDES, key=lambda side: counts.get(side, 0))
    few = min(counts.get(side, 0) for side in SIDES)
    count = counts.get(many, 0)
    if few == 0:
        what = f"{count} {noun}{'s' * (count != 1)}"
        return f"only on the {many} side, at {what}" if count >= least else None
    from scipy.special import bdtr

    if 2 * float(bdtr(few, few + count, 0.5)) >= CHANCE:
        return None
    return f"much more often on the {many} side, at {count} {noun}s against {few}"
