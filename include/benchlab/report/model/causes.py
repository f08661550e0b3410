"""What changed with the workloads that changed: their counts, ranked.

Example:
    ``read(campaign, comparison, results, store.read_bytes)["oltp_insert"].moved`` is 5.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from benchlab import engines
from benchlab.analysis.cause.ranked import Cluster, CountChange, Ranked, ranked
from benchlab.analysis.gates.gates import leaving_out
from benchlab.analysis.verdict.compare import Comparison
from benchlab.analysis.verdict.rounds import collect
from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.errors import BenchlabError
from benchlab.plan.metric import Metric
from benchlab.plan.open_loop import rate_of
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES
from benchlab.report.model import counts
from benchlab.report.model.report import CHANGES
from benchlab.report.model.series import ReadObject
from benchlab.results.records import Campaign, TrialResult

Causes = Mapping[str, Ranked | None]
"""By workload that changed; None where its servers' counters were not read."""


def read(
    campaign: Campaign,
    comparison: Comparison,
    results: Sequence[TrialResult],
    read_object: ReadObject,
) -> Causes:
    """Rank the counts of every workload with a changed verdict.

    A trial takes part as it does in verdicts. Of the counts that a gate leaves out, and of trials
    whose counts cannot be read, nothing is known.
    """
    if not comparison.has_verdicts:
        return {}
    plan = campaign.wanted
    used, _ = usable_trials(plan, results)
    return {
        workload.name: _of_workload(
            plan,
            workload.name,
            {
                result.trial.id: (result, _figures(comparison, result, read_object))
                for result in used
                if result.trial.workload == workload.name and result.counts is not None
            },
        )
        for workload in comparison.workloads
        if any(found.verdict in CHANGES for _, found in workload.decided)
    }


def _of_workload(
    plan: Plan, name: str, found: Mapping[str, tuple[TrialResult, Mapping[str, float | None]]]
) -> Ranked | None:
    if not any(figures for _, figures in found.values()):
        return None
    numbers = sorted({trial.round for trial in plan.trials if trial.workload == name})
    metrics = _metrics(plan, at_rate=rate_of(name) is not None)
    return ranked(
        collect(
            name,
            metrics,
            numbers,
            plan.threads_in_order(name),
            SIDES,
            (
                (one.trial.round, one.trial.threads, one.trial.side, figures)
                for one, figures in found.values()
            ),
            [plan.deployment_of(number) for number in numbers],
        )
    )


def _figures(
    comparison: Comparison, result: TrialResult, read_object: ReadObject
) -> dict[str, float | None]:
    """What a query took in a trial, of the counts that are compared."""
    try:
        rows = counts.read(read_object(result.counts or ""))
    except BenchlabError:
        return {}
    return {
        row.count: row.per_query
        for row in rows
        if not leaving_out(comparison.leaving_out, result.gates, row.count)
    }


def _metrics(plan: Plan, *, at_rate: bool) -> list[Metric]:
    """Every count of the engine; what servers also do for themselves depends on the load too."""
    engine = engines.by_name()[plan.engine]
    known = {
        count.name: count
        for count in (*engine.counts, *(engine.cluster.counts if engine.cluster else ()))
    }
    return [
        dataclasses.replace(
            count.metric(), of_load=(count.of_load or count.background) and not at_rate
        )
        for count in known.values()
    ]


def to_json(found: Ranked | None) -> dict[str, object] | None:
    """What moved, for ``report.json``; a side that has none of a count has no change in percent."""
    if found is None:
        return None
    return {
        "counts": found.counts,
        "moved": found.moved,
        "clusters": [_cluster_json(cluster) for cluster in found.clusters],
    }


def _cluster_json(cluster: Cluster) -> dict[str, object]:
    return {
        **_change_json(cluster.leading),
        "depends_on_load": cluster.leading.metric.of_load,
        "p_value": cluster.p_value,
        "members": [_change_json(one) for one in cluster.others],
    }


def _change_json(one: CountChange) -> dict[str, object]:
    return {
        "count": one.metric.name,
        "unit": one.metric.unit,
        "baseline": one.before,
        "candidate": one.after,
        "change_pct": one.pct,
    }
