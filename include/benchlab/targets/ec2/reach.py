"""Whether a fleet's hosts could be reached from this machine, and reach what they download.

A security group lets SSH in from the topology's ``ssh_from`` alone. A host downloads packages
through its subnet's default route: an internet gateway, which takes a public address, or any other
(Amazon VPC User Guide, "Route tables" and "Internet gateways").
"""

from __future__ import annotations

import ipaddress
import socket
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from typing import Any

from benchlab.hosts.access import Access
from benchlab.plan.topology import Ec2Topology
from benchlab.targets.ec2.calls import filters, pages
from benchlab.targets.ec2.places import Subnet, find_subnets
from benchlab.targets.ec2.preflight import Finding

# AWS's own service, which answers with the address that a request came from.
WHO_AM_I = "https://checkip.amazonaws.com"
ANSWER_LIMIT_S = 10.0
ANYWHERE = "0.0.0.0/0"


def public_address() -> str:
    """The address by which this machine appears on the internet.

    Raises:
        OSError: it cannot be asked.
        ValueError: the answer is no address.
    """
    with urllib.request.urlopen(WHO_AM_I, timeout=ANSWER_LIMIT_S) as answer:
        return str(ipaddress.ip_address(answer.read(64).decode("ascii").strip()))


def address_towards(network: str) -> str:
    """The address of this machine from which it would call a host of a network; sends nothing.

    Example:
        ``address_towards("172.31.0.0/20")`` is ``"172.31.5.1"`` on a machine of that network.

    Raises:
        OSError: there is no route to it.
    """
    host = ipaddress.ip_network(network)[4]  # the first four are AWS's own
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((str(host), 22))
        return str(probe.getsockname()[0])


def look(access: Access, topology: Ec2Topology, public: Callable[[], str]) -> list[Finding]:
    """Compare ``ssh_from`` with this machine's address, and look for each subnet's way out.

    Args:
        public: :func:`public_address`, or what stands for it in a test.

    Raises:
        TargetError: there are no such subnets, or AWS refuses.
    """
    client = access.aws("ec2", topology.region)
    subnets = find_subnets(client, topology)
    return [_login(topology, subnets, public), *_ways_out(client, topology, subnets)]


def _login(
    topology: Ec2Topology, subnets: tuple[Subnet, ...], public: Callable[[], str]
) -> Finding:
    by_public = topology.ssh_by == "public"
    try:
        mine = public() if by_public else address_towards(subnets[0].network)
    except (OSError, ValueError, HTTPException):
        if by_public:
            why = f"{WHO_AM_I} does not say from which address this machine comes"
            return Finding("ssh", None, f"{why}, so ssh_from {topology.ssh_from} is not checked")
        why = f"this machine has no route to {subnets[0].network}, where the hosts would be"
        return Finding("ssh", False, f"{why}; write `ssh_by: public`, or run Benchlab in that VPC")
    if ipaddress.ip_address(mine) not in ipaddress.ip_network(topology.ssh_from, strict=False):
        detail = (
            f"this machine would log in from {mine}, which ssh_from {topology.ssh_from} does not "
            f"let in; write `ssh_from: {mine}/32` into the topology"
        )
        if not by_public:
            detail += f", or `ssh_by: public` if this machine is not in {subnets[0].vpc}"
        return Finding("ssh", False, detail)
    detail = f"this machine would log in from {mine}, which ssh_from {topology.ssh_from} lets in"
    if topology.ssh_from == ANYWHERE:
        return Finding("ssh", None, f"{detail}, as everybody else; write `{mine}/32`")
    return Finding("ssh", True, detail)


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
    """The target of a subnet's default route; a subnet without a table of its own has the main."""
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
