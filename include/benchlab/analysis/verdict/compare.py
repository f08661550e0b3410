"""The comparison of a campaign's sides, workload by workload.

The rule of :mod:`benchlab.analysis.verdict.decision` decides the throughput, and beside it a metric
of every other family that the plan has.

A missing value stays missing: a round in which a cell lacks a figure on a side takes no part in the
estimate, and the report says what is missing.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from benchlab.analysis.gates.gates import Gate, evaluate, leaving_out, of_table
from benchlab.analysis.verdict import decision
from benchlab.analysis.verdict.by_side import loses_by_side
from benchlab.analysis.verdict.calibration_checks import RoundMeans, Row, calibration_checks
from benchlab.analysis.verdict.decision import Decision, Measurement, Moved, moved
from benchlab.analysis.verdict.doubts import CellGates, Doubts, WorkloadGates, cell_gates, doubts
from benchlab.analysis.verdict.estimates import (
    NO_CALIBRATION,
    Basis,
    Calibration,
    WorkloadEstimate,
    at_looks,
    estimates,
)
from benchlab.analysis.verdict.exact import exact
from benchlab.analysis.verdict.looks import Looks
from benchlab.analysis.verdict.rounds import Rounds, collect
from benchlab.analysis.verdict.usable_trials import Exclusion, usable_trials
from benchlab.analysis.verdict.variances import percent
from benchlab.arrays import Array, np
from benchlab.language import Message, Said, Value, message, side_name
from benchlab.plan.metric import COUNT, LATENCY, THROUGHPUT, Metric, kinds, of_kind
from benchlab.plan.open_loop import metrics_of
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.records import GateResult, StoredVerdict, TrialResult
from benchlab.results.screening import Course


@dataclass(frozen=True)
class SideFigures:
    """One side of one cell.

    Attributes:
        means: geometric mean over the rounds used of each metric in ``Rounds.values``; None where
            all are missing. Of a count that is sometimes zero, the arithmetic mean.
    """

    means: dict[str, float | None]
    _numbers: Sequence[int] = field(compare=False, repr=False)
    _values: Mapping[str, Array] = field(compare=False, repr=False)

    def by_round(self, metric: str) -> dict[int, float]:
        """The values by round, for the points of the charts."""
        pairs = zip(self._numbers, self._values[metric].tolist(), strict=True)
        return {number: value for number, value in pairs if value == value}


@dataclass(frozen=True)
class CellComparison:
    """One cell: the figures of each side; with two, the change of throughput in percent."""

    threads: int
    sides: dict[Side, SideFigures]
    improvement_pct: float | None


# The reason why trials have no figure of a count though it was read.
LEFT_OUT = "reason-left-out"
_OF_CELLS = ("metrics", "cells")


@dataclass(frozen=True)
class WorkloadVerdict(Decision):
    """One workload: the decision on its throughput, and those on other metrics.

    Trials that were measured elsewhere may have latencies alone: the decision is then on these.

    Attributes:
        metric: its throughput: ``tps``, or ``tpmc`` for TPC-C's new orders per minute.
        beside: the other decisions, by kind of metric; a positive estimate is an increase.
        basis: what its throughput's interval assumes deployments to differ by.
        deployments: how many deployments its complete rounds come from.
        arithmetic_mean_pct: mean of the cells' percentages, as published reports print it.
        heterogeneous: the thread counts that moved against the rest, in throughput.
    """

    name: str
    metric: str
    arithmetic_mean_pct: float | None
    beside: dict[str, Decision]
    basis: Basis
    deployments: int
    aa_campaigns: int
    earlier_campaigns: int
    heterogeneous: tuple[Moved, ...]

    @property
    def latency(self) -> Decision:
        """The decision on its latency."""
        return self.beside.get(LATENCY, self)


@dataclass(frozen=True)
class WorkloadComparison(WorkloadVerdict):
    """One workload with its metrics and the figures of its cells."""

    metrics: tuple[Metric, ...]
    cells: tuple[CellComparison, ...]

    @property
    def decided(self) -> list[tuple[Metric, Decision]]:
        """Each metric that is decided, with its decision; throughput first."""
        first, *others = kinds(self.metrics)
        return [
            (of_kind(self.metrics, first), self),
            *((of_kind(self.metrics, name), self.beside[name]) for name in others),
        ]

    @property
    def latencies(self) -> list[tuple[Metric, Decision]]:
        """Its latency or, at a rate, its latencies, with the decision on each."""
        return [one for one in self.decided if one[0].family == LATENCY]

    @property
    def alone(self) -> WorkloadVerdict:
        """A copy without metrics and cells."""
        own = {name: value for name, value in vars(self).items() if name not in _OF_CELLS}
        return WorkloadVerdict(**own)


@dataclass(frozen=True)
class Comparison:
    """A campaign's outcome.

    Attributes:
        repeated_pairs: how many pairs of blocks were measured more than once.
        missing: planned trials without a valid result, by id.
        gates: of all executed trials, used or not: a trial whose gate of validity failed is never
            used.
        checks: the gates of whole workloads, and of the A/A campaigns.
        aa_age_days: from the newest A/A campaign that calibrates a workload to this one; None where
            there is none.
        calibration: what other campaigns show about deployments.
        weeks, courses: with ``design: watch``, the ids of the campaigns by which it is judged, and
            how they ran.
        sides: those that were planned. Where there is one, nothing is compared: its workloads have
            figures, and verdicts must not be shown.
        leaving_out: the gates by which trials lose counts.
    """

    workloads: tuple[WorkloadComparison, ...]
    excluded: tuple[Exclusion, ...]
    repeated_pairs: int
    missing: tuple[str, ...]
    gates: tuple[GateResult, ...]
    cells: tuple[CellGates, ...] = ()
    checks: tuple[WorkloadGates, ...] = ()
    calibration: Calibration = NO_CALIBRATION
    aa_age_days: float | None = None
    sides: tuple[Side, ...] = SIDES
    weeks: tuple[str, ...] = ()
    courses: tuple[Course, ...] = ()
    leaving_out: tuple[Gate, ...] = ()

    @property
    def has_verdicts(self) -> bool:
        """Whether two sides were compared."""
        return len(self.sides) == len(SIDES)

    @property
    def all_gates(self) -> tuple[GateResult, ...]:
        """All gates: of trials, then of cells, then of the campaign."""
        of_cells = (gate for cell in self.cells for gate in cell.gates)
        of_campaign = (gate for row in self.checks for gate in row.gates)
        return (*self.gates, *of_cells, *of_campaign)

    @property
    def not_evaluated(self) -> tuple[str, ...]:
        """The ids of gates that could be evaluated nowhere."""
        evaluated = {found.gate for found in self.all_gates if found.status != "not evaluated"}
        return tuple(dict.fromkeys(g.gate for g in self.all_gates if g.gate not in evaluated))


@dataclass(frozen=True)
class Shown:
    """What a campaign's own trials show, without its A/A campaigns.

    Attributes:
        used, excluded: the trials whose figures count, and the others.
        doubts: why verdicts are not what their intervals say.
    """

    used: tuple[TrialResult, ...]
    excluded: tuple[Exclusion, ...]
    workloads: tuple[Rounds, ...]
    cells: tuple[CellGates, ...]
    doubts: Doubts


def compare(
    plan: Plan,
    results: Sequence[TrialResult],
    threshold_pct: float,
    unsound: Mapping[Side, Sequence[Said]] | None = None,
    *,
    gates: Sequence[Gate] = (),
    calibration: Calibration | None = None,
    started_at: datetime | None = None,
    aa_campaigns: Mapping[datetime, RoundMeans] | None = None,
) -> Comparison:
    """Compare the sides of a campaign, workload by workload.

    Example:
        ``compare(campaign.plan, store.trials(campaign.id), 2.0).workloads[0].verdict``

    Args:
        results: all trials, including invalid ones.
        threshold_pct: the smallest change that is called one, in percent.
        unsound: why a side's figures cannot be trusted though its trials are valid, by side
            (:func:`benchlab.results.records.inconsistencies`). No change is then concluded.
        gates: the definitions; their symptoms decide what makes a verdict unstable.
        calibration: what other campaigns of the same report type show about deployments.
        started_at: when the campaign began, and ``aa_campaigns``: the round means of these A/A
            campaigns, by their start, to judge whether they fit.
    """
    shown = shown_by(plan, results, threshold_pct, unsound, gates=gates)
    measured = {result.trial.id for result in shown.used}
    aa_gates = of_table(gates, "calibration")
    aa_rows: list[Row] = []
    if started_at is not None:
        aa_rows += calibration_checks(shown.workloads, started_at, aa_campaigns or {})
    ages = [age for *_, row in aa_rows if (age := row["newest_age_days"]) is not None]
    in_order = sorted(results, key=lambda result: (result.trial.index, result.attempt))
    judged = judge(
        shown.workloads,
        threshold_pct,
        doubts=shown.doubts.unstable,
        doubts_of_counts=shown.doubts.of_counts,
        not_equivalent=shown.doubts.not_equivalent,
        calibration=calibration,
        left_out=_left_out(shown, gates),
        deploys=plan.can.administers,
        looks=plan.looks,
    )
    return Comparison(
        workloads=judged,
        excluded=shown.excluded,
        repeated_pairs=len({result.trial.pair for result in results if result.attempt > 1}),
        missing=tuple(trial.id for trial in plan.trials if trial.id not in measured),
        gates=tuple(gate for result in in_order for gate in result.gates),
        cells=shown.cells,
        checks=(
            *_that_matter(shown.doubts, judged, gates),
            *(WorkloadGates(name, evaluate(aa_gates, row), kind) for name, kind, row in aa_rows),
        ),
        calibration=calibration or NO_CALIBRATION,
        aa_age_days=min(ages, default=None),
        sides=tuple(side for side in SIDES if side in plan.sides),
        leaving_out=tuple(gate for gate in gates if gate.leaves_out),
    )


def _that_matter(
    doubts: Doubts, judged: Sequence[WorkloadComparison], gates: Sequence[Gate]
) -> Iterator[WorkloadGates]:
    """What gates found, without failures that forbid an `equivalent` that would not be given."""
    forbidding = {gate.id for gate in gates if gate.then == "not equivalent"}
    reasons = {
        workload.name: {reason for _, found in workload.decided for reason in found.reasons}
        for workload in judged
    }
    for found in doubts.gates:
        forbids = reasons[found.workload] & set(doubts.not_equivalent[found.workload])
        yield replace(
            found,
            gates=tuple(
                gate
                for gate in found.gates
                if gate.status != "fail" or gate.gate not in forbidding or forbids
            ),
        )


def shown_by(
    plan: Plan,
    results: Sequence[TrialResult],
    threshold_pct: float,
    unsound: Mapping[Side, Sequence[Said]] | None = None,
    *,
    gates: Sequence[Gate] = (),
) -> Shown:
    """What a campaign's own trials show. The arguments are those of :func:`compare`."""
    used, excluded = usable_trials(plan, results)
    workloads = rounds_of(plan, used)
    cells = [cell for rounds in workloads for cell in cell_gates(rounds, gates)]
    doubted = doubts(plan, results, used, workloads, cells, gates, threshold_pct, unsound or {})
    return Shown(tuple(used), tuple(excluded), tuple(workloads), tuple(cells), doubted)


