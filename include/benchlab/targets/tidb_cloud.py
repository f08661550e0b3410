"""The target ``tidb_cloud``: a cluster made in TiDB Cloud Dedicated for one campaign.

The client runs on this machine, or on a host that is rented on EC2 for the campaign. The cluster is
measured as a server that exists is (see :mod:`benchlab.targets.existing`): its version, its
configuration and its snapshots are TiDB Cloud's, and a restore drops the tables and loads them
again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from benchlab import targets
from benchlab.engines.given import DeniedError, NotYetError
from benchlab.errors import CommandError, TargetError, noting
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.executor import Executor
from benchlab.hosts.server_login import ServerLogin
from benchlab.language import Said, message
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import ReportSpec, Side
from benchlab.plan.spending import Spending
from benchlab.plan.topology import CloudTopology, Ec2Topology, Topology
from benchlab.targets import existing, fleet_files, rented
from benchlab.targets.cloud import api as calls
from benchlab.targets.cloud import clusters, lease_file
from benchlab.targets.cloud.api import Api
from benchlab.targets.cloud.clusters import Cluster
from benchlab.targets.cloud.lease_file import LeaseFile
from benchlab.targets.ec2 import rental_file
from benchlab.targets.ec2.calls import Caller
from benchlab.targets.ec2.rental_file import RentalFile
from benchlab.targets.target import OnTopology, Say, Taken


class Target(OnTopology, existing.Target):
    """One cluster of TiDB Cloud, for one campaign."""

    name = "tidb_cloud"
    place = "TiDB Cloud"
    can = Capabilities(
        topology="tidb_cloud",
        rents=True,
        administers=False,
        chooses_version=False,
        deferrable=False,
    )

    limits = calls.PATIENT

    @classmethod
    def undecided(cls, spec: ReportSpec, topology: Any) -> list[Said]:
        """See :class:`OnTopology`: the price."""
        if topology.usd_per_hour is not None:
            return []
        return [message("cloud-price-undecided")]

    @classmethod
    def arrangements(cls, home: Home, topology: Any) -> list[str]:
        fleet = topology.fleet
        return [] if fleet is None else RentedClient.arrangements(home, fleet)

    def preflight(self) -> None:
        """See :class:`BaseTarget`: tools, the API key, and the request, which the API checks."""
        if self._host is None:
            self._check_tools()
        else:
            self._host.preflight()
        if self._lease is None:
            clusters.check(self._api, self._request("benchlab-check"))

    def provision(self, say: Say) -> None:
        """Rent the client and make the cluster, or find them; wait until both can be used.

        Raises:
            TargetError: client or cluster is not available, or the cluster is of another version
                than was planned, or cannot be reached.
        """
        lease = self._lease or self._begin_lease()
        if self._host is not None:
            self._host.provision(say)  # first, because it costs less than a cluster that waits
        made = clusters.create(self._api, self._request(lease.name), lease.project)
        say(f"TiDB Cloud: cluster {made.name}")
        self._check_version(made)
        made = clusters.wait_until_active(self._api, made, say, self._check_version)
        if self._topology.endpoint == "public":
            clusters.open_to(self._api, made, self._open_to())
        host, port = self._endpoint_of(made, say)
        lease_file.write(self.state, lease.model_copy(update={"host": host, "port": port}))
        for side in self.sides:
            self._wait_for_login(side)

    def environment(self) -> dict[str, str]:
        topology = self._topology
        return super().environment() | {
            f"{role}_nodes": f"{nodes.count} x {nodes.size}"
            for role, nodes in (("tidb", topology.tidb), ("tikv", topology.tikv))
        }

    def spending(self) -> Spending | None:
        lease = self._lease
        return lease.rental.spending(self._api.now()) if lease is not None else None

    # The client's host

    @cached_property
    def _host(self) -> RentedClient | None:
        """The rented client; None if this machine is the client."""
        if self._topology.fleet is None:
            return None
        return RentedClient(self.home, self.campaign, self.plan, self.spec, self.access)

    def _client_facts(self) -> dict[str, str]:
        return super()._client_facts() if self._host is None else self._host.facts()

    def _open_to(self) -> str:
        """The network that may use the public endpoint: ``open_to``, else the rented client's."""
        named = self._topology.open_to
        return named or f"{cast(RentedClient, self._host).fleet.client.ssh_address}/32"

    @classmethod
    def return_others(cls, taken: Taken) -> list[str]:
        """End its client, delete its cluster, and wait until that is gone.

        If one of them cannot be given back, the other is nevertheless.
        """
        said, faults = list[str](), list[str]()
        returns: list[Callable[[Taken], str]] = [cls._delete_clusters]
        if taken.regions or (taken.state / fleet_files.RENTAL_FILE).exists():
            if taken.ask_driver:
                fleet_files.end_driver(taken.state)
            returns.append(RentedClient.return_hosts)
        for give in returns:
            with noting(faults):
                said.append(give(taken))
        if faults:
            raise TargetError("\n".join(faults))
        fleet_files.forget(taken.state)
        return said

    @classmethod
    def _delete_clusters(cls, taken: Taken) -> str:
        deleted, state = 0, taken.state
        if (lease := lease_file.read(state)) is None:
            return _no_cluster(state)
        api = Api(calls.login_of(taken.access), cls.limits)
        for cluster in _all_of(api, lease):
            clusters.delete(api, cluster)
            deleted += 1
        if (spent := lease.rental.spending(api.now())) is not None:
            rental_file.keep_spent(state, spent)
        (state / lease_file.FILE).unlink()
        if not deleted:
            return f"TiDB Cloud has no cluster {lease.name} for this API key"
        return f"{deleted} cluster{'s' * (deleted != 1)} deleted"

    @property
    def _lease(self) -> LeaseFile | None:
        return lease_file.read(self.state)

    def _begin_lease(self) -> LeaseFile:
        """Note the cluster that is about to be made; nothing else may have its name."""
        lease = self._new_lease()
        if clusters.named(self._api, lease.project, lease.name):
            raise TargetError(
                f"{lease.name}: there is a cluster of this name which campaign {self.campaign} did "
                "not make; it was not touched: start the campaign again, with another name"
            )
        lease_file.write(self.state, lease)
        return lease

    def _new_lease(self) -> LeaseFile:
        region, now = self._topology.region, self._api.now()
        rental = rental_file.new(
            self.home, self.campaign, self.plan, self.spec, region=region, now=now
        )
        name = clusters.new_name(now + rental.lifetime)
        return LeaseFile(name=name, project=self._topology.project, rental=rental)

    def _request(self, name: str) -> dict[str, Any]:
        return clusters.request_for(self._topology, name, self.home.password(self.campaign))

    def _check_version(self, cluster: Cluster) -> None:
        (side,) = self.sides
        planned = self.plan.sides[side].version
        if cluster.version and cluster.version != planned:
            raise TargetError(
                f"{side}: TiDB Cloud makes clusters of version {cluster.version} now, and nobody "
                f"can choose another; the report type says {planned}: write {cluster.version}"
            )

    def _endpoint_of(self, cluster: Cluster, say: Say) -> tuple[str, int]:
        """Host name and port of the endpoint, once it is there and the name resolves."""
        kind, limits = self._topology.endpoint, self.limits
        deadline, polls = time.monotonic() + limits.endpoint, limits.polls()
        said = False
        while True:
            found = cluster.endpoint(kind)
            if found is not None and _resolves(self.executor, found[0]):
                return found
            if time.monotonic() > deadline:
                what = f"{found[0]} does not resolve" if found else "TiDB Cloud names none"
                raise TargetError(
                    f"{cluster.name}: endpoint: {kind}: {what}; see the cluster's networking in "
                    "TiDB Cloud's console, and whether the client's host is in a network that is "
                    "connected with it"
                )
            if not said:
                say(f"wait for the {kind} endpoint")
                said = True
            time.sleep(next(polls))
            cluster = clusters.of_id(self._api, cluster.id)

    def _wait_for_login(self, side: Side) -> None:
        """Wait until the server lets the campaign in.

        A new endpoint may need a while, and a new cluster until it knows its root password.
        """
        deadline, polls = time.monotonic() + self.limits.endpoint, self.limits.polls()
        while True:
            try:
                return self.engine(side).check()
            except (CommandError, DeniedError, NotYetError):  # waiting helps in no other case
                if time.monotonic() > deadline:
                    raise
            time.sleep(next(polls))

    def _login(self, side: Side) -> ServerLogin:
        lease = self._lease
        if lease is None or not lease.host:
            raise TargetError(f"campaign {self.campaign} has no cluster: it was given back")
        if side not in self._logins:
            login = ServerLogin(
                self._connection(side),
                lease.host,
                lease.port,
                "root",
                self.home.password(self.campaign),
                calls.login_of(self.access).tls,
            )
            self._logins[side] = self._with_own_ca(side, login)
        return self._logins[side]

    def _connection(self, side: Side) -> str:
        return calls.CONNECTION

    @cached_property
    def _api(self) -> Api:
        return Api(calls.login_of(self.access), self.limits)

    @cached_property
    def _topology(self) -> CloudTopology:
        return cast(CloudTopology, targets.load_topology(self.home, self.spec))


