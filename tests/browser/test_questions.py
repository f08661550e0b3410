"""What people come for, asked by somebody who has an address and a login: in how many steps they
have the answer. A step is a click, a tick or a text that is typed, from the overview on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, FrameLocator, Locator, Page, expect

from tests.browser.conftest import Airflow, logged_in, shown
from tests.builders import team
from tests.builders.weekly import REPORT

FIRST, LAST = "v7.5.7", team.VERSIONS[-1]
NEWEST_PAIR = " vs. ".join(reversed(team.VERSIONS[-2:]))


@dataclass
class Reader:
    """Somebody before the pages; all they use is what the pages show."""

    page: Page
    site: FrameLocator
    steps: int = 0

    def press(self, thing: Locator) -> None:
        """Click a link or a button, or tick a box."""
        thing.click()
        self.steps += 1

    def type(self, label: str, text: str) -> None:
        """Fill in a field."""
        self.site.get_by_label(label, exact=True).fill(text)
        self.steps += 1

    def link(self, name: str) -> Locator:
        """The first link of this name."""
        return self.site.get_by_role("link", name=name, exact=True).first

    def button(self, name: str) -> Locator:
        """The buttons of this name."""
        return self.site.get_by_role("button", name=name)

    def row(self, *texts: str) -> Locator:
        """The rows of tables that have all of these texts."""
        rows = self.site.get_by_role("row")
        for text in texts:
            rows = rows.filter(has_text=text)
        return rows


@pytest.fixture(scope="module")
def page(browser: Browser, airflow: Airflow) -> Iterator[Page]:
    """A browser that is logged in, for all questions."""
    with logged_in(browser, airflow) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield page


@pytest.fixture
def reader(page: Page) -> Reader:
    """At the overview, to which Airflow's navigation leads."""
    page.goto("/")
    page.get_by_role("link", name="Benchlab").first.click()
    site = shown(page, "Benchlab")
    expect(site.get_by_role("heading", level=1, name="Overview")).to_be_visible()
    return Reader(page, site)


def test_is_everything_all_right(reader: Reader) -> None:
    """The overview says so or what is not, and names it."""
    expect(reader.site.locator(".answer")).to_contain_text("regression that nobody has judged")
    expect(reader.row("Point Select", REPORT, "Throughput").first).to_contain_text("-10")
    assert reader.steps == 0


def test_is_the_weekly_run_all_right(reader: Reader) -> None:
    """A mark for each of its last runs, with the reason of one that failed."""
    marks = reader.row(team.WEEKLY).locator(".mark")
    expect(marks).to_have_count(team.WEEKS)
    expect(marks.last).to_have_accessible_name(re.compile("fine"))
    expect(marks.nth(team.FAILED_WEEK)).to_have_accessible_name(re.compile("failed.*no capacity"))
    assert reader.steps == 0


def test_when_is_the_next_run_and_what_did_this_month_cost(reader: Reader) -> None:
    """Both are at the top of the overview."""
    facts = reader.site.locator(".facts")
    expect(facts).to_contain_text(re.compile(r"Next run.*\d:\d\d", re.DOTALL))
    expect(facts).to_contain_text(re.compile(r"Cost this month\s*\d+\.\d\d dollars"))
    assert reader.steps == 0


def test_which_release_made_update_index_slower(reader: Reader) -> None:
    """One sentence, behind the workload's name."""
    section = reader.site.locator("section").filter(
        has=reader.site.get_by_role("heading", name=team.RELEASES, exact=True)
    )
    reader.press(section.get_by_role("link", name="Update Index"))
    answer = reader.site.locator(".answer").first
    expect(answer).to_contain_text(f"{team.SLOWER} made Update Index slower")
    assert reader.steps == 1


def test_why_was_a_trial_rejected(reader: Reader) -> None:
    """The campaign has the reason, the trial's own page shows the second in which it happened."""
    reader.press(reader.link(NEWEST_PAIR))
    reader.press(reader.site.get_by_role("link", name=re.compile("Rejected")).first)
    row = reader.row("gate other_work failed").first
    expect(row).to_contain_text("found 11 %, allowed at most 5 %")
    assert reader.steps == 2
    reader.press(row.get_by_role("link").first)
    expect(reader.site.locator("svg.chart").first).to_be_visible()


def test_two_campaigns_are_compared(reader: Reader) -> None:
    """By ticking them in the list."""
    reader.press(reader.link("Campaigns"))
    for week in (team.WEEKS, team.WEEKS - 1):
        reader.press(reader.site.get_by_role("checkbox", name=f"Compare weekly-{week}"))
    reader.press(reader.button("Compare the two"))
    expect(reader.row("Update Index", "TPS").first).to_contain_text("equivalent")
    assert reader.steps == 4


def test_who_is_on_a_regression_and_since_when(reader: Reader) -> None:
    """The list of findings has who, since when, and what they say."""
    reader.press(reader.link("Findings"))
    row = reader.row("Update Index", team.RELEASES)
    expect(row).to_contain_text(re.compile(rf"known\s+by {team.WHO}, .*\d"))
    expect(row).to_contain_text(team.WHY)
    expect(row).to_contain_text(f"{team.SLOWER} vs.")
    assert reader.steps == 1


def test_two_versions_are_compared_over_all_workloads(reader: Reader) -> None:
    """A row for each workload; nobody has to know which report type measured them."""
    reader.press(reader.link("Compare"))
    reader.type("from", FIRST)
    reader.type("to", LAST)
    reader.press(reader.button("Compare").last)
    expect(reader.site.locator("tbody tr")).to_have_count(len(team.WORKLOADS))
    expect(reader.row("Update Index")).to_contain_text(re.compile(r"-[78]\.\d%"))
    assert reader.steps == 4


def test_a_table_is_taken_along_for_a_pull_request(reader: Reader) -> None:
    """As Markdown, out of the page that shows it, below its answer."""
    reader.press(reader.link(NEWEST_PAIR))
    expect(reader.site.get_by_role("heading", level=1)).to_contain_text(NEWEST_PAIR)
    reader.press(reader.button("Copy as Markdown").first)
    expect(reader.site.get_by_text("Copied.")).to_be_visible()
    copied = reader.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("v8.5.7 is equivalent at Point Select")
    assert "| Workload | Metric | Change | 95% interval |" in copied
    assert "| Point Select | TPS |" in copied
    assert reader.steps == 2
