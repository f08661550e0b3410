"""What a report type has measured is read from its campaigns in the store."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from benchlab.campaign.measured_versions import measured_by
from benchlab.plan.last_measured import MeasuredVersion
from tests.builders import plans, weekly
from tests.builders.weekly import REPORT, Weeks


def found(weeks: Weeks, engine: str = "mariadb") -> list[MeasuredVersion]:
    """By the campaigns of the store, the latest first."""
    return list(measured_by(weeks.home, weeks.store, REPORT)(engine))


def test_candidates_of_complete_comparisons_are_measured(tmp_path: Path) -> None:
    """Not of A/A campaigns, of failed ones, of those slowed down, nor of another engine."""
    with weekly.installation(tmp_path) as weeks:
        first = weeks.add(candidate="10.11.5")
        weeks.add_aa(0.0)
        weeks.add(candidate="10.11.6", state="failed")
        weeks.add(candidate="10.11.7", slowdown_pct=20)
        # Placed at the moment whose versions it has.
        past = weeks.add(candidate="10.11.4", planned_for=plans.START - timedelta(weeks=9))
        last = weeks.add(candidate="11.4.5")
        assert [(known.version, known.by) for known in found(weeks)] == [
            ("11.4.5", last),
            ("10.11.5", first),
            ("10.11.4", past),
        ]
        assert found(weeks)[1].on == plans.START.date()
        assert found(weeks, "tidb") == []


def test_a_regression_in_one_workload_is_not_good(tmp_path: Path) -> None:
    """An improvement is, and so is what shows no change."""
    with weekly.installation(tmp_path) as weeks:
        for change in (0.0, 0.1, -0.1):
            weeks.add(change=change, noise=0.0, rounds=6, deployments=6)
        assert [known.is_good() for known in found(weeks)] == [False, True, True]


def test_a_campaign_that_may_hide_a_loss_is_not_good(tmp_path: Path) -> None:
    """Nobody knows what another deployment would have shown: a step could be passed on unseen."""
    with weekly.installation(tmp_path) as weeks:
        for deployments in (1, 6):
            weeks.add(change=0.0, noise=0.0, rounds=6, deployments=deployments)
        assert [known.is_good() for known in found(weeks)] == [True, False]
