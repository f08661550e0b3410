"""What is known of one workload over the versions: published pages, and campaigns of one's own.

The two are kept apart. A published page has one measurement for a figure, so its change has no
interval and no verdict; a campaign has both. And the throughputs of two reports are never compared
with each other, for the same version differs between reports by more than versions do: what can be
set side by side are changes, each against the baseline of its own report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from benchlab import workloads
from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison
from benchlab.errors import SpecError
from benchlab.plan import versions
from benchlab.plan.report_type import SIDES
from benchlab.published.audit import audit, check_drift, recompute
from benchlab.published.reading import stated
from benchlab.published.reading.model import PublishedReport, Workload
from benchlab.results.records import Campaign


@dataclass(frozen=True)
class PublishedChange:
    """What published pages print of one workload.

    Attributes:
        reports: ids of the pages that print these figures: one page in several languages.
        baseline: None of a page about one version.
        metric: of throughput; None where there is only a chart.
        threads: at which there are figures.
        change_pct: arithmetic mean over the thread counts, recomputed; None where figures lack.
        printed_pct: as a page's sentence has it; None where none does.
        highest: by version, the highest throughput that is printed.
        findings: what an audit finds of this workload in a page; of a page in several languages
            in the one with the most.
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
    """A campaign and what it found of the workload."""

    campaign: Campaign
    found: WorkloadComparison

    @property
    def baseline(self) -> str:
        """The version of its baseline."""
        return self.campaign.plan.sides["baseline"].version

    @property
    def candidate(self) -> str:
        """The version of its candidate."""
        return self.campaign.plan.sides["candidate"].version


@dataclass(frozen=True)
class History:
    """One workload.

    Attributes:
        published: in the order of the versions.
        measured: in the order of time.
        single: ids of the campaigns that measured one version alone, and so found no change.
    """

    workload: str
    published: tuple[PublishedChange, ...]
    measured: tuple[MeasuredChange, ...]
    single: tuple[str, ...] = ()


def history_of(
    workload: str,
    reports: Sequence[PublishedReport],
    campaigns: Iterable[tuple[Campaign, Comparison]],
) -> History:
    """What is known of a workload.

    Args:
        workload: its name, or sysbench's without its ``oltp_``.
        reports: the published ones.
        campaigns: each with its comparison.

    Raises:
        SpecError: neither a page nor a campaign has it; names those that are there.

    >>> history_of("point_select", PublishedReports(store).all()[0], []).measured  # doctest: +SKIP
    ()
    """
    measured = [
        MeasuredChange(campaign, found)
        for campaign, comparison in campaigns
        for found in comparison.workloads
    ]
    there = {found.name for report in reports for found in report.workloads}
    there |= {change.found.name for change in measured}
    name = workloads.full_name(workload, there)
    if name is None:
        known = ", ".join(sorted(there)) or "no campaign and no published report is in the store"
        raise SpecError(f"workload {workload!r}: nothing is known of it; known: {known}")
    of_workload = [change for change in measured if change.found.name == name]
    two_sided: list[MeasuredChange] = []
    single: list[MeasuredChange] = []
    for change in of_workload:
        compares = set(change.campaign.plan.sides) == set(SIDES)
        (two_sided if compares else single).append(change)
    return History(
        workload=name,
        published=tuple(sorted(_published(name, reports), key=_by_version)),
        measured=tuple(
            sorted(two_sided, key=lambda one: (one.campaign.started_at, one.campaign.id))
        ),
        single=tuple(change.campaign.id for change in single),
    )


def _published(name: str, reports: Sequence[PublishedReport]) -> list[PublishedChange]:
    """A page in several languages prints the same figures, and counts once."""
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
        change_pct=None if mean is None else float(mean),
        printed_pct=None if printed is None else float(printed),
        highest=_highest(workload),
        findings=_own_findings(report, workload),
    )


def _own_findings(report: PublishedReport, workload: Workload) -> int:
    """How many findings the page would not have without the workload."""
    others = [other for other in report.workloads if other is not workload]
    if len(others) == 1:
        # Beside a single one, a sentence that names no workload would be about that one: so there
        # is a place without a name, figures or sentences.
        others.append(
            replace(
                workload,
                name="",
                metric=None,
                shape=None,
                columns=(),
                versions=(),
                rows=(),
                claims=(),
            )
        )
    without = replace(report, workloads=tuple(others))
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


def _by_time(change: MeasuredChange) -> tuple[object, ...]:
    return change.campaign.started_at, change.campaign.id


def _by_version(change: PublishedChange) -> tuple[object, ...]:
    order = versions.order
    return order(change.candidate), order(change.baseline or ""), change.reports
