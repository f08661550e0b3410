"""What the order of the trials is worth: noise that comes and goes with a fixed period.

A wave runs through the campaign, trial after trial in the order of its plan, with any phase; the
other noise is that of every world. A period is counted in trials: with six thread counts a pair of
blocks has 12, and a round of five workloads 60.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from benchlab.plan import order
from benchlab.plan.report_type import SIDES, ReportSpec
from tests.study import rules
from tests.study.figures import Share
from tests.study.worlds import NOISE, ROUNDS, THREADS, WORKLOADS, Array, draw, one_workload

WAVE = 0.05
"""Of the sine, as a logarithm: the machine is up to 5 % faster or slower."""
_CHANGE_PCT = -5.0


def _spec(interleave: Literal["blocks", "trials"]) -> ReportSpec:
    """Five workloads, six thread counts, six rounds."""
    return ReportSpec.model_validate(
        {
            "report": "study",
            "title": "study",
            "target": "local",
            "engine": "mariadb",
            "engines": {
                "mariadb": {"baseline": {"version": "1.0.0"}, "candidate": {"version": "1.0.1"}}
            },
            "dataset": {"tables": 1, "table_size": 1},
            "workloads": WORKLOADS,
            "threads": THREADS,
            "rounds": ROUNDS,
            "seconds": 60,
            "warmup_seconds": 0,
            "restore": "never",
            "interleave": interleave,
        }
    )


def _wave(spec: ReportSpec, seed: int, period: float, phase: float) -> Array:
    """The wave's part of every trial, of shape (workloads, rounds, threads, 2), as logarithms."""
    wave = np.zeros((len(WORKLOADS), ROUNDS, len(THREADS), 2))
    for trial in order.trials(spec, seed, WORKLOADS):
        cell = WORKLOADS.index(trial.workload), trial.round - 1, THREADS.index(trial.threads)
        turn = trial.index / period + phase
        wave[*cell, SIDES.index(trial.side)] = WAVE * np.sin(2 * np.pi * turn)
    return wave


def _called(
    periods: tuple[float, float],
    interleave: Literal["blocks", "trials"],
    change_pct: float,
    campaigns: int,
    rng: np.random.Generator,
) -> Share:
    """In how many campaigns a change of one workload is called; without one, any at all."""
    spec = _spec(interleave)
    throughputs = draw(NOISE, campaigns, rng, change=one_workload(change_pct))
    for campaign in throughputs:
        period, phase = rng.uniform(*periods), rng.uniform()
        campaign *= np.exp(_wave(spec, int(rng.integers(2**32)), period, phase))
    called = rules.ours(throughputs, [None] * campaigns).called
    hits = called[:, 0] == np.sign(change_pct) if change_pct else (called != 0).any(axis=1)
    return Share(int(hits.sum()), campaigns)
