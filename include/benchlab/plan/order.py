"""The order in which a campaign's trials run; docs/GLOSSARY.md defines the terms.

Interleaved: a round holds both sides' blocks of every workload, adjacent in time so that slow drift
of the machine affects both alike. A seed that the plan keeps decides the order of the workloads in
a round and of the thread counts in a pair of blocks, so that no cell always has the same place;
both blocks of a pair have the same order. Which side comes first is random as well, balanced over
the rounds of a workload, without orders that would make drift, or noise that alternates from pair
to pair, look like a change. With ``interleave: trials`` the sides also take turns within a pair, as
A B B A A B by thread count. Sequential: all blocks of the baseline, then all blocks of the
candidate, in the order of the report type, as in published reports.

Example:
    ``[trial.id for trial in trials(spec, seed=1, read_only={"oltp_point_select"})]``
"""

from __future__ import annotations

import cmath
import hashlib
import math
import operator
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchlab.plan import open_loop
from benchlab.plan.report_type import SIDES, ReportSpec, RestorePolicy, Side

# The most orders that are drawn; with few rounds these include nearly every order there is.
_DRAWS = 64
# Frequencies of waves through a campaign, in cycles per pair of blocks. Their periods are from two
# pairs, where neighbouring pairs see opposite halves of a wave, to 3.3 pairs.
_FREQUENCIES = [sixtieths / 60 for sixtieths in range(18, 31)]


@dataclass(frozen=True)
class PlannedTrial:
    """One measured execution of one cell on one side in one round.

    Attributes:
        index: place in the plan, from 0.
        round: from 1.
        restore: whether the snapshot is restored before it.
        seconds: measured time, without warm-up.
        warm_up: whether a warm-up comes before it: it begins its side's turn, or the snapshot is
            restored.
        configure: whether its servers get other configuration items before it, because its workload
            has items of its own, or the side's last one had.
    """

    index: int
    round: int
    side: Side
    workload: str
    threads: int
    restore: bool
    seconds: int
    warm_up: bool = True
    configure: bool = False

    @property
    def id(self) -> str:
        """Its name within the campaign, usable as a file name."""
        return f"r{self.round}-{self.side}-{self.workload}-t{self.threads}"

    @property
    def title(self) -> str:
        """Its name for people, as in the Airflow UI."""
        name = self.workload.removeprefix("oltp_")
        return f"round {self.round} · {self.side} · {name} · {self.threads} threads"

    @property
    def pair(self) -> tuple[int, str]:
        """Round and workload of its pair of blocks, which is measured again as a whole."""
        return (self.round, self.workload)


def seed_of(campaign: str) -> int:
    """A seed from a campaign's id, so that the same id always plans the same order."""
    return int.from_bytes(hashlib.sha256(campaign.encode()).digest()[:4])


def trials(
    spec: ReportSpec, seed: int, read_only: Iterable[str], *, configures: bool = True
) -> Iterator[PlannedTrial]:
    """Every trial of a campaign, in the order in which they run.

    Args:
        read_only: the workloads that do not change the data.
        configures: whether the configuration items of a workload can be set.
    """
    unchanging = frozenset(read_only)
    items_of = spec.all_items_of if configures else lambda workload: []
    dirty = dict.fromkeys(SIDES, True)  # after the load: the data may differ from the snapshot
    index = deployed = 0
    for round_number, workload, runs in _pairs(spec, seed):
        begun: set[Side] = set()
        if (number := deployment_of(round_number, spec.rounds, spec.deployments)) != deployed:
            deployed, items = number, dict.fromkeys(SIDES, items_of(None))
        for side, thread_counts in runs:
            for position, threads in enumerate(thread_counts):
                restore = _restores(spec.restore, side not in begun, dirty[side])
                yield PlannedTrial(
                    *(index, round_number, side, workload, threads, restore, spec.seconds),
                    warm_up=position == 0 or restore,
                    configure=items_of(workload) != items[side],
                )
                items[side] = items_of(workload)
                dirty[side] = open_loop.saturated(workload) not in unchanging or (
                    dirty[side] and not restore
                )
                begun.add(side)
                index += 1


