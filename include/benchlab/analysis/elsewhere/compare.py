"""Compares trials that were measured elsewhere by the decision rule of campaigns."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchlab.analysis.elsewhere.file import MeasuredElsewhere, read
from benchlab.analysis.elsewhere.pasted import impossible
from benchlab.analysis.gates import gates as quality
from benchlab.analysis.gates.gates import Gate
from benchlab.analysis.verdict.by_side import error_p_values
from benchlab.analysis.verdict.campaign_checks import Seen, error_columns
from benchlab.analysis.verdict.compare import WorkloadComparison, judge
from benchlab.analysis.verdict.doubts import (
    CellGates,
    cell_gates,
    one_sided_symptoms,
    out_of_bounds,
)
from benchlab.analysis.verdict.estimates import (
    MIN_CAMPAIGNS,
    NO_CALIBRATION,
    Calibration,
    calibrate,
)
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.arrays import np
from benchlab.errors import SpecError
from benchlab.plan.report_type import SIDES

THRESHOLD_PCT = 2.0


@dataclass(frozen=True)
class ComparedFileCampaign:
    """One campaign of a file, compared."""

    measured: MeasuredElsewhere
    workloads: tuple[WorkloadComparison, ...]
    cells: tuple[CellGates, ...]


@dataclass(frozen=True)
class ComparedFile:
    """All campaigns of a file, compared.

    Attributes:
        several: whether the file names its campaigns.
        calibration: what the A/A campaigns of the second file show, if one was given.
    """

    campaigns: tuple[ComparedFileCampaign, ...]
    several: bool
    calibration: Calibration
    threshold_pct: float


def compare(
    gates: Sequence[Gate],
    trials: Path,
    calibration: Path | None,
    threshold_pct: float | None = None,
) -> ComparedFile:
    """Compare the campaigns of a file.

    Example:
        ``compare(gates, Path("trials.csv"), None).campaigns[0].workloads[0].verdict``

    Args:
        trials: a CSV file, as :mod:`benchlab.analysis.elsewhere.file` describes it.
        threshold_pct: the smallest change that is called one, in percent; None: 2.

    Raises:
        SpecError: a file cannot be read, or the threshold is out of range.
    """
    threshold_pct = THRESHOLD_PCT if threshold_pct is None else threshold_pct
    if not (math.isfinite(threshold_pct) and 0 < threshold_pct <= 50):
        raise SpecError(f"--threshold: must be above 0 and at most 50, found {threshold_pct:g}")
    known, figures = None, dict[str, Sequence[Rounds]]()
    if calibration is not None:
        found, _ = read(calibration)
        figures = {one.campaign: one.workloads for one in found}
        known = calibrate(figures)
    measured, several = read(trials)
    same = calibration is not None and calibration.samefile(trials)
    compared = (
        # A campaign that counts in its own calibration widens its own interval.
        _compared(one, gates, _without(figures, one) if same else known, threshold_pct)
        for one in measured
    )
    return ComparedFile(tuple(compared), several, known or NO_CALIBRATION, threshold_pct)


def _without(figures: Mapping[str, Sequence[Rounds]], one: MeasuredElsewhere) -> Calibration:
    return calibrate({name: found for name, found in figures.items() if name != one.campaign})


def _compared(
    measured: MeasuredElsewhere,
    gates: Sequence[Gate],
    known: Calibration | None,
    threshold_pct: float,
) -> ComparedFileCampaign:
    cells = [cell for rounds in measured.workloads for cell in cell_gates(rounds, gates)]
    errors = _error_columns(measured)
    doubts = {}
    for rounds in measured.workloads:
        found = (
            *one_sided_symptoms(rounds, gates, (), cells),
            *out_of_bounds(_of_errors(gates), errors.get(rounds.workload, {}), "unstable"),
        )
        doubts[rounds.workload] = (*impossible(rounds), *(why for _, why in found))
    workloads = judge(measured.workloads, threshold_pct, doubts=doubts, calibration=known)
    if known is not None:
        uncalibrated = (
            f"{workload.name}: hardly calibrated: {workload.aa_campaigns} A/A campaigns with its "
            f"metrics, its thread counts and two complete rounds, fewer than {MIN_CAMPAIGNS}"
            for workload in workloads
            if workload.aa_campaigns < MIN_CAMPAIGNS
        )
        measured = dataclasses.replace(measured, notes=(*measured.notes, *uncalibrated))
    return ComparedFileCampaign(measured, workloads, tuple(cells))


def _error_columns(measured: MeasuredElsewhere) -> dict[str, dict[str, Seen]]:
    """The columns of errors that the comparison of a campaign has, by workload."""
    p_values = error_p_values(measured.errors)
    totals = {
        name: np.nansum(errors, axis=0).astype(int).tolist()
        for name, (errors, _) in measured.errors.items()
    }
    return {
        name: error_columns(name, dict(zip(SIDES, totals[name], strict=True)), p)
        for name, p in p_values.items()
    }


def _of_errors(gates: Sequence[Gate]) -> list[Gate]:
    """The gates of the table ``workloads`` whose columns a file has."""
    known = error_columns("", dict.fromkeys(SIDES, 0), None)
    return [gate for gate in quality.of_table(gates, "workloads") if gate.column in known]
