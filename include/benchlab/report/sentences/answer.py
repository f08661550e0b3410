"""The answer's tables, and what it is in lists of campaigns; in sentences it is ``opening.py``.

``lines(report)[0].change`` is ``"-12.00%"``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from benchlab.analysis.verdict.compare import LEFT_OUT
from benchlab.analysis.verdict.decision import Decision, Verdict
from benchlab.engines.counts import Count
from benchlab.language import FORM_OF_WATCH, Language, Message, english, load
from benchlab.language.names import clauses, items, title_of
from benchlab.language.numbers import MISSING, Numbers, rate_decimals
from benchlab.plan.metric import COUNT, Metric
from benchlab.plan.open_loop import rate_of
from benchlab.report.model import counts
from benchlab.report.model.figures import display
from benchlab.report.model.report import CHANGES as CHANGES
from benchlab.report.model.report import ORDER as ORDER
from benchlab.report.model.report import Report, Section
from benchlab.report.sentences import wording
from benchlab.results.records import CampaignSummary, StoredVerdict

COLUMNS = ("workload", "metric", "change", "interval", "p", "verdict")
SIGNS = {
    "regression": "▼",
    "improvement": "▲",
    "equivalent": "=",
    "inconclusive": "?",
    "unstable": "!",
}
"""A sign for each verdict, for print and for readers who cannot tell the colours apart."""
TAKEN = {"regression": "dearer", "improvement": "cheaper"}
"""What a change of a count is called: more work need not be slower."""
_PLAIN: Mapping[str, str] = MappingProxyType({})


class Highest(NamedTuple):
    """A workload's highest throughput and where it was, as text; n/a if nothing was measured."""

    workload: str
    metric: str
    highest: str
    threads: str
    latency: str


HIGHEST = Highest("workload", "metric", "highest", "at-threads", "p95")
"""The ids of the columns of a table of :class:`Highest`."""


class Line(NamedTuple):
    """A row of the answer's table, a metric of a workload; ``found`` is the verdict's id."""

    workload: str
    metric: str
    change: str
    interval: str
    p: str
    verdict: str
    found: Verdict


def highest(report: Report) -> list[Highest]:
    """The table of a campaign of one version: a row for each workload."""
    return [_highest(report, section) for section in report.sections if not section.at_rate]


def _highest(report: Report, section: Section) -> Highest:
    shown, metric = display(section, report.language), section.figures.metric
    (side,) = report.sides
    measured = [
        (rate, cell.threads, means[shown.latency.name])
        for cell in section.figures.cells
        if (rate := (means := cell.sides[side].means)[metric]) is not None
    ]
    if not measured:
        return Highest(section.title, shown.name, MISSING, MISSING, MISSING)
    rate, threads, latency = max(measured, key=itemgetter(0))
    numbers = report.numbers
    decimals = rate_decimals([rate])
    said = numbers.rate(rate, decimals), str(threads), numbers.milliseconds(latency)
    return Highest(section.title, shown.name, *said)


def lines(report: Report, *, of_counts: bool = False) -> list[Line]:
    """The answer's table: throughput and latency of each workload; empty without verdicts.

    Args:
        of_counts: what a transaction takes instead.
    """
    made = []
    for section in report.sections if report.has_verdicts else ():
        for metric, found in section.figures.decided:
            if (metric.family == COUNT) == of_counts:
                word = (taken_word if of_counts else wording.verdict_word)(report, found.verdict)
                name, limit = report.language.text(metric.said), counts.limit(report, metric)
                made.append(line(section.title, report.language, limit, name, found, word))
    return made


def taken(report: Report) -> list[list[str]]:
    """What a transaction takes of the servers: the rows below :func:`counts.columns`."""
    rows, decided = [], iter(lines(report, of_counts=True))
    for section in report.sections:
        for metric in (one for one in section.figures.metrics if one.family == COUNT):
            of = [counts.value(report, section.figures, metric, side) for side in report.sides]
            row = [section.title, report.language.text(metric.said), *of]
            if report.has_verdicts and metric.decided:
                own = next(decided)
                row += (own.change, own.interval, f"{SIGNS[own.found]} {own.verdict}")
            elif report.has_verdicts:
                change = counts.change(report, section.figures, metric)
                row += (change, "", report.language.say("taken-of-load"))
            rows.append(row)
    return rows


