"""When the workloads of a campaign with ``design: release`` were decided.

Example:
    ``sentences(report)`` is empty with another design.
"""

from __future__ import annotations

from benchlab.language.names import clauses, title_of
from benchlab.report.model.report import Report


def sentences(report: Report) -> list[str]:
    """After how many deployments each workload was measured no further, and why."""
    say, plan = report.language.say, report.campaign.plan
    if not plan.looks:
        return []
    left = {
        name: (look.after, why) for look in report.campaign.looks for name, why in look.left.items()
    }
    on = "looked-so-far" if report.campaign.state == "running" else "looked-all"
    each = [
        say("looked-left", workload=title_of(name), after=left[name][0], why=left[name][1])
        if name in left
        else say(on, workload=title_of(name))
        for name in plan.workloads_in_order
    ]
    first, planned = plan.looks[0], plan.deployments
    told = clauses(each, report.language)
    return [say("looked-about", first=first, planned=planned, each=told)]
