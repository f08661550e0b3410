"""What is wrong in published pages: every figure recomputed, every sentence held against them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import ModuleType
from typing import Any, get_args

from benchlab.published import checks, recompute
from benchlab.published.finding import KINDS, Finding, number
from benchlab.published.model import Metric, PublishedReport, Row, Workload
from benchlab.published.stated import published_headline

_DECIMALS = 4


@dataclass(frozen=True)
class Audit:
    """One page and what is wrong in it, by kind and line."""

    report: PublishedReport
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """As `benchlab audit --json` prints it: changes in percent, latencies in ms.

        What is missing is null.
        """
        report = self.report
        return {
            "report": report.id,
            "source": report.source,
            "title": report.title,
            "kind": report.kind,
            "language": report.language,
            "versions": list(report.versions),
            "workloads": [_workload(report, each) for each in report.workloads],
            "findings": [finding.to_json() for finding in self.findings],
            "unread": [{"line": each.line, "what": each.what} for each in report.unread],
        }


def audit(reports: Sequence[PublishedReport]) -> list[Audit]:
    """Audit each page, and all of them against each other, in the order given."""
    families = _families()
    found: list[list[Finding]] = [
        [finding for family in families if hasattr(family, "check")
         for finding in family.check(report)]
        for report in reports
    ]  # fmt: skip
    if len(reports) > 1:
        for family in families:
            if hasattr(family, "check_all"):
                for report, finding in family.check_all(reports):
                    at = next(i for i, each in enumerate(reports) if each is report)
                    found[at].append(finding)
    return [
        Audit(report, tuple(sorted(findings, key=_order)))
        for report, findings in zip(reports, found, strict=True)
    ]


def _families() -> list[ModuleType]:
    names = sorted(module.name for module in pkgutil.iter_modules(checks.__path__))
    return [importlib.import_module(f"{checks.__name__}.{name}") for name in names]


def _order(finding: Finding) -> tuple[int, int]:
    return KINDS.index(finding.kind), finding.line


def _workload(report: PublishedReport, workload: Workload) -> dict[str, Any]:
    headline = published_headline(report, workload)
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


def _shown(exact: Decimal | None) -> float | int | str | None:
    return None if exact is None else number(recompute.rounded_to(exact, _DECIMALS))
