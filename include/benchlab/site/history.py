"""The history of a workload over versions: levels, change points, drift, published reports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

from markupsafe import Markup

from benchlab.analysis.trend.change_points import MIN_POINTS
from benchlab.analysis.verdict.variances import percent, percents
from benchlab.language import Language, message
from benchlab.language.names import items, plain, title_of
from benchlab.language.numbers import Numbers
from benchlab.published.changes import PublishedChange, published_changes
from benchlab.published.store import PublishedReports
from benchlab.results.findings import Finding, Sought
from benchlab.results.listing import Chosen
from benchlab.results.records import ReportSummary
from benchlab.site.findings import waiting
from benchlab.site.overview import of_workload, shown_change
from benchlab.site.page import NoSuchPage, Page, Row, Site
from benchlab.site.two_versions import said, versions_of, with_both
from benchlab.studies.long_view.chart import levels
from benchlab.studies.long_view.news import Found, sentence
from benchlab.studies.long_view.text import differences
from benchlab.studies.long_view.view import (
    ChainView,
    Link,
    LongView,
    linking,
    long_view,
)

# Stands for the report type of workloads that only published reports have: no report type's name
# begins with `_`.
PUBLISHED = "_published"
_PART = "history/"


def place_of(report: str, workload: str) -> str:
    """The place of a workload's history: ``history/sysbench_ec2/oltp_insert/``."""
    return f"{_PART}{report}/{workload}/"


def workloads(site: Site) -> Page:
    """The page of all workloads with a history, by report type, and of published ones."""
    regressions = waiting(site)
    measured = {
        one.report: [
            _row(site, one, name, regressions) for name in one.workloads if name in one.decided
        ]
        for one in site.store.listing.reports()
        if site.shows(one.report) and one.decided
    }
    reports, faults = PublishedReports(site.store).all()
    there = {row["workload"] for rows in measured.values() for row in rows}
    published = {workload.name for report in reports for workload in report.workloads} - there
    values = {
        "measured": measured,
        "regression": next(iter(regressions), None),
        "needed": MIN_POINTS,
        "published": sorted(published),
        "faults": faults,
        "place_of": place_of,
        "PUBLISHED": PUBLISHED,
    }
    title = site.language.say("site-part-history")
    return Page(_PART, _PART, title, "workloads.html.j2", values)


def _row(site: Site, one: ReportSummary, workload: str, regressions: Sequence[Finding]) -> Row:
    ended = Chosen(
        one.report, workload=workload, state="complete", measures_noise=False, canary=False
    )
    throughput, _ = of_workload(one.decided[workload], workload)
    own = (each for each in regressions if (each.report, each.workload) == (one.report, workload))
    return {
        "workload": workload,
        "newest": shown_change(throughput, Numbers(site.language), None) if throughput else None,
        "regression": next(own, None),
        "campaigns": site.store.listing.count(ended),
    }


def history(site: Site, report: str, workload: str, first: str = "", second: str = "") -> Page:
    """The page of one workload's history.

    Args:
        report: a report type, or :data:`PUBLISHED`.
        first, second: versions to compare along the chain; empty: none.

    Raises:
        NoSuchPage: no campaign and no published report has the workload, or the reader may not see
            the report type.
    """
    if report != PUBLISHED and not site.shows(report):
        raise NoSuchPage(message("site-no-report", report=report))
    reports, _ = PublishedReports(site.store).all()
    published = published_changes(workload, reports)
    view, regressions = LongView(report, workload, (), {}), list[Finding]()
    if report != PUBLISHED:
        view = long_view(site.comparisons, report, workload)
        if not any(chain.changes for chain in view.chains):
            regressions = waiting(site, report, workload)
    if not (view.chains or view.left_out or published):
        raise NoSuchPage(message("site-no-workload", workload=workload))
    findings = {
        campaign: one
        for one in site.store.findings.found(Sought(report, workload=workload))
        for campaign in one.campaigns
    }

    def shown(one: LongView) -> dict[str, Any]:
        by_reason: defaultdict[str, list[str]] = defaultdict(list)
        for campaign, why in one.left_out.items():
            by_reason[site.language.text(why)].append(campaign)
        chains = [ChainOnPage(site.language, chain, workload, findings) for chain in one.chains]
        return {"view": one, "chains": chains, "left_out": by_reason}

    title = title_of(workload) if report == PUBLISHED else f"{title_of(workload)} · {report}"
    values = {
        "report": report,
        "workload": workload,
        **shown(view),
        "counts": [shown(one) for one in view.counts],
        "regression": next(iter(regressions), None),
        "needed": MIN_POINTS,
        "changes": published,
        "published": [_published_row(site.language, change) for change in published],
        "compared": _compared(site.language, view, first, second),
    }
    return Page(place_of(report, workload), _PART, title, "history.html.j2", values)


