"""Trials and cells as tables with one column for each gate, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchlab.analysis.gates.gates import PLANNED_ONCE, Gate, Table, of_table, planned_once
from benchlab.errors import SpecError
from benchlab.plan.report_type import Side
from benchlab.results.records import GateKind, GateResult, GateStatus, TrialResult

CellRow = tuple[str, int, Side, tuple[GateResult, ...]]
"""Workload, threads, side, and what the gates found over all rounds."""

Row = Mapping[str, Any]

# The columns that name a row, in the order in which they are shown.
KEYS: Mapping[Table, tuple[str, ...]] = {
    "trials": ("trial", "attempt", "workload", "threads", "side", "round", "used", "planned"),
    "cells": ("workload", "threads", "side"),
}
# Two more columns: the row's number, and how many gates lost their value in it.
ROW, WITHOUT_VALUE = "row", "gates_without_value"
# The attempt of a planned trial that was never tried.
NO_ATTEMPT = 0


@dataclass(frozen=True)
class Check:
    """One gate over all rows of its table.

    Attributes:
        values: one for each row; None where the gate was not evaluated.
        stored: what was found while the trials were measured, one for each row.
    """

    gate: Gate
    values: tuple[float | None, ...]
    stored: tuple[GateStatus, ...]

    @property
    def evaluated(self) -> bool:
        """Whether it was evaluated in at least one row."""
        return any(status != "not evaluated" for status in self.stored)

    def has_lost_value(self, row: int) -> bool:
        """Whether it was evaluated in this row, but its value is not stored."""
        return self.stored[row] != "not evaluated" and self.values[row] is None


@dataclass(frozen=True)
class Suite:
    """The gates of one kind over the rows of one table."""

    table: Table
    kind: GateKind
    rows: tuple[Row, ...]
    checks: tuple[Check, ...]

    def name_of(self, number: int) -> str:
        """How a sentence names a row."""
        row = self.rows[number]
        if self.table == "trials":
            return f"trial {row['trial']}, attempt {row['attempt']}"
        return f"{row['workload']} at {row['threads']} threads on the {row['side']} side"


def suites_of_trials(
    gates: Sequence[Gate],
    trials: Sequence[TrialResult],
    used: Collection[tuple[str, int]],
    planned: Collection[str],
) -> list[Suite]:
    """A row for each trial and attempt, and for each planned trial that was never tried."""
    in_order = sorted(trials, key=lambda result: (result.trial.index, result.attempt))
    rows: list[Row] = [
        {
            "trial": result.trial.id,
            "attempt": result.attempt,
            **{name: getattr(result.trial, name) for name in KEYS["trials"][2:6]},
            "used": (result.trial.id, result.attempt) in used,
            "planned": result.trial.id in planned,
        }
        for result in in_order
    ]
    tried = {result.trial.id for result in trials}
    unmeasured = dict.fromkeys(KEYS["trials"]) | {"attempt": NO_ATTEMPT, "used": False}
    rows += [{**unmeasured, "trial": id_, "planned": True} for id_ in planned if id_ not in tried]
    results = [result.gates for result in in_order]
    results += [()] * (len(rows) - len(results))
    answers = planned_once(rows)
    once = Check(
        PLANNED_ONCE,
        tuple(map(float, answers)),
        tuple("pass" if answer else "fail" for answer in answers),
    )
    return _suites("trials", [*_checks("trials", gates, results), once], rows)


def suites_of_cells(gates: Sequence[Gate], cells: Sequence[CellRow]) -> list[Suite]:
    """A row for each cell and side; no suite without one."""
    rows = [dict(zip(KEYS["cells"], cell[:3], strict=True)) for cell in cells]
    checks = _checks("cells", gates, [found for *_, found in cells])
    return _suites("cells", checks, rows) if rows else []


def undefined(
    gates: Sequence[Gate], trials: Iterable[TrialResult], cells: Iterable[CellRow]
) -> tuple[str, ...]:
    """A sentence for each gate that has results, but is no longer defined."""
    tables: dict[Table, set[str]] = {
        "trials": {found.gate for result in trials for found in result.gates},
        "cells": {found.gate for *_, results in cells for found in results},
    }
    return tuple(
        f"gate {name}: the {table} have results of it, but configs/quality does not define it: "
        "it cannot be evaluated once more"
        for table, names in tables.items()
        for name in sorted(names - {gate.id for gate in of_table(gates, table)})
    )


def _checks(
    table: Table, gates: Sequence[Gate], results: Sequence[Sequence[GateResult]]
) -> list[Check]:
    found = [{result.gate: result for result in row} for row in results]
    return [
        Check(
            gate,
            tuple(_value(gate, row.get(gate.id)) for row in found),
            tuple(row[gate.id].status if gate.id in row else "not evaluated" for row in found),
        )
        for gate in of_table(gates, table)
    ]


def _value(gate: Gate, result: GateResult | None) -> float | None:
    """The value in the gate's column.

    Only finite numbers are stored; any other is an infinity here. Where the gate failed it lies
    beyond a bound, because Great Expectations lets a null pass; where the gate passed, on the side
    without a bound.
    """
    if result is None or result.status == "not evaluated":
        return None
    if result.observed is not None:
        return result.observed
    if result.status == "fail":
        return math.inf if gate.max is not None else -math.inf
    if gate.max is None:
        return math.inf
    return -math.inf if gate.min is None else None


def _suites(table: Table, checks: Sequence[Check], rows: Sequence[Row]) -> list[Suite]:
    names = [*KEYS[table], ROW, WITHOUT_VALUE, *(check.gate.id for check in checks)]
    if twice := {name for name in names if names.count(name) > 1}:
        raise SpecError(
            f"gate {', '.join(sorted(twice))}: the id is there twice among the {table}: as another "
            "gate, or as a column that names a row"
        )
    kinds: tuple[GateKind, ...] = ("validity", "symptom")
    return [
        Suite(table, kind, tuple(rows), members)
        for kind in kinds
        if (members := tuple(check for check in checks if check.gate.kind == kind))
    ]
