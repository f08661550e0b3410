"""The decision rule: rounds become ratios, intervals and verdicts.

Per workload: in each round r, d_r is the mean over thread counts of ln(candidate / baseline) of
the throughput. The two blocks of a round are adjacent in time, so what disturbs both alike
cancels in the ratio. d_1 .. d_R are then one sample of a paired t test:

* estimate = mean(d), standard error = s / sqrt(R), R - 1 degrees of freedom (Student 1908;
  any textbook on paired comparisons);
* 95 % interval = estimate +- t(0.975, R - 1) * standard error;
* p values of all workloads are adjusted by Holm (1979), which holds the chance of any false
  alarm in a campaign at 5 %;
* `equivalent` is the two one-sided tests procedure (Schuirmann 1987): the 90 % interval lies
  inside the threshold on both sides.

Ratios are averaged as logarithms, so that +100 % and -50 % are the same distance (Fleming and
Wallace 1986: the geometric mean is the right average of ratios). Percentages are printed as
100 * (exp(d) - 1).

A value that is missing is missing: a cell without both sides in a round takes no part in it,
and is named.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchlab.plan import Plan
from benchlab.results import GateResult, TrialResult
from benchlab.spec import SIDES, Side

Verdict = Literal["regression", "improvement", "equivalent", "inconclusive", "unstable"]
ALPHA = 0.05
THROUGHPUT = "tps"

Cell = tuple[str, int]  # workload, threads


@dataclass(frozen=True)
class SideFigures:
    """One side of one cell: geometric means over the rounds used; None where all are missing.

    ``values`` are the throughputs by round (1/s), for the points of the charts.
    """

    tps: float | None
    qps: float | None
    p95_ms: float | None
    values: dict[int, float]
    p95_values: dict[int, float]


@dataclass(frozen=True)
class CellComparison:
    """One cell of both sides; ``improvement_pct`` compares their throughput."""

    threads: int
    sides: dict[Side, SideFigures]
    improvement_pct: float | None


@dataclass(frozen=True)
class WorkloadComparison:
    """One workload's verdict.

    Attributes:
        rounds_used: rounds in which every thread count was valid on both sides.
        estimate_pct: geometric mean of the ratios over rounds and threads, as a percentage.
        arithmetic_mean_pct: mean of the cells' percentages, as published reports print it.
        p_adjusted: two-sided p value, adjusted by Holm over the campaign's workloads.
        reasons: why the verdict is what it is, as sentences.
    """

    name: str
    metric: str
    rounds_used: int
    estimate_pct: float | None
    ci95_pct: tuple[float, float] | None
    p_adjusted: float | None
    verdict: Verdict
    arithmetic_mean_pct: float | None
    reasons: tuple[str, ...]
    cells: tuple[CellComparison, ...]


@dataclass(frozen=True)
class Exclusion:
    """A measured trial whose figures are not used, and why."""

    trial: str
    attempt: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """A campaign's outcome.

    Attributes:
        repeated_pairs: how many pairs of blocks were measured more than once.
        missing: planned trials without a valid result, by id.
        gates: of all executed trials, used or not: a trial whose gate failed is never used.
        not_evaluated: gates that could be evaluated in none of them, by name.
    """

    workloads: tuple[WorkloadComparison, ...]
    excluded: tuple[Exclusion, ...]
    repeated_pairs: int
    missing: tuple[str, ...]
    gates: tuple[GateResult, ...]
    not_evaluated: tuple[str, ...]


def select(plan: Plan, results: Iterable[TrialResult]) -> tuple[list[TrialResult], list[Exclusion]]:
    """Of every pair of blocks, the attempt whose figures count.

    That is the first attempt in which every trial of the pair is there and valid; where no
    attempt is, the last attempt's valid trials. All others are excluded, with the reason.
    """
    used: list[TrialResult] = []
    excluded: list[Exclusion] = []
    by_pair: dict[tuple[int, str], dict[int, list[TrialResult]]] = {}
    for result in results:
        attempts = by_pair.setdefault(result.trial.pair, {})
        attempts.setdefault(result.attempt, []).append(result)
    size = {pair: len(ids) for pair, ids in _ids_by_pair(plan).items()}
    for pair, attempts in by_pair.items():
        whole = [
            n for n, rs in attempts.items() if len(rs) == size[pair] and all(r.valid for r in rs)
        ]
        chosen = min(whole) if whole else max(attempts)
        for number, members in sorted(attempts.items()):
            for result in members:
                if number == chosen and result.valid:
                    used.append(result)
                else:
                    reasons = result.reasons or ("its pair of blocks was measured again",)
                    excluded.append(Exclusion(result.trial.id, number, reasons))
    used.sort(key=lambda result: result.trial.index)
    return used, excluded


def invalid_pairs(plan: Plan, results: Iterable[TrialResult]) -> list[tuple[int, str]]:
    """The pairs of blocks that no attempt measured wholly, in plan order."""
    attempts: dict[tuple[tuple[int, str], int], set[str]] = {}
    for result in results:
        if result.valid:
            attempts.setdefault((result.trial.pair, result.attempt), set()).add(result.trial.id)
    planned = _ids_by_pair(plan)
    done = {pair for (pair, _), ids in attempts.items() if ids == planned[pair]}
    return [pair for pair in planned if pair not in done]


def compare(plan: Plan, results: Sequence[TrialResult], threshold_pct: float) -> Comparison:
    """Compare the sides of a campaign, workload by workload.

    Args:
        plan: what was to be measured; says what is missing.
        results: all trials, the invalid ones too.
        threshold_pct: the smallest change that is called one, in percent.
    """
    used, excluded = select(plan, results)
    workloads = list(dict.fromkeys(trial.workload for trial in plan.trials))
    threads = list(dict.fromkeys(trial.threads for trial in plan.trials))
    ratios = {name: _round_ratios(plan, used, name) for name in workloads}
    p_values = {name: _p_value(list(d.values())) for name, d in ratios.items()}
    adjusted = holm({name: p for name, p in p_values.items() if p is not None})
    measured = {result.trial.id for result in used}
    missing = [trial for trial in plan.trials if trial.id not in measured]
    in_order = sorted(results, key=lambda result: (result.trial.index, result.attempt))
    gates = tuple(gate for result in in_order for gate in result.gates)
    return Comparison(
        workloads=tuple(
            _workload(
                name,
                list(ratios[name].values()),
                adjusted.get(name),
                threshold_pct,
                [trial.side for trial in missing if trial.workload == name],
                tuple(_cell(used, name, count) for count in threads),
            )
            for name in workloads
        ),
        excluded=tuple(excluded),
        repeated_pairs=len({result.trial.pair for result in results if result.attempt > 1}),
        missing=tuple(trial.id for trial in missing),
        gates=gates,
        not_evaluated=_never_evaluated(gates),
    )


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjust p values for their number (Holm 1979, step-down, monotone, at most 1)."""
    adjusted: dict[str, float] = {}
    largest = 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, p * (len(p_values) - rank)))
        adjusted[name] = largest
    return adjusted


