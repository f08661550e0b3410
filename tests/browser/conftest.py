"""Airflow's UI, as `make up` starts it, in the browser of this machine."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from playwright.sync_api import Browser, FrameLocator, Locator, Page, expect, sync_playwright

from benchlab.analysis.verdict.compare import verdicts_of
from benchlab.campaign.outcome import Comparer
from benchlab_airflow.local import airflow_home
from benchlab_airflow.local.airflow_home import USER
from benchlab_airflow.local.services import Services
from tests.builders import team, weekly
from tests.machine import Machine, machine_in, servers
from tests.ports import free_port
from tests.scheduler import ASK_AGAIN_S

__all__ = ["servers"]

DAG = "sysbench_local"
# Who may read everything and change nothing.
VIEWER = "vic"
# Processes are ended by the id of their campaign, on the whole machine: no two workers share one.
CAMPAIGN = f"from-the-browser-{os.getpid()}"
# The machine may be busy with the campaign that is looked at.
PATIENCE_MS = 60_000
RUN_LIMIT_MS = 240_000
# Containers have no sandbox and no GPU; the rest keeps the browser from calling home.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Airflow:
    """The services of a home of their own."""

    machine: Machine
    url: str
    passwords: dict[str, str]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, with user data that are new and thrown away."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("there is no chromium on this machine: apt-get install chromium (Debian)")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture(scope="session")
def airflow(
    browser: Browser, servers: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Airflow]:
    """Healthy services beside weeks of campaigns, and what a team has.

    The browser comes first, because without one there is nothing to start.
    """
    with machine_in(tmp_path_factory.mktemp("browser"), servers) as machine:
        with weekly.installation(machine.here.root) as weeks:
            for campaign in weekly.regression(weeks, rounds=4, threads=[4, 8]):
                found = Comparer(weeks.home, weeks.store).outcome(weeks.store.campaign(campaign))
                weeks.store.set_verdicts(campaign, verdicts_of(found.comparison))
            team.fill(weeks.home, weeks.store)
        services = Services(machine.here.root)
        port = free_port()
        users = {"simple_auth_manager_users": f"{USER}:admin,{VIEWER}:viewer"}
        with mock.patch.dict(airflow_home.SETTINGS["core"], users):
            services.up(port)
        try:
            passwords = json.loads(services.airflow.password_file.read_text())
            yield Airflow(machine, f"http://127.0.0.1:{port}", passwords)
        finally:
            services.down()


@pytest.fixture
def page(browser: Browser, airflow: Airflow) -> Iterator[Page]:
    """The page of the DAG, logged in with what `make up` prints."""
    with logged_in(browser, airflow) as page:
        yield page


@pytest.fixture(scope="session")
def started(browser: Browser, airflow: Airflow) -> str:
    """The address of the run that a filled-in form has begun; it is measured once for all tests.

    Its tab is open from the beginning, and by itself comes to show how far the campaign is.
    """
    with logged_in(browser, airflow) as page:
        run = fill_in(page, airflow)
        run.open("plugin/campaign")
        tab = shown(page, "Campaign")
        expect(tab.get_by_role("heading", level=1)).to_be_visible()
        expect(tab.get_by_role("progressbar")).to_be_visible(timeout=RUN_LIMIT_MS)
        return run.address


def shown(page: Page, title: str) -> FrameLocator:
    """What Airflow's UI shows of the site."""
    return page.frame_locator(f"iframe[title={title}]")


@contextmanager
def logged_in(browser: Browser, airflow: Airflow) -> Iterator[Page]:
    """A browser of its own on the page of the DAG."""
    with browser.new_context(base_url=airflow.url) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto("/")
        log_in(page, airflow, USER)
        expect(page.get_by_role("link", name="Dags", exact=True).first).to_be_visible()
        # The services are up before their first look at the DAG files has ended.
        page.wait_for_function(
            f"fetch('/api/v2/dags/{DAG}').then(answer => answer.ok)", polling=ASK_AGAIN_S * 1000
        )
        page.goto(f"/dags/{DAG}")
        yield page


def log_in(page: Page, airflow: Airflow, user: str) -> None:
    """Fill in the login that the page shows."""
    page.get_by_role("textbox", name="Username").fill(user)
    page.get_by_role("textbox", name="Password").fill(airflow.passwords[user])
    page.get_by_role("button", name="Sign in").click()


