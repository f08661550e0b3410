"""A report type becomes an ordered list of trials, with an estimate of time and disk.

Order (the words are those of docs/GLOSSARY.md): a round holds, for every workload, the block of
each side, the two adjacent in time so that slow drift of the machine hits both alike. Which of
the two comes first is balanced over the rounds of a workload and otherwise random, decided by a
seed that the plan carries.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from benchlab.spec import SIDES, ReportSpec, RestorePolicy, Side, SideSpec

# Seconds that a step takes besides what the spec says, seen on 2 cores with MariaDB; they only
# feed the estimate. Time left while a campaign runs is taken from its own pace.
PREPARE_S = 9.0
LOAD_ROWS_PER_S = 60_000
RESTORE_S = 0.6
RESTART_S = 1.9
CAMPAIGN_S = 18.0

# An empty server (system tables, redo and undo logs), and a row with its index entry and the
# free space of half-filled pages, as measured after `sysbench prepare`.
EMPTY_SERVER_BYTES = 160 * 2**20
ROW_BYTES = 260
GIB = 2**30


@dataclass(frozen=True)
class PlannedTrial:
    """One measured execution of one cell on one side in one round.

    Attributes:
        index: place in the plan, from 0.
        round: from 1.
        restore: whether the snapshot is laid back before it.
        seconds: measured length, without warm-up.
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
        """Its name within the campaign, fit for a file name."""
        return f"r{self.round}-{self.side}-{self.workload}-t{self.threads}"

    @property
    def title(self) -> str:
        """Its name for people, as in the Airflow UI."""
        name = self.workload.removeprefix("oltp_")
        return f"round {self.round} · {self.side} · {name} · {self.threads} threads"

    @property
    def pair(self) -> tuple[int, str]:
        """The pair of blocks it belongs to: measured again as a whole when one is invalid."""
        return (self.round, self.workload)


@dataclass(frozen=True)
class Host:
    """A machine of the plan; instance_type and vcpu are None where nothing is rented."""

    role: str
    instance_type: str | None
    vcpu: int | None


@dataclass(frozen=True)
class Plan:
    """What a campaign will do.

    Attributes:
        minutes: estimated wall time.
        dollars: None where nothing is rented.
        disk_gib: estimated space for the data and snapshots of both sides.
    """

    report: str
    engine: str
    target: str
    sides: dict[Side, SideSpec]
    rounds: int
    seed: int
    trials: tuple[PlannedTrial, ...]
    hosts: tuple[Host, ...]
    minutes: float
    dollars: float | None
    disk_gib: float

    def to_json(self) -> dict[str, Any]:
        """The shape that ``benchlab plan --json`` prints."""
        return {
            "report": self.report,
            "engine": self.engine,
            "target": self.target,
            "sides": {side: spec.model_dump() for side, spec in self.sides.items()},
            "rounds": self.rounds,
            "seed": self.seed,
            "trials": [asdict(trial) for trial in self.trials],
            "hosts": [asdict(host) for host in self.hosts],
            "minutes": self.minutes,
            "dollars": self.dollars,
            "disk_gib": self.disk_gib,
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Plan:
        """The inverse of :meth:`to_json`."""
        return cls(
            **{
                **raw,
                "sides": {side: SideSpec(**spec) for side, spec in raw["sides"].items()},
                "trials": tuple(PlannedTrial(**trial) for trial in raw["trials"]),
                "hosts": tuple(Host(**host) for host in raw["hosts"]),
            }
        )


def make(spec: ReportSpec, engine: str, campaign: str, read_only: Iterable[str]) -> Plan:
    """Plan a campaign.

    Args:
        spec: the report type, overrides applied.
        engine: the engine that is deployed; a key of ``spec.engines``.
        campaign: the campaign's id; its hash is the seed where the spec has none.
        read_only: the workloads that leave the data as they found it.
    """
    seed = spec.seed if spec.seed is not None else seed_of(campaign)
    trials = tuple(_trials(spec, seed, frozenset(read_only)))
    return Plan(
        report=spec.report,
        engine=engine,
        target=spec.target,
        sides={side: spec.side(engine, side) for side in SIDES},
        rounds=spec.rounds,
        seed=seed,
        trials=trials,
        hosts=(Host("all", None, None),),
        minutes=round(_seconds(spec, trials) / 60, 1),
        dollars=None,
        disk_gib=round(_disk_bytes(spec) / GIB, 2),
    )


def seed_of(campaign: str) -> int:
    """A seed from a campaign's id: the same id plans the same order, another one another."""
    return int.from_bytes(hashlib.sha256(campaign.encode()).digest()[:4])


def _trials(spec: ReportSpec, seed: int, read_only: frozenset[str]) -> Iterator[PlannedTrial]:
    first_sides = {
        workload: _balanced_first_sides(spec.rounds, random.Random(f"{seed}/{workload}"))  # noqa: S311
        for workload in spec.workloads
    }
    dirty = dict.fromkeys(SIDES, True)  # after the load: not yet proven equal to the snapshot
    index = 0
    for round_number in range(1, spec.rounds + 1):
        for workload in spec.workloads:
            first = first_sides[workload][round_number - 1]
            for side in (first, *(other for other in SIDES if other != first)):
                for position, threads in enumerate(spec.threads):
                    restore = _restores(spec.restore, position == 0, dirty[side])
                    yield PlannedTrial(
                        index, round_number, side, workload, threads, restore, spec.seconds
                    )
                    dirty[side] = workload not in read_only or (dirty[side] and not restore)
                    index += 1


def _restores(policy: RestorePolicy, first_of_block: bool, dirty: bool) -> bool:
    match policy:
        case "every_trial":
            return True
        case "after_writes":
            return dirty
        case "per_workload":
            return first_of_block
        case "never":
            return False


def _balanced_first_sides(rounds: int, rng: random.Random) -> list[Side]:
    """Each side comes first in half of the rounds; with an odd number, chance has one."""
    sides: list[Side] = [*SIDES * (rounds // 2), *rng.sample(SIDES, k=rounds % 2)]
    rng.shuffle(sides)
    return sides


def _seconds(spec: ReportSpec, trials: tuple[PlannedTrial, ...]) -> float:
    rows = spec.dataset.tables * spec.dataset.table_size
    prepare = 2 * (PREPARE_S + rows / LOAD_ROWS_PER_S)
    measure = sum(
        RESTART_S + (RESTORE_S if trial.restore else 0) + spec.warmup_seconds + trial.seconds
        for trial in trials
    )
    return CAMPAIGN_S + prepare + measure


def _disk_bytes(spec: ReportSpec) -> float:
    rows = spec.dataset.tables * spec.dataset.table_size
    one_copy = EMPTY_SERVER_BYTES + rows * ROW_BYTES
    return 2 * 2 * one_copy  # two sides, each with data and snapshot
