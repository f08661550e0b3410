"""Whether the datasets met TPC-C's consistency conditions, and when that was checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchlab.report.names import plain
from benchlab.results import Campaign, Condition, Moment
from benchlab.spec import SIDES, Side

_MOMENTS: tuple[Moment, ...] = ("load", "last trial")


@dataclass(frozen=True)
class Consistency:
    """What was found.

    Attributes:
        sentences: one a side, or one for both where the same was found.
        moments: after which a side was checked.
    """

    sentences: tuple[str, ...]
    moments: tuple[Moment, ...]


def of(campaign: Campaign) -> Consistency | None:
    """Of a campaign of TPC-C; None for other workloads, which have no conditions."""
    plan = campaign.plan
    if all(plan.metric(trial.workload) != "tpmc" for trial in plan.trials):
        return None
    found = {side: _found(campaign, side) for side in SIDES}
    told = {side: _told(of_side) for side, of_side in found.items()}
    if len(set(told.values())) == 1:
        sentences: tuple[str, ...] = (_sentence("both sides", told["baseline"]),)
    else:
        sentences = tuple(_sentence(f"the {side}", text) for side, text in told.items())
    checked = {moment for of_side in found.values() for moment, seen in of_side.items() if seen}
    return Consistency(sentences, tuple(moment for moment in _MOMENTS if moment in checked))


def _found(campaign: Campaign, side: Side) -> dict[Moment, Sequence[Condition]]:
    facts = campaign.facts.get(side)
    return {moment: facts.consistency.get(moment, ()) if facts else () for moment in _MOMENTS}


def _sentence(where: str, told: str) -> str:
    return f"TPC-C's consistency conditions (clause 3.3.2) on {where}: {told}."


def _told(found: Mapping[Moment, Sequence[Condition]]) -> str:
    """What was found, said once for the moments at which it was the same."""
    moments: dict[str, list[Moment]] = {}
    for moment, conditions in found.items():
        moments.setdefault(_outcome(conditions), []).append(moment)
    return "; ".join(
        f"after {' and after '.join(f'the {moment}' for moment in after)} {outcome}"
        for outcome, after in moments.items()
    )


def _outcome(conditions: Sequence[Condition]) -> str:
    if not conditions:
        return "they were not checked"
    violated = [each for each in conditions if each.violations]
    if not violated:
        clauses = ", ".join(plain(each.clause) for each in conditions)
        return f"all {len(conditions)} that were checked hold ({clauses})"
    each = "; ".join(
        f"{plain(c.clause)}, {plain(c.sentence)}: {c.violations:,} "
        f"violation{'s' * (c.violations != 1)}"
        for c in violated
    )
    do = "do" if len(violated) > 1 else "does"
    return f"{len(violated)} of the {len(conditions)} that were checked {do} not hold ({each})"
