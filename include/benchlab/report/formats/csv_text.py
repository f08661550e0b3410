"""Figures as CSV, written and read; a missing value is an empty field."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from benchlab.analysis.verdict.compare import Comparison
from benchlab.plan.plan import Plan
from benchlab.report.model import document_tables, figures
from benchlab.results.records import TrialResult

Field = str | int | float | bool | None


def trials_csv(plan: Plan, results: Sequence[TrialResult], comparison: Comparison) -> str:
    """Write one row per executed trial, including invalid and excluded ones.

    ``used``: whether its figures are in the comparison. ``restored``: whether the snapshot was
    restored just before it; empty if not known. ``raw``, ``series``, ``hosts`` and
    ``counts`` are relative to the root of the object store.
    """
    reasons = {(e.trial, e.attempt): e.reasons for e in comparison.excluded}
    phases = list(dict.fromkeys(phase for result in results for phase in result.phases))
    metrics = [metric.name for metric in plan.metrics]
    header = [
        *("trial", "round", "deployment", "attempt", "side", "workload", "threads"),
        *("valid", "used", "reasons"),
        *metrics,
        *("restored", "adopted", "started_at", "ended_at"),
        *(f"phase_{phase.replace('-', '_').replace(' ', '_')}_s" for phase in phases),
        *("raw", "series", "hosts", "counts"),
    ]
    rows: list[list[Field]] = []
    for result in sorted(results, key=lambda r: (r.trial.index, r.attempt)):
        trial, key = result.trial, (result.trial.id, result.attempt)
        rows.append(
            [
                *(trial.id, trial.round, plan.deployment_of(trial.round), result.attempt),
                *(trial.side, trial.workload, trial.threads, result.valid, key not in reasons),
                "; ".join(map(str, reasons.get(key, ()))),
                *(result.value(metric) for metric in metrics),
                *(_restored(result), result.adopted),
                *(result.started_at.isoformat(), result.ended_at.isoformat()),
                *(result.phases.get(phase) for phase in phases),
                *(result.raw, result.series, result.hosts, result.counts),
            ]
        )
    return _csv(header, rows)


def comparison_csv(comparison: Comparison) -> str:
    """Write one row per cell: each side's figures; with two sides, changes and verdicts as well."""
    workloads = comparison.workloads
    metrics = figures.metrics(workloads)
    beside = document_tables.beside_throughput(workloads[0].metrics) if workloads else []
    kinds = list(dict.fromkeys(kind for workload in workloads for kind in workload.beside))
    judged = ("verdict", *(f"{kind}_verdict" for kind in kinds)) if workloads else ()
    last = ("improvement_pct", *(f"{name}_improvement_pct" for name in beside), *judged)
    header = [
        *("workload", "threads"),
        *(f"{side}_{metric}" for side in comparison.sides for metric in metrics),
        *(last if comparison.has_verdicts else ()),
    ]
    rows: list[list[Field]] = []
    for workload in workloads:
        for cell in workload.cells:
            others = (document_tables.improvement(cell, name) for name in beside)
            changes = (cell.improvement_pct, *others)
            found = (workload.beside.get(kind) for kind in kinds)
            verdicts = (workload.verdict, *(one.verdict if one else None for one in found))
            rows.append(
                [
                    *(workload.name, cell.threads),
                    *(side.means.get(m) for side in cell.sides.values() for m in metrics),
                    *((*changes, *verdicts) if comparison.has_verdicts else ()),
                ]
            )
    return _csv(header, rows)


def read(content: bytes) -> list[dict[str, Any]]:
    r"""Read a table's rows, by column, as numbers, booleans, text or None (missing).

    >>> read(b"threads,valid,raw\n8,true,\n")
    [{'threads': 8, 'valid': True, 'raw': None}]

    Raises:
        ValueError, csv.Error: it is not CSV, a column occurs twice, or a row has another length.
    """
    table = csv.reader(io.StringIO(content.decode(), newline=""), strict=True)
    header, *rows = table
    if len(set(header)) != len(header):
        raise ValueError("a column occurs twice")
    return [dict(zip(header, map(_cell, row), strict=True)) for row in rows]


def _cell(text: str) -> object:
    if re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", text):
        return int(text) if text.removeprefix("-").isdecimal() else float(text)
    return {"": None, "true": True, "false": False}.get(text, text)


def _restored(result: TrialResult) -> bool | None:
    """Whether the data were restored; None if the phases were lost with the task that ran them."""
    if result.adopted or not result.phases:
        return None
    return "restore" in result.phases


def _csv(header: Iterable[str], rows: Iterable[Iterable[Field]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow(str(field).lower() if isinstance(field, bool) else field for field in row)
    return out.getvalue()
