"""Why workloads changed: reads the counts of their trials once, splits and ranks them.

Example:
    ``read(campaign, comparison, trials, store.read_bytes).ranked["oltp_insert"].moved`` is 5.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchlab import engines
from benchlab.analysis.cause import split
from benchlab.analysis.cause.causes import NO_CAUSES, Causes, Profiles
from benchlab.analysis.cause.profiles import Compared
from benchlab.analysis.cause.ranked import Cluster, CountChange, Ranked, ranked
from benchlab.analysis.cause.split import Part, Split
from benchlab.analysis.gates.gates import leaving_out
from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison, rounds_of
from benchlab.analysis.verdict.rounds import Figure, Rounds, collect
from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.analysis.verdict.variances import percent, percents
from benchlab.engines.counts import Row
from benchlab.errors import BenchlabError
from benchlab.language import Message, message
from benchlab.plan.metric import THROUGHPUT, Metric, kinds
from benchlab.plan.open_loop import rate_of
from benchlab.plan.plan import Plan
from benchlab.report.model import counts, profiles, statements
from benchlab.report.model.report import CHANGES
from benchlab.report.model.series import ReadObject
from benchlab.results.diagnosis import Kind
from benchlab.results.records import Campaign, TrialResult

log = logging.getLogger(__name__)

CONFIDENCE = 0.95
_Trials = Sequence[tuple[TrialResult, Sequence[Row]]]
"""The trials of a workload, with what a query took in each."""


def read(
    campaign: Campaign,
    comparison: Comparison,
    results: Sequence[TrialResult],
    read_object: ReadObject,
) -> Causes:
    """Split and rank the counts of every workload with a change; read what diagnosis found.

    See :func:`counted` and :func:`diagnosed`.
    """
    found = counted(campaign, comparison, results, read_object)
    return diagnosed(found, campaign, read_object)


def diagnosed(known: Causes, campaign: Campaign, read_object: ReadObject) -> Causes:
    """The same with what diagnosis trials found, which is computed already."""
    of = campaign, read_object
    return dataclasses.replace(known, statements=statements.read(*of), profiles=profiles.read(*of))


def counted(
    campaign: Campaign,
    comparison: Comparison,
    results: Sequence[TrialResult],
    read_object: ReadObject,
) -> Causes:
    """Split and rank the counts of every workload with a change.

    A trial takes part as it does in verdicts. Of counts that a gate leaves out, and of trials whose
    counts cannot be read, nothing is known.
    """
    if not (changed := _changed(comparison)):
        return NO_CAUSES
    plan, splits, moved = campaign.wanted, {}, {}
    unread = dict[str, tuple[int, int]]()
    used, _ = usable_trials(plan, results)
    measured = {rounds.workload: rounds for rounds in rounds_of(plan, used)}
    for workload in changed:
        rounds, name = measured[workload.name], workload.name
        own = (result for result in used if result.trial.workload == name)
        found = [(result, _rows(comparison, result, read_object)) for result in own]
        trials = [(result, rows or ()) for result, rows in found]
        if lost := sum(rows is None for _, rows in found):
            unread[name] = lost, len(found)
        moved[name] = _ranked(plan, rounds, trials)
        if _has_split(workload):
            splits[name] = _split(plan, rounds, trials)
    return Causes(splits, moved, unread)


def inputs(
    campaign: Campaign, comparison: Comparison, results: Sequence[TrialResult]
) -> list[object]:
    """What the causes of a campaign follow from; empty where there are none.

    Neither a trial nor its counts change once they are stored.
    """
    if not (changed := _changed(comparison)):
        return []
    return [
        *(trial.id for trial in campaign.wanted.trials),
        *((one.trial.id, one.attempt, one.valid, one.counts) for one in results),
        *((workload.name, _has_split(workload)) for workload in changed),
        *(gate.model_dump_json() for gate in comparison.leaving_out),
    ]


def _changed(comparison: Comparison) -> list[WorkloadComparison]:
    """The workloads with a change, where there are verdicts."""
    return [
        workload
        for workload in (comparison.workloads if comparison.has_verdicts else ())
        if any(found.verdict in CHANGES for _, found in workload.decided)
    ]


def _rows(comparison: Comparison, result: TrialResult, read_object: ReadObject) -> list[Row] | None:
    """What a query took of what is compared; None where that was kept, and cannot be read."""
    try:
        return [
            row
            for row in (counts.read(read_object(result.counts)) if result.counts else ())
            if not leaving_out(comparison.leaving_out, result.gates, row.count)
        ]
    except BenchlabError as error:
        log.warning("counts of %s are not used: %s", result.trial.id, error)
        return None


def _figures(trials: _Trials, value: Callable[[Row], float | None]) -> Iterator[Figure]:
    for result, rows in trials:
        trial = result.trial
        yield trial.round, trial.threads, trial.side, {row.count: value(row) for row in rows}


def _has_split(workload: WorkloadComparison) -> bool:
    return workload.verdict in CHANGES and kinds(workload.metrics)[0] == THROUGHPUT


def _split(plan: Plan, rounds: Rounds, trials: _Trials) -> Split | Message:
    if not plan.can.administers:
        return message("split-foreign")

    def value(row: Row) -> float | None:
        return row.per_second if row.count == split.QUERIES else row.per_query

    return split.split(rounds, split.counted(rounds, _figures(trials, value)))


def _ranked(plan: Plan, rounds: Rounds, trials: _Trials) -> Ranked | None:
    if not any(rows for _, rows in trials):
        return None
    return ranked(
        collect(
            rounds.workload,
            _metrics(plan, at_rate=rate_of(rounds.workload) is not None),
            rounds.rounds,
            rounds.threads,
            rounds.sides,
            _figures(trials, lambda row: row.per_query),
            rounds.deployments,
        )
    )


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
        if not count.stands_still
    ]


def to_json(known: Causes, workload: str) -> dict[str, Any]:
    """What is known of one workload, for ``report.json``."""
    split, moved = known.splits.get(workload), known.ranked.get(workload)
    executed, functions = known.statements.get(workload), known.profiles.get(workload)
    unread = known.unread.get(workload)
    return {
        **({"trials_with_unread_counts": unread[0]} if unread else {}),
        **({"split": _split_json(split)} if split else {}),
        **({"moved": _moved_json(moved)} if moved else {}),
        **({"statements": statements.to_json(executed)} if executed else {}),
        **({"functions": _functions_json(functions)} if functions else {}),
    }


def _functions_json(found: Mapping[Kind, Profiles]) -> dict[str, Any]:
    """By kind of profiles and component; without what is only drawn."""
    return {
        kind: {
            role: profiles.figures(one) if isinstance(one, Compared) else {"lacking": str(one)}
            for role, one in by_role.items()
        }
        for kind, by_role in found.items()
    }


def _moved_json(found: Ranked) -> dict[str, Any]:
    """The counts that moved; where a side has none of a count, its change has no percent."""
    return {
        "counts": found.counts,
        "moved": found.moved,
        "clusters": [_cluster_json(cluster) for cluster in found.clusters],
    }


def _cluster_json(cluster: Cluster) -> dict[str, Any]:
    return {
        **_change_json(cluster.leading),
        "depends_on_load": cluster.leading.metric.of_load,
        "p_value": cluster.p_value,
        "members": [_change_json(one) for one in cluster.others],
    }


def _change_json(one: CountChange) -> dict[str, Any]:
    return {
        "count": one.metric.name,
        "unit": one.metric.unit,
        "baseline": one.before,
        "candidate": one.after,
        "change_pct": one.pct,
    }


def _split_json(found: Split | Message) -> dict[str, Any]:
    """What each part does to throughput, and its figures by side."""
    if isinstance(found, Message):
        return {"lacking": str(found)}
    return {
        "rounds": found.rounds,
        "threads": list(found.threads),
        "throughput_pct": percent(found.throughput.mean),
        "waits": _part_json(found.waits),
        "cpu": _part_json(found.cpu),
        "parts": [_part_json(part) for part in found.parts],
    }


def _part_json(part: Part) -> dict[str, Any]:
    own = {name: value for name, value in vars(part).items() if name != "effect"}
    interval = percents(part.effect.interval(CONFIDENCE))
    return {**own, "throughput_pct": percent(part.effect.mean), "ci95_pct": list(interval)}
