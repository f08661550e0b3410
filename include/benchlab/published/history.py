"""What is known about one workload over the versions, from published pages and own campaigns.

The two are kept apart. A published page has one measurement per figure, so its change has no
interval and no verdict; a campaign has both. Throughputs of two reports are never compared, because
the same version differs between reports by more than versions differ within one. What can be put
side by side are changes, each against the baseline of its own report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from benchlab import workloads
from benchlab.analysis.verdict.compare import WorkloadVerdict
from benchlab.campaign.outline import Outline
from benchlab.errors import SpecError
from benchlab.plan import versions
from benchlab.published import recompute, stated
from benchlab.published.audit import audit, check_drift
from benchlab.published.model import PublishedReport, Workload
from benchlab.studies.comparisons import ComparedCampaign


@dataclass(frozen=True)
class PublishedChange:
    """What published pages print about one workload.

    Attributes:
        reports: ids of the pages that print these figures; several if a page was translated.
        baseline: None if the page is about one version, the candidate.
        metric: the throughput that is compared; None if there is only a chart.
        change_pct: recomputed arithmetic mean over the thread counts; None if figures are missing.
        printed_pct: the change that a sentence of the page states; None if none does.
        highest: the highest printed throughput, by version.
        findings: how many findings an audit has for this workload; with translations, the most.
    """

    reports: tuple[str, ...]
    baseline: str | None
    candidate: str
    metric: str | None
    threads: tuple[int, ...]
    change_pct: float | None
    printed_pct: float | None
    highest: Mapping[str, float]
    findings: int


class MeasuredChange(NamedTuple):
    """A campaign and what it found about the workload."""

    campaign: Outline
    found: WorkloadVerdict

    @property
    def baseline(self) -> str:
        """Its baseline, with what tells builds of one version apart."""
        return self.campaign.labels["baseline"]

    @property
    def candidate(self) -> str:
        """Its candidate, likewise."""
        return self.campaign.labels["candidate"]


@dataclass(frozen=True)
class History:
    """What is known about one workload: published by version, measured by time.

    Attributes:
        workload: its full name, such as ``oltp_point_select``.
        single: ids of campaigns that measured only one version, and so found no change.
    """

    workload: str
    published: tuple[PublishedChange, ...]
    measured: tuple[MeasuredChange, ...]
    single: tuple[str, ...] = ()


def history_of(
    workload: str,
    reports: Sequence[PublishedReport],
    campaigns: Iterable[ComparedCampaign],
) -> History:
    """Collect what is known about a workload.

    Args:
        workload: its name; ``oltp_`` may be left out.
        campaigns: with their verdicts.

    Raises:
        SpecError: no page and no campaign has it; the message lists the known workloads.

    >>> history_of("point_select", PublishedReports(store).all()[0], []).measured  # doctest: +SKIP
    ()
    """
    compared = list(campaigns)
    there = {found.name for report in reports for found in report.workloads}
    there |= {found for one in compared for found in one.verdicts}
    name = workloads.full_name(workload, there)
    if name is None:
        known = ", ".join(sorted(there)) or "no campaign and no published report is in the store"
        raise SpecError(f"workload {workload!r}: nothing is known of it; known: {known}")
    of_workload = [
        MeasuredChange(one.campaign, one.verdicts[name]) for one in compared if name in one.verdicts
    ]
    return History(
        workload=name,
        published=published_changes(name, reports),
        measured=tuple(sorted(filter(_compares, of_workload), key=_by_time)),
        single=tuple(one.campaign.id for one in of_workload if not _compares(one)),
    )


def published_changes(
    workload: str, reports: Sequence[PublishedReport]
) -> tuple[PublishedChange, ...]:
    """What published pages print about a workload, by version; ``workload``: its full name."""
    return tuple(sorted(_published(workload, reports), key=_by_version))


def _published(name: str, reports: Sequence[PublishedReport]) -> list[PublishedChange]:
    """The changes of all pages; one that was printed in several languages counts once."""
    found: dict[object, PublishedChange] = {}
    for report in sorted(reports, key=lambda report: report.id):
        for workload in report.workloads:
            if workload.name != name:
                continue
            change = _change(report, workload)
            key = (check_drift.identity_of(report, workload), change.printed_pct)
            if same := found.get(key):
                findings = max(same.findings, change.findings)
                change = replace(same, reports=(*same.reports, report.id), findings=findings)
            found[key] = change
    return list(found.values())


def _change(report: PublishedReport, workload: Workload) -> PublishedChange:
    mean = recompute.headline(workload)
    headline = stated.published_headline(report, workload)
    printed = headline.value if headline else None
    return PublishedChange(
        reports=(report.id,),
        baseline=report.baseline,
        candidate=report.candidate,
        metric=workload.metric,
        threads=tuple(row.threads for row in workload.rows),
        change_pct=float(mean.exact) if mean else None,
        printed_pct=None if printed is None else float(printed),
        highest=_highest(workload),
        findings=_own_findings(report, workload),
    )


def _own_findings(report: PublishedReport, workload: Workload) -> int:
    """How many of the page's findings would disappear without the workload."""
    others = tuple(other for other in report.workloads if other is not workload)
    without = replace(report, workloads=others)
    found, rest = (set(audit.audit([page])[0].findings) for page in (report, without))
    return len(found - rest)


def _highest(workload: Workload) -> dict[str, float]:
    found: dict[str, float] = {}
    for row in workload.rows:
        for version, side in row.sides.items():
            if workload.metric and (printed := side.get(workload.metric)):
                value = float(printed.value)
                found[version] = max(value, found.get(version, value))
    return {version: found[version] for version in workload.versions if version in found}


def _compares(change: MeasuredChange) -> bool:
    return change.campaign.has_both_sides


def _by_time(change: MeasuredChange) -> tuple[object, ...]:
    return change.campaign.started_at, change.campaign.id


def _by_version(change: PublishedChange) -> tuple[object, ...]:
    order = versions.order
    return order(change.candidate), order(change.baseline or ""), change.reports
