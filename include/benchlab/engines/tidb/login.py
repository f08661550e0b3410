"""Whether TiUP would find the file from which a host's sshd reads an account's keys.

TiUP lets itself in by a key that it makes for each cluster. It puts it into the first word after
`AuthorizedKeysFile` in `/etc/ssh/sshd_config`, or into `~/.ssh/authorized_keys`, writing as the
account: `%u` and `%h` stay as they are, and included files are not read. (TiUP 1.16:
`FindSSHAuthorizedKeysFile` in `pkg/cluster/executor/executor.go`, `EnvInit` in
`pkg/cluster/task/env_init.go`.)
"""

from __future__ import annotations

from benchlab.hosts.executor import Executor

# Prints TiUP's file, then those that sshd reads; nothing where both agree or sshd cannot be asked.
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
    """Why TiUP's key would not be found on a host, as a sentence; None where it would.

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
