"""A store of many weeks: 1,000 campaigns of 300 trials, of which every tenth is an A/A campaign.

Trials are written once, for a few campaigns, and copied by the database: a quarter of a million
trials with their samples and gates one by one would take an hour.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from upath import UPath

from benchlab.analysis.gates import gates
from benchlab.plan.order import PlannedTrial
from benchlab.report import gate_files
from benchlab.results.records import Campaign, GateResult
from benchlab.results.rows import (
    GATES,
    SAMPLES,
    TRIALS,
    VERDICTS,
)
from benchlab.results.store import Store
from tests.builders import campaigns, plans

REPORT = "sysbench_weekly"
WORKLOADS = (
    *("oltp_point_select", "oltp_read_write", "oltp_update_index", "oltp_update_non_index"),
    "oltp_insert",
)
THREADS, ROUNDS, WEEKS_PER_VERSION, AA_EVERY = (50, 100, 200, 300, 400), 6, 4, 10
NOISE, TEMPLATES = 0.004, 4
# The regression in its history: one release has it, and those after it keep it.
SLOWER, SLOWER_RELEASE, SLOWER_WORKLOAD = 0.06, 40, "oltp_update_index"


def fill(url: str, objects: UPath, configs: Path, there: int, count: int) -> None:
    """Fill a store that has so many of these campaigns until it has ``count``, one a week."""
    dice = random.Random(1)
    with Store(url, objects) as store:
        new = list(_campaigns(there, count))
        for number, made in enumerate(new):
            store.add_campaign(made)
            if there + number < TEMPLATES:
                for result in campaigns.results_of(made.plan, tps=_tps(random.Random(number))):
                    found = dataclasses.replace(result, gates=_gates(configs))
                    store.add_trial(made.id, found)
        with store.transaction() as connection:
            if url.startswith("postgresql"):
                # Else it looks for the trial of each of millions of copied rows.
                connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
            for number, made in enumerate(new, there):
                changes = _changes(made, number // WEEKS_PER_VERSION, dice)
                if number >= TEMPLATES:
                    for table in (TRIALS, SAMPLES, GATES):
                        _copy(connection, table, _id(number % TEMPLATES), made.id, changes)
                connection.execute(VERDICTS.insert(), list(_verdicts(made)))
        if url.startswith("postgresql"):
            with store.transaction() as connection:
                connection.exec_driver_sql("ANALYZE")  # as it does by itself after a while


def _id(number: int) -> str:
    return f"weekly-{number:04}"


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
        started = plans.START + timedelta(weeks=number) / 10
        yield dataclasses.replace(
            templates[key],
            id=_id(number),
            started_at=started,
            ended_at=started + timedelta(hours=4),
            planned_for=started,
        )


def _tps(dice: random.Random) -> Callable[[PlannedTrial], float]:
    def rate(trial: PlannedTrial) -> float:
        return 150 * trial.threads * math.exp(dice.gauss(0, 0.004))

    return rate


def _gates(configs: Path) -> tuple[GateResult, ...]:
    known = gates.of_campaign(gate_files.load_all(configs / "quality"), "tps", fleet=False)
    return tuple(
        GateResult(
            gate.id, "pass", (gate.min or 0) / 2 + (gate.max or 0) / 2, gate.sentence, gate.kind
        )
        for gate in gates.of_table(known, "trials")
    )


def _changes(made: Campaign, release: int, dice: random.Random) -> dict[str, float]:
    """By how much the candidate's throughput differs from the template's, by workload."""
    slower = SLOWER if release == SLOWER_RELEASE and not made.is_aa else 0.0
    return {
        workload: math.exp(dice.gauss(0, NOISE) - (slower if workload == SLOWER_WORKLOAD else 0.0))
        for workload in WORKLOADS
    }


def _copy(
    connection: sa.Connection,
    table: sa.Table,
    template: str,
    campaign: str,
    changes: Mapping[str, float],
) -> None:
    columns = {column.name: column for column in table.columns}
    chosen: dict[str, sa.ColumnElement[Any]] = {**columns, "campaign": sa.literal(campaign)}
    if table is SAMPLES:
        factor = sa.case(
            *(
                (
                    table.c.metric.in_(("tps", "qps"))
                    & table.c.trial.like(f"%-candidate-{workload}-t%"),
                    change,
                )
                for workload, change in changes.items()
            ),
            else_=1.0,
        )
        chosen["value"] = table.c.value * factor
    connection.execute(
        table.insert().from_select(
            list(columns), sa.select(*chosen.values()).where(table.c.campaign == template)
        )
    )


def _verdicts(made: Campaign) -> Iterator[dict[str, object]]:
    for place, (workload, metric) in enumerate(
        (workload, metric) for workload in WORKLOADS for metric in ("tps", "p95_ms")
    ):
        yield {"campaign": made.id, "position": place, "workload": workload, "metric": metric,
               "verdict": "equivalent", "estimate_pct": 0.1, "low_pct": -0.5, "high_pct": 0.7,
               "p_adjusted": 0.8, "rule": 2}  # fmt: skip
