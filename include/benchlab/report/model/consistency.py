"""Whether the datasets met TPC-C's consistency conditions, and when that was checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchlab.language import Language, side_name
from benchlab.language.names import clauses, items, plain
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.records import Campaign, Condition, Moment

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


def consistency_of(campaign: Campaign, language: Language) -> Consistency | None:
    """Of a campaign of TPC-C; None for other workloads, which have no conditions."""
    plan = campaign.plan
    if all(plan.metric(trial.workload) != "tpmc" for trial in plan.trials):
        return None
    found = {side: _found(campaign, side) for side in SIDES}
    told = {side: _told(of_side, language) for side, of_side in found.items()}
    if len(set(told.values())) == 1:
        sentences: tuple[str, ...] = (language.say("consistency-both", told=told["baseline"]),)
    else:
        sentences = tuple(
            language.say("consistency-side", side=side_name(side), told=text)
            for side, text in told.items()
        )
    checked = {moment for of_side in found.values() for moment, seen in of_side.items() if seen}
    return Consistency(sentences, tuple(moment for moment in _MOMENTS if moment in checked))


def _found(campaign: Campaign, side: Side) -> dict[Moment, Sequence[Condition]]:
    facts = campaign.facts.get(side)
    return {moment: facts.consistency.get(moment, ()) if facts else () for moment in _MOMENTS}


def _told(found: Mapping[Moment, Sequence[Condition]], language: Language) -> str:
    """What was found, said once for the moments at which it was the same."""
    moments: dict[str, list[Moment]] = {}
    for moment, conditions in found.items():
        moments.setdefault(_outcome(conditions, language), []).append(moment)
    return clauses(
        (
            language.say(f"consistency-after-{_when(after)}", outcome=outcome)
            for outcome, after in moments.items()
        ),
        language,
    )


def _when(moments: Sequence[Moment]) -> str:
    return moments[0].replace(" ", "-") if len(moments) == 1 else "both"


def _outcome(conditions: Sequence[Condition], language: Language) -> str:
    if not conditions:
        return language.say("consistency-unchecked")
    violated = [each for each in conditions if each.violations]
    if not violated:
        names = items((plain(each.clause) for each in conditions), language)
        return language.say("consistency-hold", count=len(conditions), conditions=names)
    each = (
        language.say(
            "consistency-violations",
            condition=plain(c.clause),
            sentence=plain(c.sentence),
            violations=c.violations,
        )
        for c in violated
    )
    return language.say(
        "consistency-violated",
        violated=len(violated),
        count=len(conditions),
        each=clauses(each, language),
    )
