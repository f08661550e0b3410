"""One side's directories and processes on the hosts of a fleet, without TiUP.

TiUP starts and stops servers. This module does what TiUP does not: it copies and restores data, and
removes what TiUP no longer knows of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath

from benchlab.engines.tidb.topology import COMPONENTS, STORAGE, Component, Places, Ports
from benchlab.errors import BenchlabError, EngineError, TargetError
from benchlab.hosts import snapshot
from benchlab.hosts.executor import Executor
from benchlab.hosts.fleet import Fleet, FleetHost, on_all, try_on_all
from benchlab.language import Message, message
from benchlab.results.ended_servers import LINES, ended

# Of equally suspect servers the first is blamed; TiDB depends on the other two.
BLAMED: tuple[Component, ...] = ("tikv", "pd", "tidb")
CLEAN_LIMIT_S = 1800.0
DROP_LIMIT_S = 600.0

# A server's working directory is its own; servers run as the login's user or as root. The kernel
# shows that directory without links, even where it was removed while the server runs.
_OURS = """ours() (
    real=$(readlink -m -- "$1") || exit 1
    find /proc -mindepth 2 -maxdepth 2 -name cwd -lname "$real/*" 2>/dev/null | cut -d/ -f3
)
# By what they start and not by name: that is the port alone, so that one of this name may be of a
# cluster of the owner's, and a side that has got other ports had others.
our_units() { grep -lsF -- "$1/" /etc/systemd/system/*.service | sed 's|.*/||'; }
"""
# TiUP's units have Restart=always and RestartSec=15s: for 15 s there is no process of a server that
# died, and systemd says `activating` (systemd.service(5), systemctl(1)); then it runs again.
_AT_WORK = (
    _OURS
    + """
ours "$1"
for unit in $(our_units "$1"); do
    state=$(systemctl show --property=ActiveState --value "$unit")
    case $state in inactive | failed) ;; *) echo "$unit is $state" ;; esac
done
"""
)
# Arguments: unit, log, lines. If systemd started the server again, its log goes on: what it wrote
# before ends with its greeting (`Welcome to TiKV`, `["Welcome to TiDB."]`).
_HOW_ENDED = """
about=$(TZ=UTC systemctl show \
    --property=ActiveState,ActiveEnterTimestamp,ActiveExitTimestamp "$1") || exit 1
echo "$about"
[ -r "$2" ] || exit 0
last=$(grep -n 'Welcome to' "$2" | tail -n 1 | cut -d: -f1)
case $about in *ActiveState=active*) ;; *) last= ;; esac
if [ -n "$last" ]; then head -n "$((last - 1))" "$2"; else cat "$2"; fi |
    tail -n "$3" | sed 's/^/log=/'
"""
# Arguments: log, lines. TiUP's units send what a server prints, such as a refused configuration, to
# a file beside its log.
_COMPLAINTS = """
[ ! -r "$1" ] || grep -aE '\\[(WARN|ERROR|FATAL)\\]' "$1" | tail -n "$2"
printed=${1%.log}_stderr.log
[ ! -r "$printed" ] || tail -n 5 "$printed"
"""
# If this is interrupted, or the disk is full, the owner must not be locked out. The lock is the one
# that hosts/logins.py takes: a key that is let in meanwhile is not lost.
FORGET_LOGIN = """
forget_login() (
    set -e
    keys=$(readlink -e -- "$1") || exit 0
    exec 9< "$(dirname -- "$1")"
    flock -w 30 9 || { echo "somebody has held the directory of $1 for 30 s" >&2; exit 1; }
    grep -qF -- "$key" "$keys" || exit 0
    part=$(mktemp "$keys.XXXXXX")
    trap 'rm -f -- "$part"' EXIT
    cp -a -- "$keys" "$part"  # its owner and mode
    key=$key awk '{
        for (n = 1; n <= NF; n++) if ($n == ENVIRON["key"]) next
        print
    }' "$keys" > "$part"
    sync "$part"
    mv -f -- "$part" "$keys"
)
"""
_CLEAN = (
    _OURS
    + FORGET_LOGIN
    + """
