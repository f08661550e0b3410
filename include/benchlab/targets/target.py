"""What a campaign needs of the place where it runs; each target module has a class like this."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

from benchlab.engines.database import Database
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.executor import Executor
from benchlab.hosts.lock import Holder
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import ReportSpec, Side
from benchlab.plan.topology import Topology
from benchlab.targets.dataset_snapshots import Source
from benchlab.targets.haproxy import HAProxy

Say = Callable[[str], None]


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

    def engine(self, side: Side) -> Database:
        """The database of one side."""

    def balancer(self, side: Side) -> HAProxy:
        """The load balancer in front of one side."""

    def interrupt(self) -> None:
        """End every process that an interrupted try of the campaign left, on every host."""


class BaseTarget(Deployment, Protocol):
    """One campaign's hosts, from renting or locking them to giving them back.

    Nothing may be remembered in the process: each stage of a campaign may run in another one.

    Attributes:
        name: as report types name it.
        topology: the kind of topology it needs; None: none.
        rents: whether it costs money.
        deferrable: whether a trial's task can be set aside while the client runs.
        slows_down: whether it can slow the candidate down on purpose.
        client_program: what runs the workloads; None until it has been chosen.
    """

    name: ClassVar[str]
    topology: ClassVar[str | None]
    rents: ClassVar[bool]
    deferrable: ClassVar[bool]
    slows_down: ClassVar[bool]
    client_program: str | None

    def __init__(
        self, home: Home, campaign: str, plan: Plan, spec: ReportSpec, access: Access
    ) -> None: ...

    @classmethod
    def undecided(cls, spec: ReportSpec, topology: Topology) -> list[str]:
        """What the topology leaves open and a campaign needs, as sentences."""

    def preflight(self) -> None:
        """Refuse before anything starts.

        Raises:
            UnavailableError, TargetError, SpecError: names all that is missing, and what to do.
        """

    def acquire(self, origin: str) -> Holder | None:
        """Take the lock, or renew its lease.

        Returns:
            The entry of a dead campaign whose place was taken.

        Raises:
            LockHeldError: another campaign, or another process of this one, is at work.
        """

    def provision(self, say: Say) -> None:
        """Get the hosts, and make them ready to be deployed on.

        Raises:
            TargetError: a host cannot be had or reached.
            UnavailableError: a host lacks a program; names the package.
        """

    def dataset_source(self) -> Source:
        """Whether the datasets are restored or loaded: decided once, for all sides alike."""

    def load_dataset(self, side: Side) -> None:
        """Fill a side's empty database from its dataset snapshot."""

    def keep_dataset(self, side: Side, checksum: str | None) -> str | None:
        """Keep a dataset that was loaded, for later campaigns; check one that was restored.

        Returns:
            Why a loaded dataset could not be kept; None where it was, or nothing was to be kept.
        """

    def environment(self) -> dict[str, str]:
        """Facts of the hosts, for the report."""

    def close(self) -> None:
        """Close the connections to the hosts; they are opened again when they are needed."""

    @classmethod
    def give_back(
        cls, home: Home, campaign: str, access: Access, *, ask_driver: bool = False
    ) -> str:
        """Give everything back that a campaign has; repeatable, needs neither store nor plan.

        Args:
            ask_driver: end the process of ``benchlab run`` that drives it first, so that it does
                not start anew what is ended here. Not from inside that process.

        Returns:
            What was given back, for people.

        Raises:
            TargetError: names what could not be given back.
        """
