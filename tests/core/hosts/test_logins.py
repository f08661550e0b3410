"""Authorizing and revoking a key: whatever happens, the owner of a host can still log in."""

from __future__ import annotations

import os
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchlab.hosts.logins import AUTHORISE, REVOKE

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZpcnN0"
OURS = f"{KEY} benchlab-c1"
# Everything that might be taken for a line of Benchlab's and is not.
FOREIGN = b"""\
# keys of the team, not of benchlab-c1
ssh-rsa AAAAB3NzaC1yc2E= benchlab-c1
from="10.0.0.1" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 benchlab-c1
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 benchlab-c10
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 my benchlab-c1

ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 Ren\xe9\r
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 owner@laptop"""
# In a mount namespace of its own: a disk of two blocks, one of them the file's.
FULL_DISK = """
mount -t tmpfs -o size=8k tiny "$HOME/.ssh" || exit 99
printf '%s' "$FOUND" > "$HOME/.ssh/authorized_keys"
head -c 4096 /dev/zero > "$HOME/.ssh/filler" || exit 99
sh -c "$SCRIPT" sh "$ARGUMENT"
code=$?
cat "$HOME/.ssh/authorized_keys"
ls -A "$HOME/.ssh" >&2
exit $code
"""


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """The file of an account that has no key yet."""
    return tmp_path / ".ssh" / "authorized_keys"


def run(script: str, argument: str, keys: Path) -> None:
    """One of the scripts, as the account whose file this is."""
    subprocess.run(
        ["sh", "-c", script, "sh", argument],
        env={"PATH": os.environ["PATH"], "HOME": str(keys.parent.parent)},
        check=True,
    )


def write(keys: Path, text: bytes) -> None:
    """What the owner has in the file."""
    keys.parent.mkdir(exist_ok=True)
    keys.write_bytes(text)


def test_a_key_is_authorized_where_there_was_none(keys: Path) -> None:
    """Into files that sshd accepts; twice is once."""
    for _ in range(2):
        run(AUTHORISE, OURS, keys)
    assert keys.read_text() == f"{OURS}\n"
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert stat.S_IMODE(keys.parent.stat().st_mode) == 0o700
    run(REVOKE, "benchlab-c1", keys)
    assert keys.read_text() == ""


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_foreign_lines_stay_byte_for_byte(keys: Path, end: bytes) -> None:
    """Also the last one, where the file does not end with a newline."""
    write(keys, FOREIGN + end)
    run(AUTHORISE, OURS, keys)
    assert keys.read_bytes() == FOREIGN + b"\n" + OURS.encode() + b"\n"
    run(AUTHORISE, OURS.replace("Zpcn", "Zlcn"), keys)  # a second key of the campaign
    run(REVOKE, "benchlab-c1", keys)
    assert keys.read_bytes() == FOREIGN + b"\n"


def test_a_dot_in_a_mark_is_a_dot(keys: Path) -> None:
    """Ids of campaigns may have them."""
    lines = f"{KEY} benchlab-v5.1\n{KEY} benchlab-v5x1\n"
    write(keys, lines.encode())
    run(REVOKE, "benchlab-v5.1", keys)
    assert keys.read_text() == f"{KEY} benchlab-v5x1\n"


def test_a_file_without_the_mark_is_not_touched(keys: Path) -> None:
    """It stays the same file, and what is missing is not made."""
    run(REVOKE, "benchlab-c1", keys)
    assert not keys.parent.exists()
    write(keys, FOREIGN)
    before = keys.stat()
    run(REVOKE, "benchlab-c1", keys)
    after = keys.stat()  # that it was read may show
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert keys.read_bytes() == FOREIGN


def test_a_link_stays_one_and_mode_and_owner_stay(keys: Path, tmp_path: Path) -> None:
    """The file behind it is changed, even where nobody may write it."""
    behind = tmp_path / "elsewhere"
    behind.write_text("ssh-rsa AAAA owner\n")
    behind.chmod(0o440)
    if os.geteuid() == 0:
        os.chown(behind, 1234, 2345)
    before = behind.stat()
    keys.parent.mkdir()
    keys.symlink_to("../elsewhere")
    run(AUTHORISE, OURS, keys)
    assert behind.read_text() == f"ssh-rsa AAAA owner\n{OURS}\n"
    run(REVOKE, "benchlab-c1", keys)
    assert behind.read_text() == "ssh-rsa AAAA owner\n"
    assert keys.is_symlink()
    after = behind.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )


def test_none_of_many_at_once_is_lost(keys: Path) -> None:
    """Campaigns come and go at the same moment; the owner's line and nothing else stays as well."""
    write(keys, b"ssh-rsa AAAA owner")
    numbers = range(12)
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda n: run(AUTHORISE, f"{KEY} benchlab-c{n}", keys), numbers))
    lines = keys.read_text().splitlines()
    assert lines[0] == "ssh-rsa AAAA owner"
    assert sorted(lines[1:]) == sorted(f"{KEY} benchlab-c{n}" for n in numbers)
    with ThreadPoolExecutor(12) as pool:
        gone = pool.map(lambda n: run(REVOKE, f"benchlab-c{n}", keys), numbers)
        come = pool.map(lambda n: run(AUTHORISE, f"{KEY} benchlab-d{n}", keys), numbers)
        list(gone), list(come)
    lines = keys.read_text().splitlines()
    assert lines[0] == "ssh-rsa AAAA owner"
    assert sorted(lines[1:]) == sorted(f"{KEY} benchlab-d{n}" for n in numbers)
    assert [path.name for path in keys.parent.iterdir()] == ["authorized_keys"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a tiny disk")
@pytest.mark.parametrize(("script", "argument"), [(AUTHORISE, KEY), (REVOKE, "benchlab-c1")])
def test_a_full_disk_changes_nothing(keys: Path, script: str, argument: str) -> None:
    """It fails and says so; the file is as it was, and no half of a new one stays."""
    found = f"ssh-rsa AAAA owner\n{OURS}\n"
    keys.parent.mkdir()
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", FULL_DISK],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(keys.parent.parent),
            "FOUND": found,
            "SCRIPT": script,
            "ARGUMENT": argument,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode not in (0, 99), done.stderr
    assert "No space left on device" in done.stderr
    assert done.stdout == found
    assert done.stderr.splitlines()[-2:] == ["authorized_keys", "filler"]
