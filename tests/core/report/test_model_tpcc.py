"""The report of a TPC-C campaign: its tables, its client, its dataset's consistency.

The golden file is the agreed page; BENCHLAB_UPDATE_GOLDEN=1 writes it anew.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchlab.analysis.gates import gates as quality
from benchlab.analysis.verdict.compare import Comparison, compare
from benchlab.plan import report_type
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import SIDES
from benchlab.report import bundle, gate_files
from benchlab.report.formats import csv_text, json_text, pages, terminal
from benchlab.report.model import report as model
from benchlab.report.sentences import method, wording
from benchlab.results.records import Campaign, Condition, TrialResult, inconsistencies
from tests.builders import campaigns

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "report"
HOLD = (
    Condition("3.3.2.1", "in every warehouse W_YTD is the sum of its districts' D_YTD", 0),
    Condition("3.3.2.2", "in every district D_NEXT_O_ID - 1 is the largest O_ID", 0),
)
VIOLATED = (dataclasses.replace(HOLD[0], violations=12), HOLD[1])
GATES = quality.of_campaign(
    gate_files.load(ROOT / "configs" / "quality" / "validity.yaml"), "tpmc", fleet=False
)
GOOD_COLUMNS = {
    "summary_present": 1.0,
    "client_exit_code": 0.0,
    "duration_excess_s": 0.0,
    "effective_threads_ratio": 0.98,
    "rate_excess": 0.0,
    "latency_disorder": 0.0,
    "tpcc_efficiency_error": 0.0,
    "tpcc_mix_deviation": 0.4,
    "unexpected_errors": 0.0,
    "inconsistent_dataset": 0.0,
}
Case = tuple[Campaign, Comparison, list[TrialResult]]


def case_of(change: float = 0.0616, **fields: Any) -> Case:
    """A campaign with a known change, its trials scattered by less than a percent."""
    made = campaigns.tpcc_campaign(**fields)
    known, scatter = campaigns.known_change({"tpcc": change}, 0.004, base=6200), random.Random(1)
    gates = quality.evaluate(GATES, GOOD_COLUMNS)

    def result(trial: PlannedTrial) -> TrialResult:
        tpmc = known(trial) / (1 + trial.threads / 250) ** 0.5 * scatter.uniform(0.993, 1.007)
        return dataclasses.replace(campaigns.tpcc_result(trial, tpmc), gates=gates)

    results = [result(trial) for trial in made.plan.trials]
    return made, compare(made.plan, results, 2.0, inconsistencies(made.facts)), results


@cache
def golden_case() -> Case:
    """Both datasets checked twice; a change that four rounds of tpmC can show."""
    checked: Any = {"load": HOLD, "last trial": HOLD}
    return case_of(consistency={"baseline": checked, "candidate": checked})


@cache
def golden_files() -> dict[str, str]:
    """Its report's files of text."""
    made = bundle.make(*golden_case())
    return {name: made[name].decode() for name in made}


def test_the_page_of_a_tpcc_campaign_is_as_agreed() -> None:
    """The golden file is the agreed page, sentence by sentence."""
    page = golden_files()["report.md"]
    if os.environ.get("BENCHLAB_UPDATE_GOLDEN"):
        (GOLDEN / "tpcc.md").write_text(page, encoding="utf-8")
    assert page == (GOLDEN / "tpcc.md").read_text(encoding="utf-8")


def test_the_table_has_the_columns_of_the_published_pages() -> None:
    """Threads, tpmC of each version, and both changes, a row per thread count."""
    made, outcome, _ = golden_case()
    lines = golden_files()["report.md"].splitlines()
    first = lines.index(
        "| Threads | v5.1.1 tpmC | v5.2.0 tpmC | tpmC change | New Order p95 latency change |"
    )
    table = [line.strip("| ").split(" | ") for line in lines[first + 2 : first + 6]]
    assert lines[first + 6] == ""
    for row, cell in zip(table, outcome.workloads[0].cells, strict=True):
        printed = [float(text.replace(",", "").strip("%")) for text in row]
        values = [cell.sides[side].means["tpmc"] for side in SIDES]
        before, after = (cell.sides[side].means["new_order_p95_ms"] for side in SIDES)
        assert before is not None
        assert after is not None
        longer = 100 * (after / before - 1)
        assert printed == pytest.approx(
            [cell.threads, *values, cell.improvement_pct, longer], abs=0.5
        )
        assert float(row[3].strip("%")) == pytest.approx(cell.improvement_pct, abs=0.00501)
    assert [row[0] for row in table] == [str(n) for n in made.report_type.threads]


