"""The first page: findings that nobody has judged, campaigns at work, and the newest verdicts.

It uses stored verdicts and reads no trials, so it stays fast with a large store.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from benchlab.campaign import money, report_types
from benchlab.charts.picture import Scale, around
from benchlab.errors import SpecError
from benchlab.language.numbers import Numbers
from benchlab.plan import report_type
from benchlab.plan.fields import budget, schedule
from benchlab.plan.fields.schedule import OnRelease
from benchlab.plan.open_loop import rate_of
from benchlab.plan.report_type import ReportSpec
from benchlab.report.model import canary
from benchlab.report.notifications import notifiers
from benchlab.report.sentences import answer
from benchlab.results.findings import DIRECTIONS, Finding, Sought
from benchlab.results.listing import Chosen
from benchlab.results.records import (
    CampaignEnvironment,
    CampaignSummary,
    ReportSummary,
    StoredVerdict,
)
from benchlab.results.spending import Record, vcpus_by_region
from benchlab.site.at_work import all_at_work
from benchlab.site.page import Page, Row, RunOfDag, Site

# The place of the part that an open overview requests again and again.
AT_WORK = "at-work"
# The verdicts that ask for a look, the first one found is the mark of its campaign.
_LOOK_AT = ("regression", "unstable", "improvement")
# How many findings that nobody has judged are shown; the list of findings has all.
_SHOWN = 12
# How many of a report type's newest campaigns have a mark.
_MARKED = 8
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
    held = sum(one.still_committed for one in _records(site, month))
    month_budget = None
    try:
        all_seen = all(site.shows(path.stem) for path in report_types.report_files(site.home))
        if all_seen and not site.as_files:
            month_budget = budget.shared(site.home.budget).month
    except SpecError as error:
        faults.append(str(error))
    by_name = {one.report: one for one in known}
    runs = runs_without_campaign(site, by_name)
    names = dict.fromkeys([*by_name, *sorted(upcoming), *sorted(runs)])
    failing_runs = _failing(site, runs, by_name)
    failing = [
        one.newest
        for one in known
        if one.newest.state == "failed" and one.report not in failing_runs
    ]
    findings, not_judged = _not_judged(site)
    values = {
        "verdicts": {one.report: _verdicts(site, one) for one in known if one.decided},
        "rows": [
            {
                "report": name,
                "measured": by_name.get(name),
                "marks": marks(site, name, runs.get(name, ())),
                "next_run": upcoming.get(name),
                "calibration": calibration(site, name),
                "canary": newest_canary(site, name),
                "cost": costs[month, name],
                "cost_before": costs[before, name],
            }
            for name in names
        ],
        "findings": findings,
        "not_judged": not_judged,
        "soonest": min(
            (run for run in upcoming.values() if run.at),
            key=lambda run: (bool(run.paused), str(run.at)),
            default=None,
        ),
        "cost": sum((costs[month, name] for name in names), Cost()),
        "cost_before": sum((costs[before, name] for name in names), Cost()),
        "held": held,
        "month_budget": month_budget,
        "vcpus": vcpus_by_region(
            one
            for one in (() if site.as_files else site.store.spending.open())
            if site.shows(one.report)
        ),
        "faults": faults,
        "notices": _notices(site),
        "failing": failing,
        "failing_runs": failing_runs,
        "waiting": {
            name: _mark_of_run(site, found[0])
            for name, found in runs.items()
            if found[0].state == "waiting"
        },
        "is_well": not (failing or failing_runs or faults or not_judged["regression"]),
        **_at_work(site),
    }
    return Page("", "", site.language.say("site-part-overview"), "overview.html.j2", values)


def _notices(site: Site) -> list[str]:
    """What an operator has to know: a disk that fills, and that nobody is told of anything."""
    if site.as_files:
        return []
    found = [site.home.little_room()]
    try:
        names = {path.stem for path in report_types.report_files(site.home)}
        if not notifiers.load(site.home.notifications, names):
            found.append(site.language.say("site-no-notifier", file=str(site.home.notifications)))
    except SpecError as error:
        found.append(str(error))
    return [one for one in found if one]


def _records(site: Site, month: date) -> list[Record]:
    """What this month's campaigns may cost and have cost, as far as the reader may see them."""
    found = site.store.spending.of_month(f"{month:%Y-%m}")
    return [one for one in found if site.shows(one.report)]


def at_work(site: Site) -> Page:
    """The overview's part on campaigns at work, which an open page keeps requesting."""
    title = site.language.say("site-at-work")
    return Page("", "", title, "at-work.html.j2", _at_work(site))


def _at_work(site: Site) -> dict[str, object]:
    return {"at_work": all_at_work(site), "AT_WORK": AT_WORK}


