"""What the rule promises of deployments and of their calibration, as rows of simulated shares."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np

from benchlab.analysis.verdict.calibration import calibrate
from benchlab.analysis.verdict.compare import judge
from tests.study.bounds import Row
from tests.study.figures import Share
from tests.study.worlds import (
    BLOCK_SD,
    CELL_SD,
    DEPLOYMENT,
    NOISE,
    ROUNDS,
    THREADS,
    Array,
    World,
    as_aa_campaigns,
    as_rounds,
    draw,
    one_workload,
)

THRESHOLD_PCT = 2.0
UNLIKE = np.array([0.4, 0.63, 1.0, 1.6, 2.5])
QUIETER = World("quieter", BLOCK_SD / 2, CELL_SD / 2, deployment_sd=0.0035)
# So many campaigns are judged by one calibration.
_BY_ONE = 5


def _drawn(
    world: World,
    campaigns: int,
    rng: np.random.Generator,
    *,
    bias: float = 0.0,
    change_pct: float = 0.0,
    unlike: bool = False,
    deployments: int = 1,
) -> Array:
    """Throughputs; several deployments are drawn as campaigns and joined along their rounds."""
    parts = [draw(world, campaigns, rng, rounds=ROUNDS // deployments) for _ in range(deployments)]
    log = np.log(np.concatenate(parts, axis=2))
    base = np.log(1000 * np.sqrt(np.asarray(THREADS)))[:, None]
    if unlike:
        log = base + (log - base) * UNLIKE[:, None, None, None]
    log[..., 1] += bias + one_workload(change_pct)[:, None, :]
    return np.asarray(np.exp(log))


def _count(
    campaigns: int,
    rng: np.random.Generator,
    *,
    world: World = DEPLOYMENT,
    calibrated_in: World | None = None,
    aa: int = 0,
    found: bool = False,
    covered: bool = False,
    bias: float = 0.0,
    change_pct: float = 0.0,
    unlike: bool = False,
    deployments: int = 1,
) -> Share:
    """In how many campaigns something was called, the first workload was found, or covered."""
    fields: dict[str, Any] = {"bias": bias, "unlike": unlike, "deployments": deployments}
    measured = _drawn(world, campaigns, rng, change_pct=change_pct, **fields)
    numbers = [1 + row * deployments // ROUNDS for row in range(ROUNDS)]
    hits = count = 0
    known = None
    for place, campaign in enumerate(measured):
        if aa and place % _BY_ONE == 0:
            drawn = _drawn(calibrated_in or world, aa, rng, **fields)
            known = calibrate(as_aa_campaigns(drawn))
        rounds = [dataclasses.replace(r, deployments=numbers) for r in as_rounds(campaign)]
        judged = judge(rounds, THRESHOLD_PCT, calibration=known)
        called = [w.verdict in ("regression", "improvement") for w in judged]
        if covered:
            within = [
                w.ci95_pct is not None and w.ci95_pct[0] <= 0 <= w.ci95_pct[1] for w in judged
            ]
            hits, count = hits + sum(within), count + len(within)
        else:
            hits, count = hits + (called[0] if found else any(called)), count + 1
    return Share(hits, count)


def _false_alarms(name: str, before: float, bound: float, **fields: object) -> Row:
    return Row(name, "called a change", before, bound, True, partial(_count, **fields))  # type: ignore[arg-type]


def _found(name: str, before: float, bound: float, **fields: object) -> Row:
    fields = {"found": True, "change_pct": -5.0, **fields}
    return Row(name, "found", before, bound, False, partial(_count, **fields))  # type: ignore[arg-type]


def _covered(name: str, before: float, bound: float, **fields: object) -> Row:
    count = partial(_count, covered=True, **fields)  # type: ignore[arg-type]
    return Row(name, "covered", before, bound, False, count)


ROWS: tuple[Row, ...] = (
    *(
        _false_alarms(f"side bias 1.5 %, {aa} A/A", before, 3.0, world=NOISE, bias=0.015, aa=aa)
        for aa, before in ((5, 6.5), (10, 14.9), (20, 20.4))
    ),
    _found("unlike workloads, the quietest, -5 %, 20 A/A", 88.0, 95.0, unlike=True, aa=20),
    _false_alarms("unlike workloads, 20 A/A", 5.0, 5.0, unlike=True, aa=20),
    _false_alarms("deployments 0.7 %, 3 A/A", 17.9, 3.0, aa=3),
    _found("deployments 0.7 %, -5 %, 5 A/A", 43.0, 75.0, aa=5),
    _found("deployments 0.7 %, -5 %, 10 A/A", 63.0, 85.0, aa=10),
    *(
        _false_alarms(
            f"A/A of a quieter period, {aa} A/A", before, 8.0, calibrated_in=QUIETER, aa=aa
        )
        for aa, before in ((5, 9.5), (20, 15.7))
    ),
    _false_alarms("deployments 0.7 %, no A/A", 17.8, 5.0),
    _covered("deployments 0.7 %, no A/A", 83.0, 95.0),
    _false_alarms("deployments 0.7 %, 6 x 1", 17.8, 3.6, deployments=6),
    _covered("deployments 0.7 %, 6 x 1", 83.0, 95.0, deployments=6),
    _found("deployments 0.7 %, -5 %, 6 x 1", 90.5, 90.0, deployments=6),
)
