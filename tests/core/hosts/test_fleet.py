"""Work on several hosts at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchlab.errors import TargetError
from benchlab.hosts.fleet import FleetHost, on_all

HOSTS = [FleetHost(name, ("tikv",), name, name, "admin", "", Path("/data")) for name in "ab"]


def test_hosts_that_failed_are_named_once() -> None:
    """Whether the fault names its host or not."""

    def fail(host: FleetHost) -> None:
        raise TargetError(f"{host.name}: no room" if host.name == "a" else "no sudo")

    with pytest.raises(TargetError) as caught:
        on_all(HOSTS, fail)
    assert str(caught.value) == "failed on 2 of 2 hosts:\na: no room\nb: no sudo"
