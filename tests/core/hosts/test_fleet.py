"""Work on several hosts at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchlab.errors import TargetError, UnreachableError
from benchlab.hosts.fleet import FleetHost, on_all

HOSTS = [FleetHost(name, ("tikv",), name, name, "admin", "", Path("/data")) for name in "ab"]


def test_hosts_that_failed_are_named_once() -> None:
    """Whether the fault names its host or not."""

    def fail(host: FleetHost) -> None:
        raise TargetError(f"{host.name}: no room" if host.name == "a" else "no sudo")

    with pytest.raises(TargetError) as caught:
        on_all(HOSTS, fail)
    assert str(caught.value) == "failed on 2 of 2 hosts:\na: no room\nb: no sudo"


def test_a_link_that_is_down_to_all_hosts_may_come_back() -> None:
    """It is tried again, as where one host is away; not where another fault is among them."""

    def lose(host: FleetHost) -> None:
        raise UnreachableError(f"{host.name} cannot be reached")

    def lose_one(host: FleetHost) -> None:
        raise (UnreachableError if host.name == "a" else TargetError)(f"{host.name}: no")

    with pytest.raises(UnreachableError, match="failed on 2 of 2 hosts:\na: a cannot be reached"):
        on_all(HOSTS, lose)
    with pytest.raises(TargetError, match="failed on 2") as caught:
        on_all(HOSTS, lose_one)
    assert not isinstance(caught.value, UnreachableError)
