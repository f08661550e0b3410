"""What is known of one workload over the versions: published pages, and campaigns of one's own.

The two are kept apart. A published page has one measurement for a figure, so its change has no
interval and no verdict; a campaign has both. And the throughputs of two reports are never compared
with each other, for the same version differs between reports by more than versions do: what can be
set side by side are changes, each against the baseline of its own report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from benchlab import workloads
from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison
from benchlab.analysis.verdict.decision import Verdict
from benchlab.errors import SpecError
from benchlab.plan import versions
from benchlab.plan.report_type import SIDES
from benchlab.published.audit import audit, check_drift, recompute
from benchlab.published.audit.finding import Finding
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


@dataclass(frozen=True)
class MeasuredChange:
    """What one campaign found of the workload; see :class:`.compare.WorkloadComparison`."""

    campaign: str
    report: str
    state: str
    started_at: datetime
    engine: str
    target: str
    baseline: str
    candidate: str
    aa: bool
    slowdown_pct: float
    threshold_pct: float
    metric: str
    rounds_used: int
    estimate_pct: float | None
    ci95_pct: tuple[float, float] | None
    verdict: Verdict
    arithmetic_mean_pct: float | None


@dataclass(frozen=True)
class History:
    """One workload.

    Attributes:
        published: in the order of the versions.
        measured: in that of time.
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
    """
    measured = list(campaigns)
    there = {each.name for report in reports for each in report.workloads}
    there |= {each.name for _, comparison in measured for each in comparison.workloads}
    name = workloads.full_name(workload, there)
    if name is None:
        known = ", ".join(sorted(there)) or "no campaign and no published report is in the store"
        raise SpecError(f"workload {workload!r}: nothing is known of it; known: {known}")
    of_workload = [
        (campaign, each)
        for campaign, comparison in measured
        for each in comparison.workloads
        if each.name == name
    ]
    changes = [_measured(*each) for each in of_workload if _has_two_sides(each[0])]
    return History(
        workload=name,
        published=tuple(sorted(_published(name, reports), key=_by_version)),
        measured=tuple(sorted(changes, key=lambda change: (change.started_at, change.campaign))),
        single=tuple(campaign.id for campaign, _ in of_workload if not _has_two_sides(campaign)),
    )


def _has_two_sides(campaign: Campaign) -> bool:
    return set(campaign.plan.sides) == set(SIDES)


def _measured(campaign: Campaign, found: WorkloadComparison) -> MeasuredChange:
    plan = campaign.plan
    return MeasuredChange(
        campaign=campaign.id,
        report=plan.report,
        state=campaign.state,
        started_at=campaign.started_at,
        engine=plan.engine,
        target=plan.target,
        baseline=plan.sides["baseline"].version,
        candidate=plan.sides["candidate"].version,
        aa=campaign.is_aa,
        slowdown_pct=plan.slowdown_pct,
        threshold_pct=campaign.report_type.threshold_pct,
        metric=found.metric,
        rounds_used=found.rounds_used,
        estimate_pct=found.estimate_pct,
        ci95_pct=found.ci95_pct,
        verdict=found.verdict,
        arithmetic_mean_pct=found.arithmetic_mean_pct,
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
            same = found.get(key)
            found[key] = _together(same, change) if same else change
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
    others = [each for each in report.workloads if each is not workload]
    if len(others) == 1:
        # Beside a single one, a sentence that names no workload would be about that one.
        others.append(_nameless(workload))
    without = replace(report, workloads=tuple(others))
    return len(_findings(report) - _findings(without))


def _findings(report: PublishedReport) -> set[Finding]:
    return set(audit.audit([report])[0].findings)


def _nameless(workload: Workload) -> Workload:
    """A place without a name, figures or sentences."""
    return replace(
        workload, name="", metric=None, shape=None, columns=(), versions=(), rows=(), claims=()
    )


def _together(one: PublishedChange, other: PublishedChange) -> PublishedChange:
    return replace(
        one,
        reports=(*one.reports, *other.reports),
        findings=max(one.findings, other.findings),
    )


def _highest(workload: Workload) -> dict[str, float]:
    metric = workload.metric
    if metric is None:
        return {}
    return {
        version: max(values)
        for version in workload.versions
        if (
            values := [
                float(row.sides[version][metric].value)
                for row in workload.rows
                if metric in row.sides.get(version, {})
            ]
        )
    }


def _by_version(change: PublishedChange) -> tuple[object, ...]:
    return (
        versions.order(change.candidate),
        versions.order(change.baseline or ""),
        change.reports,
    )
