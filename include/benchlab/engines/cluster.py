"""The contract of a cluster: a database that is several servers on a fleet."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

from benchlab.engines.database import Database
from benchlab.hosts.executor import Executor
from benchlab.hosts.fleet import Fleet, FleetHost
from benchlab.plan.fields.engines import Components, SideSpec
from benchlab.plan.report_type import Side

Executors = Callable[[FleetHost], Executor]
"""Gives the executor of a host; called from several threads at once."""
Act = Literal["deploy", "backup", "restore", "configure", "start_for_trial"]
"""What can be rehearsed: the name of a method of :class:`Database`."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a campaign asks of one side's cluster; the defaults are enough to destroy it.

    Example:
        ``Wanted(side="baseline", of=SideSpec(version="v6.5.0"), campaign="c1", directory=path)``

    Attributes:
        of: the version and parameters of the side.
        directory: the campaign's directory on the client's host.
        max_connections: how many the client opens at most.
        port_set: which of the two sets of ports its servers listen on, 0 or 1.
        database: the schema that holds the dataset.
        level: whether the leaders of regions are levelled before each trial.
        slowdown_pct: the percentage of the time for which each SQL server is stopped on purpose
            while the side is measured; 0: never.
        password: that of the client's account.
        logs: the directory on this machine that keeps what servers complained of.
        package: gives the package of a component's build on this machine.
    """

    side: Side
    of: SideSpec
    campaign: str
    directory: Path
    package: Callable[[str], Path] = Path
    max_connections: int = 1
    port_set: int = 0
    database: str = ""
    level: bool = True
    slowdown_pct: float = 0.0
    password: str = field(default="", repr=False)
    logs: Path | None = None


class BaseCluster(Database):
    """One side's cluster; an engine names its class as ``Engine.cluster``.

    Example:
        ``engines.cluster_of("tidb").not_deployable("v2.1.0")`` says why it cannot be deployed.
    """

    @classmethod
    @abstractmethod
    def on_fleet(cls, fleet: Fleet, executors: Executors, wanted: Wanted) -> Self:
        """One side of a campaign, on the hosts of its fleet."""

    @classmethod
    def remove(
        cls, fleet: Fleet, executors: Executors, campaign: str, side: Side, directory: Path
    ) -> None:
        """:meth:`destroy` all that a campaign deployed for a side, whatever its version."""
        any_version = SideSpec(version="v0.0.0")
        wanted = Wanted(side=side, of=any_version, campaign=campaign, directory=directory)
        cls.on_fleet(fleet, executors, wanted).destroy()

    @abstractmethod
    def destroy(self) -> None:
        """Remove the cluster and everything of this side from all hosts; repeatable.

        Raises:
            TargetError: names the hosts that could not be cleaned; all others have been.
        """

    @classmethod
    @abstractmethod
    def not_deployable(cls, version: str) -> str | None:
        """Why a version cannot be deployed, as a sentence; None if it can."""

    @classmethod
    @abstractmethod
    def no_dataset_snapshots(cls, version: str) -> str | None:
        """Why a version's dataset cannot be saved or restored, as a sentence; None if it can."""

    @classmethod
    @abstractmethod
    def bound_to_data(cls, items: Components) -> list[str]:
        """Which of these items cannot change once the cluster has data, and why, as sentences."""

    @classmethod
    @abstractmethod
    def stored_as(cls, side: SideSpec) -> dict[str, str]:
        """The settings that decide how a side stores rows; sides that agree share a dataset."""

    @classmethod
    @abstractmethod
    def needs_imdsv1(cls, version: str) -> bool:
        """Whether a version's storage needs IMDSv1 on its hosts to reach dataset snapshots.

        The first version of EC2's instance metadata service hands out the host's permissions
        without a token, so hosts offer it only where they must.
        """

    @classmethod
    def host_fault(
        cls, executor: Executor, user: str, stores: Sequence[SideSpec], *, restores: bool
    ) -> str | None:
        """Why a host cannot have servers as it is set up, as a sentence; None if it can.

        Args:
            executor: the host's.
            user: the account that Benchlab logs in as.
            stores: the sides that get a storage server on the host.
            restores: whether trials restore data on the host.
        """
        return None

    @abstractmethod
    def save_dataset(self, url: str, region: str) -> None:
        """Write the dataset to S3.

        Args:
            url: ``s3://bucket/prefix``.
            region: the bucket's.

        Raises:
            EngineError: it cannot be written.
            TargetError: see :meth:`no_dataset_snapshots`.
        """

    @abstractmethod
    def load_dataset(self, url: str, region: str) -> None:
        """Fill the empty database from S3; arguments as for :meth:`save_dataset`.

        Raises:
            EngineError: it cannot be restored.
            TargetError: see :meth:`no_dataset_snapshots`.
        """

    @abstractmethod
    def rehearse(self, act: Act) -> None:
        """Run an act's commands on the hosts without querying servers: in a rehearsal none runs."""
