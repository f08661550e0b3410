"""A workload over the versions: levels, change points, drift, and what others published."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from benchlab.analysis.trend.chain import Chain
from benchlab.analysis.trend.change_points import MIN_POINTS
from benchlab.analysis.verdict.paired import percent, percents
from benchlab.language import Language, message
from benchlab.language.names import items, plain, title_of
from benchlab.language.numbers import Numbers
from benchlab.published.history import PublishedChange, published_changes
from benchlab.published.store import PublishedReports
from benchlab.results.listing import Chosen
from benchlab.results.records import LookedInto, ReportSummary
from benchlab.site.overview import (
    Change,
    OpenRegression,
    of_workload,
    open_regressions,
    shown_change,
)
from benchlab.site.page import NoSuchPage, Page, Site
from benchlab.site.scales import Scale, around
from benchlab.studies.long_view.text import differences
from benchlab.studies.long_view.view import (
    Between,
    ChainView,
    Link,
    LongView,
    between,
    linking,
    long_view,
)

# In place of a report type, for workloads that only published pages have: no report type's name
# begins with `_`.
PUBLISHED = "_published"
_PART = "history/"
# The chart: its size in units of its own, and what its levels keep free on each side.
_WIDTH, _HEIGHT = 1120.0, 320.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 70.0, 20.0, 46.0, 36.0


def place_of(report: str, workload: str) -> str:
    """Where the history of a workload lies."""
    return f"{_PART}{report}/{workload}/"


def workloads(site: Site) -> Page:
    """The workloads that have a history, by report type; and those that others published."""
    regressions = open_regressions(site)
    measured = {
        one.report: [
            _row(site, one, name, regressions) for name in one.workloads if name in one.decided
        ]
        for one in site.store.reports()
        if site.shows(one.report) and one.decided
    }
    reports, faults = PublishedReports(site.store).all()
    there = {row.workload for rows in measured.values() for row in rows}
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


@dataclass(frozen=True)
class WorkloadRow:
    """A workload of a report type in the list.

    Attributes:
        newest: what its newest campaign found of its throughput.
        regression: its newest that nobody has looked into; None where there is none.
        campaigns: how many compared two versions to the end; a chain may leave some of them out.
    """

    workload: str
    newest: Change
    regression: OpenRegression | None
    campaigns: int


def _row(
    site: Site, one: ReportSummary, workload: str, regressions: Sequence[OpenRegression]
) -> WorkloadRow:
    ended = Chosen(one.report, workload=workload, state="complete", measures_noise=False)
    throughput, _ = of_workload(one.decided[workload], workload)
    return WorkloadRow(
        workload=workload,
        newest=shown_change(throughput, Numbers(site.language), None),
        regression=_newest(regressions, one.report, workload),
        campaigns=site.store.count(ended),
    )


def _newest(
    regressions: Sequence[OpenRegression], report: str, workload: str
) -> OpenRegression | None:
    of = (one for one in regressions if (one.campaign.report, one.workload) == (report, workload))
    return next(of, None)


def history(site: Site, report: str, workload: str, first: str = "", second: str = "") -> Page:
    """The history of one workload of a report type.

    Args:
        report: a report type, or :data:`PUBLISHED`.
        first, second: versions to compare by the chain; empty: none.

    Raises:
        NoSuchPage: no campaign and no published page has the workload.
    """
    if report != PUBLISHED and not site.shows(report):
        raise NoSuchPage(message("site-no-report", report=report))
    reports, _ = PublishedReports(site.store).all()
    published = published_changes(workload, reports)
    view, regressions = LongView(report, workload, (), {}), list[OpenRegression]()
    if report != PUBLISHED:
        view = long_view(site.comparisons, report, workload)
        if not any(chain.changes for chain in view.chains):
            regressions = open_regressions(site, report, workload)
    if not (view.chains or view.left_out or published):
        raise NoSuchPage(message("site-no-workload", workload=workload))
    looked = site.store.looked_into()
    chains = [ChainOnPage(site.language, chain, workload, looked) for chain in view.chains]
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for campaign, why in view.left_out.items():
        by_reason[site.language.text(why)].append(campaign)
    title = title_of(workload) if report == PUBLISHED else f"{title_of(workload)} · {report}"
    values = {
        "report": report,
        "workload": workload,
        "view": view,
        "chains": chains,
        "regression": _newest(regressions, report, workload),
        "needed": MIN_POINTS,
        "published": [_PublishedRow(site.language, change) for change in published],
        "left_out": by_reason,
        "compared": Compared.chosen(site.language, view, first, second),
    }
    return Page(place_of(report, workload), _PART, title, "history.html.j2", values)


@dataclass(frozen=True)
class Compared:
    """A choice of two versions, and how they compare.

    Attributes:
        versions: of the chain, the oldest first; empty where there is none.
        found: None where nothing was asked, or nothing connects the two.
        text: the change in words, or why there is none; empty where nothing was asked.
    """

    versions: tuple[str, ...]
    first: str
    second: str
    found: Between | None
    text: str

    @classmethod
    def chosen(cls, language: Language, view: LongView, first: str, second: str) -> Compared:
        """Of the newest chain that has both versions; else of the newest one."""
        names = [_versions(chain) for chain in view.chains]
        asked = bool(first and second)
        pairs = zip(view.chains, names, strict=True)
        chain = next((c for c, known in pairs if asked and {first, second} <= set(known)), None)
        known = _versions(chain) if chain else names[0] if names else ()
        if not asked:
            first, second = (known[0], known[-1]) if known else ("", "")
            return cls(known, first, second, None, "")
        found = between(chain, first, second) if chain else None
        return cls(known, first, second, found, _between(language, chain, found, first, second))


def _versions(chain: ChainView) -> tuple[str, ...]:
    return Chain(tuple(link.point for link in chain.links)).versions


def _between(
    language: Language, chain: ChainView | None, found: Between | None, first: str, second: str
) -> str:
    names = {"first": plain(first), "second": plain(second)}
    if chain is None or found is None:
        return language.say("site-between-nothing", **names)
    numbers = Numbers(language)
    change = numbers.estimate(found.change_pct, chain.threshold_pct, found.ci95_pct)
    if found.ci95_pct is not None:
        interval = numbers.interval(found.ci95_pct, chain.threshold_pct)
        return language.say(
            "site-between", **names, change=change, interval=interval, campaigns=found.campaigns
        )
    if found.unmeasured:
        unmeasured = items(map(plain, found.unmeasured), language)
        return language.say(
            "site-between-unmeasured", **names, change=change, unmeasured=unmeasured
        )
    return language.say("site-between-unknown", **names, change=change)


@dataclass(frozen=True)
class ChainOnPage:
    """One chain as the page shows it."""

    language: Language
    view: ChainView
    workload: str
    looked: Mapping[tuple[str, str], LookedInto]

    @cached_property
    def numbers(self) -> Numbers:
        """Numbers in the reader's language."""
        return Numbers(self.language)

    @property
    def differs(self) -> str:
        """How its setting differs from the next newer one; empty for the newest."""
        return differences(self.view.differs, self.language)

    @property
    def answer(self) -> list[str]:
        """What changed, the latest first; or that nothing did, or cannot be known yet."""
        view, say = self.view, self.language.say
        if view.lacks_points:
            return [say("site-lacks-points", there=len(view.links), needed=MIN_POINTS)]
        said = [
            say(
                f"site-change-point-{'faster' if found.change > 0 else 'slower'}",
                workload=title_of(self.workload),
                candidate=plain(found.candidate),
                previous=plain(found.previous),
                day=f"{view.links[found.index].point.ratio.at:%Y-%m-%d}",
                **self._sized(found.change, found.ci95),
            )
            for found in reversed(view.changes)
        ]
        if drift := view.drift:
            said.append(
                say(
                    "site-drift",
                    oldest=plain(drift.oldest),
                    newest=plain(drift.newest),
                    releases=drift.links,
                    **self._sized(drift.change, drift.ci99),
                )
            )
        return said or [say("site-no-change", first=plain(view.first_baseline))]

    def _sized(self, change: float, interval: tuple[float, float]) -> dict[str, str]:
        threshold = self.view.threshold_pct
        return {
            "change": self.numbers.estimate(percent(change), threshold, percents(interval)),
            "interval": self.numbers.interval(percents(interval), threshold),
        }

    @property
    def changes(self) -> list[ChangeRow]:
        """Its change points, the latest first."""
        return [
            ChangeRow(
                campaign=found.campaign,
                before=found.before,
                candidate=plain(found.candidate),
                previous=plain(found.previous),
                is_better=found.change > 0,
                looked=self.looked.get((found.campaign, self.workload)),
                **self._sized(found.change, found.ci95),
            )
            for found in reversed(self.view.changes)
        ]

    def _takes(self) -> str:
        """How long another campaign takes, and what it costs."""
        took = self.numbers.duration(timedelta(minutes=self.view.minutes))
        if self.view.dollars is None:
            return self.language.say("site-suspect-takes", duration=took)
        dollars = self.numbers.rate(self.view.dollars, 2)
        return self.language.say("site-suspect-costs", duration=took, dollars=dollars)

    def suspects(self, report: str) -> list[tuple[str, str, str]]:
        """Changes that may be the candidate's or its baseline's, with what tells them apart: the
        command, and what it takes.
        """
        return [
            (
                self.language.say(
                    "site-suspect",
                    candidate=plain(found.candidate),
                    previous=plain(found.previous),
                    baseline=plain(found.baseline),
                    bridged=plain(found.bridged_from),
                    **self._sized(found.change, found.ci95),
                ),
                linking(report, found),
                self._takes(),
            )
            for found in self.view.suspects
        ]

    @property
    def noise(self) -> str:
        """What the A/A campaigns of this setting show."""
        found, say = self.view.noise, self.language.say
        if found.sd is None:
            return say("site-noise-unknown", campaigns=len(found.figures))
        sd = self.numbers.rate(percent(found.sd), 2)
        return say("site-noise", campaigns=len(found.figures), sd=sd)

    @cached_property
    def rows(self) -> list[LinkRow]:
        """Its campaigns, the latest first."""
        return [self._row(link) for link in reversed(self.view.links)]

    def _row(self, link: Link) -> LinkRow:
        ratio, threshold = link.point.ratio, self.view.threshold_pct
        level = link.level_ci95 and percents(link.level_ci95)
        return LinkRow(
            campaign=ratio.campaign,
            at=ratio.at,
            baseline=plain(ratio.baseline),
            candidate=plain(ratio.candidate),
            change=self.numbers.estimate(percent(ratio.log_ratio), threshold, link.ci95_pct),
            interval=self.numbers.interval(link.ci95_pct, threshold),
            level=self.numbers.estimate(percent(link.point.level), threshold, level),
            level_interval=self.numbers.interval(level, threshold),
            bridged_from=plain(link.point.bridged_from or ""),
            is_outlier=ratio.campaign in self.view.outliers,
        )

    @cached_property
    def chart(self) -> HistoryChart:
        """The levels over time."""
        return HistoryChart.of_chain(self)


