"""Gates: pure predicates over the columns of a trial, or of a cell.

A gate is defined once, in ``configs/quality/*.yaml``: an id, a sentence that says what holds when
it passes, a column and its bounds, and the metric of the workloads or the kind of target that it is
for, where it is not for all. Columns are plain numbers, computed from what the client printed and
from what the target reports about the trial. A missing column leaves its gate ``not evaluated``; it
never passes for want of data.

What no trial can show by itself is a row of another table: one a workload over the whole campaign
(:mod:`benchlab.analysis.verdict.campaign_checks`), or one a workload and kind of metric over its
A/A campaigns. ``then`` says what becomes of the verdict where such a gate fails.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

import pydantic
from pydantic import BaseModel, ConfigDict, Field

from benchlab.analysis.gates.columns import Columns
from benchlab.errors import SpecError
from benchlab.language import Message, Said, gate_sentence, message
from benchlab.plan.documents import faults, from_yaml, read_text
from benchlab.results import ended_servers
from benchlab.results.records import GateKind, GateResult, GateStatus

Table = Literal["trials", "cells", "workloads", "calibration"]
OF_CAMPAIGN: tuple[Table, ...] = ("workloads", "calibration")
"""The tables of what no trial can show by itself, which Great Expectations evaluates."""
Consequence = Literal["unstable", "not equivalent", "note"]
_FIGURE = r"\S+(?: (?:%|s|ms))?"
_REASON = re.compile(
    rf"gate (\S+) failed: found (no number|{_FIGURE}), "
    rf"allowed (?:at most ({_FIGURE})|at least ({_FIGURE})|({_FIGURE}) to ({_FIGURE})) \((.*)\)",
    re.DOTALL,
)


# Columns that are shares beside those whose name says so, and units by the end of a name.
_SHARES = ("rate_error", "rate_excess")
_UNITS = {"_s": " s", "_ms": " ms", "_pct": " %"}


class Gate(BaseModel):
    """One gate: passes while ``min <= column <= max``; a bound that is None does not bind.

    Attributes:
        kind: ``class`` in the file. A failed gate of validity makes its trial invalid; a symptom
            may be the candidate's own doing, and is kept and shown.
        table: what a row of its column is: one trial; one cell on one side over all rounds; one
            workload over all its trials and attempts; or what A/A campaigns show of one.
        metric: of the workloads it is for (``tps``, ``tpmc``, ``qpm``); None: for all. The same id
            may be there once for each metric, with bounds that fit what its clients print.
        fleet: true: of trials on a fleet; false: on this machine; None: of all. The same id may be
            there once for each. Of gates of validity only.
        unstable_from: how many failures of a symptom in a workload, all on one side, make its
            verdict ``unstable``. More than one where a good trial may fail it by chance; None: it
            is only shown.
        then: what becomes of a workload's verdict where a gate of ``workloads`` fails: it is
            ``unstable``; it is anything but ``equivalent``; or it stays, and the failure is noted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    id: str
    sentence: str
    column: str
    kind: GateKind = Field(validation_alias="class")
    table: Table = "trials"
    metric: str | None = None
    fleet: bool | None = None
    unstable_from: Annotated[int, Field(ge=1)] | None = None
    then: Consequence | None = None
    min: pydantic.FiniteFloat | None = None
    max: pydantic.FiniteFloat | None = None

    def evaluate(self, columns: Columns) -> GateResult:
        """Judge one row. NaN fails: it is not between any bounds."""
        observed = columns.get(self.column)
        if observed is None:
            return GateResult(self.id, "not evaluated", None, self.sentence, self.kind)
        above = self.min is None or observed >= self.min
        below = self.max is None or observed <= self.max
        status: GateStatus = "pass" if above and below and not math.isnan(observed) else "fail"
        finite = observed if math.isfinite(observed) else None
        return GateResult(self.id, status, finite, self.sentence, self.kind)

    def bounds(self) -> Message:
        """The bounds, for people."""
        both = (self.min, self.max)
        return _bounds(*(None if it is None else self.figure(it) for it in both))

    def failure(self, observed: float | None) -> str:
        """What failed it, and what it allows, in English; :func:`reason` reads it."""
        found = "no number" if observed is None else self.figure(observed)
        allowed = self.bounds()
        return f"gate {self.id} failed: found {found}, allowed {allowed} ({self.sentence})"

    def figure(self, value: float) -> str:
        """A figure of its column, for people: with its unit, and what is a share in percent."""
        if self.column.endswith(("_ratio", "_cv")) or self.column in _SHARES:
            return f"{100 * value:.4g} %"
        unit = next((unit for end, unit in _UNITS.items() if self.column.endswith(end)), "")
        return f"{value:.6g}{unit}"

    def fault(self) -> str | None:
        """What is wrong with its definition as a whole; None where nothing is."""
        if self.min is None and self.max is None:
            return "has neither min nor max and cannot fail"
        if self.min is not None and self.max is not None and self.min > self.max:
            return "min is above max, so that it cannot pass"
        if self.kind == "validity" and self.unstable_from is not None:
            return "unstable_from is for symptoms: a failed gate of validity makes a trial invalid"
        if self.kind == "symptom" and self.fleet is not None:
            return "fleet is for gates of validity: a symptom says the same of every target"
        if self.kind == "validity" and self.table == "cells":
            return "table cells is for symptoms: only a trial can be invalid"
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


