"""Lists every change that a published page claims, even contradictory ones.

The list asserts nothing: next to each claim is what the page's figures give.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchlab.language import Language
from benchlab.language.names import title_of
from benchlab.language.numbers import MISSING
from benchlab.published.model import Claim, PublishedReport, Row, StatedChange, Workload
from benchlab.published.recompute import is_wrong
from benchlab.published.rendering.tables import Section
from benchlab.published.stated import stated
from benchlab.report.model.document_tables import Table


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
    # By identity, because two sentences may say the same.
    about = {(id(one.claim), id(one.change)): one.workload for one in stated(report)}
    by_workload = {section.workload.name: section for section in sections}
    claimed = [*report.claims, *(claim for one in sections for claim in one.workload.claims)]
    found = []
    for claim in claimed:
        for change in claim.changes:
            workload = about.get((id(claim), id(change)))
            section = by_workload.get(workload.name) if workload else None
            found.append(_stated(claim, change, section, language))
    found += [
        _printed(row, section)
        for section in sections
        for row in section.workload.rows
        if is_wrong(row, section.workload)
    ]
    rows = tuple(sorted(found, key=lambda cells: int(cells[0])))
    return Table("", header, rows) if rows else None


def are_about(workload: Workload, report: PublishedReport) -> bool:
    """Whether the page claims a change of a workload."""
    return any(one.workload is workload for one in stated(report))


def _stated(
    claim: Claim, change: StatedChange, section: Section | None, language: Language
) -> tuple[str, ...]:
    """A row for a change that a sentence states; ``section`` is that of its workload."""
    name = section.title if section else title_of(change.workload or "") or MISSING
    return (
        str(claim.line),
        name,
        str(change.threads) if change.threads else language.say("published-all"),
        ", ".join(claim.versions) or MISSING,
        f"{'+' if change.direction > 0 else '-'}{change.pct.text}%",
        section.recomputed(change.threads) if section else MISSING,
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
