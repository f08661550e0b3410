"""The answer of a campaign: a sentence and a table, the same wherever they are shown.

``sentence(report)`` is ``"2 workloads: 1 regression (Update Index -12.00%), 1 equivalent. p95
latency: 2 equivalent. Deployment-to-deployment variation was measured in 6 A/A campaigns."``
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from benchlab.analysis.verdict.compare import LEFT_OUT, Comparison
from benchlab.analysis.verdict.decision import Decision, Verdict
from benchlab.analysis.verdict.estimates import Basis
from benchlab.language import Language, Message
from benchlab.language.names import clauses, items, title_of
from benchlab.language.numbers import MISSING, Numbers, rate_decimals
from benchlab.plan.metric import COUNT, Metric
from benchlab.plan.open_loop import rate_of
from benchlab.report.model import counts
from benchlab.report.model.figures import display
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
CHANGES = ("regression", "improvement")
# What more work is, and less: slower it need not be.
_TAKEN = {"regression": "dearer", "improvement": "cheaper"}
# In the order of what readers look for.
ORDER: tuple[str, ...] = (*CHANGES, "unstable", "inconclusive", "equivalent")
# The weakest first: that one is named.
_BASES: tuple[Basis, ...] = ("prior", "deployments", "A/A campaigns")


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
    taken = _taken(report)
    said = [
        say("answer", workloads=len(saturated), counts=_counts(report, throughput)),
        say("answer-latency", latency=name, counts=_counts(report, latency)),
        *([say("answer-equal-load", counts=_counts(report, at_rate))] if at_rate else []),
        *([say("answer-taken", counts=taken)] if taken else []),
        _basis(report),
    ]
    return wording.sentences(said, report)


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
    """The answer's sentence, after a note on an A/A campaign or a slowdown."""
    say, lead = report.language.say, []
    if report.plan.slowdown_pct:
        lead = [say("summary-slowdown", limit=report.numbers.limit(report.plan.slowdown_pct))]
    elif report.campaign.is_aa:
        lead = [say("summary-aa")]
    return wording.sentences((*lead, sentence(report)), report)


def lines(report: Report) -> list[Line]:
    """The answer's table: throughput and latency of each workload; empty without verdicts."""
    made = []
    for section in report.sections if report.has_verdicts else ():
        of = (section.title, report.language, report.spec.threshold_pct)
        for metric, found in section.figures.decided:
            if metric.family == COUNT:  # `taken` has them
                continue
            word = wording.verdict_word(report, found.verdict)
            made.append(line(*of, report.language.text(metric.said), found, word))
    return made


def taken(report: Report) -> list[list[str]]:
    """What a transaction takes of the servers: the rows below :func:`counts.columns`."""
    made = []
    for section in report.sections:
        for metric, found in section.figures.decided:
            if metric.family != COUNT:
                continue
            values = [counts.value(report, section.figures, metric, side) for side in report.sides]
            row = [section.title, report.language.text(metric.said), *values]
            made.append([*row, *(_judged(report, metric, found) if report.has_verdicts else ())])
    return made


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


def _judged(report: Report, metric: Metric, found: Decision) -> Sequence[str]:
    limit = metric.threshold_pct or report.spec.threshold_pct
    return (
        _change(report, metric, found),
        report.numbers.interval(found.ci95_pct, limit),
        f"{SIGNS[found.verdict]} {_taken_word(report, found.verdict)}",
    )


def _change(report: Report, metric: Metric, found: Decision) -> str:
    """By how much a count changed; where one side has none of it there is no ratio."""
    if found.estimate_pct is None and found.verdict in CHANGES:
        return report.language.say(f"change-{_TAKEN[found.verdict]}-none")
    limit = metric.threshold_pct or report.spec.threshold_pct
    return report.numbers.estimate(found.estimate_pct, limit, found.ci95_pct)


