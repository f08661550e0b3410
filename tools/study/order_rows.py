"""What the order of the trials is worth: noise that comes and goes with a fixed period.

A wave runs through the campaign, trial after trial in the order of its plan, with any phase; the
other noise is that of every world. A period is counted in trials: with six thread counts a pair of
blocks has 12, and a round of five workloads 60.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchlab.plan import order
from benchlab.plan.report_type import SIDES, ReportSpec
from tools.study.bounds import Row, Share
from tools.study.rules import ALPHA, THRESHOLD_PCT, adjusted
from tools.study.worlds import NOISE, ROUNDS, THREADS, WORKLOADS, Array, draw, one_workload

WAVE = 0.05
"""Of the sine, as a logarithm: the machine is up to 5 % faster or slower."""
_CHANGE_PCT = -5.0

Interleave = Literal["blocks", "trials"]


def _spec(interleave: Interleave) -> ReportSpec:
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
    interleave: Interleave,
    periods: tuple[float, float],
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
    called = _by_rounds(throughputs)
    hits = called[:, 0] == np.sign(change_pct) if change_pct else (called != 0).any(axis=1)
    return Share(int(hits.sum()), campaigns)


def _by_rounds(throughputs: Array) -> NDArray[np.float64]:
    """1 for an improvement, -1 for a regression, by the rounds alone.

    The t test of the rounds' mean log ratios, adjusted by Holm (1979), with the threshold. What
    the verdict adds for deployments is left out: it would cover up what the order does.
    """
    rounds = np.log(throughputs[..., 1] / throughputs[..., 0]).mean(axis=-1)
    p = np.asarray(stats.ttest_1samp(rounds, 0, axis=-1).pvalue)
    percent = 100 * np.expm1(rounds.mean(axis=-1))
    change = (adjusted(p) < ALPHA) & (np.abs(percent) >= THRESHOLD_PCT)
    return np.where(change, np.sign(percent), 0.0)


def row(
    world: str,
    interleave: Interleave,
    periods: tuple[float, float],
    bound: float = 5.0,
    change_pct: float = 0.0,
    wanted: float | None = None,
    why: str = "",
) -> Row:
    """A row: the wave has a period of so many trials, from least to most."""
    found = bool(change_pct)
    return Row(
        world=f"{world}, the rounds alone",
        counted=f"{change_pct:g} % found" if found else "called a change",
        bound=bound,
        at_most=not found,
        count=partial(_called, interleave, periods, change_pct),
        campaigns=600,
        wanted=wanted,
        why=why,
    )


ROWS = (
    row("noise with a period of two pairs of blocks", "blocks", (24, 24), 1.5),
    row(
        *("noise with a period of 20 to 28 trials", "blocks", (20, 28), 5.0),
        wanted=1.5,
        why="an order of six rounds that is far from these waves is near others: chosen by these "
        "alone, 2.9 are called a change, and with periods of 30 to 44 trials 8.9 in place of 4.3",
    ),
    row(
        *("noise with a period of about one pair, sides in turn by trials", "trials", (11, 13), 5.0)
    ),
    row(
        *("noise with a period of one pair, sides in turn by trials", "trials", (12, 12)),
        *(90.0, _CHANGE_PCT),
    ),
)
