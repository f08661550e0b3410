"""Where the time of workloads went whose throughput changed: reads their counts, and splits them.

Example:
    ``read(campaign, comparison, trials, store.read_bytes)["oltp_insert"].waits.candidate``
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from benchlab.analysis.cause import split
from benchlab.analysis.cause.split import Part, Split, Splits
from benchlab.analysis.gates.gates import leaving_out
from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison, rounds_of
from benchlab.analysis.verdict.rounds import Figure
from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.analysis.verdict.variances import percent, percents
from benchlab.engines.counts import Row
from benchlab.errors import BenchlabError
from benchlab.language import Message, message
from benchlab.plan.metric import THROUGHPUT, kinds
from benchlab.report.model import counts
from benchlab.report.model.series import ReadObject
from benchlab.results.records import Campaign, TrialResult

CONFIDENCE = 0.95


def read(
    campaign: Campaign,
    comparison: Comparison,
    results: Sequence[TrialResult],
    read_object: ReadObject,
) -> Splits:
    """Split the changes of a campaign; counts that are missing or left out are missing."""
    changed = {one.name for one in comparison.workloads if _is_changed(one)}
    if not changed or not comparison.has_verdicts:
        return {}
    if not campaign.plan.can.administers:
        return dict.fromkeys(sorted(changed), message("split-foreign"))
    used, _ = usable_trials(campaign.wanted, results)
    found: dict[str, Split | Message] = {}
    for rounds in rounds_of(campaign.wanted, used):
        if (name := rounds.workload) in changed:
            own = (result for result in used if result.trial.workload == name)
            figures = _figures(own, comparison, read_object)
            found[name] = split.split(rounds, split.counted(rounds, figures))
    return found


def _is_changed(workload: WorkloadComparison) -> bool:
    changed = workload.verdict in ("regression", "improvement")
    return changed and kinds(workload.metrics)[0] == THROUGHPUT


def _figures(
    results: Iterable[TrialResult], comparison: Comparison, read_object: ReadObject
) -> Iterator[Figure]:
    for result in results:
        own = {
            row.count: row.per_second if row.count == split.QUERIES else row.per_query
            for row in _rows(result, read_object)
            if row.count in split.COUNTS
            and not leaving_out(comparison.leaving_out, result.gates, row.count)
        }
        yield result.trial.round, result.trial.threads, result.trial.side, own


def _rows(result: TrialResult, read_object: ReadObject) -> Sequence[Row]:
    """What a query took; empty where it was not read, or is lost."""
    with contextlib.suppress(BenchlabError):
        return counts.read(read_object(result.counts)) if result.counts else []
    return []


def to_json(found: Split | Message) -> dict[str, Any]:
    """A split for ``report.json``: what each part does to throughput, and its figures by side."""
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
