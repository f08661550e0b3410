"""The contract of a target, where a campaign runs, and what some targets can do in addition."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from benchlab.engines.database import Database
from benchlab.engines.server import BaseEngine
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.executor import Executor
from benchlab.hosts.lock import LEASE_S, Holder, MachineLock
from benchlab.language import Said
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import ReportSpec, Side
from benchlab.plan.spending import Quota, Spending
from benchlab.targets.dataset_snapshots import KeptDatasets
from benchlab.targets.haproxy import Direct, HAProxy
from benchlab.workloads.client import Endpoint

Say = Callable[[str], None]
Balancer = HAProxy | Direct
LOAD_THREADS = 16


class Deployment(Protocol):
    """What a trial needs from its target.

    Attributes:
        executor: the client's host, which is also the load balancer's.
        directory: the campaign's directory on that host.
        sides: the sides that are deployed.
        client_host: the name of the client's host among the :meth:`executors`.
        client_alone: whether only client and load balancer run on that host.
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

    @abstractmethod
    def executors(self) -> Mapping[str, Executor]:
        """Every host by its name."""

    @abstractmethod
    def engine(self, side: Side) -> Database:
        """The database of one side."""

    @abstractmethod
    def balancer(self, side: Side) -> Balancer:
        """The load balancer in front of one side."""

    @abstractmethod
    def acquire(self, origin: str) -> Holder | None:
        """Take the lock or, as every stage and trial does, renew its lease.

        Args:
            origin: what runs the campaign, such as ``benchlab run``; shown to those who must wait.

        Returns:
            The dead holder whose lock was taken over; None if there was none.

        Raises:
            LockHeldError: another campaign, or another process of this one, is at work.
        """

    @abstractmethod
    def interrupt(self) -> None:
        """End every process that an interrupted try of the campaign left, on every host."""

    @abstractmethod
    def spending(self) -> Spending | None:
        """What the hosts have cost so far; None if nothing is rented now."""


@runtime_checkable
class ServersOfOthers(Protocol):
    """Servers that are not the campaign's own (``can.administers`` is false)."""

    def endpoint(self, side: Side) -> Endpoint:
        """The address and account with which the client connects."""

    def changed(self, side: Side) -> str | None:
        """Why the next trial would not measure the planned version; None if it would.

        Somebody else may upgrade a server in the middle of a campaign. Also None if its version is
        not known.
        """

    def check_client(self) -> None:
        """Check that the client, which has just been chosen, can log in.

        Raises:
            TargetError: it cannot; says why.
        """


@runtime_checkable
class DeploysClusters(Protocol):
    """Hosts on which a new deployment of both sides replaces the one before."""

    def begin_deployment(self, number: int) -> None:
        """Make room for a deployment before its first side is deployed; repeatable.

        Args:
            number: from 1.

        Raises:
            TargetError: what an earlier one left cannot be removed.
        """

    def clear(self) -> None:
        """Remove both sides from all hosts, even if only part of a deployment is left.

        Raises:
            TargetError: a host cannot be cleaned.
        """


@runtime_checkable
class ReplacesHosts(DeploysClusters, Protocol):
    """Hosts that may be lost while a campaign measures, and are replaced."""

    def lost(self) -> Mapping[str, str]:
        """The hosts that are gone for good, with the reason of each; empty if that is unknown.

        A host that cannot be reached is not lost: it may come back.
        """

    def instances(self) -> Mapping[str, str]:
        """By host name, an id that changes when the host is replaced."""

    def before_replacing(self) -> None:
        """Forget the hosts that are lost, so that :meth:`BaseTarget.provision` gets others."""


class OnTopology(ABC):
    """What is known of hosts from their topology alone, before there are any."""

    @classmethod
    def undecided(cls, spec: ReportSpec, topology: Any) -> list[Said]:
        """What a campaign needs but the topology leaves open, a sentence for each."""
        return []

    @classmethod
    @abstractmethod
    def arrangements(cls, home: Home, topology: Any) -> list[str]:
        """How hosts let this machine in and get TiUP, for the reader of a plan, a line each."""


@dataclass(frozen=True)
class Taken:
    """A campaign that is to be given back, and how.

    Attributes:
        ask_driver: first end the process of ``benchlab run`` that drives it, so that it does not
            restart what is ended here. Not to be used inside that process.
        regions: the AWS regions in which it may have rented hosts, for a campaign whose directory
            does not say it; empty: those of topologies and of other campaigns.
        by_person: a person named the campaign; if nothing on this machine says what belongs to it,
            that decides.
    """

    home: Home
    campaign: str
    access: Access
    ask_driver: bool = False
    regions: Sequence[str] = ()
    by_person: bool = False

    @property
    def state(self) -> Path:
        """The campaign's directory on this machine."""
        return self.home.campaign(self.campaign)


