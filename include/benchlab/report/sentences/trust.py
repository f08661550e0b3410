"""The sentences on how far a verdict can be trusted, and on what stands beside it.

Plain text, as in :mod:`benchlab.report.sentences.wording`: what intervals know of deployments, p95
latency,
thread counts that moved against the rest, symptoms. ``latency_in_short(report, section)`` is
``"p95 latency: regression, +4.12%"``.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchlab.analysis.verdict.compare import WorkloadComparison
from benchlab.analysis.verdict.variances import PRIOR_SIDE_SD
from benchlab.language import Language, Value, side_name
from benchlab.language.names import clauses, items
from benchlab.language.numbers import MISSING, Numbers
from benchlab.report.model.figures import display
from benchlab.report.model.report import Report, Section
from benchlab.report.sentences import wording
from benchlab.results.records import TWO_CAMPAIGNS

_MOST_PLACES = 4


def deployments(report: Report) -> str:
    """What the intervals know of deployments, and what the rounds alone say; once in a report."""
    say, sections = report.language.say, report.sections
    if not report.has_verdicts:
        return say("scope-one-version")
    said = []
    for basis in dict.fromkeys(section.figures.basis for section in sections):
        own = [section for section in sections if section.figures.basis == basis]
        said.append(
            say(
                f"basis-{basis.replace('/', '').replace(' ', '-').lower()}",
                which="all" if len(own) == len(sections) else "some",
                workloads=items((section.title for section in own), report.language),
                deployments=min(section.figures.deployments for section in own),
                campaigns=min(section.figures.aa_campaigns for section in own),
                side=Numbers(report.language).limit(100 * PRIOR_SIDE_SD),
                again="yes" if report.plan.can.administers else "no",
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
    single = [say("scope-one-round")] if report.plan.rounds == 1 else []
    return wording.sentences((*said, *drift, *single), report)


def latency(report: Report, section: Section) -> str:
    """What the campaign shows of a workload's p95 latency."""
    found, say = section.figures.latency, report.language.say
    reasons = report.language.texts(found.reasons)
    of = {"workload": section.title, "latency": display(section, report.language).latency_name}
    why: dict[str, Value] = {"reasons": len(reasons), "because": clauses(reasons, report.language)}
    if found.estimate_pct is None:
        return say("latency-unknown", missing=MISSING, **of, **why)
    if found.verdict in ("regression", "improvement"):
        labels = {name: side.label for name, side in report.sides.items()}
        changed = wording.change(report, "latency-change", found, **labels, **of)
        return wording.sentences(changed, report)
    word, told = say(f"verdict-{found.verdict}"), wording.interval(report, found)
    estimate = wording.estimate(report, found)
    return say("latency-otherwise", verdict=word, estimate=estimate, told=told, **of, **why)


def latency_in_short(report: Report, section: Section) -> str:
    """The verdict on p95 latency with its estimate, in a few words."""
    found, say = section.figures.latency, report.language.say
    if found.estimate_pct is None:
        return say("latency-in-short-unknown", missing=MISSING)
    return say(
        "latency-in-short",
        verdict=wording.verdict_word(report, found.verdict),
        estimate=wording.estimate(report, found),
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
    """Where symptoms were seen, by gate: trials and thread counts by side, or workloads."""
    say, said = report.language.say, []
    for symptom in report.quality.symptoms:
        places = [
            say("symptom-places", count=len(at), side=side_name(side), places=_few(at, report))
            for side, at in symptom.places.items()
        ] or [_few(symptom.workloads, report)]
        names = {"gate": symptom.gate, "sentence": symptom.sentence}
        said.append(say("symptom", places=clauses(places, report.language), **names))
    return said


def _few(places: Sequence[str], report: Report) -> str:
    shown = items(places[:_MOST_PLACES], report.language)
    if (more := len(places) - _MOST_PLACES) <= 0:
        return shown
    return report.language.say("and-more", shown=shown, more=more)
