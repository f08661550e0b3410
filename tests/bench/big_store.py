"""A store of many weeks: 1,000 campaigns of 300 trials, of which every tenth is an A/A campaign.

Trials are written once, for a few campaigns, and copied by the database: a quarter of a million
trials with their samples and gates one by one would take an hour.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa
from upath import UPath

from benchlab.analysis.gates import gates
from benchlab.plan.order import PlannedTrial
from benchlab.results.records import Campaign, GateResult
from benchlab.results.rows import (
    CAMPAIGNS,
    GATES,
    SAMPLES,
    TRIALS,
    VERDICTS,
    campaign_row,
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
# The regression that its history has, in one workload, from this share of the campaigns on.
SLOWER, SLOWER_FROM = 0.06, 0.7
TRIALS_EACH = len(WORKLOADS) * len(THREADS) * ROUNDS * 2


def fill(url: str, objects: UPath, configs: Path, count: int) -> list[str]:
    """Fill an empty store with campaigns, one a week; their ids, the earliest first."""
    dice = random.Random(1)
    with Store(url, objects) as store:
        whole = list(_campaigns(count))
        for number, made in enumerate(whole[:TEMPLATES]):
            store.add_campaign(made)
            for result in campaigns.results_of(made.plan, tps=_tps(random.Random(number))):
                found = dataclasses.replace(result, gates=_gates(configs))
                store.add_trial(made.id, found)
        with store.transaction() as connection:
            rows = [campaign_row(made) for made in whole[TEMPLATES:]]
            for row in rows:
                connection.execute(CAMPAIGNS.insert(), row)
            for number, made in enumerate(whole[TEMPLATES:], TEMPLATES):
                template, changes = (
                    whole[number % TEMPLATES].id,
                    _changes(made, number / count, dice),
                )
                for table in (TRIALS, SAMPLES, GATES):
                    _copy(connection, table, template, made.id, changes)
            connection.execute(
                VERDICTS.insert(), [row for made in whole for row in _verdicts(made)]
            )
        if store._engine.dialect.name == "postgresql":
            with store.transaction() as connection:
                connection.exec_driver_sql("ANALYZE")
    return [made.id for made in whole]


def _campaigns(count: int) -> Iterator[Campaign]:
    templates: dict[tuple[object, ...], Campaign] = {}
    for number in range(count):
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
                **({"sides": "same"} if is_aa else {}),
            )
        started = plans.START + timedelta(weeks=number) / 10
        yield dataclasses.replace(
            templates[key],
            id=f"weekly-{number:04}",
            started_at=started,
            ended_at=started + timedelta(hours=4),
            planned_for=started,
        )


def _tps(dice: random.Random) -> Mapping[str, float]:
    def rate(trial: PlannedTrial) -> float:
        return 150 * trial.threads * math.exp(dice.gauss(0, 0.004))

    return rate


def _gates(configs: Path) -> tuple[GateResult, ...]:
    known = gates.of_campaign(gates.load_all(configs / "quality"), "tps", fleet=False)
    return tuple(
        GateResult(
            gate.id,
            "pass",
            gate.max if gate.max is not None else gate.min,
            gate.sentence,
            gate.kind,
        )
        for gate in gates.of_table(known, "trials")
    )


def _changes(made: Campaign, when: float, dice: random.Random) -> dict[str, float]:
    """By how much the candidate's throughput differs from the template's, by workload."""
    return {
        workload: math.exp(
            dice.gauss(0, NOISE)
            - (SLOWER if place == 2 and when > SLOWER_FROM and not made.is_aa else 0)
            * (when < SLOWER_FROM + 0.005)
        )
        for place, workload in enumerate(WORKLOADS)
    }


def _copy(
    connection: sa.Connection,
    table: sa.Table,
    template: str,
    campaign: str,
    changes: Mapping[str, float],
) -> None:
    columns = {column.name: column for column in table.columns}
    chosen = dict(columns, campaign=sa.literal(campaign))
    if table is SAMPLES:
        factor = sa.case(
            *(
                (table.c.trial.like(f"%-candidate-{workload}-t%"), change)
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
