"""What the integration tests run on: real servers in a home of their own."""

from __future__ import annotations

import pytest

from tests.machine import machine, servers

__all__ = ["machine", "servers"]

# Minutes each, in the order of their time; the others take seconds.
LONGEST = ("test_backfill", "test_campaign", "test_scheduler", "test_demo", "test_tpcc_campaign")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that two workers end at about the same time."""
    items.sort(key=lambda item: [*LONGEST, item.path.stem].index(item.path.stem))
