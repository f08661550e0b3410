"""What a published page claims, as a list: all of it, with what contradicts itself.

Nothing of it is asserted: it is a table, and beside each claim stands what the page's figures give.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchlab.language import Language
from benchlab.language.names import title_of
from benchlab.language.numbers import MISSING
from benchlab.published.audit.recompute import DECIMALS
from benchlab.published.reading.model import Claim, PublishedReport, Row, StatedChange, Workload
from benchlab.published.reading.stated import Stated, stated
from benchlab.published.rendering.tables import Result, Section, Table, direction

_SIGNS = {1: "+", -1: "-", 0: ""}
# Throughput for a price or a part of the hosts: the rows do not say it.
_OF_ANOTHER_FIGURE = re.compile(
    r"\bper[ -](?:dollar|usd|cost|price|v?cpu|core|node|host|instance|watt|gib?)\b|性价比"
    r"|(?:每|单)(?:位|个|一)?(?:美元|元|成本|价格|核|节点|主机|实例)",
    re.IGNORECASE,
)


def table(report: PublishedReport, sections: Sequence[Section], language: Language) -> Table | None:
    """The changes that its sentences state, and its printed improvements that are not those of
    their figures, in the order of its lines; None where there is none.
    """
    header = (
        language.say("published-line"),
        language.say("column-workload"),
        language.say("published-threads"),
        language.say("published-versions"),
        language.say("published-claimed"),
        language.say("published-recomputed"),
    )
    beside = [(claim, each) for each in sections for claim in each.result.workload.claims]
    only = sections[0] if len(sections) == 1 else None
    # A claim is told by its place in the page: two sentences may say the same.
    about = {(id(each.claim), id(each.change)): each for each in stated(report)}
    found = [
        *(
            (claim.line, _stated(claim, change, around, about, sections, language))
            for claim, around in [*((claim, only) for claim in report.claims), *beside]
            for change in claim.changes
        ),
        *((row.line, _printed(row, each)) for each in sections for row in each.result.wrong),
    ]
    rows = tuple(cells for _, cells in sorted(found, key=lambda each: each[0]))
    return Table("", header, rows) if rows else None


def are_about(workload: Workload, report: PublishedReport) -> bool:
    """Whether the page claims a change of a workload: one that names it, or that stands with its
    results and names none.
    """
    beside = workload.claims if len(report.workloads) > 1 else (*workload.claims, *report.claims)
    if any(change.workload is None for claim in beside for change in claim.changes):
        return True
    said = (*report.claims, *(claim for each in report.workloads for claim in each.claims))
    return any(change.workload == workload.name for claim in said for change in claim.changes)


def _stated(
    claim: Claim,
    change: StatedChange,
    around: Section | None,
    about: Mapping[tuple[int, int], Stated],
    sections: Sequence[Section],
    language: Language,
) -> tuple[str, ...]:
    """A change that a sentence states, ``around`` which stand the results of a workload."""
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
        _given(about.get((id(claim), id(change))), sections),
    )


def _printed(row: Row, section: Section) -> tuple[str, ...]:
    """An improvement that a table prints."""
    return (
        str(row.line),
        section.title,
        str(row.threads),
        ", ".join(section.result.workload.versions),
        f"{row.improvement.text}%" if row.improvement else MISSING,
        _recomputed(section.result, row.threads),
    )


def _given(each: Stated | None, sections: Sequence[Section]) -> str:
    """What the figures give for a claim; missing where they do not give that figure.

    So it is for a sentence about another figure, as one that compares the baseline with the
    candidate, and for the end of a range or a limit, which is not their mean.
    """
    if each is None or _OF_ANOTHER_FIGURE.search(each.claim.text):
        return MISSING
    threads = each.change.threads
    if threads is None and not each.of_all_rows:
        return MISSING
    results = [s.result for s in sections if s.result.workload is each.workload]
    return _recomputed(results[0], threads) if results else MISSING


def _recomputed(result: Result, threads: int | None) -> str:
    value = result.headline if threads is None else result.improvements.get(threads)
    return MISSING if value is None else f"{value:+.{DECIMALS}f}%"
