"""Findings in words: what changed by how much, and how far findings can be trusted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from benchlab.analysis.error_rates.trust import SIGNIFICANT, Trust, trust
from benchlab.language import Language
from benchlab.language.numbers import Numbers
from benchlab.plan.open_loop import rate_of
from benchlab.report.sentences import answer, wording
from benchlab.results.findings import DIRECTIONS, Finding, Judgement
from benchlab.results.records import StoredVerdict


class Changed(NamedTuple):
    """A metric that changed, as text; ``verdict`` is its id, an unknown interval is empty."""

    verdict: str
    metric: str
    change: str
    interval: str


def changes(found: Finding, language: Language) -> list[Changed]:
    """The metrics that changed, as the newest campaign shows them; of counts the largest change.

    Example:
        ``changes(found, english())[0].change`` is ``"-8.2%"``.
    """
    counts = answer.of_counts(found.newest)
    named = [(_name(found, one, language), one) for one in found.changes if one not in counts]
    for verdict, word in answer.TAKEN.items():
        taken = [one for one in found.changes if one in counts and one.verdict == verdict]
        taken.sort(key=answer.size, reverse=True)
        names = [language.say(answer.title_of_count(one)) for one in taken]
        few = wording.few(names, language, 1)
        named += [(language.say(f"finding-{word}", counts=few), one) for one in taken[:1]]
    # The threshold is not stored; 0 is enough to keep figures from being rounded across zero.
    return [
        Changed(
            verdict=one.verdict,
            metric=name,
            change=answer.sized(one, 0.0, language),
            interval=Numbers(language).interval(within, 0.0) if (within := one.ci95_pct) else "",
        )
        for name, one in named
    ]


def _name(found: Finding, one: StoredVerdict, language: Language) -> str:
    if one in answer.throughput(found.newest):
        return language.say("site-metric-throughput")
    if rate_of(found.workload) is None:
        return language.say("site-metric-latency")
    return language.say(f"figures-{one.metric.removesuffix('_ms')}")


def trusted(judgements: Iterable[Judgement], language: Language) -> list[str]:
    """Sentences on how many findings are right, and on whether false ones favour a side."""
    found = trust(judgements)
    return [_right(found, language), _even(found, language)]


def _right(found: Trust, language: Language) -> str:
    numbers, waiting = Numbers(language), found.waiting.total()
    if found.right_ci95 is None:
        return language.say("trust-nobody", count=waiting)
    low, high = (numbers.share(end, 0) for end in found.right_ci95)
    interval = language.say("number-interval", low=low, high=high)
    counts = {"right": found.right, "judged": found.judged, "count": waiting}
    share = numbers.share(found.right / found.judged, 0)
    return language.say("trust-right", **counts, share=share, interval=interval)


def _even(found: Trust, language: Language) -> str:
    false, expected, numbers = found.false.total(), found.expected_worse, Numbers(language)
    if found.p is None:
        return language.say("trust-few", false=false)
    side, other = DIRECTIONS.values()
    if found.false[side] < expected and found.p < SIGNIFICANT:
        side, other, expected = other, side, false - expected
    return language.say(
        f"trust-{side}" if found.p < SIGNIFICANT else "trust-even",
        false=false,
        some=found.false[side],
        expected=numbers.rate(expected, 1),
        p=numbers.p_value(found.p),
        others=found.waiting[other],
    )
