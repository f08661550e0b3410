"""The same version, measured in several reports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations
from typing import NamedTuple

from benchlab.plan.versions import is_same, order
from benchlab.published.audit import recompute
from benchlab.published.audit.finding import Finding
from benchlab.published.reading.model import Metric, PublishedReport, Workload
from benchlab.published.reading.version_names import same_version

_THRESHOLD_PCT = Decimal(2)  # that of verdicts; a smaller mean difference is no finding


class _Result(NamedTuple):
    """One workload of one report."""

    report: PublishedReport
    workload: Workload


def check_all(reports: Sequence[PublishedReport]) -> Iterator[tuple[PublishedReport, Finding]]:
    """``same_version_drift``, a finding of the later report. Results that several pages print, as
    those of one report in two languages, count once.
    """
    for earlier, later in combinations(sorted(_once_each(reports), key=_age), 2):
        if earlier.report is not later.report and _measured(earlier) == _measured(later):
            for version in later.workload.versions:
                for other in earlier.workload.versions:
                    # 5.0 and 5.0.2 of two reports need not be the same.
                    if is_same(_exact(earlier.report, other), _exact(later.report, version)):
                        for finding in _drift(earlier, other, later, version):
                            yield later.report, finding


def identity_of(report: PublishedReport, workload: Workload) -> tuple[object, ...]:
    """What identifies the results of a workload: the same on a page and on its translation.

    How a language writes versions and numbers does not matter: of each printed figure there are
    the threads, the place of the version (the baseline's is 0), the metric and the number.
    """
    figures = sorted(
        (row.threads, place, metric, printed.value)
        for row in workload.rows
        for place, version in enumerate(workload.versions)
        for metric, printed in row.sides.get(version, {}).items()
    )
    versions = tuple(map(order, report.versions))
    return report.is_about_cloud, versions, workload.name, tuple(figures)


def _once_each(reports: Sequence[PublishedReport]) -> list[_Result]:
    """The results of each workload: of pages that print the same the English, else the first."""
    chosen: dict[tuple[object, ...], _Result] = {}
    for report in sorted(reports, key=lambda report: report.language != "en"):
        for workload in report.workloads:
            chosen.setdefault(identity_of(report, workload), _Result(report, workload))
    return list(chosen.values())


def _age(result: _Result) -> tuple[object, ...]:
    report = result.report
    candidate, first = (
        [int(number) for number in re.findall(r"\d+", version)]
        for version in (report.candidate, report.versions[0])
    )
    return candidate, first, report.source


def _measured(result: _Result) -> tuple[object, ...]:
    """What has to be the same for two results to be of one thing."""
    return result.report.is_about_cloud, result.workload.name, result.workload.metric


def _exact(report: PublishedReport, version: str) -> str:
    """The page's more exact name of a version, where it has one."""
    found = [exact for exact in report.exact_versions if same_version(exact, version)]
    return found[0] if len(found) == 1 else version


def _drift(earlier: _Result, other: str, later: _Result, version: str) -> Iterator[Finding]:
    """The mean over the thread counts that both have, later against earlier, in percent."""
    workload = later.workload
    if workload.metric is None:
        return
    old = _values(earlier.workload, other, workload.metric)
    new = _values(workload, version, workload.metric)
    changes = {
        threads: (new[threads] / old[threads] - 1) * 100 for threads in old if threads in new
    }
    if not changes:
        return
    mean = recompute.rounded_to(sum(changes.values(), Decimal()) / len(changes), 2)
    if abs(mean) > _THRESHOLD_PCT:
        yield Finding(
            "same_version_drift",
            f"line {workload.line}, {workload.heading}, {version}",
            workload.line,
            None,
            mean,
            f"{mean:+} % {workload.metric} against {earlier.report.source}, mean over "
            f"{', '.join(map(str, changes))} threads",
        )


def _values(workload: Workload, version: str, metric: Metric) -> dict[int, Decimal]:
    return {
        row.threads: side[metric].value
        for row in workload.rows
        if metric in (side := row.sides.get(version, {})) and side[metric].value > 0
    }