def _compared(language: Language, view: LongView, first: str, second: str) -> Row:
    """The form for comparing two versions, and the outcome by the newest chain with both.

    ``text`` is empty if no versions were asked for. ``versions`` are in order, the oldest first.
    """
    asked = bool(first and second)
    chain = with_both(view.chains, first, second) if asked else None
    known = versions_of(chain or view.chains[0]) if view.chains else ()
    text = said(language, chain, first, second) if asked else ""
    if not asked:
        first, second = (known[0], known[-1]) if known else ("", "")
    return {"versions": known, "first": first, "second": second, "text": text}


@dataclass(frozen=True)
class ChainOnPage:
    """A chain, as text and rows for the page; ``findings``: by the campaigns that show them."""

    language: Language
    view: ChainView
    workload: str
    findings: Mapping[str, Finding]

    @cached_property
    def numbers(self) -> Numbers:
        """Formats numbers in the reader's language."""
        return Numbers(self.language)

    @property
    def differs(self) -> str:
        """How its setting differs from that of the next newer chain; empty for the newest."""
        return differences(self.view.differs, self.language)

    @property
    def answer(self) -> list[str]:
        """Sentences on its changes, the latest first, or on why there are none."""
        view, say = self.view, self.language.say
        if view.lacks_points:
            return [say("site-lacks-points", there=len(view.links), needed=MIN_POINTS)]
        found: list[Found] = [*reversed(view.changes), *([view.drift] if view.drift else [])]
        said = [sentence(view, self.workload, one, self.language) for one in found]
        return said or [say("site-no-change", first=plain(view.first_baseline))]

    def _sized(self, change: float, interval: tuple[float, float]) -> dict[str, str]:
        threshold = self.view.threshold_pct
        return {
            "change": self.numbers.estimate(percent(change), threshold, percents(interval)),
            "interval": self.numbers.interval(percents(interval), threshold),
        }

    @property
    def changes(self) -> list[Row]:
        """The change points, the latest first."""
        return [
            {
                "campaign": found.campaign,
                "before": found.before,
                "candidate": plain(found.candidate),
                "previous": plain(found.previous),
                "is_better": self.view.is_better(found.change),
                "finding": self.findings.get(found.campaign),
                **self._sized(found.change, found.ci95),
            }
            for found in reversed(self.view.changes)
        ]

    def _takes(self) -> str:
        """The time and cost of another campaign, as text."""
        took = self.numbers.duration(timedelta(minutes=self.view.minutes))
        if self.view.dollars is None:
            return self.language.say("site-suspect-takes", duration=took)
        dollars = self.numbers.rate(self.view.dollars, 2)
        return self.language.say("site-suspect-costs", duration=took, dollars=dollars)

    def suspects(self, report: str) -> list[tuple[str, str, str]]:
        """The suspects: a sentence, the command for a linking campaign, what that takes."""
        return [
            (
                sentence(self.view, self.workload, found, self.language),
                linking(report, found),
                self._takes(),
            )
            for found in self.view.suspects
        ]

    @property
    def noise(self) -> str:
        """A sentence on the noise that A/A campaigns of this setting show."""
        found, say = self.view.noise, self.language.say
        if found.sd is None:
            return say("site-noise-unknown", campaigns=len(found.figures))
        sd = self.numbers.rate(percent(found.sd), 2)
        return say("site-noise", campaigns=len(found.figures), sd=sd)

    @cached_property
    def rows(self) -> list[Row]:
        """The campaigns of the chain, the latest first."""
        return [self._row(link) for link in reversed(self.view.links)]

    def _row(self, link: Link) -> Row:
        ratio, threshold = link.point.ratio, self.view.threshold_pct
        level = link.level_ci95 and percents(link.level_ci95)
        return {
            "campaign": ratio.campaign,
            "at": ratio.at,
            "baseline": plain(ratio.baseline),
            "candidate": plain(ratio.candidate),
            "change": self.numbers.estimate(percent(ratio.log_ratio), threshold, link.ci95_pct),
            "interval": self.numbers.interval(link.ci95_pct, threshold),
            "level": self.numbers.estimate(percent(link.point.level), threshold, level),
            "level_interval": self.numbers.interval(level, threshold),
            "bridged_from": plain(link.point.bridged_from or ""),
            "is_outlier": ratio.campaign in self.view.outliers,
        }

    def picture(self, to: Callable[[str], str]) -> Markup:
        """The chart of levels over time; ``to``: makes the address of a place."""
        said = self.language.say("site-level-chart", first=self.view.first_baseline)
        drawn = levels(self.view, self.language, lambda campaign: to(f"campaigns/{campaign}/"))
        return drawn.inline(said)


def _published_row(language: Language, change: PublishedChange) -> Row:
    """A row on a published report: changes recomputed and as printed, throughput, discrepancies."""
    numbers = Numbers(language)
    versions = [change.candidate, *([change.baseline] if change.baseline else [])]
    return {
        "versions": " vs. ".join(map(plain, versions)),
        "cells": [
            numbers.change(change.change_pct),
            numbers.change(change.printed_pct),
            numbers.whole(change.highest.get(change.candidate)),
            str(change.discrepancies),
        ],
        "pages": items(map(plain, change.reports), language),
    }
