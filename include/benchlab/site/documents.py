"""The pages as JSON: what each shows, for programs, at the same address and with the same rights.

``?format=json`` asks for it. The models are the contract: a change that breaks their readers raises
:data:`FORMAT`. Changes are in percent, times in ISO 8601, money in dollars; what is not known is
null. Texts are in the reader's language.

Example:
    ``Findings.model_validate_json(text(site, findings(site))).findings[0].state``
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from benchlab.language import message
from benchlab.report.formats import json_text
from benchlab.report.sentences import opening
from benchlab.results.findings import Finding as StoredFinding
from benchlab.results.findings import Sought
from benchlab.results.records import CampaignSummary, Remarks
from benchlab.site import next_steps
from benchlab.site.page import NoSuchPage, Page, Site, without_places_here
from benchlab.studies.long_view import text as long_view

FORMAT = 1


class _Model(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class Document(_Model):
    """What every page has: the number of the format, its place and its title."""

    format: int = FORMAT
    place: str
    title: str


class Verdict(_Model):
    """What was decided on one metric of one workload."""

    workload: str
    metric: str
    verdict: str
    estimate_pct: float | None
    ci95_pct: tuple[float, float] | None
    p_adjusted: float | None
    rule: int


class Campaign(_Model):
    """A campaign as lists have it."""

    id: str
    report: str
    engine: str
    versions: dict[str, str]
    measures_noise: bool
    canary_pct: float | None
    workloads: tuple[str, ...]
    state: str
    started_at: datetime
    ended_at: datetime | None
    verdicts: tuple[Verdict, ...]
    failure: tuple[str, ...] = ()

    @classmethod
    def of(cls, one: CampaignSummary) -> Campaign:
        """From what the store has."""
        failure = tuple(map(str, one.failure.lines)) if one.failure else ()
        verdicts = [*map(Verdict.model_validate, one.verdicts)]
        return cls(**{**vars(one), "verdicts": verdicts, "failure": failure})


class Entry(_Model):
    """What was said of a finding at one time; ``campaign``: a campaign did, not a person."""

    state: str
    by: str
    at: datetime
    note: str
    link: str
    campaign: str | None


class Finding(_Model):
    """One change and what people say of it; ``changes``: as its newest campaign shows them."""

    id: int
    report: str
    workload: str
    direction: str
    state: str
    changes: tuple[Verdict, ...]
    campaigns: tuple[str, ...]
    first: Campaign
    newest: Campaign
    history: tuple[Entry, ...]

    @classmethod
    def of(cls, one: StoredFinding) -> Finding:
        """From what the store has."""
        ends = {"first": Campaign.of(one.first), "newest": Campaign.of(one.newest)}
        said = {"state": one.state, "changes": [*map(Verdict.model_validate, one.changes)]}
        history = [*map(Entry.model_validate, one.history)]
        return cls(**{**vars(one), **ends, **said, "history": history})


class Findings(Document):
    """The list of findings, as it was asked for; ``count``: how many there are of those.

    ``trust`` says how many of those that people have judged are right.
    """

    count: int = 0
    trust: tuple[str, ...]
    findings: tuple[Finding, ...]


class Listed(Campaign):
    """A campaign with its cost and what people noted; ``dollars``: None where not known."""

    has_rented: bool
    dollars: float | None
    note: str = ""
    tags: tuple[str, ...] = ()


class Campaigns(Document):
    """A page of the list of campaigns; ``faults``: what of the filter cannot be read, by field."""

    count: int
    pages: int
    faults: dict[str, str]
    campaigns: tuple[Listed, ...]


class Mark(_Model):
    """How one of the newest campaigns of a report type ended, or a DAG run that began none."""

    campaign: str | None
    kind: str
    said: str
    run: str | None = None


class ReportType(_Model):
    """A report type on the overview; ``next_run``: None also where it waits for a release."""

    report: str
    campaigns: int
    newest: Campaign | None
    marks: tuple[Mark, ...]
    next_run: datetime | None
    dollars_this_month: float | None


class AtWork(_Model):
    """A campaign at work; ``dollars``: so far."""

    campaign: str
    report: str
    planned: int
    done: int
    step: str | None
    seconds_left: float | None
    dollars: float | None
    is_silent: bool


class Overview(Document):
    """The first page: is everything all right?

    ``failing_runs``: DAG runs that failed and began no campaign, by report type.
    """

    all_is_well: bool
    failing: tuple[Campaign, ...]
    failing_runs: dict[str, Mark]
    findings: tuple[Finding, ...]
    not_judged: dict[str, int]
    at_work: tuple[AtWork, ...]
    reports: tuple[ReportType, ...]
    notices: tuple[str, ...]
    faults: tuple[str, ...]


class NextStep(_Model):
    """What can be done next, by a command; ``changes``: of the report type's fields.

    Without ``minutes`` it cannot be planned, for ``why_not``; ``dollars`` are also null where
    nothing is rented (``rents``).
    """

    kind: str
    workloads: tuple[str, ...]
    changes: dict[str, Any]
    command: str
    minutes: float | None
    dollars: float | None
    rents: bool
    most_campaigns: int | None
    why_not: tuple[str, ...]


class OneCampaign(Document):
    """A campaign: its answer, its report as ``report.json`` has it, and what can be done next.

    ``later``: what A/A campaigns that ended after it would change. ``next_steps`` are planned for
    the day of the request, so that a site of files has none.
    """

    id: str
    state: str
    answer: str
    later: str
    failure: tuple[str, ...]
    report: dict[str, Any]
    findings: tuple[Finding, ...]
    note: str = ""
    tags: tuple[str, ...] = ()
    next_steps: tuple[NextStep, ...]


class Sample(_Model):
    """A figure that the client printed."""

    metric: str
    value: float | None
    unit: str


class Gate(_Model):
    """A gate, with what it found and what it allows."""

    gate: str
    kind: str
    status: str
    observed: float | None
    least: float | None
    most: float | None
    unit: str


class Attempt(_Model):
    """One measurement of a trial; ``reasons``: why its figures are not used."""

    attempt: int
    valid: bool
    reasons: tuple[str, ...]
    started_at: datetime
    ended_at: datetime
    phases: dict[str, float]
    samples: tuple[Sample, ...]
    gates: tuple[Gate, ...]


class Trial(Document):
    """A planned trial with all its measurements."""

    campaign: str
    trial: str
    attempts: tuple[Attempt, ...]


class Line(_Model):
    """A metric of a workload in one of two campaigns, as text; their own documents have numbers."""

    change: str
    interval: str
    p: str
    verdict: str
    found: str


class PairLine(Line):
    """A metric of a workload, before and after, as text."""

    workload: str
    metric: str


class Row(_Model):
    """A metric of a workload in two campaigns; None where one lacks it."""

    workload: str
    metric: str
    lines: tuple[Line | None, ...]


class Pair(_Model):
    """A side of the earlier campaign as before, and one of the later as after."""

    labels: tuple[str, str]
    answer: str
    lines: tuple[PairLine, ...]


class Condition(_Model):
    """What differs between two campaigns that are not compared, as text."""

    name: str
    first: str
    second: str


class Figures(_Model):
    """The means of a metric at a thread count, in the order of ``sides``; None: not measured."""

    workload: str
    threads: int
    metric: str
    unit: str
    figures: tuple[float | None, ...]


class TwoCampaigns(Document):
    """Two campaigns side by side; empty where fewer were asked for.

    ``pairs``: of a campaign of one version and the sides of the other; ``conditions`` and
    ``why_not``: why there are none. ``sides``: their labels, with the campaign's number.
    """

    campaigns: tuple[str, ...]
    answers: tuple[str, ...]
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...]
    conditions: tuple[Condition, ...]
    why_not: tuple[str, ...]
    sides: tuple[str, ...]
    figures: tuple[Figures, ...]


class Between(_Model):
    """A figure of a workload from one version to another; ``why``: why it has no interval."""

    workload: str
    metric: str
    change_pct: float | None
    ci95_pct: tuple[float, float] | None
    campaigns: int | None
    why: str


class TwoVersions(Document):
    """Two versions over all workloads of a report type."""

    report: str
    first: str
    second: str
    versions: tuple[str, ...]
    rows: tuple[Between, ...]


class Published(_Model):
    """A change that published reports print, recomputed and as printed, without an interval."""

    reports: tuple[str, ...]
    baseline: str | None
    candidate: str
    metric: str | None
    threads: tuple[int, ...]
    change_pct: float | None
    printed_pct: float | None
    highest: dict[str, float]
    discrepancies: int


class History(Document):
    """A workload over the versions; ``published``: what published reports say of it."""

    report: str
    workload: str
    long_view: dict[str, Any]
    published: tuple[Published, ...]


class Workloads(Document):
    """The workloads that have a history, by report type."""

    measured: dict[str, tuple[str, ...]]
    published: tuple[str, ...]


class Plan(Document):
    """A plan, as text in the reader's language; ``faults``: why there is none."""

    report: str | None
    versions: str
    facts: dict[str, str]
    steps: dict[str, str]
    notes: tuple[str, ...]
    undecided: tuple[str, ...]
    faults: tuple[str, ...]
    command: str


