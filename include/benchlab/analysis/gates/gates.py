"""Gates: pure predicates over the columns of a trial, of a cell, or of a whole campaign.

A gate is defined once, in ``configs/quality/*.yaml`` (read by :mod:`benchlab.report.gate_files`):
an id, a column and its bounds, and the metric of the workloads or the kind of target that it is
for, where it is not for all. What holds when it passes is the message ``gate-<id>``. Columns are
plain numbers, computed from what the client printed and from what the target reports about the
trial. A missing column leaves its gate ``not evaluated``: no gate passes for lack of data.

What no trial can show by itself is a row of another table: one for each workload over the whole
campaign (:mod:`benchlab.analysis.verdict.campaign_checks`), or one for each workload and kind of
metric over its A/A campaigns. ``then`` says what becomes of the verdict where such a gate fails.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any, Literal

import pydantic
from pydantic import BaseModel, ConfigDict, Field

from benchlab.analysis.gates.columns import Columns
from benchlab.errors import SpecError
from benchlab.language import LanguageError, Message
from benchlab.plan.documents import faults
from benchlab.results.records import GateKind, GateResult, GateStatus, Unit

Table = Literal["trials", "cells", "workloads", "calibration"]
OF_CAMPAIGN: tuple[Table, ...] = ("workloads", "calibration")
"""The tables of what no trial can show by itself."""
Consequence = Literal["unstable", "not equivalent", "note"]
# Columns that are shares beside those whose name says so, and units by the end of a name.
_SHARES = ("rate_error", "rate_excess", "drift_excess", "behind")
_UNITS: Mapping[str, Unit] = {
    "_ms": "ms",
    "_s": "s",
    "_days": "d",
    "_pct": "%",
    "_deviation": "σ",
    "_change_ratio": "×",
}


class Gate(BaseModel):
    """One gate: passes while ``min <= column <= max``; a bound that is None does not bind.

    Attributes:
        kind: ``class`` in the file. A failed gate of validity makes its trial invalid; a symptom
            may be the candidate's own doing, and is kept and shown.
        table: what a row of its column is: one trial; one cell on one side over all rounds; one
            workload over all its trials and attempts; or what A/A campaigns show of one.
        sentence: what holds when it passes, where the locale files do not say it.
        metric: of the workloads it is for (``tps``, ``tpmc``, ``qpm``); None: for all. The same id
            may occur once for each metric, with bounds that fit what its clients print.
        fleet: true: only for trials on a fleet; false: only on this machine; None: for all. The
            same id may occur once for each. For gates of validity only.
        unstable_from: how many failures of a symptom in a workload, all on one side, make its
            verdict ``unstable``. More than one where a good trial may fail it by chance; None: it
            is only shown.
        leaves_out: the counts of a trial that are left out of the comparison where this symptom is
            found in it, or ``all``; its other figures stay.
        of_counts: whether a symptom makes the verdicts on counts ``unstable`` as well. Most do not:
            a transaction takes the same in a slow trial, or with a saturated client.
        then: what becomes of a workload's verdict where a gate of ``workloads`` fails: it is
            ``unstable``; it is anything but ``equivalent``; or it stays, and the failure is noted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    id: str
    sentence: str = ""
    column: str
    kind: GateKind = Field(validation_alias="class")
    table: Table = "trials"
    metric: str | None = None
    fleet: bool | None = None
    unstable_from: Annotated[int, Field(ge=1)] | None = None
    leaves_out: Literal["all"] | tuple[str, ...] = ()
    of_counts: bool = False
    then: Consequence | None = None
    min: pydantic.FiniteFloat | None = None
    max: pydantic.FiniteFloat | None = None

    def evaluate(self, columns: Columns) -> GateResult:
        """Judge one row. NaN fails, as it lies within no bounds."""
        observed = columns.get(self.column)
        if observed is None:
            return self._result("not evaluated", None)
        above = self.min is None or observed >= self.min
        below = self.max is None or observed <= self.max
        status: GateStatus = "pass" if above and below and not math.isnan(observed) else "fail"
        finite = observed if math.isfinite(observed) else None
        return self._result(status, finite)

    def concerns(self, count: str) -> bool:
        """Whether a trial's count is left out of the comparison where it fails."""
        return self.leaves_out == "all" or count in self.leaves_out

    def _result(self, status: GateStatus, observed: float | None) -> GateResult:
        own, bounds = self.sentence, (self.min, self.max)
        return GateResult(self.id, status, observed, own, self.kind, *bounds, self.unit)

    @property
    def unit(self) -> Unit:
        """The unit of its column; ``share`` for a ratio that is shown in percent."""
        found = (unit for end, unit in _UNITS.items() if self.column.endswith(end))
        is_share = self.column.endswith(("_ratio", "_cv")) or self.column in _SHARES
        return next(found, "share" if is_share else "")

    def fault(self) -> str | None:
        """What is wrong with its definition as a whole; None if it is valid."""
        if self.min is None and self.max is None:
            return "has neither min nor max, so it cannot fail"
        if self.min is not None and self.max is not None and self.min > self.max:
            return "min is above max, so it cannot pass"
        try:
            str(self.evaluate({}).sentence)
        except LanguageError as error:
            return f"write a `sentence` that says what holds when it passes: {error}"
        if self.kind == "validity" and self.unstable_from is not None:
            return "unstable_from is for symptoms: a failed gate of validity makes a trial invalid"
        if self.kind == "symptom" and self.fleet is not None:
            return "fleet is for gates of validity: a symptom says the same of every target"
        if self.kind == "validity" and self.table == "cells":
            return "table cells is for symptoms: only a trial can be invalid"
        if self.leaves_out and (self.kind, self.table) != ("symptom", "trials"):
            return "leaves_out is for symptoms of trials"
        if self.of_counts and self.kind == "validity":
            return "of_counts is for symptoms: a trial that is not valid has no counts"
        return self._fault_of_campaign()

    def _fault_of_campaign(self) -> str | None:
        if self.table not in OF_CAMPAIGN:
            return "then is for tables workloads and calibration" if self.then else None
        if self.kind == "validity" or self.unstable_from is not None:
            return f"table {self.table} is for symptoms without unstable_from: `then` says it"
        if self.then is None:
            return f"table {self.table} needs then: unstable, not equivalent or note"
        if self.table == "calibration" and self.then != "note":
            return "table calibration: only `then: note`: the decision rule itself widens"
        return None


