"""Checks, before anything is deployed, whether a host as it is set up can have a side's servers.

Example:
    ``fault(executor, "admin", [SideSpec(version="v8.5.0")], restores=True)`` is None on a Debian
    host that is not a container.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchlab.errors import EngineError
from benchlab.hosts.executor import Executor
from benchlab.plan import versions
from benchlab.plan.fields.engines import SideSpec

# What TiUP's units ask systemd for (LimitNOFILE in its embed/templates/systemd/system.service.tpl).
# If the kernel refuses that, systemd gives a service what process 1 may have at most
# (setrlimit_closest in its src/basic/rlimit-util.c).
_WANTED_FILES = 1_000_000
_FILES_OF_SERVICE = """
ulimit -n "$1" 2> /dev/null && echo "$1" || awk '/^Max open files/ { print $5 }' /proc/1/limits
"""
# TiKV refuses to start with fewer (`check_system_config` in its components/server/src/server.rs).
_RESERVED_FILES, _FILES_OF_ENGINE = 1000, 40_960
# From this version on Titan is on by default; it opens as many files again as RocksDB.
_FIRST_OF_TITAN = "v7.6.0"
CACHES = "/proc/sys/vm/drop_caches"


def fault(
    executor: Executor, user: str, stores: Sequence[SideSpec], *, restores: bool
) -> str | None:
    """Why a host cannot have servers; see :meth:`BaseCluster.host_fault`."""
    if why := misplaced(executor, user):
        return why
    needed = max(map(open_files, stores), default=0)
    if needed and (found := _files_of_service(executor)) < needed:
        return (
            f"a systemd service can open {found:,} files here, and TiKV starts only where it can "
            f"open {needed:,} (rocksdb.max-open-files, raftdb.max-open-files, and "
            f"{_RESERVED_FILES:,} more): raise the limit of process 1 (of a container: `--ulimit "
            "nofile=1000000`, or LimitNOFILE of the service that starts it), or set these items "
            "lower"
        )
    if restores and executor.run(["sudo", "-n", "test", "-w", CACHES], check=False).exit_code != 0:
        return (
            f"{CACHES} cannot be written, as in most containers, and every restore empties the "
            "cache of files, lest a trial reads from it what another one left: use a host where it "
            "can be written, or `restore: never`"
        )
    return None


def open_files(side: SideSpec) -> int:
    """How many files a side's TiKV has to be able to open; with fewer it refuses to start.

    Example:
        ``open_files(SideSpec(version="v6.5.0"))`` is 82,920.
    """
    items = side.components.get("tikv", {})
    titan_by_default = versions.order(side.version) >= versions.order(_FIRST_OF_TITAN)
    has_titan = str(items.get("rocksdb.titan.enabled", titan_by_default)).lower() == "true"
    asked = [str(items.get(f"{name}.max-open-files", "")) for name in ("rocksdb", "raftdb")]
    of_rocksdb, of_raftdb = (
        int(text) if text.removeprefix("-").isdecimal() else _FILES_OF_ENGINE for text in asked
    )
    return _RESERVED_FILES + of_rocksdb * (2 if has_titan else 1) + of_raftdb


def _files_of_service(executor: Executor) -> int:
    command = ["sudo", "-n", "sh", "-c", _FILES_OF_SERVICE, "sh", str(_WANTED_FILES)]
    found = executor.run(command).stdout.strip()
    if found == "unlimited":
        return _WANTED_FILES
    if not found.isdecimal():
        raise EngineError(f"how many files a service can open is not said by /proc/1: {found!r}")
    return int(found)


# Prints TiUP's file, then those that sshd reads; nothing if they agree or sshd cannot be asked.
# TiUP makes ~/.ssh itself.
_COMPARE = r"""
account=$(id -un)
absolute() { case $1 in /*) echo "$1" ;; "~"/*) echo "$HOME${1#\~}" ;; *) echo "$HOME/$1" ;; esac; }
word=$(sudo -n grep -Ev '^\s*#|^\s*$' /etc/ssh/sshd_config |
    awk '/AuthorizedKeysFile/ && NF >= 2 { gsub(/"/, "", $2); print $2; exit }')
tiup=$(absolute "${word:-.ssh/authorized_keys}")
effective=$(sudo -n /usr/sbin/sshd -T -C "user=$account,host=localhost,addr=127.0.0.1" 2>/dev/null |
    sed -n 's/^authorizedkeysfile //p')
[ -n "$effective" ] || exit 0
read=
for file in $effective; do
    read="$read $(absolute "$(echo "$file" | sed "s|%u|$account|g; s|%h|$HOME|g; s|%%|%|g")")"
done
case " $read " in *" $tiup "*)
    [ "${tiup%/*}" = "$HOME/.ssh" ] || [ -w "$tiup" ] || [ -w "${tiup%/*}" -a ! -e "$tiup" ] ||
        { echo "$tiup"; echo "$read"; } ;;
*) echo "$tiup"; echo "$read" ;;
esac
"""


def misplaced(executor: Executor, user: str) -> str | None:
    """Why sshd would not find TiUP's key on a host, as a sentence; None if it would.

    TiUP logs in with a key that it makes for each cluster. As the account, it writes the key into
    the file that is the first word after `AuthorizedKeysFile` in `/etc/ssh/sshd_config`, or else
    `~/.ssh/authorized_keys`. It neither expands `%u` and `%h` nor reads included files. (TiUP 1.16:
    `FindSSHAuthorizedKeysFile` in `pkg/cluster/executor/executor.go`, `EnvInit` in
    `pkg/cluster/task/env_init.go`.)

    Example:
        ``misplaced(executor, "admin")`` is None with Debian's own `sshd_config`.
    """
    lines = executor.run(["sh", "-c", _COMPARE]).stdout.splitlines()
    if not lines:
        return None
    tiup, read = lines[0], ", ".join(lines[-1].split())
    return (
        f"TiUP would put its key into {tiup}, while sshd reads {read}, or {user} may not write it: "
        "TiUP takes the first word after AuthorizedKeysFile in /etc/ssh/sshd_config as it stands. "
        "Make that word `.ssh/authorized_keys`, and let what you have there follow it"
    )
