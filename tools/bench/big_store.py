"""A store of many weeks: 1,000 campaigns of 300 trials, of which every tenth is an A/A campaign.

Their servers' counts are decided as well. Rows are written a campaign at a time: by themselves they
would take an hour.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from upath import UPath

from benchlab.analysis.gates import gates
from benchlab.engines import mariadb_counts
from benchlab.plan.order import PlannedTrial
from benchlab.report import gate_files
from benchlab.results.records import Campaign, GateResult, Sample, StoredVerdict, TrialResult
from benchlab.results.rows import (
    DEFINITIONS,
    TRIALS,
    VERDICTS,
    definitions_row,
    trial_row,
)
from benchlab.results.store import Store
from benchlab.workloads import sysbench
from tests.builders import campaigns, plans

REPORT = "sysbench_weekly"
WORKLOADS = (
    *("oltp_point_select", "oltp_read_write", "oltp_update_index", "oltp_update_non_index"),
    "oltp_insert",
)
THREADS, ROUNDS, WEEKS_PER_VERSION, AA_EVERY = (50, 100, 200, 300, 400), 6, 4, 10
NOISE = 0.004
# So many have a regression or an improvement of a workload in their verdicts, which is a finding.
CHANGED_EVERY = 5
# The regression in its history: one release has it, and those after it keep it.
SLOWER, SLOWER_RELEASE, SLOWER_WORKLOAD = 0.06, 40, "oltp_update_index"

_DECIDED = tuple(
    count.metric() for count in mariadb_counts.COUNTS if count.name in sysbench.COUNTS["mariadb"]
)


def fill(url: str, objects: UPath, configs: Path, there: int, count: int) -> None:
    """Fill a store that has so many of these campaigns until it has ``count``, one a week."""
    dice, judged = random.Random(there), _gates(configs)
    with Store(url, objects) as store:
        new = list(_campaigns(there, count))
        for made in new:
            store.add_campaign(made)
        with store.transaction() as connection:
            if url.startswith("postgresql"):
                # Else it looks for the campaign of each of thousands of rows.
                connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
            for number, made in enumerate(new, there):
                results = list(_results(made, number // WEEKS_PER_VERSION, judged, dice))
                known = definitions_row(results[0])
                connection.execute(DEFINITIONS.insert().values(campaign=made.id, **known))
                connection.execute(TRIALS.insert(), [_row(made, one, known) for one in results])
                connection.execute(VERDICTS.insert(), list(_verdicts(made)))
        for made in new:
            if _number(made) % CHANGED_EVERY == 0:
                store.set_verdicts(made.id, list(_changed(made)))
        if url.startswith("postgresql"):
            with store.transaction() as connection:
                connection.exec_driver_sql("ANALYZE")  # as it does by itself after a while


def _id(number: int) -> str:
    return f"weekly-{number:04}"


def _number(made: Campaign) -> int:
    return int(made.id.rpartition("-")[2])


def _campaigns(there: int, count: int) -> Iterator[Campaign]:
    templates: dict[tuple[object, ...], Campaign] = {}
    for number in range(there, count):
        release = number // WEEKS_PER_VERSION
        is_aa = number % AA_EVERY == AA_EVERY - 1
        sides = {
            "baseline": {"version": f"10.{release}.0"},
            "candidate": {"version": f"10.{release + 1}.0"},
        }
        key = release, is_aa
        if key not in templates:
            templates[key] = campaigns.campaign(
                report=REPORT,
                workloads=list(WORKLOADS),
                threads=list(THREADS),
                rounds=ROUNDS,
                engines={"mariadb": sides},
                sides="same" if is_aa else "different",
            )
            templates[key] = _counting(templates[key])
        started = plans.START + timedelta(weeks=number) / 10
        yield dataclasses.replace(
            templates[key],
            id=_id(number),
            started_at=started,
            ended_at=started + timedelta(hours=4),
            planned_for=started,
        )


def _counting(made: Campaign) -> Campaign:
    plan = dataclasses.replace(made.plan, metrics=(*made.plan.metrics, *_DECIDED))
    return dataclasses.replace(made, plan=plan)


def _results(
    made: Campaign, release: int, judged: tuple[GateResult, ...], dice: random.Random
) -> Iterator[TrialResult]:
    """Its trials, with what a transaction took of the servers."""
    changes = _changes(made, release, dice)

    def rate(trial: PlannedTrial) -> float:
        factor = changes[trial.workload] if trial.side == "candidate" else 1.0
        return 150 * trial.threads * factor * math.exp(dice.gauss(0, NOISE))

    for result in campaigns.results_of(made.plan, tps=rate):
        counted = (
            Sample(metric.name, 20 * math.exp(dice.gauss(0, NOISE)), metric.unit)
            for metric in _DECIDED
        )
        yield dataclasses.replace(result, gates=judged, samples=(*result.samples, *counted))


def _row(made: Campaign, result: TrialResult, definitions: Mapping[str, str]) -> dict[str, Any]:
    key = {"campaign": made.id, "trial": result.trial.id, "attempt": result.attempt}
    return {**key, "definitions": definitions["id"], **trial_row(result)}


def _gates(configs: Path) -> tuple[GateResult, ...]:
    known = gates.of_campaign(gate_files.load_all(configs / "quality"), "tps", fleet=False)
    return tuple(
        gate.evaluate({gate.column: (gate.min or 0) / 2 + (gate.max or 0) / 2})
        for gate in gates.of_table(known, "trials")
    )


def _changes(made: Campaign, release: int, dice: random.Random) -> dict[str, float]:
    """By how much the candidate's throughput differs from the template's, by workload."""
    slower = SLOWER if release == SLOWER_RELEASE and not made.is_aa else 0.0
    return {
        workload: math.exp(dice.gauss(0, NOISE) - (slower if workload == SLOWER_WORKLOAD else 0.0))
        for workload in WORKLOADS
    }


def _changed(made: Campaign) -> Iterator[StoredVerdict]:
    number = _number(made) // CHANGED_EVERY
    changed = WORKLOADS[number % len(WORKLOADS)], ("regression", "improvement")[number % 2]
    for row in _verdicts(made):
        workload, metric = str(row["workload"]), str(row["metric"])
        verdict = changed[1] if workload == changed[0] and metric == "tps" else "equivalent"
        yield StoredVerdict(workload, metric, verdict, 0.1, -0.5, 0.7, 0.8, rule=2)


def _verdicts(made: Campaign) -> Iterator[dict[str, object]]:
    for place, (workload, metric) in enumerate(
        (workload, metric) for workload in WORKLOADS for metric in ("tps", "p95_ms")
    ):
        yield {"campaign": made.id, "position": place, "workload": workload, "metric": metric,
               "verdict": "equivalent", "estimate_pct": 0.1, "low_pct": -0.5, "high_pct": 0.7,
               "p_adjusted": 0.8, "rule": 2}  # fmt: skip