def interval(d: Sequence[float], confidence: float) -> tuple[float, float] | None:
    """Student's interval of the mean of ``d``; None with fewer than two values."""
    if len(d) < 2:
        return None
    from scipy.special import stdtrit  # scipy.stats has the same and takes a second to import

    half = float(stdtrit(len(d) - 1, 0.5 + confidence / 2)) * _standard_error(d)
    return statistics.fmean(d) - half, statistics.fmean(d) + half


def percent(log_ratio: float) -> float:
    """A logarithm of a ratio as a change in percent."""
    return 100 * math.expm1(log_ratio)


def geometric_mean(values: Sequence[float]) -> float | None:
    """Geometric mean of positive values; None where there is none or one is not positive."""
    if not values or min(values) <= 0:
        return None
    return statistics.geometric_mean(values)


def _workload(
    name: str,
    d: Sequence[float],
    p_adjusted: float | None,
    threshold_pct: float,
    missing_sides: Sequence[Side],
    cells: tuple[CellComparison, ...],
) -> WorkloadComparison:
    verdict, reasons = _verdict(d, p_adjusted, threshold_pct, missing_sides)
    ci95 = interval(d, 0.95)
    changes = [cell.improvement_pct for cell in cells if cell.improvement_pct is not None]
    return WorkloadComparison(
        name=name,
        metric=THROUGHPUT,
        rounds_used=len(d),
        estimate_pct=percent(statistics.fmean(d)) if d else None,
        ci95_pct=(percent(ci95[0]), percent(ci95[1])) if ci95 else None,
        p_adjusted=p_adjusted,
        verdict=verdict,
        arithmetic_mean_pct=statistics.fmean(changes) if len(changes) == len(cells) else None,
        reasons=reasons,
        cells=cells,
    )


