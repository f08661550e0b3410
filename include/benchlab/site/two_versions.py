"""Two versions of a report type over all its workloads, by the campaigns that chain them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from benchlab.analysis.trend.chain import Chain
from benchlab.language import Language, message
from benchlab.language.names import items, plain
from benchlab.language.numbers import Numbers
from benchlab.site.page import NoSuchPage, Page, Row, Site
from benchlab.studies.long_view.view import Between, ChainView, LongView, between, long_views

PLACE = "compare/versions/"


def two_versions(site: Site, report: str = "", first: str = "", second: str = "") -> Page:
    """The page: a row for each workload and figure; without versions only the forms.

    Args:
        report: without, the first report type of which a chain has both versions.

    Raises:
        NoSuchPage: no campaign has the report type, or the reader may not see it.
    """
    reports = [one.report for one in site.store.listing.reports() if site.shows(one.report)]
    if report and report not in reports:
        raise NoSuchPage(message("site-no-report", report=report))
    report = report or _with_both_versions(site, reports, first, second)
    views = long_views(site.comparisons, report) if report else {}
    known = dict.fromkeys(
        name for view in views.values() for chain in view.chains for name in versions_of(chain)
    )
    rows = list(_rows(site.language, views.values(), first, second)) if first and second else []
    asked = {"report": report, "first": first, "second": second}
    values = {"asked": asked, "reports": reports, "versions": [*known], "rows": rows}
    query = {name: value for name, value in asked.items() if value}
    title = site.language.say("site-versions")
    return Page(PLACE, "compare/", title, "two_versions.html.j2", values, query)


def _with_both_versions(site: Site, reports: Sequence[str], first: str, second: str) -> str:
    for report in reports if first and second else ():
        views = long_views(site.comparisons, report).values()
        if any(with_both(view.chains, first, second) for view in views):
            return report
    return next(iter(reports), "")


def versions_of(chain: ChainView) -> tuple[str, ...]:
    """The versions of a chain, the oldest first."""
    return Chain(tuple(link.point for link in chain.links)).versions


def with_both(chains: Sequence[ChainView], first: str, second: str) -> ChainView | None:
    """The newest chain that has both versions; None: there is none."""
    return next((one for one in chains if {first, second} <= {*versions_of(one)}), None)


def said(language: Language, chain: ChainView | None, first: str, second: str) -> str:
    """What a chain says of two versions, as a sentence."""
    found = between(chain, first, second) if chain else None
    names = {"first": plain(first), "second": plain(second)}
    if chain is None or found is None:
        return language.say("site-between-nothing", **names)
    change, interval = _figures(language, chain, found)
    if found.ci95_pct is not None:
        return language.say(
            "site-between", **names, change=change, interval=interval, campaigns=found.campaigns
        )
    if found.unmeasured:
        unmeasured = items(map(plain, found.unmeasured), language)
        return language.say(
            "site-between-unmeasured", **names, change=change, unmeasured=unmeasured
        )
    return language.say("site-between-unknown", **names, change=change)


def _figures(language: Language, chain: ChainView, found: Between) -> tuple[str, str]:
    """The change and its interval, as text."""
    numbers = Numbers(language)
    change = numbers.estimate(found.change_pct, chain.threshold_pct, found.ci95_pct)
    return change, numbers.interval(found.ci95_pct, chain.threshold_pct)


def _rows(language: Language, views: Iterable[LongView], first: str, second: str) -> Iterator[Row]:
    """A row for each workload's throughput, and for each of its counts that both versions have."""
    for view in views:
        for one in (view, *view.counts):
            chain = with_both(one.chains, first, second)
            found = between(chain, first, second) if chain else None
            if one.count is None or found is not None:
                yield {
                    "view": one,
                    "found": found,
                    "figures": _figures(language, chain, found) if chain and found else (),
                    "why": _why_without(language, chain, found, first, second),
                }


def _why_without(
    language: Language, chain: ChainView | None, found: Between | None, first: str, second: str
) -> str:
    """Why a row has no interval; empty if it has one."""
    return "" if found and found.ci95_pct else said(language, chain, first, second)
