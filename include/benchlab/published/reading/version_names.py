"""Versions as published pages write them: ``v5.1.1``, ``2.1``, ``v2.1.0-rc.2``, ``TiDB 3.0``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from benchlab.plan.versions import is_same, order, without_letter
from benchlab.published.reading.wording import FLAGS, plain

PRE_RELEASE = r"(?:-(?:alpha|beta|rc|ga|dmr|nightly|pre|hotfix)(?:[.-]?[0-9]+)*)?"
NUMBERED = rf"[0-9]{{1,4}}(?:\.[0-9]{{1,4}}){{1,3}}{PRE_RELEASE}"
"""Pattern of a version without its ``v``; :data:`VERSION` allows the ``v``."""
VERSION = rf"[vV]?{NUMBERED}"
# Chinese characters may adjoin a version; other letters, digits and dots make it something else.
_NAMED = re.compile(rf"(?<![0-9A-Za-z_.-]){VERSION}(?![0-9A-Za-z_%]|\.[0-9])")
_PRODUCT = re.compile(r"(?:TiDB|MariaDB|MySQL)\b\s*", re.IGNORECASE)
_LABEL = re.compile(rf"{VERSION}(?:\s*\([^()]*\))?")
_ROLES = (re.compile("baseline|基线"), re.compile("candidate|候选"))
_VERSUS = re.compile(r"\bvs\b|\bversus\b|对比|相比|compared (?:to|with)|\bagainst\b", re.IGNORECASE)


def named(text: str) -> tuple[str, ...]:
    """All versions in a text, in order, with repetitions.

    If some have a ``v``, numbers without it are something else, such as a tool's version.
    """
    found = _NAMED.findall(text)
    return tuple([version for version in found if version[0] in "vV"] or found)


def of_title(title: str) -> tuple[str, ...]:
    """The versions that a title compares, the baseline first.

    In "A vs. B", A is the candidate; without such a word, the older version is the baseline. A
    version that is named twice counts once, unless it is compared with itself.

    >>> of_title("TiDB v5.2.0 vs. v5.1.1")
    ('v5.1.1', 'v5.2.0')
    """
    found = named(title)
    different = tuple(dict.fromkeys(found))
    if _VERSUS.search(title):
        return different[::-1] if len(different) > 1 else found[:2]
    return tuple(sorted(different, key=order))


def label(text: str) -> str | None:
    """A table's label of a version, without the product's name; None if it is not a version.

    ``TiDB v5.1.1`` is ``v5.1.1``; ``10.2.11 (baseline)`` stays as it is.
    """
    text = plain(_PRODUCT.sub("", plain(text)))
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    return text if _LABEL.fullmatch(text) else None


def first_spellings(labels: Iterable[str]) -> dict[str, str]:
    """Maps each label to the spelling in which its version appears first: 5.0 to ``v5.0``."""
    found: dict[str, str] = {}
    for text in labels:
        found.setdefault(text, next((first for first in found if is_same(first, text)), text))
    return found


def bare(text: str) -> str:
    """A label's version without the remark in parentheses."""
    return text.partition("(")[0].strip()


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


def baseline_first(labels: Sequence[str], versions: Sequence[str]) -> tuple[str, ...]:
    """The labels of a table, the baseline's first.

    The baseline is the label that says so, or else the one that is the title's baseline or not the
    title's candidate, or else the older one. ``versions`` are the title's, the baseline first.
    """
    if len(labels) != 2:
        return tuple(labels)
    roles = [tuple(bool(role.search(name)) for role in _ROLES) for name in labels]
    exactly = [_place(name, versions, is_same) for name in labels]
    titled = [_place(name, versions, same_version) for name in labels]
    for first, second in (roles, exactly, titled):
        if first != second:
            swapped = first[1] > second[1] or first[0] < second[0]
            return (labels[1], labels[0]) if swapped else (labels[0], labels[1])
    return tuple(sorted(labels, key=order))


def _place(
    text: str, versions: Sequence[str], is_one: Callable[[str, str], bool]
) -> tuple[bool, bool]:
    """Whether it is the title's baseline, and whether it is its candidate."""
    if len(versions) != 2 or is_same(*versions):
        return (False, False)
    baseline, candidate = (is_one(version, text) for version in versions)
    return (baseline, candidate)


# ---------------------------------------------------------------- in sentences

_IN_SENTENCE = re.compile(
    rf"(?<![A-Za-z0-9._/-])(?P<v>[vV]{NUMBERED})(?![A-Za-z0-9])"
    # Without a "v", a number of two parts is a version only next to a word that says so.
    rf"|(?<![A-Za-z0-9._/-])(?P<long>\d{{1,3}}\.\d{{1,3}}\.\d{{1,3}}{PRE_RELEASE})(?![A-Za-z0-9%％-]|\.\d)"
    rf"|(?:\b(?:TiDB|MariaDB|MySQL)\s*|\bversion\s+|版本\s*)(?P<after>{NUMBERED})(?![A-Za-z0-9%％]|\s*[%％]|\.\d)"
    rf"|(?<![A-Za-z0-9._/-])(?P<before>{NUMBERED})(?=\s*(?:版本|versions?\b))",
    FLAGS,
)
_ROW_OF_VERSIONS = re.compile(
    rf"\s*(?:and|or|vs\.?|,|、|和|与|及|对比)\s*(?P<next>{NUMBERED})(?![A-Za-z0-9%％]|\s*[%％]|\.\d)",
    FLAGS,
)
_OTHER_PROGRAM = re.compile(
    r"(?:sysbench|tiup|haproxy|go-tpc|benchmarksql|luajit|kernel|linux|centos)\s*(?:版本|version)?\s*\Z",
    FLAGS,
)


def in_sentence(text: str) -> tuple[str, ...]:
    """The database versions that a text names, as printed, in order, each once."""
    found: dict[str, None] = {}
    begin = 0
    while match := _IN_SENTENCE.search(text, begin):
        begin = match.end()
        group = str(match.lastgroup)
        if _OTHER_PROGRAM.search(text[max(match.start() - 30, 0) : match.start(group)]):
            continue
        found.setdefault(match[group])
        while further := _ROW_OF_VERSIONS.match(text, begin):
            found.setdefault(further["next"])
            begin = further.end()
    return tuple(found)
