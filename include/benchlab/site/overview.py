"""The first page: open regressions, campaigns at work, and the newest verdicts.

It uses stored verdicts and reads no trials, so it stays fast with a large store.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from benchlab.campaign import money, report_types
from benchlab.charts.picture import Scale, around
from benchlab.errors import SpecError
from benchlab.language.numbers import Numbers
from benchlab.plan import report_type
from benchlab.plan.fields import schedule
from benchlab.plan.fields.schedule import OnRelease
from benchlab.plan.open_loop import rate_of
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab.report.model import canary
from benchlab.report.sentences import answer, wording
from benchlab.results.listing import Chosen
from benchlab.results.records import CampaignSummary, ReportSummary, StoredVerdict
from benchlab.site.at_work import all_at_work
from benchlab.site.page import Page, Row, Site

# The place of the part that an open overview requests again and again.
AT_WORK = "at-work"
# How many of the newest campaigns with a regression are searched for open ones, and how many open
# ones are shown; the list of campaigns has all.
_SEARCHED, _SHOWN = 200, 12
# How far ahead to look for the next run; a weekly schedule always has one.
_AHEAD = timedelta(days=60)
# The ends of the bars for intervals, in units of their view box.
_BAR = (4.0, 156.0)


def overview(site: Site) -> Page:
    """The overview page, of the report types that the reader may see."""
    known = [one for one in site.store.listing.reports() if site.shows(one.report)]
    found, faults = _specs(site)
    upcoming = {spec.report: run for spec in found if (run := next_run(site, spec))}
    month = site.now.date().replace(day=1)
    before = (month - timedelta(days=1)).replace(day=1)
    costs = costs_since(site, before)
    names = dict.fromkeys([*(one.report for one in known), *sorted(upcoming)])
    by_name = {one.report: one for one in known}
    values = {
        "verdicts": {one.report: _verdicts(site, one) for one in known if one.decided},
        "rows": [
            {
                "report": name,
                "measured": by_name.get(name),
                "next_run": upcoming.get(name),
                "calibration": calibration(site, name),
                "canary": newest_canary(site, name),
                "cost": costs[month, name],
                "cost_before": costs[before, name],
            }
            for name in names
        ],
        "regressions": open_regressions(site),
        "shown": _SHOWN,
        "soonest": min(
            (run for run in upcoming.values() if run.at),
            key=lambda run: (bool(run.paused), str(run.at)),
            default=None,
        ),
        "cost": sum((costs[month, name] for name in names), Cost()),
        "cost_before": sum((costs[before, name] for name in names), Cost()),
        "faults": faults,
        **_at_work(site),
    }
    return Page("", "", site.language.say("site-part-overview"), "overview.html.j2", values)


def at_work(site: Site) -> Page:
    """The overview's part on campaigns at work, which an open page keeps requesting."""
    title = site.language.say("site-at-work")
    return Page("", "", title, "at-work.html.j2", _at_work(site))


def _at_work(site: Site) -> dict[str, object]:
    return {"at_work": all_at_work(site), "AT_WORK": AT_WORK}


# The newest verdicts


@dataclass(frozen=True)
class Change:
    """A verdict on one metric, as text for a table.

    Attributes:
        bar: the ends of the interval and the estimate as places in the bar beside it; None if there
            is no bar.
    """

    verdict: str
    change: str
    interval: str
    bar: tuple[float, float, float] | None


def _verdicts(site: Site, one: ReportSummary) -> Row:
    """A report type's newest verdicts by workload, and the place of zero in their bars."""
    numbers = Numbers(site.language)
    pairs = {
        workload: of_workload(one.decided[workload], workload)
        for workload in one.workloads
        if workload in one.decided
    }
    ends = (end for found, _ in pairs.values() if found for end in found.ci95_pct or ())
    scale = around([0.0, *ends], *_BAR, least=2.0)
    rows = [
        {
            "workload": workload,
            "campaign": one.decided[workload],
            "throughput": shown_change(found, numbers, scale) if found else None,
            "latency": shown_change(latency, numbers, None) if latency else None,
        }
        for workload, (found, latency) in pairs.items()
    ]
    return {"rows": rows, "zero": scale(0.0)}


