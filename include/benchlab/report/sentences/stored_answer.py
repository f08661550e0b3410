"""The answer of a campaign as a list has it: which verdicts there are, how often, what changed.

It is made of the verdicts that were kept when the report was last published, without any trial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from benchlab.language import Language
from benchlab.language.names import items, title_of
from benchlab.language.numbers import Numbers
from benchlab.results.records import CampaignSummary, StoredVerdict

CHANGES = ("regression", "improvement")
# What a reader looks for first, first.
ORDER: tuple[str, ...] = (*CHANGES, "unstable", "inconclusive", "equivalent")


class Counted(NamedTuple):
    """One verdict and what is said of it: ``1 regression (Update Index -8.20%)``."""

    verdict: str
    text: str


def throughput(one: CampaignSummary) -> Sequence[StoredVerdict]:
    """The verdicts on throughput: those on p95 latency are kept in turn with them."""
    return one.verdicts[::2]


def latency(one: CampaignSummary) -> Sequence[StoredVerdict]:
    """The verdicts on p95 latency."""
    return one.verdicts[1::2]


def counted(
    one: CampaignSummary, verdicts: Sequence[StoredVerdict], language: Language
) -> list[Counted]:
    """The verdicts of a campaign on one metric, counted; in an A/A campaign changes are alarms.

    Example:
        ``counted(one, throughput(one), english())[0].text`` is ``"4 equivalent"``.
    """
    counts = Counter(found.verdict for found in verdicts)
    return [
        Counted(verdict, _text(one, verdict, counts[verdict], verdicts, language))
        for verdict in ORDER
        if counts[verdict]
    ]


def _text(
    one: CampaignSummary,
    verdict: str,
    count: int,
    verdicts: Sequence[StoredVerdict],
    language: Language,
) -> str:
    if verdict not in CHANGES:
        return language.say(f"answer-{verdict}", count=count)
    changed = [found for found in verdicts if found.verdict == verdict]
    each = (
        language.say(
            "answer-change",
            workload=title_of(found.workload),
            change=_change(found, language),
        )
        for found in sorted(changed, key=lambda found: -abs(found.estimate_pct or 0))
    )
    name = "false-alarm" if one.measures_noise else verdict
    said = language.say(f"answer-{name}", count=count)
    return language.say("answer-named", count=said, each=items(each, language))


def _change(found: StoredVerdict, language: Language) -> str:
    low, high = found.low_pct, found.high_pct
    within = None if low is None or high is None else (low, high)
    return Numbers(language).estimate(found.estimate_pct, 0, within)
