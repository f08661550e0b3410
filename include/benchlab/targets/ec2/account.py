"""Everything that can be asked of an AWS account before a fleet is rented in it; starts nothing.

A campaign's preflight refuses what cannot work; this says more, for the person who sets it up.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchlab.errors import TargetError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan.topology import Ec2Topology
from benchlab.targets.ec2 import installer, permissions, preflight, reach
from benchlab.targets.ec2.caller import Caller
from benchlab.targets.ec2.preflight import Finding


def examine(home: Home, access: Access, topology: Ec2Topology) -> Iterator[Finding]:
    """Ask about credentials, image, subnets, types, quotas, network, permissions and TiUP.

    Example:
        ``any(found.good is False for found in examine(home, access, topology))``
    """
    yield installer.look(home, topology)
    try:
        caller = preflight.accepted(access, topology.region)
    except TargetError as error:  # AWS would say the same to every other question
        yield Finding("credentials", False, str(error))
        return
    yield Finding("credentials", True, f"{caller.arn} in account {caller.account}")
    if caller.clock is not None:
        yield Finding("clock", None, caller.clock)
    yield from preflight.look_everywhere(access, topology)
    for place in topology.places():
        found = preflight.findings_or_fault("network", partial(reach.look, access, place))
        found += preflight.findings_or_fault("policy", partial(_permitted, access, place, caller))
        yield from preflight.in_region(place, topology, found)


def _permitted(access: Access, topology: Ec2Topology, caller: Caller) -> list[Finding]:
    return [permissions.look(access, topology, caller)]
