"""The routes of the site: its pages and files, and the one action, judging a finding.

Campaigns are started by the browser through Airflow's own API, with the user's rights.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal
from urllib.parse import quote, urlencode

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Form, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from benchlab.errors import StoreError
from benchlab.home import ID
from benchlab.language import message
from benchlab.results.findings import LONGEST_LINK, LONGEST_NOTE, FindingState
from benchlab.site import campaign as campaign_page
from benchlab.site import (
    campaigns,
    documents,
    feed,
    files,
    findings,
    history,
    next_steps,
    overview,
    plan,
    side_by_side,
    two_versions,
)
from benchlab.site import trial as trial_page
from benchlab.site.page import NoSuchPage, Page, Site, render
from benchlab_airflow.calendar.calendar_runs import ORIGIN
from benchlab_airflow.page import airflow_runs
from benchlab_airflow.page.rights import Reader, ReaderDep, changer

router = APIRouter()

CampaignPath = Annotated[str, Path(pattern=f"^{ID}$")]
CampaignQuery = Annotated[str, Query(pattern=f"^{ID}$")]
NamePath = Annotated[str, Path(max_length=160)]
RunPath = Annotated[str, Path(max_length=250)]  # as long as Airflow allows
TextQuery = Annotated[str, Query(max_length=200)]
# At most this many plans are made at once; requests that wait use no thread of Airflow.
_PLANNING = CapacityLimiter(2)
# Files that the browser shows; all others are downloaded. Files are never trusted: the sandbox
# gives each an origin of its own, without scripts, and lets it load only the site's images.
_READ = {".html", ".md", ".txt", ".csv", ".json", ".svg"}
_SANDBOX = (
    "sandbox allow-popups; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; "
    "frame-ancestors 'self'"
)


def shown(site: Site, page: Page, *, fragment: bool = False) -> Response:
    """Render a page as a response: as HTML, or as JSON where that is asked for."""
    if site.as_json:
        return Response(documents.text(site, page), media_type="application/json")
    return HTMLResponse(render(site, page, fragment=fragment))


@router.get("/")
def show_overview(reader: ReaderDep) -> Response:
    """The first page."""
    site = reader.of_all()
    return shown(site, overview.overview(site))


@router.get(f"/{overview.AT_WORK}")
def show_at_work(reader: ReaderDep) -> Response:
    """The part of the first page that is requested again while campaigns are measured."""
    return shown(reader.site, overview.at_work(reader.site), fragment=True)


@router.get("/findings/")
def show_findings(
    reader: ReaderDep,
    report: TextQuery = "",
    workload: TextQuery = "",
    state: FindingState | Literal[""] = "",
) -> Response:
    """The findings, filtered by the query."""
    site = reader.of(report) if report else reader.of_all()
    return shown(site, findings.findings(site, report, workload, state or None))


@router.get("/findings/feed.{form}")
def show_feed(
    reader: ReaderDep, form: feed.Form, report: TextQuery = "", workload: TextQuery = ""
) -> Response:
    """The findings for a reader of feeds, which sends the person's token."""
    site = reader.of(report) if report else reader.of_all()
    return Response(feed.feed(site, form, report, workload), media_type=feed.FORMS[form])


@router.get("/campaigns/")
def show_campaigns(request: Request, reader: ReaderDep) -> Response:
    """The list of campaigns, filtered by the query."""
    asked = campaigns.Filter.asked(request.query_params)
    return shown(reader.site, campaigns.campaigns(reader.site, asked))


@router.get("/campaigns/{campaign}/")
async def show_campaign(reader: ReaderDep, campaign: CampaignPath) -> Response:
    """One campaign; as JSON with what can be done next, which takes plans."""
    limiter = _PLANNING if reader.site.as_json else None
    return await to_thread.run_sync(_campaign, reader, campaign, limiter=limiter)


@router.get("/campaigns/{campaign}/progress")
def show_progress(reader: ReaderDep, campaign: CampaignPath) -> Response:
    """The part of a campaign's page that is requested again while it is measured."""
    return shown(reader.site, campaign_page.progress(reader.site, campaign), fragment=True)


@router.get("/campaigns/{campaign}/next")
async def show_next_steps(
    reader: ReaderDep, campaign: CampaignPath, part: bool = False
) -> Response:
    """What can be done next, which takes plans: as a part of the campaign's page, or as a page.

    The campaign's document has it, so this is what is answered as JSON.
    """
    show = _campaign if reader.site.as_json else partial(_next, part=part)
    return await to_thread.run_sync(show, reader, campaign, limiter=_PLANNING)


@router.get("/campaigns/{campaign}/trials/{trial}/")
def show_trial(
    reader: ReaderDep, campaign: CampaignPath, trial: NamePath, attempt: int | None = None
) -> Response:
    """One trial."""
    return shown(reader.site, trial_page.trial(reader.site, campaign, trial, attempt))


@router.get("/compare/")
def show_two(
    reader: ReaderDep,
    first: CampaignQuery | None = None,
    second: CampaignQuery | None = None,
    campaign: Annotated[list[CampaignQuery], Query(max_length=200)] = [],  # noqa: B006
) -> Response:
    """Two campaigns side by side, or a form to choose them."""
    return shown(reader.site, side_by_side.side_by_side(reader.site, first, second, campaign))


@router.get("/compare/versions/")
def show_two_versions(
    reader: ReaderDep, report: TextQuery = "", first: TextQuery = "", second: TextQuery = ""
) -> Response:
    """Two versions over all workloads of a report type, or a form to choose them."""
    site = reader.of(report) if report else reader.of_all()
    return shown(site, two_versions.two_versions(site, report, first, second))


