"""Trials whose state changed: their counts are left out, their throughput stays, and it is said."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from benchlab.analysis.gates import gates
from benchlab.analysis.verdict.compare import Comparison, compare
from benchlab.engines.tidb.counts import CHANGES, COUNTS
from benchlab.errors import SpecError
from benchlab.language import load
from benchlab.plan.order import PlannedTrial
from benchlab.report import gate_files
from benchlab.report.formats import pages, terminal
from benchlab.report.model import report as model
from benchlab.report.model.report import Report
from benchlab.report.sentences import answer, opening
from benchlab.results.records import TrialResult
from benchlab.workloads import sysbench
from tests.builders import campaigns

GATES = gate_files.load_all(Path(__file__).parents[3] / "configs" / "quality")
DECIDED = ("kv_prewrite", "tikv_cpu")
MADE = campaigns.campaign(workloads=["oltp_insert"], threads=[4], rounds=6)
# Decided without a rate as well, for these tests.
METRICS = tuple(
    dataclasses.replace(count.metric(), of_load=False) for count in COUNTS if count.name in DECIDED
)
PLAN = dataclasses.replace(MADE.plan, metrics=(*MADE.plan.metrics, *METRICS))
Changes = Callable[[PlannedTrial], dict[str, float]]
"""What changed in a trial, by column."""


def result(trial: PlannedTrial, changed: dict[str, float]) -> TrialResult:
    """A trial that takes 1 prewrite a transaction, 1.5 on the candidate, and hardly noisy CPU."""
    columns = dict.fromkeys((change.name for change in CHANGES), 0.0) | changed
    found = gates.evaluate([gate for gate in GATES if gate.column in columns], columns)
    takes = 1.5 if trial.side == "candidate" else 1.0
    figures = dict(zip(DECIDED, (takes, 200 * takes * (1 + trial.round / 1e3)), strict=True))
    kept = {name: v for name, v in figures.items() if not gates.leaving_out(GATES, found, name)}
    tps = campaigns.known_change({}, 0.001)(trial)
    return campaigns.trial_result(trial, gates=found, tps=tps, **kept)  # type: ignore[arg-type]


def compared(changes: Changes) -> tuple[Comparison, Report]:
    """The campaign in which these changes happened."""
    results = [result(trial, changes(trial)) for trial in PLAN.trials]
    comparison = compare(PLAN, results, 2.0, gates=GATES)
    return comparison, model.build(dataclasses.replace(MADE, plan=PLAN), comparison, results)


def used(comparison: Comparison) -> dict[str, int]:
    """How many rounds each decision of the workload rests on."""
    return {metric.name: one.rounds_used for metric, one in comparison.workloads[0].decided}


def at(number: int, **changed: float) -> Changes:
    """Changes in the candidate's trial of one round."""
    return lambda trial: changed if (trial.round, trial.side) == (number, "candidate") else {}


def test_without_a_change_of_state_nothing_is_left_out() -> None:
    """Six rounds of everything, and no sentence."""
    comparison, report = compared(lambda _: {})
    assert used(comparison) == {"tps": 6, "p95_ms": 6, "kv_prewrite": 6, "tikv_cpu": 6}
    assert answer.left_out(report) == []
    assert "left out" not in pages.html(report)


@pytest.mark.parametrize(
    ("column", "value", "left", "gate"),
    [
        ("auto_analyses", 1, {"kv_prewrite": 5, "tikv_cpu": 5}, "auto_analyze"),
        ("region_merges", 3, {"kv_prewrite": 5, "tikv_cpu": 5}, "region_merge"),
        ("swept_versions", 5000, {"kv_prewrite": 6, "tikv_cpu": 5}, "sweep"),
    ],
)
def test_one_marked_trial_costs_its_round_of_the_counts_that_depend_on_it(
    column: str, value: float, left: dict[str, int], gate: str
) -> None:
    """Throughput and latency keep it; the counts are decided on the others, and say so."""
    comparison, report = compared(at(2, **{column: value}))
    assert used(comparison) == {"tps": 6, "p95_ms": 6, **left}
    beside = comparison.workloads[0].beside
    assert beside["kv_prewrite"].verdict == beside["tikv_cpu"].verdict == "regression"
    (said,) = answer.left_out(report)
    assert said.startswith(f"Insert: 1 trial is left out: gate {gate} failed (expected: ")
    for shown in (
        pages.markdown(report).replace("\\", ""),
        pages.html(report),
        " ".join(terminal.render(report, 200, colour=False).split()),
    ):
        assert f"1 trial is left out: gate {gate} failed" in shown
    (symptom,) = report.quality.symptoms
    assert (symptom.gate, symptom.places) == (gate, {"candidate": ("r2-candidate-oltp_insert-t4",)})
    assert report.quality.used == 12