def _taken_word(report: Report, verdict: Verdict) -> str:
    if report.campaign.is_aa or verdict not in CHANGES:
        return wording.verdict_word(report, verdict)
    return report.language.say(f"verdict-{_TAKEN[verdict]}")


def _taken(report: Report) -> str:
    """``1 dearer (Insert redo bytes +12.0%), 9 equivalent``; empty where nothing was counted."""
    say, found = report.language.say, counts.decided(report)
    changes = [one for one in found if one.found.verdict in CHANGES]
    names = (
        {"false-alarm": CHANGES}
        if report.campaign.is_aa
        else {_TAKEN[verdict]: (verdict,) for verdict in CHANGES}
    )
    said = []
    for name, verdicts in names.items():
        own = [one for one in changes if one.found.verdict in verdicts]
        own.sort(key=lambda one: -abs(one.found.estimate_pct or math.inf))
        each = [
            say(
                "answer-change",
                workload=f"{one.workload} {report.language.text(one.metric.said)}",
                change=_change(report, one.metric, one.found),
            )
            for one in own
        ]
        if own:
            count = say(f"answer-{name}", count=len(own))
            said.append(say("answer-named", count=count, each=items(each, report.language)))
    for verdict in ORDER[len(CHANGES) :]:
        if number := sum(one.found.verdict == verdict for one in found):
            said.append(say(f"answer-{verdict}", count=number))
    return items(said, report.language)


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
        change=numbers.estimate(found.estimate_pct, threshold_pct, found.ci95_pct),
        interval=numbers.interval(found.ci95_pct, threshold_pct),
        p=numbers.p_value(found.p_adjusted).removeprefix("= "),
        verdict=verdict,
        found=found.verdict,
    )


def _counts(report: Report, decided: Sequence[tuple[str, Decision]]) -> str:
    """``1 regression (Update Index -12.00%), 4 equivalent``."""
    language, limit = report.language, report.spec.threshold_pct
    groups: list[tuple[str, tuple[str, ...]]] = [(verdict, (verdict,)) for verdict in ORDER]
    if report.campaign.is_aa:
        groups = [("false-alarm", CHANGES), *groups[len(CHANGES) :]]
    counted = (
        _group(name, [one for one in decided if one[1].verdict in verdicts], language, limit)
        for name, verdicts in groups
    )
    return items(filter(None, counted), language)


def _group(
    name: str,
    decided: Sequence[tuple[str, Decision | StoredVerdict]],
    language: Language,
    threshold_pct: float,
) -> str:
    """The count, and each change with its size, the largest first; empty if there is none."""
    if not decided:
        return ""
    said = language.say(f"answer-{name}", count=len(decided))
    if name not in (*CHANGES, "false-alarm"):
        return said
    each = (
        language.say(
            "answer-change",
            workload=title,
            change=Numbers(language).estimate(found.estimate_pct, threshold_pct, found.ci95_pct),
        )
        for title, found in sorted(decided, key=lambda one: -abs(one[1].estimate_pct or 0))
    )
    return language.say("answer-named", count=said, each=items(each, language))


def _basis(report: Report) -> str:
    found = [section.figures for section in report.sections]
    weakest = min((workload.basis for workload in found), key=_BASES.index)
    return report.language.say(
        f"answer-basis-{weakest.replace('/', '').replace(' ', '-').lower()}",
        campaigns=min(workload.aa_campaigns for workload in found),
        deployments=min(workload.deployments for workload in found),
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
    """The verdicts on latency: of each workload the second, at a rate the first."""
    at = [(own, int(rate_of(own[0].workload) is None)) for own in _by_workload(one)]
    return [own[place] for own, place in at if len(own) > place]


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
    alarms = CHANGES if campaign.measures_noise else ()
    groups = {
        verdict: [
            (title_of(found.workload), found) for found in verdicts if found.verdict == verdict
        ]
        for verdict in ORDER
    }
    return [
        Counted(verdict, _group("false-alarm" if verdict in alarms else verdict, own, language, 0))
        for verdict, own in groups.items()
        if own
    ]
