"""The benchmark site in Airflow's UI, on a campaign that is measured while it is looked at."""

from __future__ import annotations

import io
import os
import re
from importlib import resources
from pathlib import Path
from urllib.parse import unquote

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from benchlab.campaign import report_types
from benchlab.campaign.overrides import override
from tests.browser.conftest import (
    CAMPAIGN,
    DAG,
    RUN_LIMIT_MS,
    VIEWER,
    Airflow,
    RunPage,
    log_in,
    shown,
)
from tests.builders import campaigns, team, weekly
from tests.builders.weekly import POINT, REPORT

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js")
HISTORY = f"history/{REPORT}/{POINT}/"
PAGES = (
    "",
    "campaigns/",
    f"campaigns/{CAMPAIGN}/",
    "campaigns/week-013/",
    f"campaigns/week-013/trials/r1-candidate-{POINT}-t4/",
    "compare/?first=week-006&second=week-013",
    "history/",
    HISTORY,
    "findings/",
    "plan/?report=sysbench_local",
    "plan/?report=sysbench_local&rounds=x",
    "plan/?report=sysbench_v520_vs_v511&language=zh",
    "nowhere/?language=zh",
    f"runs/{REPORT}/none/",
)

# What the docs show, by the names of the files.
PICTURES = {
    "overview": "",
    "answer": f"campaigns/releases-{team.SLOWER}/",
    "trial": f"campaigns/{team.NEWEST}/trials/{team.REJECTED}/?attempt=1",
    "plan": f"plan/?report={team.RELEASES}",
    "history": f"history/{team.RELEASES}/{team.SLOWER_WORKLOAD}/",
    "compare": f"compare/versions/?first=v7.5.7&second={team.VERSIONS[-1]}",
}


def test_a_run_is_watched_to_its_verdict(page: Page, airflow: Airflow, started: str) -> None:
    """On the run's tab: how far it is, then its answer and its trials' figures; a task of the run
    has a button to it, and the campaign leads back to its run.
    """
    page.goto(f"{started}/plugin/campaign")
    tab = shown(page, "Campaign")
    answer = tab.locator(".answer")
    expect(answer.filter(has_not_text="still runs")).to_be_visible(timeout=RUN_LIMIT_MS)
    RunPage(page, started).ends_green(airflow.machine)

    page.goto(f"{started}/tasks/verdict/details")
    page.get_by_role("link", name="Campaign", exact=True).click()
    expect(answer).to_contain_text("4 of 4 trials valid")
    tab.locator("#trials > summary").click()
    tab.get_by_role("link", name=re.compile("Update Index.*round 1")).first.click()
    expect(tab.get_by_role("heading", level=1)).to_contain_text("Update Index")
    expect(tab.locator("svg.chart").first).to_be_visible()
    page.goto(f"{started}/plugin/campaign")
    tab.get_by_role("link", name="Its run in Airflow").click()
    page.wait_for_url(lambda url: unquote(url) == started)


def test_what_was_measured_over_the_weeks_is_read_and_judged(page: Page) -> None:
    """From the navigation, without leaving Airflow's UI."""
    page.goto("/")
    label = page.get_by_role("link", name="Benchlab").first.get_by_text("Benchlab")
    assert label.evaluate("shown => shown.scrollWidth <= shown.clientWidth"), "it is cut off"
    label.click()
    site = shown(page, "Benchlab")
    site.get_by_role("link", name="Campaigns", exact=True).click()
    expect(site.get_by_role("row").filter(has_text="week-013")).to_be_visible()
    expect(page).to_have_url(re.compile("/plugin/benchmarks/benchmarks/campaigns/$"))
    page.reload()
    expect(site.get_by_role("row").filter(has_text="week-013")).to_be_visible()

    page.goto(f"/plugin/benchmarks/benchmarks/{HISTORY}")
    expect(site.get_by_text("11.4.5").first).to_be_visible()
    guard = site.locator("input[name=guard]").first.input_value()
    sent = page.request.post(
        "/benchmarks/actions/judge",
        form={"finding": "1", "state": "known", "guard": guard},
        headers={"origin": "http://evil.example"},
    )
    assert (sent.status, "sent by another site" in sent.text()) == (403, True)
    site.get_by_label("What was it?").first.fill("a change of the optimizer")
    site.get_by_label("Judge as").first.select_option("known")
    site.get_by_role("button", name="Save").first.click()
    expect(site.get_by_text("a change of the optimizer").first).to_be_visible()
    site.get_by_role("link", name="Findings", exact=True).click()
    expect(page).to_have_url(re.compile("/plugin/benchmarks/benchmarks/findings/$"))
    expect(site.get_by_text("a change of the optimizer").first).to_be_visible()
    judged = site.get_by_role("row").filter(has_text="a change of the optimizer")
    judged.get_by_role("button", name="Take back").click()
    expect(site.get_by_text("History (2)")).to_be_visible()
    site.get_by_role("link", name="中文").click()
    expect(site.locator("html")).to_have_attribute("lang", re.compile("^zh"))

    page.goto("/plugin/benchmarks/benchmarks/compare/?first=week-006&second=week-013")
    expect(site.get_by_role("table").first).to_contain_text("Point Select")
    expect(site.locator("html")).to_have_attribute("lang", re.compile("^zh"))


