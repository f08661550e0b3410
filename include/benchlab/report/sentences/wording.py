"""The sentences of a report on its outcome, as plain text; each format escapes them.

Sentences are in the report's language. What they claim follows from the verdict alone.
``verdict(report, section)`` is ``"equivalent"``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import get_args

from benchlab.analysis.verdict.compare import WorkloadComparison
from benchlab.analysis.verdict.decision import ALPHA, Decision
from benchlab.analysis.verdict.estimates import LEAST_ROUNDS
from benchlab.analysis.verdict.variances import PRIOR_SIDE_SD
from benchlab.language import Language, Message, Value, message, side_name
from benchlab.language.names import clauses, items, plain
from benchlab.language.numbers import MISSING, Numbers
from benchlab.plan.metric import THROUGHPUT, Metric, of_kind
from benchlab.report.model import figures as tables_of
from benchlab.report.model.quality import Quality, Tally
from benchlab.report.model.report import Report, Section
from benchlab.results import ended_servers
from benchlab.results.records import STOPPED, TWO_CAMPAIGNS, Campaign, GateKind, Stop

PLACE = "\N{OBJECT REPLACEMENT CHARACTER}"
"""Placeholder in a sentence for what is more than text, such as a link or words in bold."""
MOST_REPEATS = 6
"""Up to this many repeated blocks are named with reasons; more are counted by workload."""
MOST_REACH_PCT = 100
"""Where changes of more than this are within the noise, no size is given."""


def title(report: Report) -> str:
    """The report's title, in the form of the published ones."""
    say = report.language.say
    system = " ".join(filter(None, (report.engine_title, report.client)))
    if report.campaign.is_aa:
        return say("title-aa", system=system, version=report.sides["baseline"].version)
    return say("title", system=system, **labels(report))


def subject(report: Report) -> str:
    """What was compared, with which benchmark, and where."""
    fleet, say = report.fleet, report.language.say
    said = {
        "engine": report.engine_title,
        "client": report.client or "none",
        "where": "machine" if fleet is None else "rented" if fleet.rented else "owned",
        "hosts": fleet.total if fleet else 0,
    }
    if report.campaign.is_aa:
        return say("subject-aa", version=report.sides["baseline"].version, **said)
    versions = {name: side.version for name, side in report.sides.items()}
    if report.plan.slowdown_pct:
        limit = report.numbers.limit(report.plan.slowdown_pct)
        return say("subject-slowdown", limit=limit, **versions, **said)
    return say("subject", **versions, **said)


def labels(report: Report) -> dict[str, str]:
    """What its sides are called, by side."""
    return {name: side.label for name, side in report.sides.items()}


def verdict(report: Report, section: Section) -> str:
    """The verdict in a workload's heading, as :func:`verdict_word`."""
    return verdict_word(report, section.leading.verdict)


def verdict_word(report: Report, found: str) -> str:
    """A verdict in a few words; in an A/A campaign, a change is called a false alarm."""
    word = report.language.say(f"verdict-{found}")
    if not report.campaign.is_aa or found not in ("regression", "improvement"):
        return word
    return report.language.say("verdict-false-alarm", verdict=word)


def figures(report: Report, section: Section) -> str:
    """The estimate with its interval."""
    found, limit, say = section.leading, report.spec.threshold_pct, report.language.say
    told = estimate(report, found)
    if found.estimate_pct is None:
        return say("estimate-alone", estimate=told)
    if found.ci95_pct is None:
        return say("estimate-without-interval", estimate=told)
    within = report.numbers.interval(found.ci95_pct, limit)
    return say("estimate-with-interval", estimate=told, interval=within)


def in_short(report: Report, section: Section) -> str:
    """The verdict and its estimate, or what it could not show; empty without a verdict."""
    if not report.has_verdicts:
        return ""
    told = reach(report, section.leading) or figures(report, section)
    return report.language.say("at", where=verdict(report, section), what=told)


