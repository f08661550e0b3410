"""Where the time of a changed workload went, as reports tell it."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchlab.analysis.verdict.compare import compare
from benchlab.language import load
from benchlab.plan.order import PlannedTrial
from benchlab.report import bundle, charts, gate_files
from benchlab.report.formats import pages
from benchlab.report.model import causes
from benchlab.report.model import report as model
from benchlab.report.model.report import Report
from benchlab.report.sentences import split
from benchlab.results.records import Campaign, GateResult, TrialResult
from tests.builders import campaigns, splits
from tests.builders.splits import BUSY, CLUSTER, CPU, noise

INSERT = "oltp_insert"
MADE = campaigns.campaign(workloads=[INSERT], threads=[4], rounds=6)


def cpu(more: Mapping[str, float | None]) -> Callable[[PlannedTrial], CPU]:
    """What a query takes of a cluster; on the candidate, other figures of these counts."""

    def taken(trial: PlannedTrial) -> CPU:
        own = {**CLUSTER, **more} if trial.side == "candidate" else dict(CLUSTER)
        return {name: value and value * noise(trial) for name, value in own.items()}

    return taken


def busy(candidate: float = BUSY) -> Callable[[PlannedTrial], float]:
    """How many CPUs are busy; on the candidate, so many."""
    return lambda trial: (candidate if trial.side == "candidate" else BUSY) * noise(trial, 0.001)


def reported(
    results: Sequence[TrialResult],
    kept: Mapping[str, bytes],
    made: Campaign = MADE,
    language: str = "en",
) -> Report:
    """The report of a campaign whose counts are kept."""
    comparison = compare(made.plan, results, 2.0)
    found = causes.read(made, comparison, results, splits.reading(kept))
    return model.build(made, comparison, results, language=load(language), causes=found)


def told(report: Report) -> str:
    """The sentence on the one workload that changed."""
    (section,) = report.sections
    found = split.of(report, section)
    assert found is not None
    return split.sentence(report, found)


DEARER = {"tikv_cpu": 400.0, "tikv_cpu_sched": 140.0}


def test_a_dearer_pool_is_named_with_its_size() -> None:
    """60 us more in TiKV's scheduler, and CPUs as busy as before."""
    said = told(reported(*splits.busy_with(MADE.plan, cpu(DEARER), busy())))
    pattern = (
        r"Where the time went: the change of waiting is within the noise \(CPUs busy \S+%, "
        r"-\S+% to \+\S+%\); a query takes 8\.1% more CPU \(\+\S+% to \+\S+%\), most of that in "
        r"TiKV: scheduler \(\+60(\.\d+)? µs\)\."
    )
    assert re.fullmatch(pattern, said), said


def test_waiting_is_told_as_cpus_that_are_less_busy() -> None:
    """20 % less, and CPU per query is as before."""
    said = told(reported(*splits.busy_with(MADE.plan, cpu({}), busy(0.8 * BUSY))))
    assert said.startswith(
        "Where the time went: more waiting, the servers' CPUs were 20.0% less busy (-"
    )
    assert "the change of CPU per query is within the noise (" in said


def test_less_waiting_and_cheaper_queries_are_told_of_an_improvement() -> None:
    """Both directions have words of their own."""
    results, kept = splits.busy_with(MADE.plan, cpu({"tidb_cpu": 320.0}), busy(1.1 * BUSY))
    said = told(reported(results, kept))
    assert "less waiting, the servers' CPUs were 10" in said
    assert "a query takes 10" in said
    assert "less CPU" in said
    assert "most of that in TiDB: all but GC (-80" in said


def test_parts_that_cancel_are_told() -> None:
    """CPU per query hardly changed, but a pool did; throughput fell by waiting."""
    moved = {"tidb_cpu": 320.0, "tikv_cpu": 410.0}
    said = told(reported(*splits.busy_with(MADE.plan, cpu(moved), busy(0.8 * BUSY))))
    assert re.search(r"within the noise \(.*\), except in TiDB: all but GC \(-80", said), said


def test_what_cannot_be_told_is_said_in_one_sentence() -> None:
    """The rounds scatter so much that neither term is outside the noise."""
    wide = {1: 1.5, 2: 0.6, 3: 1.4, 4: 0.7, 5: 1.3, 6: 0.8}

    def taken(trial: PlannedTrial) -> CPU:
        factor = wide[trial.round] if trial.side == "candidate" else 1.0
        return {name: value * factor for name, value in CLUSTER.items()}

    def working(trial: PlannedTrial) -> float:
        return BUSY * (0.93 * wide[trial.round] if trial.side == "candidate" else 1.0)

    results, kept = splits.busy_with(MADE.plan, taken, working)
    said = told(reported(results, kept))
    assert re.fullmatch(
        r"These trials do not show where the time went: the change of waiting is within "
        r"the noise \(.*\); the change of CPU per query is within the noise \(.*\)\.",
        said,
    ), said


@pytest.mark.parametrize("language", ["en", "zh"])
def test_chart_and_table_have_every_part_with_its_figures(language: str) -> None:
    """From one version to the other, in any language; nothing else is drawn."""
    report = reported(*splits.busy_with(MADE.plan, cpu(DEARER), busy()), language=language)
    (section,) = report.sections
    found = split.of(report, section)
    assert found is not None
    rows = split.rows(report, found)
    name = f"charts/{charts.split_stem(section)}.svg"
    drawn = ET.fromstring(charts.files(report)[name])  # noqa: S314
    texts = ["".join(text.itertext()) for text in drawn.findall(".//{*}text")]
    for title, *_, effect in (row for row in rows if row[0] != split.title(report, found.cpu)):
        assert {title, effect} <= set(texts)
    assert "10.2.11" in texts
    assert "10.11.5" in texts
    page, text = pages.html(report), pages.markdown(report)
    for shown in (page, text.replace("\\", "")):
        for row in rows:
            assert row[0] in shown
    assert f"]({name})" in text
    assert 'class="chart waterfall"' in page
    sched = next(row for row in rows if row[1] == "80 µs" and row[2] == "140 µs")
    assert sched[0] in ("TiKV: scheduler", "TiKV：调度器")


