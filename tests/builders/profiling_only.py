"""``benchlab``, except that diagnosis takes profiles only, for as long as it likes.

A small campaign leaves no time for them: diagnosis takes a quarter of it, and looks at statements
first.
"""

from __future__ import annotations

from benchlab.campaign import diagnosing, stages
from benchlab.campaign.profiling import Allocations, Cpu
from benchlab.cli.main import main


def all_day(minutes: float) -> float:
    """What diagnosis may take of a campaign that takes so many minutes."""
    return minutes + 24 * 60


if __name__ == "__main__":
    vars(stages).update(OBSERVERS=(Cpu(), Allocations()))
    vars(diagnosing).update(diagnosis_minutes=all_day)
    main()