class Problem(Document):
    """Why a page cannot be shown."""

    text: str


def text(site: Site, page: Page) -> str:
    """A page as JSON.

    Raises:
        NoSuchPage: it has no JSON.
    """
    make = _MAKE.get(page.template)
    if make is None:
        raise NoSuchPage(message("site-no-page", place=f"{page.place}?format=json"))
    made = make(site, page, {"place": page.place, "title": page.title})
    return without_places_here(site.home, made.model_dump_json(indent=1))


def _campaigns_of(found: Iterable[CampaignSummary]) -> tuple[Campaign, ...]:
    return tuple(map(Campaign.of, found))


_Head = Mapping[str, Any]


def _findings(site: Site, page: Page, head: _Head) -> Document:
    rows = tuple(map(Finding.of, page.values["rows"]))
    known = {name: page.values[name] for name in ("count", "trust")}
    return Findings(**head, **known, findings=rows)


def _campaigns(site: Site, page: Page, head: _Head) -> Document:
    listed = []
    for row in page.values["rows"]:
        cost = row["cost"]
        more = {
            "has_rented": cost is not None,
            "dollars": cost.dollars if cost and not cost.unknown else None,
            **vars(row["remarks"]),
        }
        listed.append(Listed(**vars(Campaign.of(row["campaign"])), **more))
    return Campaigns(
        **head,
        count=page.values["count"],
        pages=page.values["pages"],
        faults=page.values["asked"].faults,
        campaigns=tuple(listed),
    )


