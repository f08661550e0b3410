"""Lists every change that a published page claims, even contradictory ones.

The list asserts nothing: next to each claim is what the page's figures give.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchlab.language import Language
from benchlab.language.names import title_of
from benchlab.language.numbers import MISSING
from benchlab.published.audit.recompute import is_wrong
from benchlab.published.reading.model import Claim, PublishedReport, Row, StatedChange, Workload
from benchlab.published.reading.stated import Stated, stated
from benchlab.published.rendering.tables import Section, direction
from benchlab.report.model.document_tables import Table

_SIGNS = {1: "+", -1: "-", 0: ""}
# Throughput per price or per part of the hosts, which the rows do not give.
_OF_ANOTHER_FIGURE = re.compile(
    r"\bper[ -](?:dollar|usd|cost|price|v?cpu|core|node|host|instance|watt|gib?)\b|性价比"
    r"|(?:每|单)(?:位|个|一)?(?:美元|元|成本|价格|核|节点|主机|实例)",
    re.IGNORECASE,
)


def table(report: PublishedReport, sections: Sequence[Section], language: Language) -> Table | None:
    """The changes that sentences state and the printed improvements that do not fit the figures.

    They are ordered by line. None if there are none.
    """
    header = (
        language.say("published-line"),
        language.say("column-workload"),
        language.say("published-threads"),
        language.say("published-versions"),
        language.say("published-claimed"),
        language.say("published-recomputed"),
    )
    only = sections[0] if len(sections) == 1 else None
    claimed = [(claim, only) for claim in report.claims]
    claimed += [(claim, section) for section in sections for claim in section.workload.claims]
    # By identity, because two sentences may say the same.
    about = {(id(found.claim), id(found.change)): found for found in stated(report)}
    found: list[tuple[str, ...]] = []
    for claim, around in claimed:
        for change in claim.changes:
            given = _given(about.get((id(claim), id(change))), sections)
            found.append(_stated(claim, change, around, given, language))
    found += [
        _printed(row, section)
        for section in sections
        for row in section.workload.rows
        if is_wrong(row, section.workload)
    ]
    rows = tuple(sorted(found, key=lambda cells: int(cells[0])))
    return Table("", header, rows) if rows else None


def are_about(workload: Workload, report: PublishedReport) -> bool:
    """Whether the page claims a change of a workload, by name, or without a name in its section."""
    beside = workload.claims if len(report.workloads) > 1 else (*workload.claims, *report.claims)
    said = (*report.claims, *(claim for other in report.workloads for claim in other.claims))
    return any(change.workload is None for claim in beside for change in claim.changes) or any(
        change.workload == workload.name for claim in said for change in claim.changes
    )


def _stated(
    claim: Claim, change: StatedChange, around: Section | None, given: str, language: Language
) -> tuple[str, ...]:
    """A row for a change that a sentence states; ``around`` is the section that it is in."""
    if change.pct is None:
        way = direction(change.direction)
        claimed = language.say("published-claimed-direction", direction=way)
    else:
        claimed = f"{_SIGNS[change.direction]}{change.pct.text}%"
    about_all = around.title if around else MISSING
    return (
        str(claim.line),
        title_of(change.workload) if change.workload else about_all,
        str(change.threads) if change.threads else language.say("published-all"),
        ", ".join(claim.versions) or MISSING,
        claimed,
        given,
    )


def _printed(row: Row, section: Section) -> tuple[str, ...]:
    """A row for an improvement that a table prints."""
    return (
        str(row.line),
        section.title,
        str(row.threads),
        ", ".join(section.workload.versions),
        f"{row.improvement.text}%" if row.improvement else MISSING,
        section.recomputed(row.threads),
    )


def _given(found: Stated | None, sections: Sequence[Section]) -> str:
    """What the figures give for a claim; a dash if they do not give that figure.

    That is the case for a sentence about another figure, such as one that compares the baseline
    with the candidate, and for a limit or the end of a range, which is not the mean.
    """
    if found is None or _OF_ANOTHER_FIGURE.search(found.claim.text):
        return MISSING
    threads = found.change.threads
    if threads is None and not found.of_all_rows:
        return MISSING
    about = (section for section in sections if section.workload is found.workload)
    return next((section.recomputed(threads) for section in about), MISSING)