def verdicts_of(comparison: Comparison) -> list[StoredVerdict]:
    """The verdicts to store: for each workload, throughput first, then its other metrics.

    Empty where one version was measured.

    Example:
        ``verdicts_of(comparison)[1].metric`` is ``p95_ms``.
    """
    if not comparison.has_verdicts:
        return []
    return [
        StoredVerdict(
            workload=workload.name,
            metric=metric.name,
            verdict=found.verdict,
            estimate_pct=found.estimate_pct,
            low_pct=found.ci95_pct[0] if found.ci95_pct else None,
            high_pct=found.ci95_pct[1] if found.ci95_pct else None,
            p_adjusted=found.p_adjusted,
            rule=decision.RULE,
        )
        for workload in comparison.workloads
        for metric, found in workload.decided
    ]


def rounds_of(plan: Plan, used: Iterable[TrialResult]) -> list[Rounds]:
    """The figures of a campaign, by workload and thread count in the order of the report type."""
    by_workload: dict[str, list[TrialResult]] = {}
    for result in used:
        by_workload.setdefault(result.trial.workload, []).append(result)
    sides = {trial.side for trial in plan.trials}
    planned: dict[str, set[int]] = {}
    for trial in plan.trials:
        planned.setdefault(trial.workload, set()).add(trial.round)
    return [
        collect(
            name,
            metrics_of(name, plan.metrics),
            sorted(planned[name]),
            list(plan.threads_in_order(name)),
            tuple(side for side in SIDES if side in sides),
            (
                (r.trial.round, r.trial.threads, r.trial.side, r.figures)
                for r in by_workload.get(name, ())
            ),
            [plan.deployment_of(number) for number in sorted(planned[name])],
        )
        for name in plan.workloads_in_order
    ]