def test_a_report_is_downloaded(page: Page, started: str) -> None:
    """The evidence of a measured campaign, from its page."""
    page.goto(f"{started}/plugin/campaign")
    tab = shown(page, "Campaign")
    with page.expect_download() as download:
        tab.get_by_role("link", name="evidence.zip").first.click()
    assert download.value.suggested_filename == f"{CAMPAIGN}-evidence.zip"


def test_a_plan_is_filled_in_and_started(page: Page) -> None:
    """Its figures follow what is typed, and are marked while Airflow does not answer; it says that
    the DAG is paused, and what is started has the values of the form.
    """
    dag = "tpcc_local"
    pause = {"is_paused": True}
    assert page.request.patch(f"/api/v2/dags/{dag}", data=pause).ok
    page.goto(f"/plugin/benchmarks/benchmarks/plan/?report={dag}")
    site = shown(page, "Benchlab")
    figures, start = site.locator("#figures"), site.get_by_role("button", name="Start this")
    expect(figures).to_contain_text("The DAG is paused in Airflow")
    rounds = site.get_by_label("Rounds", exact=True)
    rounds.fill("0")
    expect(figures).to_contain_text("Rounds (rounds): 0 is less than 1")
    rounds.fill("7")
    expect(figures).to_contain_text(f"benchlab run {dag} --set rounds=7")

    figures_asked = re.compile("/plan/figures")
    page.route(figures_asked, lambda route: route.abort())
    rounds.fill("8")
    expect(site.get_by_role("status").first).to_contain_text("belong to earlier values")
    expect(start).to_be_disabled()
    page.unroute(figures_asked)
    rounds.fill("7")
    expect(start).to_be_enabled()
    expect(site.get_by_role("status").first).to_be_empty()

    start.click()
    page.wait_for_url(f"**/dags/{dag}/runs/**")
    begun = page.request.get(f"/api/v2/dags/{dag}/dagRuns").json()["dag_runs"]
    assert [(run["state"], run["conf"]) for run in begun] == [("queued", {"rounds": 7})]


