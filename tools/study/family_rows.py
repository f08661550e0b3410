"""What the rule promises of a whole report: throughput, p95 latency and four counts together."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from benchlab.analysis.verdict.compare import judge
from benchlab.workloads.sysbench import METRICS
from tools.study import families, rules
from tools.study.bounds import Row, Share, share_of
from tools.study.families import COUNTS, SETTINGS, Change, Setting
from tools.study.worlds import World, as_rounds, draw, in_one_column

QUIET, BUSY = COUNTS[:2]
NO_AA, SPREAD = SETTINGS[0], SETTINGS[2]


def count_found(
    name: str, percent: float, setting: Setting, campaigns: int, rng: np.random.Generator
) -> Share:
    """In how many campaigns it is found that a count of the first workload is larger."""
    made = families.judged(setting, campaigns, rng, Change(counts={name: percent}))
    return share_of([first.beside[name].verdict == "regression" for first, *_ in made])


def counts_called(cv: float, deployed: float, campaigns: int, rng: np.random.Generator) -> Share:
    """In how many campaigns of one deployment, a count a workload, one is called a change.

    Args:
        cv: of a side's count in a round; 0: it does not vary, and is compared exactly.
        deployed: by how much a deployment of a side shifts it (a standard deviation).
    """
    world = World("one count", block_sd=cv, cell_sd=0.0, deployment_sd=deployed)
    drawn = in_one_column(draw(world, campaigns, rng))
    metrics = (*METRICS, QUIET)
    return share_of(
        [
            any(
                workload.beside[QUIET.name].verdict in ("regression", "improvement")
                for workload in judge(
                    [
                        replace(one, metrics=metrics, values={"tps": 1 + 0 * own, QUIET.name: own})
                        for one, own in zip(as_rounds(campaign), campaign, strict=True)
                    ],
                    rules.THRESHOLD_PCT,
                )
            )
            for campaign in drawn
        ]
    )


def alike(cv: float, deployed: float, bound: float = 5.0, why: str = "") -> Row:
    """A row: so many campaigns call a count a change where deployments alone shift it, at most."""
    name = f"counts that vary by {100 * cv:g} %, deployments by {100 * deployed:g} %; no A/A"
    count = partial(counts_called, cv, deployed)
    return Row(name, "called a change", bound, True, count, wanted=5.0 if why else None, why=why)


def found(name: str, percent: float, setting: Setting, bound: float) -> Row:
    """A row: so many campaigns find it, at least."""
    varies = f"a count that varies by {100 * families.CVS[name]:g} %"
    return Row(
        *(f"whole reports; {setting.name}", f"{varies}: {percent:+g} % found", bound, False),
        partial(count_found, name, percent, setting),
    )


SHIFTED = (
    "a prior of 0.1 % a side expects less, and rounds of one deployment that agree say nothing of "
    "the next: spread them, or have A/A campaigns"
)
ROWS: tuple[Row, ...] = (
    *(
        Row(
            *(f"whole reports; {setting.name}", "called a change, in any family", 5, True),
            partial(families.false_alarms, setting),
        )
        for setting in SETTINGS
    ),
    found(QUIET.name, 1.5, NO_AA, 30),
    found(QUIET.name, 2.0, NO_AA, 95),
    found(QUIET.name, 1.5, SPREAD, 95),
    *(alike(cv, deployed) for deployed in (0.0, 0.001, 0.002) for cv in (0.0, 0.0005, 0.005)),
    alike(0.0, 0.003, 11, SHIFTED),
    alike(0.0005, 0.003, 7, SHIFTED),
    alike(0.005, 0.003),
)