def of_workload(
    one: CampaignSummary, workload: str
) -> tuple[StoredVerdict | None, StoredVerdict | None]:
    """A campaign's verdicts on a workload's throughput and p95 latency, where there are any.

    At equal load there is none on throughput.
    """
    found = [verdict for verdict in one.verdicts if verdict.workload == workload]
    throughput = found.pop(0) if rate_of(workload) is None else None
    return throughput, next(iter(found), None)


def shown_change(found: StoredVerdict, numbers: Numbers, scale: Scale | None) -> Change:
    """Format a verdict for a table; with a bar if ``scale`` is given."""
    estimate, within, bar = found.estimate_pct, found.ci95_pct, None
    if scale and within and estimate is not None:
        bar = scale(within[0]), scale(within[1]), scale(estimate)
    return Change(
        verdict=found.verdict,
        # The threshold is not stored; 0 is enough to keep figures from being rounded across zero.
        change=numbers.estimate(estimate, 0.0, within),
        interval=numbers.interval(within, 0.0),
        bar=bar,
    )


# Open regressions: nobody has looked into them


@dataclass(frozen=True)
class OpenRegression:
    """A regression that nobody has looked into, as last measured.

    Attributes:
        metric: throughput, latency or, of all counts that are dearer, the one that changed most;
            as text.
    """

    workload: str
    metric: str
    campaign: CampaignSummary
    change: Change


def open_regressions(
    site: Site, report: str | None = None, workload: str | None = None
) -> list[OpenRegression]:
    """The regressions that nobody has looked into, the latest first.

    Each is listed once per pair of versions; marking one as looked into covers all campaigns of the
    report type that compare the same two versions.

    Args:
        report, workload: only of this report type, only of campaigns with this workload; None: all.
    """
    chosen = Chosen(
        report, site.reports, workload, verdict="regression", measures_noise=False, canary=False
    )
    measured = site.store.listing.summaries(chosen, limit=_SEARCHED)
    looked = site.store.looked_into()
    seen: set[tuple[object, str]] = {
        (_pair(one), workload)
        for one in measured
        for campaign, workload in looked
        if campaign == one.id
    }
    numbers, made = Numbers(site.language), []
    for one in measured:
        for metric, verdicts in (
            ("throughput", answer.throughput(one)),
            ("latency", answer.latency(one)),
            ("dearer", sorted(answer.of_counts(one), key=answer.size, reverse=True)),
        ):
            regressions = [found for found in verdicts if found.verdict == "regression"]
            for found in regressions:
                key = _pair(one), found.workload
                at_rate = metric == "latency" and rate_of(found.workload) is not None
                own = (key, found.metric if at_rate else metric)
                if not {key, own} & seen:
                    seen.add(own)
                    names = [
                        site.language.say(answer.title_of_count(other))
                        for other in regressions
                        if metric == "dearer" and other.workload == found.workload
                    ]
                    counts = wording.few(names, site.language, 1)
                    name = site.language.say(f"site-metric-{metric}", counts=counts)
                    if at_rate:
                        name = site.language.say(f"figures-{found.metric.removesuffix('_ms')}")
                    told = answer.sized(found, 0.0, site.language)
                    change = replace(shown_change(found, numbers, None), change=told)
                    made.append(OpenRegression(found.workload, name, one, change))
    return made


def _pair(one: CampaignSummary) -> tuple[str, ...]:
    return one.report, *(one.versions.get(side, "") for side in SIDES)


# Each report type: its newest campaign, its next run, its calibration, its cost


