"""`benchlab mcp`: an agent asks what a person would, and changes nothing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from benchlab.results.store import Store
from tests.builders.findings import WORSE, add
from tests.builders.installation import PROGRAM, Here


def asked(here: Here, *calls: tuple[str, dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """The tools, and what each call answered, as an agent's own client reads them."""

    async def ask() -> tuple[list[Any], list[Any]]:
        server = StdioServerParameters(command=str(PROGRAM), args=["mcp"], env=here.environment)
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            return tools, [await client.call_tool(name, given) for name, given in calls]

    return asyncio.run(asyncio.wait_for(ask(), 120))


def test_an_agent_finds_out_what_changed(here: Here) -> None:
    """By documents of the site; what does not exist is said, and the server goes on."""
    with Store(here.home.store_url, here.home.objects) as store:
        add(store, "c1", WORSE)
    tools, answers = asked(
        here,
        ("show_campaign", {"campaign_id": "nothing"}),
        ("list_findings", {"state": "new"}),
        ("show_overview", {}),
        ("show_plan", {"report": "sysbench_local", "rounds": 2}),
    )
    assert all(tool.description for tool in tools)
    lacking, findings, first, planned = answers
    assert lacking.is_error
    assert "nothing" in lacking.content[0].text
    (found,) = json.loads(findings.content[0].text)["findings"]
    assert (found["workload"], found["newest"]["id"]) == ("oltp_point_select", "c1")
    assert json.loads(first.content[0].text)["not_judged"]["regression"] == 1
    assert "rounds=2" in json.loads(planned.content[0].text)["command"]
