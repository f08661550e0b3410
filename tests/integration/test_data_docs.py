"""Data docs by the real Great Expectations: what it finds over a whole campaign, and where."""

from __future__ import annotations

import logging
import math
import re
import socket
import tempfile
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.analysis.gates import data_docs
from benchlab.analysis.gates import gates as quality
from benchlab.analysis.gates.data_docs import DataDocsError, Validation
from benchlab.analysis.gates.data_docs.tables import CampaignRow, CellRow
from benchlab.analysis.gates.gates import Gate
from benchlab.campaign.stages import CampaignRun
from benchlab.home import Home
from benchlab.results.records import TrialResult
from benchlab.results.store import Store
from tests.builders import campaigns, plans

PROJECT = Path(__file__).parents[2]
PLAN = plans.plan(rounds=2)


def gate(name: str, **fields: Any) -> Gate:
    """A gate of the whole campaign whose column has its name."""
    told = {"id": name, "sentence": f"{name} is <fine> & costs $5", "column": name}
    return Gate(**{**told, "kind": "symptom", "table": "workloads", "then": "unstable", **fields})


GATES = (
    gate("low", max=1),
    gate("between", min=-1, max=1, then="not equivalent"),
    gate("nowhere", max=1),
    gate("mean", min=0.01, table="calibration", then="note"),
)
BUSY = Gate(id="busy", sentence="busy is <fine> & costs $5", column="c", kind="validity", max=1)
DIP = Gate(id="dip", sentence="no dip", column="c", kind="symptom", table="cells", max=5)
# By workload, what was found of it.
SEEN: dict[str, dict[str, float | None]] = {
    "oltp_point_select": {"low": 2.5, "between": 0.0},
    "oltp_update_index": {"low": 1.0 + 1e-12, "between": None},
    "oltp_insert": {"low": 1.0, "between": -7.0},
}


def trials() -> list[TrialResult]:
    """All planned trials; in the second one the gate of validity found no number."""
    odd: dict[int, float | None] = {1: math.nan, 2: 9.0, 3: None}
    return [
        campaigns.trial_result(trial, gates=[BUSY.evaluate({"c": odd.get(number, 0.5)})])
        for number, trial in enumerate(PLAN.trials)
    ]


CELLS: list[CellRow] = [
    ("oltp_point_select", threads, "baseline", (DIP.evaluate({"c": value}),))
    for threads, value in ((4, None), (8, 7.5), (16, 0.0))
]
CAMPAIGN: list[CampaignRow] = [
    *(("workloads", name, "tps", quality.evaluate(GATES[:3], seen)) for name, seen in SEEN.items()),
    ("calibration", "oltp_insert", "p95", quality.evaluate(GATES[3:], {"mean": 0.5})),
]


def build(found: list[TrialResult], campaign: list[CampaignRow] = CAMPAIGN) -> Validation:
    """The data docs of these trials, of which all are used."""
    used = {(result.trial.id, result.attempt) for result in found}
    return data_docs.build(GATES, found, used, CELLS, campaign, "c1 <of> 5 & 6")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Validation:
    """Built once, in an empty directory and home, which stay empty; and without a connection."""
    nowhere = tmp_path_factory.mktemp("nowhere")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(nowhere)
        patched.setenv("HOME", str(nowhere))
        patched.setattr(tempfile, "tempdir", str(nowhere))
        patched.setattr(socket.socket, "connect", lambda *_: pytest.fail("a connection was made"))
        made = build(trials())
    assert list(nowhere.iterdir()) == []
    return made


