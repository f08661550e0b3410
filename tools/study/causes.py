"""Ranked counts: how often they blame what did not change, and how often they find the cause.

Campaigns of :data:`COUNTS` counts in blocks that go together. In an A/A campaign nothing differs.
In another one a cause shifts one block, and with it, through the throughput, half of the others by
some per cent of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from benchlab.analysis.cause.ranked import Cluster, Ranked, ranked
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.plan.metric import COUNT, Metric
from benchlab.plan.report_type import SIDES
from tools.study.bounds import PROCESSES, Share
from tools.study.promises import SEED
from tools.study.worlds import Array

COUNTS, CAMPAIGNS, FIRST = 200, 250, 3
_LARGEST_BLOCK = 12
# The correlation of what a block's counts have in common, and of its deployments.
_IN_COMMON = 0.9
_METRICS = tuple(
    Metric(f"count{number}", "1", family=COUNT, side_sd=0.001) for number in range(COUNTS)
)


@dataclass(frozen=True)
class World:
    """How counts vary.

    Attributes:
        tails: degrees of freedom of Student's t; None: normal.
        shared: of a trial's variance, what all thread counts of its block have in common.
        unlike: standard deviation of the logarithm of a count's own noise, beside its block's.
    """

    name: str
    rounds: int = 6
    deployments: int = 1
    threads: int = 2
    tails: int | None = None
    shared: float = 0.0
    unlike: float = 0.3


WORLDS = (
    World("6 rounds"),
    World("3 rounds", rounds=3),
    World("3 rounds, heavy tails", rounds=3, tails=3),
    World("3 rounds, one thread count", rounds=3, threads=1),
    World("heavy tails", tails=3),
    World("unlike variances", unlike=1.0),
    World("thread counts alike", shared=0.5),
    World("2 deployments of 3 rounds", deployments=2),
    World("6 deployments of a round", deployments=6),
)


@dataclass
class Tally:
    """What campaigns of a world came to."""

    campaigns: int = 0
    any_moved: int = 0
    more: int = 0
    found: int = 0
    clusters: int = 0


def draw(world: World, rng: np.random.Generator, change: float) -> tuple[Rounds, set[str]]:
    """A campaign, and the counts that its cause shifted; none if ``change`` is 0."""
    sizes = rng.integers(1, _LARGEST_BLOCK + 1, COUNTS)
    block = np.repeat(np.arange(COUNTS), sizes)[:COUNTS]
    blocks = int(block.max()) + 1
    sd = np.exp(rng.uniform(np.log(0.001), np.log(0.02), blocks))[block]
    sd = sd * np.exp(rng.normal(0, world.unlike, COUNTS))

    def noise(*shape: int) -> Array:
        def of(rows: int) -> Array:
            if world.tails is None:
                return np.asarray(rng.normal(size=(rows, *shape)))
            scale = np.sqrt(world.tails / (world.tails - 2))
            return np.asarray(rng.standard_t(world.tails, size=(rows, *shape)) / scale)

        both = np.sqrt(_IN_COMMON) * of(blocks)[block] + np.sqrt(1 - _IN_COMMON) * of(COUNTS)
        return np.asarray(both)

    own = noise(world.rounds, world.threads, 2) * np.sqrt(1 - world.shared)
    logs = (own + noise(world.rounds, 1, 2) * np.sqrt(world.shared)) * sd[:, None, None, None]
    deployment = np.arange(world.rounds) * world.deployments // world.rounds
    logs += 0.001 * noise(world.deployments, 1, 2)[:, deployment]
    cause = int(rng.integers(blocks))
    through = rng.normal(0, 0.05, blocks) * (rng.random(blocks) < 0.5)
    through[cause] = 1.0
    logs[..., 1] += (change * through[block] * np.exp(rng.normal(0, 0.2, COUNTS)))[:, None, None]
    values = {one.name: np.exp(found) for one, found in zip(_METRICS, logs, strict=True)}
    rounds = Rounds(
        "oltp_read_write", _METRICS, range(world.rounds), tuple(range(world.threads)), SIDES,
        values, (deployment + 1).tolist(),
    )  # fmt: skip
    return rounds, {_METRICS[at].name for at in np.flatnonzero(block == cause).tolist()}


def count(world: World, campaigns: int) -> Tally:
    """As many campaigns without a change as with a cause of 3 to 20 %."""
    rng = np.random.default_rng([SEED, crc32(world.name.encode())])
    tally = Tally()
    for _ in range(campaigns):
        nothing, _ = draw(world, rng, 0.0)
        same = ranked(nothing)
        tally.campaigns += 1
        tally.any_moved += bool(same.clusters)
        tally.more += len(same.clusters) > FIRST
        rounds, cause = draw(world, rng, float(np.exp(rng.uniform(np.log(0.03), np.log(0.2)))))
        found = ranked(rounds)
        tally.found += is_first(found, cause)
        tally.clusters += len(found.clusters)
    return tally


def is_first(found: Ranked, cause: set[str]) -> bool:
    """Whether a count that the cause shifted is in one of the first clusters."""
    return any(_names(cluster) & cause for cluster in found.clusters[:FIRST])


def _names(cluster: Cluster) -> set[str]:
    return {one.metric.name for one in (cluster.leading, *cluster.others)}


def study(campaigns: int = CAMPAIGNS) -> list[tuple[str, Tally]]:
    """All worlds."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        made = [pool.submit(count, world, campaigns) for world in WORLDS]
        return [(world.name, one.result()) for world, one in zip(WORLDS, made, strict=True)]


def page(found: Sequence[tuple[str, Tally]]) -> str:
    """A table in Markdown."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Sequence[tuple[str, Tally]]) -> Iterator[str]:
    names = ("world", "any in A/A, %", "more than 3, %", "cause in first 3, %", "clusters")
    yield f"| {' | '.join(names)} |"
    yield f"|{'---|' * len(names)}"
    for world, tally in found:
        shares = (tally.any_moved, tally.more, tally.found)
        cells = [world, *(str(Share(hits, tally.campaigns)) for hits in shares)]
        yield f"| {' | '.join([*cells, f'{tally.clusters / tally.campaigns:.1f}'])} |"
