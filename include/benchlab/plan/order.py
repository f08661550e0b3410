"""The order in which a campaign's trials run; docs/GLOSSARY.md defines the terms.

Interleaved: a round holds both sides' blocks of every workload, adjacent in time so that slow drift
of the machine affects both alike. Which side comes first is balanced over the rounds of a workload
and otherwise random, decided by a seed that the plan keeps. Sequential: all blocks of the baseline,
then all blocks of the candidate.

Example:
    ``[trial.id for trial in trials(spec, seed=1, read_only={"oltp_point_select"})]``
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator
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
    """

    index: int
    round: int
    side: Side
    workload: str
    threads: int
    restore: bool
    seconds: int

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
    for round_number, workload, side in _blocks(spec, seed):
        for position, threads in enumerate(spec.threads):
            restore = _restores(spec.restore, position == 0, dirty[side])
            yield PlannedTrial(index, round_number, side, workload, threads, restore, spec.seconds)
            dirty[side] = workload not in unchanging or (dirty[side] and not restore)
            index += 1


def _blocks(spec: ReportSpec, seed: int) -> Iterator[tuple[int, str, Side]]:
    rounds = range(1, spec.rounds + 1)
    if spec.placement == "sequential" or spec.sides == "single":
        for side in spec.measured_sides:
            for round_number in rounds:
                for workload in spec.workloads:
                    yield round_number, workload, side
        return
    first_sides = {
        workload: _balanced_first_sides(spec.rounds, random.Random(f"{seed}/{workload}"))  # noqa: S311
        for workload in spec.workloads
    }
    for round_number in rounds:
        for workload in spec.workloads:
            first = first_sides[workload][round_number - 1]
            yield round_number, workload, first
            yield round_number, workload, next(other for other in SIDES if other != first)


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