set -eu
root=$1 account=$2 key=$3
shift 3
for unit in $(our_units "$root"); do
    systemctl disable --now "$unit" || true
    rm -f "/etc/systemd/system/$unit"
    systemctl daemon-reload || true
done
tries=0
while pids=$(ours "$root") || exit 1; [ -n "$pids" ]; do
    if [ $tries -lt 100 ]; then signal=TERM; else signal=KILL; fi
    kill -$signal $pids 2>/dev/null || true  # some may have ended by themselves
    tries=$((tries + 1))
    [ $tries -lt 150 ] || { echo "processes $pids in $root do not end" >&2; exit 1; }
    sleep 0.1
done
rm -rf "$root"
# TiKV leaves a file by its address there (`acquire_lock` in its components/server/src/common.rs).
locks=/tmp/$(id -u "$account")_TIKV_LOCK_FILES
for port in "$@"; do
    for lock in "$locks"/*_"$port"; do
        if [ -e "$lock" ]; then flock -n "$lock" rm -f "$lock" || true; fi  # else it is at work
    done
done
if [ -d "$locks" ]; then rmdir --ignore-fail-on-non-empty "$locks"; fi
if [ -n "$key" ]; then
    home=$(getent passwd "$account" | cut -d: -f6)
    for keys in $(sshd -T 2>/dev/null | sed -n 's/^authorizedkeysfile //p') .ssh/authorized_keys; do
        keys=$(echo "$keys" | sed "s|%u|$account|g; s|%h|$home|g")
        case $keys in /*) ;; *) keys=$home/$keys ;; esac
        forget_login "$keys"
    done
fi
"""
)
_FOREIGN_UNITS = """
cd /etc/systemd/system
root=$1
shift
for unit in "$@"; do
    [ ! -e "$unit" ] || grep -qsF -- "$root/" "$unit" || echo "$unit"
done
"""
_PREPARE = """
set -eu
account=$1
shift
mkdir -p "$@"
chown "$account:" "$@"
"""
# As TiUP 1.16 runs it: it first asks whether the option exists. PD and TiDB exit with 0 whatever
# they find, so only what they print tells.
_CHECK_CONFIG = """
cd "$1" || exit 1
program=bin/$2-server config=conf/$2.toml
"$program" --help 2>&1 | grep -q -e -config-check || exit 0
shift 2
"$program" --config-check --config="$config" "$@" 2>&1 || echo "exit code $?"
"""
# What a check prints besides its findings: success, messages below a warning, and the lines around
# the message of a Rust panic.
_NO_FINDING = re.compile(
    r"config check successful|.*\[(INFO|DEBUG)\]|<jemalloc>|thread '.*' .*panicked at"
    r"|stack backtrace:|note: |\s+\d+: |\s+at |\s*$"
)
_DROP_CACHES = "sync; echo 3 > /proc/sys/vm/drop_caches"


@dataclass(frozen=True)
class SideOnHosts:
    """One side on all hosts of a cluster.

    Example:
        ``SideOnHosts(fleet, executors, PurePosixPath("benchlab/c1/baseline"), Ports()).at_work()``

    Args:
        executors: gives the executor of a host; called from several threads at once.
        subdirectory: the part of every host's data directory that holds everything of the side.
    """

    fleet: Fleet
    executors: Callable[[FleetHost], Executor]
    subdirectory: PurePosixPath
    ports: Ports

    @property
    def all(self) -> tuple[FleetHost, ...]:
        """The hosts with a server on them."""
        return self.fleet.with_role(*COMPONENTS)

    @property
    def storage(self) -> tuple[FleetHost, ...]:
        """The hosts with data on them: those of PD and TiKV."""
        return self.fleet.with_role(*STORAGE)

    def places(self, host: FleetHost) -> Places:
        """The side's places on a host."""
        return Places(host.data / self.subdirectory, self.ports)

    def prepare(self) -> None:
        """Make the side's directories on every host, owned by the account that logs in.

        So is the campaign's directory around them, in which the account keeps its jobs.

        Raises:
            TargetError: a host has a unit of another cluster that TiUP would write over.
        """

        def work(host: FleetHost) -> None:
            places = self.places(host)
            root = places.root
            foreign = self._root(host, _FOREIGN_UNITS, [str(root), *places.units()]).split()
            if foreign:
                raise TargetError(
                    f"{host.name}: {', '.join(foreign)} in /etc/systemd/system is of another "
                    "cluster, and TiUP would write over it; remove that cluster, or let the "
                    "topology name other hosts"
                )
            directories = [str(path) for path in (root.parent, root, places.deploy, places.data)]
            self._root(host, _PREPARE, [host.user, *directories])

        on_all(self.all, work)

    def refused_configs(self) -> dict[tuple[Component, str], str]:
        """Why servers refuse the configuration that they are deployed with.

        Each checks it with its own binary. Not every unknown item is found: TiDB, and TiKV below
        ``raftstore``, ignore them in silence.

        Returns:
            What the server says, by component and host; empty if nothing is wrong.
        """

        def work(host: FleetHost) -> dict[tuple[Component, str], str]:
            places, found = self.places(host), {}
            for component in COMPONENTS:
                if component not in host.roles:
                    continue
                data = ["--pd", "", "--data-dir", str(places.data_of(component))]
                where = [str(places.deploy_of(component)), component]
                command = ["sh", "-s", "--", *where, *(data if component == "tikv" else ())]
                printed = self.executors(host).run(command, stdin=_CHECK_CONFIG).stdout
                said = [line for line in printed.splitlines() if not _NO_FINDING.match(line)]
                if said:
                    found[component, host.name] = "; ".join(said)
            return found

        return {
            where: said for one in on_all(self.all, work).values() for where, said in one.items()
        }

    def at_work(self) -> bool:
        """Whether a server of this side runs on any host, or systemd will start one again."""

        def work(host: FleetHost) -> bool:
            return bool(self._root(host, _AT_WORK, [str(self.places(host).root)]).strip())

        return any(on_all(self.all, work).values())

    def how_ended(
        self, servers: Sequence[tuple[Component, FleetHost]], secrets: Sequence[str]
    ) -> list[Message]:
        """What is known of servers that ended by themselves: when, whether they run again, logs.

        Args:
            servers: those that ended, from :meth:`Census.ended`.
            secrets: what must not be quoted from their logs.
        """

        def ask(server: tuple[Component, FleetHost]) -> Message:
            component, host = server
            places = self.places(host)
            arguments = (places.unit(component), str(places.log(component)), str(LINES))
            executor = self.executors(host)
            done = executor.run(["sh", "-c", _HOW_ENDED, "sh", *arguments], check=False)
            lines = [line.partition("=")[::2] for line in done.stdout.splitlines()]
            log = [line for name, line in lines if name == "log"]
            return ended(component, host.name, _how(dict(lines)), log, secrets)

        named = {f"{component} on {host.name}": (component, host) for component, host in servers}
        found, failed = try_on_all(named, ask)
        for name, why in failed.items():
            component, host = named[name]
            silent = message("ended-host-silent", why=why)
            found[name] = ended(component, host.name, silent, [])
        return [found[name] for name in named]

    def complaints(self) -> tuple[dict[str, list[str]], dict[str, str]]:
        """The last warnings and errors that each server wrote, by server: ``tikv on kv-1``.

        They are in the order in which servers are blamed.

        Returns:
            Also, by server, why its host could not be asked.
        """

        def ask(server: tuple[Component, FleetHost]) -> list[str]:
            component, host = server
            command = ["sh", "-c", _COMPLAINTS, "sh", str(self.places(host).log(component)), "40"]
            return self.executors(host).run(command, check=False).stdout.splitlines()

        servers = {
            f"{component} on {host.name}": (component, host)
            for component in BLAMED
            for host in self.fleet.with_role(component)
        }
        found, failed = try_on_all(servers, ask)
        return {name: found[name] for name in servers if name in found}, failed

    def clean(self, public_key: str) -> dict[str, str]:
        """Remove this side's processes, units, files and TiUP's login from every host.

        Args:
            public_key: that of TiUP's login, without its type and name; empty if there is none.

        Returns:
            Why a host could not be cleaned, by host name; empty if all are clean.
        """

        def work(host: FleetHost) -> None:
            # Once its campaign is gone, nobody knows which ports the side had.
            ports = [str(Ports.of_set(number).tikv) for number in (0, 1)]
            arguments = [str(self.places(host).root), host.user, public_key, *ports]
            self._root(host, _CLEAN, arguments, timeout_s=CLEAN_LIMIT_S)

        return try_on_all({host.name: host for host in self.all}, work)[1]

    def back_up(self, backup: str) -> None:
        """Copy the data of every storage host, all at once. The servers must have ended.

        There is no snapshot at all until every host has its copy.

        Args:
            backup: the name of this backup, which distinguishes it from earlier ones.

        Raises:
            BenchlabError: names the hosts that failed, for instance for lack of space.
        """

        def forget(host: FleetHost) -> None:
            self.executors(host).run(["rm", "-f", str(self.places(host).snapshot_id)])

        def copy(host: FleetHost) -> None:
            executor, places = self.executors(host), self.places(host)
            # TiKV makes this file of several GB when it starts, as a reserve for a full disk.
            placeholder = ["-name", "space_placeholder_file", "-delete"]
            executor.run(["find", str(places.data), "-maxdepth", "2", *placeholder])
            with _named(host, "backing up"):
                snapshot.copy(executor, places.data, places.snapshot)

        def confirm(host: FleetHost) -> None:
            self.executors(host).put(self.places(host).snapshot_id, backup + "\n")

        on_all(self.storage, forget)
        on_all(self.storage, copy)
        on_all(self.storage, confirm)

    def check_snapshot(self) -> None:
        """Check that every storage host has its part of the same backup.

        Raises:
            EngineError: one does not; names the hosts.
        """

        def read(host: FleetHost) -> str:
            done = self.executors(host).run(
                ["cat", str(self.places(host).snapshot_id)], check=False
            )
            return done.stdout.strip()

        found = on_all(self.storage, read)
        if missing := [name for name, backup in found.items() if not backup]:
            raise EngineError(
                f"there is no whole snapshot to restore: {', '.join(missing)} has none; back up "
                "the loaded cluster again"
            )
        if len(set(found.values())) != 1:
            parts = ", ".join(f"{name}: {backup}" for name, backup in found.items())
            raise EngineError(
                f"the hosts hold snapshots of different backups ({parts}); back up the loaded "
                "cluster again"
            )

    def restore(self) -> None:
        """Copy every storage host's snapshot back, all at once, and drop the hosts' file caches.

        Raises:
            BenchlabError: names the hosts that failed.
        """

        def work(host: FleetHost) -> None:
            places = self.places(host)
            with _named(host, "restoring"):
                snapshot.copy(self.executors(host), places.snapshot, places.data)
            self._root(host, _DROP_CACHES, [], timeout_s=DROP_LIMIT_S)

        on_all(self.storage, work)

    def _root(
        self, host: FleetHost, script: str, arguments: Sequence[str], *, timeout_s: float = 60
    ) -> str:
        command = ["sudo", "-n", "sh", "-s", "--", *arguments]
        done = self.executors(host).run(command, stdin=script, timeout_s=timeout_s)
        return done.stdout


def _how(unit: Mapping[str, str]) -> Message:
    """How a server ended, from the properties of its systemd unit."""
    at, again = (
        # `Thu 2026-11-26 18:53:04 UTC`
        unit.get(f"Active{moment}Timestamp", "").partition(" ")[2]
        for moment in ("Exit", "Enter")
    )
    state = unit.get("ActiveState")
    if not at or (state == "active" and again < at):
        return message("ended-unseen")
    if state == "active":
        return message("ended-again", at=at, again=again)
    return message("ended-waiting" if state == "activating" else "ended-stays", at=at)


@contextmanager
def _named(host: FleetHost, doing: str) -> Iterator[None]:
    """Add the host, and what was being done, to errors that are raised inside."""
    try:
        yield
    except BenchlabError as error:
        raise TargetError(f"{doing} {host.name}: {error}") from error
