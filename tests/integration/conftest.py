"""What the integration tests run on: real servers in a home of their own."""

from __future__ import annotations

import pytest
from xdist.remote import Producer

from tests.layers import Spread, longest_first
from tests.machine import machine, servers

__all__ = ["machine", "servers"]

SEPARATE = ("test_demo", "test_campaign", "test_tpcc_campaign")
LONGEST = ("test_backfill", "test_team", "test_services", *SEPARATE)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Spread:
    """Which worker runs which tests."""
    return Spread(config, log, SEPARATE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests."""
    longest_first(items, LONGEST)
