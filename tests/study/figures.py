"""The figures of the study: shares of simulated campaigns, each with its own uncertainty.

The work is cut into tasks with a generator of their own, so that two processes give the same
figures as one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from tests.study import rules
from tests.study.rules import OTHERS, Found, Ours
from tests.study.worlds import (
    DEPLOYMENT,
    NOISE,
    THREADS,
    TOGETHER,
    WORLDS,
    Array,
    World,
    draw,
    in_one_column,
    one_cell,
    one_workload,
)

SEED = 20260401
CAMPAIGNS = 2000
POWER_CAMPAIGNS = 200
CELL_CAMPAIGNS = 500
TASK = 250
PROCESSES = 2

CHANGES = (-2.0, -3.0, -5.0, -10.0)
CELL_CHANGE = -10.0
OURS = {
    "Benchlab, no calibration": 0,
    "Benchlab, 5 A/A campaigns": 5,
    "Benchlab, 20 A/A campaigns": 20,
}
RULES = (*OURS, *OTHERS)
# In the others there is no deployment to be known. Each of these takes as long as the rest of a
# world.
CALIBRATED = (DEPLOYMENT, TOGETHER)
POWER_WORLDS = (NOISE, DEPLOYMENT)
CELL_WORLDS = (NOISE, TOGETHER)

Key = tuple[str, ...]


@dataclass(frozen=True)
class Share:
    """``hits`` of ``count``."""

    hits: int
    count: int

    @property
    def value(self) -> float:
        """Between 0 and 1."""
        return self.hits / self.count

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of a binomial share (Wilson 1927)."""
        z2 = float(ndtri(0.975)) ** 2
        middle = (self.hits + z2 / 2) / (self.count + z2)
        spread = self.hits * (self.count - self.hits) / self.count + z2 / 4
        half = math.sqrt(z2 * spread) / (self.count + z2)
        return middle - half, middle + half


def study() -> dict[Key, Share]:
    """All figures of the study, by what they are of: (figure, rule, world, ...)."""
    tasks = list(_tasks())
    hits, counts = Counter[Key](), Counter[Key]()
    with ProcessPoolExecutor(PROCESSES) as pool:
        for found in pool.map(_run, tasks, range(len(tasks))):
            for key, share in found.items():
                hits[key] += share.hits
                counts[key] += share.count
    return {key: Share(hits[key], counts[key]) for key in counts}


Task = Callable[[np.random.Generator], Mapping[Key, Share]]


def _tasks() -> Iterable[Task]:
    for world in WORLDS:
        for campaigns in portions(CAMPAIGNS):
            yield partial(_false_alarms, world, campaigns)
    for world in POWER_WORLDS:
        for change in CHANGES:
            for campaigns in portions(POWER_CAMPAIGNS):
                yield partial(_power, world, change, campaigns)
    for world in CELL_WORLDS:
        for campaigns in portions(CELL_CAMPAIGNS):
            yield partial(_cells, world, campaigns)


def portions(campaigns: int) -> list[int]:
    """So many campaigns as tasks: how many each of them simulates."""
    return [min(TASK, campaigns - start) for start in range(0, campaigns, TASK)]


def _run(task: Task, number: int) -> Mapping[Key, Share]:
    return task(np.random.default_rng([SEED, number]))


def _false_alarms(world: World, campaigns: int, rng: np.random.Generator) -> dict[Key, Share]:
    """Nothing sets the sides apart: whatever is found is a false alarm."""
    throughputs = draw(world, campaigns, rng)
    shares: dict[Key, Share] = {}
    for rule, found in _found(world, throughputs, rng):
        key = (rule, world.name)
        if found.alone is not None and found.counted is not None:
            shares["alone", *key] = share_of(found.alone)
            shares["counted", *key] = share_of(found.counted.any(axis=1))
        shares["called", *key] = share_of((found.called != 0).any(axis=1))
        if isinstance(found, Ours):
            shares["covered", *key] = share_of((found.low <= 0) & (found.high >= 0))
            if not OURS[rule]:
                shares["named", world.name] = share_of([any(named) for named in found.named])
    return shares


def _power(
    world: World, change: float, campaigns: int, rng: np.random.Generator
) -> dict[Key, Share]:
    """One workload of the campaign has changed: how often it is called, and rightly."""
    throughputs = draw(world, campaigns, rng, change=one_workload(change))
    return {
        ("power", rule, world.name, f"{change:g}"): share_of(found.called[:, 0] == np.sign(change))
        for rule, found in _found(world, throughputs, rng)
    }


def _cells(world: World, campaigns: int, rng: np.random.Generator) -> dict[Key, Share]:
    """One thread count of one workload has changed: whether it, and it alone, is named."""
    column = int(rng.integers(len(THREADS)))
    throughputs = draw(world, campaigns, rng, change=one_cell(CELL_CHANGE, column))
    found = rules.ours(throughputs, [None] * campaigns)
    wanted = THREADS[column]
    return {
        ("cell named", world.name): share_of([wanted in workloads[0] for workloads in found.named]),
        ("cell alone named", world.name): share_of(
            [workloads[0] == (wanted,) and not any(workloads[1:]) for workloads in found.named]
        ),
        ("cell called", world.name): share_of(found.called[:, 0] != 0),
    }


def _found(
    world: World, throughputs: Array, rng: np.random.Generator
) -> Iterable[tuple[str, Found]]:
    for name, aa_campaigns in OURS.items():
        if not aa_campaigns:
            yield name, rules.ours(throughputs, [None] * len(throughputs))
        elif world in CALIBRATED:
            known = rules.calibrations(world, aa_campaigns, len(throughputs), rng)
            yield name, rules.ours(in_one_column(throughputs), known)
    for name, rule in OTHERS.items():
        yield name, rule(throughputs)


def share_of(hits: ArrayLike) -> Share:
    """How many of these are true."""
    flags = np.asarray(hits, dtype=bool)
    return Share(int(flags.sum()), flags.size)
