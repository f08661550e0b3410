"""Checks of a whole campaign: a row for each workload, over all of its trials and attempts.

``configs/quality/campaign.yaml`` bounds the columns and says what becomes of a verdict where one is
out of bounds. A column is None where the data do not show it; its gate is then not evaluated.

==========================  ==================================================================
column                      what it says
==========================  ==================================================================
``rejected_side_p``         p value that gates of validity fail equally often on both sides
``rejected_change_ratio``   90 % interval with the rejected trials' figures / threshold
``errors_side_p``           p value that the client meets errors equally often on both sides
``read_errors_one_side``    errors of a workload that only reads, if only one side has any
``client_cpu_ratio``        most CPU used by client or load balancer / granted, in any cell
``plateau_unwatched``       1 if throughput stopped growing and no client's CPU is known
``incomplete_rounds``       rounds without a figure in some cell
``not_used_once``           planned trials that are not used exactly once
``first_side_excess``       rounds that began with one side, less those with the other
==========================  ==================================================================
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchlab.analysis.gates.gates import Gate
from benchlab.analysis.verdict.by_side import error_p_values, excess, where_seen
from benchlab.analysis.verdict.estimates import NO_CALIBRATION, estimates
from benchlab.analysis.verdict.rounds import Rounds, collect
from benchlab.analysis.verdict.variances import percent, percents
from benchlab.arrays import Array, np
from benchlab.language import Message, Said, message, side_name
from benchlab.plan.open_loop import saturated
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.records import TrialResult
from benchlab.workloads import read_only

# The gate of validity of this column says how busy the client was in a trial.
CLIENT_CPU = "harness_cpu_ratio"
# With no more than this gain from twice the threads, something is at its limit.
PLATEAU = 1.05


@dataclass(frozen=True)
class Seen:
    """One column of a row: its value, and what to say where it is out of bounds."""

    value: float | None
    why: Said | None = None


def campaign_checks(
    plan: Plan,
    results: Sequence[TrialResult],
    used: Sequence[TrialResult],
    workloads: Sequence[Rounds],
    gates: Sequence[Gate],
    threshold_pct: float,
) -> dict[str, dict[str, Seen]]:
    """The rows of a campaign with two sides, by workload; none where there is one side.

    Args:
        results: all trials, every attempt.
        used: those whose figures count, and ``workloads``: these figures.
        gates: the definitions, to know which of a trial's gates looked at the client's CPU.

    Example:
        ``campaign_checks(plan, results, used, rounds, gates, 2.0)["tpcc"]["errors_side_p"].value``
    """
    if len(plan.sides) < len(SIDES):
        return {}
    names = [rounds.workload for rounds in workloads]
    failed = {name: _failures(name, results) for name in names}
    rejected_p = excess({name: list(_by_pair(found)) for name, found in failed.items()})
    errors = {name: _errors(plan, name, used) for name in names}
    errors_p = error_p_values(errors)
    return {
        rounds.workload: {
            **_rejected(rounds, results, failed, rejected_p, threshold_pct),
            **_of_errors(rounds.workload, errors[rounds.workload], errors_p[rounds.workload]),
            **_headroom(rounds, results, gates),
            **_completeness(plan, rounds, used),
        }
        for rounds in workloads
    }


# ---------------------------------------------------------------- rejected trials


def _failures(workload: str, results: Iterable[TrialResult]) -> list[TrialResult]:
    """The attempts that harness or environment spoiled; not those that were interrupted."""
    return [
        result
        for result in results
        if result.trial.workload == workload
        and not result.valid
        and (
            not result.executed
            or any(gate.kind == "validity" and gate.status == "fail" for gate in result.gates)
        )
    ]


def _by_pair(failed: Iterable[TrialResult]) -> Iterable[int]:
    """Failures of the candidate less those of the baseline, by pair of blocks."""
    differences: Counter[int] = Counter()
    for result in failed:
        differences[result.trial.round] += 1 if result.trial.side == "candidate" else -1
    return differences.values()


def _rejected(
    rounds: Rounds,
    results: Sequence[TrialResult],
    failed: Mapping[str, Sequence[TrialResult]],
    p_values: Mapping[str, float],
    threshold_pct: float,
) -> dict[str, Seen]:
    p, own = p_values[rounds.workload], Counter(r.trial.side for r in failed[rounds.workload])
    totals = Counter(r.trial.side for found in failed.values() for r in found)
    figures = _with_rejected(rounds, results) if own else rounds
    without, with_them = _change(rounds), _change(figures)
    bounds = (
        message("rejected-unbounded")
        if without is None or with_them is None
        else message("rejected-bounds", without=f"{without:+.2f}", rejected=f"{with_them:+.2f}")
    )
    side = max(SIDES, key=lambda side: totals[side])
    counts = {"count": totals[side], "against": totals.total() - totals[side], "own": own[side]}
    why = message("reason-rejected", side=side_name(side), p=f"{p:.2g}", bounds=bounds, **counts)
    return {
        "rejected_side_p": Seen(p, why),
        # What is not `equivalent` without them cannot lose that.
        "rejected_change_ratio": (
            _equal_with_them(figures, own, bounds, threshold_pct)
            if (_reach(rounds) or 0.0) < threshold_pct
            else Seen(0.0)
        ),
    }


def _reach(figures: Rounds) -> float | None:
    """How far the 90 % interval of throughput reaches, in percent; None if unknown.

    From the rounds alone where possible: it is about these trials, not about deployments.
    """
    found = estimates([figures], "throughput", NO_CALIBRATION).get(figures.workload)
    if found is None:
        return None
    return max(map(abs, percents((found.rounds or found.versions).interval(0.9))))


def _equal_with_them(
    figures: Rounds, own: Counter[Side], bounds: Message, threshold_pct: float
) -> Seen:
    """How far the 90 % interval reaches with the rejected figures, where one side has more."""
    if own["baseline"] == own["candidate"]:
        return Seen(0.0)
    side = max(SIDES, key=lambda side: own[side])
    reach = _reach(figures)
    times = None if reach is None else reach / threshold_pct
    why = message(
        "reason-rejected-change",
        side=side_name(side),
        count=own[side],
        bounds=bounds,
        times="none" if times is None else f"{times:.2g}",
    )
    return Seen(times, why)


def _with_rejected(rounds: Rounds, results: Sequence[TrialResult]) -> Rounds:
    """The figures with those of every trial's first attempt that has any, valid or not."""
    first: dict[str, TrialResult] = {}
    for result in sorted(results, key=lambda result: result.attempt):
        if result.trial.workload == rounds.workload and result.value(rounds.metric):
            first.setdefault(result.trial.id, result)
    figures = ((r.trial.round, r.trial.threads, r.trial.side, r.figures) for r in first.values())
    return collect(
        rounds.workload,
        rounds.metrics,
        rounds.rounds,
        rounds.threads,
        rounds.sides,
        figures,
        rounds.deployments,
    )


