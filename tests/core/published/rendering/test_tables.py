"""Tables rendered anew: the page's shape and figures, its improvements computed."""

from __future__ import annotations

from dataclasses import replace

from tests.builders.recorded_page import NEW, OLD, ROWS, markdown, report, rows, side, workload


def test_a_table_of_pairs_keeps_its_columns_and_figures_as_printed() -> None:
    """Version beside version, each with throughput and latency, digit by digit."""
    assert rows(markdown(report()), "Threads") == [
        [
            "Threads", f"{OLD} TPS", f"{OLD} 95% latency (ms)", f"{NEW} TPS",
            f"{NEW} 95% latency (ms)", "TPS improvement",
        ],
        ["50", "9,876.50", "9.1", "10864.2", "8", "10.00%"],
        ["100", "12000", "17", "11,400", "18.50", "-5.00%"],
    ]  # fmt: skip


def test_metrics_stand_before_latencies_where_the_source_has_them_so() -> None:
    """The percent sign stays in the heading."""
    found = rows(markdown(report(workload(shape="metrics_then_latencies"))), "Threads")
    assert found[0][1:3] == [f"{OLD} TPS", f"{NEW} TPS"]
    assert found[0][-1] == "TPS improvement (%)"
    assert found[1] == ["50", "9,876.50", "10864.2", "9.1", "8", "10.00"]


def test_a_version_column_begins_with_the_candidate() -> None:
    """A row is a version at a thread count; the improvement stands with the candidate."""
    found = rows(markdown(report(workload(shape="version_column"))), "Version")
    assert found == [
        ["Version", "Threads", "TPS", "95% latency (ms)", "TPS improvement"],
        [NEW, "50", "10864.2", "8", "10.00%"],
        [NEW, "100", "11,400", "18.50", "-5.00%"],
        [OLD, "50", "9,876.50", "9.1", ""],
        [OLD, "100", "12000", "17", ""],
    ]


def test_each_version_keeps_its_own_table() -> None:
    """Each is under a heading with its version."""
    text = markdown(report(workload(shape="table_per_version")))
    assert rows(text[text.index(f"#### {OLD}") :], "Threads")[:2] == [
        ["Threads", "TPS", "95% latency (ms)"],
        ["50", "9,876.50", "9.1"],
    ]
    assert rows(text[text.index(f"#### {NEW}") :], "Threads")[:2] == [
        ["Threads", "TPS", "95% latency (ms)", "TPS improvement"],
        ["50", "10864.2", "8", "10.00%"],
    ]


def test_a_page_about_one_version_has_no_improvement() -> None:
    """There is nothing to compare, and there is no outcome."""
    text = markdown(report(workload(shape="single_version")))
    assert rows(text, "Threads")[0] == ["Threads", "TPS", "95% latency (ms)"]
    assert "%" not in text.replace("95% latency", "")


def test_a_missing_figure_stays_missing_and_there_is_no_mean() -> None:
    """Neither zero nor left out; the thread count is named."""
    gap = replace(ROWS[1], sides={OLD: side(tps="12000"), NEW: side(p95_ms="18.50")})
    text = markdown(report(workload([ROWS[0], gap])))
    assert rows(text, "Threads")[2] == ["100", "12000", "n/a", "n/a", "18.50", "n/a"]
    assert "no mean over all thread counts, for figures are missing at 100 threads" in text
    assert "2.50%" not in text
