"""The two sentences that everything about a campaign opens with: its answer, and its trust.

``text(report)`` is ``"10.11.5 is faster at Update Index (+124%); no answer for the other two. 48 of
48 trials valid, 8 measured again; 2 shared cores, trials of 3 s, 6 deployments per side: changes of
up to 18% can be noise."``
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence

from benchlab.analysis.verdict.compare import Comparison
from benchlab.analysis.verdict.decision import Decision
from benchlab.analysis.verdict.estimates import LEAST_ROUNDS, Basis
from benchlab.language.names import clauses, items
from benchlab.language.numbers import MISSING
from benchlab.report.model import canary, counts
from benchlab.report.model.report import CHANGES, Report, Section
from benchlab.report.sentences import answer, wording
from benchlab.results.records import TWO_CAMPAIGNS

# The weakest first: that one is named.
_BASES: tuple[Basis, ...] = (
    *("prior", "deployments", "weeks"),
    *("earlier campaigns", "A/A campaigns"),
)
# So many counts are named; a campaign may have decided on fifty.
_MOST_COUNTS = 1


def sentences(report: Report) -> tuple[str, str]:
    """The answer and its trust."""
    return sentence(report), trust(report)


def text(report: Report) -> str:
    """Both sentences."""
    return wording.sentences(sentences(report), report)


def later(report: Report, comparison: Comparison | None) -> str:
    """The answer with A/A campaigns that ended later; empty if ``comparison`` is None."""
    if comparison is None:
        return ""
    since = len(comparison.calibration.campaigns) - len(report.comparison.calibration.campaigns)
    again = sentence(dataclasses.replace(report, comparison=comparison))
    return report.language.say("answer-later", campaigns=since, answer=again)


def sentence(report: Report) -> str:
    """The answer: which workloads changed and by how much, and which have no answer."""
    said = clauses(_clauses(report), report.language)
    said = report.language.say("opening-so-far", said=said) if _is_live(report) else said
    return report.language.say("opening", said=said)


def _clauses(report: Report) -> list[str]:
    say, sections = report.language.say, report.sections
    if not sections:
        return [say("answer-nothing")]
    if not report.has_verdicts:
        return [_of_one_version(report)]
    if (planted := canary.planted_in(report)) is not None:
        return [_of_canary(report, planted)]
    is_aa = report.campaign.is_aa
    said = [_of_aa(report)] if is_aa else _changed(report)
    said += _without_change(report, "equivalent")
    said += [] if is_aa else _taken(report)
    if said and not is_aa:
        said[0] = say("opening-side", side=report.sides["candidate"].label, does=said[0])
    rest = [*_without_change(report, "unstable"), *_undecided(report), *_known(report)]
    if not said and not _is_live(report):
        rest[:1] = [one[:1].upper() + one[1:] for one in rest[:1]]
    return said + rest


def _changed(report: Report) -> list[str]:
    """What changed, as what the candidate is: of throughput, of latencies."""
    limit, said = report.spec.threshold_pct, list[str]()
    saturated = [section for section in report.sections if not section.at_rate]
    for verdict in CHANGES:
        own = [(one.title, one.figures) for one in saturated if one.figures.verdict == verdict]
        said += _each(report, f"opening-{verdict}", own, limit)
    latencies: dict[tuple[str, str], list[tuple[str, Decision]]] = {}
    for section in report.sections:
        for name, found in _latencies(report, section):
            latencies.setdefault((found.verdict, name), []).append((section.title, found))
    for (verdict, name), of in sorted(latencies.items(), key=lambda one: CHANGES.index(one[0][0])):
        which = "longer" if verdict == "regression" else "shorter"
        said += _each(report, f"opening-{which}", of, limit, latency=name)
    return said


def _taken(report: Report) -> list[str]:
    """What a transaction takes more of, and less; the largest change is named."""
    said = list[str]()
    taken = [
        (f"{one.workload} {report.language.text(one.metric.said)}", one.found)
        for one in counts.decided(report)
    ]
    for verdict, word in answer.TAKEN.items():
        of = [one for one in taken if one[1].verdict == verdict]
        said += _each(report, f"opening-{word}", of, counts.THRESHOLD_PCT, most=_MOST_COUNTS)
    return said


def _latencies(report: Report, section: Section) -> list[tuple[str, Decision]]:
    """The latencies of a workload that changed, unless its throughput changed likewise."""
    return [
        (report.language.text(metric.said), found)
        for metric, found in section.figures.latencies
        if found.verdict in CHANGES
        and (section.at_rate or found.verdict != section.figures.verdict)
    ]


def _each(
    report: Report,
    which: str,
    found: Sequence[tuple[str, Decision]],
    limit: float,
    most: int = wording.MOST_NAMED,
    **values: str,
) -> list[str]:
    """One clause that names each with its size, the largest first; none if there is none."""
    say = report.language.say
    each = [
        say("opening-at", workload=title, change=answer.sized(one, limit, report.language))
        for title, one in sorted(found, key=lambda one: -answer.size(one[1]))
    ]
    return [say(which, each=_listed(report, each, most), **values)] if each else []


def _listed(report: Report, each: Sequence[str], most: int = wording.MOST_NAMED) -> str:
    from babel.lists import format_list

    if len(each) > most:
        return wording.few(each, report.language, most)
    return format_list(each, locale=report.language.locale)


def _without_change(report: Report, verdict: str) -> list[str]:
    """The workloads of a verdict that is no change; none if there is none."""
    own = [one.title for one in report.sections if one.leading.verdict == verdict]
    if not own:
        return []
    each, is_aa = _listed(report, own), "yes" if report.campaign.is_aa else "no"
    return [report.language.say(f"opening-{verdict}", each=each, aa=is_aa)]


def _undecided(report: Report) -> list[str]:
    """The workloads without an answer: by name if it is one, else how many they are.

    Those of which a latency has one are named, as without an answer of their throughput.
    """
    open_ones = [one for one in report.sections if one.leading.verdict == "inconclusive"]
    own = [one.title for one in open_ones if not _latencies(report, one)]
    beside = [one.title for one in open_ones if _latencies(report, one)]
    said = [report.language.say("opening-beside", each=_listed(report, beside))] if beside else []
    if not own:
        return said
    which = "one" if len(own) == 1 else "all" if len(own) == len(report.sections) else "others"
    say, count = report.language.say, len(own)
    return [*said, say("opening-undecided", count=count, which=which, workload=own[0])]


def _known(report: Report) -> list[str]:
    """What was known to differ before, and is not counted in the estimates, with `design: watch`"""
    limit, say = report.spec.threshold_pct, report.language.say
    each = [
        say(
            "opening-at",
            workload=section.title,
            change=report.numbers.estimate(known, limit, section.figures.ci95_pct),
        )
        for section in report.sections
        if (known := section.figures.known_pct) is not None and abs(known) >= limit
    ]
    told = _listed(report, each)
    return [say("opening-known", each=told, **wording.labels(report))] if each else []


def _of_one_version(report: Report) -> str:
    """Each workload's highest throughput, and no verdict."""
    say = report.language.say
    each = [
        say("opening-highest", **row._asdict())
        for row in answer.highest(report)
        if row.highest != MISSING
    ]
    if not each:
        return say("answer-nothing")
    side = report.sides["baseline"].label
    return say("opening-one-version", side=side, each=_listed(report, each))


