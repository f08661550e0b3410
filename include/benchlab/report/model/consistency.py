"""Whether the datasets met their consistency conditions, and when that was checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchlab.language import Language, side_name
from benchlab.language.names import clauses, items, plain
from benchlab.plan.report_type import Side
from benchlab.results.records import Campaign, Condition, Moment

_MOMENTS: tuple[Moment, ...] = ("load", "last trial")


@dataclass(frozen=True)
class Consistency:
    """What was found.

    Attributes:
        sentences: one for each side, or one for both if the same was found.
        moments: after which a side was checked.
    """

    sentences: tuple[str, ...]
    moments: tuple[Moment, ...]


def consistency_of(campaign: Campaign, language: Language) -> Consistency | None:
    """What was found in a campaign; None where the dataset has no conditions."""
    if campaign.report_type.dataset.check_s is None:
        return None
    found = {side: _found(campaign, side) for side in campaign.plan.sides}
    texts = {side: _text(of_side, language) for side, of_side in found.items()}
    if len(set(texts.values())) == 1:
        sentences: tuple[str, ...] = (
            language.say("consistency-both", told=next(iter(texts.values()))),
        )
    else:
        sentences = tuple(
            language.say("consistency-side", side=side_name(side), told=text)
            for side, text in texts.items()
        )
    checked = {moment for of_side in found.values() for moment, seen in of_side.items() if seen}
    return Consistency(sentences, tuple(moment for moment in _MOMENTS if moment in checked))


def _found(campaign: Campaign, side: Side) -> dict[Moment, Sequence[Condition]]:
    facts = campaign.facts.get(side)
    return {moment: facts.consistency.get(moment, ()) if facts else () for moment in _MOMENTS}


def _text(found: Mapping[Moment, Sequence[Condition]], language: Language) -> str:
    """What was found, said once for the moments at which it was the same."""
    moments: dict[str, list[Moment]] = {}
    for moment, conditions in found.items():
        moments.setdefault(_outcome(conditions, language), []).append(moment)
    said = []
    for outcome, after in moments.items():
        when = "both" if len(after) > 1 else after[0].replace(" ", "-")
        said.append(language.say(f"consistency-after-{when}", outcome=outcome))
    return clauses(said, language)


def _outcome(conditions: Sequence[Condition], language: Language) -> str:
    if not conditions:
        return language.say("consistency-unchecked")
    violated = [condition for condition in conditions if condition.violations]
    if not violated:
        names = items((plain(condition.clause) for condition in conditions), language)
        return language.say("consistency-hold", count=len(conditions), conditions=names)
    said = (
        language.say(
            "consistency-violations",
            condition=plain(condition.clause),
            sentence=plain(condition.sentence),
            violations=condition.violations,
        )
        for condition in violated
    )
    return language.say(
        "consistency-violated",
        violated=len(violated),
        count=len(conditions),
        each=clauses(said, language),
    )