def taken_in_short(report: Report) -> str:
    """How many counts have each verdict: ``2 dearer, 8 equivalent``; empty without verdicts."""
    found = Counter[str](one.found.verdict for one in counts.decided(report))
    said = (
        report.language.say(f"answer-{TAKEN.get(verdict, verdict)}", count=found[verdict])
        for verdict in ORDER
        if found[verdict]
    )
    return items(said, report.language)


def left_out(report: Report) -> list[str]:
    """Which trials take no part in counts, and why; one sentence for each workload with some."""
    said = []
    for section in report.sections:
        reasons = (
            reason
            for metric, found in section.figures.decided
            for reason in found.reasons
            if metric.family == COUNT and isinstance(reason, Message) and reason.id == LEFT_OUT
        )
        if texts := dict.fromkeys(report.language.texts(tuple(reasons))):
            why = clauses(texts, report.language)
            said.append(report.language.say("taken-left-out", workload=section.title, why=why))
    return said


def sized(found: Decision | StoredVerdict, threshold_pct: float, language: Language) -> str:
    """By how much it changed; where one side has none of a count there is no ratio."""
    if found.estimate_pct is None and found.verdict in CHANGES:
        return language.say(f"change-{TAKEN[found.verdict]}-none")
    return Numbers(language).estimate(found.estimate_pct, threshold_pct, found.ci95_pct)


def named(metric: Metric, verdict: Verdict) -> str:
    """A verdict by its id, and what a change of a count is called: ``regression, dearer``."""
    words = TAKEN if metric.family == COUNT else _PLAIN
    return ", ".join(filter(None, (verdict, words.get(verdict))))


def with_interval(report: Report, found: Decision, threshold_pct: float) -> str:
    """By how much it changed, and the interval if there is one: ``+9.1% (8.0% to 10.3%)``."""
    change = sized(found, threshold_pct, report.language)
    if found.ci95_pct is None:
        return change
    interval = report.numbers.interval(found.ci95_pct, threshold_pct)
    return report.language.say("change-with-interval", change=change, interval=interval)


def taken_word(report: Report, verdict: Verdict) -> str:
    """The verdict on a count in a few words: dearer and cheaper, not regression."""
    if report.campaign.is_aa or verdict not in CHANGES:
        return wording.verdict_word(report, verdict)
    return report.language.say(f"verdict-{TAKEN[verdict]}")


def changes_of_counts(report: Report, section: Section, word: str) -> list[str]:
    """A sentence on a workload's counts that are ``dearer`` or ``cheaper``, the largest first."""
    own = [
        (size(found), report.language.text(metric.said), found, counts.limit(report, metric))
        for metric, found in section.figures.decided
        if metric.family == COUNT and TAKEN.get(found.verdict) == word
    ]
    own.sort(key=itemgetter(0), reverse=True)
    each = [f"{name} {with_interval(report, found, limit)}" for _, name, found, limit in own]
    if not each:
        return []
    labels = {name: side.label for name, side in report.sides.items()}
    named = wording.few(each, report.language)
    return [report.language.say(f"taken-{word}", workload=section.title, each=named, **labels)]


def line(
    workload: str,
    language: Language,
    threshold_pct: float,
    metric: str,
    found: Decision,
    verdict: str,
) -> Line:
    """Format a row of the answer's table; ``verdict`` is its word, in the language."""
    numbers = Numbers(language)
    return Line(
        workload=workload,
        metric=metric,
        change=sized(found, threshold_pct, language),
        interval=numbers.interval(found.ci95_pct, threshold_pct),
        p=numbers.p_value(found.p_adjusted).removeprefix("= "),
        verdict=verdict,
        found=found.verdict,
    )


