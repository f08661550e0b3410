"""Data docs: what a row and a column are; and that a report does not depend on them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.analysis.gates import data_docs
from benchlab.analysis.gates.data_docs import (
    DataDocsError,
    GateOutcome,
    Validation,
    expectations,
    tables,
)
from benchlab.analysis.gates.gates import Gate
from benchlab.campaign import stages
from benchlab.campaign.stages import CampaignRun
from benchlab.home import Home
from benchlab.results.records import GateResult
from benchlab.results.store import Store
from tests.builders import campaigns, fakes, plans

PROJECT = Path(__file__).parents[3]
PLAN = plans.plan(rounds=1)


def gate(**fields: Any) -> Gate:
    """A gate of validity of a trial."""
    return Gate(**{"id": "g", "sentence": "s", "column": "c", "kind": "validity", **fields})


def test_a_trial_has_a_row_for_each_attempt_with_what_was_found_then() -> None:
    """A value that was no number is infinite, and one that nobody evaluated is none."""
    first, *_ = PLAN.trials
    bad = GateResult("a", "fail", None, "s")
    idle = GateResult("b", "not evaluated", None, "s")
    results = [
        campaigns.trial_result(first, attempt=2, gates=[campaigns.gate("a"), idle]),
        campaigns.trial_result(first, attempt=1, gates=[bad, idle]),
    ]
    (suite,) = tables.suites_of_trials(results, {(first.id, 2)})
    assert [(row["attempt"], row["used"]) for row in suite.rows] == [(1, False), (2, True)]
    a, b = suite.checks
    assert (a.values, a.stored) == ((math.inf, 1.0), ("fail", "pass"))
    assert not b.evaluated
    (page,) = expectations.evaluate([suite])
    assert [judged.failed for judged in page.gates] == [(0,), ()]


def test_gates_are_apart_by_table_and_kind() -> None:
    """And there is no suite without a gate."""
    symptom = GateResult("b", "pass", 0.0, "s", "symptom")
    results = [campaigns.trial_result(t, gates=[campaigns.gate("a"), symptom]) for t in PLAN.trials]
    suites = tables.suites_of_trials(results, set())
    assert [(suite.kind, [check.gate for check in suite.checks]) for suite in suites] == [
        ("validity", ["a"]),
        ("symptom", ["b"]),
    ]
    assert tables.suites_of_cells([]) == []
    assert tables.suites_of_campaign([gate(max=1)], []) == []


def test_whatever_fails_in_the_data_docs_names_the_stage() -> None:
    """A caller has one error to survive, and the error says what failed."""
    with pytest.raises(DataDocsError, match=r"validate: .* by zero"), data_docs.guarded():
        raise ZeroDivisionError("by zero")


# ---------------------------------------------------------------- in a campaign


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store(f"sqlite:///{tmp_path / 'results.db'}", UPath(tmp_path / "objects")) as found:
        yield found


@pytest.fixture
def work(store: Store, tmp_path: Path) -> CampaignRun:
    """A campaign that has been measured."""
    record = campaigns.campaign(plans.spec(rounds=2))
    store.add_campaign(record)
    for result in campaigns.results_of(record.plan, lambda _: 100.0):
        store.add_trial(record.id, result)
    return CampaignRun.open(Home(PROJECT, tmp_path), store, record.id)


def found(**files: str) -> Validation:
    """What Great Expectations might have found."""
    outcome = GateOutcome("summary", "trials", "validity", "s", 15, 1, 0)
    return Validation(
        {f"{name}.html": text.encode() for name, text in files.items()},
        (outcome, dataclasses.replace(outcome, gate="clock", passed=0, failed=0, not_evaluated=16)),
        ("tpcc, tpmc: gate headroom: too busy",),
    )


def notes(work: CampaignRun) -> list[tuple[str, str, str]]:
    """What the progress says."""
    return [(step.stage, step.phase, step.note) for step in work.progress.read()[0]]


def test_the_report_has_the_data_docs_of_the_last_validation(
    work: CampaignRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under `quality/`; what failed is noted; another validation replaces all pages."""
    report = work.home.reports / "c1"
    assert not [path for path in work.publish() if "quality" in path.parts]
    for names in (("index", "old"), ("index", "new")):
        docs = found(**dict.fromkeys(names, "page"))
        monkeypatch.setattr(data_docs, "build", lambda *_, docs=docs: docs)
        assert work.validate() is docs
        paths = work.publish()
        assert report / "quality" / f"{names[1]}.html" in paths
    assert report / "quality" / "old.html" not in paths
    assert ("validate", "warning", "tpcc, tpmc: gate headroom: too busy") in notes(work)
    line = "2 gates: 1 failed at least once, 1 could not be evaluated, 0 passed"
    assert ("validate", "evaluated", line) in notes(work)


def test_without_data_docs_the_report_is_published_and_says_why_there_are_none(
    work: CampaignRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Great Expectations is not asked, and pages of an earlier time go."""
    monkeypatch.setattr(data_docs, "build", lambda *_: found(index="page"))
    work.validate()
    monkeypatch.setattr(data_docs, "build", None)
    monkeypatch.setenv("BENCHLAB_DATA_DOCS", "no")
    assert work.validate().outcomes == ()
    assert notes(work)[-1][:2] == ("validate", "left out")
    assert "BENCHLAB_DATA_DOCS" in notes(work)[-1][2]
    assert not [path for path in work.publish() if "quality" in path.parts]


def test_a_failure_of_the_data_docs_costs_the_data_docs_only(
    work: CampaignRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stage fails and says so; the report is published, without pages of an earlier time."""
    monkeypatch.setattr(data_docs, "build", lambda *_: found(index="page"))
    work.validate()
    work.publish()

    def fail(*_: Any) -> Validation:
        raise MemoryError("no room for a table")

    monkeypatch.setattr(data_docs, "build", fail)
    with pytest.raises(DataDocsError, match=r"validate: .* no room for a table"):
        work.validate()
    stage, phase, note = notes(work)[-1]
    assert (stage, phase) == ("failed", "validate")
    assert "no room for a table" in note
    paths = work.publish()
    assert work.home.reports / "c1" / "report.md" in paths
    assert not (work.home.reports / "c1" / "quality").exists()


def test_a_campaign_in_one_process_ends_with_its_report_nevertheless(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The data docs are made before the report is published, even if they fail."""
    done: list[str] = []

    class Trials:
        def measure_all(self) -> None:
            done.append("measure")

    class Work:
        target = fakes.FakeDeployment(PLAN, fakes.FakeExecutor())
        sequence = Trials()

        def __getattr__(self, stage: str) -> Any:
            return lambda *_, **__: done.append(stage)

        def validate(self) -> None:
            done.append("validate")
            raise DataDocsError("validate: no data docs")

        def publish(self) -> list[Path]:
            done.append("publish")
            return [Path("report.md")]

    assert stages.run(Work()) == [Path("report.md")]  # type: ignore[arg-type]
    assert done[-4:] == ["check_after_trials", "validate", "publish", "give_back"]


def test_what_is_stored_of_an_old_campaign_can_be_judged() -> None:
    """Results without a class are from gates of validity."""
    old = GateResult("summary", "pass", 1.0, "the client printed its summary")
    trial = campaigns.trial_result(PLAN.trials[0], gates=[old])
    (suite,) = tables.suites_of_trials([trial], set())
    assert (suite.kind, suite.checks[0].values) == ("validity", (1.0,))
