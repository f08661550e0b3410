"""Flame graphs in a browser: zoomed and searched, in a file of their own and in a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from benchlab.charts import picture
from benchlab.charts.flame import Labels, flame
from benchlab.site.page import assets
from benchlab_airflow.page.app import HEADERS

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js")
STACKS = {
    ("main", "db/plan", "gc"): (10.0, 10.0),
    ("main", "db/plan", "cost"): (20.0, 30.0),
    ("main", "net", "gc"): (5.0, 15.0),
    ("main", "net"): (45.0, 45.0),
    ("main", "old"): (20.0, 0.0),
}
LABELS = Labels(
    "Title",
    "Remark",
    ("1", "2", "3", "4", "5", "6"),
    "everything",
    lambda baseline, candidate: f"baseline {baseline:g}, candidate {candidate:g}",
    lambda count: f"{count} narrower",
    "Find",
    "{count} found: baseline {baseline}, candidate {candidate}",
)


@pytest.fixture(params=["file", "page"])
def graph(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """A graph as ``--picture`` writes it; and in a page, with what pages may load."""
    drawn = flame(STACKS, LABELS, {"cost"})
    with browser.new_context() as context:
        page = context.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text))
        if request.param == "file":
            path = tmp_path / "diff.svg"
            picture.write(path, drawn)
            page.goto(path.as_uri())
        else:
            html = (
                '<!DOCTYPE html><html lang="en"><title>Graph</title>'
                '<link rel="stylesheet" href="/page.css">'
                f"<main><h1>Graph</h1>{drawn.inline('Graph')}</main>"
                '<script src="/flame.js"></script>'
            )
            kinds = {"css": "text/css", "js": "text/javascript"}
            for name in ("page.css", "flame.js"):
                kind = kinds[name.rpartition(".")[2]]
                content = assets()[name].decode()
                context.route(f"**/{name}", _answering(content, kind))
            context.route("http://graph.test/", _answering(html, "text/html"))
            page.goto("http://graph.test/")
        yield page
        assert faults == []


def _answering(body: str, kind: str) -> Callable[[Route], None]:
    headers = {**HEADERS, "Content-Type": f"{kind}; charset=utf-8"}
    return lambda route: route.fulfill(body=body, headers=headers)


def frame(page: Page, name: str) -> Locator:
    """The frame of a function, by the beginning of what a screen reader says of it."""
    return page.get_by_role("button", name=f"{name}: baseline")


def test_a_click_zooms_in_and_on_the_outermost_frame_out(graph: Page) -> None:
    """What was clicked is as wide as everything was, with what it calls; the rest is away."""
    widths = "group => Number(group.querySelector('rect').getAttribute('width'))"
    whole = frame(graph, "everything").evaluate(widths)
    frame(graph, "db/plan").click()
    assert frame(graph, "db/plan").evaluate(widths) == pytest.approx(whole)
    assert frame(graph, "cost").evaluate(widths) == pytest.approx(whole * 50 / 70, rel=1e-3)
    expect(frame(graph, "cost").locator("text")).to_have_text("cost")
    expect(frame(graph, "old")).to_be_hidden()
    expect(frame(graph, "main")).to_be_visible()
    frame(graph, "everything").click()
    expect(frame(graph, "old")).to_be_visible()
    assert frame(graph, "cost").evaluate(widths) == pytest.approx(whole * 50 / 200, rel=1e-3)


def test_what_is_searched_is_marked_with_its_share_of_each_side(graph: Page) -> None:
    """Wherever it is called; what lies below another match is counted once."""
    field, said = graph.get_by_role("searchbox", name="Find"), graph.locator("output")
    field.fill("GC")
    expect(said).to_have_text("2 found: baseline 15.00%, candidate 25.00%")
    expect(graph.locator("g.match")).to_have_count(2)
    field.fill("n")
    expect(said).to_have_text("3 found: baseline 100.00%, candidate 100.00%")
    field.fill("")
    expect(graph.locator("g.match")).to_have_count(0)
    expect(said).to_have_text("")


def test_the_keyboard_is_enough(graph: Page) -> None:
    """One stop for Tab; arrows, Enter and Escape; the frame with the focus is said."""
    frame(graph, "everything").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        graph.keyboard.press(key)
    expect(frame(graph, "net")).to_be_focused()
    expect(graph.locator("output")).to_have_text("net: baseline 50, candidate 60")
    expect(graph.locator("g[tabindex='0']")).to_have_count(1)
    graph.keyboard.press("Enter")
    expect(frame(graph, "old")).to_be_hidden()
    graph.keyboard.press("Escape")
    expect(frame(graph, "everything")).to_be_focused()
    expect(frame(graph, "old")).to_be_visible()


@pytest.mark.parametrize("graph", ["page"], indirect=True)
def test_a_page_with_a_graph_can_be_used_by_everyone(graph: Page) -> None:
    """axe finds nothing, while something is found and zoomed."""
    graph.get_by_role("searchbox", name="Find").fill("gc")
    frame(graph, "db/plan").click()
    graph.evaluate(AXE.read_text("utf-8"))
    found = graph.evaluate("axe.run().then(found => found.violations)")
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], json.dumps(found)
