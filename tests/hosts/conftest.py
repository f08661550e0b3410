"""Hosts with a real sshd, on this machine; root only."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from xdist.remote import Producer

from benchlab.engines.tidb import stalls
from benchlab.hosts.fleet import FleetHost
from benchlab.hosts.ssh.executor import SSHExecutor
from benchlab.hosts.ssh.link import Limits
from tests.hosts.cloud import Cloud
from tests.hosts.namespaces import USER, NamespaceHost, Namespaces, new_key, own, unused
from tests.layers import Spread, longest_first

# What a host is made of: namespaces, an overlay over the root, a link to another namespace.
_TRY = """
exec unshare --net --pid --mount --uts --fork sh -ec '
    mount -t tmpfs layers "$1"
    mkdir "$1/upper" "$1/work" "$1/merged"
    mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" overlay "$1/merged"
    ip link add hosts type bridge
    ip link add one type veth peer name other
' try "$1"
"""
NEEDED = ("/usr/sbin/sshd", "ip", "unshare", "nsenter", "sudo", "setsid", "flock")


LONGEST = (
    "test_fleet_dag",
    "test_watch_fleet",
    "test_campaign",
    "test_owned_hosts",
    "test_cluster",
)
# Their tests share nothing, not even a host.
SEPARATE = ("test_campaign", "test_watch_fleet")


@cache
def missing() -> str | None:
    """Why there can be no hosts here; None where there can."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    lacking = [name for name in NEEDED if shutil.which(name) is None]
    if lacking:
        return f"not installed: {', '.join(lacking)}"
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run(
            ["sh", "-c", _TRY, "try", folder], capture_output=True, text=True, check=False
        )
    if tried.returncode:
        return f"this kernel or container allows no network namespaces: {tried.stderr.strip()}"
    return None


@pytest.fixture(autouse=True)
def _stalls_are_counted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in counts nothing late, so that no run that writes is followed by a rest."""
    monkeypatch.setattr(stalls, "LAG_S", 0.0)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Spread:
    """Which worker runs which tests."""
    return Spread(config, log, SEPARATE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests; where there can be no hosts, skip them, with the reason."""
    longest_first(items, LONGEST)
    if reason := missing():
        here = Path(__file__).parent
        for item in items:
            if here in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def ssh_key() -> tuple[str, str]:
    """The key with which `admin` logs in: private, public."""
    return new_key("benchlab tests")


@pytest.fixture(scope="module")
def namespaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespaces]:
    """A network without a host yet; it is gone afterwards."""
    with unused(tmp_path_factory.mktemp("hosts")) as found:
        yield found


@pytest.fixture(scope="session")
def fleet_host() -> Callable[..., FleetHost]:
    """A host as a fleet knows it."""

    def described(host: NamespaceHost, name: str = "tikv-1") -> FleetHost:
        return FleetHost(
            name=name,
            roles=("tikv",),
            address=host.address,
            ssh_address=host.address,
            user=USER,
            host_key=host.host_key,
            data=Path("/data"),
        )

    return described


NUMBERS = itertools.count(100)


@pytest.fixture
def host(namespaces: Namespaces, ssh_key: tuple[str, str]) -> Iterator[NamespaceHost]:
    """A host of the test's own."""
    made = namespaces.add(f"{namespaces.gateway[:-1]}{next(NUMBERS)}", ssh_key[1])
    yield made
    if made.address in namespaces.addresses:
        namespaces.remove(made.address)


@pytest.fixture
def make(
    host: NamespaceHost, ssh_key: tuple[str, str], fleet_host: Callable[..., FleetHost]
) -> Iterator[Callable[..., SSHExecutor]]:
    """Makes executors of the host."""
    made: list[SSHExecutor] = []

    def make(campaign: str = "c1", limits: Limits | None = None, **changed: object) -> SSHExecutor:
        to = replace(fleet_host(host), **changed)  # type: ignore[arg-type]
        name = own(campaign)
        made.append(SSHExecutor(to, ssh_key[0], name, Path("/home/admin/x"), limits=limits))
        return made[-1]

    yield make
    for executor in made:
        executor.close()


@pytest.fixture
def executor(make: Callable[..., SSHExecutor]) -> SSHExecutor:
    """An executor of the host."""
    return make()


@pytest.fixture(scope="module")
def cloud_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """One process for all tests of this file."""
    with Cloud(tmp_path_factory.mktemp("cloud")) as made:
        yield made


@pytest.fixture
def cloud(cloud_process: Cloud) -> Cloud:
    """AWS with nothing in it."""
    cloud_process.reset()
    return cloud_process
