"""Campaigns at work: how far they are, how long they will take, and what they have cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from benchlab.campaign import money
from benchlab.campaign.progress import ProgressLog, ProgressNote, TimeLeft
from benchlab.plan.fields.budget import APPROVAL_DAYS
from benchlab.results.records import Campaign
from benchlab.site.page import Site

# A campaign that is silent for longer than this plus twice one of its trials may be dead.
_SILENCE = timedelta(minutes=30)
_AFTER_TRIALS = ("check", "diagnose", "validate", "publish", "verdict", "give back")


@dataclass(frozen=True)
class AtWork:
    """A campaign at work.

    Attributes:
        step: the last one noted; None if its progress is not on this machine.
        done: how many trials are measured, by its progress.
        at: when it noted the step.
        left: the estimated remaining time; None if not known.
        is_late: whether the estimated time is over.
        dollars: the cost so far; None if nothing is rented, or it is not known here.
        is_silent: whether it noted nothing for so long that it may have been interrupted.
    """

    campaign: Campaign
    step: ProgressNote | None
    done: int
    at: datetime | None
    left: timedelta | None
    is_late: bool
    dollars: float | None
    is_silent: bool

    @property
    def planned(self) -> int:
        """The number of planned trials."""
        return len(self.campaign.wanted.trials)

    @property
    def versions(self) -> list[str]:
        """The versions of its sides, the candidate first, as in titles."""
        return [side.label for side in reversed(self.campaign.plan.sides.values())]

    @property
    def trial(self) -> int | None:
        """The number of the current trial; None if its step is not one of a trial."""
        if self.step is None or self.step.done is None or self.step.total is None:
            return None
        return min(self.step.done + 1, self.step.total)


def all_at_work(site: Site) -> list[AtWork]:
    """The campaigns at work that the reader may see, the latest first."""
    running = reversed(site.store.campaigns(state="running"))
    return [at_work(site, campaign) for campaign in running if site.shows(campaign.plan.report)]


def at_work(site: Site, campaign: Campaign) -> AtWork:
    """The state of a campaign at work, as of :attr:`Site.now`."""
    directory = site.home.campaign(campaign.id)
    steps, _ = ProgressLog(directory / "progress.jsonl").read()
    estimate = TimeLeft(60 * campaign.plan.minutes)
    for step in steps:
        estimate.see(step)
    last = steps[-1] if steps else None
    at = datetime.fromtimestamp(last.at, UTC) if last else None
    seconds = estimate.seconds(site.now.timestamp())
    spec = campaign.report_type
    patience = _SILENCE + 2 * timedelta(seconds=spec.seconds + spec.warmup_seconds)
    if last and last.is_wait:
        patience = timedelta(days=APPROVAL_DAYS)
    return AtWork(
        campaign=campaign,
        step=last,
        done=_done(steps),
        at=at,
        left=None if seconds is None else timedelta(seconds=seconds),
        is_late=seconds == 0,
        dollars=money.dollars_so_far(directory, campaign.environment, site.now),
        is_silent=at is not None and site.now - at > patience,
    )


def _done(steps: Sequence[ProgressNote]) -> int:
    """How many trials are measured; the latest counts once a stage after the trials began."""
    numbers = [number for number, step in enumerate(steps) if step.done is not None]
    if not numbers:
        return 0
    latest, *after = steps[numbers[-1] :]
    is_over = bool(after) and after[0].stage in _AFTER_TRIALS
    return (latest.done or 0) + is_over
