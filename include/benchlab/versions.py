"""Versions of the engines: how they are written, and their order.

TiDB's versions carry a leading ``v`` (``v6.5.0``, ``v2.1.0-rc.2``), as TiUP writes them;
MariaDB's do not (``10.11.5``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

from benchlab.errors import SpecError

_PATTERN = re.compile(r"(v?)([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})(?:-([0-9A-Za-z.-]+))?")


@total_ordering
@dataclass(frozen=True)
class Version:
    """One version; a pre-release (``-rc.2``) comes before its release."""

    text: str
    numbers: tuple[int, int, int]
    pre_release: str | None

    def __str__(self) -> str:
        return self.text

    def __lt__(self, other: Version) -> bool:
        return self._key() < other._key()

    def _key(self) -> tuple[object, ...]:
        # As semver.org orders pre-releases: part by part, numbers by value and before words.
        parts = tuple(
            (0, int(part), "") if part.isdecimal() else (1, 0, part)
            for part in (self.pre_release or "").split(".")
        )
        return (self.numbers, self.pre_release is None, parts, self.text)


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
    _, major, minor, patch, pre = match.groups()
    return Version(text, (int(major), int(minor), int(patch)), pre)
