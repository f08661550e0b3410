"""The answer of a campaign: a sentence and a table, the same wherever they are shown.

``sentence(report)`` is ``"2 workloads: 1 regression (Update Index -12.00%), 1 equivalent. p95
latency: 2 equivalent. Deployment-to-deployment variation was measured in 6 A/A campaigns."``
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from benchlab.analysis.verdict.compare import LEFT_OUT, Comparison
from benchlab.analysis.verdict.decision import Decision, Verdict
from benchlab.analysis.verdict.estimates import Basis
from benchlab.engines.counts import Count
from benchlab.language import FORM_OF_WATCH, Language, Message, english, load
from benchlab.language.names import clauses, items, title_of
from benchlab.language.numbers import MISSING, Numbers, rate_decimals
from benchlab.plan.metric import COUNT, Metric
from benchlab.plan.open_loop import rate_of
from benchlab.report.model import canary, counts
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
# The weakest first: that one is named.
_BASES: tuple[Basis, ...] = (
    *("prior", "deployments", "weeks"),
    *("earlier campaigns", "A/A campaigns"),
)


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


def sentence(report: Report) -> str:
    """The verdicts counted, the changes with their sizes, and the basis of the intervals."""
    say, sections = report.language.say, report.sections
    if not sections:
        return say("answer-nothing")
    if not report.has_verdicts:
        return _of_one_version(report)
    saturated = [section for section in sections if not section.at_rate]
    throughput = [(section.title, section.figures) for section in saturated]
    latency = [(section.title, section.figures.latency) for section in saturated]
    at_rate = [
        (f"{section.title} {report.language.text(metric.said)}", found)
        for section in sections
        if section.at_rate
        for metric, found in section.figures.latencies
    ]
    name = display(sections[0], report.language).latency_name  # all are of one client
    taken, limit = _taken(report), report.spec.threshold_pct
    said = [
        say("answer", workloads=len(saturated), counts=_counts(report, throughput, limit)),
        say("answer-latency", latency=name, counts=_counts(report, latency, limit)),
        *([say("answer-equal-load", counts=_counts(report, at_rate, limit))] if at_rate else []),
        *([say("answer-taken", counts=taken)] if taken else []),
        *_known(report),
        _basis(report),
    ]
    return wording.sentences(said, report)


def _known(report: Report) -> list[str]:
    """What was known to differ before, and is not counted in the estimates, with `design: watch`"""
    limit, say = report.spec.threshold_pct, report.language.say
    each = [
        say(
            "answer-change",
            workload=section.title,
            change=report.numbers.estimate(known, limit, section.figures.ci95_pct),
        )
        for section in report.sections
        if (known := section.figures.known_pct) is not None and abs(known) >= limit
    ]
    told = wording.few(each, report.language)
    return [say("answer-known", each=told, **wording.labels(report))] if each else []


def later(report: Report, comparison: Comparison | None) -> str:
    """The answer with A/A campaigns that ended later; empty if ``comparison`` is None."""
    if comparison is None:
        return ""
    since = len(comparison.calibration.campaigns) - len(report.comparison.calibration.campaigns)
    again = sentence(dataclasses.replace(report, comparison=comparison))
    return report.language.say("answer-later", campaigns=since, answer=again)


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


def _of_one_version(report: Report) -> str:
    """The answer for one version: each workload's highest throughput, and no verdict."""
    say = report.language.say
    each = (
        say("answer-highest", **row._asdict()) for row in highest(report) if row.highest != MISSING
    )
    said = items(each, report.language)
    measured = say("answer-one-version", each=said) if said else say("answer-nothing")
    return wording.sentences((measured, say("answer-no-verdict")), report)


def summary(report: Report) -> str:
    """The answer's sentence, after a note on an A/A campaign, a canary or another slowdown."""
    say, lead = report.language.say, []
    if (planted := canary.planted_in(report)) is not None:
        lead = [_of_canary(report, planted)]
    elif report.plan.slowdown_pct:
        lead = [say("summary-slowdown", limit=report.numbers.limit(report.plan.slowdown_pct))]
    elif report.campaign.is_aa:
        lead = [say("summary-aa")]
    return wording.sentences((*lead, sentence(report)), report)


def _of_canary(report: Report, planted: Section) -> str:
    return report.language.say(
        "summary-canary",
        limit=report.numbers.limit(report.plan.slowdown_pct),
        workload=planted.title,
        found="yes" if canary.is_found_in(planted, report) else "no",
        verdict=wording.verdict(report, planted),
        change=with_interval(report, planted.figures, report.spec.threshold_pct),
    )


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


def _taken(report: Report) -> str:
    """``1 dearer (Insert redo bytes +12.0%), 9 equivalent``; empty where nothing was counted."""
    decided = [
        (f"{one.workload} {report.language.text(one.metric.said)}", one.found)
        for one in counts.decided(report)
    ]
    limit, most = counts.THRESHOLD_PCT, wording.MOST_NAMED
    return _counts(report, decided, limit, names=TAKEN, most=most)


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


def _counts(
    report: Report,
    decided: Sequence[tuple[str, Decision]],
    threshold_pct: float,
    *,
    names: Mapping[str, str] = _PLAIN,
    most: int | None = None,
) -> str:
    """``1 regression (Update Index -12.00%), 4 equivalent``; ``names``: of verdicts, if others."""
    groups: list[tuple[str, tuple[str, ...]]] = [(names.get(one, one), (one,)) for one in ORDER]
    if report.campaign.is_aa:
        groups = [("false-alarm", CHANGES), *groups[len(CHANGES) :]]
    counted = (
        _group(
            name,
            [one for one in decided if one[1].verdict in verdicts],
            report.language,
            threshold_pct,
            most,
        )
        for name, verdicts in groups
    )
    return items(filter(None, counted), report.language)


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


def _basis(report: Report) -> str:
    found = [section.figures for section in report.sections]
    weakest = min((workload.basis for workload in found), key=_BASES.index)
    return report.language.say(
        f"answer-basis-{weakest.replace('/', '').replace(' ', '-').lower()}",
        campaigns=min(workload.aa_campaigns for workload in found),
        earlier=min(workload.earlier_campaigns for workload in found),
        deployments=wording.deployed(report, (workload.deployments for workload in found)),
    )


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
