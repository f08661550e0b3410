"""The same version, measured in several reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations

from benchlab.plan.versions import is_same
from benchlab.published.audit import recompute
from benchlab.published.audit.finding import Finding
from benchlab.published.reading import identity
from benchlab.published.reading.model import Metric, PublishedReport, Workload
from benchlab.published.reading.version_names import same_version

THRESHOLD_PCT = Decimal(2)
"""A mean difference within it is not told. It is the threshold at which verdicts call a change."""


def check_all(reports: Sequence[PublishedReport]) -> Iterator[tuple[PublishedReport, Finding]]:
    """``same_version_drift``, told of the later report. Results that several pages print, as those
    of one report in two languages, count once.
    """
    once = sorted(_once_each(reports), key=lambda each: _age(each[0]))
    for (earlier, before), (later, workload) in combinations(once, 2):
        if earlier is later or _measured(earlier, before) != _measured(later, workload):
            continue
        for finding in _drifts(earlier, before, later, workload):
            yield later, finding


def _measured(report: PublishedReport, workload: Workload) -> tuple[object, ...]:
    """What has to be the same for two results to be of one thing."""
    return identity.is_about_cloud(report.title), workload.name, workload.metric


def _drifts(
    earlier: PublishedReport, before: Workload, later: PublishedReport, workload: Workload
) -> Iterator[Finding]:
    for version in workload.versions:
        for other in before.versions:
            # 5.0 and 5.0.2 of two reports need not be the same.
            if not is_same(_exact(earlier, other), _exact(later, version)):
                continue
            ratios = _changes(before, other, workload, version)
            if not ratios:
                continue
            mean = recompute.rounded_to(sum(ratios.values(), Decimal()) / len(ratios), 2)
            if abs(mean) > THRESHOLD_PCT:
                yield Finding(
                    "same_version_drift",
                    f"line {workload.line}, {workload.heading}, {version}",
                    workload.line,
                    None,
                    mean,
                    f"{mean:+} % {workload.metric} against {earlier.source}, mean over "
                    f"{', '.join(str(threads) for threads in ratios)} threads",
                )


def _changes(before: Workload, other: str, workload: Workload, version: str) -> dict[int, Decimal]:
    """Later against earlier, in percent, by the thread counts that both have."""
    metric = workload.metric
    if metric is None:
        return {}
    old, new = _values(before, other, metric), _values(workload, version, metric)
    return {threads: (new[threads] / old[threads] - 1) * 100 for threads in old if threads in new}


def _values(workload: Workload, version: str, metric: Metric) -> dict[int, Decimal]:
    return {
        row.threads: side[metric].value
        for row in workload.rows
        if metric in (side := row.sides.get(version, {})) and side[metric].value > 0
    }


def _once_each(reports: Sequence[PublishedReport]) -> list[tuple[PublishedReport, Workload]]:
    """The results of each workload: of pages that print the same the English, else the first."""
    chosen: dict[tuple[object, ...], tuple[PublishedReport, Workload]] = {}
    for report in sorted(reports, key=lambda report: report.language != "en"):
        for workload in report.workloads:
            chosen.setdefault(identity.identity_of(report, workload), (report, workload))
    return list(chosen.values())


def _exact(report: PublishedReport, version: str) -> str:
    """The page's more exact name of a version, where it has one."""
    found = [each for each in report.exact_versions if same_version(each, version)]
    return found[0] if len(found) == 1 else version


def _age(report: PublishedReport) -> tuple[object, ...]:
    def key(version: str) -> list[int]:
        numbers = "".join(sign if sign.isdecimal() else " " for sign in version).split()
        return [int(number) for number in numbers]

    return key(report.candidate), key(report.versions[0]), report.source