def text(built: Validation, page: str) -> str:
    """A page without its tags, each run of spaces as one."""
    plain = re.sub(r"<style>.*?</style>|<[^>]*>", " ", built.files[page].decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", plain)


def test_it_finds_what_the_predicates_found(built: Validation) -> None:
    """Over the campaign; and of trials and cells the pages show what was found of them."""
    outcomes = {
        outcome.gate: (outcome.passed, outcome.failed, outcome.not_evaluated)
        for outcome in built.outcomes
    }
    for definition in GATES:
        results = [r for *_, row in CAMPAIGN for r in row if r.gate == definition.id]
        found = [result.status for result in results]
        counts = tuple(found.count(status) for status in ("pass", "fail", "not evaluated"))
        assert outcomes[definition.id] == counts, definition.id
    assert outcomes["low"] == (1, 2, 0)
    assert outcomes["busy"] == (len(PLAN.trials) - 3, 2, 1)
    assert outcomes["dip"] == (1, 1, 1)


def test_what_failed_over_the_campaign_is_told_with_what_follows(built: Validation) -> None:
    """Workload, gate, what was found, what is allowed; on its page in Great Expectations' words."""
    assert [sentence.partition(":")[0] for sentence in built.warnings] == [
        "oltp_point_select, tps",
        "oltp_update_index, tps",
        "oltp_insert, tps",
    ]
    assert (
        "low failed: found 2.5, allowed at most 1 (low is <fine> & costs $5); unstable"
        in built.warnings[0]
    )
    assert (
        "found -7, allowed -1 to 1 (between is <fine> & costs $5); not equivalent"
        in built.warnings[2]
    )
    page = text(built, "workloads-symptom.html")
    assert "the verdict is unstable" in page
    assert "values must be less than or equal to 1" in page
    assert "oltp_point_select tps 2.5 " in page


def test_the_pages_say_which_trial_failed(built: Validation) -> None:
    """By its id, with what was found; a NaN as no number; of a cell workload, threads and side."""
    page = text(built, "trials-validity.html")
    for number, value in ((1, "no finite number"), (2, "9")):
        trial = PLAN.trials[number]
        row = f"{trial.id} 1 {trial.workload} {trial.threads} {trial.side} 1 yes {value} "
        assert row in page
    assert PLAN.trials[0].id not in page, "it failed nowhere"
    assert "oltp_point_select 8 baseline 7.5 " in text(built, "cells-symptom.html")


def test_a_gate_that_was_evaluated_nowhere_is_no_success(built: Validation) -> None:
    """It is listed, by itself, and nothing calls it passed."""
    page = text(built, "workloads-symptom.html")
    assert "nowhere – not evaluated Would pass when nowhere is" in page[page.index("That is no") :]
    assert "nowhere ✓ passed" not in page


def test_the_pages_stand_alone(built: Validation) -> None:
    """No script, nothing from elsewhere, every link to another page of it; texts are escaped."""
    assert next(iter(built.files)) == "index.html"
    for name, content in built.files.items():
        page = content.decode()
        assert "<script" not in page
        assert "//" not in page, f"{name} refers to something elsewhere"
        assert str(PROJECT) not in page
        for link in re.findall(r'(?:href|src)="([^"]*)"', page):
            target, _, anchor = link.partition("#")
            assert target in built.files, link
            assert not anchor or f'id="{anchor}"' in built.files[target].decode(), link
        ids = re.findall(r'\bid="([^"]*)"', page)
        assert len(ids) == len(set(ids))
        assert "c1 &lt;of&gt; 5 &amp; 6" in page
    assert "busy is &lt;fine&gt; &amp; costs $5" in built.files["index.html"].decode()


def test_the_same_results_give_the_same_pages(built: Validation) -> None:
    """Nothing in them is of the moment at which they were made."""
    assert build(trials()).files == built.files


def test_a_campaign_without_any_trial_has_data_docs() -> None:
    """Great Expectations has nothing to evaluate then, and the pages are there."""
    found = build([], [])
    assert {outcome.table for outcome in found.outcomes} == {"cells"}
    assert found.warnings == ()


def test_a_failure_of_great_expectations_names_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is; an expectation that could not be evaluated is a failure as well."""
    import pandas as pd

    monkeypatch.setattr(pd.Series, "__ge__", lambda *_: 1 / 0)
    monkeypatch.setattr(pd.Series, "__le__", lambda *_: 1 / 0)
    with pytest.raises(DataDocsError, match=r"^validate: no data docs: .*gate low: .*by zero"):
        build(trials())


def test_a_stored_campaign_is_validated_with_its_own_gates(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Those of `configs/quality` that are for its metric, over the whole campaign."""
    definitions = quality.load_all(PROJECT / "configs" / "quality")
    of_trials = quality.of_table(quality.of_campaign(definitions, "tps", fleet=False), "trials")
    fine = {g.column: g.max if g.min is None else g.min for g in of_trials}
    results = quality.evaluate(of_trials, fine)
    with Store(f"sqlite:///{tmp_path / 'results.db'}", UPath(tmp_path / "objects")) as store:
        record = campaigns.campaign(plan_=PLAN, rounds=2)
        store.add_campaign(record)
        for trial in PLAN.trials:
            store.add_trial(record.id, campaigns.trial_result(trial, gates=results))
        work = CampaignRun.open(Home(PROJECT, tmp_path), store, record.id)
        with caplog.at_level(logging.WARNING):
            found = work.validate()
        paths = work.publish()
    assert [sentence for sentence in found.warnings if "gate headroom" not in sentence] == []
    assert caplog.messages == []
    outcomes = {(outcome.table, outcome.gate): outcome for outcome in found.outcomes}
    assert outcomes["trials", "summary"].passed == len(PLAN.trials)
    assert outcomes["workloads", "planned_once"].passed == len(PLAN.workloads_in_order)
    assert outcomes["workloads", "headroom"].failed == len(PLAN.workloads_in_order), "90 %"
    assert any(table == "cells" for table, _ in outcomes)
    for name in found.files:
        assert work.home.reports / "c1" / "quality" / name in paths