def test_the_headline_names_both_means_and_the_interval() -> None:
    """Published pages print the arithmetic mean; the verdict rests on the geometric one."""
    report = model.build(*golden_case())
    sentence = wording.outcome(report, report.sections[0])
    assert sentence.startswith("The TPC-C tpmC of v5.2.0 is improved by ")
    assert "(95% interval +" in sentence
    both = wording.outcome_with_mean(report, report.sections[0])
    assert both.startswith(f"{sentence} Arithmetic mean of the per-thread percentages +")
    assert pages.escape(both) in golden_files()["report.md"]


@pytest.mark.parametrize("name", ["report.md", "report.html"])
def test_every_format_says_which_client_it_was_and_what_not_to_compare(name: str) -> None:
    """tpmC of one client and of another are two different measures."""
    page = golden_files()[name]
    assert "These figures were measured with tiup bench v1.12.0." in page
    assert "must not be compared" in page
    assert "New Order p50 latency (ms)" in page
    assert "percentiles are coarse" in page


def test_only_go_tpc_is_called_coarse() -> None:
    """The embedded client keeps a finer histogram, and is named with what runs it."""
    case = case_of(
        environment={
            "client_program": "embedded",
            "client_version": "tpcc.lua 1 on sysbench 1.0.20",
        }
    )
    page = bundle.make(*case)["report.md"].decode()
    assert "These figures were measured with tpcc.lua 1 on sysbench 1.0.20." in page
    assert "coarse" not in page
    assert "sysbench tpcc.lua \\\n    --config-file=$config_file" in page
    assert "| sysbench |" not in page


def test_a_client_that_is_not_recorded_is_missing() -> None:
    """No client is made up for a campaign that says nothing of it."""
    made, outcome, results = golden_case()
    bare = {k: v for k, v in made.environment.items() if not k.startswith("client_")}
    report = model.build(dataclasses.replace(made, environment=bare), outcome, results)
    first, _ = wording.client(report, report.sections[0])
    assert "a client that is not recorded (n/a)" in first


@pytest.mark.parametrize(
    ("baseline", "candidate", "sentences"),
    [
        ({}, {}, ["both sides: after the load and after the last trial they were not checked."]),
        (
            {"load": HOLD},
            {"load": HOLD},
            [
                (
                    "both sides: after the load all 2 that were checked hold (3.3.2.1, 3.3.2.2); "
                    "after the last trial they were not checked."
                )
            ],
        ),
        (
            {"load": HOLD, "last trial": HOLD},
            {"load": HOLD, "last trial": VIOLATED},
            [
                (
                    "the baseline: after the load and after the last trial all 2 that were checked "
                    "hold (3.3.2.1, 3.3.2.2)."
                ),
                (
                    "the candidate: after the load all 2 that were checked hold (3.3.2.1, "
                    "3.3.2.2); after the last trial 1 of the 2 that were checked failed "
                    "(3.3.2.1, in every warehouse W_YTD is the sum of its districts' D_YTD, "
                    "violations: 12)."
                ),
            ],
        ),
    ],
)
def test_what_is_known_of_the_datasets_is_said_once(
    baseline: Any, candidate: Any, sentences: list[str]
) -> None:
    """Which conditions hold, which do not, and which nobody asked."""
    case = case_of(consistency={"baseline": baseline, "candidate": candidate})
    report = model.build(*case)
    assert report.consistency is not None
    start = "TPC-C's consistency conditions (clause 3.3.2) on "
    assert list(report.consistency.sentences) == [start + sentence for sentence in sentences]
    page = bundle.make(*case)["report.md"].decode()
    assert ("4. Check TPC-C's consistency conditions" in page) == bool(baseline)


def test_an_inconsistent_side_is_unstable_and_its_figures_are_shown() -> None:
    """Nothing is concluded, the reason stands beside, and the table is as it would be."""
    candidate: Any = {"load": HOLD, "last trial": VIOLATED}
    case = case_of(consistency={"candidate": candidate})
    report = model.build(*case)
    text = terminal.render(report, 200, colour=False)
    assert "TPC-C: unstable, estimate +" in text
    reason = (
        "on the candidate side after the last trial condition 3.3.2.1 of TPC-C does not hold: in "
        "every warehouse W_YTD is the sum of its districts' D_YTD (12 violations)"
    )
    assert reason in text
    assert f"no conclusion is drawn: {reason}" in wording.outcome(report, report.sections[0])
    golden = terminal.render(model.build(*golden_case()), 200, colour=False)
    row = next(line for line in golden.splitlines() if line.lstrip().startswith("400 "))
    assert row in text