def _overview(site: Site, page: Page, head: _Head) -> Document:
    known = page.values
    reports = [
        ReportType(
            report=row["report"],
            campaigns=row["measured"].campaigns if row["measured"] else 0,
            newest=Campaign.of(row["measured"].newest) if row["measured"] else None,
            marks=tuple(map(Mark.model_validate, row["marks"])),
            next_run=row["next_run"].at if row["next_run"] else None,
            dollars_this_month=None if row["cost"].unknown else row["cost"].dollars,
        )
        for row in known["rows"]
    ]
    at_work = [
        AtWork(
            campaign=one.campaign.id,
            report=one.campaign.plan.report,
            planned=one.planned,
            done=one.done,
            step=f"{one.step.stage}: {one.step.phase}" if one.step else None,
            seconds_left=one.left.total_seconds() if one.left else None,
            dollars=one.dollars,
            is_silent=one.is_silent,
        )
        for one in known["at_work"]
    ]
    return Overview(
        **head,
        all_is_well=known["is_well"],
        failing=_campaigns_of(known["failing"]),
        failing_runs={
            name: Mark.model_validate(one) for name, one in known["failing_runs"].items()
        },
        findings=tuple(map(Finding.of, known["findings"])),
        not_judged=known["not_judged"],
        at_work=tuple(at_work),
        reports=tuple(reports),
        notices=known["notices"],
        faults=known["faults"],
    )