@dataclass(frozen=True)
class ChangeRow:
    """A change point as the page shows it; ``looked``: who has looked into it, if anybody."""

    campaign: str
    before: str
    candidate: str
    previous: str
    change: str
    interval: str
    is_better: bool
    looked: LookedInto | None


@dataclass(frozen=True)
class LinkRow:
    """One campaign of a chain; ``bridged_from`` is empty where its baseline was measured."""

    campaign: str
    at: datetime
    baseline: str
    candidate: str
    change: str
    interval: str
    level: str
    level_interval: str
    bridged_from: str
    is_outlier: bool


@dataclass(frozen=True)
class ChartPoint:
    """One campaign in the chart, in the chart's units."""

    x: float
    y: float
    row: LinkRow


@dataclass(frozen=True)
class ChartChange:
    """A change point in the chart: a line with its label beside it, and the mean levels."""

    x: float
    label_y: float
    anchor: str
    row: ChangeRow


@dataclass(frozen=True)
class HistoryChart:
    """The levels of a chain over time, in units of its view box.

    Attributes:
        x_ticks, y_ticks: each its place and its text.
        bars: the intervals of all levels, as an SVG path: a page has a thousand.
        means: lines at the mean level between change points: x from, x to, y.
        drift: a line from the first to the last of a slow drift; None where there is none.
    """

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    points: tuple[ChartPoint, ...]
    bars: str
    changes: tuple[ChartChange, ...]
    means: tuple[tuple[float, float, float], ...]
    drift: tuple[float, float, float, float] | None

    @classmethod
    def of_chain(cls, shown: ChainOnPage) -> HistoryChart:
        """Lay out the chart of a chain."""
        view, numbers = shown.view, shown.numbers
        times = [link.point.ratio.at.timestamp() for link in view.links]
        lanes = 18.0 * max(0, len(view.changes) - 1)
        top, right, bottom = _TOP + min(lanes, 54.0), _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        across = around(times, _LEFT, right, least=86_400)
        levels = [percent(link.point.level) for link in view.links]
        ends = [end for link in view.links if link.level_ci95 for end in percents(link.level_ci95)]
        up = around(
            [0.0, *levels, *_within_reach(ends, levels)], bottom, top, least=view.threshold_pct
        )
        xs = [across(at) for at in times]
        points = tuple(
            ChartPoint(x, up(level), row)
            for x, level, row in zip(xs, levels, reversed(shown.rows), strict=True)
        )
        return cls(
            *(_WIDTH, _HEIGHT, _LEFT, right, top, bottom),
            x_ticks=tuple(_days(across)),
            y_ticks=tuple((up(tick), numbers.general_change(tick)) for tick in up.ticks(5)),
            points=points,
            bars="".join(_bars(view.links, xs, up)),
            changes=tuple(_chart_changes(shown, xs)),
            means=tuple(_means(view, xs, levels, up)),
            drift=_drift(view, xs, up),
        )


