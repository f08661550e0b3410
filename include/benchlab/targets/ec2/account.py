"""Everything that can be asked of an AWS account before a fleet is rented in it; starts nothing.

A campaign's preflight refuses what cannot work; this says more, for the person who sets it up.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPException

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.language import message
from benchlab.plan.topology import Ec2Topology
from benchlab.targets.ec2 import permissions, preflight, reach
from benchlab.targets.ec2.caller import Caller
from benchlab.targets.ec2.preflight import Finding

ANSWER_LIMIT_S = 10.0


def examine(access: Access, topology: Ec2Topology, public: Callable[[], str]) -> Iterator[Finding]:
    """Ask about credentials, image, subnets, types, quotas, network, permissions and TiUP.

    Example:
        ``any(found.good is False for found in examine(access, topology, public_address))``

    Args:
        public: see :func:`reach.look`.
    """
    yield _installer(topology.tiup)
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
        found = preflight.findings_or_fault("network", partial(reach.look, access, place, public))
        found += preflight.findings_or_fault("policy", partial(_permitted, access, place, caller))
        yield from preflight.in_region(place, topology, found)


def _permitted(access: Access, topology: Ec2Topology, caller: Caller) -> list[Finding]:
    return [permissions.look(access, topology, caller)]


def _installer(address: str | None) -> Finding:
    """How TiUP gets onto the client's host."""
    if address is None:
        return Finding("tiup", False, str(message("tiup-undecided")))
    if not address.startswith("https:"):
        return Finding("tiup", True, "the image has it, says the topology; only its host can show")
    try:
        with urllib.request.urlopen(address, timeout=ANSWER_LIMIT_S) as answer:
            is_script = answer.read(2) == b"#!"
    except urllib.error.HTTPError as error:
        return Finding("tiup", False, f"{address} answers {error.code}; is the address right?")
    except (OSError, ValueError, HTTPException):
        why = f"{address} does not answer this machine; see its network, or correct the address"
        return Finding("tiup", None, why)
    if not is_script:
        return Finding("tiup", False, f"{address} is not a script; is the address right?")
    return Finding("tiup", True, f"{address} is a script")
