"""What a transaction takes of the servers: the counts that are decided, a row for each.

Example:
    ``table(report)[0].count`` is ``"rows read"``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from pydantic import TypeAdapter

from benchlab.analysis.verdict.compare import WorkloadComparison
from benchlab.analysis.verdict.decision import Decision
from benchlab.engines.counts import THRESHOLD_PCT as THRESHOLD_PCT
from benchlab.engines.counts import Row
from benchlab.language.numbers import MISSING
from benchlab.plan.metric import COUNT, Metric
from benchlab.plan.report_type import SIDES, Side
from benchlab.report.model.report import Report
from benchlab.report.model.series import UnreadableSeriesError

_ROW = TypeAdapter(Row)


class Counted(NamedTuple):
    """One count of one workload, decided."""

    workload: str
    metric: Metric
    found: Decision


def decided(report: Report) -> list[Counted]:
    """The counts of all workloads, in the order of their tables."""
    return [
        Counted(section.title, metric, found)
        for section in report.sections
        for metric, found in section.figures.decided
        if metric.family == COUNT
    ]


def limit(report: Report, metric: Metric) -> float:
    """The smallest change of a count that is called one, in percent."""
    return metric.threshold_pct or report.spec.threshold_pct


def value(report: Report, workload: WorkloadComparison, metric: Metric, side: Side) -> str:
    """What a transaction takes on a side: the mean over thread counts, with three digits."""
    return shown(report, _mean(workload, metric, side), metric)


def shown(report: Report, value: float | None, metric: Metric) -> str:
    """A value of a count, with three digits and its unit."""
    if value is None:
        return MISSING
    unit = "" if metric.unit == "1" else f" {report.language.say(f'unit-{metric.unit.lower()}')}"
    return f"{report.numbers.digits(value, 3)}{unit}"


def change(report: Report, workload: WorkloadComparison, metric: Metric) -> str:
    """By how much what a transaction takes differs, of a count that is not decided."""
    before, after = (_mean(workload, metric, side) for side in SIDES)
    return report.numbers.change(
        100 * (after / before - 1) if before and after is not None else None
    )


def _mean(workload: WorkloadComparison, metric: Metric, side: Side) -> float | None:
    means = [cell.sides[side].means.get(metric.name) for cell in workload.cells]
    known = [mean for mean in means if mean is not None]
    return fmean(known) if known else None


def read(content: bytes) -> list[Row]:
    """What a query took in one trial, as it is kept.

    Raises:
        UnreadableSeriesError: it is not such a table.
    """
    try:
        rows = csv.DictReader(io.StringIO(content.decode(), newline=""), strict=True)
        return [_ROW.validate_python({k: v or None for k, v in row.items()}) for row in rows]
    except (ValueError, csv.Error) as error:
        raise UnreadableSeriesError("it is not the table that Benchlab writes") from error


def columns(report: Report) -> Sequence[str]:
    """The headings: workload, count, each side's version, then what was decided."""
    say = report.language.say
    judged = ("change", "interval", "verdict") if report.has_verdicts else ()
    return (
        say("column-workload"),
        say("column-count"),
        *(side.label for side in report.sides.values()),
        *(say(f"column-{name}") for name in judged),
    )
