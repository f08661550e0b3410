"""A campaign from the trigger form of Airflow's UI: what is filled in is what is measured."""

from __future__ import annotations

import re
import urllib.error
import urllib.request

import pytest
from playwright.sync_api import Page, expect

from benchlab.plan.report_type import SIDES
from tests.browser.conftest import CAMPAIGN, DAG, Airflow, RunPage, TriggerForm


def test_what_is_filled_in_is_what_is_measured(page: Page, airflow: Airflow, started: str) -> None:
    """The run is green and its trials, named on its page, are those of the form and no others."""
    run = RunPage(page, started)
    run.ends_green(airflow.machine)
    campaign, trials = airflow.machine.outcome(CAMPAIGN)
    run.open("")
    expect(page.get_by_text(re.compile("trials valid"))).to_be_visible()  # the run's note
    page.get_by_role("button", name="Edit note").click()
    note = page.get_by_role("dialog")
    expect(note.get_by_role("row").filter(has_text="Update Index")).to_have_count(2)
    link = note.get_by_role("link", name="The campaign's page")
    assert link.evaluate("link => decodeURIComponent(link.href)") == f"{started}/plugin/campaign"
    run.open("tasks/trials/mapped")
    names = page.get_by_role("link", name=re.compile("^round "))
    expect(names).to_have_count(4)
    assert set(names.all_inner_texts()) == {
        f"round 1 · {side} · update_index · {threads} threads · {campaign.plan.sides[side].version}"
        for side in SIDES
        for threads in (1, 3)
    }

    assert campaign.state == "complete"
    assert (campaign.report_type.sides, campaign.plan.slowdown_pct) == ("same", 50)
    used = {"workloads", "threads", "rounds", "seconds", "warmup_seconds", "dataset", "ports"}
    assert campaign.report_type.model_dump(mode="json", include=used) == {
        "workloads": ["oltp_update_index"],
        "threads": [1, 3],
        "rounds": 1,
        "seconds": 2,
        "warmup_seconds": 0,
        "dataset": {"tables": 1, "table_size": 1000},
        "ports": airflow.machine.ports,
    }
    assert {(r.trial.round, r.trial.side, r.trial.workload, r.trial.threads) for r in trials} == {
        (1, side, "oltp_update_index", threads)
        for side in ("baseline", "candidate")
        for threads in (1, 3)
    }


def test_the_form_refuses_what_cannot_be_measured(page: Page) -> None:
    """Every field is named at once, as it was filled in, and no run begins."""
    form = TriggerForm(page)
    suggested = form.row("Candidate version").locator("datalist option")
    expect(suggested.and_(page.locator("[value='11.4.5']"))).to_be_attached()
    form.field("Candidate version").fill("banana")
    form.field("Client threads").fill("abc\n4")
    form.field("Rounds").fill("0")
    form.field("Seconds per trial").fill("-5")
    form.trigger()
    for said in (
        "Candidate version (candidate): 'banana' is not a version",
        "Client threads (threads): found 'abc'; allowed: a whole number from 1 to 10,000",
        "Rounds (rounds): found 0; allowed: a whole number from 1 to 1,000",
        "Seconds per trial (seconds): found -5",
    ):
        expect(form.dialog).to_contain_text(said)
    expect(page).to_have_url(re.compile(f"/dags/{DAG}$"))


def test_who_is_not_logged_in_does_not_learn_what_the_form_takes(airflow: Airflow) -> None:
    """Airflow answers first, whatever the form holds."""
    asked = urllib.request.Request(
        f"{airflow.url}/api/v2/dags/{DAG}/dagRuns",
        data=b'{"logical_date": null, "conf": {"rounds": 0}}',
        headers={"Content-Type": "application/json"},
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked)
    assert refused.value.code == 401
    assert b"Rounds" not in refused.value.read()


def test_what_only_the_plan_can_see_ends_the_run_and_names_the_field(page: Page) -> None:
    """A series without a release: the run is red before anything is taken, and its log says why."""
    form = TriggerForm(page)
    form.choose("Engine", "mariadb")
    form.field("Candidate version").fill("newest 9.9")
    form.trigger()
    run = RunPage(page)
    assert run.end() == "Failed"
    run.open("tasks/plan")
    expect(
        page.get_by_text(re.compile(r"Candidate version \(.*version\): newest 9.9 on ")).first
    ).to_be_visible()