def estimate(report: Report, found: Decision) -> str:
    """The estimate, with as many digits as its interval justifies."""
    return report.numbers.estimate(found.estimate_pct, report.spec.threshold_pct, found.ci95_pct)


def reach(report: Report, found: Decision) -> str | None:
    """The changes that an inconclusive metric could not show; None for other verdicts.

    Also None without an interval. A change is significant if its interval excludes zero, so changes
    up to half its width, on the log scale, are within the noise. A larger estimate is inconclusive
    if it is not significant after Holm's adjustment for several workloads.
    """
    if found.verdict != "inconclusive" or found.ci95_pct is None:
        return None
    largest = half_width(found) or 0.0
    if largest > MOST_REACH_PCT:
        return report.language.say("reach-none")
    unseen = -100 * largest / (100 + largest), largest
    low, high = found.ci95_pct
    low_text, high_text = (
        report.numbers.estimate(bound, report.spec.threshold_pct, unseen) for bound in unseen
    )
    alone = (low > 0 or high < 0) and found.p_adjusted is not None and found.p_adjusted >= ALPHA
    which = "reach-of-several" if alone else "reach"
    return report.language.say(which, low=low_text, high=high_text)


def half_width(found: Decision) -> float | None:
    """Up to which increase, in percent, changes are within the noise; None where there is none."""
    if found.ci95_pct is None or found.ci95_pct[0] <= -100:
        return None
    low, high = (math.log1p(bound / 100) for bound in found.ci95_pct)
    return 100 * math.expm1((high - low) / 2)


def cores(report: Report) -> int | None:
    """The cores of the machine that both sides share; None where it was not recorded."""
    found = report.machine.get("cores", "")
    return int(found) if found.isdecimal() else None


def seconds(report: Report) -> str:
    """How long its trials are, without the unit: ``3`` or ``3 or 60``."""
    from babel.lists import format_list

    each = [str(count) for count in sorted({trial.seconds for trial in report.plan.trials})]
    return format_list(each or [MISSING], style="or", locale=report.language.locale)


def _mean(report: Report, section: Section) -> str:
    return report.numbers.change(section.figures.arithmetic_mean_pct)


def outcome_with_mean(report: Report, section: Section) -> str:
    """:func:`outcome`, and the arithmetic mean that published reports print."""
    if section.at_rate:
        return outcome(report, section)
    said = report.language.say("arithmetic-sentence", mean=_mean(report, section))
    return sentences((outcome(report, section), said), report)


def outcome(report: Report, section: Section) -> str:
    """What the campaign shows for one workload, and why."""
    found, say, because = section.figures, report.language.say, why(report, section)
    if section.at_rate:
        return _sent(report, section)
    said: dict[str, Value] = {
        "workload": section.title,
        "metric": tables_of.display(section, report.language).name,
        "limit": report.numbers.limit(report.spec.threshold_pct),
        "figures": figures(report, section),
        "because": because,
        **labels(report),
    }
    if found.verdict in ("unstable", "inconclusive"):
        return say(f"outcome-{found.verdict}", **said)
    note = [say("note", because=because)] if because else []
    if found.verdict == "equivalent":
        return sentences((say("outcome-equivalent", **said), *note), report)
    return sentences((*change(report, "outcome-change", found, **said), *note), report)


def change(
    report: Report, which: str, found: Decision | WorkloadComparison, **values: Value
) -> tuple[str, ...]:
    """A sentence on a change, from message ``which``; in an A/A campaign also the false alarm."""
    say, threshold = report.language.say, report.spec.threshold_pct
    assert found.estimate_pct is not None  # noqa: S101 - a change has an estimate
    size, told = (
        report.numbers.size(found.estimate_pct, threshold, found.ci95_pct),
        interval(report, found),
    )
    changed = say(which, verdict=found.verdict, size=size, told=told, **values)
    return (changed, say("false-alarm")) if report.campaign.is_aa else (changed,)


