"""What the steps of a campaign took, for the estimates of later plans."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import cast

from benchlab import targets
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import BenchlabError
from benchlab.plan.rates import StepTime, TimedStep
from benchlab.plan.report_type import Side
from benchlab.plan.steps import sizes
from benchlab.results.records import TrialResult

# Steps that a campaign has once for each deployment.
_OF_DEPLOYMENTS = frozenset({"deploy", "load", "restore dataset", "analyze", "check", "back up"})
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


class StepClock:
    """Times the steps of one campaign that runs, and keeps in the store what they took.

    The marks of when each began are in the campaign's directory, so that another process can end
    what this one began. A step that was begun twice is not kept, nor is any of a resumed campaign:
    it meets what an earlier try has left.

    Args:
        deployment: the number of the deployment that is prepared now.
    """

    def __init__(self, of: StoredCampaign, deployment: Callable[[], int]) -> None:
        self._of, self._deployment = of, deployment
        self._directory = of.directory
        self._interrupted = of.directory / "resumed"

    @property
    def resumed(self) -> bool:
        """Whether the campaign was interrupted, so that its steps took other times than usual."""
        return self._interrupted.exists()

    def start_anew(self) -> None:
        """Forget what has begun; if anything had, the campaign is resumed."""
        for mark in self._directory.glob("*.begun"):
            mark.unlink()
            self._interrupted.touch()

    def starts(self, phase: str, side: Side | None = None) -> bool:
        """Note when a stage begins; False if an earlier try of it had begun."""
        mark = self._mark(phase, side)
        is_first = not mark.exists()
        counts = is_first and not self.resumed
        mark.write_text(f"{time.time()}" if counts else "", encoding="ascii")
        return is_first

    def ended(self, phase: str, side: Side | None = None, step: TimedStep | None = None) -> None:
        """Keep what a stage took, for later plans."""
        if (took := self.took(phase, side)) is not None:
            self.keep((step or cast(TimedStep, phase), side, took))

    def forget(self) -> None:
        """What the stages that have begun and not ended yet take is no example for later plans."""
        for mark in self._directory.glob("*.begun"):
            mark.write_text("", encoding="ascii")

    def took(self, phase: str, side: Side | None) -> float | None:
        """Seconds since a stage began; None if it was begun more than once."""
        begun = self._mark(phase, side).read_text(encoding="ascii")
        return max(time.time() - float(begun), 0.0) if begun else None

    def keep(self, *times: tuple[TimedStep, Side | None, float]) -> None:
        """Keep what steps took, in seconds; why that cannot be done is noted."""
        of, where = self._of, self._of.spec.topology or self._of.spec.target
        try:
            large = sizes(of.spec, targets.load_topology(of.home, of.spec))
            for step, side, seconds in times:
                took = StepTime(step, side, round(seconds, 3), large[step])
                number = self._deployment() if step in _OF_DEPLOYMENTS else 1
                of.store.set_step_time(of.campaign.id, where, of.plan.engine, took, number)
        except BenchlabError as error:  # no campaign fails for the estimates of later ones
            of.note("plan", "warning", f"what steps took is not kept: {error}")

    def _mark(self, phase: str, side: Side | None) -> Path:
        name = phase.replace(" ", "-") + (f"-{side}" if side else "")
        if side and (number := self._deployment()) > 1:
            name += f"-{number}"
        return self._directory / f"{name}.begun"
