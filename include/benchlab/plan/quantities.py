"""Durations and sizes as servers write them in their configurations.

TiKV reads and writes ``1h30m`` and ``1.5GB`` (units in that order, ``KB`` and ``KiB`` are both
1024 bytes); PD and TiDB write Go's durations, ``1h30m0s``, and sizes as ``1.5GiB``.
"""

from __future__ import annotations

import re
from decimal import Decimal

MILLISECONDS = {
    "ns": Decimal("0.000001"),
    "us": Decimal("0.001"),
    "µs": Decimal("0.001"),
    "ms": Decimal(1),
    "s": Decimal(1000),
    "m": Decimal(60_000),
    "h": Decimal(3_600_000),
    "d": Decimal(86_400_000),
}
_PART = r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d)"
_SIZE = r"(\d+(?:\.\d+)?) ?(?:([KMGTP])(?:I?B)?|B)?"


def same(one: object, other: object) -> bool:
    """Whether two values are the same duration or size: ``same("1m", "60s")`` is True."""
    for read in (milliseconds, size_bytes):
        if (found := read(one)) is not None:
            return found == read(other)
    return False


def milliseconds(value: object) -> Decimal | None:
    """A duration in milliseconds; None for anything else. ``1m`` is a minute, ``1M`` is not."""
    text = str(value).strip()
    if re.fullmatch(f"({_PART})+", text) is None:
        return None
    return sum((Decimal(n) * MILLISECONDS[unit] for n, unit in re.findall(_PART, text)), Decimal())


def size_bytes(value: object) -> int | None:
    """A size in bytes; None for anything else. A bare number is bytes."""
    match = re.fullmatch(_SIZE, str(value).strip().upper())
    if match is None:
        return None
    return int(Decimal(match[1]) * 1024 ** (" KMGTP".index(match[2] or " ")))
