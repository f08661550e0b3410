"""Hosts on one machine: network namespaces in which a real sshd answers.

Each host has its own network, PID, mount and UTS namespace, its own writable layer over this
machine's root file system, its own host key and boot id, and an account ``admin`` that may use
sudo without a password, as the images of rented hosts have it. Root only.

The hosts of one :class:`Namespaces` hang on one bridge. It lies in a network namespace of its own,
where this machine's packet filter has no say, and this machine has the first address on it. There
is no systemd in a host, and no way out of its network.

Nothing outlives its processes: mounts are private to a host's mount namespace, links to the
network namespaces. What a crashed run left is therefore ended by ending processes, which are known
by a variable in their environment.
"""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

MARK = "BENCHLAB_TEST_HOSTS"
LOCKS = Path("/run")
PROJECT = Path(__file__).parents[2]
USER = "admin"
# Two fleets that boot at once share two cores.
LIMIT_S = 60.0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# It says its pid as seen from outside, waits until its link is there, and becomes a host.
_HOST = r"""
set -eu
read -r pid rest < /proc/self/stat; echo "$pid"; read -r go
root=$FOLDER/root
mount -t tmpfs -o mode=755 layers "$root"
mkdir "$root/upper" "$root/work" "$root/merged"
mount -t overlay -o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" overlay "$root/merged"
cd "$root/merged"
mount -t proc proc proc
mount --bind "$FOLDER/boot_id" proc/sys/kernel/random/boot_id
# The machine's caches are no host's: emptied for one, all others would read everything anew.
: > "$root/drop_caches"
mount --bind "$root/drop_caches" proc/sys/vm/drop_caches
# A host's own systemd may open as many files as the kernel allows; this machine may allow less.
echo 'Max open files 1048576 1048576 files' > "$root/limits"
mount --bind "$root/limits" proc/1/limits
mount -t sysfs sysfs sys
mount --rbind /dev dev
for directory in run tmp dev/shm; do
    mount -t tmpfs -o mode=1777 "$directory" "$directory"
done
mkdir -p "./$PROJECT"
mount --bind "$PROJECT" "./$PROJECT"
mount -o remount,bind,ro "./$PROJECT"
chmod 755 run
# Greetings are programs that every login runs.
rm -rf etc/resolv.conf etc/hosts etc/hostname etc/update-motd.d
: > etc/resolv.conf
cp "$FOLDER/hosts" etc/hosts
echo "$NAME" > etc/hostname
hostname "$NAME"
rm -rf etc/ssh/ssh_host_* etc/ssh/sshd_config.d
cp "$FOLDER/sshd_config" etc/ssh/sshd_config
(umask 077; cp "$FOLDER/host_key" etc/ssh/host_key)
cp -R "$FOLDER/authorized_keys" etc/ssh/authorized_keys
(umask 227; printf '%s ALL=(ALL:ALL) NOPASSWD: ALL\n' "$ACCOUNT" > etc/sudoers.d/hosts)
mkdir -p var/empty run/sshd run/lock
chmod 1777 run/lock
pivot_root . .
umount -l .
cd /
userdel -rf "$ACCOUNT" 2> /dev/null || :
useradd --create-home --shell /bin/bash --password '*' "$ACCOUNT"
ip link set lo up
ip address add "$ADDRESS/$BITS" dev eth0
ip link set eth0 up
ip route add default via "$GATEWAY"
env -i PATH="$PATH" /usr/sbin/sshd
echo ready
exec env -i PATH="$PATH" "$MARK" "$PYTHON" -I -S -c "$INIT"
"""

# The first process of a PID namespace: it waits for every process that has no other parent.
_INIT = """\
import os, time
while True:
    try:
        os.wait()
    except ChildProcessError:
        time.sleep(0.1)
"""

_SSHD = """\
HostKey /etc/ssh/host_key
AuthorizedKeysFile .ssh/authorized_keys /etc/ssh/authorized_keys/%u
UsePAM yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
UseDNS no
PidFile /run/sshd.pid
"""


def own(campaign: str) -> str:
    """A campaign's id that no other test process has: this machine sees what runs on hosts."""
    return f"test-{os.getpid()}-{campaign}"


