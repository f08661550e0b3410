"""Checks a report type against the installation: target, engine, workloads, client, publishers.

:mod:`benchlab.plan.report_type` checks a report type by itself. This finds the remaining faults
before hosts cost money. The function ``faults`` of each module yields a sentence for each fault in
its part.
"""

from __future__ import annotations

from benchlab.campaign.fit import client, engines, report, target
from benchlab.errors import SpecError
from benchlab.plan.documents import at
from benchlab.plan.report_type import ReportSpec

_PARTS = (report, client, engines, target)


def check(spec: ReportSpec, where: str) -> ReportSpec:
    """Check a report type against the installation, and return it unchanged.

    Args:
        where: the beginning of each message, such as the report type's file.

    Raises:
        SpecError: lists every fault.

    Example:
        ``fit.check(spec, "sysbench_local.yaml")``
    """
    if faults := [at(where, fault) for part in _PARTS for fault in part.faults(spec)]:
        raise SpecError(*faults)
    return spec
