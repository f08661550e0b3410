"""An instance's first boot without an instance: its user data runs, and touches nothing here.

The script's absolute paths are moved beneath a folder, and the commands that would change a
machine are answered by shims that keep a little state: which disks there are and what is on
them, what is mounted, what was asked for. Everything else - bash, sed, cut - is real.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

COMMANDS = (
    "apt-get",
    "blkid",
    "chown",
    "lsblk",
    "mdadm",
    "mkfs.xfs",
    "mount",
    "mountpoint",
    "shutdown",
    "sleep",
    "sysctl",
    "systemctl",
)
# Where there is a real system around the script, with root and a login user of its own.
COMMANDS_ON_A_HOST = ("apt-get", "lsblk", "shutdown", "sysctl", "systemctl")
# What belongs to the machine and not to a host that shares its kernel.
MACHINES_OWN = ("console", "huge_pages")
MODEL = "Amazon EC2 NVMe Instance Storage"
LIMIT_S = 60.0

_SHIM = r"""#!/bin/bash
# State: disks/NAME (its signature, empty: blank), parts/NAME, labels/LABEL (device), mounted/,
# settings/NAME, fail/COMMAND. The files of one host; commands are run one after the other.
state=@STATE@
command=${0##*/}
printf '%s\n' "$command $*" >> "$state/calls"
if [ -e "$state/fail/$command" ]; then
    echo "$command: made to fail" >&2
    exit 1
fi
last=${!#}
case "$command" in
apt-get)
    # As apt 2.6 with another apt-get update at work: at once, whatever DPkg::Lock::Timeout says.
    if [ -s "$state/locked" ]; then
        sed -i 1d "$state/locked"
        echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 9 (apt-get)" >&2
        echo "E: Unable to lock directory /var/lib/apt/lists/" >&2
        exit 100
    fi ;;
lsblk)
    if [ "${last#/}" = "$last" ]; then
        echo "/dev/nvme0n1 Amazon Elastic Block Store"
        for disk in "$state"/disks/*; do
            [ -e "$disk" ] && echo "/dev/${disk##*/}  @MODEL@           "
        done
    else
        echo "${last##*/}"
        [ -e "$state/parts/${last##*/}" ] && echo "└─${last##*/}p1"
    fi
    exit 0 ;;
blkid)
    case "$1" in
    -L) [ -e "$state/labels/$2" ] || exit 2; cat "$state/labels/$2" ;;
    --probe) [ -s "$state/disks/${last##*/}" ] || exit 2; cat "$state/disks/${last##*/}" ;;
    esac ;;
mdadm)
    mkdir -p "${2%/*}"; : > "$2"
    for disk in "$@"; do
        case "$disk" in /dev/nvme*) echo linux_raid_member > "$state/disks/${disk##*/}" ;; esac
    done ;;
mkfs.xfs)
    while [ "$#" -gt 1 ]; do
        [ "$1" = -L ] && echo "$last" > "$state/labels/$2"
        shift
    done
    if [ -e "$state/disks/${last##*/}" ]; then echo xfs > "$state/disks/${last##*/}"; fi ;;
mount) : > "$state/mounted/${last//\//_}" ;;
mountpoint) [ -e "$state/mounted/${last//\//_}" ] ;;
sysctl)
    case "$1" in
    -p) while read -r name _ value; do echo "$value" > "$state/settings/$name"; done < "$2" ;;
    -n) cat "$state/settings/$2" ;;
    esac ;;
esac
"""


@dataclass(frozen=True)
class FirstBoot:
    """A place in which user data runs.

    Attributes:
        folder: everything lies in it.
        seen_as: the same folder as the script sees it, where that is another path.
        commands: those that are answered by shims.
    """

    folder: Path
    seen_as: Path
    commands: tuple[str, ...] = COMMANDS
    moved: tuple[str, ...] | None = None
    host_key: str = field(default="ssh-ed25519 " + "A" * 68)

    def prepare(
        self, disks: dict[str, str] | None = None, *, fail: Iterable[str] = (), locked: int = 0
    ) -> None:
        """Make the folder.

        Args:
            disks: the local NVMe disks, each with what is on it: empty for a blank one,
                ``partitions`` for a partition table, else a file system's type.
            fail: the commands that fail.
            locked: how many calls of apt-get find apt's lists locked.
        """
        state, root = self.folder / "state", self.folder / "root"
        for name in ("disks", "parts", "labels", "mounted", "settings", "fail"):
            (state / name).mkdir(parents=True, exist_ok=True)
        for name, signature in (disks or {}).items():
            (state / "disks" / name).write_text("" if signature == "partitions" else signature)
            if signature == "partitions":
                (state / "parts" / name).touch()
        for name in fail:
            (state / "fail" / name).touch()
        (state / "locked").write_text("\n" * locked)
        text = _SHIM.replace("@STATE@", str(self.seen_as / "state")).replace("@MODEL@", MODEL)
        (self.folder / "bin").mkdir(exist_ok=True)
        for name in self.commands:
            shim = self.folder / "bin" / name
            shim.write_text(text)
            shim.chmod(0o755)
        pages = root / "sys/kernel/mm/transparent_hugepage"
        for directory in (root / "etc/ssh", root / "dev", pages):
            directory.mkdir(parents=True, exist_ok=True)
        for name in ("enabled", "defrag"):
            (pages / name).write_text("[always] madvise never\n")
        (root / "etc/ssh/ssh_host_ed25519_key.pub").write_text(f"{self.host_key} root@ip\n")
        (root / "etc/fstab").touch()

    def moved_script(self, script: str) -> str:
        """The script with its ``readonly NAME=/PATH`` lines beneath this folder."""

        def beneath(match: re.Match[str]) -> str:
            if self.moved is not None and match[1] not in self.moved:
                return match[0]
            return f"readonly {match[1]}={self.seen_as / 'root'}{match[2]}"

        return re.sub(r"(?m)^readonly (\w+)=(/\S+)$", beneath, script)

    def run(self, script: str) -> int:
        """Run user data here; returns its exit code."""
        path = f"{self.folder / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin"
        done = subprocess.run(
            ["bash", "-c", self.moved_script(script)],
            env={"PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
        return done.returncode

    @property
    def console(self) -> str:
        """What it has printed on the console."""
        try:
            return (self.folder / "root/dev/console").read_text(errors="replace")
        except FileNotFoundError:
            return ""

    @property
    def calls(self) -> list[str]:
        """The shims' commands with their arguments, in order."""
        try:
            return (self.folder / "state/calls").read_text().splitlines()
        except FileNotFoundError:
            return []

    def text(self, path: str) -> str:
        """A file that the script wrote."""
        return (self.folder / "root" / path.lstrip("/")).read_text()


def here(folder: Path, **fields: str) -> FirstBoot:
    """A first boot in a folder of this machine, without root."""
    return FirstBoot(folder, folder, **fields)  # type: ignore[arg-type]


def on_host(root: Path, host_key: str) -> FirstBoot:
    """A first boot inside a host whose root directory is seen as ``root``."""
    seen_as = Path("/opt/first_boot")
    folder = Path(f"{root}{seen_as}")
    return FirstBoot(folder, seen_as, COMMANDS_ON_A_HOST, MACHINES_OWN, host_key)


def inherited() -> dict[str, str]:
    """This process's environment without anything of AWS."""
    return {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