@dataclass(frozen=True)
class NamespaceHost:
    """One host.

    Attributes:
        address: its address; sshd listens on port 22 of it.
        host_key: its public key, as ``ssh-ed25519 AAAA...``.
        root: its root directory as seen from outside, for as long as it lives.
        pid: the first process of its PID namespace, as seen from outside.
    """

    address: str
    host_key: str
    root: Path
    pid: int

    def run(
        self, script: str, check: bool = True, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell script inside, as root; its output is text."""
        inside = ["nsenter", "-t", str(self.pid), "-m", "-n", "-p", "-u", "-r", "-w"]
        done = subprocess.run(
            [*inside, "env", "-i", f"PATH={PATH}", "HOME=/root", "sh", "-c", script],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"on {self.address}: {script}\n{done.stdout}{done.stderr}")
        return done


class Namespaces:
    """A network of hosts; on leaving the ``with`` block nothing of it is left.

    Args:
        folder: a directory for keys and settings of the hosts; made where it is missing.
        prefix: what distinguishes it from other networks on this machine, and the name of this
            machine's link to it: at most 15 letters and digits. A crashed run of the same prefix
            is cleaned up first; one that is still at work is waited for.
        network: its addresses; the first is this machine's.
        wait: False: one that is still at work is a BlockingIOError.
    """

    def __init__(
        self, folder: Path, prefix: str, network: str = "10.99.0.0/24", *, wait: bool = True
    ) -> None:
        self._folder, self.prefix, self._wait = folder, prefix, wait
        self._network = ipaddress.ip_network(network)
        self.network = network
        self.gateway = str(next(self._network.hosts()))
        self._hosts: dict[str, tuple[NamespaceHost, subprocess.Popen[str]]] = {}
        self._links: dict[str, str] = {}
        self._switch: subprocess.Popen[str] | None = None
        self._lock: TextIO | None = None
        self._guard = threading.Lock()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            lock = stack.enter_context((LOCKS / f"benchlab-test-{self.prefix}.lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX if self._wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            stack.pop_all()
        self._lock = lock
        self._clear()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._switch = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "ip link set lo up; echo ready; exec sleep infinity"],
            env={"PATH": PATH, MARK: self.prefix},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            _line(self._switch)
            self._in_switch("link add hosts type bridge stp_state 0 forward_delay 0")
            self._in_switch("link set hosts up")
            self._attach(self.prefix, "uplink", str(os.getpid()))
            # Isolated ports do not reach each other, but all others: see `set_way`.
            self._in_switch("link set uplink type bridge_slave isolated on")
            _ip("address", "add", f"{self.gateway}/{self._network.prefixlen}", "dev", self.prefix)
            _ip("link", "set", self.prefix, "up")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def add(self, address: str, authorized_key: str | None = None) -> NamespaceHost:
        """A new host that answers on its SSH port.

        Args:
            address: one of the network's; a host of this address must not be there.
            authorized_key: the public key with which ``admin`` logs in.
        """
        with self._guard:
            if address in self._links:
                raise ValueError(f"{address}: such a host is there already")
            # Interface names are short; the last number of an address is enough in one switch.
            link = self._links[address] = f"p{int(ipaddress.ip_address(address)) & 0xFFFFFF:x}"
        folder = self._folder / address
        public = _settings(folder, address, authorized_key)
        process = self._birth(folder, address)
        pid = int(_line(process))
        host = NamespaceHost(address, public, Path(f"/proc/{pid}/root"), pid)
        with self._guard:
            self._hosts[address] = (host, process)
        # Its hardware address comes from its address: others still remember the address of the host
        # which had this address before.
        hardware = "02:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))
        self._attach(f"eth0 address {hardware}", link, str(pid))
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.close()
        if _line(process) != "ready":
            raise AssertionError(f"{address} did not come up:\n{(folder / 'log').read_text()}")
        _answers(host)
        return host

    def _birth(self, folder: Path, address: str) -> subprocess.Popen[str]:
        with (folder / "log").open("w") as log:
            return subprocess.Popen(
                ["unshare", "--net", "--pid", "--mount", "--uts", "--fork", "sh", "-c", _HOST],
                env={
                    "PATH": PATH,
                    MARK: self.prefix,
                    "MARK": f"{MARK}={self.prefix}",
                    "FOLDER": str(folder),
                    "NAME": "ip-" + address.replace(".", "-"),
                    "ADDRESS": address,
                    "BITS": str(self._network.prefixlen),
                    "GATEWAY": self.gateway,
                    "ACCOUNT": USER,
                    "PYTHON": sys.executable,
                    # Wherever it lies, also where this machine's /tmp would have been.
                    "PROJECT": str(PROJECT),
                    "INIT": _INIT,
                },
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def remove(self, address: str) -> None:
        """End a host as an instance dies: every process killed, its data and its link gone."""
        with self._guard:
            host, process = self._hosts.pop(address)
            link = self._links.pop(address)
        with contextlib.suppress(ProcessLookupError):
            os.kill(host.pid, signal.SIGKILL)  # the kernel then kills its whole PID namespace
        _end(process)
        self._in_switch(f"link del {link}", check=False)

    def set_link(self, address: str, up: bool) -> None:
        """Cut a host off the network, silently, or let it back."""
        self._in_switch(f"link set {self._links[address]} {'up' if up else 'down'}")

    def set_way(self, address: str, up: bool) -> None:
        """Cut the way between this machine and a host, silently; the hosts reach each other."""
        isolated = "off" if up else "on"
        self._in_switch(f"link set {self._links[address]} type bridge_slave isolated {isolated}")

    @property
    def addresses(self) -> tuple[str, ...]:
        """The hosts that are there."""
        return tuple(self._hosts)

    def close(self) -> None:
        """Remove everything; again, or after a failed start, it does no harm."""
        for address in self.addresses:
            self.remove(address)
        if self._switch is not None:
            self._switch.kill()
            _end(self._switch)
            self._switch = None
        self._clear()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _clear(self) -> None:
        """End what carries this prefix's mark, and remove the link to it."""
        while marked := _marked(self.prefix):
            for pid in marked:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        _ip("link", "del", self.prefix, check=False)

    def _attach(self, inner: str, port: str, namespace: str) -> None:
        """A cable from a port of the switch to a process's network namespace."""
        self._in_switch(f"link add {port} type veth peer name {inner} netns {namespace}")
        self._in_switch(f"link set {port} master hosts up")

    def _in_switch(self, command: str, *, check: bool = True) -> None:
        assert self._switch is not None
        inside = ["nsenter", "-t", str(self._switch.pid), "-n"]
        _checked([*inside, "ip", *command.split()], check)


@contextlib.contextmanager
def unused(folder: Path) -> Iterator[Namespaces]:
    """A network that no other process uses, with a prefix and addresses of its own.

    Raises:
        RuntimeError: ten are in use already.
    """
    with contextlib.ExitStack() as stack:
        for number in range(10):
            made = Namespaces(folder, f"blhosts{number}", f"10.99.{number}.0/24", wait=False)
            with contextlib.suppress(BlockingIOError):
                stack.enter_context(made)
                break
        else:
            raise RuntimeError("ten networks of test hosts are in use; end one of the test runs")
        yield made


def new_key(comment: str = "") -> tuple[str, str]:
    """A new ed25519 key: the private one in OpenSSH's format, and the public one as one line."""
    import asyncssh

    key = asyncssh.generate_private_key("ssh-ed25519", comment=comment or None)
    return key.export_private_key().decode(), key.export_public_key().decode().strip()


def _settings(folder: Path, address: str, authorized_key: str | None) -> str:
    """The files a host is made from; returns its public host key."""
    keys = folder / "authorized_keys"
    for directory in (keys, folder / "root"):
        directory.mkdir(parents=True, exist_ok=True)
    (keys / USER).write_text(f"{authorized_key.strip()}\n" if authorized_key else "")
    private, public = new_key()
    (folder / "host_key").write_text(private)
    (folder / "sshd_config").write_text(_SSHD)
    (folder / "boot_id").write_text(f"{uuid.uuid4()}\n")
    name = "ip-" + address.replace(".", "-")
    (folder / "hosts").write_text(
        textwrap.dedent(f"""\
            127.0.0.1 localhost
            {address} {name}
        """)
    )
    return " ".join(public.split()[:2])


def _marked(prefix: str) -> set[int]:
    wanted = f"{MARK}={prefix}".encode()
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.add(int(entry.name))
    return found


def _answers(host: NamespaceHost) -> None:
    """Wait until sshd shows its banner."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            with socket.create_connection((host.address, 22), timeout=1) as connection:
                if connection.recv(4) == b"SSH-":
                    return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _end(process: subprocess.Popen[str]) -> None:
    process.wait(LIMIT_S)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def _ip(*arguments: str, check: bool = True) -> None:
    _checked(["ip", *arguments], check)


def _checked(command: list[str], check: bool) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.stderr.strip()}")
