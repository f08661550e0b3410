"""What trials show of the sides beside their figures: what the rule promises of its doubts.

Campaigns are simulated trial by trial: with gates, attempts, errors and the client's CPU.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np

import benchlab
from benchlab.analysis.gates.gates import Gate
from benchlab.analysis.gates.symptoms import error_ratio
from benchlab.analysis.verdict.compare import compare
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES
from benchlab.report import gate_files
from benchlab.results.records import GateResult, TrialResult
from tests.builders import campaigns, plans
from tools.study.bounds import Row, Share
from tools.study.worlds import NOISE, ROUNDS, THREADS, Array, draw, one_workload

WORKLOADS = (
    *("oltp_point_select", "oltp_read_write", "oltp_update_index"),
    *("oltp_update_non_index", "oltp_insert"),
)
READS = WORKLOADS[:1]
ATTEMPTS = 3
STALL = 0.5
CAMPAIGNS = 200

Results = Callable[[Array, np.random.Generator], Iterator[TrialResult]]
"""The trials of a campaign, from its throughputs: (workloads, rounds, threads, sides)."""


@cache
def _plan() -> Plan:
    spec = plans.spec(workloads=list(WORKLOADS), threads=list(THREADS), rounds=ROUNDS, seconds=60)
    return plans.plan(spec)


@cache
def _gates() -> tuple[Gate, ...]:
    return gate_files.load_all(Path(benchlab.__file__).parents[2] / "configs" / "quality")


def _count(
    counted: str,
    results: Results,
    campaigns_: int,
    rng: np.random.Generator,
    *,
    change: Array | float = 0.0,
    of: slice = slice(None),
    by_campaign: bool = False,
) -> Share:
    """How many workloads, or campaigns with any, have this verdict on throughput."""
    hits = count = 0
    for throughputs in draw(NOISE, campaigns_, rng, change=change):
        found = compare(_plan(), list(results(throughputs, rng)), 2.0, gates=_gates())
        own = [workload.verdict == counted for workload in found.workloads[of]]
        hits += any(own) if by_campaign else sum(own)
        count += 1 if by_campaign else len(own)
    return Share(hits, count)


def _place(trial: PlannedTrial) -> tuple[int, int, int, int]:
    return (
        WORKLOADS.index(trial.workload),
        trial.round - 1,
        THREADS.index(trial.threads),
        SIDES.index(trial.side),
    )


# ---------------------------------------------------------------- trials that a gate rejects


def _stalls(
    shares: tuple[float, float], throughputs: Array, rng: np.random.Generator
) -> Iterator[TrialResult]:
    """Trials stall in this share of each side; a gate rejects them, and their pair is repeated."""
    left = list(_plan().trials)
    for attempt in range(1, ATTEMPTS + 1):
        again = set()
        for trial in left:
            tps = throughputs[_place(trial)] * np.exp(0.01 * rng.standard_normal() * (attempt > 1))
            stalled = rng.random() < shares[SIDES.index(trial.side)]
            gate = GateResult("other_work", "fail" if stalled else "pass", 0.5, "s")
            yield campaigns.trial_result(
                trial,
                attempt=attempt,
                reasons=["it stalled"] if stalled else [],
                gates=[gate],
                tps=float(tps * (STALL if stalled else 1)),
            )
            again |= {trial.pair} if stalled else set()
        left = [trial for trial in _plan().trials if trial.pair in again]


def _lost(share: float, throughputs: Array, rng: np.random.Generator) -> Iterator[TrialResult]:
    """So many trials have no result at all."""
    for trial in _plan().trials:
        if rng.random() >= share:
            yield campaigns.trial_result(trial, tps=float(throughputs[_place(trial)]))


# ---------------------------------------------------------------- errors


@dataclasses.dataclass(frozen=True)
class Storms:
    """Deadlocks of the workloads that write.

    Attributes:
        mean: of a trial.
        shape: of the gamma distribution of a trial's rate: the smaller, the rarer and stronger.
        block_sd: of a block's rate, as a logarithm.
        candidate: times as many in the second workload's candidate.
    """

    mean: float
    shape: float
    block_sd: float = 0.0
    candidate: float = 1.0

    def __call__(self, throughputs: Array, rng: np.random.Generator) -> Iterator[TrialResult]:
        rates = self.mean * rng.gamma(self.shape, 1 / self.shape, throughputs.shape)
        block = rng.standard_normal((*throughputs.shape[:2], 1, 2))
        rates *= np.exp(self.block_sd * block - self.block_sd**2 / 2)
        rates[1, ..., 1] *= self.candidate
        rates[: len(READS)] = 0
        errors = rng.poisson(rates)
        (gate,) = (gate for gate in _gates() if gate.id == "errors")
        for trial in _plan().trials:
            tps, met = float(throughputs[_place(trial)]), float(errors[_place(trial)])
            ratio = error_ratio(met, tps * trial.seconds, read_only=trial.workload in READS)
            yield campaigns.trial_result(
                trial, tps=tps, errors=met, gates=[gate.evaluate({"error_ratio": ratio})]
            )


# ---------------------------------------------------------------- the client's limit


def _capped(
    cap: float, watched: bool, throughputs: Array, rng: np.random.Generator
) -> Iterator[TrialResult]:
    """Servers that are saturated at all thread counts, and a client that can do ``cap`` of them.

    Args:
        cap: of the baseline's throughput; above 1 the client is not the limit.
        watched: the client's CPU is known: its share, as far as sampling shows it.
    """
    flat = throughputs / np.sqrt(np.asarray(THREADS))[:, None] * 30
    limit = cap * 30_000
    for trial in _plan().trials:
        noise = np.exp(0.005 * rng.standard_normal())
        tps = float(min(flat[_place(trial)], limit * noise))
        busy = 0.86 * tps / limit if watched else None
        gate = GateResult("client_cpu", "pass" if watched else "not evaluated", busy, "s")
        yield campaigns.trial_result(trial, tps=tps, gates=[gate])


def _plain(throughputs: Array, rng: np.random.Generator) -> Iterator[TrialResult]:
    for trial in _plan().trials:
        yield campaigns.trial_result(trial, tps=float(throughputs[_place(trial)]))


def row(
    world: str,
    counted: str,
    results: Results,
    bound: float,
    *,
    at_most: bool = True,
    verdict: str | None = None,
    change: Array | float = 0.0,
    of: slice = slice(None),
    by_campaign: bool = False,
) -> Row:
    """A row: so many workloads, or campaigns, have this verdict."""
    count = partial(
        _count,
        verdict or counted,
        results,
        change=change,
        of=of,
        by_campaign=by_campaign,
    )
    return Row(world, counted, bound, at_most, count, CAMPAIGNS)


_SLOWER = np.full((len(WORKLOADS), 1), np.log(0.9))
_MIXED = one_workload(0.0) + np.zeros((1, len(THREADS)))
_MIXED[0] = np.log([1.1, 0.9, 1.1, 0.9, 1.1, 0.9])
_FIRST, _SECOND = slice(0, 1), slice(1, 2)

ROWS: tuple[Row, ...] = (
    row("stalls in 5 % of the candidate's trials, rejected", "equivalent",
         partial(_stalls, (0.0, 0.05)), 5.0),
    row("stalls in 5 % of the candidate's trials, rejected", "unstable",
         partial(_stalls, (0.0, 0.05)), 75.0, at_most=False, by_campaign=True),
    row("stalls in 5 % of either side's trials, rejected", "unstable",
         partial(_stalls, (0.05, 0.05)), 5.0, by_campaign=True),
    row("0.1 % of the trials lost", "unstable", partial(_lost, 0.001), 5.0),
    row("0.3 % of the trials lost", "unstable", partial(_lost, 0.003), 5.0),
    row("1 % of the trials lost", "unstable", partial(_lost, 0.01), 5.0),
    row("storms of errors in single trials, alike", "unstable",
         Storms(30, 0.2), 5.0, by_campaign=True),
    row("storms of errors in blocks, alike", "unstable",
         Storms(10, 1.0, block_sd=1.0), 5.0, by_campaign=True),
    row("storms of errors, 20 times as many on one side", "unstable",
         Storms(30, 0.5, candidate=20), 75.0, at_most=False, of=_SECOND),
    row("client capped at 87 % of the baseline, server -10 %", "equivalent",
         partial(_capped, 0.87, True), 2.0, change=_SLOWER),
    row("client capped at 87 % of the baseline, server -10 %", "unstable",
         partial(_capped, 0.87, True), 95.0, at_most=False, change=_SLOWER),
    row("the same, the client's CPU not known", "equivalent",
         partial(_capped, 0.87, False), 2.0, change=_SLOWER),
    row("saturated servers, a client with room", "unstable",
         partial(_capped, 2.0, True), 1.0),
    row("+-10 % across the thread counts", "equivalent", _plain, 5.0,
         change=_MIXED, of=_FIRST),
)  # fmt: skip
