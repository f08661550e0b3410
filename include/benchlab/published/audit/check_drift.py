"""Differences between reports that measured the same version."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations, product
from typing import NamedTuple

from benchlab.plan.fields.published import Metric
from benchlab.plan.versions import is_same, order
from benchlab.published import recompute
from benchlab.published.audit.discrepancy import Discrepancy
from benchlab.published.model import PublishedReport, Workload
from benchlab.published.version_names import same_version

_THRESHOLD_PCT = Decimal(2)  # as for verdicts; a smaller mean difference is not a discrepancy


class _Result(NamedTuple):
    """One workload of one report."""

    report: PublishedReport
    workload: Workload


def check_all(reports: Sequence[PublishedReport]) -> Iterator[tuple[PublishedReport, Discrepancy]]:
    """Find ``same_version_drift``; each discrepancy comes with the later of the two reports.

    Results that several pages print, such as one report in two languages, count once.
    """
    for earlier, later in combinations(sorted(_once_each(reports), key=_age), 2):
        if earlier.report is not later.report and _measured(earlier) == _measured(later):
            for version, other in product(later.workload.versions, earlier.workload.versions):
                # In two reports, 5.0 and 5.0.2 need not be the same version.
                if is_same(_exact(earlier.report, other), _exact(later.report, version)):
                    for discrepancy in _drift(earlier, other, later, version):
                        yield later.report, discrepancy


def identity_of(report: PublishedReport, workload: Workload) -> tuple[object, ...]:
    """A key for the results of a workload that is equal for a page and its translation.

    It does not depend on how a language writes versions and numbers: each printed figure
    contributes its threads, the position of its version (0 for the baseline), metric and value.
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
    """Each result once: from the English page that prints it, else from the first page."""
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
    """What two results must have in common to be comparable."""
    return result.report.is_about_cloud, result.workload.name, result.workload.metric


def _exact(report: PublishedReport, version: str) -> str:
    """The page's more exact name of a version, if it has one."""
    found = [exact for exact in report.exact_versions if same_version(exact, version)]
    return found[0] if len(found) == 1 else version


def _drift(earlier: _Result, other: str, later: _Result, version: str) -> Iterator[Discrepancy]:
    """A discrepancy if the mean change, over the thread counts that both have, is above 2 %."""
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
        yield Discrepancy(
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
