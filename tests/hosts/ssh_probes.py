"""What the tests of SSH ask of a host besides its executor."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchlab.errors import TargetError
from benchlab.hosts.fleet import FleetHost
from benchlab.hosts.ssh.executor import SSHExecutor
from tests.hosts.namespaces import NamespaceHost

Describe = Callable[..., FleetHost]


def until(condition: Callable[[], object]) -> None:
    """Wait for something that comes; the test's own time limit is the only one."""
    while not condition():
        time.sleep(0.01)


def programs(host: NamespaceHost, name: str) -> int:
    """How many processes of a name run on a host."""
    return int(host.run(f"ps -C {name} --no-headers | grep -vc defunct", check=False).stdout)


def connections(host: NamespaceHost) -> int:
    """How many SSH connections a host has."""
    return len(host.run("ss -Htn state established sport = :22").stdout.splitlines())


def succeeds(executor: SSHExecutor) -> bool:
    """Whether a command is run; not where the connection turns out to be lost."""
    try:
        return executor.run(["echo", "x"]).stdout == "x\n"
    except TargetError:
        return False
