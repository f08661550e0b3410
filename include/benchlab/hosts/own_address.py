"""The address by which others see this machine, and whether a host's network lets it in."""

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
"""What the functions here raise where the address cannot be found out."""


def public() -> str:
    """The address by which this machine appears on the internet.

    Raises:
        OSError, HTTPException: it cannot be asked.
        ValueError: the answer is no address.
    """
    with urllib.request.urlopen(WHO_AM_I, timeout=ANSWER_LIMIT_S) as answer:
        return str(ipaddress.ip_address(answer.read(64).decode("ascii").strip()))


def towards(host: str) -> str:
    """The address from which this machine would call a host; sends nothing.

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
    """Whether a network (CIDR) has an address: ``is_in("10.0.0.7", "10.0.0.0/8")``."""
    return ipaddress.ip_address(address) in ipaddress.ip_network(network, strict=False)


def shut_out(host: FleetHost, campaign: str) -> str:
    """Why a rented host cannot be reached, if this machine's address is not let in (any more).

    Returns:
        The end of a sentence, with what to do; empty where the address is let in, or not known.
    """
    if host.let_in is None:
        return ""
    try:
        mine = towards(host.address) if host.ssh_address == host.address else public()
    except UNKNOWN:  # without a network nobody can tell
        return ""
    if is_in(mine, host.let_in):
        return ""
    return (
        f"; this machine's address is {mine} now, and the hosts let in {host.let_in} alone, as was "
        "decided when the campaign began: go back to that address (its network, or VPN). "
        f"`benchlab give-back {campaign}` needs no login; where addresses change, write a range "
        "that has them all as `ssh_from` into the topology, and start another campaign"
    )
