"""Data docs: what a row and a column are; and that a report does not depend on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from upath import UPath

from benchlab.analysis.gates import data_docs
from benchlab.analysis.gates.data_docs import DataDocsError, GateOutcome, Validation, tables
from benchlab.analysis.gates.gates import Gate
from benchlab.campaign import stages
from benchlab.campaign.stages import CampaignRun
from benchlab.errors import SpecError
from benchlab.home import Home
from benchlab.results.records import GateResult
from benchlab.results.store import Store
from tests.builders import campaigns, fakes, plans

PROJECT = Path(__file__).parents[3]
PLAN = plans.plan(rounds=1)
BOUNDS = st.none() | st.floats(-100, 100)


def gate(**fields: Any) -> Gate:
    """A gate of validity of a trial."""
    return Gate(**{"id": "g", "sentence": "s", "column": "c", "kind": "validity", **fields})


def inside(value: float, definition: Gate) -> bool:
    """What Great Expectations asks of a value that is no null."""
    above = definition.min is None or value >= definition.min
    return above and (definition.max is None or value <= definition.max)


@given(st.none() | st.floats(), BOUNDS, BOUNDS)
def test_a_column_says_what_the_predicate_said(
    observed: float | None, low: float | None, high: float | None
) -> None:
    """NaN and infinities too, which are not stored; and null where it was not evaluated."""
    if low is None and high is None:
        high = 0.0
    definition = gate(min=low, max=high)
    result = definition.evaluate({"c": observed})
    trial = campaigns.trial_result(PLAN.trials[0], gates=[result])
    (suite,) = tables.suites_of_trials([definition], [trial], set(), [trial.trial.id])
    (value,) = suite.checks[0].values
    assert (value is None) == (result.status == "not evaluated")
    if value is not None:
        assert isinstance(value, float)
        assert inside(value, definition) == (result.status == "pass")


def test_a_trial_has_a_row_for_each_attempt_and_one_where_it_was_never_tried() -> None:
    """What is missing is there as a row, so that a gate can find it."""
    first, second, *_ = PLAN.trials
    results = [campaigns.trial_result(first, attempt=n, gates=[]) for n in (2, 1)]
    planned = [first.id, second.id]
    (suite,) = tables.suites_of_trials([gate(max=1)], results, {(first.id, 2)}, planned)
    assert [(row["trial"], row["attempt"], row["used"]) for row in suite.rows] == [
        (first.id, 1, False),
        (first.id, 2, True),
        (second.id, tables.NO_ATTEMPT, False),
    ]
    assert all(row["planned"] for row in suite.rows)
    assert not suite.checks[0].evaluated


def test_gates_are_apart_by_table_and_kind() -> None:
    """And there is no suite of cells without cells."""
    gates = [
        gate(id="a", max=1),
        gate(id="b", max=1, kind="symptom"),
        gate(id="c", max=1, kind="symptom", table="cells"),
    ]
    results = [campaigns.trial_result(trial) for trial in PLAN.trials]
    suites = tables.suites_of_trials(gates, results, set(), [])
    assert [(suite.kind, [check.gate.id for check in suite.checks]) for suite in suites] == [
        ("validity", ["a", "planned_once"]),
        ("symptom", ["b"]),
    ]
    assert tables.suites_of_cells(gates, []) == []
    (cells,) = tables.suites_of_cells(gates, [("oltp_insert", 8, "candidate", ())])
    assert cells.name_of(0) == "oltp_insert at 8 threads on the candidate side"


def test_a_planned_trial_that_is_used_twice_or_never_fails_in_each_of_its_rows() -> None:
    """`planned_once` is evaluated here only, so that it has nothing to disagree with."""
    first, second, third, *_ = PLAN.trials
    results = [campaigns.trial_result(first), campaigns.trial_result(first, attempt=2)]
    results.append(campaigns.trial_result(second))
    used = {(first.id, 1), (first.id, 2), (second.id, 1)}
    planned = [first.id, second.id, third.id]
    (suite,) = tables.suites_of_trials([], results, used, planned)
    (check,) = suite.checks
    assert check.gate.id == "planned_once"
    assert check.values == (0.0, 0.0, 1.0, 0.0)
    assert check.stored == ("fail", "fail", "pass", "fail")


@pytest.mark.parametrize("name", ["g", "side", "row"])
def test_an_id_that_is_no_name_of_one_column_is_refused(name: str) -> None:
    """Twice in a table, as for two metrics at once, or as what names a row."""
    gates = [gate(max=1), gate(id=name, max=2)]
    with pytest.raises(SpecError, match=f"gate {name}: the id is there twice among the trials"):
        tables.suites_of_trials(gates, [], set(), [])


def test_results_without_a_definition_are_named() -> None:
    """As in an old campaign: they are in no suite, and would be lost without a word."""
    trial = campaigns.trial_result(PLAN.trials[0], gates=[campaigns.gate("gone")])
    (told,) = tables.undefined([gate(max=1)], [trial], [])
    assert told.startswith("gate gone: the trials have results of it")


def test_whatever_fails_in_the_data_docs_names_the_stage() -> None:
    """A caller has one error to survive, and the error says what failed."""
    with pytest.raises(DataDocsError, match=r"validate: .* by zero"), data_docs.guarded():
        raise ZeroDivisionError("by zero")
    with pytest.raises(DataDocsError, match="gate side: the id is there twice"):
        data_docs.build([gate(id="side", max=1)], [], set(), [], [], "c1")


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
        ("gate summary: stored as pass, found failed",),
    )


def notes(work: CampaignRun) -> list[tuple[str, str, str]]:
    """What the progress says."""
    return [(step.stage, step.phase, step.note) for step in work.progress.read()[0]]


def test_the_report_has_the_data_docs_of_the_last_validation(
    work: CampaignRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under `quality/`; what disagrees is noted; another validation replaces all pages."""
    report = work.home.reports / "c1"
    assert not [path for path in work.publish() if "quality" in path.parts]
    for names in (("index", "old"), ("index", "new")):
        docs = found(**dict.fromkeys(names, "page"))
        monkeypatch.setattr(data_docs, "build", lambda *_, docs=docs: docs)
        assert work.validate() is docs
        paths = work.publish()
        assert report / "quality" / f"{names[1]}.html" in paths
    assert report / "quality" / "old.html" not in paths
    assert ("validate", "warning", "gate summary: stored as pass, found failed") in notes(work)
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
            return lambda *_: done.append(stage)

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
    definition = gate(id="summary", min=1)
    (suite,) = tables.suites_of_trials([definition], [trial], set(), [])
    assert (suite.kind, suite.checks[0].values) == ("validity", (1.0,))
