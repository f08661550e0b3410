"""What :func:`benchlab.analysis.verdict.compare.judge` finds in simulated campaigns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchlab.analysis.verdict.compare import judge
from benchlab.analysis.verdict.estimates import Calibration, calibrate
from tools.study.worlds import ROUNDS, Array, World, as_aa_campaigns, as_rounds, draw, in_one_column

THRESHOLD_PCT = 2.0
ALPHA = 0.05


@dataclass(frozen=True)
class Ours:
    """What the rule finds, each of shape (campaigns, workloads).

    Attributes:
        counted: p < 0.05, adjusted by Holm.
        called: 1 for an improvement, -1 for a regression, 0 for no change.
        equivalent: which workloads are said to have no change, as ``called`` is.
        low, high: the 95 % interval, in percent.
        named: thread counts that moved against the rest, by campaign and workload.
    """

    counted: NDArray[np.bool_]
    called: NDArray[np.int8]
    equivalent: NDArray[np.bool_]
    low: Array
    high: Array
    named: Sequence[Sequence[tuple[int, ...]]]


def ours(
    throughputs: Array, calibrations: Sequence[Calibration | None], deployments: int = 1
) -> Ours:
    """What :func:`benchlab.analysis.verdict.compare.judge` finds, campaign by campaign.

    Args:
        throughputs: as :func:`tools.study.worlds.draw` gives them.
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

    Its A/A campaigns are in one column (:func:`tools.study.worlds.in_one_column`), and so have to
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


def adjusted(p: Array) -> Array:
    """p values adjusted by Holm (1979) over the last axis, of shape (campaigns, workloads)."""
    in_order = np.argsort(p, axis=1)
    times = np.arange(p.shape[1], 0, -1)
    holm = np.maximum.accumulate(np.take_along_axis(p, in_order, 1) * times, axis=1)
    return np.asarray(np.take_along_axis(holm, np.argsort(in_order, axis=1), 1))
