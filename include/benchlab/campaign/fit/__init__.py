"""Whether a report type fits the installation: target, engine, workloads, parameters, publishers.

:mod:`benchlab.plan.report_type` checks a report type by itself. This checks it against the
installation, so that no fault is found only on hosts that cost money. Each module has ``faults``,
which gives what is wrong with its part, a sentence each.
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
        where: the first words of each message, such as the report type's file.

    Raises:
        SpecError: names every unknown name, and everything that does not go together.

    Example:
        ``fit.check(spec, "sysbench_local.yaml")``
    """
    if faults := [at(where, fault) for part in _PARTS for fault in part.faults(spec)]:
        raise SpecError(*faults)
    return spec
