"""Two campaigns side by side: their changes and figures, and how the campaigns differ.

Changes, each against its own baseline, can be compared between campaigns. A campaign of one version
has none: it is compared with the sides of the other one, as before and after, where both were
measured alike (:mod:`benchlab.studies.before_after`). Other figures are shown without a verdict, as
the trials of two campaigns are not interleaved.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from benchlab.charts.picture import Picture
from benchlab.language.names import plain, title_of
from benchlab.language.numbers import MISSING
from benchlab.plan.metric import LATENCY, THROUGHPUT
from benchlab.plan.report_type import SIDES
from benchlab.report import charts
from benchlab.report.model.report import OF_A_RUN, Report, build
from benchlab.report.sentences import answer, opening, wording
from benchlab.results.listing import Chosen
from benchlab.results.records import Campaign
from benchlab.site.page import Page, Row, Site
from benchlab.site.trial import campaign_of
from benchlab.studies import before_after

PLACE = "compare/"
_MOST_OFFERED = 200
# Fields of a report type that do not affect what is measured.
_NOT_MEASURED = ("title", "description", "publish", "languages", "layout", "schedule", "budget")


def side_by_side(
    site: Site, first: str | None = None, second: str | None = None, chosen: Sequence[str] = ()
) -> Page:
    """The page of two campaigns; with fewer, only a form to choose them.

    Args:
        chosen: ids of campaigns chosen in a list; if they are two, ``first`` is the earlier one.

    Raises:
        NoSuchPage: one of them does not exist, or the reader may not see it.
    """
    if len(chosen) == len(SIDES):
        first, second = sorted(chosen, key=lambda one: campaign_of(site, one).started_at)
    asked = {"first": first or next(iter(chosen), ""), "second": second or ""}
    seen = Chosen(reports=site.reports)
    values: dict[str, Any] = {
        "asked": asked,
        "offered": site.store.listing.summaries(seen, limit=_MOST_OFFERED),
        "versions": site.store.listing.versions(seen),
        "chosen": len(chosen),
        "reports": (),
    }
    title = site.language.say("site-compare")
    records = [campaign_of(site, one) for one in (first, second) if one]
    if len(records) == 2:
        values |= _compared(*zip(*(_report(site, record) for record in records), strict=True))
        values |= _beside(site, records)
    query = {name: value for name, value in asked.items() if value}
    return Page(PLACE, PLACE, title, "side_by_side.html.j2", values, query)


def _report(site: Site, record: Campaign) -> tuple[Report, str]:
    """A campaign's report, and its answer with later A/A campaigns, if there are any."""
    found = site.comparisons.outcome(record)
    report = build(found.campaign, found.comparison, found.trials, language=site.language)
    return report, opening.later(report, site.comparisons.later(found))


def _compared(reports: Sequence[Report], later: Sequence[str]) -> dict[str, Any]:
    first, second = reports
    return {
        "reports": reports,
        "titles": [wording.title(report) for report in reports],
        "answers": [opening.text(report) for report in reports],
        "later": later,
        "values": list(_values(reports)),
        "value_columns": [
            f"{number}: {side.label}"
            for number, report in enumerate(reports, start=1)
            for side in report.sides.values()
        ],
        "rows": list(_rows(reports)),
        "changes": _changes([report for report in reports if report.has_verdicts]),
        "same_pair": first.plan.sides == second.plan.sides,
        "plans": _differences(*(_measured(report) for report in reports)),
        "environments": _differences(*(_environment(report) for report in reports)),
    }


def _rows(reports: Sequence[Report]) -> Iterator[Row]:
    """A row per workload and metric with both campaigns' lines; None where one lacks it."""
    by_key = [
        {
            (line.workload, line.metric): line
            for line in (*answer.lines(report), *answer.lines(report, of_counts=True))
        }
        for report in reports
    ]
    for workload, metric in dict.fromkeys(key for known in by_key for key in known):
        lines = [known.get((workload, metric)) for known in by_key]
        yield {"workload": workload, "metric": metric, "lines": lines}


