"""Audits published pages: recomputes every figure and checks every sentence against the figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from benchlab.language import english
from benchlab.plan.fields.published import Metric
from benchlab.published import recompute
from benchlab.published.audit import check_drift, check_figures, check_plan, check_threads
from benchlab.published.audit.discrepancy import KINDS, Discrepancy, number
from benchlab.published.model import PublishedReport, Row, Workload
from benchlab.published.recompute import Recomputed

_DECIMALS = 4


@dataclass(frozen=True)
class Audit:
    """One page and the errors found in it, ordered by kind and line."""

    report: PublishedReport
    discrepancies: tuple[Discrepancy, ...]

    def to_json(self) -> dict[str, Any]:
        """The audit as ``benchlab audit --json`` prints it: changes in percent, latencies in ms."""
        report = self.report
        return {
            "report": report.id,
            "source": report.source,
            "title": report.title,
            "kind": report.kind,
            "language": report.language,
            "versions": list(report.versions),
            "workloads": [_workload(report, workload) for workload in report.workloads],
            "discrepancies": [discrepancy.to_json() for discrepancy in self.discrepancies],
            "unread": [
                {"line": one.line, "heading": one.heading, "what": one.why(english())}
                for one in report.unread
            ],
        }


def audit(reports: Sequence[PublishedReport]) -> list[Audit]:
    """Audit each page, and all pages against each other; one audit per page, in the given order.

    Only certain errors are discrepancies: whatever a page leaves open is not.

    >>> audit([load(Path("page.md"))[0]])[0].discrepancies  # doctest: +SKIP
    """
    drifts = list(check_drift.check_all(reports))
    return [
        Audit(
            report,
            tuple(
                sorted(
                    (
                        *check_figures.check(report),
                        *check_plan.check(report),
                        *check_threads.check(report),
                        *(discrepancy for later, discrepancy in drifts if later is report),
                    ),
                    key=lambda discrepancy: (KINDS.index(discrepancy.kind), discrepancy.line),
                )
            ),
        )
        for report in reports
    ]


def _workload(report: PublishedReport, workload: Workload) -> dict[str, Any]:
    headline = report.headline(workload)
    return {
        "name": workload.name,
        "metric": workload.metric,
        "rows": [_row(row, workload) for row in workload.rows],
        "headline_pct_published": number(headline.value) if headline else None,
        "headline_pct": _shown(recompute.headline(workload)),
    }


def _row(row: Row, workload: Workload) -> dict[str, Any]:
    return {
        "threads": row.threads,
        "sides": {
            version: {
                metric: number(side[metric].value) if metric in side else None
                for metric in get_args(Metric)
            }
            for version, side in row.sides.items()
        },
        "improvement_pct_published": number(row.improvement.value) if row.improvement else None,
        "improvement_pct": _shown(recompute.improvement(row, workload)),
    }


def _shown(found: Recomputed | None) -> float | int | str | None:
    return number(recompute.rounded_to(found.exact, _DECIMALS)) if found else None