def interval(report: Report, found: Decision | WorkloadComparison) -> str:
    """The interval and p value, for the brackets in a sentence."""
    return report.language.say(
        "interval-told",
        interval=report.numbers.interval(found.ci95_pct, report.spec.threshold_pct),
        p=report.numbers.p_value(found.p_adjusted),
    )


def why(report: Report, section: Section) -> str:
    """The reasons of a verdict; empty if it has none."""
    found = [*report.language.texts(section.figures.reasons)]
    if report.plan.placement == "sequential":
        found.append(report.language.say("why-sequential"))
    return clauses(found, report.language)


def rounds(report: Report, section: Section) -> str | None:
    """How many rounds the figures rest on; None if all rounds are complete."""
    used = section.rounds_used
    if used == report.plan.rounds:
        return None
    return report.language.say("rounds-used", used=used, rounds=report.plan.rounds)


def client(report: Report, section: Section) -> tuple[str, ...]:
    """The client and what its throughput means; empty if the metric needs no explanation."""
    if not (note := of_kind(section.figures.metrics, THROUGHPUT).note):
        return ()
    say = report.language.say
    made = report.environment.get("client_version") or say("client-unknown", missing=MISSING)
    return (say("client-made", client=made), say(note))


def details(report: Report) -> str:
    """What to bear in mind with the figures of a section's second table."""
    say = report.language.say
    kept = say("details")
    if report.environment.get("client_program") not in ("tiup", "go-tpc"):
        return kept
    return sentences((kept, say("details-go-tpc")), report)


def quality(report: Report) -> tuple[str, ...]:
    """Sentences on trials, repeats, missing trials, client errors and consistency."""
    found = report.quality
    return (
        report.language.say(
            "trials-counted", planned=found.planned, executed=found.executed, used=found.used
        ),
        _repeats(report, found),
        _missing(report, found),
        _client_count(report, "errors", found.errors),
        *([_client_count(report, "reconnects", found.reconnects)] if found.reconnects else ()),
        *_servers_ended(report),
        *(report.consistency.sentences if report.consistency else ()),
    )  # fmt: skip


def rounds_used(report: Report) -> str:
    """How many rounds each workload's figures rest on."""
    each = items((f"{s.title} {s.rounds_used}" for s in report.sections), report.language)
    return report.language.say("rounds-used-each", rounds=report.plan.rounds, each=each)


def gates(report: Report, kind: GateKind) -> str:
    """How many gates of a class passed, failed and were not evaluated."""
    found = report.gates(kind)
    failed = sum(gate.failed > 0 for gate in found)
    unseen = sum(gate.passed + gate.failed == 0 for gate in found)
    passed = len(found) - failed - unseen
    return report.language.say("gates-counted", passed=passed, failed=failed, unseen=unseen)


def unseen_work(report: Report) -> list[str]:
    """Why the gate ``background_work`` was never evaluated on existing servers; empty if it was."""
    if not report.spec.connections or not any(
        gate.gate == "background_work" and gate.passed + gate.failed == 0
        for gate in report.gates("validity")
    ):
        return []
    return [report.language.say("gates-unseen-work", engine=report.plan.engine)]


def excluded(report: Report) -> list[tuple[str, int, str]]:
    """The executed trials whose figures are not used: trial, attempt, and why."""
    language = report.language
    return [
        (trial.trial, trial.attempt, clauses(language.texts(trial.reasons), language))
        for trial in report.quality.excluded
    ]


def sentences(said: Iterable[str], report: Report) -> str:
    """Join whole sentences, spaced as in the report's language."""
    return report.language.say("between-sentences").join(said)


