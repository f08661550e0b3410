"""What `benchlab doctor` says of the release calendar."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from benchlab import doctor
from tests.core.installation import Here

TODAY = datetime.now(UTC).date()
OLD = "v6.4.0,2022-11-17,DMR\nv6.5.0,2022-12-29,LTS\n"


@pytest.mark.parametrize(
    ("version", "day", "recent"),
    [
        ("v6.5.1,{},patch", TODAY, True),
        ("v6.5.1,{},patch", TODAY - timedelta(weeks=27), False),
        # Nobody compares it.
        ("v9.0.0-rc.1,{},pre-release", TODAY, False),
    ],
)
def test_a_calendar_that_nobody_updates_is_noted(
    here: Here, version: str, day: date, recent: bool
) -> None:
    """With the report types whose schedules rest on it; nothing is blocked by it."""
    path = here.home.configs / "releases.csv"
    path.write_text(f"version,release_date,type\n{OLD}{version.format(day)}\n")
    (found,) = [each for each in doctor.examine(here.home) if each.what == "release calendar: tidb"]
    assert found.good is recent
    assert not found.blocks
    assert recent or "sysbench_ec2, sysbench_ec2_weekly may miss new ones" in found.detail