def _of_canary(report: Report, planted: Section) -> str:
    return report.language.say(
        "opening-canary",
        limit=report.numbers.limit(report.plan.slowdown_pct),
        workload=planted.title,
        found="yes" if canary.is_found_in(planted, report) else "no",
        verdict=wording.verdict(report, planted),
        change=answer.with_interval(report, planted.figures, report.spec.threshold_pct),
    )


def _of_aa(report: Report) -> str:
    """How many false alarms an A/A campaign has, of which metrics."""
    each = [
        report.language.say(
            "opening-at",
            workload=f"{section.title} {report.language.text(metric.said)}",
            change=answer.sized(found, counts.limit(report, metric), report.language),
        )
        for section in report.sections
        for metric, found in section.figures.decided
        if found.verdict in CHANGES
    ]
    version, named = report.sides["baseline"].version, _listed(report, each) if each else ""
    return report.language.say("opening-aa", version=version, count=len(each), each=named)


# How far the answer can be trusted


def trust(report: Report) -> str:
    """How many trials are valid, where and how they were measured, and what can be noise."""
    say, found = report.language.say, report.quality
    ended = "stopped" if wording.stopped(report.campaign) else "yes"
    trials = say(
        "trust-trials",
        used=found.used,
        planned=found.planned,
        again=sum(times > 1 for times in Counter(one.trial.id for one in report.results).values()),
        ended="live" if _is_live(report) else ended,
    )
    setting = items(_setting(report), report.language)
    reach = _reach(report) if report.has_verdicts else ""
    return say("trust" if reach else "trust-alone", trials=trials, setting=setting, reach=reach)


def _is_live(report: Report) -> bool:
    """Whether trials are still to come."""
    measured = {one.trial.id for one in report.results}
    return (
        report.campaign.state == "running"
        and not wording.stopped(report.campaign)
        and any(one.id not in measured for one in report.plan.trials)
    )


def _setting(report: Report) -> Iterable[str]:
    say, plan, fleet = report.language.say, report.plan, report.fleet
    if plan.can.shares_machine:
        yield say("trust-machine", cores=wording.cores(report) or "none")
    elif fleet is not None:
        yield say("about-hosts", hosts=fleet.total, rented="yes" if fleet.rented else "no")
    yield say("trust-seconds", seconds=wording.seconds(report))
    if plan.slowdown_pct and canary.planted_in(report) is None:
        yield say("trust-slowdown", limit=report.numbers.limit(plan.slowdown_pct))
    if not report.has_verdicts:
        return
    if report.campaign.environment.get(TWO_CAMPAIGNS) is not None:
        yield say("trust-two-campaigns")
    elif plan.placement == "sequential":
        yield say("trust-sequential")
    own = [section.figures for section in report.sections]
    if own:
        weakest = min((one.basis for one in own), key=_BASES.index)
        yield say(
            f"trust-{weakest.replace('/', '').replace(' ', '-').lower()}",
            campaigns=min(one.aa_campaigns for one in own),
            earlier=min(one.earlier_campaigns for one in own),
            deployments=wording.deployed(report, (one.deployments for one in own)),
        )


def _reach(report: Report) -> str:
    """Which changes can be noise, of the workload that shows the smallest and the largest ones."""
    if report.plan.rounds < LEAST_ROUNDS:
        return report.language.say("trust-few-rounds")
    limit = report.spec.threshold_pct
    halves = [half for one in report.sections if (half := wording.half_width(one.leading))]
    if not halves:
        return ""
    if max(halves) > wording.MOST_REACH_PCT:
        return report.language.say("trust-reach-none")
    least, most = (
        report.numbers.size(half, limit, (-half, half)) for half in (min(halves), max(halves))
    )
    each = "no" if least == most else "yes"
    return report.language.say("trust-reach", least=least, most=most, each=each)