def parse(entries: Any, where: str) -> tuple[Gate, ...]:
    """The gates of one file, as its YAML has them; ``where``: its name, for errors.

    Example:
        ``parse([{"id": "mine", "class": "symptom", ...}], "mine.yaml")[0].column``

    Raises:
        SpecError: a gate is wrong; names the file and the gate.
    """
    try:
        gates = tuple(Gate.model_validate(entry) for entry in entries)
    except (TypeError, ValueError) as error:
        why = "; ".join(map(str, faults(error)))
        raise SpecError(f"{where}: not a list of gates: {why}") from error
    for gate in gates:
        if (fault := gate.fault()) is not None:
            raise SpecError(f"{where}: gate {gate.id}: {fault}")
    for other, gate in combinations(gates, 2):
        if _clash(gate, other):
            raise SpecError(f"{where}: two gates have the same id: {gate.id}")
    return gates


def joined(files: Mapping[str, tuple[Gate, ...]]) -> tuple[Gate, ...]:
    """Combine the gates of several files, given by name.

    Raises:
        SpecError: two files have a gate of one id.
    """
    found = [(path, gate) for path, gates in files.items() for gate in gates]
    for (other_path, other), (path, gate) in combinations(found, 2):
        if other_path != path and _clash(gate, other):
            raise SpecError(f"{path}: gate {gate.id} is also in {other_path}")
    return tuple(gate for _, gate in found)


def of_metric(gates: Sequence[Gate], metric: str) -> tuple[Gate, ...]:
    """The gates that judge trials of workloads with this metric."""
    return tuple(gate for gate in gates if gate.metric in (None, metric))


def of_campaign(gates: Sequence[Gate], metric: str, *, fleet: bool) -> tuple[Gate, ...]:
    """The gates of workloads with this metric, on a fleet or on this machine."""
    return tuple(gate for gate in of_metric(gates, metric) if gate.fleet in (None, fleet))


def most(gates: Sequence[Gate], column: str, *, fleet: bool) -> float | None:
    """The most that a column may be on a fleet, or on this machine; None: no gate limits it."""
    limits = [g.max for g in gates if g.column == column and g.fleet in (None, fleet)]
    return min((limit for limit in limits if limit is not None), default=None)


def of_table(gates: Sequence[Gate], table: Table) -> tuple[Gate, ...]:
    """The gates whose columns are those of a table."""
    return tuple(gate for gate in gates if gate.table == table)


def evaluate(gates: Sequence[Gate], columns: Columns) -> tuple[GateResult, ...]:
    """Judge one row by all gates: a trial, a cell or a workload."""
    return tuple(gate.evaluate(columns) for gate in gates)


def leaving_out(
    gates: Sequence[Gate], results: Sequence[GateResult], count: str
) -> list[GateResult]:
    """Why a trial's count is left out of the comparison: the gates that failed; empty: it is not.

    Example:
        ``leaving_out(gates, result.gates, "kv_prewrite")[0].gate`` is ``"region_merge"``.
    """
    failed = [one for one in results if one.status == "fail"]
    concerned = {gate.id for gate in gates if gate.concerns(count)} if failed else ()
    return [one for one in failed if one.gate in concerned]


def is_valid(results: Sequence[GateResult]) -> bool:
    """Whether no gate of validity failed; symptoms make no trial invalid."""
    return not any(result.kind == "validity" and result.status == "fail" for result in results)


def reasons(results: Sequence[GateResult]) -> tuple[Message, ...]:
    """Why a trial is invalid: what every failed gate of validity found, and what it allows."""
    return tuple(one.why for one in results if one.status == "fail" and one.kind == "validity")


def _clash(one: Gate, other: Gate) -> bool:
    """Whether two gates have the same id for the same workloads and targets."""
    same_metric = None in (one.metric, other.metric) or one.metric == other.metric
    same_target = None in (one.fleet, other.fleet) or one.fleet == other.fleet
    return one.id == other.id and same_metric and same_target
