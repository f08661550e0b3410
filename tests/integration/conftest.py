"""What the integration tests run on: real servers in a home of their own."""

from __future__ import annotations

import pytest

from tests.layers import spread
from tests.machine import machine, servers

__all__ = ["machine", "servers"]

SEPARATE = ("test_demo", "test_campaign", "test_tpcc_campaign")
LONGEST = ("test_backfill", "test_scheduler", *SEPARATE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the tests."""
    spread(items, LONGEST, SEPARATE)
