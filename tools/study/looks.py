"""Campaigns with ``design: release``: how often they err, what they find, and what they spare.

Each campaign of up to :data:`DEPLOYMENTS` deployments is ended by its looks, workload by workload,
as :mod:`benchlab.campaign.looking` ends it, and then decided by the rule. Beside it is the same
campaign measured whole, with ``design: fixed``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from statistics import fmean, median
from zlib import crc32

import numpy as np

from benchlab.analysis.verdict.compare import WorkloadComparison, judge
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.campaign.looking import why_left
from benchlab.plan.report_type import FIRST_LOOK
from tools.study import worlds
from tools.study.bounds import PROCESSES, Share
from tools.study.promises import SEED
from tools.study.rules import THRESHOLD_PCT
from tools.study.worlds import World, draw, in_one_column, one_workload

DEPLOYMENTS, THREADS, CAMPAIGNS = 8, 3, 1000
LOOKS = tuple(range(FIRST_LOOK, DEPLOYMENTS + 1))
WORLDS = (
    worlds.DEPLOYMENT,
    World("deployments of 1.5 %", deployment_sd=0.015),
    World("heavy tails", tails=3, deployment_sd=0.007),
    World("deployments alike in all workloads", deployment_sd=0.007, alike=True),
    worlds.unlike("one of three times the noise", (1, 1, 1, 1, 3)),
)
CHANGES = (0.0, -2.0, -3.0, -5.0, -8.0)


@dataclass
class Counted:
    """What campaigns of one world and change came to, of the first workload unless said.

    Attributes:
        false: campaigns with any change called in a workload that has none.
        found: campaigns that call the change by its sign.
        equal: campaigns that call it equivalent.
        covered: intervals that have the truth, and all intervals.
        spent: deployments until the last workload was decided.
        first: deployments until the first workload was.
        estimates: in percent.
    """

    campaigns: int = 0
    false: int = 0
    found: int = 0
    equal: int = 0
    covered: list[int] = field(default_factory=lambda: [0, 0])
    spent: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    estimates: list[float] = field(default_factory=list)


def looked(workloads: Sequence[Rounds]) -> tuple[tuple[WorkloadComparison, ...], list[int]]:
    """A campaign ended by its looks: its comparison, and the last deployment of each workload."""
    left = dict.fromkeys((rounds.workload for rounds in workloads), DEPLOYMENTS)
    on = set(left)
    for look in LOOKS[:-1]:
        seen = [rounds.until(min(look, left[rounds.workload])) for rounds in workloads]
        for one in judge(seen, THRESHOLD_PCT, looks=LOOKS):
            if one.name in on and why_left(one):
                left[one.name] = look
                on.remove(one.name)
        if not on:
            break
    seen = [rounds.until(left[rounds.workload]) for rounds in workloads]
    return judge(seen, THRESHOLD_PCT, looks=LOOKS), [*left.values()]


def count(world: World, percent: float, campaigns: int, *, fixed: bool) -> Counted:
    """Simulate campaigns in which the first workload truly changes by so many percent."""
    rng = np.random.default_rng([SEED, crc32(f"{world.name} {percent}".encode())])
    counted = Counted()
    drawn = in_one_column(
        draw(
            *(world, campaigns, rng),
            rounds=DEPLOYMENTS,
            threads=THREADS,
            deployments=DEPLOYMENTS,
            change=one_workload(percent),
        )
    )
    for one in drawn:
        rounds = worlds.as_rounds(one, DEPLOYMENTS)
        found, last = (judge(rounds, THRESHOLD_PCT), [DEPLOYMENTS]) if fixed else looked(rounds)
        _add(counted, found, last, percent)
    return counted


def _add(
    counted: Counted, found: Sequence[WorkloadComparison], last: Sequence[int], percent: float
) -> None:
    counted.campaigns += 1
    first, *others = found
    truly = {one.name: 0.0 for one in others} | {first.name: percent}
    wrong = ("regression", "improvement")
    wrong_first = first.verdict in (wrong[1:] if percent else wrong)
    counted.false += wrong_first or any(one.verdict in wrong for one in others)
    counted.found += first.verdict == "regression" and percent < 0
    counted.equal += first.verdict == "equivalent"
    for one in found:
        if one.ci95_pct:
            counted.covered[1] += 1
            counted.covered[0] += one.ci95_pct[0] <= truly[one.name] <= one.ci95_pct[1]
    counted.spent.append(max(last))
    counted.first.append(last[0])
    if first.estimate_pct is not None:
        counted.estimates.append(first.estimate_pct)


def study(campaigns: int = CAMPAIGNS) -> list[tuple[str, float, bool, Counted]]:
    """All worlds and changes, with looks and whole."""
    tasks = [
        (world, percent, fixed)
        for world in WORLDS
        for percent in CHANGES
        for fixed in (False, True)
    ]
    with ProcessPoolExecutor(PROCESSES) as pool:
        made = [
            pool.submit(count, world, percent, campaigns, fixed=fixed)
            for world, percent, fixed in tasks
        ]
        return [
            (world.name, percent, fixed, one.result())
            for (world, percent, fixed), one in zip(tasks, made, strict=True)
        ]


def page(found: Sequence[tuple[str, float, bool, Counted]]) -> str:
    """A table in Markdown."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Sequence[tuple[str, float, bool, Counted]]) -> Iterator[str]:
    names = (
        *("world", "change", "design", "any false alarm, %", "found, %", "equivalent, %"),
        *("covered, %", "deployments", "of the changed", "median estimate"),
    )
    yield f"| {' | '.join(names)} |"
    yield f"|{'---|' * len(names)}"
    for world, percent, fixed, one in found:
        shares = (one.false, one.found, one.equal)
        cells = [
            *(world, f"{percent:g} %", "fixed" if fixed else "release"),
            *(str(Share(hits, one.campaigns)) for hits in shares),
            str(Share(*one.covered)),
            f"{fmean(one.spent):.1f}",
            f"{fmean(one.first):.1f}",
            f"{median(one.estimates):+.2f} %",
        ]
        yield f"| {' | '.join(cells)} |"
