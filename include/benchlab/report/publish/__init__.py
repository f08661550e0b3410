"""The publishers of reports: every module of this package that has a class ``Publisher``."""

from __future__ import annotations

from functools import cache

from benchlab.discovery import members
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan.fields.publish import Destination
from benchlab.report.publish.publisher import BasePublisher, Options


@cache
def by_name() -> dict[str, type[BasePublisher]]:
    """Publisher classes by module name, such as ``files`` and ``s3``."""
    modules = members("benchlab.report.publish", "Publisher").items()
    return {name: module.Publisher for name, module in modules}


def publisher_of(destination: Destination, home: Home, access: Access) -> BasePublisher:
    """Create the publisher of a destination; its options have to be valid."""
    return by_name()[destination.to](_options(destination), home, access)


def place(destination: Destination) -> str:
    """A destination's place, for people: ``files``, or ``s3://bucket/prefix``."""
    return _options(destination).place


def _options(destination: Destination) -> Options:
    return by_name()[destination.to].options_model.model_validate(destination.options)
