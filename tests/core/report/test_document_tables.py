"""Tables of results as a document lays them out, of what a campaign measured."""

from __future__ import annotations

from typing import Any

import pytest

from benchlab.analysis.verdict.compare import Comparison, compare
from benchlab.language import load
from benchlab.report.formats import csv_text, json_text, pages
from benchlab.report.model import document_tables
from benchlab.report.model import report as model
from benchlab.results.records import Campaign, TrialResult
from tests.builders import campaigns
from tests.builders.plans import spec

OLD, NEW = "10.2.11", "10.11.5"
P95 = "95% latency (ms)"
Case = tuple[Campaign, Comparison, list[TrialResult]]


def case(figures: dict[str, Any] | None = None, **fields: Any) -> Case:
    """Two workloads, TPS 10 % higher and, with fewer queries in each transaction, QPS 4.5 %."""
    document = {"document": "A page", "tables": figures} if figures else None
    made = campaigns.campaign(spec(published=document, **{"layout": "published", **fields}))
    results = []
    for trial in made.plan.trials:
        tps, queries = (110.0, 19) if trial.side == "candidate" else (100.0, 20)
        results.append(campaigns.trial_result(trial, tps=tps, qps=queries * tps, p95_ms=2.5))
    return made, compare(made.plan, results, 2.0), results


def first(made: Case) -> list[document_tables.Table]:
    """The tables of the first workload."""
    report = model.build(*made)
    return [*document_tables.tables(report, report.sections[0])]


@pytest.mark.parametrize(
    ("figures", "header", "row"),
    [
        (
            None,
            ["Threads", f"{OLD} QPS", f"{OLD} {P95}", f"{NEW} QPS", f"{NEW} {P95}",
             "QPS improvement"],
            ["4", "2,000.0", "2.50", "2,090.0", "2.50", "4.50%"],
        ),
        (
            {"shape": "metrics_then_latencies", "figures": ["tps", "p95_ms"],
             "improvement": "heading"},
            ["Threads", f"{OLD} TPS", f"{NEW} TPS", f"{OLD} {P95}", f"{NEW} {P95}",
             "TPS improvement (%)"],
            ["4", "100.00", "110.00", "2.50", "2.50", "10.00"],
        ),
        (
            {"figures": ["tps", "qps"]},
            ["Threads", f"{OLD} TPS", f"{OLD} QPS", f"{NEW} TPS", f"{NEW} QPS",
             "TPS improvement", "QPS improvement"],
            ["4", "100.00", "2,000.0", "110.00", "2,090.0", "10.00%", "4.50%"],
        ),
        (
            {"shape": "version_column", "figures": ["qps"], "improvement": "none"},
            ["Version", "Threads", "QPS"],
            [NEW, "4", "2,090.0"],
        ),
        (
            {"shape": "single_version", "figures": ["tps"]},
            ["Threads", f"{OLD} TPS", f"{NEW} TPS", "TPS improvement"],
            ["4", "100.00", "110.00", "10.00%"],
        ),
        (
            {"figures": ["tpmc"]},
            ["Threads", f"{OLD} tpmC", f"{NEW} tpmC", "tpmC improvement"],
            ["4", "n/a", "n/a", "n/a"],
        ),
    ],
)  # fmt: skip
def test_a_table_has_the_columns_of_the_document(
    figures: dict[str, Any] | None, header: list[str], row: list[str]
) -> None:
    """Without a document, the usual ones; each throughput that is shown has its improvement."""
    (table,) = first(case(figures))
    assert list(table.header) == header
    assert list(table.rows[0]) == row


def test_each_version_has_its_table_where_the_document_has_it_so() -> None:
    """Its version is the heading in the page; the candidate's has the improvement."""
    made = case({"shape": "table_per_version", "figures": ["qps"]})
    assert [(one.title, one.header, one.rows[1]) for one in first(made)] == [
        (OLD, ("Threads", "QPS"), ("8", "2,000.0")),
        (NEW, ("Threads", "QPS", "QPS improvement"), ("8", "2,090.0", "4.50%")),
    ]
    assert f"#### {OLD}\n" in pages.markdown(model.build(*made))


def test_one_version_has_no_improvement_and_is_not_named() -> None:
    """As in a document about one version."""
    engines = {"mariadb": {"baseline": {"version": OLD}}}
    fields = {"sides": "single", "engines": engines}
    (table,) = first(case({"shape": "single_version", "figures": ["tps"]}, **fields))
    assert (table.header, table.rows[0]) == (("Threads", "TPS"), ("4", "100.00"))


@pytest.mark.parametrize("code", ["en", "zh"])
def test_a_page_has_the_document_s_tables_first_and_its_own_answer(code: str) -> None:
    """In the document's order of workloads, with its own tables folded and its verdicts kept."""
    order = ["oltp_update_index", "oltp_point_select"]
    made = case({"figures": ["qps", "p95_ms"], "workloads": order})
    report = model.build(*made, language=load(code))
    assert [section.figures.name for section in report.sections] == order
    text = pages.markdown(report)
    headings = [
        line for line in text.splitlines() if line.startswith(("| Threads |", "| 线程数 |"))
    ]
    widths = [line.count("|") - 1 for line in headings]
    assert widths == [6, 9, 6, 9]
    page = pages.html(report)
    own = load(code).say("layout-own")
    for shown, folded in ((text, f"<summary>{own}</summary>"), (page, f"<summary>{own}</summary>")):
        assert shown.count(folded) == len(order)
        assert shown.count("+4.50%") == len(order), "the mean of the QPS improvements"
        assert "10%" in shown or "10.00%" in shown, "the change that was decided on"


def test_without_a_layout_a_report_has_its_own_tables_only() -> None:
    """Whatever document it is of."""
    made = case({"figures": ["qps"], "workloads": ["oltp_update_index"]}, layout="own")
    report = model.build(*made)
    assert first(made) == []
    assert next(section.figures.name for section in report.sections) == "oltp_point_select"
    assert "<details>\n<summary>All figures" not in pages.markdown(report)


def test_tpc_c_has_its_latency_and_no_change_of_queries() -> None:
    """The 95th percentile of its new orders; queries are not counted, so nothing is made up."""
    document = {"document": "A page", "tables": {"figures": ["tpmc", "p95_ms"]}}
    made = campaigns.tpcc_campaign(layout="published", published=document)
    results = [campaigns.tpcc_result(one, 1000.0 * one.threads) for one in made.plan.trials]
    outcome = compare(made.plan, results, 2.0)
    (table,) = first((made, outcome, results))
    latency = outcome.workloads[0].cells[0].sides["baseline"].means["new_order_p95_ms"]
    assert table.rows[0][2] == f"{latency:.2f}"
    assert "qps_improvement_pct" not in csv_text.comparison_csv(outcome)


def test_machines_get_the_change_of_both_throughputs() -> None:
    """In either layout."""
    made, outcome, results = case(layout="own")
    cell = json_text.to_json(made, outcome, results)["workloads"][0]["cells"][0]
    assert cell["improvement_pct"] == pytest.approx(10)
    assert cell["qps_improvement_pct"] == pytest.approx(4.5)
    header, row = csv_text.comparison_csv(outcome).splitlines()[:2]
    found = dict(zip(header.split(","), row.split(","), strict=True))
    assert float(found["qps_improvement_pct"]) == pytest.approx(4.5)
