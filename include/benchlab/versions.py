"""Versions of the engines, and how they are written.

TiDB's versions carry a leading ``v`` (``v6.5.0``, ``v2.1.0-rc.2``), as TiUP writes them;
MariaDB's do not (``10.11.5``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchlab.errors import SpecError

_PATTERN = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})(?:-[0-9A-Za-z.-]+)?")


@dataclass(frozen=True)
class Version:
    """One version, as it was written and as numbers; a pre-release has its release's numbers."""

    text: str
    numbers: tuple[int, int, int]


def parse(text: str) -> Version:
    """Read one version.

    Raises:
        SpecError: it is not of the form ``v6.5.0`` (TiDB) or ``10.11.5`` (MariaDB).
    """
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise SpecError(
            f"version: {text!r} is not a version; write v6.5.0 for TiDB or 10.11.5 for MariaDB"
        )
    major, minor, patch = match.groups()
    return Version(text, (int(major), int(minor), int(patch)))