def _change(rounds: Rounds) -> float | None:
    ratios = rounds.log_ratios("throughput")
    return percent(float(ratios.mean())) if len(ratios) else None


# ---------------------------------------------------------------- errors


def _errors(plan: Plan, workload: str, used: Iterable[TrialResult]) -> tuple[Array, Array]:
    """Errors and transactions by round and side; NaN where a trial says nothing of one."""
    errors, transactions = np.zeros((plan.rounds, 2)), np.zeros((plan.rounds, 2))
    for result in used:
        if result.trial.workload == workload:
            place = result.trial.round - 1, SIDES.index(result.trial.side)
            rate, seconds = result.value(plan.throughput.name), result.value("duration_s")
            met = result.value("errors")
            errors[place] += math.nan if met is None else met
            transactions[place] += math.nan if rate is None or seconds is None else rate * seconds
    return errors, transactions


def _of_errors(workload: str, counted: tuple[Array, Array], p: float) -> dict[str, Seen]:
    counts = dict(zip(SIDES, np.nansum(counted[0], axis=0).astype(int).tolist(), strict=True))
    return error_columns(workload, counts, p if np.isfinite(counted[0]).any() else None)


def error_columns(workload: str, counts: Mapping[Side, int], p: float | None) -> dict[str, Seen]:
    """The columns of a workload's errors.

    Args:
        counts: of errors, by side.
        p: of the test that both sides have the same rate; None where no trial reports errors.
    """
    many, few = sorted(SIDES, key=lambda side: -counts[side])
    why = message("reason-errors", where=where_seen("errors", many, counts[many], counts[few]))
    # A workload that only reads meets no conflict, so one error is one too many.
    reads = float(counts[many]) if saturated(workload) in read_only() and not counts[few] else 0.0
    return {
        "errors_side_p": Seen(p, why),
        "read_errors_one_side": Seen(None if p is None else reads, why),
    }


