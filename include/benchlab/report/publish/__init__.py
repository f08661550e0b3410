"""Where a report goes. A module of this package that has a ``Publisher`` is a publisher."""

from __future__ import annotations

from functools import cache

from benchlab.discovery import members
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan.fields.publish import Destination
from benchlab.report.publish.publisher import BasePublisher, Options


@cache
def by_name() -> dict[str, type[BasePublisher]]:
    """Publisher classes by name, such as ``files`` and ``s3``."""
    modules = members("benchlab.report.publish", "Publisher").items()
    return {name: module.Publisher for name, module in modules}


def publisher_of(destination: Destination, home: Home, access: Access) -> BasePublisher:
    """The publisher of a destination whose report type has been checked."""
    return by_name()[destination.to](_options(destination), home, access)


def place(destination: Destination) -> str:
    """Where a destination is, for people: the ``place`` of its options, such as ``files``."""
    return _options(destination).place


def _options(destination: Destination) -> Options:
    return by_name()[destination.to].options_model.model_validate(destination.options)
