"""Two campaigns beside each other, such as before and after an upgrade: changes, not figures.

They were measured at two times, perhaps on other hosts, and never in turn. What can be put side by
side are their changes, each against its own baseline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchlab.language.names import plain, title_of
from benchlab.language.numbers import Numbers
from benchlab.plan.report_type import SIDES
from benchlab.results.listing import Chosen
from benchlab.results.records import Campaign, CampaignSummary
from benchlab.site.campaign import recorded, title_of_campaign
from benchlab.site.page import Page, Site
from benchlab.studies.comparisons import ComparedCampaign

PLACE = "compare/"
# So many are offered for the second place, the latest first.
_OFFERED = 50
# Fields of a report type that say how a campaign measured, in the order in which they are shown.
_FIELDS = (
    *("target", "topology", "sides", "dataset", "threads", "rounds", "deployments", "seconds"),
    *("warmup_seconds", "restore", "placement", "interleave", "load_balancer", "threshold_pct"),
)


@dataclass(frozen=True)
class Found:
    """What one campaign found of one metric of a workload; ``change`` is n/a where nothing."""

    verdict: str
    change: str
    interval: str


@dataclass(frozen=True)
class Row:
    """One metric of a workload; None where a campaign has not measured it."""

    workload: str
    metric: str
    first: Found | None
    second: Found | None


@dataclass(frozen=True)
class Difference:
    """Something that the campaigns do not have in common."""

    name: str
    first: str
    second: str


def side_by_side(site: Site, first: str, second: str = "") -> Page:
    """The page of two campaigns; with one alone, the others that can be put beside it.

    Raises:
        NoSuchPage: there is no such campaign, or the reader may not see it.
    """
    one = recorded(site, first)
    other = recorded(site, second) if second else None
    values: dict[str, Any] = {
        "first": one,
        "second": other,
        "titles": [title_of_campaign(record) for record in (one, other) if record],
        "offered": [] if other else _offered(site, one),
    }
    if other is not None:
        values["rows"] = list(_rows(site, one, other))
        values["differences"] = list(_differences(one, other))
    title = site.language.say("site-two-title")
    return Page(PLACE, "campaigns/", title, "side-by-side.html.j2", values)


def _offered(site: Site, one: Campaign) -> list[CampaignSummary]:
    """The latest campaigns of the same report type."""
    found = site.store.summaries(Chosen(report=one.plan.report), limit=_OFFERED)
    return [summary for summary in found if summary.id != one.id]


def _rows(site: Site, one: Campaign, other: Campaign) -> Iterator[Row]:
    compared = [
        site.comparisons.compared(record) if set(record.plan.sides) == set(SIDES) else None
        for record in (one, other)
    ]
    names = dict.fromkeys(
        name for record in (one, other) for name in record.plan.workloads_in_order
    )
    for name in names:
        first, second = (_found(site, found, name) for found in compared)
        for metric in dict.fromkeys((*first, *second)):
            yield Row(title_of(name), metric, first.get(metric), second.get(metric))


def _found(site: Site, compared: ComparedCampaign | None, workload: str) -> dict[str, Found]:
    """By metric, its throughput first."""
    if compared is None or workload not in compared.campaign.plan.workloads_in_order:
        return {}
    numbers = Numbers(site.language)
    threshold = compared.campaign.report_type.threshold_pct
    found = compared.workload(workload)
    return {
        metric: Found(
            decided.verdict,
            numbers.estimate(decided.estimate_pct, threshold),
            numbers.interval(decided.ci95_pct, threshold),
        )
        for metric, decided in (
            ("TPS" if found.metric == "tps" else "tpmC", found),
            (site.language.say("figures-p95"), found.p95),
        )
    }


def _differences(one: Campaign, other: Campaign) -> Iterator[Difference]:
    """What differs of plan, versions, and hosts; what neither recorded is no difference."""
    for name, here, there in _pairs(one, other):
        if here != there:
            yield Difference(name, here, there)


def _pairs(one: Campaign, other: Campaign) -> Iterator[tuple[str, str, str]]:
    for side in SIDES:
        labels = [record.plan.sides.get(side) for record in (one, other)]
        here, there = (label.label if label else "" for label in labels)
        yield side, plain(here), plain(there)
        parameters = [label.parameters if label else {} for label in labels]
        yield from _of_mappings(f"{side}: ", *parameters)
    specs = [record.report_type.model_dump(mode="json") for record in (one, other)]
    for field in _FIELDS:
        yield field, str(specs[0].get(field)), str(specs[1].get(field))
    environments = [
        {
            name: value
            for name, value in record.environment.items()
            if not name.startswith(("spent", "probes", "clock"))
        }
        for record in (one, other)
    ]
    yield from _of_mappings("", *environments)


def _of_mappings(
    prefix: str, one: Mapping[str, object], other: Mapping[str, object]
) -> Iterator[tuple[str, str, str]]:
    for name in dict.fromkeys((*one, *other)):
        here, there = (plain(str(found.get(name, ""))) for found in (one, other))
        yield f"{prefix}{plain(name)}", here, there
