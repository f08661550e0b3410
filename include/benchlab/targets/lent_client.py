"""A host, lent through a Connection, on which the client of an existing cluster runs.

It is used like an owned host (:mod:`benchlab.targets.owned`): with a key and a lock of the
campaign's own, and nothing of the campaign is left on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from secrets import token_hex

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.hosts.executor import Executor
from benchlab.hosts.fleet import FleetHost
from benchlab.plan.topology import HostsTopology, OwnedHost
from benchlab.targets import fleet_files, owned

NAME = "client"
DATA = "/var/tmp"  # noqa: S108 (the campaign's directory in it is made by its own account)


class LentClient(owned.Target):
    """One host, which an ``ssh`` Connection leads to.

    Example:
        ``LentClient(home, "c1", plan, spec, Access()).acquire("test")`` opens it to the campaign.
    """

    @cached_property
    def named_topology(self) -> HostsTopology:
        """A topology of this host alone, without the roles that only a cluster needs."""
        return _topology(self.access, _connection(self.spec.client.connection))

    def make_ready(self) -> None:
        """Make the campaign's directory on the host, and check that the host has the programs.

        Raises:
            UnavailableError: a program is missing; names the package.
        """
        self._make_ready(self.fleet.client)

    def facts(self) -> dict[str, str]:
        """A description of the host, for the report."""
        return {"client_hosts": f"1 x {self._describe(self.fleet.client)}"}


@contextmanager
def visited(access: Access, connection: str) -> Iterator[tuple[Executor, Path]]:
    """A lent host that no campaign has taken, and a directory there that is removed at the end.

    Raises:
        TargetError: the Connection cannot be used, or the host cannot be reached.
    """
    login, host = access.ssh(connection), host_of(access, connection)
    name = f"asked-{token_hex(4)}"
    with fleet_files.log_in(host, login.key, name) as executor:
        directory = Path(DATA) / f"benchlab-{name}"
        try:
            yield executor, directory
        finally:
            executor.run(["rm", "-rf", str(directory)])


def host_of(access: Access, connection: str) -> FleetHost:
    """The host that a Connection leads to."""
    (host,) = _topology(access, connection).fleet().hosts
    return host


def _topology(access: Access, connection: str) -> HostsTopology:
    login = access.ssh(connection)
    host = OwnedHost.model_construct(
        name=NAME,
        address=login.host,
        roles=("client",),
        host_key=login.host_key,
        ssh_port=login.port,
    )
    # Not validated: a cluster's roles are missing.
    return HostsTopology.model_construct(
        kind="hosts", ssh=connection, user=login.user, data=DATA, hosts=(host,)
    )


def _connection(name: str | None) -> str:
    if name is None:
        raise TargetError("client.connection: missing; the client is this machine")
    return name
