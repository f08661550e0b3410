"""Data docs by the real Great Expectations: it finds what the predicates found, and shows where."""

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
from benchlab.analysis.gates.data_docs.tables import CellRow
from benchlab.analysis.gates.gates import Gate
from benchlab.campaign.stages import CampaignRun
from benchlab.home import Home
from benchlab.results.records import GateResult, TrialResult
from benchlab.results.store import Store
from tests.builders import campaigns, plans

PROJECT = Path(__file__).parents[2]
PLAN = plans.plan(rounds=2)


def gate(name: str, **fields: Any) -> Gate:
    """A gate whose column has its name."""
    told = {"id": name, "sentence": f"{name} is <fine> & costs $5", "column": name}
    return Gate(**{**told, "kind": "validity", **fields})


GATES = (
    gate("low", max=1),
    gate("between", min=-1, max=1),
    gate("high", min=0.5, kind="symptom"),
    gate("nowhere", max=1),
    gate("dip", max=5, kind="symptom", table="cells"),
)
OF_TRIALS = quality.of_table(GATES, "trials")
# What was observed in the trials by their number; in the others all is well.
ODD: dict[int, dict[str, float | None]] = {
    1: {"low": 2.5},
    2: {"low": math.nan, "high": math.nan},
    3: {"low": None, "between": math.inf},
    4: {"low": -math.inf, "high": math.inf},
    5: {"low": 1.0 + 1e-12, "high": 0.1},
    6: {"between": -math.inf},
}
FINE = {"low": 0.3, "between": 0.0, "high": 1.0}


def trials() -> list[TrialResult]:
    """All planned trials but the last."""
    return [
        campaigns.trial_result(
            trial, gates=quality.evaluate(OF_TRIALS, {**FINE, **ODD.get(number, {})})
        )
        for number, trial in enumerate(PLAN.trials[:-1])
    ]


CELLS: list[CellRow] = [
    ("oltp_point_select", threads, "baseline", (GATES[-1].evaluate({"dip": value}),))
    for threads, value in ((4, None), (8, 7.5), (16, 0.0))
]


def build(found: list[TrialResult], gates: tuple[Gate, ...] = GATES) -> Validation:
    """The data docs of these trials, of which all are used."""
    used = {(result.trial.id, result.attempt) for result in found}
    planned = [trial.id for trial in PLAN.trials]
    return data_docs.build(gates, found, used, planned, CELLS, "c1 <of> 5 & 6")


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
    """Passed, failed and not evaluated, NaN and infinities too; a trial never tried is neither."""
    outcomes = {
        outcome.gate: (outcome.passed, outcome.failed, outcome.not_evaluated)
        for outcome in built.outcomes
    }
    stored = [{result.gate: result.status for result in trial.gates} for trial in trials()]
    for definition in OF_TRIALS:
        found = [statuses[definition.id] for statuses in stored]
        counts = [found.count(status) for status in ("pass", "fail", "not evaluated")]
        assert outcomes[definition.id] == (*counts[:2], counts[2] + 1), definition.id
    assert outcomes["low"][1] == 3
    assert outcomes["nowhere"] == (0, 0, len(PLAN.trials))
    assert outcomes["dip"] == (1, 1, 1)
    assert outcomes["planned_once"] == (len(PLAN.trials) - 1, 1, 0)
    assert built.disagreements == ()


def test_the_pages_say_which_trial_failed(built: Validation) -> None:
    """By its id, with what was found; a NaN as no number; of a cell workload, threads and side."""
    page = text(built, "trials-validity.html")
    for number, value in ((1, "2.5"), (2, "no finite number"), (5, "1")):
        trial = PLAN.trials[number]
        row = f"{trial.id} 1 {trial.workload} {trial.threads} {trial.side} 1 yes {value} "
        assert row in page
    assert PLAN.trials[0].id not in page, "it failed nowhere"
    assert "oltp_point_select 8 baseline 7.5 " in text(built, "cells-symptom.html")


def test_every_failed_row_is_there_however_many_there_are(built: Validation) -> None:
    """Great Expectations itself would show the first ten of those with one value."""
    all_bad = quality.evaluate(OF_TRIALS, {**FINE, "low": 9.0})
    found = build([campaigns.trial_result(trial, gates=all_bad) for trial in PLAN.trials])
    page = text(found, "trials-validity.html")
    assert len(PLAN.trials) > 10
    assert all(trial.id in page for trial in PLAN.trials)


def test_a_gate_that_was_evaluated_nowhere_is_no_success(built: Validation) -> None:
    """It is listed, by itself, and nothing calls it passed."""
    page = text(built, "trials-validity.html")
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
    assert "low is &lt;fine&gt; &amp; costs $5" in built.files["index.html"].decode()


def test_the_same_results_give_the_same_pages(built: Validation) -> None:
    """Nothing in them is of the moment at which they were made."""
    assert build(trials()).files == built.files


def test_what_disagrees_is_told(built: Validation) -> None:
    """Bounds that have changed since, a value that was lost, a gate that is gone."""
    found = trials()
    lost = GateResult("between", "pass", None, "s")
    found[0] = campaigns.trial_result(PLAN.trials[0], gates=[lost, campaigns.gate("gone")])
    gates = (gate("low", max=0.2), *GATES[1:])
    told = build(found, gates)
    low, between, gone = (
        next(sentence for sentence in told.disagreements if sentence.startswith(f"gate {name}:"))
        for name in ("low", "between", "gone")
    )
    assert "stored as pass, found failed by Great Expectations (allowed at most 0.2)" in low
    assert f"trial {PLAN.trials[6].id}, attempt 1" in low
    assert "stored as pass, but without a value" in between
    assert PLAN.trials[0].id in between
    assert "does not define it" in gone
    assert len(told.disagreements) == 3
    assert "stored as pass, found failed" in text(told, "index.html")


def test_a_campaign_without_any_trial_has_data_docs(built: Validation) -> None:
    """Every planned trial is there as never tried, and nothing passed."""
    found = build([])
    assert {outcome.passed for outcome in found.outcomes if outcome.table == "trials"} == {0}
    assert found.disagreements == ()


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
    """All of `configs/quality` that are for its metric; of an old one no gate disagrees."""
    definitions = quality.load_all(PROJECT / "configs" / "quality")
    of_trials = quality.of_table(quality.of_campaign(definitions, "tps", fleet=False), "trials")
    fine = {g.column: g.max if g.min is None else g.min for g in of_trials}
    results = [
        result
        for result in quality.evaluate(of_trials, fine)
        if result.kind == "validity"  # as of a release that knew no symptoms
    ]
    with Store(f"sqlite:///{tmp_path / 'results.db'}", UPath(tmp_path / "objects")) as store:
        record = campaigns.campaign(plan_=PLAN, rounds=2)
        store.add_campaign(record)
        for trial in PLAN.trials:
            store.add_trial(record.id, campaigns.trial_result(trial, gates=results))
        work = CampaignRun.open(Home(PROJECT, tmp_path), store, record.id)
        with caplog.at_level(logging.WARNING):
            found = work.validate()
        paths = work.publish()
    assert found.disagreements == ()
    assert caplog.messages == []
    outcomes = {(outcome.table, outcome.gate): outcome for outcome in found.outcomes}
    assert outcomes["trials", "summary"].passed == len(PLAN.trials)
    assert outcomes["trials", "planned_once"].passed == len(PLAN.trials)
    assert outcomes["trials", "errors"].not_evaluated == len(PLAN.trials)
    assert any(table == "cells" for table, _ in outcomes)
    for name in found.files:
        assert work.home.reports / "c1" / "quality" / name in paths