def judge(
    workloads: Sequence[Rounds],
    threshold_pct: float,
    *,
    doubts: Mapping[str, Sequence[Said]] | None = None,
    doubts_of_counts: Mapping[str, Sequence[Said]] | None = None,
    not_equivalent: Mapping[str, Sequence[Said]] | None = None,
    left_out: Mapping[tuple[str, str], Sequence[Said]] | None = None,
    calibration: Calibration | None = None,
    deploys: bool = True,
    looks: Sequence[int] = (),
) -> tuple[WorkloadComparison, ...]:
    """Decide every metric of every workload, wherever their figures come from.

    Args:
        doubts: by workload, why no change can be concluded from its throughput and latencies.
        doubts_of_counts: by workload, why none can be concluded from what a transaction takes.
        not_equivalent: by workload, why these cannot be `equivalent`; counts can.
        left_out: by workload and kind, why some of its trials lack a figure.
        deploys: whether a side can be deployed more than once.
        looks: with ``design: release``, the planned ones (:attr:`benchlab.plan.plan.Plan.looks`).
    """
    known, barred = calibration or NO_CALIBRATION, not_equivalent or {}
    cell_count = sum(len(rounds.threads) for rounds in workloads)
    apart = {
        r.workload: moved(
            *(r.compared(THROUGHPUT), r.log_ratios(THROUGHPUT)), threshold_pct, cell_count
        )
        if THROUGHPUT in r.kinds
        else ()
        for r in workloads
    }
    at = [[rounds.until(look) for rounds in workloads] for look in looks]
    estimated: dict[str, dict[str, WorkloadEstimate]] = {}
    by_family: dict[str, dict[tuple[str, str], Measurement]] = {}
    for kind in kinds(metric for rounds in workloads for metric in rounds.metrics):
        having = [rounds for rounds in workloads if kind in rounds.kinds]
        is_count = of_kind(having[0].metrics, kind).family == COUNT
        doubted = (doubts_of_counts if is_count else doubts) or {}
        losing = loses_by_side(having, kind)
        at_each = at_looks(at, kind, known, looks[0]) if looks else {}
        estimated[kind] = (
            {name: found[-1] for name, found in at_each.items()}
            if looks
            else estimates(having, kind, known)
        )
        for r in having:
            measured = _measured(
                r,
                kind,
                estimated[kind].get(r.workload),
                doubted.get(r.workload, ()),
                one_sided=r.workload in losing,
            )
            by_family.setdefault(measured.metric.family, {})[kind, r.workload] = replace(
                measured,
                deploys=deploys,
                looks=_looks(r, kind, at_each, looks),
                notes=(*measured.notes, *(left_out or {}).get((r.workload, kind), ())),
                not_equivalent=(
                    *measured.not_equivalent,
                    *(() if is_count else barred.get(r.workload, ())),
                    *_apart(apart[r.workload], kind),
                ),
            )
    shares = decision.shares(by_family)
    decided = {
        key: found
        for family, measurements in by_family.items()
        for key, found in decision.decide(measurements, threshold_pct, shares[family]).items()
    }
    compared = []
    for rounds in workloads:
        cells = tuple(_cell(rounds, column) for column in range(len(rounds.threads)))
        changes = [cell.improvement_pct for cell in cells if cell.improvement_pct is not None]
        first, *others = rounds.kinds
        own = estimated[first].get(rounds.workload)
        comparison = WorkloadComparison(
            **vars(decided[first, rounds.workload]),
            name=rounds.workload,
            metric=rounds.metric,
            arithmetic_mean_pct=statistics.fmean(changes) if len(changes) == len(cells) else None,
            cells=cells,
            metrics=rounds.metrics,
            beside={kind: decided[kind, rounds.workload] for kind in others},
            basis=own.basis if own else "prior",
            deployments=len(rounds.by_deployment(first)),
            aa_campaigns=known.count(rounds, first),
            earlier_campaigns=known.count_earlier(rounds, first),
            heterogeneous=apart[rounds.workload],
        )
        compared.append(comparison)
    return tuple(compared)


