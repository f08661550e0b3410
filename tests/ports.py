"""Ports for the servers of tests: no two processes of this machine are ever given the same one.

The port that the kernel picks for port 0 is free only while somebody holds it: between two tests
that run side by side, another process or any outgoing connection may take it. So a port comes from
below the range of outgoing connections, and is reserved for the life of the process that asked for
it by an abstract Unix socket of that number, which the kernel gives to one process only.

A server of the test's own process needs none of this: it binds port 0 and stays bound.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

SIZE = 8192


def _usable() -> Iterator[int]:
    outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    first = max(1024, outgoing - SIZE)
    for port in range(first, first + SIZE):
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0benchlab-test-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:  # another process has reserved it, or listens on it
            reservation.close()
            continue
        _RESERVED.append(reservation)
        yield port
    raise RuntimeError(f"no port from {first} to {first + SIZE - 1} is free for a test")


_RESERVED: list[socket.socket] = []
_USABLE = _usable()


def free_port() -> int:
    """A port of 127.0.0.1 on which nobody listens, and which nobody else is given."""
    return next(_USABLE)


def free_ports(count: int) -> list[int]:
    """So many of them, all different."""
    return [free_port() for _ in range(count)]