class TriggerForm:
    """The form behind the DAG's button `Trigger`: its fields by what a reader sees."""

    def __init__(self, page: Page) -> None:
        self._page = page
        page.get_by_role("button", name="Trigger Dag").click()
        self.dialog = page.get_by_role("dialog")
        expect(self.field("Rounds")).to_be_visible()

    def open(self, section: str) -> None:
        """Unfold a section, which folds the one that was open."""
        self.dialog.get_by_role("button", name=section, exact=True).click()

    def field(self, title: str) -> Locator:
        """The input of a text or number."""
        return self.row(title).locator("input:not([type=hidden]), textarea").last

    def row(self, title: str) -> Locator:
        """A field with its title and description."""
        label = self._page.get_by_text(re.compile(rf"^{re.escape(title)}\s*\*?$"))
        return self.dialog.get_by_role("group").filter(has=label)

    def tick(self, title: str) -> None:
        """Turn a switch over."""
        self.row(title).locator("label[data-part=root]").click()

    def choose(self, title: str, option: str) -> None:
        """Take an option of a drop-down."""
        self.dialog.get_by_role("combobox", name=title).click()
        self._page.get_by_role("option", name=option, exact=True).click()

    def remove(self, option: str) -> None:
        """De-select one of several."""
        self.dialog.get_by_label(f"Remove {option}", exact=True).get_by_role("button").click()

    def trigger(self) -> None:
        """Press the button."""
        self.dialog.get_by_role("button", name="Trigger", exact=True).click()


class RunPage:
    """The pages of a run; without its address of the one to which the form has just gone."""

    def __init__(self, page: Page, address: str = "") -> None:
        self._page = page
        if not address:
            page.wait_for_url(f"**/dags/{DAG}/runs/**")
        self.address = address or page.url

    def end(self) -> str:
        """The state of the run, once it has ended: `Success` or `Failed`."""
        self.open("details")
        is_state = self._page.get_by_role("cell", name="State", exact=True)
        state = self._page.get_by_role("row").filter(has=is_state)
        expect(state).to_contain_text(re.compile("Success|Failed"), timeout=RUN_LIMIT_MS)
        return state.inner_text().split()[-1]

    def ends_green(self, machine: Machine) -> None:
        """Wait for its end; what went wrong in it is in the message, for nothing else keeps it."""
        assert self.end() == "Success", story(machine)

    def open(self, below: str) -> None:
        """A page below the run's, such as `tasks/plan`."""
        self._page.goto(f"{self.address}/{below}")


def story(machine: Machine) -> str:
    """Why trials of the campaign are invalid, and the end of each log that tells an error."""
    _, trials = machine.outcome(CAMPAIGN)
    told = [f"{t.trial.id}, attempt {t.attempt}: {t.reasons}" for t in trials if not t.valid]
    for path in (machine.here.root / "airflow").rglob("attempt=*.log"):
        log = path.read_text()
        if '"level":"error"' in log:
            told.append(f"{path.parent.name}: {log[-3000:]}")
    return "\n".join(told)


def fill_in(page: Page, airflow: Airflow) -> RunPage:
    """Other workloads, threads and rounds than the report type's, equal sides of which one is
    slowed down.
    """
    form = TriggerForm(page)
    form.choose("Engine", "mariadb")
    for workload in ("oltp_point_select", "oltp_read_write", "oltp_update_non_index"):
        form.remove(workload)
    form.field("Client threads").fill("1\n3\n")
    form.field("Rounds").fill("1")
    form.field("Seconds per trial").fill("2")
    form.open("Dataset")
    form.field("Tables").fill("1")
    form.field("Rows a table").fill("1000")
    form.open("Method")
    form.field("Warm-up seconds").fill("0")
    form.field("Slow the candidate down (%)").fill("50")
    form.tick("A/A campaign")
    form.open("Campaign and other fields")
    form.field("Campaign id").fill(CAMPAIGN)
    ports = airflow.machine.ports.items()
    form.field("Other fields").fill("\n".join(f"ports.{name}={port}" for name, port in ports))
    form.trigger()
    return RunPage(page)
