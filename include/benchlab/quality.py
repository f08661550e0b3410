"""Gates: pure predicates over the columns of a trial.

A gate is defined once, in ``configs/quality/*.yaml``: an id, a sentence that says what holds when
it passes, a column and its bounds. Columns are plain numbers, computed here from what the client
printed and from what the target could tell about the trial. A column that is not there leaves its
gate ``not evaluated``; it never passes for want of data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pydantic
import yaml
from pydantic import BaseModel, ConfigDict

from benchlab.errors import SpecError
from benchlab.results import GateResult

START_ALLOWANCE_S = 0.25

Columns = Mapping[str, float | None]


class Gate(BaseModel):
    """One gate: passes while ``min <= column <= max``; a bound that is None does not bind."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    sentence: str
    column: str
    min: pydantic.FiniteFloat | None = None
    max: pydantic.FiniteFloat | None = None

    def evaluate(self, columns: Columns) -> GateResult:
        """Judge one trial. NaN fails: it is not between any bounds."""
        observed = columns.get(self.column)
        if observed is None:
            return GateResult(self.id, "not evaluated", None, self.sentence)
        above = self.min is None or observed >= self.min
        below = self.max is None or observed <= self.max
        passed = above and below and not math.isnan(observed)
        return GateResult(
            self.id,
            "pass" if passed else "fail",
            observed if math.isfinite(observed) else None,
            self.sentence,
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
    if len({gate.id for gate in gates}) != len(gates):
        raise SpecError(f"{path}: two gates have the same id")
    return gates


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
    output: Mapping[str, Any], counts: Mapping[str, int | None], threads: int, seconds: float
) -> dict[str, float | None]:
    """Columns from what the client printed.

    Args:
        output: the JSON form of a parsed client output (``status``, ``duration_s``, ``tps``,
            ``latency_ms``, ...); absent values None.
        counts: the printed number of ``transactions``.
        threads: requested.
        seconds: requested.
    """
    latency = output["latency_ms"]
    duration = output["duration_s"]
    return {
        "summary_present": 1.0 if output["status"] == "complete" else 0.0,
        "duration_excess_s": _minus(duration, seconds),
        "effective_threads_ratio": _effective_threads(latency["sum"], duration, threads),
        "rate_error": _rate_error(output["tps"], duration, counts.get("transactions")),
        "latency_disorder": _latency_disorder(latency),
    }


def _minus(duration: float | None, seconds: float) -> float | None:
    return None if duration is None else duration - seconds


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


def _rate_error(rate: float | None, duration_s: float | None, count: int | None) -> float | None:
    if rate is None or duration_s is None or not count:
        return None
    return abs(rate * duration_s / count - 1)


def _latency_disorder(latency: Mapping[str, float | None]) -> float | None:
    """How many of the orderings that must hold do not.

    sysbench takes percentiles from a histogram whose buckets are about 1.8 % apart, so a p95 may
    be printed a bucket above the true maximum.
    """
    low, mean, p95, high = (latency[key] for key in ("min", "avg", "p95", "max"))
    if high is None or mean is None:
        return None
    # "not at most" rather than "above": NaN is in no order.
    wrong = [not value >= 0 for value in (low, mean, p95, high) if value is not None]
    wrong.append(not mean <= high)
    if low is not None:
        wrong.append(not low <= mean)
    if p95 is not None:
        wrong.append(not p95 <= high * 1.02)
    return float(sum(wrong))
