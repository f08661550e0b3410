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

from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.campaign.outcome import Comparer, Outcome
from benchlab.errors import SpecError
from benchlab.home import Home
from benchlab.plan.report_type import MEASURED, Side
from benchlab.results.records import TWO_CAMPAIGNS, Campaign, TrialResult
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
    faults = [*_faults(first), *_faults(second)]
    faults += [_differs(*one) for one in differences(first, second)]
    if first.ended_at is not None and second.started_at < first.ended_at:
        faults.append(f"--before {before} was measured after --after {after}, or at the same time")
    if faults:
        raise SpecError("\n".join(faults))
    return together(Comparer(home, store), first, second)


def together(
    comparer: Comparer,
    first: Campaign,
    second: Campaign,
    sides: tuple[Side, Side] = ("baseline", "baseline"),
) -> Outcome:
    """Compare a side of one campaign with a side of a later one that was measured alike.

    Of each, the trials count that it uses itself. A block that one of them measured again may be
    the first attempt of the other one, so that these trials are one attempt after all that are not
    used.

    Args:
        sides: one of each.
    """
    both: dict[Side, tuple[Campaign, Side]] = {
        "baseline": (first, sides[0]),
        "candidate": (second, sides[1]),
    }
    used, others = list[TrialResult](), list[TrialResult]()
    for side, (campaign, own) in both.items():
        results = comparer.store.trials(campaign.id)
        taken = {id(one) for one in usable_trials(campaign.plan, results)[0]}
        for one in (one for one in results if one.trial.side == own):
            result = replace(one, trial=replace(one.trial, side=side))
            (used if id(one) in taken else others).append(result)
    before = dict[tuple[int, str], int]()
    for one in others:
        before[one.trial.pair] = max(one.attempt, before.get(one.trial.pair, 0))
    trials = [*others, *(replace(one, attempt=before.get(one.trial.pair, 0) + 1) for one in used)]
    planned = [
        replace(trial, side=side)
        for side, (campaign, own) in both.items()
        for trial in campaign.plan.trials
        if trial.side == own
    ]
    order = {trial.id: number for number, trial in enumerate(planned)}
    plan = replace(
        first.plan,
        sides={side: campaign.plan.sides[own] for side, (campaign, own) in both.items()},
        trials=tuple(replace(trial, index=order[trial.id]) for trial in planned),
        placement="sequential",
    )
    spec = first.report_type
    entry = spec.engines[plan.engine].model_copy(update=dict[str, object](plan.sides.items()))
    compared = replace(
        first,
        plan=plan,
        report_type=spec.model_copy(
            update={
                "sides": "different",
                "placement": "sequential",
                "engines": {**spec.engines, plan.engine: entry},
            }
        ),
        facts={side: campaign.facts[own] for side, (campaign, own) in both.items()},
        environment={**first.environment, TWO_CAMPAIGNS: f"{first.id}, {second.id}"},
        ended_at=second.ended_at,
    )
    placed = [replace(r, trial=replace(r.trial, index=order[r.trial.id])) for r in trials]
    return comparer.outcome(compared, placed)


def _faults(campaign: Campaign) -> Iterator[str]:
    if campaign.report_type.sides != "single":
        yield f"{campaign.id}: it compares two sides itself: `benchlab compare {campaign.id}`"
    elif campaign.state == "running" or campaign.ended_at is None:
        yield f"{campaign.id}: it has not ended"
    elif "baseline" not in campaign.facts:
        yield f"{campaign.id}: it ended before anything could be measured"


def differences(first: Campaign, second: Campaign) -> Iterator[tuple[str, object, object]]:
    """How two campaigns were not measured alike: what differs, in one and in the other.

    Example:
        ``[*differences(c1, c2)]`` is ``[("seconds", 60, 120)]``.
    """
    of = [one.report_type for one in (first, second)]
    pairs = [(field, *(getattr(one, field) for one in of)) for field in MEASURED]
    pairs.append(("engine", first.plan.engine, second.plan.engine))
    found = [one.environment for one in (first, second)]
    pairs += [(name, *(one.get(name) for one in found)) for name in _FOUND_ALIKE]
    yield from (pair for pair in pairs if pair[1] != pair[2])


def _differs(what: str, first: object, second: object) -> str:
    return (
        f"{what}: {first} before and {second} after; both campaigns must be measured alike to "
        "be compared"
    )
