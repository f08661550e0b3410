"""Doubts: what makes a verdict `unstable`, or forbids `equivalent`, whatever its interval.

They come from symptoms on one side only, a dataset that lost its consistency, and the gates of the
table ``workloads`` (:mod:`benchlab.analysis.verdict.campaign_checks`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchlab.analysis.gates import gates as quality
from benchlab.analysis.gates import symptoms
from benchlab.analysis.gates.gates import Consequence, Gate
from benchlab.analysis.verdict.by_side import one_sided, where_seen
from benchlab.analysis.verdict.campaign_checks import Seen, campaign_checks
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.language import Message, Said, message, side_name
from benchlab.plan.metric import LATENCY, THROUGHPUT
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.records import GateResult, TrialResult


@dataclass(frozen=True)
class CellGates:
    """What the gates of cells found in one cell on one side, over all its rounds."""

    workload: str
    threads: int
    side: Side
    gates: tuple[GateResult, ...]


@dataclass(frozen=True)
class WorkloadGates:
    """What the gates of the table ``workloads`` or ``calibration`` found on one workload.

    Attributes:
        kind: of metric, for gates of the table ``calibration``.
    """

    workload: str
    gates: tuple[GateResult, ...]
    kind: str | None = None


@dataclass(frozen=True)
class Doubts:
    """Why verdicts are not what their intervals say, by workload.

    Attributes:
        unstable: why no change can be concluded.
        of_counts: why none can be concluded of what a transaction takes.
        not_equivalent: why it cannot be `equivalent`; counts can.
    """

    unstable: Mapping[str, Sequence[Said]]
    of_counts: Mapping[str, Sequence[Said]]
    not_equivalent: Mapping[str, Sequence[Said]]
    gates: tuple[WorkloadGates, ...]


def doubts(
    plan: Plan,
    results: Sequence[TrialResult],
    used: Sequence[TrialResult],
    workloads: Sequence[Rounds],
    cells: Sequence[CellGates],
    gates: Sequence[Gate],
    threshold_pct: float,
    unsound: Mapping[Side, Sequence[Said]],
) -> Doubts:
    """The doubts of a campaign.

    Args:
        results: all trials, every attempt; ``used``: those whose figures count.
        unsound: why a side's figures cannot be trusted though its trials are valid.
    """
    distrust = [
        message("reason-unsound", side=side_name(side), why=why)
        for side, found in unsound.items()
        for why in found
    ]
    rows = campaign_checks(plan, results, used, workloads, gates, threshold_pct)
    unstable, of_counts, not_equivalent, found = {}, {}, {}, []
    for rounds in workloads:
        name, seen = rounds.workload, rows.get(rounds.workload, {})
        chosen = quality.of_table(quality.of_metric(gates, rounds.metric), "workloads")
        found_by = [
            *one_sided_symptoms(rounds, gates, used, cells),
            *out_of_bounds(chosen, seen, "unstable"),
        ]
        unstable[name] = [*(why for _, why in found_by), *distrust]
        of_counts[name] = [*(why for gate, why in found_by if gate.of_counts), *distrust]
        not_equivalent[name] = [why for _, why in out_of_bounds(chosen, seen, "not equivalent")]
        if seen:
            values = {column: one.value for column, one in seen.items()}
            found.append(WorkloadGates(name, quality.evaluate(chosen, values)))
    return Doubts(unstable, of_counts, not_equivalent, tuple(found))


def out_of_bounds(
    gates: Sequence[Gate], seen: Mapping[str, Seen], then: Consequence
) -> list[tuple[Gate, Said]]:
    """The gates of the table ``workloads`` with this consequence that fail on a row, and why."""
    values = {column: one.value for column, one in seen.items()}
    return [
        (
            gate,
            seen[gate.column].why or message("reason-gate", gate=gate.id, sentence=found.sentence),
        )
        for gate in gates
        if gate.then == then and (found := gate.evaluate(values)).status == "fail"
    ]


def cell_gates(rounds: Rounds, gates: Sequence[Gate]) -> list[CellGates]:
    """Evaluate the gates of cells on every cell of a workload, on each side."""
    chosen = [g for g in quality.of_metric(gates, rounds.metric) if g.table == "cells"]
    if not chosen:
        return []
    throughput, p95 = (
        rounds.values.get(rounds.metric_of(kind)) if kind in rounds.kinds else None
        for kind in (THROUGHPUT, LATENCY)
    )
    if throughput is None:
        return []
    found = []
    for side in rounds.sides:
        which = SIDES.index(side)
        columns = symptoms.cell_columns(
            rounds.threads, throughput[:, :, which], None if p95 is None else p95[:, :, which]
        )
        found += [
            CellGates(rounds.workload, threads, side, quality.evaluate(chosen, row))
            for threads, row in zip(rounds.threads, columns, strict=True)
        ]
    return found


def one_sided_symptoms(
    rounds: Rounds,
    gates: Sequence[Gate],
    used: Iterable[TrialResult],
    cells: Iterable[CellGates],
) -> list[tuple[Gate, Message]]:
    """Each symptom that only one side of a workload shows, often enough, with a sentence."""
    failures: dict[str, Counter[Side]] = {}
    of_trials = ((r.trial.workload, r.trial.side, r.gates) for r in used)
    of_cells = ((cell.workload, cell.side, cell.gates) for cell in cells)
    for workload, side, found in (*of_trials, *of_cells):
        if workload == rounds.workload:
            for result in found:
                if result.kind == "symptom" and result.status == "fail":
                    failures.setdefault(result.gate, Counter())[side] += 1
    sentences = []
    for gate in quality.of_metric(gates, rounds.metric):
        if gate.unstable_from is None:
            continue
        counts = failures.get(gate.id, Counter())
        if seen := one_sided(counts, least=gate.unstable_from):
            why = message(
                "reason-symptom",
                gate=gate.id,
                where=where_seen(gate.table, *seen),
                sentence=gate.evaluate({}).sentence,
            )
            sentences.append((gate, why))
    return sentences
