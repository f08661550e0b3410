"""What a campaign's hosts have cost and may still cost, and whether it stopped measuring.

Example:
    ``Money(campaign, target).allows("another trial", minutes)``
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchlab.campaign import reserving
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import TargetError
from benchlab.home import Home
from benchlab.plan.fields import budget
from benchlab.plan.spending import Spending
from benchlab.results.records import SPENT, STOPPED, Stop
from benchlab.results.store import Store
from benchlab.targets import fleet_files
from benchlab.targets.cloud import lease_file
from benchlab.targets.ec2 import rental_file
from benchlab.targets.target import BaseTarget, Deployment


def dollars_so_far(state: Path, environment: Mapping[str, str], now: datetime) -> float | None:
    """About how many dollars a campaign's rented hosts, or its cluster, have cost until ``now``.

    The largest figure of its report, of the file of earlier rentals and of what it rents now: hosts
    that could not be given back cost more than its report says.

    Args:
        state: the campaign's directory on this machine.
        environment: of the stored campaign.

    Returns:
        None if unknown: it has rented nothing, or from another machine.
    """
    known = [float(environment[SPENT])] if SPENT in environment else []
    if (state / fleet_files.SPENT_FILE).exists():
        with contextlib.suppress(TargetError):  # a damaged file is ignored
            known.append(rental_file.spent_before(state))
    rentals = [rental_file.read(state)]
    with contextlib.suppress(TargetError):
        rentals.append(lease.rental if (lease := lease_file.read(state)) else None)
    spendings = (rental.spending(now) for rental in rentals if rental is not None)
    known += [spending.dollars for spending in spendings if spending is not None]
    return max(known, default=None)


def reserve(of: StoredCampaign, target: BaseTarget) -> None:
    """Record the most that a campaign may cost and the vCPUs that it needs, if both are left.

    Nothing is recorded of one that rents nothing. Of two that ask at the same time, one is first.

    Raises:
        LockHeldError, SpecError, TargetError: as :func:`reserving.check`.
    """
    if not target.can.rents:
        return
    quotas, now = target.quotas(), datetime.now(UTC)
    asked = reserving.record(of.campaign.id, of.plan, of.spec.budget, quotas, now)
    if asked is not None:
        month = budget.shared(of.home.budget).month
        of.store.spending.begin(asked, partial(reserving.check, asked, month=month, quotas=quotas))


def close(home: Home, store: Store, campaign: str) -> None:
    """Record what a campaign that was given back has cost, and that it holds nothing more."""
    known, now = store.environment(campaign), datetime.now(UTC)
    store.spending.end(campaign, dollars_so_far(home.campaign(campaign), known, now))


class Money:
    """Watches what one campaign's hosts may cost, and ends measuring when that does not suffice.

    Attributes:
        spent: as of the last :meth:`allows`; None before it, and if nothing is rented.
    """

    def __init__(self, of: StoredCampaign, deployment: Deployment) -> None:
        self.store, self.campaign, self._note = of.store, of.campaign, of.note
        self._deployment = deployment
        self.spent: Spending | None = None

    def stopped(self) -> Stop | None:
        """Why the campaign measures no more trials though some are left; None if it does.

        For example, the budget does not suffice for another trial with all that follows, or lost
        hosts could not be replaced.
        """
        found: Stop | None = self.store.campaign(self.campaign.id).environment.get(STOPPED)  # type: ignore[assignment]
        return found

    def pays_for(self, minutes: float) -> bool:
        """Whether the hosts may be used for this many more minutes; measuring goes on either way"""
        spending = self._deployment.spending()
        return self.stopped() is None and (spending is None or spending.allows(minutes))

    def allows(self, what: str, minutes: float) -> bool:
        """Whether the hosts may be used for this many more minutes; if not, measuring stops.

        Args:
            what: names the purpose in the note.
        """
        self.spent = spending = self.record()
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

    def record(self) -> Spending | None:
        """What the hosts have cost so far, which the store is told as well."""
        if (spending := self._deployment.spending()) is not None:
            self.store.spending.keep(self.campaign.id, spending.dollars, spending.region)
        return spending

    def stop(self, stop: Stop, why: str) -> None:
        """Record that no more trials are measured."""
        self.store.add_to_environment(self.campaign.id, STOPPED, stop)
        self._note("measure", "stopped", why)
