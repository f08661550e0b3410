"""The journal: who deleted, pruned and gave back what with the command line, and when.

Judgements and approvals are kept with what they are about. The journal is in the home, as what it
tells of may be gone; a line is added before the act itself, so that an act that fails is in it too.

Example:
    ``write(home, "delete", "c1")``; then ``read(home)[-1].by`` is the login name.
"""

from __future__ import annotations

import json
import os
import pwd
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchlab.bounded import read_text
from benchlab.errors import StoreError, meaning_of
from benchlab.home import Home

FOLDER = "journal"


@dataclass(frozen=True)
class Act:
    """One line of the journal.

    Attributes:
        by: a login name; of who called sudo, if somebody did.
        act: the command.
        of: a campaign's id, or what else it was done to.
    """

    at: datetime
    by: str
    act: str
    of: str


def person() -> str:
    """The account of this process, whatever its environment says; its number if it has no name.

    Example: ``ada``; ``ada (sudo)`` where ada called sudo.
    """
    if not os.getuid() and (caller := os.environ.get("SUDO_USER")):
        return f"{caller} (sudo)"
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container
        return str(os.getuid())


def write(home: Home, act: str, of: str) -> None:
    """Add a line in the name of this process's account.

    Raises:
        StoreError: it cannot be written, and nothing is to be done then.
    """
    entry = Act(datetime.now(UTC), person(), act, of)
    line = json.dumps({**asdict(entry), "at": entry.at.isoformat(timespec="seconds")})
    path = _file(home)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "ab+") as file:
            # After a line that was cut short a new one begins.
            size = file.seek(0, os.SEEK_END)
            cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            file.write(b"\n" * cut + f"{line}\n".encode())
    except OSError as error:
        raise StoreError(f"{path}: {act} was not begun: {meaning_of(error)}") from error


def read(home: Home) -> list[Act]:
    """All lines, the oldest first; a line that was cut short by a crash is left out.

    Raises:
        SpecError: the file cannot be read.
    """
    path = _file(home)
    lines = read_text(path).splitlines(keepends=True) if path.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("}\n")]
    return [Act(**{**one, "at": datetime.fromisoformat(one["at"])}) for one in found]


def _file(home: Home) -> Path:
    return home.root / FOLDER / "acts.jsonl"