def _within_reach(ends: Sequence[float], levels: Sequence[float]) -> Iterator[float]:
    """The ends of intervals that are not so far away that they would flatten the levels."""
    spread = max(levels, default=0.0) - min(levels, default=0.0)
    reach = max(3 * spread, 5.0)
    low, high = min(levels, default=0.0) - reach, max(levels, default=0.0) + reach
    return (min(max(end, low), high) for end in ends)


def _bars(links: Sequence[Link], xs: Sequence[float], up: Scale) -> Iterator[str]:
    for x, link in zip(xs, links, strict=True):
        if link.level_ci95 is not None:
            low, high = percents(link.level_ci95)
            yield f"M{x} {up(high)}V{up(low)}"


def _days(across: Scale) -> Iterator[tuple[float, str]]:
    """Days at even distances, each with its place."""
    for part in range(7):
        at = across.low + (across.high - across.low) * (part + 0.5) / 7
        yield across(at), f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"


def _chart_changes(shown: ChainOnPage, xs: Sequence[float]) -> Iterator[ChartChange]:
    """The latest has the lowest label, so that labels of neighbours do not cover each other."""
    for lane, (found, row) in enumerate(
        zip(reversed(shown.view.changes), shown.changes, strict=True)
    ):
        x = round((xs[found.index - 1] + xs[found.index]) / 2, 1)
        anchor = "end" if x > _WIDTH * 0.7 else "start"
        yield ChartChange(x, _TOP - 12 + 18.0 * (lane % 4), anchor, row)