def _changes(reports: Sequence[Report]) -> dict[str, tuple[str, Picture]]:
    """Charts of both campaigns' changes, workload by workload."""
    workloads = dict.fromkeys(w.name for report in reports for w in report.comparison.workloads)
    found = [
        (f"{title_of(name)} · {number}", report, found)
        for name in workloads
        for number, report in enumerate(reports, start=1)
        for found in report.comparison.workloads
        if found.name == name
    ]
    return charts.changes_of(found) if len(reports) == len(SIDES) else {}


def _values(reports: Sequence[Report]) -> Iterator[Row]:
    """A row per workload, thread count and metric, with the figure of each side of both."""
    cells = [
        {
            (section.title, cell.threads): (section, cell)
            for section in report.sections
            for cell in section.figures.cells
        }
        for report in reports
    ]
    for workload, threads in sorted({key for known in cells for key in known}):
        there = [known.get((workload, threads)) for known in cells]
        metrics = {
            metric.name: metric
            for section, _ in filter(None, there)
            for metric in section.figures.metrics
            if metric.family in (THROUGHPUT, LATENCY) and metric.family == metric.kind
        }
        for name, metric in metrics.items():
            figures = [
                found[1].sides[side].means.get(name) if found else None
                for report, found in zip(reports, there, strict=True)
                for side in report.sides
            ]
            yield {"workload": workload, "threads": threads, "metric": metric, "figures": figures}


def _beside(site: Site, records: Sequence[Campaign]) -> dict[str, Any]:
    """A campaign of one version as before or after each side of the other one.

    Where they were not measured alike, it is what differs; nothing is compared then.
    """
    first, second = sorted(records, key=lambda one: one.started_at)
    numbers = {one.id: number for number, one in enumerate(records, start=1)}
    values: dict[str, Any] = {"pairs": [], "why_not": [], "conditions": []}
    if all(len(one.plan.sides) == len(SIDES) for one in records):
        return values
    say = site.language.say
    for one in records:
        is_prepared = one.plan.sides.keys() <= one.facts.keys()
        if one.state == "running" or one.ended_at is None or not is_prepared:
            values["why_not"].append(say("site-pair-not-ended", campaign=one.id))
    if first.ended_at is not None and second.started_at < first.ended_at:
        values["why_not"].append(say("site-pair-at-once"))
    differing = before_after.differences(*records)
    values["conditions"] = [
        {"name": plain(name), "first": _shown(one), "second": _shown(other)}
        for name, one, other in differing
    ]
    if values["why_not"] or values["conditions"]:
        return values
    for before in first.plan.sides:
        for after in second.plan.sides:
            found = before_after.together(site.comparisons, first, second, (before, after))
            report = build(found.campaign, found.comparison, found.trials, language=site.language)
            labels = [
                one.plan.sides[side].label for one, side in ((first, before), (second, after))
            ]
            values["pairs"].append(
                {
                    "labels": [
                        f"{numbers[one.id]}: {label}"
                        for one, label in zip((first, second), labels, strict=True)
                    ],
                    "answer": opening.text(report),
                    "lines": answer.lines(report),
                    "changes": charts.changes(report),
                }
            )
    return values


def _measured(report: Report) -> dict[str, str]:
    """The sides and the fields of the report type, flattened."""
    spec = report.spec.model_dump(mode="json", exclude=set(_NOT_MEASURED))
    sides: dict[str, str] = {side: one.label for side, one in report.plan.sides.items()}
    engines = spec.pop("engines", {})
    asked = engines.get(report.plan.engine, {})
    return {"engine": report.plan.engine, **sides, **dict(_flat(asked)), **dict(_flat(spec))}


def _environment(report: Report) -> dict[str, str]:
    """The recorded facts about hosts and programs, without those about the run."""
    return {name: text for name, text in report.environment.items() if name not in OF_A_RUN}


def _flat(value: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of a document by their path: ``client.program``."""
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _flat(inner, f"{at}{name}.")
        else:
            yield f"{at}{name}", _shown(inner)


def _shown(value: object) -> str:
    if value is None:
        return MISSING
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    return plain(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _differences(first: Mapping[str, str], second: Mapping[str, str]) -> list[Row]:
    return [
        {
            "name": plain(name),
            "first": first.get(name, MISSING),
            "second": second.get(name, MISSING),
        }
        for name in dict.fromkeys((*first, *second))
        if first.get(name) != second.get(name)
    ]
