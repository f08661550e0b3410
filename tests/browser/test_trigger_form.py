"""A campaign from the trigger form of Airflow's UI: what is filled in is what is measured."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import CAMPAIGN, DAG, Airflow, RunPage, TriggerForm


def test_what_is_filled_in_is_what_is_measured(page: Page, airflow: Airflow, started: str) -> None:
    """The run is green and its trials, named on its page, are those of the form and no others."""
    run = RunPage(page, started)
    assert run.end() == "Success"
    run.open("tasks/trials/mapped")
    names = page.get_by_role("link", name=re.compile("^round "))
    expect(names).to_have_count(4)
    assert set(names.all_inner_texts()) == {
        f"round 1 · {side} · update_index · {threads} threads"
        for side in ("baseline", "candidate")
        for threads in (1, 3)
    }

    campaign, trials = airflow.machine.outcome(CAMPAIGN)
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
    """No rounds: put right to one. No threads: refused, naming the field, and no run begins."""
    form = TriggerForm(page)
    form.field("Rounds").fill("0")
    form.field("Client threads").fill("0\n4")
    expect(form.field("Rounds")).to_have_value("1")
    form.trigger()
    expect(form.dialog).to_contain_text("Invalid input for param threads: '0'")
    expect(page).to_have_url(re.compile(f"/dags/{DAG}$"))


def test_what_only_the_plan_can_see_ends_the_run_and_names_the_field(page: Page) -> None:
    """A misspelt other field: the run is red before anything is started, and its log says why."""
    form = TriggerForm(page)
    form.open("Campaign and other fields")
    form.field("Other fields").fill("rouns=2")
    form.trigger()
    run = RunPage(page)
    assert run.end() == "Failed"
    run.open("tasks/plan")
    expect(page.get_by_text(re.compile("rouns: unknown key")).first).to_be_visible()
