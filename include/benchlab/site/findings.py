"""The findings: each change once, with what people say of it and the form to say it."""

from __future__ import annotations

import dataclasses

from benchlab.report.sentences.findings import trusted
from benchlab.results.findings import STATES, Finding, FindingState, Sought
from benchlab.site.page import Page, Site

PLACE = "findings/"
# How many are shown; a site of files has them all.
_SHOWN = 200


def findings(
    site: Site,
    report: str = "",
    workload: str = "",
    state: FindingState | None = None,
    most: int | None = _SHOWN,
) -> Page:
    """The list, of one report type, workload or state if they are given; ``most``: None for all."""
    kept = site.store.findings
    known = kept.judgements(Sought(reports=site.reports))
    sought = Sought(report or None, site.reports, workload or None, (state,) if state else ())
    asked = {"report": report, "workload": workload, "state": state or ""}
    values = {
        "asked": asked,
        "rows": kept.found(sought, None if site.as_files else most),
        "count": len(kept.judgements(sought)),
        "known": len(known),
        "reports": sorted({one.report for one in known}),
        "workloads": sorted({one.workload for one in known}),
        "state_names": STATES,
        "trust": trusted(kept.judgements(dataclasses.replace(sought, states=())), site.language),
    }
    query = {name: value for name, value in asked.items() if value}
    title = site.language.say("site-part-findings")
    return Page(PLACE, PLACE, title, "findings.html.j2", values, query)


def waiting(site: Site, report: str | None = None, workload: str | None = None) -> list[Finding]:
    """The regressions that nobody has judged, those that a campaign showed last first."""
    return site.store.findings.found(Sought(report, site.reports, workload, ("new",), "worse"))
