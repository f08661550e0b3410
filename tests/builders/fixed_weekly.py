"""The house's weekly report type with a fixed plan, as people write one.

Its baseline moves from build to build, and some weeks measure noise or a release instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from benchlab.campaign import overrides, report_types
from benchlab.home import Home
from benchlab.plan.report_type import ReportSpec

NAME = "sysbench_ec2_weekly"
FIELDS: dict[str, Any] = {
    "design": "fixed",
    "engines.tidb.baseline.version": "last good",
    "rounds": 6,
    "deployments": 2,
    "budget": {"approve_above": 60, "limit": 60},
    "schedule": {"runs": "weekly", "cron": "0 2 * * 1", "aa_every": 4, "release_every": 4},
}


def load(home: Home) -> ReportSpec:
    """The report type."""
    return overrides.override(report_types.load(report_types.find_report(home, NAME)), FIELDS)


def write(configs: Path) -> None:
    """Put it in place of the house's own, in a copy of the house's configuration."""
    path = configs / "reports" / f"{NAME}.yaml"
    spec = overrides.override(report_types.load(path), FIELDS)
    path.write_text(yaml.safe_dump(spec.model_dump(mode="json", exclude_none=True)))
