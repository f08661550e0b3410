"""What the trials of a campaign took beside their runs, for the estimates of later plans."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from itertools import pairwise

from benchlab.plan.rates import TimedStep
from benchlab.results.records import TrialResult

_BEFORE = ("stop", "restore", "start", "ready")


def of_trials(results: Sequence[TrialResult]) -> Iterator[tuple[TimedStep, None, float]]:
    """The seconds of ``restore``, ``restart`` and ``trial``: medians over a campaign's trials.

    Trials that are invalid, measured again or taken over from a task that died do not count, nor
    does the time after such a trial.

    Example:
        ``dict((step, s) for step, _, s in of_trials(store.trials("c1")))["restore"]``
    """
    took: dict[TimedStep, list[float]] = {}
    counted = [r for r in results if r.attempt == 1 and r.valid and not r.adopted]
    for result, following in pairwise(counted):
        if following.trial.index != result.trial.index + 1:
            continue
        between = (following.started_at - result.started_at).total_seconds()
        own = sum(result.phases.get(phase, 0) for phase in ("configure", "warm-up"))
        beside = between - _before(result) - own - result.trial.seconds
        took.setdefault("trial", []).append(max(beside, 0.0))
        if "restore" in following.phases:
            took.setdefault("restore", []).append(_before(following))
        elif following.trial.side != result.trial.side:
            took.setdefault("restart", []).append(_before(following))
    for step, seconds in took.items():
        yield step, None, statistics.median(seconds)


def _before(result: TrialResult) -> float:
    return sum(result.phases.get(phase, 0) for phase in _BEFORE)
