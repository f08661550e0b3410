"""Charts in a browser: what each mark says, with pointer and keyboard, and zooming into time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import resources

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from benchlab.charts.charts import Curve, Row, Strip, curves, forest, strips
from benchlab.language import load
from benchlab.language.numbers import Numbers
from benchlab.site import history
from benchlab.site.page import Site, assets
from benchlab_airflow.page.app import HEADERS
from tests.builders import weekly
from tests.builders.weekly import POINT, REPORT

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js")
NUMBERS = Numbers(load("en"))
WORDS = (
    'data-zoom-in="Zoom in" data-zoom-out="Zoom out" data-earlier="Earlier" data-later="Later" '
    'data-whole="Whole chart"'
)


def drawn() -> str:
    """A forest, curves and series."""
    change = Row("Insert", "improvement", 3.1, (2.0, 4.2), "▲ improvement", "+3.1% (2 to 4.2)")
    means = Curve("baseline", [10.0, 20.0], [[9.0, 11.0], [20.0]], ["4 threads: 10", "8: 20"])
    lines = {"baseline": [(float(t), 100.0 + t) for t in range(100)], "candidate": [(0.0, 50.0)]}
    series = strips(
        [Strip("TPS", lines, {"baseline": "v1", "candidate": "v2"})], 100, NUMBERS, "s", tall=100
    )
    assert series is not None
    charts = {
        "Changes": forest([change], NUMBERS),
        "Figures": curves([means], ["4", "8"], NUMBERS, "threads", "none"),
        "Series": series,
    }
    return "".join(f"<div>{one.inline(name)}</div>" for name, one in charts.items())


@pytest.fixture(scope="module")
def long_view(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The chart of fourteen weeks and an A/A campaign, from the page that has it."""
    with weekly.installation(tmp_path_factory.mktemp("charts")) as weeks:
        weeks.add_aa(0.002)
        weekly.regression(weeks)
        site = Site(weeks.home, weeks.store, load("en"), datetime(2024, 6, 1, tzinfo=UTC))
        (chain,) = history.history(site, REPORT, POINT).values["chains"]
        return str(chain.picture(lambda place: f"/{place}"))


@pytest.fixture
def page(browser: Browser, long_view: str) -> Iterator[Page]:
    """The charts, with what pages may load."""
    html = (
        '<!DOCTYPE html><html lang="en"><title>Charts</title>'
        '<link rel="stylesheet" href="/page.css">'
        f"<main><h1>Charts</h1>{drawn()}<div>{long_view}</div></main>"
        f'<script src="/charts.js" {WORDS}></script>'
    )
    with browser.new_context() as context:
        for name, kind in (("page.css", "text/css"), ("charts.js", "text/javascript")):
            context.route(f"**/{name}", _answering(assets()[name].decode(), kind))
        context.route("http://charts.test/", _answering(html, "text/html"))
        page, faults = context.new_page(), list[str]()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text))
        page.goto("http://charts.test/")
        yield page
        assert faults == []


def _answering(body: str, kind: str) -> Callable[[Route], None]:
    headers = {**HEADERS, "Content-Type": f"{kind}; charset=utf-8"}
    return lambda route: route.fulfill(body=body, headers=headers)


def tip(page: Page) -> Locator:
    """What is said beside a chart."""
    return page.get_by_role("status")


def levels(page: Page) -> Locator:
    """The campaigns in the long view."""
    return page.locator("svg.levels a")


def button(page: Page, name: str) -> Locator:
    """A button below the long view."""
    return page.get_by_role("button", name=name).last


def test_a_mark_says_its_figures_under_the_pointer(page: Page) -> None:
    """In every kind of chart; nothing has to be hit exactly, and nothing stays when it is left."""
    page.get_by_text("+3.1% (2 to 4.2)").hover()
    expect(tip(page)).to_have_text("Insert: ▲ improvement +3.1% (2 to 4.2)")
    box = page.get_by_role("img", name="8: 20").bounding_box()
    assert box
    page.mouse.move(box["x"] - 8, box["y"] - 8)
    expect(tip(page)).to_have_text("8: 20")
    levels(page).first.hover()
    expect(tip(page)).to_have_text(re.compile(r"^2024-\d\d-\d\d, 10.*% to .*Level .*% to"))
    page.get_by_role("heading").hover()
    expect(tip(page)).to_have_text("")


def test_series_say_their_values_at_one_time(page: Page) -> None:
    """Of each line that has one there, as drawn."""
    chart = page.get_by_role("img", name="Series")
    chart.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(tip(page)).to_have_text("0 s\nTPS\n  v1: 100\n  v2: 50", use_inner_text=True)
    for _ in range(50):
        page.keyboard.press("ArrowRight")
    expect(tip(page)).to_have_text("50 s\nTPS\n  v1: 150", use_inner_text=True)
    page.keyboard.press("Escape")
    expect(tip(page)).to_have_text("")


def test_the_keyboard_goes_from_mark_to_mark(page: Page) -> None:
    """One stop for Tab in each chart; a campaign's page is still a link away."""
    levels(page).first.focus()
    page.keyboard.press("ArrowRight")
    expect(levels(page).nth(1)).to_be_focused()
    said = levels(page).nth(1).get_attribute("aria-label")
    assert said
    expect(tip(page)).to_have_text(said)
    expect(page.locator("svg.levels [tabindex='0']")).to_have_count(1)
    assert levels(page).nth(1).get_attribute("href") == "/campaigns/week-002/"


def test_a_long_history_is_zoomed_and_shown_whole_again(page: Page) -> None:
    """By buttons, keys and dragging; what has the focus is brought into view."""
    ticks = page.locator("svg.levels .ticks")
    begin = levels(page).first.bounding_box()
    button(page, "Zoom in").click()
    button(page, "Zoom in").press("Enter")
    expect(ticks).to_be_hidden()
    levels(page).last.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    chart, last = page.locator("svg.levels").bounding_box(), levels(page).last.bounding_box()
    assert chart
    assert last
    assert chart["x"] < last["x"] < chart["x"] + chart["width"]
    page.keyboard.press("0")
    expect(ticks).to_be_visible()
    again = levels(page).first.bounding_box()
    assert begin
    assert again
    assert (again["x"], again["width"]) == (begin["x"], begin["width"])
    page.mouse.move(chart["x"] + 300, chart["y"] + 200)
    page.mouse.down()
    page.mouse.move(chart["x"] + 400, chart["y"] + 210, steps=4)
    page.mouse.up()
    expect(ticks).to_be_hidden()
    button(page, "Whole chart").click()
    expect(ticks).to_be_visible()
    levels(page).first.focus()
    page.keyboard.press("Control++")
    expect(ticks).to_be_visible()
    page.route("**/campaigns/**", lambda route: route.fulfill(status=204))
    with page.expect_request("**/campaigns/week-*/"):  # although something was dragged before
        page.keyboard.press("Enter")


def test_charts_can_be_used_by_everyone(page: Page) -> None:
    """axe finds nothing, while something is said and zoomed."""
    button(page, "Zoom in").click()
    levels(page).nth(5).focus()
    page.keyboard.press("ArrowRight")
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run().then(found => found.violations)")
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], json.dumps(found)