def _not_judged(site: Site) -> tuple[list[Finding], dict[str, int]]:
    """The findings that nobody has judged, regressions first, and how many there are."""
    kept, shown = site.store.findings, list[Finding]()
    new = {
        verdict: Sought(reports=site.reports, states=("new",), direction=direction)
        for verdict, direction in DIRECTIONS.items()
    }
    for sought in new.values():
        if left := _SHOWN - len(shown):
            shown += kept.found(sought, left)
    return shown, {verdict: len(kept.judgements(sought)) for verdict, sought in new.items()}


# How the newest campaigns of each report type ended


@dataclass(frozen=True)
class Mark:
    """How a campaign, or a run that began none, ended, as one sign.

    Attributes:
        campaign: None for a run without a campaign.
        kind: ``fine``, ``running``, ``failed``, or a verdict: the one that most asks for a look; of
            a run without a campaign ``failed``, ``waiting`` or ``skipped``.
        said: the same in words, for who points at it or hears it.
        place: of its page.
        run: the id of the DAG run, if it began no campaign.
    """

    campaign: str | None
    kind: str
    said: str
    place: str
    run: str | None = None


def marks(site: Site, report: str, runs: Iterable[RunOfDag] = ()) -> list[Mark]:
    """A mark for each of the newest campaigns of a report type and these runs, the newest last."""
    newest = site.store.listing.summaries(Chosen(report=report), limit=_MARKED)
    found = [(one.started_at, _mark(site, one)) for one in newest]
    found += [(one.at, _mark_of_run(site, one)) for one in runs]
    return [mark for _, mark in sorted(found, key=lambda one: one[0])][-_MARKED:]


def runs_without_campaign(site: Site, measured: Iterable[str]) -> dict[str, list[RunOfDag]]:
    """The latest runs that began no campaign, by report type that the reader may see.

    The newest run comes first.
    """
    if site.runs_of is None:
        return {}
    files = (path.stem for path in report_types.report_files(site.home))
    latest = site.runs_of([one for one in {*files, *measured} if site.shows(one)])
    begun = site.store.begun_by([one.origin for one in latest])
    found = defaultdict[str, list[RunOfDag]](list)
    for one in sorted(latest, key=lambda one: one.at, reverse=True):
        if (one.report, one.origin) not in begun:
            found[one.report].append(one)
    return dict(found)


def _failing(
    site: Site, runs: Mapping[str, list[RunOfDag]], measured: Mapping[str, ReportSummary]
) -> dict[str, Mark]:
    """The report types whose newest run that ended failed, after any campaign."""
    failing = {}
    for name, found in runs.items():
        ended = next((one for one in found if one.state != "waiting"), None)
        is_newest = ended and (name not in measured or ended.at > measured[name].newest.started_at)
        if ended and is_newest and ended.state == "failed":
            failing[name] = _mark_of_run(site, ended)
    return failing


def _mark_of_run(site: Site, one: RunOfDag) -> Mark:
    said = f"{one.at:%Y-%m-%d}: {site.language.say(f'mark-no-campaign-{one.state}')}"
    said = f"{said}: {one.why}" if one.why else said
    return Mark(None, one.state, said, f"runs/{one.report}/{one.run}/", one.run)


def _mark(site: Site, one: CampaignSummary) -> Mark:
    say, found = site.language.say, {verdict.verdict for verdict in one.verdicts}
    kind: str = "fine" if one.state == "complete" else one.state
    # Of campaigns of the same version, or with a slowdown on purpose, verdicts are no findings.
    if kind == "fine" and not one.measures_noise and one.canary_pct is None:
        kind = next((verdict for verdict in _LOOK_AT if verdict in found), kind)
    word = say(f"verdict-{kind}") if kind in _LOOK_AT else say(f"mark-{kind}")
    why = site.language.text(one.failure.lines[0]) if one.failure else ""
    said = f"{one.started_at:%Y-%m-%d}, {one.compared}: {word}"
    said = f"{said}: {why}" if why else said
    return Mark(one.id, kind, said, f"campaigns/{one.id}/")


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
    found = site.store.environments(since)
    for campaign, cost in _costs(site, found).items():
        one = found[campaign]
        costs[one.started_at.date().replace(day=1), one.report] += cost
    return costs


def costs_of(site: Site, campaigns: Collection[str]) -> dict[str, Cost]:
    """The cost of each of these campaigns that rented hosts, by id."""
    return _costs(site, site.store.environments(campaigns=campaigns))


def _costs(site: Site, campaigns: Mapping[str, CampaignEnvironment]) -> dict[str, Cost]:
    costs = {}
    for campaign, found in campaigns.items():
        directory = site.home.campaign(campaign)
        dollars = money.dollars_so_far(directory, found.environment, site.now)
        # A rented fleet has a recorded zone, even if its cost is not known.
        if site.shows(found.report) and (dollars is not None or "zone" in found.environment):
            costs[campaign] = Cost(dollars or 0.0, 1, int(dollars is None))
    return costs
