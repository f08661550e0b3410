"""Asking a side whether its dataset meets the conditions of its workload, and what follows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from benchlab.engines.database import Database
from benchlab.errors import TargetError
from benchlab.language import Message
from benchlab.plan.report_type import Side
from benchlab.results.records import Campaign, Condition, Moment, inconsistencies
from benchlab.results.store import Store
from benchlab.workloads.workload import Consistency, Query

ASK_LIMIT_S = 24 * 3600.0


def check(
    conditions: Consistency,
    engine: Database,
    store: Store,
    campaign: str,
    moment: Moment,
    query: Query | None = None,
) -> tuple[Condition, ...]:
    """Ask a running side, and store what is found.

    Args:
        engine: the side.
        query: runs one statement in the schema of the dataset; by default the mariadb client.

    Raises:
        TargetError: after the load a condition does not hold; names each.
        CommandError: the side cannot be asked; nothing is stored.
    """
    side, database = engine.instance.side, engine.instance.database
    found = conditions.check(
        query or (lambda sql: engine.sql(f"USE {database}; {sql}", timeout_s=ASK_LIMIT_S))
    )
    if (facts := store.campaign(campaign).facts.get(side)) is None:
        raise TargetError(f"{side}: it has not been analyzed; do that first")
    facts = dataclasses.replace(facts, consistency={**facts.consistency, moment: found})
    store.set_facts(campaign, side, facts)
    if moment == "load" and (faults := [str(each.fault) for each in found if each.violations]):
        raise TargetError(
            f"{side}: the loaded dataset is not consistent: {'; '.join(faults)}; nothing can "
            "be measured on it: load it again, and if it is so again, with another client"
        )
    return found


def found_before(record: Campaign, side: Side) -> dict[Moment, tuple[Condition, ...]]:
    """What is known of the side's trials, where it is analyzed anew: only they can change it."""
    facts = record.facts.get(side)
    found = facts.consistency.get("last trial") if facts else None
    return {} if found is None else {"last trial": found}


def doubts(record: Campaign, conditions: Consistency | None) -> list[str]:
    """What does not hold after the last trials, or has not been asked, as sentences."""
    if conditions is None:
        return []
    unknown = [
        f"{side}: its consistency after the last trial is not known"
        for side in record.plan.sides
        if side not in record.facts or "last trial" not in record.facts[side].consistency
    ]
    violated = _by_side(inconsistencies(record.facts))
    return [*violated, *unknown]


def _by_side(sentences: Mapping[Side, Sequence[Message]]) -> list[str]:
    return [f"{side}: {sentence}" for side, found in sentences.items() for sentence in found]
