"""What the rule promises of few rounds that scatter much more than deployments are expected to.

Rounds that agree by chance are then the likeliest to be called a change. Of one workload alone, of
two, which say little of each other's noise, and of five.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from tools.study import at_once
from tools.study.bounds import Row, Share, share_of
from tools.study.worlds import DEPLOYMENT, WORKLOADS

# By how many times the rounds scatter more than the study's others do (2 %).
TIMES = 10.0
DESIGNS = ((1, 3), (1, 6), (2, 4), (3, 3))
"""Deployments, and rounds of all of them."""


NOISY = replace(
    DEPLOYMENT,
    name="rounds of 20 %, deployments of 0.7 %",
    scales=(TIMES,) * len(WORKLOADS),
    deployment_scales=(1 / TIMES,) * len(WORKLOADS),
)


def called(
    workloads: int, design: tuple[int, int], campaigns: int, rng: np.random.Generator
) -> Share:
    """In how many campaigns of so many workloads without any change one is called."""
    deployments, rounds = design
    own = at_once.ratios(NOISY, campaigns, rng, rounds, deployments)[:, :workloads]
    return share_of((at_once.judged(own).called != 0).any(axis=1))


ROWS: tuple[Row, ...] = tuple(
    Row(
        world=(
            f"{NOISY.name}; {workloads} workload{'s' * (workloads > 1)}, {rounds} rounds in "
            f"{deployments} deployment{'s' * (deployments > 1)}"
        ),
        counted="called a change",
        bound=5,
        at_most=True,
        count=partial(called, workloads, (deployments, rounds)),
    )
    for workloads in (1, 2, len(WORKLOADS))
    for deployments, rounds in DESIGNS
)