def _repeats(report: Report, found: Quality) -> str:
    language = report.language
    if not found.repeats:
        return language.say("repeats-none")
    if len(found.repeats) > MOST_REPEATS:  # there can be hundreds on a busy machine
        pairs = Counter(pair.title for pair in found.repeats)
        each = [language.say("repeats-of", workload=of, count=pairs[of]) for of in pairs]
        return language.say(
            "repeats-many", count=found.repeated_pairs, each=clauses(each, language)
        )
    said = []
    for pair in found.repeats:
        values: dict[str, Value] = {"workload": pair.title, "round": pair.round}
        shape = "repeat"
        if pair.reasons:
            shape, values["because"] = "repeat-because", clauses(pair.reasons, language)
        said.append(language.say(shape, attempts=pair.attempts, **values))
    return language.say("repeats", count=found.repeated_pairs, each=clauses(said, language))


def _missing(report: Report, found: Quality) -> str:
    if not found.missing:
        return report.language.say("missing-none")
    trials = items(found.missing, report.language)
    missing = report.language.say("missing-trials", count=len(found.missing), trials=trials)
    stops = report.language.texts(stopped(report.campaign))
    return sentences((missing, *stops), report)


def _servers_ended(report: Report) -> tuple[str, ...]:
    """The servers that ended unexpectedly during preparation; empty if none did."""
    if not (noted := ended_servers.noted(report.campaign.environment)):
        return ()
    language = report.language
    each = list(map(plain, language.texts(noted)))
    said = language.say("servers-ended", count=len(each), each=clauses(each, language))
    return (said,)


def stopped(campaign: Campaign) -> list[Message]:
    """Why measuring stopped early; empty if it did not."""
    if (by := campaign.environment.get(STOPPED)) not in get_args(Stop):
        return []
    budget = campaign.report_type.budget
    limit = f"{budget.limit:,.2f}" if budget is not None else MISSING
    return [message(f"stopped-by-{by}", limit=limit)]


def _client_count(report: Report, what: str, tally: Tally) -> str:
    say, whole = report.language.say, report.numbers.whole
    if tally.total is None:
        return say(f"{what}-unknown", missing=MISSING)
    if not tally.trials:
        return say(f"{what}-none", trials=tally.reporting)
    each = items((f"{trial} {whole(count)}" for trial, count in tally.trials), report.language)
    return say(f"{what}-counted", total=whole(tally.total), trials=tally.reporting, each=each)


# How far a verdict can be trusted, and what stands beside it

MOST_NAMED = 4
"""So many of several things does a sentence name; the others are counted."""


def deployed(report: Report, own: Iterable[int]) -> int:
    """How often each side was deployed, where workloads were measured in so many deployments.

    With ``design: release`` some are measured in fewer, as planned; otherwise they lack trials.
    """
    return (max if report.campaign.plan.looks else min)(own)


def deployments(report: Report) -> str:
    """How intervals account for deployments, and the intervals of rounds alone."""
    say, sections = report.language.say, report.sections
    if not report.has_verdicts:
        return say("scope-one-version")
    # Resuming a campaign or replacing hosts deploys both sides again.
    more = len(report.campaign.resumed_after) + len(report.fleet.replaced if report.fleet else ())
    prepared = "again" if more else "yes"
    said = []
    for basis in dict.fromkeys(section.figures.basis for section in sections):
        own = [section for section in sections if section.figures.basis == basis]
        said.append(
            say(
                f"basis-{basis.replace('/', '').replace(' ', '-').lower()}",
                which="all" if len(own) == len(sections) else "some",
                workloads=items((section.title for section in own), report.language),
                deployments=deployed(report, (section.figures.deployments for section in own))
                + more,
                campaigns=min(section.figures.aa_campaigns for section in own),
                earlier=min(section.figures.earlier_campaigns for section in own),
                side=Numbers(report.language).limit(100 * PRIOR_SIDE_SD),
                again="no" if not report.plan.can.administers else prepared,
            )
        )
    if (days := report.comparison.aa_age_days) is not None:
        said.append(say("calibration-age", days=round(days)))
    alone = [
        say(
            "rounds-alone-each",
            workload=section.title,
            interval=report.numbers.interval(found, report.spec.threshold_pct),
        )
        for section in sections
        if (found := section.figures.rounds_ci95_pct) is not None
    ]
    if alone:
        said.append(
            say(
                "rounds-alone",
                each=items(alone, report.language),
                deployments=report.plan.deployments,
            )
        )
    drift = [say("scope-sequential")] if report.plan.placement == "sequential" else []
    if (two := report.campaign.environment.get(TWO_CAMPAIGNS)) is not None:
        before, _, after = two.partition(", ")
        drift = [say("scope-two-campaigns", before=before, after=after)]
    few = [say("scope-few-rounds")] if report.plan.rounds < LEAST_ROUNDS else []
    return sentences((*said, *drift, *few), report)


