"""The decision rule: rounds become ratios, intervals and verdicts.

Per workload: in each round r, d_r is the mean over thread counts of ln(candidate / baseline) of
the throughput, which is the metric that the plan names: transactions per second, or TPC-C's new
orders per minute. The two blocks of a round are adjacent in time, so what disturbs both alike
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

from benchlab.paired import geometric_mean, holm, interval, p_value, percent
from benchlab.plan import Plan
from benchlab.results import GateResult, TrialResult
from benchlab.spec import SIDES, Side

Verdict = Literal["regression", "improvement", "equivalent", "inconclusive", "unstable"]
ALPHA = 0.05
# What is shown of a side in a cell, by the metric of the workload.
FIGURES: Mapping[str, tuple[str, ...]] = {
    "tps": ("tps", "qps", "p95_ms"),
    "tpmc": (
        *("tpmc", "tpm_total"),
        *("new_order_p50_ms", "new_order_p90_ms", "new_order_p95_ms", "new_order_p99_ms"),
    ),
}

Cell = tuple[str, int]  # workload, threads


@dataclass(frozen=True)
class SideFigures:
    """One side of one cell, by metric: those that ``FIGURES`` has for the workload's.

    Attributes:
        means: geometric means over the rounds used; None where all are missing.
        rounds: the values by round, for the points of the charts.
    """

    means: dict[str, float | None]
    rounds: dict[str, dict[int, float]]


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
        metric: its throughput: ``tps``, or ``tpmc`` for TPC-C's new orders per minute.
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


def compare(
    plan: Plan,
    results: Sequence[TrialResult],
    threshold_pct: float,
    unsound: Mapping[Side, Sequence[str]] | None = None,
) -> Comparison:
    """Compare the sides of a campaign, workload by workload.

    Args:
        plan: what was to be measured; says what is missing.
        results: all trials, the invalid ones too.
        threshold_pct: the smallest change that is called one, in percent.
        unsound: why a side's figures cannot be trusted though its trials are valid, as sentences
            by side (:func:`benchlab.results.inconsistencies`). No change is then concluded.
    """
    used, excluded = select(plan, results)
    workloads = list(dict.fromkeys(trial.workload for trial in plan.trials))
    threads = list(dict.fromkeys(trial.threads for trial in plan.trials))
    ratios = {name: _round_ratios(plan, used, name) for name in workloads}
    distrust = [
        f"on the {side} side {why}" for side, found in (unsound or {}).items() for why in found
    ]
    p_values = {name: p_value(list(d.values())) for name, d in ratios.items()}
    adjusted = holm({name: p for name, p in p_values.items() if p is not None})
    measured = {result.trial.id for result in used}
    missing = [trial for trial in plan.trials if trial.id not in measured]
    in_order = sorted(results, key=lambda result: (result.trial.index, result.attempt))
    gates = tuple(gate for result in in_order for gate in result.gates)
    return Comparison(
        workloads=tuple(
            _workload(
                name,
                plan.metric(name),
                list(ratios[name].values()),
                adjusted.get(name),
                threshold_pct,
                [trial.side for trial in missing if trial.workload == name],
                distrust,
                tuple(_cell(used, name, count, plan.metric(name)) for count in threads),
            )
            for name in workloads
        ),
        excluded=tuple(excluded),
        repeated_pairs=len({result.trial.pair for result in results if result.attempt > 1}),
        missing=tuple(trial.id for trial in missing),
        gates=gates,
        not_evaluated=_never_evaluated(gates),
    )


def _workload(
    name: str,
    metric: str,
    d: Sequence[float],
    p_adjusted: float | None,
    threshold_pct: float,
    missing_sides: Sequence[Side],
    distrust: Sequence[str],
    cells: tuple[CellComparison, ...],
) -> WorkloadComparison:
    verdict, reasons = _verdict(d, p_adjusted, threshold_pct, missing_sides, distrust)
    ci95 = interval(d, 0.95)
    changes = [cell.improvement_pct for cell in cells if cell.improvement_pct is not None]
    return WorkloadComparison(
        name=name,
        metric=metric,
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
    distrust: Sequence[str],
) -> tuple[Verdict, tuple[str, ...]]:
    count = len(missing_sides)
    lost = f"{count} planned trial{' has' if count == 1 else 's have'} no valid result"
    one_sided = len(set(missing_sides)) == 1
    if one_sided:
        lost += f", only on the {missing_sides[0]} side"
    notes = (lost,) if missing_sides else ()
    if one_sided or distrust:
        return "unstable", (*notes, *distrust)
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


def _round_ratios(plan: Plan, used: Sequence[TrialResult], workload: str) -> dict[int, float]:
    """d_r by round, for the rounds in which every cell has a positive figure on both sides."""
    metric = plan.metric(workload)
    values = {
        (r.trial.round, r.trial.threads, r.trial.side): rate
        for r in used
        if r.trial.workload == workload and (rate := r.value(metric)) is not None and rate > 0
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


def _cell(used: Sequence[TrialResult], workload: str, threads: int, metric: str) -> CellComparison:
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
        side: _figures([r for r in members if not common or r.trial.round in common], metric)
        for side, members in by_side.items()
    }
    baseline, candidate = (sides[side].rounds[metric] for side in SIDES)
    logs = [
        math.log(candidate[number] / baseline[number])
        for number in sorted(baseline.keys() & candidate.keys())
    ]
    return CellComparison(threads, sides, percent(statistics.fmean(logs)) if logs else None)


def _figures(results: Sequence[TrialResult], metric: str) -> SideFigures:
    rounds = {
        shown: {
            r.trial.round: value
            for r in results
            if (value := r.value(shown)) is not None and value > 0
        }
        for shown in FIGURES[metric]
    }
    means = {shown: geometric_mean(list(values.values())) for shown, values in rounds.items()}
    return SideFigures(means, rounds)


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
