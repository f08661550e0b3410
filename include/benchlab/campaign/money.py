"""Whether a campaign may go on: what its hosts may still cost, and why it measures no more.

Example:
    ``Money(campaign, target).allows("another trial", minutes)``
"""

from __future__ import annotations

from benchlab.campaign.stored import StoredCampaign
from benchlab.plan.spending import Spending
from benchlab.results.records import STOPPED, Stop
from benchlab.targets.target import Deployment


class Money:
    """What one campaign's hosts may cost; where it does not suffice, the campaign stops measuring.

    Attributes:
        spent: when it was last asked for; None where nothing is rented.
    """

    def __init__(self, of: StoredCampaign, deployment: Deployment) -> None:
        self.store, self.campaign, self._note = of.store, of.campaign, of.note
        self._deployment = deployment
        self.spent: Spending | None = None

    def stopped(self) -> Stop | None:
        """Why no more trials are measured, though some are left; None if they are.

        What the hosts may still cost does not suffice for another trial with all that follows, or
        hosts were lost and could not be replaced.
        """
        found: Stop | None = self.store.campaign(self.campaign.id).environment.get(STOPPED)  # type: ignore[assignment]
        return found

    def allows(self, what: str, minutes: float) -> bool:
        """Whether the hosts may be used so much longer for something; if not, it stops."""
        self.spent = spending = self._deployment.spending()
        if spending is None or spending.allows(minutes):
            return True
        stop: Stop = "limit" if spending.ends_by_limit else "lifetime"
        self.stop(
            stop,
            f"{spending} spent; {what} takes about "
            f"{minutes:.1f} min of the {spending.minutes_left:.1f} min that are left until "
            + ("the limit is reached" if stop == "limit" else "the hosts end themselves"),
        )
        return False

    def stop(self, stop: Stop, why: str) -> None:
        """Measure no more trials."""
        self.store.add_to_environment(self.campaign.id, STOPPED, stop)
        self._note("measure", "stopped", why)
