"""The changes that a page states, each with the workload that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from benchlab.published.model import Claim, PublishedReport, StatedChange, Workload


@dataclass(frozen=True)
class Stated:
    """One change that a sentence states about a workload of the page.

    Attributes:
        section: the workload whose section the sentence is in; None in summary and overview.
    """

    workload: Workload
    section: Workload | None
    claim: Claim
    change: StatedChange

    @property
    def value(self) -> Decimal:
        """The change in percent, negative for a reduction."""
        return self.change.value

    @property
    def where(self) -> str:
        """Line and part of the page."""
        return self.claim.where(self.section)


def stated(report: PublishedReport) -> Iterator[Stated]:
    """All changes whose workload is on the page, in its order, summary and overview first.

    >>> [(one.where, one.value) for one in stated(report)]  # doctest: +SKIP
    [('line 12, overview', Decimal('-4.27'))]
    """
    by_name = {workload.name: workload for workload in report.workloads}
    said: list[tuple[Claim, Workload | None]] = [(claim, None) for claim in report.claims]
    said += [(claim, section) for section in report.workloads for claim in section.claims]
    for claim, section in said:
        for change in claim.changes:
            about = by_name.get(change.workload) if change.workload else section
            if about is not None:
                yield Stated(about, section, claim, change)


def published_headline(report: PublishedReport, workload: Workload) -> Stated | None:
    """The page's own number for all rows: from the workload's section, else from the overview."""
    return headline(one for one in stated(report) if one.workload is workload)


def headline(said: Iterable[Stated]) -> Stated | None:
    """The number for all rows among everything that is stated about one workload."""
    whole = [one for one in said if one.change.threads is None]
    return min(whole, key=_rank, default=None)


def _rank(one: Stated) -> int:
    if one.section is one.workload:
        return 0
    return 1 + ("overview", "summary", "section").index(one.claim.place)