def _group(
    name: str,
    decided: Sequence[tuple[str, Decision | StoredVerdict]],
    language: Language,
    threshold_pct: float,
    most: int | None = None,
) -> str:
    """The count, and each change with its size, the largest first; empty if there is none.

    Args:
        most: so many changes are named; None: all.
    """
    if not decided:
        return ""
    said = language.say(f"answer-{name}", count=len(decided))
    if name not in (*CHANGES, *TAKEN.values(), "false-alarm"):
        return said
    each = [
        language.say("answer-change", workload=title, change=sized(found, threshold_pct, language))
        for title, found in sorted(decided, key=lambda one: -size(one[1]))
    ]
    named = wording.few(each, language, most or len(each))
    return language.say("answer-named", count=said, each=named)


def size(found: Decision | StoredVerdict) -> float:
    """How large a change is; from or to none of a count it is larger than any other."""
    return math.inf if found.estimate_pct is None else abs(found.estimate_pct)


# The answer in lists of campaigns, from the verdicts stored when the report was published


class Counted(NamedTuple):
    """A verdict and its count as text: ``1 regression (Update Index -8.20%)``."""

    verdict: str
    text: str


def throughput(one: CampaignSummary) -> Sequence[StoredVerdict]:
    """The verdicts on throughput: of each workload the first that is kept."""
    return [own[0] for own in _by_workload(one) if rate_of(own[0].workload) is None]


def latency(one: CampaignSummary) -> Sequence[StoredVerdict]:
    """The verdicts on latency: of each workload the second, at a rate all that are no counts."""
    counts, found = of_counts(one), list[StoredVerdict]()
    for own in _by_workload(one):
        at_rate = rate_of(own[0].workload) is not None
        found += [verdict for verdict in own if verdict not in counts] if at_rate else own[1:2]
    return found


def of_counts(one: CampaignSummary) -> Sequence[StoredVerdict]:
    """The verdicts on what a transaction takes: on metrics that have the title of a count."""
    return [found for found in one.verdicts if english().has(title_of_count(found))]


def title_of_count(found: StoredVerdict) -> str:
    """The id of the message with the name of a count whose verdict is kept."""
    return Count(found.metric, "", ()).metric().title


def _by_workload(one: CampaignSummary) -> Sequence[Sequence[StoredVerdict]]:
    found: dict[str, list[StoredVerdict]] = {}
    for verdict in one.verdicts:
        found.setdefault(verdict.workload, []).append(verdict)
    return list(found.values())


def counted(
    campaign: CampaignSummary, verdicts: Sequence[StoredVerdict], language: Language
) -> list[Counted]:
    """Count a campaign's verdicts on one metric; in an A/A campaign, changes are false alarms.

    Example:
        ``counted(one, throughput(one), english())[0].text`` is ``"4 equivalent"``.
    """
    return _counted(campaign, [(title_of(one.workload), one) for one in verdicts], language)


def counted_counts(campaign: CampaignSummary, language: Language) -> list[Counted]:
    """The same of what a transaction takes: ``1 dearer (Insert redo log +12%)``.

    Only the largest change is named: a campaign may have decided on fifty counts.
    """
    decided = [
        (f"{title_of(one.workload)} {language.say(title_of_count(one))}", one)
        for one in of_counts(campaign)
    ]
    return _counted(campaign, decided, language, names=TAKEN, most=1)


def _counted(
    campaign: CampaignSummary,
    decided: Sequence[tuple[str, StoredVerdict]],
    language: Language,
    *,
    names: Mapping[str, str] = _PLAIN,
    most: int | None = None,
) -> list[Counted]:
    names = dict.fromkeys(CHANGES, "false-alarm") if campaign.measures_noise else names
    groups = {verdict: [one for one in decided if one[1].verdict == verdict] for verdict in ORDER}
    # With `design: watch` what was not flagged has an interval, and no p value.
    if any(one.p_adjusted is None and one.low_pct is not None for _, one in decided):
        language = load(language.code, FORM_OF_WATCH)
    return [
        Counted(verdict, _group(names.get(verdict, verdict), own, language, 0, most))
        for verdict, own in groups.items()
        if own
    ]