def _verdict(
    d: Sequence[float],
    p_adjusted: float | None,
    threshold_pct: float,
    missing_sides: Sequence[Side],
) -> tuple[Verdict, tuple[str, ...]]:
    count = len(missing_sides)
    lost = f"{count} planned trial{' has' if count == 1 else 's have'} no valid result"
    if len(set(missing_sides)) == 1:
        return "unstable", (f"{lost}, only on the {missing_sides[0]} side",)
    notes = (lost,) if missing_sides else ()
    if len(d) < 2 or p_adjusted is None:
        return "inconclusive", (
            *notes,
            (
                f"{len(d)} complete round{'' if len(d) == 1 else 's'}: at least two are needed "
                "to tell a change from noise"
            ),
        )
    estimate = percent(statistics.fmean(d))
    if p_adjusted < ALPHA and abs(estimate) >= threshold_pct:
        return ("improvement" if estimate > 0 else "regression"), notes
    ci90 = interval(d, 0.90)
    assert ci90 is not None  # noqa: S101 - two rounds or more
    if percent(ci90[0]) > -threshold_pct and percent(ci90[1]) < threshold_pct:
        return "equivalent", notes
    return "inconclusive", (*notes, _why_inconclusive(d, p_adjusted, threshold_pct))


def _why_inconclusive(d: Sequence[float], p_adjusted: float, threshold_pct: float) -> str:
    """The sentence that does not seem to contradict the interval beside it."""
    if p_adjusted < ALPHA:
        return (
            f"the sides do differ (adjusted p {p_adjusted:.2g}), but the estimate is below "
            f"{threshold_pct:g}% while the 90% interval reaches beyond it"
        )
    ci95 = interval(d, 0.95)
    assert ci95 is not None  # noqa: S101 - two rounds or more
    if ci95[0] > 0 or ci95[1] < 0:
        return (
            "taken alone the interval leaves zero out, but not once it is counted how many "
            f"workloads were tested (adjusted p {p_adjusted:.2g})"
        )
    return f"the rounds differ too much to tell a change of {threshold_pct:g}% from none"


def _p_value(d: Sequence[float]) -> float | None:
    """Two-sided p value of the paired t test of mean(d) = 0; None with fewer than two rounds."""
    if len(d) < 2:
        return None
    from scipy.special import stdtr

    error = _standard_error(d)
    mean = statistics.fmean(d)
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * stdtr(len(d) - 1, -abs(mean) / error))


def _standard_error(d: Sequence[float]) -> float:
    return statistics.stdev(d) / math.sqrt(len(d))


def _round_ratios(plan: Plan, used: Sequence[TrialResult], workload: str) -> dict[int, float]:
    """d_r by round, for the rounds in which every cell has a positive figure on both sides."""
    values = {
        (r.trial.round, r.trial.threads, r.trial.side): tps
        for r in used
        if r.trial.workload == workload and (tps := r.value(THROUGHPUT)) is not None and tps > 0
    }
    threads = {trial.threads for trial in plan.trials if trial.workload == workload}
    ratios = {}
    for number in range(1, plan.rounds + 1):
        keys = [(number, count, side) for count in threads for side in SIDES]
        if all(key in values for key in keys):
            ratios[number] = statistics.fmean(
                math.log(values[number, count, "candidate"] / values[number, count, "baseline"])
                for count in sorted(threads)
            )
    return ratios


def _cell(used: Sequence[TrialResult], workload: str, threads: int) -> CellComparison:
    """One cell; its figures are over the rounds that both sides have, where there are any."""
    by_side = {
        side: [
            r
            for r in used
            if (r.trial.workload, r.trial.threads, r.trial.side) == (workload, threads, side)
        ]
        for side in SIDES
    }
    common = set.intersection(*({r.trial.round for r in members} for members in by_side.values()))
    sides = {
        side: _figures([r for r in members if not common or r.trial.round in common])
        for side, members in by_side.items()
    }
    baseline, candidate = sides["baseline"], sides["candidate"]
    logs = [
        math.log(candidate.values[number] / baseline.values[number])
        for number in sorted(baseline.values.keys() & candidate.values.keys())
    ]
    return CellComparison(threads, sides, percent(statistics.fmean(logs)) if logs else None)


def _figures(results: Sequence[TrialResult]) -> SideFigures:
    def by_round(metric: str) -> dict[int, float]:
        return {
            r.trial.round: value
            for r in results
            if (value := r.value(metric)) is not None and value > 0
        }

    tps, p95 = by_round("tps"), by_round("p95_ms")
    return SideFigures(
        tps=geometric_mean(list(tps.values())),
        qps=geometric_mean(list(by_round("qps").values())),
        p95_ms=geometric_mean(list(p95.values())),
        values=tps,
        p95_values=p95,
    )


def _ids_by_pair(plan: Plan) -> dict[tuple[int, str], set[str]]:
    pairs: dict[tuple[int, str], set[str]] = {}
    for trial in plan.trials:
        pairs.setdefault(trial.pair, set()).add(trial.id)
    return pairs


def _never_evaluated(gates: Iterable[GateResult]) -> tuple[str, ...]:
    evaluated: dict[str, bool] = {}
    for gate in gates:
        evaluated[gate.gate] = evaluated.get(gate.gate, False) or gate.status != "not evaluated"
    return tuple(gate for gate, seen in evaluated.items() if not seen)
