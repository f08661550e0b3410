"""What the gates found as tables with one column for each gate, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchlab.analysis.gates.gates import OF_CAMPAIGN, Gate, Table, of_table
from benchlab.plan.report_type import Side
from benchlab.results.records import GateKind, GateResult, GateStatus, TrialResult

CellRow = tuple[str, int, Side, tuple[GateResult, ...]]
"""Workload, threads, side, and what the gates found over all rounds."""
CampaignRow = tuple[Table, str, str, tuple[GateResult, ...]]
"""``workloads`` or ``calibration``, workload, metric, and what the gates of the table found."""

Row = Mapping[str, Any]

# The columns that name a row, in the order in which they are shown.
KEYS: Mapping[Table, tuple[str, ...]] = {
    "trials": ("trial", "attempt", "workload", "threads", "side", "round", "used"),
    "cells": ("workload", "threads", "side"),
    "workloads": ("workload", "metric"),
    "calibration": ("workload", "metric"),
}
# One more column of the tables that Great Expectations sees: the row's number.
ROW = "row"


@dataclass(frozen=True)
class Check:
    """One gate over all rows of its table.

    Attributes:
        definition: by which Great Expectations evaluates it; None: it was evaluated with its trial.
        values: one for each row; None where the gate was not evaluated.
        stored: what its evaluation found, one for each row.
    """

    gate: str
    sentence: str
    definition: Gate | None
    values: tuple[float | None, ...]
    stored: tuple[GateStatus, ...]

    @property
    def evaluated(self) -> bool:
        """Whether it was evaluated in at least one row."""
        return any(status != "not evaluated" for status in self.stored)


@dataclass(frozen=True)
class Suite:
    """The gates of one kind over the rows of one table."""

    table: Table
    kind: GateKind
    rows: tuple[Row, ...]
    checks: tuple[Check, ...]

    @property
    def of_campaign(self) -> bool:
        """Whether Great Expectations evaluates it: what no trial can show by itself."""
        return self.table in OF_CAMPAIGN


def suites_of_trials(
    trials: Sequence[TrialResult], used: Collection[tuple[str, int]]
) -> list[Suite]:
    """A row for each trial and attempt, as it was judged when it was measured."""
    in_order = sorted(trials, key=lambda result: (result.trial.index, result.attempt))
    rows = [
        {
            "trial": result.trial.id,
            "attempt": result.attempt,
            **{name: getattr(result.trial, name) for name in KEYS["trials"][2:6]},
            "used": (result.trial.id, result.attempt) in used,
        }
        for result in in_order
    ]
    return _suites("trials", rows, [result.gates for result in in_order])


def suites_of_cells(cells: Sequence[CellRow]) -> list[Suite]:
    """A row for each cell and side."""
    rows = [dict(zip(KEYS["cells"], cell[:3], strict=True)) for cell in cells]
    return _suites("cells", rows, [found for *_, found in cells])


def suites_of_campaign(gates: Sequence[Gate], campaign: Sequence[CampaignRow]) -> list[Suite]:
    """A row for each workload, or workload and metric, for Great Expectations."""
    suites = []
    for table in OF_CAMPAIGN:
        own = [row for row in campaign if row[0] == table]
        rows = [dict(zip(KEYS[table], row[1:3], strict=True)) for row in own]
        definitions = {gate.id: gate for gate in of_table(gates, table)}
        suites += _suites(table, rows, [found for *_, found in own], definitions)
    return suites


def _suites(
    table: Table,
    rows: Sequence[Row],
    results: Sequence[Sequence[GateResult]],
    definitions: Mapping[str, Gate] | None = None,
) -> list[Suite]:
    by_row = [{result.gate: result for result in row} for row in results]
    first = {gate: result for row in reversed(by_row) for gate, result in row.items()}
    kinds: tuple[GateKind, ...] = ("validity", "symptom")
    suites = []
    for kind in kinds:
        named = dict.fromkeys(gate for row in by_row for gate in row if first[gate].kind == kind)
        checks = tuple(
            Check(
                gate,
                first[gate].sentence,
                (definitions or {}).get(gate),
                tuple(_value(row.get(gate)) for row in by_row),
                tuple(row[gate].status if gate in row else "not evaluated" for row in by_row),
            )
            for gate in named
        )
        if checks:
            suites.append(Suite(table, kind, tuple(rows), checks))
    return suites


def _value(result: GateResult | None) -> float | None:
    """What was found; infinite where it was no finite number, which is not stored."""
    if result is None or result.status == "not evaluated":
        return None
    return math.inf if result.observed is None else result.observed
