"""Gates: pure predicates over the columns of a trial.

A gate is defined once, in ``configs/quality/*.yaml``: an id, a sentence that says what holds when
it passes, a column and its bounds, and the metric of the workloads that it is for, where it is not
for all. Columns are plain numbers, computed from what the client printed and from what the target
could tell about the trial. A column that is not there leaves its gate ``not evaluated``; it never
passes for want of data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import yaml
from pydantic import BaseModel, ConfigDict, Field

from benchlab.errors import SpecError
from benchlab.results import Condition, GateKind, GateResult

START_ALLOWANCE_S = 0.25

Columns = Mapping[str, float | None]


class Gate(BaseModel):
    """One gate: passes while ``min <= column <= max``; a bound that is None does not bind.

    Attributes:
        kind: ``class`` in the file. A failed gate of validity makes its trial invalid; a symptom
            may be the candidate's own doing, and is kept and shown.
        table: what a row of its column is: one trial, or one cell on one side over all rounds.
        metric: that of the workloads it is for (``tps``, ``tpmc``); None: of all. The same id may
            be there once for each metric, with bounds that fit what its clients print.
        unstable_from: of a symptom: how many failures in a workload, all on one side, make its
            verdict ``unstable``. More than one where a good trial fails it by chance, too; None:
            it is only shown.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    id: str
    sentence: str
    column: str
    kind: GateKind = Field(alias="class")
    table: Literal["trials", "cells"] = "trials"
    metric: str | None = None
    unstable_from: Annotated[int, Field(ge=1)] | None = None
    min: pydantic.FiniteFloat | None = None
    max: pydantic.FiniteFloat | None = None

    def evaluate(self, columns: Columns) -> GateResult:
        """Judge one trial. NaN fails: it is not between any bounds."""
        observed = columns.get(self.column)
        if observed is None:
            return GateResult(self.id, "not evaluated", None, self.sentence, self.kind)
        above = self.min is None or observed >= self.min
        below = self.max is None or observed <= self.max
        passed = above and below and not math.isnan(observed)
        return GateResult(
            self.id,
            "pass" if passed else "fail",
            observed if math.isfinite(observed) else None,
            self.sentence,
            self.kind,
        )

    def bounds(self) -> str:
        """The bounds, for people."""
        if self.min is None:
            return f"at most {self.max:g}"
        if self.max is None:
            return f"at least {self.min:g}"
        return f"{self.min:g} to {self.max:g}"


def load(path: Path) -> tuple[Gate, ...]:
    """Read one file of gates.

    Raises:
        SpecError: it cannot be read or a gate in it is wrong; names the file and the gate.
    """
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
        gates = tuple(Gate.model_validate(entry) for entry in entries)
    except (OSError, TypeError, ValueError, yaml.YAMLError) as error:
        raise SpecError(f"{path}: not a list of gates: {error}") from error
    for gate in gates:
        if gate.min is None and gate.max is None:
            raise SpecError(f"{path}: gate {gate.id}: has neither min nor max and cannot fail")
        if gate.min is not None and gate.max is not None and gate.min > gate.max:
            raise SpecError(f"{path}: gate {gate.id}: min is above max, so that it cannot pass")
    for number, gate in enumerate(gates):
        others = (other for other in gates[:number] if other.id == gate.id)
        if any(None in (gate.metric, o.metric) or gate.metric == o.metric for o in others):
            raise SpecError(f"{path}: two gates have the same id: {gate.id}")
    return gates


def of_metric(gates: Sequence[Gate], metric: str) -> tuple[Gate, ...]:
    """The gates that judge trials of workloads with this metric."""
    return tuple(gate for gate in gates if gate.metric in (None, metric))


def evaluate(gates: Sequence[Gate], columns: Columns) -> tuple[GateResult, ...]:
    """Judge one trial by all gates."""
    return tuple(gate.evaluate(columns) for gate in gates)


def reasons(gates: Sequence[Gate], results: Sequence[GateResult]) -> tuple[str, ...]:
    """A sentence for every gate that failed: what was found, what is allowed."""
    by_id = {gate.id: gate for gate in gates}
    return tuple(
        f"gate {result.gate}: not so that {result.sentence}: found "
        f"{'no number' if result.observed is None else f'{result.observed:.6g}'}, allowed "
        f"{by_id[result.gate].bounds()}"
        for result in results
        if result.status == "fail"
    )


def client_columns(
    output: Any, threads: int, seconds: float, dataset: Any, expected_errors: Sequence[int] = ()
) -> dict[str, float | None]:
    """Columns from what the client printed.

    Args:
        output: a parsed client output, as ``benchlab.workloads`` describes it; absent values None.
        threads: requested.
        seconds: requested.
        dataset: what was loaded.
        expected_errors: the server's error numbers that a client may survive.
    """
    duration = output.duration_s
    own: dict[str, float | None] = output.columns(threads, dataset)
    return {
        "unexpected_errors": output.unexpected_errors(expected_errors),
        "summary_present": 1.0 if output.status == "complete" else 0.0,
        "duration_excess_s": None if duration is None else duration - seconds,
        "effective_threads_ratio": _effective_threads(output.latency_ms.sum, duration, threads),
        **own,
    }


def dataset_columns(loaded: Sequence[Condition] | None) -> dict[str, float | None]:
    """Columns from the conditions that were checked after the load; None or none: not checked."""
    violated = sum(condition.violations > 0 for condition in loaded or ())
    return {"inconsistent_dataset": float(violated) if loaded else None}


def _effective_threads(
    latency_sum_ms: float | None, duration_s: float | None, threads: int
) -> float | None:
    """Little's law from the printed sum: sum of latencies / elapsed = threads at work.

    What the threads take to come to work is let off: much of a one-second trial on a busy
    machine, nothing of a five-minute one.
    """
    if latency_sum_ms is None or not duration_s:
        return None
    at_work_s = max(duration_s - START_ALLOWANCE_S, duration_s / 2)
    return latency_sum_ms / 1000 / at_work_s / threads