def test_the_next_step_opens_the_plan_filled_in(
    browser: Browser, page: Page, airflow: Airflow
) -> None:
    """With the campaign's fields and what the step changes; who may not start it is told."""
    with weekly.installation(airflow.machine.here.root) as weeks:
        file = report_types.load(report_types.find_report(weeks.home, DAG))
        versions = {"baseline": "10.2.11", "candidate": "10.11.5", "seconds": 7}
        spec = override(file, {**versions, "rounds": 4, "deployments": 2})
        made = campaigns.begin(weeks.home, weeks.store, spec, "slower").campaign
        slower = campaigns.known_change({"oltp_update_index": -0.3}, noise=0.001)
        for result in campaigns.results_of(made.plan, slower):
            weeks.store.add_trial(made.id, result)
        weeks.store.finish(made.id, "complete")
    page.goto("/plugin/benchmarks/benchmarks/campaigns/slower/")
    site = shown(page, "Benchlab")
    steps = site.locator("#next")
    expect(steps).to_contain_text("nothing is rented")
    steps.get_by_role("link", name="Diagnose").click()
    expect(site.get_by_label("Seconds per trial")).to_have_value("7")
    expect(site.get_by_label("Diagnosis")).to_have_value("always")
    expect(site.get_by_label("Update Index")).to_be_checked()
    expect(site.get_by_label("Point Select")).not_to_be_checked()
    figures = site.locator("#figures")
    expect(figures).to_contain_text("--set workloads=oltp_update_index --set diagnose=always")
    expect(site.get_by_role("button", name="Start this")).to_be_enabled()
    site.get_by_label("Rounds", exact=True).fill("8")
    expect(figures).to_contain_text("--set rounds=8")
    expect(figures).to_contain_text("10.11.5 vs. 10.2.11")
    with browser.new_context(base_url=airflow.url) as context:
        viewer = context.new_page()
        viewer.goto("/benchmarks/campaigns/slower/")
        log_in(viewer, airflow, VIEWER)
        expect(viewer.locator("#next")).to_contain_text(f"trigger the DAG {DAG}")


def test_a_published_plan_fills_the_form(page: Page) -> None:
    """With its document's values, and it is the plan that would be run."""
    page.goto("/benchmarks/plan/")
    page.get_by_label("Report type").select_option("tpcc_v520_vs_v511")
    expect(page.get_by_label("Client threads")).to_have_value("50, 100, 200, 400")
    expect(page.locator("#figures")).to_contain_text("benchlab run tpcc_v520_vs_v511")


def test_who_may_not_change_anything_is_refused(browser: Browser, airflow: Airflow) -> None:
    """Who is not logged in sees the login and comes back, a program gets 401; a viewer is offered
    nothing to change, and what they send all the same is refused.
    """
    with browser.new_context(base_url=airflow.url) as context:
        page = context.new_page()
        page.goto(f"/benchmarks/{HISTORY}")
        assert context.request.get("/benchmarks/").status == 401
        log_in(page, airflow, VIEWER)
        page.wait_for_url(f"**/benchmarks/{HISTORY}")
        expect(page.get_by_text("11.4.5").first).to_be_visible()
        expect(page.get_by_role("button", name="Save")).to_have_count(0)
        sent = context.request.post(
            "/benchmarks/actions/judge",
            form={"finding": "1", "state": "known"},
        )
        assert sent.status == 403
        sent = context.request.post(
            f"/api/v2/dags/{DAG}/dagRuns", data={"conf": {}, "logical_date": None}
        )
        assert sent.status == 403


@pytest.mark.skipif("BENCHLAB_SCREENSHOTS" not in os.environ, reason="no folder for them")
@pytest.mark.parametrize("name", PICTURES)
def test_the_docs_have_pictures_of_the_pages(page: Page, name: str) -> None:
    """As they are now; `make pictures` writes them."""
    page.set_viewport_size({"width": 1280, "height": 960})
    page.evaluate("localStorage.setItem('theme', 'light')")
    page.goto(f"/plugin/benchmarks/benchmarks/{PICTURES[name]}")
    expect(shown(page, "Benchlab").get_by_role("heading", level=1)).to_be_visible()
    # Few colours are enough, and keep the repository small.
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(64)
    path = Path(os.environ["BENCHLAB_SCREENSHOTS"]) / f"{name}.png"
    picture.save(path, optimize=True)
    assert path.stat().st_size < 150_000


@pytest.mark.usefixtures("started")
def test_every_page_can_be_used_by_everyone(page: Page) -> None:
    """axe finds nothing, in light and wide, dark and narrow, and nothing is cut off."""
    page.add_init_script(AXE.read_text("utf-8"))
    found = []
    for theme, width in (("light", 1280), ("dark", 400)):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("theme => localStorage.setItem('theme', theme)", theme)
        for place in PAGES:
            page.goto(f"/benchmarks/{place}")
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (place, width)
            for fault in page.evaluate("axe.run().then(found => found.violations)"):
                found.append((place, theme, width, fault["id"], fault["nodes"][0]["html"]))
    assert found == []
