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
    last: dict[str, int] = {}
    for one in report.results:
        name, number = one.trial.workload, plan.deployment_of(one.trial.round)
        last[name] = max(number, last.get(name, 0))
    each = []
    for name in plan.workloads_in_order:
        after, why = left.get(name, (last.get(name, 0), ""))
        on = "looked-all" if after == plan.deployments else "looked-stopped"
        if report.campaign.state == "running":
            on = "looked-so-far"
        said = "looked-left" if name in left else on
        each.append(say(said, workload=title_of(name), after=after, why=why))
    first, planned = plan.looks[0], plan.deployments
    told = clauses(each, report.language)
    return [say("looked-about", first=first, planned=planned, each=told)]
