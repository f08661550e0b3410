"""What the rule promises where only the figures of the rounds count: no gates, nothing missing.

Five workloads, six rounds, six thread counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from scipy import stats

from benchlab.analysis.verdict.compare import judge
from benchlab.analysis.verdict.decision import Decision
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.language import Message, Said
from tools.study import at_once, rules
from tools.study.at_once import Estimates
from tools.study.bounds import Row, Share, share_of
from tools.study.worlds import (
    DEPLOYMENT,
    NOISE,
    ROUNDS,
    WORKLOADS,
    Array,
    World,
    as_rounds,
    draw,
    in_one_column,
    one_workload,
    unlike,
)

BIAS = 0.015
# Of p values that one test of Kolmogorov and Smirnov judges together.
BATCH = 50
# A latency is in either of two modes, trial by trial, and so many times as long in the second.
SECOND_MODE = 3.0

NEAR = replace(DEPLOYMENT, name="deployments of 0.7 %")
FAR = replace(DEPLOYMENT, name="deployments of 1.5 %", deployment_sd=0.015)
OUTLIERS = replace(NEAR, name="heavy tails, deployments of 0.7 %", tails=3)
PREPARED = replace(NEAR, name="side bias of 1.5 % by order of preparation", second_bias=BIAS)
HELD = replace(NEAR, name="side bias of 1.5 % by host or port", side_bias=BIAS)
UNLIKE = unlike("x0.4 to x2.5", np.geomspace(0.4, 2.5, len(WORKLOADS)).tolist())
QUIET_ROUNDS = replace(
    NEAR, name="quiet rounds, deployments of 0.7 %", block_sd=0.004, cell_sd=0.005
)
HALF = replace(NEAR, name="a period half as noisy", scales=(0.5,) * len(WORKLOADS))
TENTH = replace(NEAR, name="all noise a tenth", scales=(0.1,) * len(WORKLOADS))


@dataclass(frozen=True)
class Design:
    """What is measured in a campaign, and what is known before it.

    Attributes:
        aa_campaigns: that its calibration is from; 0: there is none.
        calibrated_in: the world of these; None: the campaign's own.
        aa_deployments: of each of these.
        earlier: campaigns before it that compared two versions, deployed like it.

    Example:
        ``str(Design(6, 1))`` is ``6 deployments of 1 round``.
    """

    deployments: int = 1
    rounds: int = ROUNDS
    aa_campaigns: int = 0
    calibrated_in: World | None = None
    aa_deployments: int = 1
    earlier: int = 0

    def __str__(self) -> str:
        period = f" of {self.calibrated_in.name}" if self.calibrated_in else ""
        alike = " of as many" * (self.aa_deployments > 1)
        known = f"{self.aa_campaigns or 'no'} A/A{alike}{period}"
        if self.deployments > 1:
            each = self.rounds // self.deployments
            own = f"{self.deployments} deployments of {each} round{'s' * (each > 1)}"
            own = f"{own}, {known}" if self.aa_campaigns else own
            return f"{own}, {self.earlier} such campaigns before{period}" if self.earlier else own
        longer = f", {self.rounds} rounds" * (self.rounds != ROUNDS)
        return f"{known}{longer}"

    def judged(
        self, world: World, campaigns: int, rng: np.random.Generator, change_pct: float = 0.0
    ) -> Estimates:
        """What the rule finds where the first workload has changed."""
        own = at_once.ratios(world, campaigns, rng, self.rounds, self.deployments)
        aa = at_once.known(
            *(self.calibrated_in or world, campaigns, rng),
            *(self.aa_campaigns, self.rounds, self.aa_deployments),
        )
        earlier = at_once.before(self.calibrated_in or world, campaigns, rng, self.earlier, own)
        return at_once.judged(own, aa, earlier).moved(one_workload(change_pct)[:, 0])


PLAIN, SPLIT = Design(), Design(deployments=6)
AA = {count: Design(aa_campaigns=count) for count in (3, 5, 10, 20)}


def called(world: World, design: Design, campaigns: int, rng: np.random.Generator) -> Share:
    """In how many campaigns without any change a workload is called one."""
    return share_of((design.judged(world, campaigns, rng).called != 0).any(axis=1))


def found(
    percent: float, world: World, design: Design, campaigns: int, rng: np.random.Generator
) -> Share:
    """In how many campaigns a loss of the first workload is called a regression."""
    return share_of(design.judged(world, campaigns, rng, percent).called[:, 0] == -1)


def equivalent(
    percent: float, world: World, design: Design, campaigns: int, rng: np.random.Generator
) -> Share:
    """In how many campaigns a change of the first workload is called none."""
    return share_of(design.judged(world, campaigns, rng, percent).equivalent[:, 0])


def covered(
    workloads: slice, world: World, design: Design, campaigns: int, rng: np.random.Generator
) -> Share:
    """How many intervals of these workloads contain the truth, which is no change."""
    return share_of(design.judged(world, campaigns, rng).covered[:, workloads])


def not_uniform(
    side: Literal["two-sided", "greater"],
    world: World,
    design: Design,
    campaigns: int,
    rng: np.random.Generator,
) -> Share:
    """How many batches of p values the test of Kolmogorov and Smirnov rejects, at 5 %.

    Each campaign gives one p value: of its first workload alone.

    Args:
        side: ``two-sided``, or ``greater``: only p values that are too small count.
    """
    p = design.judged(world, campaigns, rng).p_values[:, 0]
    batches = np.reshape(p, (-1, BATCH))
    return share_of(stats.kstest(batches, "uniform", alternative=side, axis=1).pvalue < 0.05)


def p95_called(campaigns: int, rng: np.random.Generator) -> Share:
    """In how many campaigns without any change a p95 latency of two modes is called one."""
    changes = {"improvement", "regression"}
    return share_of(
        [
            any(decided.verdict in changes for decided in campaign)
            for campaign in _p95(0.0, campaigns, rng)
        ]
    )


def p95_answered(percent: float, campaigns: int, rng: np.random.Generator) -> Share:
    """In how many campaigns a shorter p95 latency of two modes is found, or said to be beyond them.

    An answer is a call, or the sentence that says what a plan would take to decide.
    """
    return share_of(
        [
            first.verdict == "improvement" or "reason-undecidable" in map(_id, first.reasons)
            for first, *_ in _p95(percent, campaigns, rng)
        ]
    )


def _id(said: Said) -> str:
    return said.id if isinstance(said, Message) else said


def _p95(percent: float, campaigns: int, rng: np.random.Generator) -> Iterator[list[Decision]]:
    """The decisions on p95 latencies, the first workload's shorter by ``percent`` (negative)."""
    drawn = draw(NOISE, campaigns, rng)
    latencies = np.where(rng.random(drawn.shape) < 0.5, 5.0, 5.0 * SECOND_MODE)
    latencies[:, 0, ..., 1] *= 1 + percent / 100
    for throughputs, p95 in zip(in_one_column(drawn), in_one_column(latencies), strict=True):
        judged = judge(_with_latencies(throughputs, p95), rules.THRESHOLD_PCT)
        yield [workload.latency for workload in judged]


