"""Worlds in which nothing, or a known change, sets the sides apart: campaigns drawn from them.

All noise is in logarithms, where 0.01 is about 1 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchlab.analysis.verdict.rounds import Rounds
from benchlab.plan import order
from benchlab.plan.report_type import SIDES
from benchlab.workloads.sysbench import METRICS
from tests.builders import plans

Array = NDArray[np.float64]

WORKLOADS = ("point_select", "read_write", "update_index", "update_non_index", "insert")
THREADS = (50, 100, 200, 300, 500, 1000)
ROUNDS = 6
# Between the thread counts of a workload the log ratios of the published sysbench reports scatter
# by 2.4 % (median of 23 comparisons). 1.7 % a cell and side gives just that, all of it as noise.
CELL_SD = 0.017
# With it the log ratio of a round has a standard deviation of 2 % over six thread counts.
BLOCK_SD = 0.012


@dataclass(frozen=True)
class World:
    """How campaigns scatter.

    Attributes:
        block_sd: of a block: one factor for all its thread counts.
        cell_sd: of a cell, on each side and in each round.
        drift_sd: step from round to round of a random walk that both blocks of a round share.
        tails: degrees of freedom of Student's t, of blocks and cells, with those scales; None:
            normal.
        deployment_sd: of a side of a workload; it stays as it is for a whole deployment.
        alike: a side's deployment does the same to all its workloads.
        scales: by workload, how many times as much it scatters, in all of the above but drift.
        deployment_scales: by workload, how many times as much its deployments differ, beside that.
        side_bias: what the candidate has on the baseline whatever is compared, as a logarithm: the
            port, the host or the path of a side.
        second_bias: what the side that is prepared second has on the other one.
    """

    name: str
    block_sd: float = BLOCK_SD
    cell_sd: float = CELL_SD
    drift_sd: float = 0.0
    tails: int | None = None
    deployment_sd: float = 0.0
    alike: bool = False
    scales: tuple[float, ...] = (1.0,) * len(WORKLOADS)
    deployment_scales: tuple[float, ...] = (1.0,) * len(WORKLOADS)
    side_bias: float = 0.0
    second_bias: float = 0.0


NOISE = World("noise alone")
DRIFT = World("drift", drift_sd=0.03)
TAILS = World("heavy tails", tails=3)
DEPLOYMENT = World("deployment", deployment_sd=0.007)


def unlike(how: str, scales: Sequence[float]) -> World:
    """The world of deployments, with workloads that scatter so many times as much each."""
    name = f"workloads of unlike noise, {how}"
    return replace(DEPLOYMENT, name=name, scales=tuple(map(float, scales)))


def draw(
    world: World,
    campaigns: int,
    rng: np.random.Generator,
    *,
    rounds: int = ROUNDS,
    threads: int = len(THREADS),
    deployments: int = 1,
    change: Array | float = 0.0,
) -> Array:
    """Throughputs of shape (campaigns, workloads, rounds, threads, 2): baseline and candidate.

    Args:
        deployments: of each side; the rounds are spread over them as in a plan.
        change: what the candidate truly is, as a log ratio; of shape (workloads, threads) or one
            that broadcasts to it.
    """
    size = (campaigns, len(WORKLOADS), rounds)
    scales = np.array(world.scales)[:, None, None, None]

    def noise(shape: tuple[int, ...]) -> Array:
        return rng.standard_t(world.tails, shape) if world.tails else rng.standard_normal(shape)

    log = world.block_sd * noise((*size, 1, 2)) + world.cell_sd * noise((*size, threads, 2))
    log += np.repeat(_deployed(world, campaigns, deployments, rng), _spread(rounds, deployments), 2)
    log *= scales
    log += np.log(1000 * np.sqrt(np.asarray(THREADS[:threads])))[:, None]
    log += np.cumsum(world.drift_sd * rng.standard_normal(size), axis=2)[..., None, None]
    log[..., 1] += np.broadcast_to(change, (size[1], threads))[:, None, :] + world.side_bias
    if world.second_bias:
        seconds = _seconds(campaigns, deployments, rng)
        log += world.second_bias * np.repeat(seconds, _spread(rounds, deployments), 2)
    return np.asarray(np.exp(log))


def _deployed(world: World, campaigns: int, deployments: int, rng: np.random.Generator) -> Array:
    """What each deployment does to its rounds, of the shape that `draw` has, one row for each."""
    workloads = 1 if world.alike else len(WORKLOADS)
    scales = world.deployment_sd * np.array(world.deployment_scales)[:, None, None, None]
    return scales * rng.standard_normal((campaigns, workloads, deployments, 1, 2))


def _seconds(campaigns: int, deployments: int, rng: np.random.Generator) -> Array:
    """1 for the side that the plan prepares second, by deployment; 0 for the other one."""
    spec = plans.spec(rounds=deployments, deployments=deployments)
    seeds = rng.integers(2**32, size=campaigns).tolist()
    first = [order.first_prepared(spec, seed) for seed in seeds]
    second = np.array([[[side != one for side in SIDES] for one in sides] for sides in first])
    return second[:, None, :, None, :].astype(float)


def _spread(rounds: int, deployments: int) -> list[int]:
    """How many rounds each deployment measures."""
    numbers = _deployment_numbers(rounds, deployments)
    return [numbers.count(number) for number in range(1, deployments + 1)]


def _deployment_numbers(rounds: int, deployments: int) -> list[int]:
    return [order.deployment_of(number, rounds, deployments) for number in range(1, rounds + 1)]


def one_workload(percent: float) -> Array:
    """A change of the first workload, at all its thread counts, as :func:`draw` takes it."""
    change = np.zeros((len(WORKLOADS), 1))
    change[0] = np.log1p(percent / 100)
    return change


def one_cell(percent: float, column: int) -> Array:
    """A change of the first workload at one of its thread counts."""
    change = np.zeros((len(WORKLOADS), len(THREADS)))
    change[0, column] = np.log1p(percent / 100)
    return change


def in_one_column(throughputs: Array) -> Array:
    """The geometric mean over thread counts in the place of these: the rule decides on it alone.

    It takes half the time, where no single thread count is looked for.
    """
    return np.asarray(np.exp(np.log(throughputs).mean(axis=-2, keepdims=True)))


def as_rounds(throughputs: Array, deployments: int = 1) -> list[Rounds]:
    """One campaign as the rule takes it, from an array of shape (workloads, rounds, threads, 2)."""
    _, rounds, threads, _ = throughputs.shape
    numbers = _deployment_numbers(rounds, deployments)
    return [
        Rounds(
            *(name, METRICS, range(1, rounds + 1), THREADS[:threads], SIDES, {"tps": tps}),
            deployments=numbers,
        )
        for name, tps in zip(WORKLOADS[: len(throughputs)], throughputs, strict=True)
    ]


def as_aa_campaigns(throughputs: Array, deployments: int = 1) -> dict[str, Sequence[Rounds]]:
    """A/A campaigns, from several at once, as ``calibration.calibrate`` takes them."""
    return {f"aa-{index}": as_rounds(one, deployments) for index, one in enumerate(throughputs)}
