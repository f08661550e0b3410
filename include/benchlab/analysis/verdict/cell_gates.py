"""Gates of cells, and symptoms that only one side shows, which make a verdict ``unstable``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchlab.analysis.gates import gates as quality
from benchlab.analysis.gates import symptoms
from benchlab.analysis.gates.gates import Gate
from benchlab.analysis.verdict.one_sided import one_sided
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.language import Message, message
from benchlab.plan.metric import LATENCY
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.records import GateResult, TrialResult


@dataclass(frozen=True)
class CellGates:
    """What the gates of cells found in one cell on one side, over all its rounds."""

    workload: str
    threads: int
    side: Side
    gates: tuple[GateResult, ...]


def cell_gates(rounds: Rounds, gates: Sequence[Gate]) -> list[CellGates]:
    """Judge every cell of a workload, on each side, by the gates of cells."""
    chosen = [g for g in quality.of_metric(gates, rounds.metric) if g.table == "cells"]
    if not chosen:
        return []
    throughput, p95 = rounds.values[rounds.metric], rounds.values.get(rounds.metric_of(LATENCY))
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
) -> list[Message]:
    """A sentence for each symptom that only one side of a workload shows, often enough."""
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
            sentences.append(
                message(
                    "reason-symptom",
                    gate=gate.id,
                    where=seen.where(gate.table),
                    sentence=gate.evaluate({}).sentence,
                )
            )
    return sentences