def driving_process() -> int | None:
    """Pid of the command, `benchlab run` or the demo, that drives a campaign from one process.

    Once that process is gone, the lock is free. None under a scheduler, where the lease decides.
    """
    return int(os.environ.get("BENCHLAB_DRIVER") or 0) or None


class BaseTarget(Deployment, ABC):
    """One campaign's hosts, from renting or locking them to giving them back.

    It must keep no state in the process: each stage of a campaign may run in another one.

    Args:
        home: where state is kept on this machine.
        campaign: the campaign's id, with which all its processes are tagged.
        plan: the campaign's plan.
        spec: its report type.
        access: makes AWS clients, reads SSH keys.

    Attributes:
        state: the campaign's directory on this machine.
        name: the target's name in report types.
        place: where a campaign runs, for people.
        can: what it is and can do, for code that plans, runs or describes a campaign.
        client_program: the name of the chosen client; None until it has been chosen.
        client_path: the path of the client's program on its host; None: as its commands name it.

    Example:
        ``benchlab run`` does this, with the stages of the campaign in the middle::

            target = targets.by_name()["local"](home, "c1", plan, spec, Access())
            target.preflight()
            target.acquire("command line")
            target.provision(print)
            target.engine("baseline").deploy()
            target.give_back(Taken(home, "c1", Access()))
    """

    name: ClassVar[str]
    place: ClassVar[str]
    can: ClassVar[Capabilities]

    def __init__(
        self, home: Home, campaign: str, plan: Plan, spec: ReportSpec, access: Access
    ) -> None:
        self.home, self.campaign, self.plan, self.spec = home, campaign, plan, spec
        self.access = access
        self.state = home.campaign(campaign)
        self.client_program: str | None = None
        self.client_path: str | None = spec.client.path

    @property
    def sides(self) -> Sequence[Side]:
        """The sides that are deployed."""
        return self.spec.measured_sides

    @property
    def datasets(self) -> KeptDatasets | None:
        """Its dataset snapshots; None if the client always loads."""
        return None

    # What each does in its own way

    @abstractmethod
    def preflight(self) -> None:
        """Check that the hosts are fit, before anything starts.

        Raises:
            UnavailableError, TargetError, SpecError: names everything missing, and what to do.
        """

    @abstractmethod
    def provision(self, say: Say) -> None:
        """Get the hosts, and make them ready to be deployed on.

        Raises:
            TargetError: a host is not available or cannot be reached.
            UnavailableError: a host lacks a program; names the package.
        """

    def spending(self) -> Spending | None:
        return None

    def quotas(self) -> tuple[Quota, ...]:
        """The quotas of the account that its hosts will count against; none where unknown."""
        return ()

    @abstractmethod
    def environment(self) -> dict[str, str]:
        """Facts of the hosts, for the report."""

    def close(self) -> None:
        """Close the connections to the hosts; they are opened again when they are needed."""

    @classmethod
    @abstractmethod
    def give_back(cls, taken: Taken) -> str:
        """Give back everything that a campaign took; repeatable, needs neither store nor plan.

        Returns:
            What was given back, for people.

        Raises:
            TargetError: names what could not be given back.
        """

    # What all share

    @cached_property
    def load_threads(self) -> int:
        """How many threads of the client load datasets at the same time."""
        return LOAD_THREADS

    @property
    def most_threads(self) -> int:
        """The largest thread count of the plan."""
        return max(trial.threads for trial in self.plan.trials)

    @property
    def lease_s(self) -> float:
        """For how many seconds the lock holds without renewal; no stage takes twice the plan."""
        return LEASE_S + 2 * 60 * self.plan.most_minutes

    def hold(self, lock: MachineLock, origin: str) -> Holder | None:
        """Take or renew a lock on this machine; see :meth:`acquire`."""
        return lock.acquire(self.campaign, origin, self.home.root, driving_process(), self.lease_s)

    def haproxy(self, side: Side, backends: Mapping[str, str], threads: int) -> Balancer:
        """The load balancer of one side on the client's host; :class:`Direct` if it has none."""
        settings = self.spec.haproxy
        if settings is None:
            (server,) = backends.values()
            host, _, port = server.rpartition(":")
            return Direct(host, int(port))
        return HAProxy(
            executor=self.executor,
            directory=self.directory / side,
            host="127.0.0.1",
            entry_port=self.spec.ports.entry,
            stats_port=self.spec.ports.stats,
            backends=backends,
            maxconn=settings.maxconn or self.most_threads + 100,
            threads=settings.nbthread or threads,
            settings=settings,
        )

    def engine_facts(self, engine: type[BaseEngine], caveat: str | None) -> dict[str, str]:
        """Facts of the engine and of Benchlab, which every target's environment has."""
        return {
            "engine_title": engine.title,
            "ignored_errors": ",".join(map(str, engine.retryable_errors)),
            **({"engine_caveat": caveat} if caveat else {}),
            "benchlab": metadata.version("benchlab"),
        }