def _means(
    view: ChainView, xs: Sequence[float], levels: Sequence[float], up: Scale
) -> Iterator[tuple[float, float, float]]:
    """The mean level between change points, of the campaigns that count."""
    if not view.changes:
        return
    edges = [0, *(found.index for found in view.changes), len(view.links)]
    for begin, end in itertools.pairwise(edges):
        counted = [
            levels[at]
            for at in range(begin, end)
            if view.links[at].point.ratio.campaign not in view.outliers
        ] or levels[begin:end]
        yield xs[begin], xs[end - 1], up(sum(counted) / len(counted))


def _drift(
    view: ChainView, xs: Sequence[float], up: Scale
) -> tuple[float, float, float, float] | None:
    if (drift := view.drift) is None:
        return None
    first, last = view.links[drift.first].point, view.links[drift.last].point
    return xs[drift.first], up(percent(first.level)), xs[drift.last], up(percent(last.level))


@dataclass(frozen=True)
class _PublishedRow:
    """What a published page prints of the workload, as text."""

    language: Language
    change: PublishedChange

    @property
    def versions(self) -> str:
        names = [self.change.candidate, *([self.change.baseline] if self.change.baseline else [])]
        return " vs. ".join(map(plain, names))

    @property
    def cells(self) -> list[str]:
        """Its change as recomputed, as printed, the highest throughput, and findings."""
        numbers, change = Numbers(self.language), self.change
        return [
            numbers.change(change.change_pct),
            numbers.change(change.printed_pct),
            numbers.whole(change.highest.get(change.candidate)),
            str(change.findings),
        ]

    @property
    def pages(self) -> str:
        return items(map(plain, self.change.reports), self.language)