def test_where_every_trial_is_marked_no_count_is_decided_and_the_report_says_why() -> None:
    """A long campaign in which TiDB always analyzes: throughput is decided all the same."""
    comparison, report = compared(lambda _: {"auto_analyses": 1.0})
    workload = comparison.workloads[0]
    assert used(comparison) == {"tps": 6, "p95_ms": 6, "kv_prewrite": 0, "tikv_cpu": 0}
    assert workload.estimate_pct is not None
    for name in DECIDED:
        assert (workload.beside[name].verdict, workload.beside[name].estimate_pct) == (
            "inconclusive",
            None,
        )
        reasons = list(map(str, workload.beside[name].reasons))
        assert any(reason.startswith("12 trials are left out") for reason in reasons)
    assert len(answer.taken(report)) == len(DECIDED)
    assert answer.taken_in_short(report) == "2 inconclusive"
    (said,) = answer.left_out(report)
    assert said.startswith("Insert: 12 trials are left out: gate auto_analyze failed")
    chinese = dataclasses.replace(report, language=load("zh"))
    assert answer.left_out(chinese)[0].startswith("Insert：有 12 次试验不参与比较")


def test_where_only_one_side_is_marked_the_counts_are_unstable() -> None:
    """What a version does by itself in each of its trials cannot be compared; both is said."""
    comparison, _ = compared(
        lambda trial: {"region_merges": 1.0} if trial.side == "candidate" else {}
    )
    found = comparison.workloads[0].beside["kv_prewrite"]
    assert found.verdict == "unstable"
    assert any("gate region_merge failed" in str(reason) for reason in found.reasons)
    assert comparison.workloads[0].verdict != "unstable"


def test_several_changes_are_each_said_once() -> None:
    """Whichever of the counts they concern."""
    both = {1: {"auto_analyses": 1.0}, 2: {"swept_versions": 2e6}}
    _, report = compared(lambda trial: both.get(trial.round, {}))
    (said,) = answer.left_out(report)
    for gate in ("auto_analyze", "sweep"):
        assert said.count(f"2 trials are left out: gate {gate} failed") == 1


def test_counts_that_gates_leave_out_are_decided_somewhere() -> None:
    """A misspelt name would leave nothing out."""
    named = {name for gate in GATES if gate.leaves_out != "all" for name in gate.leaves_out}
    assert named
    assert named <= set(sysbench.COUNTS["tidb"])


@pytest.mark.parametrize(
    "fields", [{"class": "validity"}, {"table": "cells"}, {"table": "workloads", "then": "note"}]
)
def test_only_a_symptom_of_a_trial_leaves_counts_out(fields: dict[str, str]) -> None:
    """An invalid trial has no figures at all, and a cell is none."""
    entry = {"id": "own", "sentence": "s", "column": "c", "class": "symptom", "max": 0, **fields}
    with pytest.raises(SpecError, match="gate own: leaves_out is for symptoms of trials"):
        gates.parse([{**entry, "leaves_out": "all"}], "own.yaml")


def test_a_count_that_depends_on_the_load_is_shown_and_not_decided() -> None:
    """Its change is in the table, where it stands apart from what a verdict rests on."""
    metrics = tuple(dataclasses.replace(one, of_load=True) for one in METRICS)
    plan = dataclasses.replace(MADE.plan, metrics=(*MADE.plan.metrics, *metrics))
    results = [result(trial, {}) for trial in plan.trials]
    comparison = compare(plan, results, 2.0, gates=GATES)
    report = model.build(dataclasses.replace(MADE, plan=plan), comparison, results)
    assert used(comparison) == {"tps": 6, "p95_ms": 6}
    (prewrite, _) = answer.taken(report)
    assert prewrite[2:] == ["1", "1.5", "+50.00%", "", "not decided: it depends on the load"]
    assert "per transaction" not in opening.sentence(report)
