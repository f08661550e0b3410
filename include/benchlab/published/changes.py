"""The changes of one workload that published pages print, by version.

A published page has one measurement per figure, so its change has no interval and no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchlab.plan import versions
from benchlab.published import recompute
from benchlab.published.audit import check_drift
from benchlab.published.audit.audit import audit
from benchlab.published.model import PublishedReport, Workload


@dataclass(frozen=True)
class PublishedChange:
    """The change of one workload that one page, or a page and its translations, print.

    Attributes:
        reports: ids of the pages that print these figures; several if a page was translated.
        baseline: None if the page is about one version, the candidate.
        metric: the throughput that is compared; None if there is only a chart.
        change_pct: recomputed arithmetic mean over the thread counts; None if figures are missing.
        printed_pct: the change that a sentence of the page states; None if none does.
        highest: the highest printed throughput, by version.
        discrepancies: how many an audit has for this workload; the most of all translations.
    """

    reports: tuple[str, ...]
    baseline: str | None
    candidate: str
    metric: str | None
    threads: tuple[int, ...]
    change_pct: float | None
    printed_pct: float | None
    highest: Mapping[str, float]
    discrepancies: int


def published_changes(
    workload: str, reports: Sequence[PublishedReport]
) -> tuple[PublishedChange, ...]:
    """The changes of a workload that published pages print, in order of version.

    Args:
        workload: its full name, such as ``oltp_point_select``.
    """
    return tuple(sorted(_published(workload, reports), key=_by_version))


def _published(name: str, reports: Sequence[PublishedReport]) -> list[PublishedChange]:
    """The changes of all pages; a page and its translations count once."""
    found: dict[object, PublishedChange] = {}
    for report in sorted(reports, key=lambda report: report.id):
        for workload in report.workloads:
            if workload.name != name:
                continue
            change = _change(report, workload)
            key = (check_drift.identity_of(report, workload), change.printed_pct)
            if same := found.get(key):
                most = max(same.discrepancies, change.discrepancies)
                change = replace(same, reports=(*same.reports, report.id), discrepancies=most)
            found[key] = change
    return list(found.values())


def _change(report: PublishedReport, workload: Workload) -> PublishedChange:
    mean = recompute.headline(workload)
    headline = report.headline(workload)
    printed = headline.value if headline else None
    found = audit([report])[0].discrepancies
    return PublishedChange(
        reports=(report.id,),
        baseline=report.baseline,
        candidate=report.candidate,
        metric=workload.metric,
        threads=tuple(row.threads for row in workload.rows),
        change_pct=float(mean.exact) if mean else None,
        printed_pct=None if printed is None else float(printed),
        highest=_highest(workload),
        discrepancies=sum(one.workload == workload.name for one in found),
    )


def _highest(workload: Workload) -> dict[str, float]:
    found: dict[str, float] = {}
    for row in workload.rows:
        for version, side in row.sides.items():
            if workload.metric and (printed := side.get(workload.metric)):
                value = float(printed.value)
                found[version] = max(value, found.get(version, value))
    return {version: found[version] for version in workload.versions if version in found}


def _by_version(change: PublishedChange) -> tuple[object, ...]:
    order = versions.order
    return order(change.candidate), order(change.baseline or ""), change.reports