# ---------------------------------------------------------------- headroom


def _headroom(
    rounds: Rounds, results: Sequence[TrialResult], gates: Sequence[Gate]
) -> dict[str, Seen]:
    """How busy client and load balancer were, in the mean of a cell's attempts on one side.

    A process that uses the CPU granted to it, one core a thread, is at its limit even where a
    server shares the cores. Rejected attempts count, as they are the busiest.
    """
    ids = {gate.id for gate in gates if gate.column == CLIENT_CPU}
    shares: dict[tuple[int, Side], list[float]] = {}
    for result in results:
        if result.trial.workload == rounds.workload:
            found = [g.observed for g in result.gates if g.gate in ids and g.observed is not None]
            shares.setdefault((result.trial.threads, result.trial.side), []).extend(found)
    means = {cell: math.fsum(found) / len(found) for cell, found in shares.items() if found}
    if not means:
        return {"client_cpu_ratio": Seen(None), "plateau_unwatched": _plateau(rounds)}
    (threads, side), share = max(means.items(), key=lambda found: found[1])
    why = message(
        "reason-headroom", share=f"{100 * share:.0f}", threads=threads, side=side_name(side)
    )
    return {"client_cpu_ratio": Seen(share, why), "plateau_unwatched": Seen(0.0)}


def _plateau(rounds: Rounds) -> Seen:
    """Whether, on both sides, the most threads gain at most 5 % over half of them or fewer."""
    most = max(rounds.threads)
    fewer = [count for count in rounds.threads if count <= most / 2]
    if not fewer:
        return Seen(None)
    columns = [rounds.threads.index(count) for count in (max(fewer), most)]
    logs = np.log(rounds.values[rounds.metric][:, columns, :])
    whole = np.isfinite(logs).all(axis=(1, 2))
    if not whole.any():
        return Seen(None)
    gained = (logs[whole, 1] - logs[whole, 0]).mean(axis=0)
    why = message("reason-plateau", fewer=max(fewer), threads=most)
    return Seen(float(bool((gained <= math.log(PLATEAU)).all())), why)


# ---------------------------------------------------------------- completeness and order


def _completeness(plan: Plan, rounds: Rounds, used: Iterable[TrialResult]) -> dict[str, Seen]:
    counts = Counter(r.trial.id for r in used if r.trial.workload == rounds.workload)
    planned = [trial for trial in plan.trials if trial.workload == rounds.workload]
    odd = sum(counts[trial.id] != 1 for trial in planned)
    unplanned = len(counts.keys() - {trial.id for trial in planned})
    first: dict[int, Side] = {}
    for trial in sorted(planned, key=lambda trial: trial.index):
        first.setdefault(trial.round, trial.side)
    begun = Counter(first.values())
    return {
        "incomplete_rounds": Seen(float(len(rounds.rounds) - len(rounds.log_ratios("throughput")))),
        "not_used_once": Seen(float(odd + unplanned)),
        "first_side_excess": Seen(float(abs(begun["baseline"] - begun["candidate"]))),
    }
