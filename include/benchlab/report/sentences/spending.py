"""What a month's campaigns have spent and committed, in a sentence for terminal and approval."""

from __future__ import annotations

from benchlab.results.spending import Month


def sentence(found: Month, limit: float | None) -> str:
    """What is spent and committed of the month's budget.

    Example:
        ``2026-11: 412.30 dollars are spent, and 90.00 committed by 1 campaign, of 1,000.00``
    """
    said = f"{found.month}: {found.spent:,.2f} dollars are spent"
    if count := len(found.open):
        plural = "s" * (count > 1)
        said += f", and up to {found.committed:,.2f} more committed by {count} campaign{plural}"
    return said if limit is None else f"{said}, of {limit:,.2f}"