@dataclass(frozen=True)
class NextRun:
    """The next run of a report type by its schedule.

    Attributes:
        at: None if it waits for a release.
        types: the types of releases it runs for, in the reader's language; empty if weekly.
        is_aa, is_canary: whether it will be an A/A campaign, or a canary.
        paused: the address of its DAG if that is paused, so that it will not run; else empty.
    """

    report: str
    at: datetime | None
    types: tuple[str, ...] = ()
    is_aa: bool = False
    is_canary: bool = False
    paused: str = ""


@dataclass(frozen=True)
class Cost:
    """The cost of rented hosts in dollars; ``unknown``: campaigns whose cost is not known."""

    dollars: float = 0.0
    campaigns: int = 0
    unknown: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.dollars + other.dollars,
            self.campaigns + other.campaigns,
            self.unknown + other.unknown,
        )


def _specs(site: Site) -> tuple[list[ReportSpec], list[str]]:
    """The report types that the reader may see, and the faults of those that do not load."""
    specs, faults = [], []
    for path in report_types.report_files(site.home):
        if site.shows(path.stem):
            try:
                specs.append(report_type.load(path))
            except SpecError as error:
                faults.append(str(error))
    return specs, faults


def next_run(site: Site, spec: ReportSpec) -> NextRun | None:
    """The next run of a report type by its schedule; None if it has no schedule.

    Raises:
        SpecError: the release calendar is not valid.
    """
    if spec.schedule is None:
        return None
    releases = report_types.releases_of(site.home, spec)
    ahead = schedule.moments(spec.schedule, releases, site.now, site.now + _AHEAD)
    types = tuple(
        site.language.say("release-type", key=one.replace(" ", "-"), type=one)
        for one in (spec.schedule.types if isinstance(spec.schedule, OnRelease) else ())
    )
    at = ahead[0] if ahead else None
    turn = schedule.turn(spec.schedule, at) if at else schedule.ORDINARY
    paused = site.paused_dag(spec.report) if site.paused_dag else ""
    return NextRun(spec.report, at, types, turn.aa, turn.canary is not None, paused)


def calibration(site: Site, report: str) -> Row:
    """How many complete A/A campaigns a report type has, and the newest with its age in days."""
    chosen = Chosen(report=report, state="complete", measures_noise=True)
    newest = next(iter(site.store.listing.summaries(chosen, limit=1)), None)
    days = max(0, (site.now - newest.started_at).days) if newest else 0
    return {"newest": newest, "campaigns": site.store.listing.count(chosen), "days": days}


def newest_canary(site: Site, report: str) -> Row | None:
    """The newest canary of a report type that was measured, and whether it was found."""
    chosen = Chosen(report=report, state="complete", canary=True)
    newest = next(iter(site.store.listing.summaries(chosen, limit=1)), None)
    if newest is None or not newest.verdicts:
        return None
    days = max(0, (site.now - newest.started_at).days)
    found = any(
        canary.is_found(one.verdict, one.ci95_pct, newest.canary_pct or 0.0)
        for one in answer.throughput(newest)
    )
    return {"newest": newest, "found": found, "days": days}


def costs_since(site: Site, since: date) -> Mapping[tuple[date, str], Cost]:
    """The cost of campaigns by month, as its first day, and report type."""
    costs: defaultdict[tuple[date, str], Cost] = defaultdict(Cost)
    for month, report, dollars in _spent(site, since):
        known = Cost(dollars or 0.0, 1, int(dollars is None))
        costs[month, report] += known
    return costs


def _spent(site: Site, since: date) -> Iterator[tuple[date, str, float | None]]:
    """Month, report type and dollars of each campaign that rented hosts."""
    for campaign, found in site.store.environments(since).items():
        directory = site.home.campaign(campaign)
        dollars = money.dollars_so_far(directory, found.environment, site.now)
        # A rented fleet has a recorded zone, even if its cost is not known.
        if site.shows(found.report) and (dollars is not None or "zone" in found.environment):
            yield found.started_at.date().replace(day=1), found.report, dollars
