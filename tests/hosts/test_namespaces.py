"""The hosts that the other tests of this layer run on are hosts, and nothing of them stays."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.hosts.namespaces import MARK, Namespaces, new_key, unused


def address(namespaces: Namespaces, number: int) -> str:
    """An address of a network."""
    return f"{namespaces.gateway.rpartition('.')[0]}.{number}"


def links() -> str:
    """This machine's network interfaces."""
    return subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=True).stdout


def marked(prefix: str) -> list[str]:
    """Processes of a network of hosts."""
    files = [str(path) for path in Path("/proc").glob("[0-9]*/environ")]
    done = subprocess.run(
        ["grep", "-slzxF", f"{MARK}={prefix}", *files], capture_output=True, text=True, check=False
    )
    return done.stdout.split()


def test_a_host_is_a_machine_of_its_own(namespaces: Namespaces) -> None:
    """Its processes, files, name, boot id and accounts are its own; sudo asks for no password."""
    first = namespaces.add(address(namespaces, 10))
    second = namespaces.add(address(namespaces, 11))
    first.run("echo hello > /etc/mine; sleep 600 > /dev/null 2>&1 & :")
    assert (first.root / "etc/mine").read_text() == "hello\n"
    assert not (second.root / "etc/mine").exists()
    assert not Path("/etc/mine").exists()
    assert "sleep" not in second.run("ps -e -o comm").stdout
    boots = {host.run("cat /proc/sys/kernel/random/boot_id").stdout for host in (first, second)}
    assert len(boots | {Path("/proc/sys/kernel/random/boot_id").read_text()}) == 3
    assert first.run("hostname").stdout.strip() == "ip-" + first.address.replace(".", "-")
    assert first.run("su admin -c 'sudo -n id -u'").stdout.strip() == "0"


def test_hosts_reach_each_other_and_this_machine(namespaces: Namespaces) -> None:
    """Until a link is down, and again when it is up."""
    first, second = (namespaces.add(address(namespaces, n)) for n in (20, 21))
    script = "timeout 1 bash -c 'read -r -n 4 banner < /dev/tcp/{}/22; echo $banner'"
    assert first.run(script.format(second.address)).stdout == "SSH-\n"
    namespaces.set_link(second.address, False)
    assert first.run(script.format(second.address), check=False).returncode != 0
    namespaces.set_link(second.address, True)
    while first.run(script.format(second.address), check=False).stdout != "SSH-\n":
        pass  # the neighbour is asked for again; the test's time limit is the only one
    with socket.create_server((namespaces.gateway, 0)) as server:
        port = server.getsockname()[1]
        first.run(f"bash -c 'echo hello > /dev/tcp/{namespaces.gateway}/{port}'")
        connection, (peer, _) = server.accept()
        with connection:
            assert (peer, connection.recv(5)) == (first.address, b"hello")


def test_a_removed_host_is_gone_and_can_come_again(namespaces: Namespaces) -> None:
    """A new host of the same address has nothing of the old one, and another key."""
    old = namespaces.add(address(namespaces, 30))
    old.run("touch /etc/mine; setsid sleep 600 > /dev/null 2>&1 & :")
    namespaces.remove(old.address)
    assert not old.root.exists()
    assert old.address not in namespaces.addresses
    new = namespaces.add(old.address)
    assert new.host_key != old.host_key
    assert not (new.root / "etc/mine").exists()


def test_two_networks_exist_at_once(namespaces: Namespaces, tmp_path: Path) -> None:
    """Each with its own addresses; leaving one leaves the other alone."""
    first = namespaces.add(address(namespaces, 40))
    with unused(tmp_path) as other:
        there = other.add(address(other, 40))
        assert there.address != first.address
        prefix = other.prefix
        assert marked(prefix)
    assert not marked(prefix)
    assert prefix not in links()
    assert first.run("echo alive").stdout == "alive\n"


def test_what_a_crashed_run_left_is_cleaned_up(tmp_path: Path) -> None:
    """The next network of the same prefix ends its processes and takes its place."""
    # None that `unused` gives to another test run on this machine.
    prefix, network = "blcrashed", "10.98.0.0/24"
    code = (
        "import sys\nfrom pathlib import Path\nfrom tests.hosts.namespaces import Namespaces\n"
        "with Namespaces(Path(sys.argv[1]), sys.argv[2], sys.argv[3]) as hosts:\n"
        "    hosts.add(hosts.gateway[:-1] + '9').run('sleep 600 > /dev/null 2>&1 & :')\n"
        "    print('ready', flush=True)\n    sys.stdin.read()"
    )
    crashed = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "a", prefix, network],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert crashed.stdout is not None
    assert crashed.stdout.readline() == "ready\n"
    os.kill(crashed.pid, signal.SIGKILL)
    crashed.communicate()
    left = set(marked(prefix))
    assert len(left) >= 2
    with Namespaces(tmp_path / "b", prefix, network) as hosts:
        assert not left & set(marked(prefix))
        assert hosts.add(hosts.gateway[:-1] + "9", new_key()[1]).run("echo x").stdout == "x\n"
    assert not marked(prefix)
    assert prefix not in links()