def _sent(report: Report, section: Section) -> str:
    """At which rate both sides were sent the same transactions."""
    cells = section.figures.cells
    rates = [side.means.get("rate") for cell in cells for side in cell.sides.values()]
    rate = next((rate for rate in rates if rate is not None), None)
    told = MISSING if rate is None else report.numbers.whole(round(rate))
    return report.language.say("outcome-at-rate", workload=section.title, rate=told)


def latency(report: Report, section: Section) -> str:
    """What the campaign shows about a workload's latency, at a rate its latencies, and why."""
    found = section.figures.latencies
    return sentences((_latency(report, section, *one) for one in found), report)


def _latency(report: Report, section: Section, metric: Metric, found: Decision) -> str:
    say = report.language.say
    reasons = report.language.texts(found.reasons)
    of = {"workload": section.title, "latency": report.language.text(metric.said)}
    because: dict[str, Value] = {
        "reasons": len(reasons),
        "because": clauses(reasons, report.language),
    }
    if found.estimate_pct is None:
        return say("latency-unknown", missing=MISSING, **of, **because)
    if found.verdict in ("regression", "improvement"):
        labels = {name: side.label for name, side in report.sides.items()}
        changed = change(report, "latency-change", found, **labels, **of)
        return sentences(changed, report)
    word, told = say(f"verdict-{found.verdict}"), interval(report, found)
    of["estimate"] = estimate(report, found)
    return say("latency-otherwise", verdict=word, told=told, **of, **because)


def latency_in_short(report: Report, section: Section) -> str:
    """The verdict on each of a workload's latencies with its estimate, in a few words."""
    return clauses(
        [_in_short(report, metric, found) for metric, found in section.figures.latencies],
        report.language,
    )


def _in_short(report: Report, metric: Metric, found: Decision) -> str:
    say, name = report.language.say, report.language.text(metric.said)
    if found.estimate_pct is None:
        return say("latency-in-short-unknown", latency=name, missing=MISSING)
    return say(
        "latency-in-short",
        latency=name,
        verdict=verdict_word(report, found.verdict),
        estimate=estimate(report, found),
    )


def moved(workload: WorkloadComparison, language: Language) -> tuple[str, ...]:
    """A sentence for each thread count that moved against the rest of its workload."""
    numbers = Numbers(language)
    return tuple(
        language.say(
            "moved",
            threads=str(cell.threads),
            change=numbers.change(cell.change_pct),
            against=numbers.change(cell.against_rest_pct),
        )
        for cell in workload.heterogeneous
    )


def symptoms(report: Report) -> list[str]:
    """A sentence for each failed symptom, with its trials and cells by side, or its workloads."""
    say, said = report.language.say, []
    for symptom in report.quality.symptoms:
        places = [
            say(
                "symptom-places",
                count=len(at),
                side=side_name(side),
                places=few(at, report.language),
            )
            for side, at in symptom.places.items()
        ] or [few(symptom.workloads, report.language)]
        names = {"gate": symptom.gate, "sentence": symptom.sentence}
        said.append(say("symptom", places=clauses(places, report.language), **names))
    return said


def few(found: Sequence[str], language: Language, most: int = MOST_NAMED) -> str:
    """The first of them, and how many more there are: ``a, b, c, d and 3 more``."""
    shown = items(found[:most], language)
    if (more := len(found) - most) <= 0:
        return shown
    return language.say("and-more", shown=shown, more=more)
