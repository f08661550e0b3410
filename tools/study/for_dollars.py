"""What 20 dollars find on a rented fleet: of the throughput, and of each count that is decided.

The planner prices each design, with its dataset on S3. Runs scatter as real ones did: throughput as
in the published reports (docs/statistics.md), counts as those of one TiDB v8.5.3 with PD and TiKV,
compared with itself on two shared cores. Two runs of a side share nothing but its deployment.

The smallest change is the one that the rule finds in four of five simulated campaigns, beside what
:func:`detectable_pct` tells a person who plans the campaign.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date
from zlib import crc32

import numpy as np

from benchlab import home
from benchlab.analysis.error_rates.deployments import Noise, assumed, detectable_pct
from benchlab.analysis.verdict.compare import judge
from benchlab.analysis.verdict.decision import level
from benchlab.analysis.verdict.estimates import LEAST_ROUNDS, Calibration, calibrate
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.variances import Squares
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.cli.report_argument import read_report_type
from benchlab.plan import plan
from benchlab.plan.metric import COUNT, THROUGHPUT, Metric
from benchlab.plan.open_loop import metrics_of
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Versioned
from benchlab.plan.steps import NOTHING_KNOWN
from tools.study.bounds import PROCESSES
from tools.study.families import called
from tools.study.promises import SEED
from tools.study.worlds import (
    BLOCK_SD,
    CELL_SD,
    DEPLOYMENT,
    Array,
    World,
    as_rounds,
    draw,
    in_one_column,
)

REPORT_TYPE = "sysbench_ec2"
VERSIONS = ["candidate=v8.5.6", "baseline=v8.5.5"]
PRICES_OF = date(2026, 1, 1)
DOLLARS = 20.0
DEPLOYMENTS = (1, 2, 3)
MOST_ROUNDS = 8
CAMPAIGNS = 200
POWER = 0.8
HALVINGS = 9
KNOWN = (0, 5)
"""A/A campaigns of the same design before."""
# Coefficients of variation from run to run, of the noisiest workload that was seen.
RUNS: Mapping[str, float] = {
    "kv_get": 0.0005,
    "written_keys": 0.003,
    "tidb_allocated_bytes": 0.005,
    "tidb_allocated_objects": 0.005,
    "applied_bytes": 0.01,
    "kv_prewrite": 0.015,
    "raft_log_bytes": 0.01,
    "tikv_cpu": 0.04,
    "tidb_cpu": 0.05,
}
OTHERS = 0.005


@dataclass(frozen=True)
class Design:
    """A plan for the money.

    Attributes:
        at_rate: with trials at equal load beside the others.
    """

    deployments: int
    rounds: int
    at_rate: bool
    planned: Plan = field(compare=False)
    spec: ReportSpec = field(compare=False)

    @property
    def dollars(self) -> float:
        """With the dataset there."""
        return self.planned.seeded_dollars or self.planned.dollars or 0.0

    def __str__(self) -> str:
        """As a heading: ``1 deployment, 3 rounds, $19.35``."""
        several = "s" if self.deployments > 1 else ""
        rate = ", equal load" if self.at_rate else ""
        return (
            f"{self.deployments} deployment{several}, {self.rounds} rounds{rate}, "
            f"${self.dollars:.2f}"
        )


def designs() -> Iterator[Design]:
    """The most rounds that the money buys, by deployments, without and with equal load."""
    here = home.find()
    written = read_report_type(here, REPORT_TYPE, VERSIONS)
    resolver = Resolver(here, asks=Asks.NOBODY)
    for at_rate in (False, True):
        for deployments in DEPLOYMENTS:
            best = None
            for rounds in range(max(LEAST_ROUNDS, deployments), MOST_ROUNDS + 1):
                fields = {"deployments": deployments, "rounds": rounds}
                spec = written.with_overrides(fields | ({"rate": "60 %"} if at_rate else {}))
                versioned = Versioned(spec, PRICES_OF, "tidb", "")
                planned = plan.make(resolver.complete(versioned, NOTHING_KNOWN), REPORT_TYPE)
                one = Design(deployments, rounds, at_rate, planned, spec)
                if one.dollars > DOLLARS:
                    break
                best = one
            if best:
                yield best


def world_of(metric: Metric) -> World:
    """How a metric scatters from block to block and from deployment to deployment."""
    if metric.family != COUNT:
        return DEPLOYMENT
    own = RUNS.get(metric.name, OTHERS)
    return World(metric.name, block_sd=own, cell_sd=0.0, deployment_sd=metric.side_sd)


def said_pct(design: Design, metric: Metric, aa_campaigns: int) -> float:
    """What the plan says of this metric, given A/A campaigns of the same design."""
    threads = [len(design.spec.threads_of(name)) for name in design.spec.as_written]
    noise = assumed(threads)
    own = level(design.planned.metrics, metric.family)
    if metric.family == COUNT:
        counts = [one for one in design.planned.metrics if one.family == COUNT]
        rounds = [2 * world_of(metric).block_sd ** 2] * len(threads)
        noise = replace(noise, rounds=rounds, prior=2 * metric.side_sd**2)
        own /= len(counts)
    known = _shown(design, noise, aa_campaigns)
    threshold = metric.threshold_pct or design.spec.threshold_pct
    return detectable_pct(
        replace(noise, level=own, shown=known, known=known),
        *(design.deployments, design.rounds, threshold),
    )


def _shown(design: Design, noise: Noise, aa_campaigns: int) -> Squares:
    """What A/A campaigns show on average, if deployments differ as the prior says."""
    s2 = np.array(noise.rounds)
    each, deployments = design.rounds / design.deployments, design.deployments * aa_campaigns
    within_df = float(aa_campaigns * (design.rounds - design.deployments))
    return Squares(
        within=s2 * within_df,
        within_df=np.full(s2.shape, within_df),
        between=(noise.prior + s2 / each) * deployments,
        between_df=np.full(s2.shape, float(deployments)),
        inverse_rounds=np.full(s2.shape, 1 / each if aa_campaigns else 0.0),
    )


def campaigns(design: Design, count: int, rng: np.random.Generator) -> Iterator[list[Rounds]]:
    """Campaigns in which nothing changed, with every metric that is decided."""
    drawn = {
        metric.name: np.concatenate([_drawn(design, metric, count, rng) for _ in range(2)], axis=1)
        for metric in design.planned.metrics
        if metric.family
    }
    metrics = {
        workload: tuple(
            metric
            for metric in metrics_of(workload, design.planned.metrics)
            if metric.family and metric.decided and metric.name in drawn
        )
        for workload in design.spec.workloads
    }
    for campaign in range(count):
        made = as_rounds(drawn["tps"][campaign, : len(metrics)], design.deployments)
        yield [
            replace(
                rounds,
                workload=workload,
                metrics=own,
                values={one.name: drawn[one.name][campaign, place] for one in own},
            )
            for place, (rounds, (workload, own)) in enumerate(
                zip(made, metrics.items(), strict=True)
            )
        ]


def _drawn(design: Design, metric: Metric, count: int, rng: np.random.Generator) -> Array:
    """Values of shape (campaigns, workloads, rounds, 1, 2)."""
    threads = len(design.spec.threads)
    shape = {"rounds": design.rounds, "threads": threads, "deployments": design.deployments}
    return in_one_column(draw(world_of(metric), count, rng, **shape))


@dataclass(frozen=True)
class Found:
    """The smallest change of a metric that four of five campaigns find.

    Attributes:
        planned_pct: as the plan says.
        pct: as the rule found in simulated campaigns.
    """

    planned_pct: float
    pct: float

    def __str__(self) -> str:
        return f"{self.pct:.1f} ({self.planned_pct:.1f})"


def found(design: Design, metric: Metric, aa_campaigns: int) -> Found:
    """The smallest change that is found of a metric; each campaign has its own A/A campaigns."""
    seed = [SEED, design.deployments, design.rounds, aa_campaigns, crc32(metric.name.encode())]
    rng = np.random.default_rng(seed)
    alike = campaigns(design, CAMPAIGNS * aa_campaigns, rng)
    smallest = []
    for campaign in campaigns(design, CAMPAIGNS, rng):
        known = {f"aa-{number}": next(alike) for number in range(aa_campaigns)}
        smallest.append(smallest_pct(campaign, design, metric, calibrate(known) if known else None))
    return Found(said_pct(design, metric, aa_campaigns), float(np.quantile(smallest, POWER)))


def smallest_pct(
    campaign: Sequence[Rounds], design: Design, metric: Metric, known: Calibration | None
) -> float:
    """The least that one campaign would have found, by halving.

    What depends on the load is changed where the load is equal.
    """
    place = next(n for n, rounds in enumerate(campaign) if metric.kind in rounds.kinds)
    least, most = 0.0, math.log(2)
    for _ in range(HALVINGS):
        middle = (least + most) / 2
        worse = -middle if metric.family == THROUGHPUT else middle
        changed = [*campaign]
        values = {**campaign[place].values}
        values[metric.name] = values[metric.name] * np.exp([0.0, worse])
        changed[place] = replace(campaign[place], values=values)
        judged = judge(changed, design.spec.threshold_pct, calibration=known)[place]
        decided = next(one for one in judged.decided if one[0].kind == metric.kind)
        least, most = (least, middle) if called(*decided) else (middle, most)
    return 100 * math.expm1(most) if metric.family != THROUGHPUT else -100 * math.expm1(-most)


def study() -> dict[tuple[Design, int, Metric], Found]:
    """What each design finds of each metric that it decides on always, or at equal load."""
    tasks = [
        (design, metric, aa_campaigns)
        for design in designs()
        for aa_campaigns in KNOWN
        for metric in design.planned.metrics
        if (metric.family == THROUGHPUT and not design.at_rate)
        or (metric.name in RUNS and metric.of_load == design.at_rate)
    ]
    with ProcessPoolExecutor(PROCESSES) as pool:
        done = pool.map(found, *zip(*tasks, strict=True))
        return {
            (design, aa_campaigns, metric): one
            for (design, metric, aa_campaigns), one in zip(tasks, done, strict=True)
        }


def page(made: Mapping[tuple[Design, int, Metric], Found]) -> str:
    """A table in Markdown: what is found, and what the plan says, by metric and design."""
    columns = list(dict.fromkeys((design, known) for design, known, _ in made))
    metrics = list(dict.fromkeys(metric for *_, metric in made))
    metrics.sort(key=lambda one: (one.family == COUNT, RUNS.get(one.name, 0)))
    heads = [f"{design}; {known or 'no'} A/A campaigns" for design, known in columns]
    lines = [
        f"| found in four of five, % (as planned) | runs vary by, % | {' | '.join(heads)} |",
        f"| --- | ---: |{' ---: |' * len(columns)}",
    ]
    for metric in metrics:
        cells = [
            str(one) if (one := made.get((design, known, metric))) else ""
            for design, known in columns
        ]
        runs = RUNS.get(metric.name, math.hypot(BLOCK_SD, CELL_SD))
        lines.append(f"| {metric.name} | {100 * runs:.2g} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])
