"""`make bench`: what can be known of it without measuring."""

from __future__ import annotations

import pytest

from tools.bench import campaign


@pytest.mark.parametrize(
    ("size", "trials"),
    [
        (campaign.FULL, 24),
        (campaign.QUICK, 4),
        (campaign.MANY, 120),
        (campaign.MANY_QUICK, 6),
    ],
)
def test_the_campaign_that_is_timed_has_a_plan(size: tuple[str, ...], trials: int) -> None:
    """It is read from what `benchlab plan --json` prints, whatever that says beside the plan."""
    assert len(campaign.planned([*campaign.COMMON, *size]).trials) == trials
