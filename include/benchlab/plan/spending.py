"""What a campaign's rented hosts have cost so far, and whether another step can be paid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Spending:
    """What a campaign's hosts have cost up to one moment.

    The whole fleet counts from when the campaign began to rent, so that the figure is never below
    the bill.

    Attributes:
        dollars: so far, with what earlier fleets of the campaign cost.
        limit: ``budget.limit``, in dollars.
        usd_per_minute: of the whole fleet.
        minutes_left: until the fleet ends itself, at the latest when it has cost the limit.
        region: where the fleet is, or was tried last.
    """

    dollars: float
    limit: float
    usd_per_minute: float
    minutes_left: float
    region: str = ""

    def allows(self, minutes: float) -> bool:
        """Whether the hosts may be used for that much longer, including giving them back.

        Example:
            ``spending.allows(trial_minutes(spec, trial) + minutes_after_trials(plan.steps))``
        """
        return minutes <= self.minutes_left

    def after(self, minutes: float) -> float:
        """The dollars that will have been spent if the hosts are given back after that time."""
        return self.dollars + minutes * self.usd_per_minute

    @property
    def ends_by_limit(self) -> bool:
        """Whether the hosts will end because of the limit, not because their time is over."""
        return self.after(self.minutes_left + 1) > self.limit

    def __str__(self) -> str:
        return f"{self.dollars:.2f} of {self.limit:.2f} dollars"


@dataclass(frozen=True)
class Quota:
    """vCPUs of one quota of the account in one region.

    Attributes:
        code: the quota's, such as ``L-1216C47A``.
        needed: by the fleet that is asked for.
        allowed: by the account.
        used: now, by campaign; those of no campaign under an empty text.
    """

    code: str
    region: str
    needed: int
    allowed: float
    used: Mapping[str, int]
