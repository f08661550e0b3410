"""The order in which a campaign's trials run; docs/GLOSSARY.md defines the terms.

Interleaved: a round holds both sides' blocks of every workload, adjacent in time so that slow drift
of the machine affects both alike. In which order a round has its workloads, and a pair of blocks
its thread counts, is drawn by a seed that the plan keeps, so that no cell always has the same
place; both blocks of a pair have the same order. Which side comes first is drawn as well, and
balanced over the rounds of a workload. Sequential: all blocks of the baseline, then all blocks of
the candidate, in the order of the report type, as in published reports.

Example:
    ``[trial.id for trial in trials(spec, seed=1, read_only={"oltp_point_select"})]``
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchlab.plan.report_type import SIDES, ReportSpec, RestorePolicy, Side


@dataclass(frozen=True)
class PlannedTrial:
    """One measured execution of one cell on one side in one round.

    Attributes:
        index: place in the plan, from 0.
        round: from 1.
        restore: whether the snapshot is restored before it.
        seconds: measured time, without warm-up.
        warm_up: whether a warm-up comes before it: it is the first of its block, or its server is
            restarted. In plans of earlier releases each has one.
    """

    index: int
    round: int
    side: Side
    workload: str
    threads: int
    restore: bool
    seconds: int
    warm_up: bool = True

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


def trials(spec: ReportSpec, seed: int, read_only: Iterable[str]) -> Iterator[PlannedTrial]:
    """Every trial of a campaign, in the order in which they run.

    Args:
        read_only: the workloads that do not change the data.
    """
    unchanging = frozenset(read_only)
    dirty = dict.fromkeys(SIDES, True)  # after the load: the data may differ from the snapshot
    index = 0
    for round_number, workload, side, thread_counts in _blocks(spec, seed):
        for position, threads in enumerate(thread_counts):
            first = position == 0
            restore = _restores(spec.restore, first, dirty[side])
            yield PlannedTrial(
                *(index, round_number, side, workload, threads, restore, spec.seconds),
                warm_up=first or restore,
            )
            dirty[side] = workload not in unchanging or (dirty[side] and not restore)
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
    """The side that is deployed, loaded and prepared first, of each deployment.

    Drawn, and as often the one as the other where the order of the trials is drawn: preparing one
    side does something to the other. As published, the baseline, where it is not.
    """
    if not is_drawn(spec):
        return spec.measured_sides[:1]
    return tuple(_balanced_first_sides(spec.deployments, _drawing(seed, "prepare")))


def _blocks(spec: ReportSpec, seed: int) -> Iterator[tuple[int, str, Side, Sequence[int]]]:
    """Round, workload, side and thread counts of every block, all in order."""
    rounds = range(1, spec.rounds + 1)
    if not is_drawn(spec):
        for side in spec.measured_sides:
            for round_number in rounds:
                for workload in spec.workloads:
                    yield round_number, workload, side, spec.threads
        return
    first_sides = {
        workload: _balanced_first_sides(spec.rounds, _drawing(seed, workload))
        for workload in spec.workloads
    }
    for round_number in rounds:
        for workload in _workloads_of(spec, seed, round_number):
            thread_counts = _threads_of(spec, seed, round_number, workload)
            first = first_sides[workload][round_number - 1]
            for side in (first, next(other for other in SIDES if other != first)):
                yield round_number, workload, side, thread_counts


def _workloads_of(spec: ReportSpec, seed: int, round_number: int) -> Sequence[str]:
    """The workloads of a round: any order, each as likely as any other."""
    rng = _drawing(seed, "workloads", round_number)
    return rng.sample(spec.workloads, k=len(spec.workloads))


def _threads_of(spec: ReportSpec, seed: int, round_number: int, workload: str) -> Sequence[int]:
    """The thread counts of a pair of blocks: any order, each as likely as any other."""
    rng = _drawing(seed, "threads", round_number, workload)
    return rng.sample(spec.threads, k=len(spec.threads))


def _drawing(seed: int, *of: object) -> random.Random:
    """The random numbers of one decision, which do not depend on those of another."""
    return random.Random("/".join(map(str, (seed, *of))))  # noqa: S311


def _restores(policy: RestorePolicy, first_of_block: bool, dirty: bool) -> bool:
    by_policy: dict[RestorePolicy, bool] = {
        "every_trial": True,
        "after_writes": dirty,
        "per_workload": first_of_block,
        "never": False,
    }
    return by_policy[policy]


def _balanced_first_sides(rounds: int, rng: random.Random) -> list[Side]:
    """The side that comes first in each round: each in half of them; an odd round is random."""
    sides: list[Side] = [*SIDES * (rounds // 2), *rng.sample(SIDES, k=rounds % 2)]
    rng.shuffle(sides)
    return sides