@router.get("/history/")
def show_workloads(reader: ReaderDep) -> Response:
    """The workloads that have a history."""
    return shown(reader.site, history.workloads(reader.site))


@router.get("/history/{report}/{workload}/")
def show_history(
    reader: ReaderDep,
    report: NamePath,
    workload: NamePath,
    first: TextQuery = "",
    second: TextQuery = "",
) -> Response:
    """The history of one workload."""
    site = reader.of(report)
    return shown(site, history.history(site, report, workload, first, second))


@router.get("/plan/")
async def show_plan(request: Request, reader: ReaderDep) -> Response:
    """The page for planning a campaign; the query has the form's fields."""
    return await to_thread.run_sync(_planned, request, reader, plan.plan, limiter=_PLANNING)


@router.get("/plan/figures")
async def show_figures(request: Request, reader: ReaderDep) -> Response:
    """The part of the plan's page that changes with the form."""
    return await to_thread.run_sync(_planned, request, reader, plan.figures, limiter=_PLANNING)


@router.get("/dags/{report}/")
def show_report_type(request: Request, reader: ReaderDep, report: NamePath) -> Response:
    """The tab of a DAG: the campaigns of its report type."""
    query = urlencode({"report": report})
    return RedirectResponse(f"{request.scope['root_path']}/{campaigns.PLACE}?{query}", 302)


@router.get("/runs/{report}/{run}/")
def show_run(request: Request, reader: ReaderDep, report: NamePath, run: RunPath) -> Response:
    """The tab of a run: its campaign; until it has one, a page that says so."""
    site = reader.site
    campaign, failure = _campaign_of(site, report, run)
    if campaign is None:
        title, values = site.language.say("site-run"), {"failure": failure}
        return shown(site, Page(f"runs/{report}/{run}/", "", title, "no-campaign.html.j2", values))
    place = quote(campaign_page.place_of(campaign))
    return RedirectResponse(f"{request.scope['root_path']}/{place}", 302)


@router.get("/campaigns/{campaign}/files/{name:path}")
def download(reader: ReaderDep, campaign: CampaignPath, name: str) -> Response:
    """A file of the report, a raw output, or a series."""
    content = files.read(reader.site, campaign, name)
    kind, _ = mimetypes.guess_type(name)
    suffix = f".{name.rpartition('.')[2]}".lower()
    if suffix in (".md", ".csv"):
        kind = "text/plain"
    headers = {"Content-Security-Policy": _SANDBOX}
    if suffix not in _READ:
        called = quote(f"{campaign}-{name.rpartition('/')[2]}", safe="")
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{called}"
    return Response(content, media_type=kind or "application/octet-stream", headers=headers)


@router.post("/actions/judge")
def judge(
    request: Request,
    reader: ReaderDep,
    finding: Annotated[int, Form(ge=1, lt=2**31)],
    state: Annotated[FindingState | Literal["back"], Form()],
    guard: Annotated[str, Form(max_length=500)] = "",
    place: Annotated[str, Form(pattern=r"^[A-Za-z0-9_./?&=%+-]*$")] = "",
    note: Annotated[str, Form(max_length=LONGEST_NOTE)] = "",
    link: Annotated[str, Form(max_length=LONGEST_LINK)] = "",
) -> RedirectResponse:
    """Record what a person says of a finding, or take it back; show the page again."""
    kept, by = reader.site.store.findings, reader.user.get_name()
    try:
        report = kept.finding(finding).report
    except StoreError as error:
        raise NoSuchPage(message("site-no-finding", number=finding)) from error
    changer(request, reader, guard, report)
    if state == "back":
        kept.take_back(finding, by)
    else:
        kept.mark(finding, state, by, note.strip(), link.strip())
    return RedirectResponse(f"../{place.lstrip('/')}", 303)


@router.get("/{place:path}")
def show_nothing(request: Request, reader: ReaderDep, place: str) -> Response:
    """Any other address: add a missing slash, as all pages have one, else respond 404."""
    if place.endswith("/"):
        raise NoSuchPage(message("site-no-page", place=place))
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{request.scope['root_path']}/{quote(place)}/{query}", 302)


def _campaign_of(site: Site, report: str, run: str) -> tuple[str | None, str | None]:
    """The campaign that a run began or resumed, or else why the run failed, if known."""
    if not site.shows(report):
        return None, None
    if began := site.store.started_by(report, f"{ORIGIN}{run}"):
        return began, None
    named, failure = airflow_runs.form_and_failure(report, run)
    try:
        return named and trial_page.campaign_of(site, named).id, failure
    except NoSuchPage:
        return None, failure


def _planned(
    request: Request, reader: Reader, page: Callable[[Site, plan.Asked], Page]
) -> Response:
    asked = _asked(request)
    site = reader.of(plan.report_of(reader.site, asked))
    return shown(site, page(site, asked), fragment=page is plan.figures)


def _campaign(reader: Reader, campaign: str) -> Response:
    return shown(reader.site, campaign_page.campaign(reader.site, campaign))


def _next(reader: Reader, campaign: str, *, part: bool) -> Response:
    site = reader.of(trial_page.campaign_of(reader.site, campaign).plan.report)
    return shown(site, next_steps.next_steps(site, campaign), fragment=part)


def _asked(request: Request) -> plan.Asked:
    query = request.query_params
    return {name: query.getlist(name) for name in query if name != "language"}