def is_drawn(spec: ReportSpec) -> bool:
    """Whether a seed decides the order of the trials, and not the report type alone."""
    return spec.placement == "interleaved" and spec.sides != "single"


def deployment_of(round_number: int, rounds: int, deployments: int) -> int:
    """Which deployment of the sides measures a round; all three count from 1.

    The rounds of a deployment follow one another, and deployments differ by one round at most.

    Example:
        Of 5 rounds in 2 deployments the first 3 are of deployment 1, the others of deployment 2.
    """
    return (round_number - 1) * deployments // rounds + 1


def first_prepared(spec: ReportSpec, seed: int) -> tuple[Side, ...]:
    """The side that is deployed, loaded and prepared first, in each deployment.

    Preparing one side affects the other. So where the order of the trials is drawn, each side is
    drawn equally often; elsewhere it is the baseline, as in published reports.
    """
    if not is_drawn(spec):
        return spec.measured_sides[:1]
    rng = _drawing(seed, "prepare")
    return tuple(side for size in _deployments(spec) for side in _balanced_first_sides([size], rng))


def _deployments(spec: ReportSpec) -> list[int]:
    """How many deployments each part has whose order is balanced."""
    of = [{deployment_of(n, spec.rounds, spec.deployments) for n in part} for part in spec.balanced]
    return [*map(len, of)]


def first_ports(spec: ReportSpec, seed: int) -> tuple[Side, ...]:
    """The side that has the first of two port sets on the same hosts, in each deployment.

    Drawn for the first deployment, then alternating, as one port set may be the better one.
    """
    drawn = _drawing(seed, "ports").sample(SIDES, k=2)
    return tuple(drawn[number % 2] for number in range(spec.deployments))


_Runs = Sequence[tuple[Side, Sequence[int]]]
"""Sides in turn, each with the thread counts that are measured before the other side's turn."""


def _pairs(spec: ReportSpec, seed: int) -> Iterator[tuple[int, str, _Runs]]:
    """Round, workload and runs of every pair of blocks in order; of every block if sequential."""
    rounds = range(1, spec.rounds + 1)
    if not is_drawn(spec):
        for side in spec.measured_sides:
            for round_number in rounds:
                for workload in spec.workloads:
                    yield round_number, workload, [(side, spec.threads_of(workload))]
        return
    workloads = [_workloads_of(spec, seed, round_number) for round_number in rounds]
    first_sides = {
        workload: _first_sides(spec, _drawing(seed, workload), workloads, workload)
        for workload in spec.workloads
    }
    for round_number, in_order in zip(rounds, workloads, strict=True):
        for workload in in_order:
            thread_counts = _threads_of(spec, seed, round_number, workload)
            first = first_sides[workload][round_number - 1]
            yield round_number, workload, _runs(spec, first, thread_counts)


def _runs(spec: ReportSpec, first: Side, thread_counts: Sequence[int]) -> _Runs:
    """The blocks of a pair one after the other, or a trial of each in turn: A B, B A, A B, ..."""
    (second,) = (side for side in SIDES if side != first)
    if spec.interleave == "blocks":
        return [(first, thread_counts), (second, thread_counts)]
    # Between thread counts a side has two trials in a row, in which its server keeps running.
    sides = [first, *(second, first) * len(thread_counts)][: len(thread_counts) + 1]
    ends = [thread_counts[:1], *map(list, pairwise(thread_counts)), thread_counts[-1:]]
    return list(zip(sides, ends, strict=True))


def _workloads_of(spec: ReportSpec, seed: int, round_number: int) -> Sequence[str]:
    """The workloads of a round: any order, each as likely as any other, and at a rate after it."""
    rng = _drawing(seed, "workloads", round_number)
    return open_loop.added(rng.sample(spec.as_written, k=len(spec.as_written)), spec.rate)


