"""The command that answers agents: mcp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from pydantic import Field

from benchlab.cli.documents import opened
from benchlab.errors import BenchlabError
from benchlab.results.findings import FindingState
from benchlab.site import (
    campaign,
    campaigns,
    documents,
    findings,
    history,
    overview,
    plan,
    side_by_side,
    two_versions,
)
from benchlab.site.page import Page, Site

app = typer.Typer()
_ABOUT = (
    "Benchlab measures whether one version of a database is faster or slower than another. "
    "Verdicts are statistical: regression, improvement, equivalent (shown to differ by less than "
    "the threshold), inconclusive (neither was shown), unstable. Changes are in percent, of the "
    "candidate against the baseline. Figures of two campaigns are never compared, only changes."
)


@app.command()
def mcp() -> None:
    """Answer an agent's questions (Model Context Protocol), read-only.

    The answers are the documents that pages of the site are as JSON.

    Example: benchlab mcp
    """
    from mcp.server import MCPServer  # only this command waits for it

    server = MCPServer("benchlab", instructions=_ABOUT, log_level="ERROR")
    for tool in TOOLS:
        server.tool(structured_output=False)(tool)
    server.run("stdio")


def _said(make: Callable[[Site], Page]) -> str:
    """A page as JSON; what is wrong is said to the agent, whose server goes on."""
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        with opened() as site:
            return documents.text(site, make(site))
    except BenchlabError as error:
        raise ToolError(str(error)) from error


def show_overview() -> str:
    """Is everything all right? What failed, waits to be judged, is measured now, and comes next."""
    return _said(overview.overview)


def list_findings(report: str = "", workload: str = "", state: FindingState | None = None) -> str:
    """Changes of performance, each once, with what people said of them; the newest first."""
    return _said(lambda site: findings.findings(site, report, workload, state))


def list_campaigns(
    report: str = "",
    version: str = "",
    verdict: str = "",
    since: Annotated[str, Field(description="a day, YYYY-MM-DD")] = "",
    page: int = 1,
) -> str:
    """Campaigns, the latest first, with their verdicts; 50 a page."""
    query = {"report": report, "version": version, "verdict": verdict, "since": since}
    asked = campaigns.Filter.asked({**query, "page": str(page)})
    return _said(lambda site: campaigns.campaigns(site, asked))


def show_campaign(campaign_id: str) -> str:
    """A campaign: its answer in words, its verdicts with intervals, and why something changed."""
    return _said(lambda site: campaign.campaign(site, campaign_id))


def compare_campaigns(first: str, second: str) -> str:
    """The changes that two campaigns found, side by side."""
    return _said(lambda site: side_by_side.side_by_side(site, first, second))


def compare_versions(report: str, first: str, second: str) -> str:
    """Two versions over all workloads of a report type, chained from its campaigns."""
    return _said(lambda site: two_versions.two_versions(site, report, first, second))


def show_history(report: str, workload: str) -> str:
    """A workload over the versions: level, change points, drift, and noise."""
    return _said(lambda site: history.history(site, report, workload))


def list_workloads() -> str:
    """The report types, and the workloads that have a history."""
    return _said(history.workloads)


def show_plan(report: str, rounds: int | None = None) -> str:
    """What a campaign would take: hours, dollars, trials, and the smallest change it would find."""
    asked: dict[str, Any] = {"report": [report]} | ({"rounds": [str(rounds)]} if rounds else {})
    return _said(lambda site: plan.plan(site, asked))


TOOLS = (
    show_overview,
    list_findings,
    list_campaigns,
    show_campaign,
    compare_campaigns,
    compare_versions,
    show_history,
    list_workloads,
    show_plan,
)
