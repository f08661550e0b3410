"""Records how long the steps of a campaign took, for the estimates of later plans."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import cast

from benchlab import targets
from benchlab.campaign.state import StateFile
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import BenchlabError
from benchlab.plan.rates import StepTime, TimedStep
from benchlab.plan.report_type import Side
from benchlab.plan.steps import sizes
from benchlab.results.records import TrialResult

# Steps that a campaign takes once per deployment.
_OF_DEPLOYMENTS = frozenset({"deploy", "load", "restore dataset", "analyze", "check", "back up"})
_BEFORE = ("stop", "restore", "start", "ready")


def of_trials(results: Sequence[TrialResult]) -> Iterator[tuple[TimedStep, None, float]]:
    """The seconds of ``restore``, ``restart`` and ``trial``: medians over a campaign's trials.

    ``trial`` is the time in addition to a trial's own seconds. Invalid, repeated and adopted trials
    do not count, nor does the time next to one.

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


class StepClock:
    """Stores how long the steps of one campaign took.

    The start of each is in the campaign's state, so that another process can end what this one
    began. Steps that were begun twice are not stored, nor are those of a resumed campaign, which
    find what an earlier try has left.

    Example:
        ``StepClock(campaign, state).ended("load", "baseline")`` at the end of a load.
    """

    def __init__(self, of: StoredCampaign, state: StateFile) -> None:
        self._of, self._state = of, state

    def ended(self, phase: str, side: Side | None = None, step: TimedStep | None = None) -> None:
        """Store how long a stage took, as ``step``, by default the step named ``phase``."""
        if (took := self._state.took(phase, side)) is not None:
            self.keep((step or cast(TimedStep, phase), side, took))

    def keep(self, *times: tuple[TimedStep, Side | None, float]) -> None:
        """Store how many seconds steps took; if that fails, it is only noted."""
        of, where = self._of, self._of.spec.topology or self._of.spec.target
        try:
            large = sizes(of.spec, targets.load_topology(of.home, of.spec))
            deployments = [one.deployment for one in self._state.read().sides.values()]
            for step, side, seconds in times:
                took = StepTime(step, side, round(seconds, 3), large[step])
                number = max(deployments, default=1) if step in _OF_DEPLOYMENTS else 1
                of.store.set_step_time(of.campaign.id, where, of.plan.engine, took, number)
        except BenchlabError as error:  # estimates are no reason for a campaign to fail
            of.note("plan", "warning", f"how long steps took is not kept: {error}")
