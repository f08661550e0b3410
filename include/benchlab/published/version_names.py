"""Versions as published pages write them: ``v5.1.1``, ``2.1``, ``v2.1.0-rc.2``, ``TiDB 3.0``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from benchlab.plan.versions import is_same, order, without_letter

VERSION = (
    r"[vV]?[0-9]{1,4}(?:\.[0-9]{1,4}){1,3}"
    r"(?:-(?:alpha|beta|rc|ga|dmr|nightly|pre|hotfix)(?:[.-]?[0-9]+)*)?(?:@[0-9a-f]{4,40})?"
)
"""Pattern of a version, with or without its ``v``."""

# Chinese characters may adjoin a version; other letters, digits and dots make it something else.
_ALONE = rf"(?<![0-9A-Za-z_./-])({VERSION})(?![0-9A-Za-z_%％]|\.[0-9])"
_PRODUCT = r"(?:(?:TiDB|MariaDB|MySQL)\s*)?"
_NAMED = re.compile(rf"(?:\b{_PRODUCT})?{_ALONE}")
# Only the reports of Benchlab have a remark, which tells sides of one version apart.
_REMARK = r"(?:\s*\((?:baseline|candidate|slowed down by|基线|候选|人为减速)[^()]*\))"
_LABEL = re.compile(rf"{_PRODUCT}({VERSION}{_REMARK}?)")
_VERSUS = re.compile(
    rf"{_ALONE}{_REMARK}?(?: DMR)?\s*(?:vs\.?|对比)\s*{_PRODUCT}{_ALONE}", re.IGNORECASE
)


def named(text: str) -> tuple[str, ...]:
    """All versions in a text, in order, each once.

    >>> named("TiDB v5.2.0 and v5.1.1")
    ('v5.2.0', 'v5.1.1')
    """
    return tuple(dict.fromkeys(_NAMED.findall(text)))


def compared(text: str) -> tuple[str, ...]:
    """The two versions of "A vs. B", the older one first, whichever is named first; or ().

    >>> compared("TiDB v5.1.1 vs. v5.2.0"), compared("TiDB v5.2.0")
    (('v5.1.1', 'v5.2.0'), ())
    """
    pairs = _VERSUS.findall(text)
    return tuple(sorted(pairs[0], key=order)) if len(pairs) == 1 else ()


def label(text: str) -> str | None:
    """A table's label of a version, without the product's name; None if it is anything else.

    ``TiDB v5.1.1`` is ``v5.1.1``; ``10.2.11 (baseline)`` stays as it is; ``v5.4.0 (K)`` is none.
    """
    match = _LABEL.fullmatch(text)
    return match[1] if match else None


def bare(text: str) -> str:
    """A label's version without the remark in parentheses."""
    return text.partition("(")[0].strip()


def first_spellings(labels: Iterable[str]) -> dict[str, str]:
    """Maps each label to the spelling in which its version appears first: 5.0 to ``v5.0``."""
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


def all_among(versions: Iterable[str], those: Sequence[str]) -> bool:
    """Whether each version can be one of those."""
    return all(any(same_version(version, one) for one in those) for version in versions)


def baseline_first(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels of a table: first the one that says it is the baseline, else the older one.

    >>> baseline_first(["v5.2.0", "v5.1.1"]), baseline_first(["1.0 (candidate)", "2.0 (baseline)"])
    (('v5.1.1', 'v5.2.0'), ('2.0 (baseline)', '1.0 (candidate)'))
    """

    def place(text: str) -> tuple[object, ...]:
        role = 0 if re.search("baseline|基线", text) else 1 if "(" not in text else 2
        return role, order(text)

    return tuple(sorted(labels, key=place))