def test_the_bars_of_a_waterfall_lead_to_the_candidate() -> None:
    """Each begins where the one before ends; the last spans the whole change."""
    report = reported(*splits.busy_with(MADE.plan, cpu(DEARER), busy(0.9 * BUSY)))
    (section,) = report.sections
    found = split.of(report, section)
    assert found is not None
    _, picture = charts.split(report, found)
    boxes = re.findall(
        r'<rect class="step" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', picture.inline("")
    )
    edges = [(float(x), float(x) + float(width)) for x, width in boxes]
    *steps, whole = edges
    for one, other in itertools.pairwise(steps):
        assert min(abs(a - b) for a in one for b in other) <= 1.0
    assert whole[1] == pytest.approx(max(steps[0]), abs=1.0)


def test_a_split_on_fewer_rounds_says_so() -> None:
    """One trial lost its counts, and its round counts no more."""
    results, kept = splits.busy_with(MADE.plan, cpu(DEARER), busy())
    lost = next(name for name in kept if "r2-candidate" in name)
    del kept[lost]
    report = reported(results, kept)
    (section,) = report.sections
    found = split.of(report, section)
    assert found is not None
    note, unread = split.notes(report, section, found)
    assert unread == "The counts of 1 of 12 trials could not be read, and take no part here."
    assert note == (
        "This rests on 5 of the 6 rounds that the verdict rests on: the other trials have no "
        "counts that can be compared."
    )
    assert note in pages.html(report)


def test_another_change_of_throughput_than_the_verdicts_is_said() -> None:
    """The rounds without counts are those in which the candidate was slower still."""
    results, kept = splits.busy_with(
        MADE.plan,
        cpu({}),
        lambda trial: BUSY * (1 if trial.side == "baseline" else 0.6 if trial.round < 4 else 0.7),
    )
    early = [trial.id for trial in MADE.plan.trials if trial.round < 4]
    report = reported(splits.without(results, early), kept)
    (section,) = report.sections
    found = split.of(report, section)
    assert found is not None
    assert split.notes(report, section, found)[1] == (
        "In these trials, in the part of the run that was counted, throughput changed by -30.00%; "
        "by the verdict it is -35.19%."
    )


def test_trials_whose_counts_a_gate_leaves_out_take_no_part() -> None:
    """TiDB analyzed tables meanwhile, which is CPU of no query."""
    gates = gate_files.load_all(Path(__file__).parents[3] / "configs" / "quality")
    results, kept = splits.busy_with(MADE.plan, cpu(DEARER), busy())
    failed = GateResult("auto_analyze", "fail", 1.0, kind="symptom", most=0.0)
    marked = [
        dataclasses.replace(one, gates=(failed,)) if one.trial.round == 2 else one
        for one in results
    ]
    comparison = compare(MADE.plan, marked, 2.0, gates=gates)
    found = causes.read(MADE, comparison, marked, splits.reading(kept))
    assert causes.to_json(found, INSERT)["split"]["rounds"] == 5


def test_why_there_is_no_split_is_said_once() -> None:
    """Two workloads changed, and no counters were read; what did not change has no split."""
    made = campaigns.campaign(
        workloads=[INSERT, "oltp_update_index", "oltp_point_select"], threads=[4], rounds=6
    )
    change = campaigns.known_change({INSERT: -0.1, "oltp_update_index": 0.2}, 0.001)
    report = reported(campaigns.results_of(made.plan, change), {}, made)
    said = (
        "Insert, Update Index: where the time went is unknown, because there are no counts of "
        "the servers."
    )
    for shown in (pages.html(report).replace("&#39;", "'"), pages.markdown(report)):
        assert shown.count(said) == 1
    assert set(report.causes.splits) == {INSERT, "oltp_update_index"}


def test_the_json_of_a_report_has_the_split() -> None:
    """With every part's effect, interval and microseconds; without counts, the reason."""
    results, kept = splits.busy_with(MADE.plan, cpu(DEARER), busy())
    comparison = compare(MADE.plan, results, 2.0)
    for objects in (kept, {}):
        files = bundle.make(MADE, comparison, results, read_object=splits.reading(objects))
        (workload,) = json.loads(files["report.json"])["workloads"]
        found = workload["split"]
        if not objects:
            assert found == {"lacking": "there are no counts of the servers"}
            continue
        parts = {part["name"]: part for part in found["parts"]}
        sched = parts["tikv_cpu_sched"]
        assert (sched["baseline"], sched["candidate"]) == pytest.approx((80, 140), rel=1e-3)
        low, high = parts["tikv_cpu_sched"]["ci95_pct"]
        assert low < parts["tikv_cpu_sched"]["throughput_pct"] < high < 0
        product = (1 + found["waits"]["throughput_pct"] / 100) * (
            1 + found["cpu"]["throughput_pct"] / 100
        )
        assert product == pytest.approx(1 + found["throughput_pct"] / 100)
        assert f"charts/{INSERT}-split.svg" in files
