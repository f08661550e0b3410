"""A campaign's page, read in a browser without Airflow."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from benchlab.analysis.verdict.compare import verdicts_of
from benchlab.campaign.outcome import Comparer
from benchlab.language import codes, load
from benchlab.site import campaign
from benchlab.site.page import ASSETS, Site, assets, render
from benchlab.workloads import sysbench
from benchlab_airflow.page.app import HEADERS
from tests.builders import weekly
from tests.builders.plans import START

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js")
DEMO = "week-000"
WORKLOADS = ["oltp_point_select", "oltp_read_write", "oltp_update_index", "oltp_update_non_index"]


@pytest.fixture
def weeks(tmp_path: Path) -> Iterator[weekly.Weeks]:
    """A campaign as `make demo` measures it, with every count that is decided, and its findings."""
    with weekly.installation(tmp_path) as made:
        counts = dict.fromkeys(sysbench.COUNTS["mariadb"], 0.12)
        fields: dict[str, Any] = {"rounds": 6, "deployments": 6, "seconds": 3}
        made.add(change=1.24, counts=counts, workloads=WORKLOADS, **fields)
        found = Comparer(made.home, made.store).outcome(made.store.campaign(DEMO))
        made.store.set_verdicts(DEMO, verdicts_of(found.comparison))
        yield made


@pytest.fixture
def page(browser: Browser, weeks: weekly.Weeks) -> Iterator[Page]:
    """What the address of the campaign shows, in the language that is its query."""

    def answer(route: Route) -> None:
        path, query = urlsplit(route.request.url)[2:4]
        site = Site(weeks.home, weeks.store, load(query if query in codes() else "en"), START)
        kind = "text/html"
        if (name := path.rpartition(ASSETS)[2]) in assets():
            kind = "text/css" if name.endswith("css") else "text/javascript"
            body = assets()[name].decode()
        elif path.endswith("/next"):
            route.fulfill(status=500)
            return
        elif path.endswith("/progress"):
            body = render(site, campaign.progress(site, DEMO), fragment=True)
        else:
            body = render(site, campaign.campaign(site, DEMO))
        headers = {**HEADERS, "Content-Type": f"{kind}; charset=utf-8"}
        route.fulfill(body=body, headers=headers)

    # Nothing listens there.
    with browser.new_context(base_url="http://127.0.0.1:9") as context:
        context.route("**/*", answer)
        yield context.new_page()


def test_it_is_read_on_four_screens(page: Page) -> None:
    """Answer, charts, table and findings; the rest is folded, and a link or printing opens it."""
    page.set_viewport_size({"width": 1280, "height": 800})
    for code in codes():
        page.goto(f"/campaigns/{DEMO}/?{code}")
        expect(page.locator(".answer")).to_contain_text("10.11.5 ")
        expect(page.locator("#next")).to_contain_text(load(code).say("next-not-loaded"))
        assert page.locator("svg.forest:visible").count() == 2
        assert page.locator("svg.curves").count() == 0, "one thread count is no curve"
        assert page.evaluate("document.documentElement.scrollHeight") <= 4 * 800
        gates = page.locator("#quality h3").first
        expect(gates).to_be_hidden()
        for _ in range(2):  # a second time, the address has it already
            page.locator("a[href='#quality']").click()
            expect(gates).to_be_in_viewport()
            page.locator("#quality > summary").click()
            expect(gates).to_be_hidden()
        for event in ("beforeprint", "afterprint"):
            page.evaluate("name => window.dispatchEvent(new Event(name))", event)
            expect(gates).to_be_visible(visible=event == "beforeprint")


def test_folded_and_unfolded_everyone_can_use_it(page: Page) -> None:
    """axe finds nothing, in light and wide, dark and narrow, and nothing is cut off."""
    page.add_init_script(AXE.read_text("utf-8"))
    for theme, width in (("light", 1280), ("dark", 420)):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page.goto(f"/campaigns/{DEMO}/?en")
        for state in ("folded", "unfolded"):
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (theme, state)
            faults = page.evaluate("axe.run().then(found => found.violations)")
            assert [(one["id"], one["nodes"][0]["html"]) for one in faults] == [], (theme, state)
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")


def test_while_it_runs_it_ends_by_itself_in_its_answer(page: Page, weeks: weekly.Weeks) -> None:
    """Nobody has to ask for it again: how far it is makes way for the answer."""
    weeks.store.reopen(DEMO)
    page.goto(f"/campaigns/{DEMO}/?en")
    expect(page.get_by_role("progressbar")).to_be_visible()
    weeks.store.finish(DEMO, "complete")
    expect(page.get_by_role("progressbar")).to_have_count(0)
    expect(page.locator(".answer")).to_contain_text("48 of 48 trials valid;")
    expect(page.get_by_role("link", name="Show the answer")).to_have_count(0)