def _with_latencies(throughputs: Array, latencies: Array) -> list[Rounds]:
    return [
        replace(rounds, values={**rounds.values, "p95_ms": p95})
        for rounds, p95 in zip(as_rounds(throughputs), latencies, strict=True)
    ]


def alarms(
    world: World,
    design: Design,
    bound: float = 5.0,
    wanted: float | None = None,
    why: str = "",
) -> Row:
    """A row: so many campaigns call a change where there is none, at most."""
    count = partial(called, world, design)
    name = f"{world.name}; {design}"
    return Row(name, "called a change", bound, True, count, wanted=wanted, why=why)


def finds(
    percent: float,
    world: World,
    design: Design,
    bound: float,
    wanted: float | None = None,
    why: str = "",
) -> Row:
    """A row: so many campaigns find a loss, at least."""
    count = partial(found, percent, world, design)
    name = f"{world.name}; {design}"
    return Row(name, f"{percent:g} % found", bound, False, count, wanted=wanted, why=why)


def covers(
    world: World,
    design: Design,
    bound: float = 94.0,
    which: tuple[str, slice] = ("", slice(None)),
    wanted: float | None = None,
    why: str = "",
) -> Row:
    """A row: so many intervals contain the truth, at least."""
    words, workloads = which
    count = partial(covered, workloads, world, design)
    name = f"{world.name}; {design}"
    return Row(name, f"covered{words}", bound, False, count, wanted=wanted, why=why)


