"""Whether what a report type names exists here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchlab import engines, targets, workloads
from benchlab.plan.report_type import ReportSpec


def faults(spec: ReportSpec) -> Iterator[str]:
    """Names of no target, engine or workload; see :mod:`benchlab.campaign.fit`."""
    tables = spec.published.tables if spec.published else None
    known: tuple[tuple[str, Iterable[str], Iterable[str]], ...] = (
        ("target", [spec.target], [*targets.by_name()]),
        ("engine", [spec.engine], [*engines.by_name(), "auto"]),
        ("engines", spec.engines, engines.by_name()),
        ("workloads", spec.workloads, workloads.by_name()),
        ("threads_by_workload", spec.threads_by_workload, workloads.by_name()),
        ("published.tables.workloads", tables.workloads if tables else (), workloads.by_name()),
        *(
            (f"engines.{name}.by_workload", entry.by_workload, workloads.by_name())
            for name, entry in spec.engines.items()
        ),
    )
    for field, names, there in known:
        if unknown := [name for name in names if name not in there]:
            yield f"{field}: unknown: {', '.join(unknown)}; known: {', '.join(there)}"