def _threads_of(spec: ReportSpec, seed: int, round_number: int, workload: str) -> Sequence[int]:
    """The thread counts of a pair of blocks: any order, each as likely as any other."""
    rng = _drawing(seed, "threads", round_number, workload)
    counts = spec.threads_of(workload)
    return rng.sample(counts, k=len(counts))


def _drawing(seed: int, *of: object) -> random.Random:
    """The random numbers of one decision, independent of those of all others."""
    return random.Random("/".join(map(str, (seed, *of))))  # noqa: S311


def _restores(policy: RestorePolicy, first_of_block: bool, dirty: bool) -> bool:
    by_policy: dict[RestorePolicy, bool] = {
        "every_trial": True,
        "after_writes": dirty,
        "per_workload": first_of_block,
        "never": False,
    }
    return by_policy[policy]


def _first_sides(
    spec: ReportSpec, rng: random.Random, workloads: Sequence[Sequence[str]], workload: str
) -> list[Side]:
    """The side that comes first in each round of a workload, balanced within each part.

    Args:
        workloads: of each round, in order.
    """
    sides: list[Side] = []
    for part in spec.balanced:
        sizes = Counter(deployment_of(number, spec.rounds, spec.deployments) for number in part)
        places = [
            (number - 1) * len(in_order) + in_order.index(workload)
            for number in part
            if len(in_order := workloads[number - 1]) > 1
        ]
        sides += _balanced_first_sides(list(sizes.values()), rng, places)
    return sides


def _balanced_first_sides(
    sizes: Sequence[int], rng: random.Random, places: Sequence[int] = ()
) -> list[Side]:
    """The side that comes first each time: each equally often, as far as possible.

    Orders that resemble any of the :func:`_disturbances` are rejected: of the 20 balanced orders of
    six rounds, 10 neither alternate nor follow a trend. Where none passes, as with three rounds,
    the one that resembles them least is taken.

    Args:
        sizes: of groups, such as the rounds of a deployment; each is balanced by itself.
        places: in the campaign, counted in pairs of blocks; empty if nothing lies in between.
    """
    disturbances = _disturbances(sum(sizes), places)
    best, least = [SIDES[0]] * sum(sizes), math.inf
    for _ in range(_DRAWS):
        drawn = _drawn(sizes, rng)
        signs = [1 if side == SIDES[0] else -1 for side in drawn]
        worst = max(abs(sum(map(operator.mul, signs, shape))) for shape in disturbances)
        if worst < least:
            best, least = drawn, worst
        if least <= 1:
            break
    return best


def _disturbances(count: int, places: Sequence[int]) -> list[list[complex]]:
    """Shapes of noise that would look like a change if the order of the sides followed them.

    Alternation from round to round, a trend over the rounds, and waves, at the places of the pairs.
    The product of a random order with alternation or trend has a mean square of 1; with a wave, of
    any phase, a half. At 1, noise of this shape moves the mean as much as independent noise does.
    """
    alternation: list[complex] = [(-1) ** number for number in range(count)]
    trend: list[complex] = [number - (count - 1) / 2 for number in range(count)]
    length = math.hypot(*map(abs, trend)) or 1
    return [
        [value / math.sqrt(count) for value in alternation],
        [value / length for value in trend],
        *(
            [cmath.rect(1 / math.sqrt(2 * count), math.tau * frequency * place) for place in places]
            for frequency in (_FREQUENCIES if places else ())
        ),
    ]


def _drawn(sizes: Sequence[int], rng: random.Random) -> list[Side]:
    """A random balanced order; the odd rounds of deployments are balanced against each other."""
    odd = sum(size % 2 for size in sizes)
    left: list[Side] = [*SIDES * (odd // 2), *rng.sample(SIDES, k=odd % 2)]
    rng.shuffle(left)
    sides: list[Side] = []
    for size in sizes:
        own: list[Side] = [*SIDES * (size // 2), *(left.pop() for _ in range(size % 2))]
        rng.shuffle(own)
        sides += own
    return sides