def _campaign(site: Site, page: Page, head: _Head) -> Document:
    record = page.values["campaign"]
    report = page.values["report"]
    failure = site.store.failure(record.id)
    steps = () if site.as_files else next_steps.of_campaign(site, record, report.comparison)
    remarks = site.store.remarks().get(record.id, Remarks())
    found = site.store.findings.found(Sought(campaign=record.id, reports=site.reports))
    return OneCampaign(
        **head,
        id=record.id,
        state=record.state,
        answer=opening.text(report),
        later=page.values["later"],
        failure=site.language.texts(failure.lines) if failure else (),
        report=json_text.to_json(record, report.comparison, report.results, report.causes),
        findings=tuple(map(Finding.of, found)),
        **vars(remarks),
        next_steps=tuple(
            NextStep(**{**vars(step), "why_not": site.language.texts(step.why_not)})
            for step in steps
        ),
    )


def _trial(site: Site, page: Page, head: _Head) -> Document:
    attempts = tuple(
        Attempt.model_validate({**vars(one.result), "reasons": one.reasons})
        for one in page.values["attempts"]
    )
    campaign, planned = page.values["campaign"], page.values["planned"]
    return Trial(**head, campaign=campaign.id, trial=planned.id, attempts=attempts)


def _two_campaigns(site: Site, page: Page, head: _Head) -> Document:
    known = page.values
    rows = [
        Row(
            workload=row["workload"],
            metric=row["metric"],
            lines=tuple(line and Line.model_validate(line) for line in row["lines"]),
        )
        for row in known.get("rows", ())
    ]
    ids = tuple(report.campaign.id for report in known["reports"])
    answers = tuple(known.get("answers", ()))
    figures = [
        Figures(**{**row, "metric": row["metric"].name, "unit": row["metric"].unit})
        for row in known.get("values", ())
    ]
    pairs = [
        Pair(**{**pair, "lines": [*map(PairLine.model_validate, pair["lines"])]})
        for pair in known.get("pairs", ())
    ]
    return TwoCampaigns(
        **head,
        campaigns=ids,
        answers=answers,
        rows=tuple(rows),
        pairs=tuple(pairs),
        conditions=known.get("conditions", ()),
        why_not=known.get("why_not", ()),
        sides=known.get("value_columns", ()),
        figures=tuple(figures),
    )


def _two_versions(site: Site, page: Page, head: _Head) -> Document:
    rows = [
        Between(
            workload=row["view"].workload,
            metric=row["view"].count.name if row["view"].count else "throughput",
            change_pct=row["found"].change_pct if row["found"] else None,
            ci95_pct=row["found"].ci95_pct if row["found"] else None,
            campaigns=row["found"].campaigns if row["found"] else None,
            why=row["why"],
        )
        for row in page.values["rows"]
    ]
    asked = page.values["asked"]
    return TwoVersions(**head, **asked, versions=page.values["versions"], rows=tuple(rows))


def _history(site: Site, page: Page, head: _Head) -> Document:
    view = page.values["view"]
    return History(
        **head,
        report=view.report,
        workload=view.workload,
        long_view=long_view.to_json(view),
        published=tuple(map(Published.model_validate, page.values["changes"])),
    )


def _workloads(site: Site, page: Page, head: _Head) -> Document:
    measured = {
        report: tuple(row["workload"] for row in rows)
        for report, rows in page.values["measured"].items()
    }
    return Workloads(**head, measured=measured, published=page.values["published"])


def _plan(site: Site, page: Page, head: _Head) -> Document:
    form, found = page.values["form"], page.values["figures"]
    return Plan(
        **head,
        report=form["report"] if form else None,
        versions=found.versions,
        facts=dict(found.facts),
        steps=dict(found.steps),
        notes=found.notes,
        undecided=found.undecided,
        faults=found.faults,
        command=found.command,
    )


def _problem(site: Site, page: Page, head: _Head) -> Document:
    return Problem(**head, text=page.values["text"])


_MAKE: Mapping[str, Callable[[Site, Page, _Head], Document]] = {
    "overview.html.j2": _overview,
    "findings.html.j2": _findings,
    "campaigns.html.j2": _campaigns,
    "campaign.html.j2": _campaign,
    "trial.html.j2": _trial,
    "side_by_side.html.j2": _two_campaigns,
    "two_versions.html.j2": _two_versions,
    "history.html.j2": _history,
    "workloads.html.j2": _workloads,
    "plan.html.j2": _plan,
    "plan-figures.html.j2": _plan,
    "problem.html.j2": _problem,
}
