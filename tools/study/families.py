"""Whole reports: throughput, p95 latency and four counts of every workload, with their 5 % shared.

Latencies go with throughputs (r = -0.9), and counts are independent of both: the worst that can be
of error rates that add up. The rule itself judges every campaign
(:func:`benchlab.analysis.verdict.compare.judge`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchlab.analysis.verdict.compare import WorkloadComparison, judge
from benchlab.analysis.verdict.decision import ALPHA, SHARES, Decision, shares
from benchlab.analysis.verdict.estimates import Calibration, calibrate
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.engines.counts import Count
from benchlab.plan.metric import COUNT, LATENCY, THROUGHPUT, Metric
from benchlab.plan.report_type import SIDES
from benchlab.workloads.sysbench import METRICS
from tools.study import rules
from tools.study.bounds import PROCESSES, Share, share_of
from tools.study.promises import SEED
from tools.study.worlds import (
    DEPLOYMENT,
    NOISE,
    THREADS,
    WORKLOADS,
    Array,
    World,
    as_rounds,
    draw,
    in_one_column,
)

CORRELATION = -0.9
# Of the counts of a side in a round, all of whose thread counts are alike: coefficients of
# variation. On real servers handler reads have 0.05 %, allocations 0.5 %, CPU 3 %, redo bytes 11 %.
CVS = {"count_0.05": 0.0005, "count_0.5": 0.005, "count_3": 0.03, "count_15": 0.15}
COUNTS = tuple(Count(name, "server", ()).metric() for name in CVS)
CHOICES = (1.0, 0.9, 0.8, 0.7, 0.6)
"""What throughput may have of the 5 %; latency and counts have half of the rest each. At 1.0 each
of the three families has 5 % of its own, as up to rule 4."""


@dataclass(frozen=True)
class Setting:
    """What campaigns have, and what is known before them.

    Attributes:
        deployed: by how much a deployment of a side truly shifts a count (a standard deviation).
    """

    name: str
    world: World
    deployments: int = 1
    aa_campaigns: int = 0
    deployed: float = Count.side_sd


FAR = replace(DEPLOYMENT, name="deployments of 1.5 %", deployment_sd=0.015)
NEAR = replace(DEPLOYMENT, name="deployments of 0.7 %")
TAILS = replace(NEAR, name="heavy tails, deployments of 0.7 %", tails=3)
NOISY = replace(NOISE, name="rounds of 20 %", scales=(10.0,) * len(WORKLOADS))
PLAIN, CALIBRATED, SPLIT = (1, 0), (1, 5), (6, 0)
WORDS = {PLAIN: "no A/A", CALIBRATED: "5 A/A", SPLIT: "6 deployments of 1 round"}
SETTINGS = tuple(
    Setting(f"{world.name}; {WORDS[design]}", world, *design)
    for world, design in (
        *((world, design) for world in (NEAR, FAR) for design in WORDS),
        *((world, design) for world in (TAILS, NOISY) for design in (PLAIN, SPLIT)),
    )
)


@dataclass(frozen=True)
class Change:
    """What the first workload of the candidate truly is, in percent."""

    throughput: float = 0.0
    latency: float = 0.0
    counts: Mapping[str, float] | None = None

    def of(self, metric: str) -> float:
        """The change of a metric, as a logarithm."""
        own = {"tps": self.throughput, "p95_ms": self.latency, **(self.counts or {})}
        return float(np.log1p(own.get(metric, 0.0) / 100))


NONE = Change()


def campaigns(
    setting: Setting, count: int, rng: np.random.Generator, change: Change = NONE
) -> list[list[Rounds]]:
    """So many campaigns, in one column, with all three families."""
    rate, alone = (
        in_one_column(draw(setting.world, count, rng, deployments=setting.deployments))
        for _ in range(2)
    )
    level = np.log(1000 * np.sqrt(np.asarray(THREADS))).mean()
    independent = (1 - CORRELATION**2) ** 0.5
    values = {
        "tps": rate,
        "p95_ms": np.exp(
            CORRELATION * (np.log(rate) - level) + independent * (np.log(alone) - level)
        ),
    }
    for name, cv in CVS.items():
        world = World(name, cv, 0.0, tails=setting.world.tails, deployment_sd=setting.deployed)
        values[name] = in_one_column(draw(world, count, rng, deployments=setting.deployments))
    for name, array in values.items():
        array[:, 0, ..., 1] *= np.exp(change.of(name))
    return [
        _as_rounds({name: array[index] for name, array in values.items()}, setting.deployments)
        for index in range(count)
    ]


def _as_rounds(values: Mapping[str, Array], deployments: int) -> list[Rounds]:
    made = as_rounds(values["tps"], deployments)
    metrics: tuple[Metric, ...] = (*METRICS, *COUNTS)
    return [
        replace(
            one,
            metrics=metrics,
            sides=SIDES,
            values={name: array[place] for name, array in values.items()},
        )
        for place, one in enumerate(made)
    ]


def judged(
    setting: Setting, count: int, rng: np.random.Generator, change: Change = NONE
) -> list[tuple[WorkloadComparison, ...]]:
    """What the rule says of so many campaigns; each five A/A campaigns serve two of them."""
    made = campaigns(setting, count, rng, change)
    known: list[Calibration | None] = [None] * count
    if setting.aa_campaigns:
        calibrations = (count + 1) // 2
        aa = campaigns(setting, calibrations * setting.aa_campaigns, rng)
        groups = np.array_split(np.arange(len(aa)), calibrations)
        known = [
            calibrate({f"aa-{index}": aa[index] for index in group.tolist()})
            for group in groups
            for _ in range(2)
        ]
    return [
        judge(campaign, rules.THRESHOLD_PCT, calibration=calibration)
        for campaign, calibration in zip(made, known, strict=False)
    ]


def called(metric: Metric, found: Decision, share: float | None = None) -> bool:
    """Whether a metric is called a change, had its family another share of the 5 %."""
    if found.p_adjusted is None or found.estimate_pct is None:
        return False
    own = shares(SHARES)[metric.family]
    least = metric.threshold_pct or rules.THRESHOLD_PCT
    return found.p_adjusted * own / (share or own) < ALPHA and abs(found.estimate_pct) >= least


def false_alarms(setting: Setting, count: int, rng: np.random.Generator) -> Share:
    """How many reports without any change call one, in whichever family."""
    return share_of(
        [
            any(called(*one) for workload in campaign for one in workload.decided)
            for campaign in judged(setting, count, rng)
        ]
    )


# What is found, by how the 5 % are shared

CAMPAIGNS, PORTION = 2000, 250
PLANTED = (
    Change(-3.0, 5.0, {"count_0.05": 1.5}),
    Change(-5.0, 5.0, {"count_0.5": 1.5}),
)
Tally = dict[str, NDArray[np.int_]]
"""By what is counted, in how many campaigns of each choice."""


def parts(throughput: float) -> dict[str, float]:
    """The families' parts of the 5 % where throughput has this one (:data:`CHOICES`)."""
    if throughput == 1:
        return dict.fromkeys((THROUGHPUT, LATENCY, COUNT), 1.0)
    rest = (1 - throughput) / 2
    return {THROUGHPUT: throughput, LATENCY: rest, COUNT: rest}


