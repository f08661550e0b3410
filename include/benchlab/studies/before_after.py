"""Compares two campaigns of one version each, before and after an upgrade, as two sides.

They are combined into one campaign whose sides were measured one after the other, and judged by the
same decision rule. The report states the limitation with the verdicts: nothing is interleaved, so
whatever else changed in between is part of the difference, and no interval accounts for it.

Example:
    ``compared(home, store, "c1", "c2").comparison.workloads[0].verdict``
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchlab.campaign.outcome import Comparer, Outcome
from benchlab.errors import SpecError
from benchlab.home import Home
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import MEASURED
from benchlab.results.records import TWO_CAMPAIGNS, Campaign
from benchlab.results.store import Store

# Facts about the client and its machine that must be equal.
_FOUND_ALIKE = ("client_program", "client_version", "cpu", "cores")


def compared(home: Home, store: Store, before: str, after: str) -> Outcome:
    """Compare two stored campaigns, the earlier one as the baseline.

    Raises:
        SpecError: one of them has two sides, has not ended or measured nothing, they differ in what
            was measured, or they are named in the wrong order.
        StoreError: one of them is not in the store.
    """
    first, second = store.campaign(before), store.campaign(after)
    if faults := [*_faults(first), *_faults(second), *_differences(first, second)]:
        raise SpecError("\n".join(faults))
    moved = len(first.plan.trials)
    plan = replace(
        first.plan,
        sides={
            "baseline": first.plan.sides["baseline"],
            "candidate": second.plan.sides["baseline"],
        },
        trials=(*first.plan.trials, *(_as_candidate(t, moved) for t in second.plan.trials)),
        placement="sequential",
    )
    spec = first.report_type
    entry = spec.engines[plan.engine].model_copy(update={"candidate": plan.sides["candidate"]})
    together = replace(
        first,
        plan=plan,
        report_type=spec.model_copy(
            update={
                "sides": "different",
                "placement": "sequential",
                "engines": {**spec.engines, plan.engine: entry},
            }
        ),
        facts={
            "baseline": first.facts["baseline"],
            "candidate": second.facts["baseline"],
        },
        environment={**first.environment, TWO_CAMPAIGNS: f"{before}, {after}"},
        ended_at=second.ended_at,
    )
    trials = [
        *store.trials(before),
        *(
            replace(result, trial=_as_candidate(result.trial, moved))
            for result in store.trials(after)
        ),
    ]
    return Comparer(home, store).outcome(together, trials)


def _as_candidate(trial: PlannedTrial, moved: int) -> PlannedTrial:
    return replace(trial, side="candidate", index=trial.index + moved)


def _faults(campaign: Campaign) -> Iterator[str]:
    if campaign.report_type.sides != "single":
        yield f"{campaign.id}: it compares two sides itself: `benchlab compare {campaign.id}`"
    elif campaign.state == "running" or campaign.ended_at is None:
        yield f"{campaign.id}: it has not ended"
    elif "baseline" not in campaign.facts:
        yield f"{campaign.id}: it ended before anything could be measured"


def _differences(first: Campaign, second: Campaign) -> Iterator[str]:
    for field in MEASURED:
        values = [getattr(one.report_type, field) for one in (first, second)]
        if values[0] != values[1]:
            yield _differs(field, *values)
    if first.plan.engine != second.plan.engine:
        yield _differs("engine", first.plan.engine, second.plan.engine)
    for name in _FOUND_ALIKE:
        found = [one.environment.get(name) for one in (first, second)]
        if found[0] != found[1]:
            yield _differs(name, *found)
    if first.ended_at is not None and second.started_at < first.ended_at:
        yield f"--before {first.id} was measured after --after {second.id}, or beside it"


def _differs(what: str, first: object, second: object) -> str:
    return (
        f"{what}: {first} before and {second} after; both campaigns must be measured alike to "
        "be compared"
    )
