"""The changes that the sentences of a published page state in percent.

A sentence is read only if each of its percentages has one of the forms below, in which TiDB's
documentation states changes. Any other sentence with a percentage is listed as unread, and nothing
is concluded from it; a sentence without one states nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from benchlab.published import version_names
from benchlab.published.document import Element
from benchlab.published.model import Claim, Place, Printed, StatedChange, Unread
from benchlab.published.version_names import VERSION, same_version
from benchlab.published.words import WORKLOAD, named, plain

_PCT = r"(?P<pct>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?) ?%"
_VERSION = rf"(?:TiDB |MariaDB |MySQL )?{VERSION}(?: \([^()]*\))?"
_W = f"(?P<workload>{WORKLOAD})"
# What may precede a workload's name: "bulk insert performance" is about another workload.
_AT = rf"(?:\A|(?<=the )|(?<=and )|(?<=[,:、] )|{VERSION} |(?<=[,:、])|(?<=在 ))"
_MOVED = "(?:is |was |has |has been )?(?:slightly )?(?P<word>improved|increased|reduced|decreased)"
_MORE = "(?P<word>higher|better|lower|worse)"
_GAIN = "(?P<word>improvement|increase|reduction|decrease)"
_RISES = "(?P<word>提升|下降)了? ?"
_FORMS: tuple[str, ...] = (
    # "the Point Select performance of v5.2.0 is improved by 11.03%"
    rf"(?:{_AT}{_W} (?:query |write )?|(?<=the ))performance (?:of {_VERSION} )?{_MOVED} by {_PCT}",
    # "TPC-C performance is 4.22% lower than"
    rf"{_AT}{_W} performance (?:of {_VERSION} )?is {_PCT} {_MORE} than",
    # "shows an 11.03% improvement in Point Select performance"
    rf"{_PCT} {_GAIN} in {_W} performance",
    # "in the Point Select test, with a 50% increase in query performance"
    rf"in the {_W} test, with an? {_PCT} {_GAIN} in (?:query )?performance",
    # "achieved 450% higher performance than"
    rf"achieved {_PCT} {_MORE} performance than",
    # "highest improvement at 26.97% for 100 threads"
    rf"(?:highest )?{_GAIN} at {_PCT} for (?P<threads>\d+) threads",
    # "Point Select 性能提升了 11.03%", "TPC-C 性能上有大幅提升,平均提升了 24.20%"
    (
        rf"{_AT}{_W} ?(?:场景 ?)?(?:查询|写入)?性能上?"
        rf"(?:,|基本持平,略|有大幅提升,平均|比 {_VERSION} )? ?{_RISES}{_PCT}"
    ),
)
_FURTHER: tuple[str, ...] = (
    rf",? (?:and )?{_W} by {_PCT}",  # "..., Update Index by 28%, and Read Write by 9%"
    rf",? ?(?:and )?{_PCT} \((?P<threads>\d+) threads\)",
)
"""Forms that continue an earlier form and take its direction."""
_FORM = tuple(re.compile(form, re.IGNORECASE) for form in _FORMS)
_NEXT = tuple(re.compile(form, re.IGNORECASE) for form in _FURTHER)
_ACROSS_THREADS = re.compile(
    rf"\AThe {_GAIN} is consistent across different thread counts,?", re.IGNORECASE
)
_RESPECTIVELY = re.compile(
    rf"(?P<names>{WORKLOAD}(?:、{WORKLOAD})* 和 {WORKLOAD}) 性能分别{_RISES}"
    r"(?P<figures>[\d.]+%(?:、[\d.]+%)* 和 [\d.]+%)",
    re.IGNORECASE,
)
_ANY = re.compile(r"\d ?%(?! ?(?:latency|延迟))", re.IGNORECASE)
_AGAINST = re.compile(
    rf"(?:compared (?:with|to)|than(?: that of)?|对比|相比于?|比)\s*((?:TiDB )?{VERSION})",
    re.IGNORECASE,
)
_RISING = frozenset(
    ("improved", "increased", "higher", "better", "improvement", "increase", "提升")
)

# A full stop ends a sentence only before a space or Chinese, not in "v5.1.1" or after "vs".
_END = re.compile(r"[。！？；]|(?<!\bvs)(?<![.!?])[.!?]+(?=\s|\Z|[\u4e00-\u9fff])", re.IGNORECASE)
_MOST_CHARACTERS = 2000  # of a sentence; longer text is not a sentence, and slow to read


def sentences(text: str) -> Iterator[str]:
    """The sentences of a paragraph in order, each with its final punctuation.

    >>> list(sentences("It compares v5.1.1 vs. v5.0. Both are new."))
    ['It compares v5.1.1 vs. v5.0.', 'Both are new.']
    """
    ends = [end.end() for end in _END.finditer(text)]
    pieces = (text[begin:end].strip() for begin, end in pairwise([0, *ends, len(text)]))
    return (piece for piece in pieces if piece)


def claims(
    element: Element, place: Place, versions: Sequence[str], workload: str | None
) -> Iterator[Claim | Unread]:
    """The sentences of a paragraph that state changes, and those that are not understood.

    Args:
        versions: the page's, the baseline first. A sentence that compares the baseline with the
            candidate has the opposite base, and counts as not understood.
        workload: the workload of this part of the page, for sentences that name none.

    >>> text = Element("text", 7, "The Insert performance of v6.5.0 is reduced by 2%.")
    >>> [claim.versions for claim in claims(text, "overview", ("v6.1.0", "v6.5.0"), None)]
    [('v6.5.0',)]
    """
    for text in sentences(element.text):
        if not _ANY.search(text):
            continue
        changes = stated_changes(text, workload)
        if not changes or _is_reversed(text, versions):
            yield Unread(element.line, element.heading, "sentence", {"sentence": text})
        else:
            yield Claim(text, element.line, place, version_names.named(text), changes)


def stated_changes(text: str, workload: str | None = None) -> tuple[StatedChange, ...]:
    """The changes that a sentence states; () if one of its percentages is not understood.

    >>> stated_changes("The Insert performance of v6.5.0 is reduced by 2%.")[0].value
    Decimal('-2')
    """
    text = plain(text).replace("`", "")
    if len(text) > _MOST_CHARACTERS:
        return ()
    if (several := _RESPECTIVELY.search(text)) and len(_ANY.findall(text)) == text.count("%"):
        return _respectively(text, several)
    changes: list[StatedChange] = []
    at = 0
    direction: Literal[-1, 1] | None = None
    if across := _ACROSS_THREADS.match(text):
        at, direction = across.end(), _direction(across["word"])
    while found := _next(text, at, direction):
        parts = found.groupdict()
        if word := parts.get("word"):
            direction = _direction(word)
        if direction is None or _ANY.search(text[at : found.start()]):
            return ()
        name, threads = parts.get("workload"), parts.get("threads")
        about = named(name) if name else workload
        pct = Printed(found["pct"])
        changes.append(StatedChange(about, int(threads) if threads else None, pct, direction))
        at = found.end()
    return () if _ANY.search(text[at:]) else tuple(changes)


def _direction(word: str) -> Literal[-1, 1]:
    return 1 if word.lower() in _RISING else -1


def _next(text: str, at: int, direction: int | None) -> re.Match[str] | None:
    """The match of the next form, or of further figures that continue the last one."""
    if direction is not None:
        for form in _NEXT:
            if further := form.match(text, at):
                return further
    found = [match for form in _FORM if (match := form.search(text, at))]
    return min(found, key=lambda match: (match.start("pct"), match.start()), default=None)


def _respectively(text: str, found: re.Match[str]) -> tuple[StatedChange, ...]:
    """Read "A、B 和 C 性能分别提升了 1%、2% 和 3%": one figure per name, and no others."""
    names = re.findall(WORKLOAD, found["names"], re.IGNORECASE)
    figures = re.findall(r"[\d.]+(?=%)", found["figures"])
    if len(names) != len(figures) or text.count("%") != len(figures):
        return ()
    direction = _direction(found["word"])
    return tuple(
        StatedChange(named(name), None, Printed(figure), direction)
        for name, figure in zip(names, figures, strict=True)
    )


def _is_reversed(text: str, versions: Sequence[str]) -> bool:
    """Whether a sentence compares with the candidate instead of the baseline."""
    if len(versions) != 2:
        return False
    baseline, candidate = versions
    references = [match[1].removeprefix("TiDB ") for match in _AGAINST.finditer(text)]
    return any(
        same_version(reference, candidate) and not same_version(reference, baseline)
        for reference in references
    )
