"""Checks whether this machine could reach a fleet's hosts, and the hosts what they download.

A security group lets SSH in from the topology's ``ssh_from`` alone. A host downloads packages
through its subnet's default route: an internet gateway, for which it needs a public address, or any
other (Amazon VPC User Guide, "Route tables" and "Internet gateways").
"""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

from benchlab.errors import TargetError
from benchlab.hosts import own_address
from benchlab.hosts.access import Access
from benchlab.plan.topology import AUTO, Ec2Topology
from benchlab.targets.ec2.calls import filters, pages
from benchlab.targets.ec2.places import Subnet, find_subnets
from benchlab.targets.ec2.preflight import Finding

ANYWHERE = "0.0.0.0/0"
UNKNOWN_ADDRESS = "; write `ssh_from` into the topology, as 203.0.113.7/32"


def decided(access: Access, topology: Ec2Topology) -> Ec2Topology:
    """The topology with this machine's address wherever it says ``ssh_from: auto``.

    Raises:
        TargetError: the address cannot be found out, hosts could not be reached from it, or AWS
            refuses.
    """
    networks = {}
    for place in topology.places():
        if place.ssh_from == AUTO:
            client = access.aws("ec2", place.region)
            mine = _own_address(client, place, find_subnets(client, place))
            networks[place.region] = str(ip_network(mine))
    return topology.letting_in(networks)


def look(access: Access, topology: Ec2Topology) -> list[Finding]:
    """Compare ``ssh_from`` with this machine's address, and look for each subnet's way out.

    Raises:
        TargetError: there are no such subnets, or AWS refuses.
    """
    client = access.aws("ec2", topology.region)
    subnets = find_subnets(client, topology)
    return [_login(client, topology, subnets), *_ways_out(client, topology, subnets)]


def _login(client: Any, topology: Ec2Topology, subnets: tuple[Subnet, ...]) -> Finding:
    written = topology.ssh_from
    try:
        mine = _own_address(client, topology, subnets)
    except TargetError as error:
        if written == AUTO or topology.ssh_by == "private":
            return Finding("ssh", False, str(error))
        return Finding("ssh", None, f"{error}, so ssh_from {written} was not checked")
    detail = f"this machine would log in from {mine}, which `ssh_from: {written}`"
    if written == AUTO:
        return Finding("ssh", True, f"{detail} lets in")
    if not own_address.is_in(mine, written):
        detail += " does not let in; write `ssh_from: auto` into the topology"
        if topology.ssh_by == "private":
            detail += f", or `ssh_by: public` if this machine is not in {subnets[0].vpc}"
        return Finding("ssh", False, detail)
    if written == ANYWHERE:
        return Finding("ssh", None, f"{detail} lets in, as everybody else; write `auto`")
    return Finding("ssh", True, f"{detail} lets in")


def _own_address(client: Any, topology: Ec2Topology, subnets: tuple[Subnet, ...]) -> str:
    """The address from which this machine would log in to hosts in these subnets."""
    if topology.ssh_by == "public":
        try:
            return own_address.public()
        except own_address.UNKNOWN:
            raise TargetError(
                f"{own_address.WHO_AM_I} does not report this machine's address"
                + (UNKNOWN_ADDRESS if topology.ssh_from == AUTO else "")
            ) from None
    network = subnets[0].network
    try:
        mine = own_address.towards(str(ip_network(network)[4]))  # the first four are AWS's own
    except own_address.UNKNOWN:
        raise TargetError(
            f"this machine has no route to {network}, where the hosts would be; write `ssh_by: "
            "public`, or run Benchlab in that VPC"
        ) from None
    if topology.ssh_from == AUTO:
        vpc = subnets[0].vpc
        there = pages(client, "describe_subnets", "Subnets", Filters=filters(vpc_id=vpc))
        if not any(own_address.is_in(mine, subnet["CidrBlock"]) for subnet in there):
            raise TargetError(
                f"ssh_by: private: this machine's address, {mine}, is in no subnet of {vpc}, where "
                "the hosts would be: write `ssh_by: public` into the topology; or where a VPN, a "
                "peering or NAT leads there, the addresses that the hosts see as `ssh_from`"
            )
    return mine


def _ways_out(client: Any, topology: Ec2Topology, subnets: tuple[Subnet, ...]) -> list[Finding]:
    chosen = filters(vpc_id=subnets[0].vpc)
    tables = list(pages(client, "describe_route_tables", "RouteTables", Filters=chosen))
    gateways = {subnet: _gateway(subnet, tables) for subnet in subnets}
    faults = [fault for pair in gateways.items() if (fault := _no_way_out(*pair, topology))]
    if faults:
        return [Finding("way out", False, fault) for fault in faults]
    used = ", ".join(sorted({str(gateway) for gateway in gateways.values()}))
    return [Finding("way out", True, f"every subnet leads to the internet, by {used}")]


def _no_way_out(subnet: Subnet, gateway: str | None, topology: Ec2Topology) -> str | None:
    if gateway is None:
        return (
            f"{subnet} has no route to the internet, so its hosts could download nothing; name "
            "another subnet, or give it a gateway"
        )
    if gateway.startswith("igw-") and not (subnet.public or topology.ssh_by == "public"):
        return (
            f"{subnet} leads to {gateway}, but its hosts would have no public address for it; "
            "write `ssh_by: public`, or use a NAT gateway"
        )
    return None


def _gateway(subnet: Subnet, tables: list[dict[str, Any]]) -> str | None:
    """The target of a subnet's default route; without a table of its own, the main one counts."""
    own = [
        table
        for table in tables
        if any(subnet.id == entry.get("SubnetId") for entry in table["Associations"])
    ]
    main = [table for table in tables if any(entry.get("Main") for entry in table["Associations"])]
    for table in (own or main)[:1]:
        for route in table["Routes"]:
            if route.get("DestinationCidrBlock") == ANYWHERE and route.get("State") == "active":
                targets = (value for key, value in route.items() if key.endswith("Id"))
                return str(next(targets, "its default route"))
    return None
