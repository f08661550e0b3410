"""Finds out which of a side's servers is to blame when one of them does not start.

The server that TiUP waited for in vain is seldom the one: a TiDB does not start while TiKV's disk
is full. So the logs of all are read, and kept, because giving back removes them from the hosts.

Example:
    ``culprit({"tikv on kv-1": ['[WARN] ["disk usage Normal->AlreadyFull"]'], "tidb on db-1": []})``
    is that TiKV and its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchlab.errors import told
from benchlab.results import redaction

QUOTED_LINES, QUOTED_LENGTH = 3, 400
# Which lines tell more, in this order. A known cause comes first, whatever its level: a healthy
# server in a container logs an ERROR about its cgroup.
_WORTH = (
    re.compile(
        r"disk (is )?full|AlreadyFull|enough disk space|No space left|open file descriptors"
        r"|Too many open files|address already in use|Cannot allocate memory|permission denied",
        re.IGNORECASE,
    ),
    re.compile(r"\[FATAL\]|panic"),
    re.compile(r"\[ERROR\]"),
    re.compile(""),
)


def culprit(found: Mapping[str, Sequence[str]]) -> tuple[str, list[str]] | None:
    """The server that is most likely to blame, and its lines that say so; None: none complained.

    Args:
        found: what each server complained of; of two equally suspect servers the first is blamed.
    """
    for worth in _WORTH:
        for server, lines in found.items():
            if telling := [line for line in lines if worth.search(line)]:
                return server, [line[:QUOTED_LENGTH] for line in telling[-QUOTED_LINES:]]
    return None


def told_of(
    found: Mapping[str, Sequence[str]],
    unread: Mapping[str, str],
    into: Path,
    secrets: Sequence[str],
) -> str:
    """Write what the servers complained of to a file; returns a summary that names the file.

    Args:
        found: what each server complained of, by server.
        unread: why others could not be read, by server.
        into: the file on this machine.
        secrets: what must not be in it.
    """
    clean = {
        server: [redaction.line(line, secrets) for line in lines] for server, lines in found.items()
    }
    whys = {
        server: redaction.line(" ".join(why.split()), secrets) for server, why in unread.items()
    }
    clean |= {f"{server} (not read: {why})": [] for server, why in whys.items()}
    not_read = [f"{server} could not be read: {why}" for server, why in whys.items()]
    if (blamed := culprit(clean)) is None:
        readable = " that could be read" if unread else ""
        return "\n".join([f"no server{readable} wrote a warning or an error", *not_read])
    said = "\n".join([f"{blamed[0]} wrote:", *blamed[1], *not_read])
    text = "".join("\n".join([f"== {server}", *lines, ""]) for server, lines in clean.items())
    try:
        into.parent.mkdir(parents=True, exist_ok=True)
        into.write_text(text, encoding="utf-8")
    except OSError as error:  # what failed before is what matters
        return f"{said}\nwhat the other servers wrote could not be kept: {told(error)}"
    return f"{said}\nthe last warnings and errors of all servers are in {into}"


def file_in(folder: Path, side: str) -> Path:
    """A new file for the complaints of a side, named by the time; earlier files stay."""
    return folder / f"{side}-{datetime.now(UTC):%Y%m%dT%H%M%S}.log"
