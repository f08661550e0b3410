"""Why workloads changed, in a line for each: what the split, the counts and the settings show.

Example:
    ``lines(report)[0]`` is ``"Insert (-8.20%): the change of waiting is within the noise (CPUs busy
    +0.3%, -0.9% to +1.5%); a query takes 9.1% more CPU (+7.9% to +10.3%); of 27 counts, 3 moved
    with it, the clearest rows read per query (+100.00%)."``
"""

from __future__ import annotations

from benchlab.language.names import clauses
from benchlab.report.model.report import CHANGES, Report, Section
from benchlab.report.sentences import answer, moved, profiles, split, statements, wording

# The report has all of them below.
MOST = 3


def lines(report: Report) -> list[str]:
    """Of the workloads that changed most, and which settings differ that nobody set.

    Empty where nothing changed, or nothing is known.
    """
    if report.campaign.is_aa or report.plan.slowdown_pct:
        return []
    changed = [one for one in report.sections if one.figures.verdict in CHANGES]
    largest = sorted(changed, key=lambda one: answer.size(one.figures), reverse=True)
    said = [line for section in largest[:MOST] if (line := _of(report, section))]
    names = [one.name for one in report.variables.changed]
    if changed and names:
        each = wording.few(names, report.language)
        said.append(report.language.say("why-settings", count=len(names), names=each))
    return said


def _of(report: Report, section: Section) -> str:
    parts = []
    if (whole := split.of(report, section)) is not None:
        parts += split.terms(report, whole)
    if (found := report.causes.ranked.get(section.figures.name)) and found.clusters:
        parts.append(moved.in_short(report, found))
    parts += statements.in_short(report, section.figures.name)
    if told := profiles.in_short(report, section.figures.name):
        parts.append(told)
    if not parts:
        return ""
    return report.language.say(
        "why",
        workload=section.title,
        change=wording.estimate(report, section.figures),
        told=clauses(parts, report.language),
    )
