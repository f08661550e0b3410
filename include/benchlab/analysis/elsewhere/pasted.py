"""Finds figures that separate trials never have: a side or a round that was pasted twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from benchlab.analysis.elsewhere.file import ranges
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.arrays import np, special
from benchlab.language import Message, message

# Even on a quiet machine trials differ by 0.2 %, so two of them agree to the last digit with a
# chance of about digit / 0.2 %.
_LEAST_SPREAD = 0.002
_NEVER = 1e-3


def impossible(rounds: Rounds) -> Iterator[Message]:
    """Why a workload's figures cannot be those of separate trials of two sides.

    Example:
        ``[*impossible(rounds)]`` is empty for figures that were measured.
    """
    decided, values = rounds.kinds[0], rounds.values[rounds.metric]
    there = np.isfinite(values)
    if there.any() and not there.all(axis=2).any():
        yield message("reason-never-both")
    once = max(map(max, rounds.steps(decided), rounds.digits(decided))) / _LEAST_SPREAD
    same = values[:, :, 0] == values[:, :, 1]
    if _is_no_chance(int(same.sum()), int(there.all(axis=2).sum()), once):
        yield message("reason-one-side-twice", rounds=int(same.any(axis=1).sum()), of=len(same))
        return
    earlier, again = set[tuple[int, float]](), Counter[int]()
    for number, row in zip(rounds.rounds, values.reshape(len(values), -1).tolist(), strict=True):
        again[number] = len(earlier.intersection(enumerate(row)))
        earlier.update(enumerate(row))
    # Each round can agree with any before it.
    if _is_no_chance(again.total(), int(there.sum()), once * (len(values) - 1)):
        repeated = ranges(number for number in again if again[number])
        yield message("reason-rounds-twice", rounds=", ".join(repeated))


def _is_no_chance(count: int, of: int, once: float) -> bool:
    """Whether this many agreements are no chance; ``once``: the chance of a single one."""
    return count > 0 and float(special.bdtrc(count - 1, of, min(once, 1.0))) < _NEVER
