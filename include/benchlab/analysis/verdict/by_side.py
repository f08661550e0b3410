"""Tests whether something happens on one side more often than chance explains.

Trials are not independent: a busy minute, or a storm of deadlocks, spoils several trials of a block
together. So the unit is a pair of blocks, one workload in one round: its blocks are adjacent in
time, and if the sides are alike, they could be exchanged.

* Rare events (a gate of validity failed, a figure is missing): the sign test over all pairs of the
  campaign in which one side has more of them (Dixon and Mood, The statistical sign test, Journal of
  the American Statistical Association 41, 1946). It assumes nothing about clusters in a block.
* Errors, of which both sides have many: a paired t test on the rounds' log error rates, adjusted
  by Holm (1979) over the workloads. Ranks of six rounds give no p value below 0.03, too large once
  adjusted; ranks of single trials would count the errors of a storm as independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.variances import holm
from benchlab.arrays import Array, np, special
from benchlab.language import Message, message, side_name
from benchlab.plan.report_type import SIDES, Side

ALPHA = 0.05
LEAST_ROUNDS = 3
# Counts are one-sided if two equal sides would differ this much with less than this chance.
CHANCE = 0.001


def sign_test(differences: Iterable[float]) -> float:
    """The two-sided p value of the sign test of these differences; zeros do not count.

    Example:
        ``sign_test([1, 2, 1, 0, 5, 1, 3])`` is 2 x 0.5^6 = 0.03.
    """
    signs = [difference > 0 for difference in differences if difference]
    fewer = min(sum(signs), len(signs) - sum(signs))
    return min(1.0, 2 * float(special.bdtr(fewer, len(signs), 0.5)))


def excess(pairs: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The p value of the campaign's sign test, for each workload.

    Example:
        ``excess({"tpcc": [1, 1, 1, 1, 1, 1], "oltp_insert": [0, -1]})["tpcc"]`` is 0.125.

    Args:
        pairs: by workload, candidate - baseline of every pair of blocks.

    Returns:
        The same p value for all workloads but those whose own pairs lean the other way, which get
        1. A workload that leans neither way may just have been lucky.
    """
    together = [difference for own in pairs.values() for difference in own]
    p, leaning = sign_test(together), sum(map(_sign, together))
    return {name: p if leaning * sum(map(_sign, own)) >= 0 else 1.0 for name, own in pairs.items()}


def loses_by_side(workloads: Sequence[Rounds], kind: str) -> frozenset[str]:
    """The workloads that lack figures on one side, so often that chance does not explain it.

    A single lost trial casts no doubt: its round is left out, and the report says so. The sign test
    over the campaign does; and so do figures missing in half of a workload's rounds, all on one
    side, as a test cannot show that with few rounds.
    """
    pairs = {rounds.workload: _lost(rounds, kind) for rounds in workloads}
    p_values = excess(pairs)
    return frozenset(
        name
        for name, own in pairs.items()
        if sum(own) and (p_values[name] <= ALPHA or (2 * abs(sum(own)) >= len(own) and _agree(own)))
    )


def error_p_values(counted: Mapping[str, tuple[Array, Array]]) -> dict[str, float]:
    """Two-sided p values of equal error rates, adjusted over the workloads; 1 without any error.

    As zero has no logarithm, half an error is added to both sides (Haldane 1956; Anscombe 1956). It
    is added as a rate, so that sides without errors are equal whatever their throughput.

    Args:
        counted: by workload, errors and transactions of shape (rounds, 2): baseline and candidate.
            Rounds in which one is not finite or there are no transactions take no part.
    """
    p_values = dict.fromkeys(counted, 1.0)
    for name, (errors, transactions) in counted.items():
        there = (np.isfinite(errors) & np.isfinite(transactions) & (transactions > 0)).all(axis=1)
        if there.sum() < LEAST_ROUNDS or not errors[there].any():
            continue
        half = 0.5 / transactions[there].mean(axis=1, keepdims=True)
        logs = np.log(errors[there] / transactions[there] + half)
        p_values[name] = _t_test(logs[:, 1] - logs[:, 0])
    return holm(p_values)


def _t_test(differences: Array) -> float:
    mean, count = float(differences.mean()), len(differences)
    error = float(differences.std(ddof=1)) / math.sqrt(count)
    if not error:
        return sign_test(differences.tolist())
    return float(2 * special.stdtr(count - 1, -abs(mean) / error))


def _lost(rounds: Rounds, kind: str) -> list[int]:
    """1 for each round that lacks a figure on the candidate side only, -1 on the baseline only."""
    values = rounds.values.get(rounds.metric_of(kind))
    if values is None or len(rounds.sides) < len(SIDES):
        return [0] * len(rounds.rounds)
    absent = np.isnan(values).any(axis=1).astype(int)
    found: list[int] = (absent[:, 1] - absent[:, 0]).tolist()
    return found


def _agree(own: Sequence[float]) -> bool:
    return abs(sum(map(_sign, own))) == sum(1 for one in own if one)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def one_sided(counts: Mapping[Side, int], least: int = 1) -> tuple[Side, int, int] | None:
    """The side on which something happened, how often there, and how often on the other side.

    Example:
        ``one_sided({"baseline": 2, "candidate": 20})`` is ``("candidate", 20, 2)``.

    Args:
        counts: by side, from the same number of trials on each.
        least: how many there must be if the other side has none.

    Returns:
        None if two equal sides would differ this much with a chance of 0.1 % or more.
    """
    many, few = sorted(SIDES, key=lambda side: -counts.get(side, 0))
    count, against = counts.get(many, 0), counts.get(few, 0)
    chance = 2 * float(special.bdtr(against, against + count, 0.5))
    is_one_sided = chance < CHANCE if against else count >= least
    return (many, count, against) if is_one_sided else None


def where_seen(what: str, side: Side, count: int, against: int) -> Message:
    """The result of :func:`one_sided` as part of a sentence; ``what``: trials, cells or errors."""
    which = f"where-{what}-more" if against else f"where-{what}-only"
    return message(which, side=side_name(side), count=count, against=against)
