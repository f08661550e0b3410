"""Scripts that authorize a key on a host and revoke it, without touching other keys.

They are for ``sh``, and run as the account whose ``~/.ssh/authorized_keys`` they change, one at a
time. The file is replaced as a whole or not at all, so that neither a full disk nor a lost
connection locks its owner out; a symbolic link stays, and its target is replaced. Mode and owner
stay. The format of the file: sshd(8), AUTHORIZED_KEYS FILE FORMAT.

Example:
    ``executor.run(["sh", "-c", REVOKE, "sh", mark("c1")])``
"""

from __future__ import annotations

# `$keys` is the file, `$part` its replacement. The lock is on the directory, because every change
# puts a new file in place.
_BEGIN = """
set -eu
umask 077
exec 9< ~/.ssh
flock -w 30 9 || { echo "somebody has held ~/.ssh for 30 s" >&2; exit 1; }
keys=$(readlink -f ~/.ssh/authorized_keys)
part=
trap '[ -z "$part" ] || rm -f "$part"' EXIT
trap 'exit 1' HUP INT TERM
"""
# Owner and mode last, because the file may be read-only after that. Some file systems report a full
# disk only on `sync`.
_END = """
if [ -e "$keys" ]; then
    chown --reference="$keys" "$part"
    cp --attributes-only --preserve=mode "$keys" "$part"
fi
sync "$part"
mv -fT "$part" "$keys"
"""

# $1: the line, `ssh-ed25519 AAAA... MARK`. Idempotent: the line is added once.
AUTHORISE = (
    "mkdir -p -m 700 ~/.ssh || exit 1"
    + _BEGIN
    + """
[ ! -e "$keys" ] || ! grep -aqxF -e "$1" "$keys" || exit 0
part=$(mktemp "$keys.XXXXXX")
if [ -s "$keys" ]; then
    cat "$keys" > "$part"
    # Else the owner's last line and this one would be one.
    [ "$(tail -c 1 "$keys" | wc -l)" -eq 1 ] || echo >> "$part"
fi
printf '%s\\n' "$1" >> "$part"
"""
    + _END
)

# $1: the mark. Removes only whole lines that Benchlab could have written: a key of its type without
# options, followed by the mark alone. One campaign's mark may be the beginning of another's.
REVOKE = (
    "[ -e ~/.ssh/authorized_keys ] || exit 0"
    + _BEGIN
    + """
mark=$(printf '%s' "$1" | sed 's/[.]/[.]/g')
line="ssh-ed25519 AAAA[A-Za-z0-9+/]+=* $mark"
export LC_ALL=C
found=0
grep -aqxE -e "$line" "$keys" || found=$?
[ "$found" -ne 1 ] || exit 0
part=$(mktemp "$keys.XXXXXX")
grep -avxE -e "$line" "$keys" > "$part" || [ $? -eq 1 ]  # 1: there was no other line
"""
    + _END
)


def mark(campaign: str) -> str:
    """The comment that identifies a campaign's keys."""
    return f"benchlab-{campaign}"