def _looks(
    rounds: Rounds,
    kind: str,
    at_each: Mapping[str, Sequence[WorkloadEstimate]],
    planned: Sequence[int],
) -> Looks | None:
    """What the looks saw of a metric; None where there are none."""
    if not planned:
        return None
    seen = [one.versions for one in at_each.get(rounds.workload, ())]
    return Looks(seen, planned, decides=kind == rounds.kinds[0])


def _apart(moved: Sequence[Moved], kind: str) -> Iterator[Message]:
    """Why a workload is not `equivalent` in throughput: equal on average is not equal."""
    if kind == THROUGHPUT:
        for one in moved:
            yield message("reason-moved", threads=one.threads, change=f"{one.change_pct:+.1f}")


def _measured(
    rounds: Rounds,
    kind: str,
    found: WorkloadEstimate | None,
    doubts: Sequence[Said],
    *,
    one_sided: bool,
) -> Measurement:
    deployments = rounds.by_deployment(kind)
    metric = of_kind(rounds.metrics, kind)
    same = exact(rounds.values[metric.name]) if metric.family == COUNT else None
    # A count that is sometimes none has no ratio there, and is not equal where it has one.
    sometimes = metric.family == COUNT and not same and not rounds.values[metric.name].all()
    lost = _lost(rounds.missing(kind, zeros=sometimes), metric)
    return Measurement(
        metric=metric,
        mean=statistics.fmean(float(d.mean()) for d in deployments) if deployments else None,
        estimate=found.versions if found else None,
        of_rounds=found.rounds if found else None,
        rounds=sum(map(len, deployments)),
        deployments=len(deployments),
        coarseness=rounds.coarseness(kind),
        exact=same,
        notes=(*([lost] if lost and not one_sided else []), *_notes(rounds, kind, found)),
        doubts=(*([lost] if lost and one_sided else ()), *doubts),
        not_equivalent=(lost,) if lost and sometimes else (),
    )