def load(path: Path) -> tuple[Gate, ...]:
    """Read one file of gates.

    Raises:
        SpecError: it cannot be read or a gate in it is wrong; names the file and the gate.
    """
    return parse(read_text(path), str(path))


def parse(text: str, where: str) -> tuple[Gate, ...]:
    """As :func:`load`, from the text of a file; ``where``: its name, for errors."""
    entries = from_yaml(text, where)
    try:
        gates = tuple(Gate.model_validate(entry) for entry in entries)
    except (TypeError, ValueError) as error:
        why = "; ".join(faults(error))
        raise SpecError(f"{where}: not a list of gates: {why}") from error
    for gate in gates:
        if (fault := gate.fault()) is not None:
            raise SpecError(f"{where}: gate {gate.id}: {fault}")
    for other, gate in combinations(gates, 2):
        if _clash(gate, other):
            raise SpecError(f"{where}: two gates have the same id: {gate.id}")
    return gates


def load_all(directory: Path) -> tuple[Gate, ...]:
    """Read all gates: every ``*.yaml`` of a directory, in the order of their names.

    Example:
        ``load_all(home.configs / "quality")[0].sentence``

    Raises:
        SpecError: as for :func:`load`; or there is no file, or two files have a gate of one id.
    """
    files = {str(path): load(path) for path in sorted(directory.glob("*.yaml"))}
    if not files:
        raise SpecError(f"{directory}: no *.yaml with gates in it, and no trial is valid unjudged")
    return joined(files)


def joined(files: Mapping[str, tuple[Gate, ...]]) -> tuple[Gate, ...]:
    """The gates of several files, by name, as one.

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
    """The gates that judge trials of workloads with this metric, on a fleet or on this machine."""
    return tuple(gate for gate in of_metric(gates, metric) if gate.fleet in (None, fleet))


def most(gates: Sequence[Gate], column: str, *, fleet: bool) -> float | None:
    """The most that a column may be on a fleet, or on this machine; None: no gate limits it."""
    limits = [g.max for g in gates if g.column == column and g.fleet in (None, fleet)]
    return min((limit for limit in limits if limit is not None), default=None)


def of_table(gates: Sequence[Gate], table: Table) -> tuple[Gate, ...]:
    """The gates whose columns are those of a table."""
    return tuple(gate for gate in gates if gate.table == table)


def evaluate(gates: Sequence[Gate], columns: Columns) -> tuple[GateResult, ...]:
    """Judge one trial, or one cell, by all gates."""
    return tuple(gate.evaluate(columns) for gate in gates)


def is_valid(results: Sequence[GateResult]) -> bool:
    """Whether no gate of validity failed; symptoms make no trial invalid."""
    return not any(result.kind == "validity" and result.status == "fail" for result in results)


def reasons(gates: Sequence[Gate], results: Sequence[GateResult]) -> tuple[str, ...]:
    """Why a trial is invalid: what every failed gate of validity found, and what it allows.

    In English, as it is recorded; :func:`reason` is its inverse.

    Args:
        gates: those by which it was judged, from :func:`of_campaign`.
    """
    by_id = {gate.id: gate for gate in gates}
    return tuple(
        by_id[result.gate].failure(result.observed)
        for result in results
        if result.status == "fail" and result.kind == "validity"
    )


def reason(recorded: str) -> Said:
    """Why a trial is invalid, for any language where a gate found it, or where it is what an engine
    knew of a server that ended; other texts are as recorded.

    Example:
        ``reason("gate drift failed: found 9 %, allowed at most 5 % (it is steady)")``
    """
    read = _REASON.fullmatch(recorded)
    if read is None:
        return ended_servers.read(recorded)
    gate, found, only_most, only_least, least, most, sentence = read.groups()
    return message(
        "reason-invalid",
        gate=gate,
        sentence=gate_sentence(gate, sentence),
        found=message("no-number") if found == "no number" else found,
        bounds=_bounds(least or only_least, most or only_most),
    )


def _bounds(least: str | None, most: str | None) -> Message:
    if least is None:
        return message("bounds-most", most=str(most))
    if most is None:
        return message("bounds-least", least=least)
    return message("bounds-both", least=least, most=most)


def _clash(one: Gate, other: Gate) -> bool:
    """The same id for the same workloads and targets."""
    same_metric = None in (one.metric, other.metric) or one.metric == other.metric
    same_target = None in (one.fleet, other.fleet) or one.fleet == other.fleet
    return one.id == other.id and same_metric and same_target
