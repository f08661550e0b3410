"""What is read from an instance's console, and what is ignored."""

from __future__ import annotations

import pytest

from benchlab.targets.ec2 import console

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHlbv0QUGMJSz0nYHlDJ8cWJ7gMFEnmiqXWmDwFCWKzS"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
BOOT = "[    0.000000] Linux version 6.1.0-26-cloud-amd64\r\n[    1.2] nvme nvme0: 4/0/0\r\n"
CLOUD_INIT = f"""\
[   20.1] cloud-init[612]: Cloud-init v. 22.4.2 running 'modules:final'
-----BEGIN SSH HOST KEY FINGERPRINTS-----
256 SHA256:abc root@ip-172-31-1-2 (ED25519)
-----END SSH HOST KEY FINGERPRINTS-----
-----BEGIN SSH HOST KEY KEYS-----
ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAI root@ip-172-31-1-2
{KEY} root@ip-172-31-1-2
-----END SSH HOST KEY KEYS-----
"""


def test_an_empty_console_says_nothing() -> None:
    """Neither ready nor failed, and no key."""
    assert console.parse("") == console.Console()
    assert console.tail("\n\n") == "(the console is empty)"


def test_benchlabs_own_lines_are_read() -> None:
    """Key and READY are found among other lines, with prefixes and carriage returns."""
    text = f"{BOOT}\r\n[   21.4] ec2: BENCHLAB-HOST-KEY {KEY}\r\n"
    text += "BENCHLAB-SET vm.swappiness=0\r\nBENCHLAB-READY\r\nDebian login: "
    heard = console.parse(text)
    assert heard.host_key == KEY
    assert heard.ready


def test_cloud_inits_block_is_accepted() -> None:
    """Its ed25519 key is used, without the comment after it."""
    heard = console.parse(BOOT + CLOUD_INIT)
    assert heard.host_key == KEY
    assert not heard.ready


def test_a_key_outside_the_block_is_ignored() -> None:
    """An authorised user key that cloud-init lists is not the host's."""
    text = f"ci-info: | admin | {OTHER} |\nssh-ed25519 line: {OTHER}\n"
    assert console.parse(text).host_key is None


def test_benchlabs_line_takes_precedence_over_cloud_inits() -> None:
    """sshd has the key that was generated after cloud-init's."""
    heard = console.parse(f"BENCHLAB-HOST-KEY {OTHER}\n{CLOUD_INIT}")
    assert heard.host_key == OTHER


@pytest.mark.parametrize("cut", [4, 20, 40])
def test_a_key_cut_by_the_kernel_is_ignored(cut: int) -> None:
    """Half a key would make Benchlab refuse the right host."""
    assert console.parse(f"BENCHLAB-HOST-KEY {KEY[:-cut]}\n[ 9.1] xfs: mounted").host_key is None
    assert console.parse(f"BENCHLAB-HOST-KEY {KEY[:-cut]}[ 9.1] xfs").host_key is None


def test_a_failure_is_quoted() -> None:
    """In the user data's own words."""
    heard = console.parse("BENCHLAB-FAILED installing haproxy sysbench\r\n")
    assert heard.failed == "installing haproxy sysbench"
    assert not heard.ready


def test_the_last_status_counts() -> None:
    """User data that is run again may succeed after a failure, or fail after a success."""
    assert console.parse("BENCHLAB-FAILED mounting\nBENCHLAB-READY\n").ready
    assert console.parse("BENCHLAB-READY\nBENCHLAB-FAILED mounting\n").failed == "mounting"


def test_the_tail_has_the_last_lines_with_text() -> None:
    """Blank lines are left out."""
    assert console.tail("".join(f"line {n}\r\n\r\n" for n in range(50))).splitlines() == [
        f"line {n}" for n in range(30, 50)
    ]