def tally(setting: Setting, change: Change, count: int, rng: np.random.Generator) -> Tally:
    """What is called in so many campaigns, for every choice."""
    made = judged(setting, count, rng, change)
    found = {name: np.zeros(len(CHOICES), dtype=int) for name in _names(change)}
    for campaign in made:
        for column, choice in enumerate(CHOICES):
            own = parts(choice)
            if change == NONE:
                found["a false change"][column] += any(
                    called(metric, decided, own[metric.family])
                    for workload in campaign
                    for metric, decided in workload.decided
                )
                continue
            for metric, decided in campaign[0].decided:
                if name := _names_of(change).get(metric.name):
                    found[name][column] += called(metric, decided, own[metric.family])
    return found


def _names(change: Change) -> list[str]:
    return list(_names_of(change).values()) or ["a false change"]


def _names_of(change: Change) -> dict[str, str]:
    """What is counted, by the metric that has changed."""
    if change == NONE:
        return {}
    counts = change.counts or {}
    return {
        "tps": f"throughput {change.throughput:+g} % found",
        "p95_ms": f"latency {change.latency:+g} % found",
        **{
            name: f"a count of {100 * CVS[name]:g} % {percent:+g} % found"
            for name, percent in counts.items()
        },
    }


def _portion(setting: Setting, change: Change, number: int) -> Tally:
    names = "".join((setting.name, *_names(change)))
    return tally(
        setting, change, PORTION, np.random.default_rng([SEED, crc32(names.encode()), number])
    )


def study(campaigns: int = CAMPAIGNS) -> dict[tuple[str, str], list[Share]]:
    """By setting and what is counted, its share for each choice."""
    tasks = [
        (setting, change, number)
        for setting in SETTINGS
        for change in (NONE, *PLANTED)
        for number in range(campaigns // PORTION)
    ]
    hits: dict[tuple[str, str], list[NDArray[np.int_]]] = {}
    with ProcessPoolExecutor(PROCESSES) as pool:
        done = pool.map(_portion, *zip(*tasks, strict=True))
        for (setting, *_), found in zip(tasks, done, strict=True):
            for name, portion in found.items():
                hits.setdefault((setting.name, name), []).append(portion)
    return {
        key: [Share(int(count), PORTION * len(portions)) for count in np.sum(portions, axis=0)]
        for key, portions in hits.items()
    }


def page(found: Mapping[tuple[str, str], Sequence[Share]]) -> str:
    """A table in Markdown: what each choice costs and gives, in percent of campaigns."""
    heads = ["5 % each", *(f"{choice:g}" for choice in CHOICES[1:])]
    lines = [
        f"| campaigns | what is counted | {' | '.join(heads)} |",
        f"| --- | --- |{' ---: |' * len(heads)}",
    ]
    lines += [
        f"| {setting} | {what} | {' | '.join(f'{100 * share.value:.1f}' for share in shares)} |"
        for (setting, what), shares in found.items()
    ]
    return "\n".join([*lines, ""])
