"""Chooses the trials whose figures count: one attempt at every pair of blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchlab.language import Said, message
from benchlab.plan.plan import Plan
from benchlab.results.records import TrialResult


@dataclass(frozen=True)
class Exclusion:
    """A measured trial whose figures are not used, and why."""

    trial: str
    attempt: int
    reasons: tuple[Said, ...]


def usable_trials(
    plan: Plan, results: Iterable[TrialResult]
) -> tuple[list[TrialResult], list[Exclusion]]:
    """The trials whose figures count, and the others with the reason why they do not.

    For every pair of blocks, that is the first attempt in which all trials are present and valid;
    if there is none, the valid trials of the last attempt.

    Example:
        ``used, excluded = usable_trials(campaign.plan, store.trials(campaign.id))``
    """
    used: list[TrialResult] = []
    excluded: list[Exclusion] = []
    by_pair: dict[tuple[int, str], dict[int, list[TrialResult]]] = {}
    for result in results:
        attempts = by_pair.setdefault(result.trial.pair, {})
        attempts.setdefault(result.attempt, []).append(result)
    size = {pair: len(ids) for pair, ids in _ids_by_pair(plan).items()}
    for pair, attempts in by_pair.items():
        whole = [
            n for n, rs in attempts.items() if len(rs) == size[pair] and all(r.valid for r in rs)
        ]
        chosen = min(whole) if whole else max(attempts)
        for number, members in sorted(attempts.items()):
            for result in members:
                if number == chosen and result.valid:
                    used.append(result)
                else:
                    reasons = result.reasons or (message("reason-again"),)
                    excluded.append(Exclusion(result.trial.id, number, reasons))
    used.sort(key=lambda result: result.trial.index)
    return used, excluded


def invalid_pairs(plan: Plan, results: Iterable[TrialResult]) -> list[tuple[int, str]]:
    """The pairs of blocks that no attempt measured completely, in plan order."""
    attempts: dict[tuple[tuple[int, str], int], set[str]] = {}
    for result in results:
        if result.valid:
            attempts.setdefault((result.trial.pair, result.attempt), set()).add(result.trial.id)
    planned = _ids_by_pair(plan)
    done = {pair for (pair, _), ids in attempts.items() if ids == planned[pair]}
    return [pair for pair in planned if pair not in done]


def _ids_by_pair(plan: Plan) -> dict[tuple[int, str], set[str]]:
    pairs: dict[tuple[int, str], set[str]] = {}
    for trial in plan.trials:
        pairs.setdefault(trial.pair, set()).add(trial.id)
    return pairs
