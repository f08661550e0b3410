"""The rules that are compared: what each finds in campaigns.

Ours is :func:`benchlab.analysis.verdict.compare.judge` itself. The others are what people do, and
no rule of them adjusts for the number of workloads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchlab.analysis.verdict.calibration import Calibration, calibrate
from benchlab.analysis.verdict.compare import judge
from tests.study.worlds import ROUNDS, Array, World, as_aa_campaigns, as_rounds, draw, in_one_column

THRESHOLD_PCT = 2.0
ALPHA = 0.05


@dataclass(frozen=True)
class Found:
    """What a rule finds, each of shape (campaigns, workloads).

    Attributes:
        alone: p < 0.05 for the workload taken alone; None: the rule has no p value.
        counted: p < 0.05 as the rule takes it: adjusted by Holm in ours.
        called: 1 for an improvement, -1 for a regression, 0 for no change.
    """

    alone: NDArray[np.bool_] | None
    counted: NDArray[np.bool_] | None
    called: NDArray[np.int8]


@dataclass(frozen=True)
class Ours(Found):
    """The same of our rule, with its intervals and the cells that it names.

    Attributes:
        equivalent: which workloads are said to have no change, as ``called`` is.
        low, high: the 95 % interval, in percent.
        named: thread counts that moved against the rest, by campaign and workload.
    """

    equivalent: NDArray[np.bool_]
    low: Array
    high: Array
    named: Sequence[Sequence[tuple[int, ...]]]


def ours(
    throughputs: Array, calibrations: Sequence[Calibration | None], deployments: int = 1
) -> Ours:
    """What :func:`benchlab.analysis.verdict.compare.judge` finds, campaign by campaign.

    Args:
        throughputs: as :func:`tests.study.worlds.draw` gives them.
        calibrations: one for each campaign.
        deployments: of each side, in each campaign.
    """
    judged = [
        judge(as_rounds(campaign, deployments), THRESHOLD_PCT, calibration=known)
        for campaign, known in zip(throughputs, calibrations, strict=True)
    ]
    sign = {"improvement": 1, "regression": -1}
    intervals = np.array([[w.ci95_pct for w in workloads] for workloads in judged], dtype=float)
    low, high = intervals[..., 0], intervals[..., 1]
    adjusted = np.array([[w.p_adjusted for w in workloads] for workloads in judged], dtype=float)
    return Ours(
        alone=(low > 0) | (high < 0),
        counted=adjusted < ALPHA,
        called=np.array(
            [[sign.get(w.verdict, 0) for w in workloads] for workloads in judged], dtype=np.int8
        ),
        equivalent=np.array([[w.verdict == "equivalent" for w in row] for row in judged]),
        low=low,
        high=high,
        named=[
            [tuple(m.threads for m in w.heterogeneous) for w in workloads] for workloads in judged
        ],
    )


def calibrations(
    world: World,
    aa_campaigns: int,
    campaigns: int,
    rng: np.random.Generator,
    rounds: int = ROUNDS,
) -> list[Calibration | None]:
    """A calibration for each of so many campaigns, from A/A campaigns drawn from the same world.

    Its A/A campaigns are in one column (:func:`tests.study.worlds.in_one_column`), and so have to
    be the campaigns that are judged by it.

    Args:
        aa_campaigns: how many each is from; with 0 there is none.
        rounds: of each of them.
    """
    if not aa_campaigns:
        return [None] * campaigns
    # So many campaigns are judged by one calibration, then another one is drawn: the fewer, the
    # more one calibration's luck differs from the next one's.
    group = max(2, aa_campaigns // 2)
    found: list[Calibration | None] = []
    while len(found) < campaigns:
        measured = in_one_column(draw(world, aa_campaigns, rng, rounds=rounds))
        found += [calibrate(as_aa_campaigns(measured))] * group
    return found[:campaigns]


def mean_of_threads(throughputs: Array) -> Found:
    """The mean of the percentages of the thread counts in one round, a change from 2 %."""
    percent = _percentages_of_one_round(throughputs).mean(axis=-1)
    return Found(None, None, _called(percent, np.zeros_like(percent)))


def t_test_of_threads(throughputs: Array) -> Found:
    """The same, with a t test of the percentages as if thread counts were independent."""
    percentages = _percentages_of_one_round(throughputs)
    return _tested(percentages.mean(axis=-1), stats.ttest_1samp(percentages, 0, axis=-1).pvalue)


def mann_whitney(throughputs: Array) -> Found:
    """The rounds of one side against those of the other, unpaired; a value is a block's mean."""
    blocks: Array = throughputs.mean(axis=3)
    baseline, candidate = blocks[..., 0], blocks[..., 1]
    p = stats.mannwhitneyu(baseline, candidate, axis=-1, method="exact").pvalue
    return _tested(100 * (candidate.mean(axis=-1) / baseline.mean(axis=-1) - 1), p)


def pooled_cells(throughputs: Array) -> Found:
    """A t test of the log ratios of all rounds and thread counts as if they were independent."""
    ratios = np.log(throughputs[..., 1] / throughputs[..., 0])
    pooled = ratios.reshape(*ratios.shape[:2], -1)
    p = stats.ttest_1samp(pooled, 0, axis=-1).pvalue
    return _tested(100 * np.expm1(pooled.mean(axis=-1)), p)


OTHERS: dict[str, Callable[[Array], Found]] = {
    "mean of threads, one round": mean_of_threads,
    "t test of threads, one round": t_test_of_threads,
    "Mann-Whitney, unpaired rounds": mann_whitney,
    "pooled cells": pooled_cells,
}


def adjusted(p: Array) -> Array:
    """p values adjusted by Holm (1979) over the last axis, of shape (campaigns, workloads)."""
    in_order = np.argsort(p, axis=1)
    times = np.arange(p.shape[1], 0, -1)
    holm = np.maximum.accumulate(np.take_along_axis(p, in_order, 1) * times, axis=1)
    return np.asarray(np.take_along_axis(holm, np.argsort(in_order, axis=1), 1))


def _percentages_of_one_round(throughputs: Array) -> Array:
    first = throughputs[:, :, 0]
    return 100 * (first[..., 1] / first[..., 0] - 1)


def _tested(percent: Array | float, p: Array | float) -> Found:
    significant = np.asarray(p) < ALPHA
    return Found(significant, significant, _called(percent, p))


def _called(percent: Array | float, p: Array | float) -> NDArray[np.int8]:
    change = (np.asarray(p) < ALPHA) & (np.abs(percent) >= THRESHOLD_PCT)
    return np.asarray(np.where(change, np.sign(percent), 0), dtype=np.int8)
