"""Finds and compares versions as pages write them: ``v5.1.1``, ``2.1``, ``TiDB 3.0``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from benchlab.plan.versions import is_same, order, without_letter

VERSION = (
    r"[vV]?[0-9]{1,4}(?:\.[0-9]{1,4}){1,3}"
    r"(?:-(?:alpha|beta|rc|ga|dmr|nightly|pre|hotfix)(?:[.-]?[0-9]+)*)?(?:@[0-9a-f]{4,40})?"
)
"""Pattern of a version, with or without its ``v``."""

# Chinese characters may adjoin a version; other letters, digits and dots make it something else.
_ALONE = rf"(?<![0-9A-Za-z_./-])({VERSION})(?![0-9A-Za-z_%％]|\.[0-9])"
_PRODUCT = r"(?:TiDB(?: Cloud)?|MariaDB|MySQL)\s*"
# A bare number may be a chapter's, or another program's version.
_NAMED = re.compile(
    rf"(?:\b{_PRODUCT}|(?:vs\.?|compared (?:with|to)|than|对比|相?比于?)\s*(?=\d)){_ALONE}"
    rf"|(?=v){_ALONE}|{_ALONE}(?= ?版本)",
    re.IGNORECASE,
)
_LABEL = re.compile(rf"(?:{_PRODUCT})?({VERSION})")
_VERSUS = re.compile(
    rf"{_ALONE}(?: DMR)?\s*(?:vs\.?|对比)\s*(?:{_PRODUCT})?{_ALONE}", re.IGNORECASE
)


def named(text: str) -> tuple[str, ...]:
    """The versions in a text, in order, each once: with ``v`` or product, or in a comparison.

    >>> named("TiDB 5.2.0 and v5.1.1, see 3.2")
    ('5.2.0', 'v5.1.1')
    """
    return tuple(
        dict.fromkeys(next(filter(None, match.groups())) for match in _NAMED.finditer(text))
    )


def compared(text: str) -> tuple[str, ...]:
    """The two versions of "A vs. B", the older first whatever the text's order; else ().

    >>> compared("TiDB v5.1.1 vs. v5.2.0"), compared("TiDB v5.2.0")
    (('v5.1.1', 'v5.2.0'), ())
    """
    pairs = _VERSUS.findall(text)
    return tuple(sorted(pairs[0], key=order)) if len(pairs) == 1 else ()


def heads(text: str, versions: Collection[str]) -> str | None:
    """The version that heads a table, if the text is nothing but one of the page's; else None.

    It needs a ``v`` or the product.

    >>> heads("v5.1.1:", ["v5.1.1"]), heads("5.1.1", ["v5.1.1"])
    ('v5.1.1', None)
    """
    text = text.rstrip(" :")
    found = label(text)
    return found if found and found in named(text) and all_among([found], versions) else None


def label(text: str) -> str | None:
    """The version in a table's label, without the product's name; None if it is anything else.

    >>> label("TiDB v5.1.1"), label("v5.4.0 (K)")
    ('v5.1.1', None)
    """
    match = _LABEL.fullmatch(text)
    return match[1] if match else None


def first_spellings(labels: Iterable[str]) -> dict[str, str]:
    """Map each label to its version's first spelling.

    >>> first_spellings(["v5.0", "5.0"])
    {'v5.0': 'v5.0', '5.0': 'v5.0'}
    """
    spellings: dict[str, str] = {}
    for text in labels:
        first = (known for known in spellings if is_same(known, text))
        spellings.setdefault(text, next(first, text))
    return spellings


def covers(general: str, exact: str) -> bool:
    """Whether ``exact`` is the version or in its series: ``v2.1`` covers ``v2.1.0-rc.2``."""
    general, exact = without_letter(general), without_letter(exact)
    return exact == general or exact.startswith((f"{general}.", f"{general}-"))


def same_version(one: str, other: str) -> bool:
    """Whether two names can mean the same version.

    >>> same_version("2.1", "v2.1.0-rc.2"), same_version("v2.1.0", "v2.1.1")
    (True, False)
    """
    return covers(one, other) or covers(other, one)


def all_among(versions: Iterable[str], those: Collection[str]) -> bool:
    """Whether each version can be the same as one of ``those``."""
    return all(any(same_version(version, one) for one in those) for version in versions)
