"""The data docs, opened from a directory on a machine without a network."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from benchlab.analysis.gates import data_docs
from benchlab.analysis.gates import gates as quality
from benchlab.analysis.gates.gates import Gate
from benchlab.report.publish import files
from tests.builders import campaigns, plans


def test_a_reader_finds_the_trial_that_failed(browser: Browser, tmp_path: Path) -> None:
    """From the list of all gates by a click, with nothing asked for but the pages themselves."""
    plan = plans.plan(rounds=1)
    gates = [
        Gate(id=name, sentence=f"{name} is fine", column=name, kind="validity", max=1)
        for name in ("good", "bad")
    ]
    trials = [
        campaigns.trial_result(
            trial, gates=quality.evaluate(gates, {"good": 0.0, "bad": float(trial.index == 3) * 9})
        )
        for trial in plan.trials
    ]
    used = {(result.trial.id, 1) for result in trials}
    docs = data_docs.build(gates, trials, used, [], [], "c1")
    index, *_ = files.write(docs.files, tmp_path / "quality")

    with browser.new_context(offline=True) as context:
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(index.as_uri())
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name="bad"))
        expect(row).to_contain_text("✗ failed")
        row.get_by_role("link", name="bad").click()
        failed = page.get_by_role("row").filter(has_text=plan.trials[3].id)
        expect(failed).to_be_visible()
        expect(failed).to_contain_text("9")
        expect(page.get_by_text(plan.trials[0].id)).to_have_count(0)
        page.get_by_role("link", name="Every gate of c1").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Every gate of c1")
    assert {url.split(":")[0] for url in asked} == {"file"}
    assert {Path(url.split("#")[0]).parent.name for url in asked} == {"quality"}