def _notes(rounds: Rounds, kind: str, found: WorkloadEstimate | None) -> Iterator[Message]:
    """What a reader should know of the estimate, whatever the verdict."""
    compared = rounds.compared(kind)
    if found and (absent := [str(count) for count in rounds.threads if count not in compared]):
        yield message("reason-threads-absent", threads=", ".join(absent))
    if found and found.quieter > 1:
        yield message("reason-quieter", times=f"{found.quieter:.1f}")


def _left_out(shown: Shown, gates: Sequence[Gate]) -> dict[tuple[str, str], list[Message]]:
    """Why trials have no figure of a count though it was read, by workload and kind."""
    said: dict[tuple[str, str], list[Message]] = {}
    for rounds in shown.workloads:
        own = [result.gates for result in shown.used if result.trial.workload == rounds.workload]
        for metric in (metric for metric in rounds.metrics if metric.family == COUNT):
            failed = [one for found in own for one in leaving_out(gates, found, metric.name)]
            sentences = {one.gate: one.sentence for one in failed}
            said[rounds.workload, metric.kind] = [
                message(LEFT_OUT, count=count, gate=gate, sentence=sentences[gate])
                for gate, count in Counter(one.gate for one in failed).items()
            ]
    return said


def _lost(missing: Mapping[Side, int], metric: Metric) -> Message | None:
    count = sum(missing.values())
    if not count:
        return None
    what: dict[str, Value] = {"metric": metric.said}
    which = "reason-lost" if metric.family == THROUGHPUT else "reason-lost-beside"
    if len(missing) == 1:
        side = side_name(next(iter(missing)))
        return message(f"{which}-one-side", count=count, side=side, **what)
    what |= {"baseline": missing["baseline"], "candidate": missing["candidate"]}
    return message(which, count=count, **what)


def _cell(rounds: Rounds, column: int) -> CellComparison:
    """One cell; its figures are over the rounds that all sides have, if there are any."""
    rates = rounds.values[rounds.metric][:, column, :]
    planned = [SIDES.index(side) for side in rounds.sides]
    common = np.isfinite(rates[:, planned]).all(axis=1)
    ratios = np.log(rates[common, 1]) - np.log(rates[common, 0])
    taken = np.flatnonzero(common) if common.any() else np.arange(len(rounds.rounds))
    numbers = [rounds.rounds[row] for row in taken.tolist()]
    both = len(planned) == len(SIDES) and len(ratios) and THROUGHPUT in rounds.kinds
    sides = {}
    for side in rounds.sides:
        values = {
            metric: array[taken, column, SIDES.index(side)]
            for metric, array in rounds.values.items()
        }
        means = {metric: _geometric_mean(array) for metric, array in values.items()}
        sides[side] = SideFigures(means, numbers, values)
    return CellComparison(
        rounds.threads[column], sides, percent(float(ratios.mean())) if both else None
    )


def _geometric_mean(values: Array) -> float | None:
    present = values[np.isfinite(values)]
    if len(present) and not present.all():  # of a count, zeros
        return float(present.mean())
    return float(np.exp(np.log(present).mean())) if len(present) else None
