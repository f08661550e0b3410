"""Tests that run side by side never start servers on the same port."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from tests.ports import free_port, free_ports

ROOT = Path(__file__).parents[2]
# Says its ports, and keeps them until its input ends.
TAKE = """
import sys
from tests.ports import free_ports
print(*free_ports(100), flush=True)
sys.stdin.read()
"""


def test_processes_at_the_same_time_have_different_ports() -> None:
    """Four of them, with a hundred ports each, beside this one's."""
    mine = free_ports(100)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TAKE],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    taken = []
    for process in processes:
        assert process.stdout is not None
        taken.append([int(word) for word in process.stdout.readline().split()])
    for process in processes:
        process.communicate()
    assert [len(ports) for ports in taken] == [100] * 4
    assert len({*mine, *(port for ports in taken for port in ports)}) == 500


def test_a_port_is_given_once_and_is_no_outgoing_connections() -> None:
    """Not even to the same process again; a server can listen on it at once."""
    outgoing = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert max(ports) < int(outgoing[0])
    with socket.create_server(("127.0.0.1", ports[0])):
        assert free_port() not in ports


def test_a_port_on_which_somebody_listens_is_left_out() -> None:
    """Whoever it is, and though nobody has reserved it."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", free_port() + 1))
        assert free_port() != server.getsockname()[1]
