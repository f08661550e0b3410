"""The client's host, where it is rented on EC2 for a campaign on TiDB Cloud."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, cast

from benchlab import targets
from benchlab.errors import TargetError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.topology import CloudTopology, Ec2Topology, Topology
from benchlab.targets import rented
from benchlab.targets.cloud import lease_file
from benchlab.targets.ec2 import reach
from benchlab.targets.ec2.caller import Caller
from benchlab.targets.ec2.rental_file import RentalFile


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
            region=self._topology.region,
            created_at=caller.now,
            lifetime_minutes=lease.rental.lifetime_minutes,
            account=caller.account,
            topology=reach.decided(self.access, self._topology),
        )

    def _usd_per_minute(self, choice: Any) -> float:
        return 0.0
