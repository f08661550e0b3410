"""Cells of published tables as figures; what is no figure is never made one."""

from __future__ import annotations

import re

from benchlab.published.model import Printed

# Not Unicode's NFKC: that makes 150² to 1502.
_PLAIN = str.maketrans(
    {chr(wide): chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)}
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63", "-")
)
_QUOTES = "\"'\u2018\u2019\u201c\u201d"
_MISSING = frozenset({"", "-", "--", "/", "n/a", "na", "none", "null", "无"})
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,3}(?:,[0-9]{3}){1,6}|[0-9]{1,20})(?:\.[0-9]{1,20})?")
_UNIT = re.compile(r"(?<=[0-9])\s*(?:ms|毫秒)", re.IGNORECASE)
_COUNT = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,7}")
_PRODUCT = re.compile(r"\s*[*×xX]\s*")
_MOST_THREADS = 1_000_000


def plain(text: str) -> str:
    """One line with plain characters: no full width, one kind of minus and of space, no quotes.

    A figure is found again in its line of the page when that line is made plain, too.
    """
    return " ".join(text.translate(_PLAIN).split()).strip(_QUOTES).strip()


def is_missing(cell: str) -> bool:
    """Whether the cell says that there is no figure: empty, a dash, ``n/a``."""
    return plain(cell).lower() in _MISSING


def number(cell: str) -> Printed | None:
    """A throughput; None where the cell is none.

    A comma stands between thousands: ``12,5`` may be twelve and a half, and is refused.
    """
    text = plain(cell)
    return Printed(text) if _NUMBER.fullmatch(text) else None


def milliseconds(cell: str) -> Printed | None:
    """A latency, with its unit or without; None where the cell is none."""
    return number(_UNIT.sub("", plain(cell)))


def percentage(cell: str, *, in_heading: bool) -> Printed | None:
    """A change in percent, without its sign; None where the cell is none.

    Args:
        in_heading: the column's heading says that its cells are percentages. Where neither heading
            nor cell does, ``1.05`` may as well be a ratio, and is refused.
    """
    text = plain(cell)
    if text.endswith("%"):
        return number(text[:-1])
    return number(text) if in_heading else None


def threads(cell: str) -> int | None:
    """A thread count: ``150``, ``1,024``, or clients x threads (``64 * 4`` is 256); else None."""
    product = 1
    for factor in _PRODUCT.split(plain(cell)):
        if not _COUNT.fullmatch(factor):
            return None
        product *= int(factor.replace(",", ""))
        if not 0 < product <= _MOST_THREADS:
            return None
    return product
