"""Discrepancies of an audit, and rows that recompute, for tests."""

from __future__ import annotations

from benchlab.published.audit.audit import audit
from benchlab.published.audit.discrepancy import Discrepancy
from benchlab.published.model import PublishedReport
from tests.audited import (
    table,
)

FASTER = table((4, "1000", "1100"), (8, "2000", "2400"), (16, "3000", "3930"))  # 10, 20, 31 %


def found_in(*reports: PublishedReport) -> list[Discrepancy]:
    """All discrepancies of the last of them."""
    return list(audit(reports)[-1].discrepancies)


def kinds(*reports: PublishedReport) -> list[str]:
    """Their kinds."""
    return [discrepancy.kind for discrepancy in found_in(*reports)]
