"""What an instance says on its console: its host key, and whether it is ready.

Benchlab's user data (``user_data.sh.j2``) writes, each on a line of its own and also into
:data:`STATUS_FILE` on the host::

    BENCHLAB-HOST-KEY ssh-ed25519 AAAA...
    BENCHLAB-SET vm.swappiness=0  (settings as read back; for people)
    BENCHLAB-FAILED installing packages
    BENCHLAB-READY

cloud-init also writes the public host keys (its module ``keys_to_console``; source:
cloudinit/config/cc_keys_to_console.py and tools/write-ssh-key-fingerprints)::

    -----BEGIN SSH HOST KEY KEYS-----
    ecdsa-sha2-nistp256 AAAA... root@ip-10-0-0-5
    ssh-ed25519 AAAA... root@ip-10-0-0-5
    -----END SSH HOST KEY KEYS-----

Others write to the console as well: lines carry prefixes (``[   21.4] cloud-init[612]:``,
``ec2:``), end in CR LF, and may be cut by kernel messages. A key counts only when it is complete
(RFC 8709: the name's length, ``ssh-ed25519``, 32, and 32 bytes).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass

STATUS_FILE = "/var/lib/benchlab/status"
TAIL_LINES = 20

_BEGIN = "-----BEGIN SSH HOST KEY KEYS-----"
_END = "-----END SSH HOST KEY KEYS-----"
_KEY = re.compile(r"ssh-ed25519 ([A-Za-z0-9+/]+=*)(?=\s|$)")
_OUR_KEY = re.compile(r"BENCHLAB-HOST-KEY (ssh-ed25519 [A-Za-z0-9+/]+=*)(?=\s|$)")
_ENDED = re.compile(r"BENCHLAB-(READY|FAILED)\b[ \t]*(.*)")
_HEAD = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"


@dataclass(frozen=True)
class Console:
    """What a console has said so far.

    Attributes:
        host_key: ``ssh-ed25519 AAAA...``; None while there is none.
        ready: the user data has finished.
        failed: the step of the user data that failed; None if none did.
    """

    host_key: str | None = None
    ready: bool = False
    failed: str | None = None


def parse(text: str) -> Console:
    """Read a console's output, or the text of :data:`STATUS_FILE`.

    The last status counts: user data that is run again after a failure may succeed.

    Example:
        ``parse("BENCHLAB-READY").ready`` is True.
    """
    lines = text.replace("\r", "\n").split("\n")
    ours = [match[1] for line in lines if (match := _OUR_KEY.search(line)) and _complete(match[1])]
    keys = ours or list(_cloud_init_keys(lines))
    ended = [match for line in lines if (match := _ENDED.search(line))]
    last = ended[-1] if ended else None
    return Console(
        host_key=keys[-1] if keys else None,
        ready=last is not None and last[1] == "READY",
        failed=(last[2].strip() or "unknown") if last is not None and last[1] == "FAILED" else None,
    )


def tail(text: str) -> str:
    """The last :data:`TAIL_LINES` lines that are not blank, for an error message."""
    lines = [line.rstrip() for line in text.replace("\r", "\n").split("\n") if line.strip()]
    return "\n".join(lines[-TAIL_LINES:]) or "(the console is empty)"


def _cloud_init_keys(lines: list[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        if _BEGIN in line or _END in line:
            inside = _BEGIN in line
        elif inside and (match := _KEY.search(line)) and _complete(match[0]):
            yield match[0]


def _complete(key: str) -> bool:
    """Whether it is a complete ed25519 key, not one that was cut off."""
    try:
        blob = base64.b64decode(key.split()[1], validate=True)
    except (binascii.Error, ValueError):
        return False
    return blob.startswith(_HEAD) and len(blob) == len(_HEAD) + 32