def test_the_machine_s_form_has_tpmc_client_and_conditions() -> None:
    """`compare --json` of TPC-C; what sysbench's cells have is not made up for it."""
    made, outcome, results = golden_case()
    document = json.loads(json.dumps(json_text.to_json(made, outcome, results)))
    workload = document["workloads"][0]
    assert (workload["name"], workload["metric"]) == ("tpcc", "tpmc")
    for cell in workload["cells"]:
        assert set(cell) == {"threads", *SIDES, "improvement_pct"}
        assert set(cell["baseline"]) == {
            *("tpmc", "tpm_total"),
            *(f"new_order_p{n}_ms" for n in (50, 90, 95, 99)),
        }
    assert document["client"] == {"program": "tiup", "version": "tiup bench v1.12.0"}
    assert document["consistency"]["candidate"]["last trial"][0] == {
        "clause": "3.3.2.1",
        "sentence": HOLD[0].sentence,
        "violations": 0,
    }


def test_the_csv_files_have_tpmc_and_its_percentiles() -> None:
    """A row per cell and per trial, unrounded."""
    _, outcome, results = golden_case()
    cells = list(csv.DictReader(io.StringIO(golden_files()["comparison.csv"])))
    for row, cell in zip(cells, outcome.workloads[0].cells, strict=True):
        for side in SIDES:
            for metric, value in cell.sides[side].means.items():
                assert float(row[f"{side}_{metric}"]) == value
    assert "baseline_tps" not in cells[0]
    trials = list(csv.DictReader(io.StringIO(golden_files()["trials.csv"])))
    assert [float(row["tpmc"]) for row in trials] == [result.value("tpmc") for result in results]
    assert "reconnects" not in trials[0], "go-tpc does not count them"


def test_the_trials_csv_has_tpmc_also_where_nothing_was_measured() -> None:
    """The column of what decides is never left out; sysbench's files do not have it."""
    made = golden_case()[0]
    text = csv_text.trials_csv(made.plan, [], compare(made.plan, [], 2.0))
    assert "tpmc" in text.splitlines()[0].split(",")
    sysbench = campaigns.campaign()
    results = campaigns.results_of(sysbench.plan)
    text = csv_text.trials_csv(sysbench.plan, results, compare(sysbench.plan, results, 2.0))
    assert "tpmc" not in text.splitlines()[0].split(",")


def test_the_document_s_client_stands_beside_the_client_and_not_beside_tiup() -> None:
    """Both are TiUP's by name; what deploys the clusters is another version of another thing."""
    pinned = report_type.load(ROOT / "configs" / "published" / "tpcc_v540_vs_v530.yaml")
    assert pinned.published is not None
    report = model.build(
        *case_of(published=pinned.published.model_dump(), environment={"tiup": "1.14.3 tiup"})
    )
    assert report.software["tiup"] == "1.14.3 tiup"
    said = {name: method.tool(report, name, value) for name, value in report.software.items()}
    assert {name: value for name, value in said.items() if "published" in value} == {
        "client": "tiup bench v1.12.0 (the published document: tiup bench of TiUP 1.5.1)"
    }


def test_the_chart_of_tpcc_is_drawn_with_and_without_figures() -> None:
    """Even a campaign that measured nothing has its chart and every format."""
    assert golden_files()["charts/tpcc.svg"].startswith("<?xml")
    made = golden_case()[0]
    lost = [campaigns.tpcc_result(t, None, reasons=["killed"]) for t in made.plan.trials]
    files = bundle.make(made, compare(made.plan, lost, 2.0), lost)
    assert files["charts/tpcc.svg"].decode() != golden_files()["charts/tpcc.svg"]
    assert "| 50 | n/a | n/a | n/a |" in files["report.md"].decode()
    assert files["comparison.csv"].decode().splitlines()[1].startswith("tpcc,50,,,")


def test_a_count_that_the_client_does_not_have_is_not_called_missing() -> None:
    """go-tpc never reconnects; errors it does count."""
    sentences = " ".join(wording.quality(model.build(*golden_case())))
    assert "Reconnects" not in sentences
    assert "Errors ignored by the client: none in 32 trials" in sentences
