"""The address by which other hosts see this machine, and whether a host's network lets it in."""

from __future__ import annotations

import ipaddress
import socket
import urllib.request
from http.client import HTTPException

from benchlab.hosts.fleet import FleetHost

# AWS's own service, which answers with the address that a request came from.
WHO_AM_I = "https://checkip.amazonaws.com"
ANSWER_LIMIT_S = 10.0
UNKNOWN = (OSError, ValueError, HTTPException)
"""What the functions here raise if the address cannot be determined."""


def public() -> str:
    """This machine's public address, as AWS sees it.

    Raises:
        OSError, HTTPException: AWS does not answer.
        ValueError: the answer is not an address.
    """
    with urllib.request.urlopen(WHO_AM_I, timeout=ANSWER_LIMIT_S) as answer:
        return str(ipaddress.ip_address(answer.read(64).decode("ascii").strip()))


def towards(host: str) -> str:
    """The source address of this machine's connections to a host; sends nothing.

    Example:
        ``towards("172.31.0.4")`` is ``"172.31.5.1"`` on a machine of that network.

    Raises:
        OSError: there is no route to it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 22))
        return str(probe.getsockname()[0])


def is_in(address: str, network: str) -> bool:
    """Whether a network (CIDR) contains an address: ``is_in("10.0.0.7", "10.0.0.0/8")``."""
    return ipaddress.ip_address(address) in ipaddress.ip_network(network, strict=False)


def shut_out(host: FleetHost, campaign: str) -> str:
    """Explain why a rented host is unreachable, if it no longer lets this machine's address in.

    Returns:
        The end of a sentence, with what to do; empty if the address is let in, or unknown.
    """
    if host.let_in is None:
        return ""
    try:
        mine = towards(host.address) if host.ssh_address == host.address else public()
    except UNKNOWN:  # without a network, the address cannot be determined
        return ""
    if is_in(mine, host.let_in):
        return ""
    return (
        f"; this machine's address is {mine} now, and the hosts let in {host.let_in} alone, as was "
        "decided when the campaign began: go back to that address (its network, or VPN). "
        f"`benchlab give-back {campaign}` needs no login; where addresses change, write a range "
        "that has them all as `ssh_from` into the topology, and start another campaign"
    )
