"""A campaign with ``design: watch`` among those before it: its stage, and their evidence.

Example:
    ``rows(report)[-1]`` is ``["v9.0.0", "-0.4%", "+1.2%"]``: this campaign's workloads.
"""

from __future__ import annotations

from benchlab.analysis.trend.watch import RULE
from benchlab.language.names import clauses, items, title_of
from benchlab.language.numbers import MISSING
from benchlab.report.model.report import Report
from benchlab.report.sentences import wording


def sentences(report: Report) -> list[str]:
    """What the screening showed and what followed, and each workload's strongest evidence."""
    say, found = report.language.say, report.campaign.screening
    stage = [say("watched-screening")]
    if found is not None:
        names = {
            "confirming": items(map(title_of, found.confirming), report.language),
            "left": items(map(title_of, found.left_out), report.language),
        }
        stage = [say("watched-left-out" if found.left_out else "watched-confirmed", **names)]
        if not found.flagged:
            stage = [say("watched-quiet")]
    each = [
        say(
            "watched-strongest",
            workload=title_of(one.workload),
            weeks=one.weeks,
            change=report.numbers.change(one.change_pct),
            p=report.numbers.p_value(one.p),
        )
        for one in report.comparison.courses
    ]
    levels = {"slower": f"{RULE.worse:g}", "faster": f"{RULE.better:g}"}
    about = say("watched-about", each=clauses(each, report.language), **levels)
    return [wording.sentences(stage, report), about]


def columns(report: Report) -> list[str]:
    """The headings of :func:`rows`."""
    names = (title_of(one.workload) for one in report.comparison.courses)
    return [report.language.say("column-build"), *names]


def rows(report: Report) -> list[list[str]]:
    """The throughput of each build against the anchor by workload, the earliest build first."""
    courses = [dict(one.changes) for one in report.comparison.courses]
    builds = dict.fromkeys(build for course in courses for build in course)
    return [
        [
            build,
            *(
                MISSING if (change := course.get(build)) is None else report.numbers.change(change)
                for course in courses
            ),
        ]
        for build in builds
    ]
