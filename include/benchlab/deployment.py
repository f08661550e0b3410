"""What a trial needs to know of where it runs: the deployed sides, and what all trials share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Protocol

from benchlab.database import OPEN_USER, USER, Database
from benchlab.dataset import AnyDataset
from benchlab.executor import Executor
from benchlab.loadbalancer.haproxy import HAProxy
from benchlab.quality import Gate
from benchlab.results import SideFacts
from benchlab.spec import Client, Side, SideSpec
from benchlab.workloads.client import Endpoint, program_of


class Deployment(Protocol):
    """What a trial needs of its target.

    Attributes:
        executor: the host of the client and of the load balancer.
        directory: the campaign's directory on that host.
        sides: those that are deployed.
        client_host: the name of the client's host among the :meth:`executors`.
        client_alone: whether nothing but client and load balancer is at work on it.
        dedicated: whether the hosts do nothing else, so that what a hypervisor takes of their
            CPU is told apart from what their neighbours do.
    """

    @property
    def executor(self) -> Executor: ...

    @property
    def directory(self) -> Path: ...

    @property
    def sides(self) -> Sequence[Side]: ...

    @property
    def client_host(self) -> str: ...

    @property
    def client_alone(self) -> bool: ...

    @property
    def dedicated(self) -> bool: ...

    def executors(self) -> Mapping[str, Executor]:
        """Every host by its name."""

    def engine(self, side: Side) -> Database: ...

    def balancer(self, side: Side) -> HAProxy: ...

    def interrupt(self) -> None:
        """End every process of the campaign that a try which died has left, on every host."""


@dataclass(frozen=True)
class Setting:
    """What is the same for every trial of a campaign.

    Attributes:
        client: its program has been chosen.
        client_path: what is started as the client; None: what its command says.
        workload: the module that has the trial's workload.
        facts: of each deployed side, for the gates; its dataset is checked where
            ``check_dataset`` is set.
        sides: what was asked for.
        environment: the campaign's; what the hosts of a fleet say of themselves is in it.
    """

    deployment: Deployment
    workload: ModuleType
    dataset: AnyDataset
    client: Client
    client_path: str | None
    warmup_seconds: int
    password: str = field(repr=False)
    gates: Sequence[Gate]
    facts: dict[Side, SideFacts]
    sides: Mapping[Side, SideSpec]
    environment: Mapping[str, str]


def client_config(deployment: Deployment) -> Path:
    """The client's option file with the password, on its host."""
    return deployment.directory / "workload.cnf"


def endpoint(
    deployment: Deployment, side: Side, workload: ModuleType, client: Client, password: str
) -> Endpoint:
    """Where the client connects, and as whom: without a password if it can take none in private."""
    private = program_of(client.program, workload.PROGRAMS).takes_password
    balancer = deployment.balancer(side)
    return Endpoint(
        balancer.host,
        balancer.entry_port,
        USER if private else OPEN_USER,
        password if private else "",
        workload.DATABASE,
    )
