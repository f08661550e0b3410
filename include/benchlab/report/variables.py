"""What a report says of the sides' effective variables: see :mod:`benchlab.variables`."""

from __future__ import annotations

from benchlab import variables
from benchlab.results import Campaign
from benchlab.variables import Difference, Differences

__all__ = ["Difference", "Differences", "differences"]


def differences(campaign: Campaign) -> Differences:
    """Compare the sides' effective variables; what was asked for stands apart."""
    return variables.differences(campaign.facts, campaign.plan.sides)
