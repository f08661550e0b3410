"""What a person can do after a campaign, for its page and the command line.

A step that a form can start leads to the page Plan, filled in: Airflow 3.3 has no address that
opens its own trigger form.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import urlencode

from benchlab.analysis.verdict.compare import Comparison
from benchlab.language import Language
from benchlab.language.names import items, title_of
from benchlab.language.numbers import Numbers
from benchlab.plan import versions
from benchlab.results.records import Campaign
from benchlab.site.page import Page, Row, Site
from benchlab.site.trial import campaign_of
from benchlab.studies import next_steps as studied
from benchlab.studies.next_steps import NextStep

LIKE = "like"
"""The field of the page Plan that names the campaign whose fields it begins with."""


def next_steps(site: Site, campaign: str) -> Page:
    """The part of a campaign's page that it asks for once it is shown, as it takes plans.

    Raises:
        NoSuchPage: the campaign does not exist, or the reader may not see it.
    """
    record = campaign_of(site, campaign)
    steps = of_campaign(site, record, site.comparisons.outcome(record).comparison)
    values = {
        "steps": rows(record, steps, site.language),
        "may_not": bool(site.starts_at) and not site.may_change,
        "dag": record.plan.report,
    }
    place, title = f"campaigns/{record.id}/", site.language.say("next-steps")
    return Page(place, "campaigns/", title, "next-steps.html.j2", values)


def of_campaign(site: Site, record: Campaign, comparison: Comparison) -> Sequence[NextStep]:
    """The steps after a campaign, planned for today."""
    return studied.next_steps(site.comparisons, record, comparison, site.now.date())


def rows(record: Campaign, steps: Sequence[NextStep], language: Language) -> list[Row]:
    """What is said of each step, and the query by which the page Plan opens with it."""
    found: list[Row] = []
    labels = dict.fromkeys(side.label for side in record.plan.sides.values())
    first, *_, last = sorted(labels, key=versions.order) * 2
    own = {"report": record.plan.report, LIKE: record.id}
    for step in steps:
        opens = step.fields is not None and not step.why_not
        about = language.say(
            f"next-{step.kind}-about",
            workloads=items(map(title_of, step.workloads), language),
            rounds=int(step.changes.get("rounds", record.plan.rounds)),
            deployments=int(step.changes.get("deployments", record.plan.deployments)),
            versions=items(labels, language),
            first=first,
            last=last,
            campaigns=step.most_campaigns or 1,
            decides="yes" if step.decides else "no",
        )
        found.append(
            {
                "title": language.say(f"next-{step.kind}"),
                "about": about,
                "cost": cost(step, language),
                "why_not": language.texts(step.why_not),
                "query": urlencode({**own, **(step.fields or {})}, True) if opens else "",
                "command": step.command,
            }
        )
    return found


def cost(step: NextStep, language: Language) -> str:
    """Its time and dollars, or why these are missing: ``6.4 h, about 50.73 dollars``."""
    if step.minutes is None:
        return ""
    took = Numbers(language).duration(timedelta(minutes=step.minutes))
    if step.dollars is not None:
        dollars = Numbers(language).rate(step.dollars, 2)
        return language.say("site-plan-takes", duration=took, dollars=dollars)
    price = language.say("site-plan-unpriced" if step.rents else "site-plan-free")
    return language.say("next-takes", duration=took, price=price)
