"""The hosts of a campaign, by role, and functions that work on all of them in parallel."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import pydantic

from benchlab.errors import BenchlabError, TargetError, UnreachableError, meaning_of

Role = Literal["pd", "tikv", "tidb", "client"]
ROLES: tuple[Role, ...] = ("pd", "tikv", "tidb", "client")

MIRRORS = "TIUP_MIRRORS"
"""The environment variable that tells TiUP its mirror."""

Host = TypeVar("Host")
Result = TypeVar("Result")


@dataclass(frozen=True)
class FleetHost:
    """One host of a fleet, and how to reach it.

    Attributes:
        name: its name in the fleet: ``tikv-2``.
        roles: what runs on it; a rented host has one, an owned host may have several.
        address: its address for the other hosts of the fleet.
        ssh_address, ssh_port, user: how Benchlab logs in; the user has ``sudo`` without a password.
        host_key: its expected public key, such as ``ssh-ed25519 AAAA...``. A host that shows
            another key is refused.
        data: directory for data and snapshots, on one file system.
        instance: the id of the EC2 instance; None for an owned host.
        let_in: the address range (CIDR) of this machine that the host's network lets in; None if
            unknown.
        tiup_mirror: the mirror that TiUP uses there; None for TiUP's default.
    """

    name: str
    roles: tuple[Role, ...]
    address: str
    ssh_address: str
    user: str
    host_key: str
    data: Path
    ssh_port: int = 22
    instance: str | None = None
    let_in: str | None = None
    tiup_mirror: str | None = None


@dataclass(frozen=True)
class Fleet:
    """The hosts of one campaign: ``fleet.with_role("pd", "tikv")``.

    Raises:
        TargetError: from :attr:`client`, if there is not exactly one.
    """

    hosts: tuple[FleetHost, ...]

    def with_role(self, *roles: Role) -> tuple[FleetHost, ...]:
        """The hosts that have any of these roles, each once."""
        return tuple(host for host in self.hosts if set(host.roles) & set(roles))

    @property
    def client(self) -> FleetHost:
        """The host that generates the load."""
        clients = self.with_role("client")
        if len(clients) != 1:
            raise TargetError(f"a fleet has one client host, this one has {len(clients)}")
        return clients[0]

    def to_json(self) -> list[dict[str, Any]]:
        """The form in which ``fleet.json`` in a campaign's directory keeps it."""
        return [{**asdict(host), "data": str(host.data)} for host in self.hosts]

    @classmethod
    def from_json(cls, raw: Iterable[dict[str, Any]]) -> Fleet:
        """The inverse of :meth:`to_json`."""
        return cls(tuple(pydantic.TypeAdapter(list[FleetHost]).validate_python([*raw])))


def on_all(hosts: Iterable[FleetHost], work: Callable[[FleetHost], Result]) -> dict[str, Result]:
    """Run ``work`` on all hosts in parallel, on every one even if some fail; results by name.

    Example:
        ``on_all(fleet.hosts, lambda host: executor_of(host).end_processes())``

    Raises:
        BenchlabError: names every host on which it failed, and why; an UnreachableError if none of
            these could be reached, as then it is perhaps this machine's own link, which may come
            back. A single failure is raised unchanged; so is the first of several if it is not a
            BenchlabError.
    """
    results, failures = at_once({host.name: partial(work, host) for host in hosts})
    if not failures:
        return results
    first = next(iter(failures.values()))
    if len(failures) == 1 or not isinstance(first, BenchlabError):
        raise first
    # Errors that may be raised alone already name their host.
    whole = {name: str(error).removeprefix(f"{name}: ") for name, error in failures.items()}
    text = "\n".join(f"{name}: {said}" for name, said in whole.items())
    number = len(failures) + len(results)
    is_link = all(isinstance(error, UnreachableError) for error in failures.values())
    kind = UnreachableError if is_link else TargetError
    raise kind(f"failed on {len(failures)} of {number} hosts:\n{text}") from first


def try_on_all(
    hosts: Mapping[str, Host], work: Callable[[Host], Result]
) -> tuple[dict[str, Result], dict[str, str]]:
    """Run ``work`` on all hosts in parallel: results, and reasons for failure, each by name.

    Errors other than those of Benchlab, the operating system and subprocesses are raised.
    """
    results, failures = at_once({name: partial(work, host) for name, host in hosts.items()})
    for error in failures.values():
        if not isinstance(error, BenchlabError | OSError | subprocess.SubprocessError):
            raise error
    return results, {host: _why(error) for host, error in failures.items()}


def _why(error: BaseException) -> str:
    """What went wrong, with the file concerned."""
    about = getattr(error, "filename", None) if isinstance(error, OSError) else None
    return meaning_of(error) if about is None else f"{about}: {meaning_of(error)}"


def at_once(
    work: Mapping[str, Callable[[], Result]],
) -> tuple[dict[str, Result], dict[str, BaseException]]:
    """Call all of these in parallel: results of those that succeeded, errors of the others."""
    if not work:
        return {}, {}
    with ThreadPoolExecutor(len(work), thread_name_prefix="hosts") as pool:
        futures = {name: pool.submit(do) for name, do in work.items()}
    failures = {name: error for name, f in futures.items() if (error := f.exception()) is not None}
    return {n: f.result() for n, f in futures.items() if n not in failures}, failures
