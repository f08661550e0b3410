"""Compared profiles: how often a change is called where there is none, and how often one is found.

Profiles are drawn from a recorded one of TiDB: multinomial, each function's share times a gamma
variable of its own, as replicates differ by more than chance. One function, that whose share is
nearest to 3 %, takes 20 % more on the candidate's side.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchlab.analysis.cause.profiles import compare
from benchlab.results.pprof import Profile, read
from tools.study.bounds import PROCESSES, Share
from tools.study.promises import SEED

RECORDED = Path(__file__).parents[2] / "tests" / "golden" / "pprof" / "tidb_cpu.pb.gz"
SHARE, CAMPAIGNS = 0.03, 100


class Case(NamedTuple):
    """Campaigns of so many profiles a side.

    Attributes:
        spread: standard deviation of a function's share between replicates, beside chance.
        dearer: of the planted function; 0: both sides are alike.
    """

    profiles: int
    samples: int
    spread: float
    dearer: float


class Counted(NamedTuple):
    """What campaigns of a case came to: any change called, and the planted one found."""

    case: Case
    any: Share
    found: Share


CASES = (
    Case(4, 10_000, 0.0, 0.2),
    Case(4, 10_000, 0.03, 0.2),
    Case(6, 10_000, 0.03, 0.2),
    Case(4, 10_000, 0.03, 0.0),
    Case(4, 10_000, 0.1, 0.0),
    Case(3, 1000, 0.1, 0.0),
)


class Drawn:
    """Draws profiles like a recorded one."""

    def __init__(self, recorded: Profile) -> None:
        self.recorded = recorded
        self.stacks = [*recorded.stacks]
        counts = np.array([values[0] for values in recorded.stacks.values()], dtype=float)
        self.weights = counts / counts.sum()
        functions = sorted({stack[-1] for stack in self.stacks})
        places = {name: place for place, name in enumerate(functions)}
        self.leaf = np.array([places[stack[-1]] for stack in self.stacks])
        shares = np.bincount(self.leaf, self.weights)
        at = int(np.abs(shares - SHARE).argmin())
        self.planted = functions[at]
        self.is_planted = self.leaf == at
        self.weights[self.is_planted] *= SHARE / shares[at]
        self.weights[~self.is_planted] *= (1 - SHARE) / (1 - shares[at])

    def side(self, case: Case, dearer: float, rng: np.random.Generator) -> list[Profile]:
        """The profiles of one side."""
        return [self._profile(case, dearer, rng) for _ in range(case.profiles)]

    def _profile(self, case: Case, dearer: float, rng: np.random.Generator) -> Profile:
        factors = np.ones(self.leaf.max() + 1)
        if case.spread:
            factors = rng.gamma(case.spread**-2, case.spread**2, len(factors))
        weights = self.weights * factors[self.leaf] * np.where(self.is_planted, 1 + dearer, 1.0)
        counts = rng.multinomial(case.samples, weights / weights.sum())
        period = self.recorded.period
        stacks = {
            stack: (int(count), int(count) * period)
            for stack, count in zip(self.stacks, counts, strict=True)
        }
        return replace(self.recorded, stacks=stacks)


def count(case: Case, campaigns: int = CAMPAIGNS) -> Counted:
    """Draw campaigns of a case, and have them compared."""
    drawn, rng = Drawn(read(RECORDED)), np.random.default_rng([SEED, CASES.index(case)])
    called = found = 0
    for _ in range(campaigns):
        made = compare(drawn.side(case, 0.0, rng), drawn.side(case, case.dearer, rng))
        names = {part.name for part in made.changed if part.change > 0}
        called += bool(made.changed or made.moved or any(one.changed for one in made.modules))
        found += drawn.planted in names
    return Counted(case, Share(called, campaigns), Share(found, campaigns))


def study() -> list[Counted]:
    """All cases."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        return [*pool.map(count, CASES)]


def page(counted: Sequence[Counted]) -> str:
    """A table in Markdown."""
    lines = [
        "| profiles | samples | spread | dearer | any change, % | found, % |",
        f"|{'---|' * 6}",
    ]
    for case, called, found in counted:
        lines.append(
            f"| {case.profiles} + {case.profiles} | {case.samples:,} | {case.spread:.0%} | "
            f"{case.dearer:.0%} | {called} | {found if case.dearer else ''} |"
        )
    return "\n".join(lines) + "\n"
