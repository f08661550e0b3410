"""Findings in words: what changed by how much, and how far findings can be trusted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from benchlab.analysis.error_rates.trust import SIGNIFICANT, Trust, trust
from benchlab.language import Language
from benchlab.language.numbers import Numbers
from benchlab.plan.open_loop import rate_of
from benchlab.report.sentences import answer, wording
from benchlab.results.findings import Finding, Judgement
from benchlab.results.records import StoredVerdict


class Changed(NamedTuple):
    """A metric that changed, and by how much, as text.

    Attributes:
        verdict: its id.
        interval: empty if it is not known.
    """

    verdict: str
    metric: str
    change: str
    interval: str


def changes(found: Finding, language: Language) -> list[Changed]:
    """The metrics that changed, as the newest campaign shows them; of counts the largest change.

    Example:
        ``changes(found, english())[0].change`` is ``"-8.2%"``.
    """
    own, counts = found.changes, answer.of_counts(found.newest)
    made = [
        _changed(one, _name(found, one, language), language) for one in own if one not in counts
    ]
    for verdict, word in answer.TAKEN.items():
        taken = [one for one in own if one in counts and one.verdict == verdict]
        if taken := sorted(taken, key=answer.size, reverse=True):
            names = [language.say(answer.title_of_count(one)) for one in taken]
            name = language.say(f"finding-{word}", counts=wording.few(names, language, 1))
            made.append(_changed(taken[0], name, language))
    return made


def _changed(one: StoredVerdict, name: str, language: Language) -> Changed:
    # The threshold is not stored; 0 is enough to keep figures from being rounded across zero.
    change, within = answer.sized(one, 0.0, language), one.ci95_pct
    interval = Numbers(language).interval(within, 0.0) if within else ""
    return Changed(one.verdict, name, change, interval)


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
    between = language.say("between-sentences")
    waiting = language.say("trust-not-judged", count=found.not_judged.total())
    if found.right_ci95 is None:
        return between.join((language.say("trust-nobody"), waiting))
    numbers = Numbers(language)
    low, high = (numbers.share(end, 0) for end in found.right_ci95)
    said = language.say(
        "trust-right",
        judged=found.judged,
        right=found.right,
        share=numbers.share(found.right / found.judged, 0),
        interval=language.say("number-interval", low=low, high=high),
    )
    return between.join((said, waiting))


def _even(found: Trust, language: Language) -> str:
    false = found.false_worse + found.false_better
    if found.p is None:
        return language.say("trust-few", false=false)
    is_worse = found.false_worse > found.expected_worse
    expected = found.expected_worse if is_worse else false - found.expected_worse
    which = "even" if found.p >= SIGNIFICANT else "worse" if is_worse else "better"
    numbers = Numbers(language)
    return language.say(
        f"trust-{which}",
        false=false,
        worse=found.false_worse,
        better=found.false_better,
        expected=numbers.rate(found.expected_worse if which == "even" else expected, 1),
        p=numbers.p_value(found.p),
        others=found.not_judged["better" if is_worse else "worse"],
    )