def _all_of(api: Api, lease: LeaseFile) -> list[Cluster]:
    """The clusters of a campaign; one that was asked for just now may not be listed at once."""
    found = clusters.named(api, lease.project, lease.name)
    if not found and not lease.host:
        time.sleep(api.limits.pause)
        found = clusters.named(api, lease.project, lease.name)
    return found


def _no_cluster(state: Path) -> str:
    """The sentence on a campaign without a file about its cluster: never made, gone, or lost."""
    if fleet_files.rented_nothing(state):
        return "it has made no cluster"
    return (
        f"no cluster was found: {state / lease_file.FILE} is not here, which alone says which one "
        "is the campaign's: it was deleted before, or the file is lost. If a cluster is left, TiDB "
        "Cloud's console lists it as benchlab-<expiry>-<mark>, and `benchlab reap` deletes it "
        "after its expiry"
    )


def _resolves(executor: Executor, host: str) -> bool:
    """Whether that name resolves on the client's host; it may be known only there."""
    return executor.run(["getent", "ahosts", host], check=False).exit_code == 0


class RentedClient(rented.Target):
    """One host, rented as a fleet is; what it costs is in the price of the cluster's lease.

    Example:
        ``RentedClient(home, "c1", plan, spec, Access()).provision(print)`` rents it, or finds it.
    """

    def __init__(
        self, home: Home, campaign: str, plan: Plan, spec: ReportSpec, access: Access
    ) -> None:
        alone = tuple(host for host in plan.hosts if host.role == "client")
        super().__init__(home, campaign, replace(plan, hosts=alone), spec, access)

    @cached_property
    def named_topology(self) -> Topology:
        topology = cast(CloudTopology, targets.load_topology(self.home, self.spec))
        return cast(Ec2Topology, topology.fleet)

    def facts(self) -> dict[str, str]:
        """What the host is, in which zone, and its tools, for the report."""
        found = self.environment()
        return {name: found[name] for name in ("client_hosts", "sysbench", "zone")}

    def _new_rental(self, caller: Caller) -> RentalFile:
        if (lease := lease_file.read(self.state)) is None:
            raise TargetError(f"campaign {self.campaign} has no cluster: it was given back")
        return RentalFile(
            mark=rental_file.new_mark(self.home),
            region=self._topology.region,
            created_at=caller.now,
            lifetime_minutes=lease.rental.lifetime_minutes,
            **self._in_account(caller),
        )

    def _usd_per_minute(self, choice: Any) -> float:
        return 0.0