PRICE = (
    "the next deployment may differ by as much, and nothing shows that it does not: A/A campaigns, "
    "or several deployments, do"
)
UNSHOWN = (
    "one deployment shows nothing of how deployments differ, and a wider prior finds too little: "
    "see docs/statistics.md"
)
NOT_LOWERED = (
    "no workload's variance is made smaller by what others show, or the intervals of unlike ones "
    "would be too narrow: see ADR 29"
)
FEW_SQUARES = (
    "a workload's own five squares, and those of four others that may be unlike it: see ADR 29"
)
SHARED = "throughput has four fifths of what a report may err; latency and counts have the rest"
QUIETEST, NOISIEST = (", the quietest", slice(1)), (", the noisiest", slice(-1, None))
ROWS: tuple[Row, ...] = (
    # Who is prepared first does something: it is drawn. So does a port or a host: they are not.
    alarms(PREPARED, PLAIN),
    alarms(PREPARED, AA[5], 3),
    alarms(PREPARED, AA[10], 3),
    alarms(PREPARED, AA[20], 3),
    alarms(PREPARED, SPLIT),
    alarms(HELD, AA[5]),
    alarms(HELD, AA[10]),
    alarms(HELD, AA[20]),
    covers(HELD, AA[5]),
    covers(HELD, AA[20]),
    # Workloads that are unlike each other.
    finds(-5, UNLIKE, AA[5], 95),
    finds(-5, UNLIKE, AA[10], 95),
    finds(-5, UNLIKE, AA[20], 95),
    alarms(UNLIKE, AA[5]),
    alarms(UNLIKE, AA[20]),
    alarms(UNLIKE, SPLIT),
    covers(UNLIKE, AA[5], which=QUIETEST),
    covers(UNLIKE, AA[5], which=NOISIEST),
    covers(UNLIKE, SPLIT, which=QUIETEST),
    covers(UNLIKE, SPLIT, which=NOISIEST),
    # What a few A/A campaigns are worth.
    alarms(NEAR, AA[3], 3),
    covers(NEAR, AA[3]),
    alarms(NEAR, AA[5]),
    finds(-5, NEAR, AA[5], 70, 75, NOT_LOWERED),
    finds(-5, NEAR, AA[10], 77, 85, NOT_LOWERED),
    alarms(NEAR, replace(AA[5], calibrated_in=HALF), 8),
    alarms(NEAR, replace(AA[10], calibrated_in=HALF), 8),
    alarms(NEAR, replace(AA[20], calibrated_in=HALF), 8),
    # Nothing known: the prior, which expects 0.7 % a side.
    alarms(NEAR, PLAIN),
    covers(NEAR, PLAIN, 95),
    covers(NEAR, Design(rounds=12), 95),
    finds(-5, NEAR, PLAIN, 17, 75, PRICE),
    finds(-7.5, NEAR, PLAIN, 85),
    alarms(FAR, PLAIN),
    covers(FAR, PLAIN, 90, wanted=94, why=UNSHOWN),
    alarms(OUTLIERS, PLAIN),
    Row(
        *(f"{QUIET_ROUNDS.name}; {PLAIN}", "-2.5 % called equivalent", 5, True),
        partial(equivalent, -2.5, QUIET_ROUNDS, PLAIN),
    ),
    # Several deployments, and nothing known.
    alarms(NEAR, SPLIT, 3.6),
    covers(NEAR, SPLIT, 95),
    finds(-5, NEAR, SPLIT, 88, 90, SHARED),
    alarms(NEAR, Design(3)),
    covers(NEAR, Design(3)),
    alarms(NEAR, Design(2)),
    covers(NEAR, Design(2)),
    alarms(FAR, SPLIT),
    covers(FAR, SPLIT),
    alarms(OUTLIERS, SPLIT),
    covers(OUTLIERS, SPLIT),
    # Small changes, where deployments do nothing.
    finds(-2.5, NOISE, SPLIT, 33, 55, FEW_SQUARES),
    finds(-2.5, NOISE, AA[20], 52, 55, SHARED),
    # Noise far below the threshold, which then hides no false alarm: p values themselves.
    Row(
        *(f"{TENTH.name}; {SPLIT}", "p values not uniform", 5, True),
        partial(not_uniform, "two-sided", TENTH, SPLIT),
        campaigns=2500,
    ),
    Row(
        *(f"{TENTH.name}; {PLAIN}", "p values too small", 5, True),
        partial(not_uniform, "greater", TENTH, PLAIN),
        campaigns=2500,
    ),
    Row("p95 of two modes; no A/A", "called a change", 5, True, p95_called),
    Row(
        *("p95 of two modes; no A/A", "-30 % found, or beyond the plan", 90, False),
        partial(p95_answered, -30.0),
    ),
)
