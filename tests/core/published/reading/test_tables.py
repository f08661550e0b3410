"""Tables of results are read as they are printed, cell by cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchlab.published.page import load as load_page
from benchlab.published.reading import tables as published_tables
from benchlab.published.reading import version_names
from tests.builders.pages_read import improvements, listed, only, printed
from tests.builders.published_page import (
    ALONE,
    CHINESE,
    METRICS,
    PAIRS,
    VERSIONS,
    page,
    read,
    table,
)

GOLDEN = Path(__file__).parents[3] / "golden" / "report"


def test_pairs() -> None:
    """A table with throughput and latency of each version, and improvements with percent signs."""
    found = only(page(("Point Select test", PAIRS)))
    assert (found.shape, found.metric, found.versions) == ("pairs", "qps", ("v5.0", "v5.1"))
    assert printed(found) == {
        "v5.0": {"qps": [(8, "1,000.5"), (16, "1600")], "p95_ms": [(8, "8.10"), (16, "10.2")]},
        "v5.1": {"qps": [(8, "1,100.55"), (16, "1520")], "p95_ms": [(8, "7.30"), (16, "11")]},
    }
    assert improvements(found) == ["10.00", "-5.00"]
    assert [figure.value for figure in found.rows[0].sides["v5.1"].values()] == [
        published_tables.number("1100.55").value,  # type: ignore[union-attr]
        published_tables.number("7.30").value,  # type: ignore[union-attr]
    ]


def test_metrics_then_latencies() -> None:
    """Throughput of both, then latency of both; the percent sign stands in the heading."""
    found = only(page(("Read Write test", METRICS)))
    assert (found.name, found.shape, found.metric) == (
        "oltp_read_write",
        "metrics_then_latencies",
        "tps",
    )
    assert printed(found)["v5.1"] == {
        "tps": [(8, "55"), (16, "76")],
        "p95_ms": [(8, "150"), (16, "210")],
    }
    assert improvements(found) == ["10.00", "-5.00"]


def test_version_column() -> None:
    """A row is a version at a thread count; the baseline is the title's, not the first row's."""
    found = only(page(("Update Index test", VERSIONS)))
    assert (found.shape, found.versions) == ("version_column", ("v5.0", "v5.1"))
    assert printed(found)["v5.0"]["qps"] == [(8, "1000"), (16, "1600")]
    assert improvements(found) == [None, None]


@pytest.mark.parametrize("above", ["#### TiDB v5.1\n\n", "**v5.1**\n\n", "Measured with v5.1:\n\n"])
def test_table_per_version(above: str) -> None:
    """Each version has a table of its own, named by a heading or by what stands right above it."""
    other = ALONE.replace("50", "60")
    text = above + ALONE + "\n\n" + above.replace("v5.1", "v5.0") + other
    found = only(page(("Insert test", text)))
    assert (found.shape, found.versions) == ("table_per_version", ("v5.0", "v5.1"))
    assert printed(found)["v5.1"]["tps"] == [(8, "50"), (16, "80")]
    assert printed(found)["v5.0"]["tps"] == [(8, "60"), (16, "80")]


def test_versions_above_workloads() -> None:
    """A version may have a part of its own, with the workloads below."""
    parts = [
        ("TiDB v5.1", "#### Point Select\n\n" + ALONE),
        ("TiDB v5.0", "#### Point Select\n\n" + ALONE.replace("50", "60")),
    ]
    assert only(page(*parts)).shape == "table_per_version"


def test_single_version() -> None:
    """A page about one version needs no version beside its figures."""
    found = only(page(("Update non-index test", ALONE), versions=["v7.1.3"]))
    assert (found.shape, found.versions) == ("single_version", ("v7.1.3",))
    assert found.name == "oltp_update_non_index"
    assert printed(found)["v7.1.3"]["p95_ms"] == [(8, "160"), (16, "200")]


def test_tpcc() -> None:
    """A page about TPC-C has its figures right below the results."""
    rows = table(
        ["Threads", "v5.0 tpmC", "v5.1 tpmC", "tpmC improvement (%)"], ["50", "9", "9", "0"]
    )
    found = only(page(("", rows), kind="TPC-C"))
    assert (found.name, found.heading, found.metric) == ("tpcc", "Test results", "tpmc")
    assert printed(found) == {"v5.0": {"tpmc": [(50, "9")]}, "v5.1": {"tpmc": [(50, "9")]}}


def test_chart_only() -> None:
    """A workload may have a sentence and a chart alone; then it has neither shape nor rows."""
    text = "TPC-C on v5.1 is **3.5%** better than on v5.0.\n\n![bars](/media/bars.png)"
    found = only(page(("", text), kind="TPC-C"))
    assert (found.shape, found.metric, found.rows) == (None, None, ())
    assert found.charts == ("/media/bars.png",)
    assert [change.pct and change.pct.text for c in found.claims for change in c.changes] == ["3.5"]


def test_chinese() -> None:
    """Chinese headings, of the page and of columns."""
    report = read(page(("点查 性能", CHINESE), language="zh"), "page.md")
    (found,) = report.workloads
    assert (report.language, report.id) == ("zh", "sysbench-v5.1-vs-v5.0-zh")
    assert (found.name, found.shape) == ("oltp_point_select", "pairs")
    assert printed(found)["v5.1"]["p95_ms"] == [(8, "7.30"), (16, "11")]
    assert improvements(found) == ["10.00", "-5.00"]
    assert report.unread == ()


def test_columns_in_any_order() -> None:
    """A column is known by its heading, not by its place."""
    lines = [line.strip("|").split("|") for line in PAIRS.splitlines()]
    turned = "\n".join("|" + "|".join(cells[::-1]) + "|" for cells in lines)
    found, usual = (only(page(("Point Select", table))) for table in (turned, PAIRS))
    assert printed(found) == printed(usual)
    assert improvements(found) == improvements(usual)


@pytest.mark.parametrize("name", ["report", "fleet", "tpcc"])
def test_own_reports(name: str) -> None:
    """Benchlab's own reports are read, too, every cell of their tables.

    Where a report has the tables of a published document, its own lie folded below them, with the
    same figures, and are named as not read.
    """
    page = GOLDEN / f"{name}.md"
    report = load_page(page)[0]
    folded = page.read_text().count("<summary>All figures, with the changes")
    assert [unread.what.partition(" (")[0] for unread in report.unread] == [
        "a further table of results"
    ] * folded
    assert report.workloads
    for workload in report.workloads:
        assert workload.versions == report.versions
        assert workload.metric in ("tps", "qps", "tpmc")
        assert all("p95_ms" in side for row in workload.rows for side in row.sides.values())


def test_label_of_a_side() -> None:
    """A version compared with itself keeps what tells its sides apart."""
    headings = [
        "Threads",
        "1.2.3 (candidate, slowed down by 5% on purpose) TPS",
        "1.2.3 (baseline) TPS",
    ]
    text = page(("Insert", table(headings, ["4", "95", "100"])), title="MariaDB Sysbench 1.2.3 A/A")
    found = only(text)
    assert found.versions == ("1.2.3 (baseline)", "1.2.3 (candidate, slowed down by 5% on purpose)")
    assert printed(found)[found.versions[1]] == {"tps": [(4, "95")]}


def test_label_decides_before_age() -> None:
    """Which side is the baseline says the label, in either language; the older need not be it."""
    for labels in (("2.0 (baseline)", "1.0 (candidate)"), ("2.0 (基线)", "1.0 (候选)")):
        assert version_names.baseline_first(labels[::-1], ()) == labels
    assert version_names.baseline_first(["v5.1", "v5.0"], ["v5.1", "v5.0"]) == ("v5.1", "v5.0")
    assert version_names.baseline_first(["v5.1", "v5.0"], []) == ("v5.0", "v5.1")
    assert version_names.baseline_first(["v5.1", "v4.9"], ["v4.0", "v5.1"]) == ("v4.9", "v5.1")


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("1,234.50", "1,234.50"),
        ("**1234**", "1234"),
        ("１，２３４．５", "1,234.5"),
        ("“99”", "99"),
        (" 7 ", "7"),
    ],
)
def test_numbers(cell: str, text: str) -> None:
    """A figure keeps digits, commas and trailing zeros; width, bold and quotes are not of it."""
    found = only(page(("Insert", table(["Threads", "v5.0 QPS"], ["8", cell]))))
    assert printed(found) == {"v5.0": {"qps": [(8, text)]}}


@pytest.mark.parametrize(
    "cell",
    [
        *("fast", "12,5", "1,2345", "1 234", "1.2e3", "12k", "~40", "150²", "150<sup>1</sup>"),
        *("10%", "1234 (best)", "0x10", "NaN", "inf", "1.2.3", "--5", "10万", "3/4", "9" * 400),
    ],
)
def test_no_number(cell: str) -> None:
    """A cell that is no number is listed with its line, and the rest of its row is read."""
    text = page(("Insert", table(["Threads", "v5.0 QPS", "v5.1 QPS"], ["8", cell, "7"])))
    assert printed(only(text)) == {"v5.1": {"qps": [(8, "7")]}}
    (what,) = listed(text)
    assert f"| 8 | {cell} | 7 |" in what


@pytest.mark.parametrize("cell", ["", "-", "—", "n/a", "N/A", "无"])
def test_missing(cell: str) -> None:
    """A figure that the page does not have is left out, and is nothing to be listed."""
    text = page(("Insert", table(["Threads", "v5.0 QPS", "v5.1 QPS"], ["8", cell, "7"])))
    assert printed(only(text)) == {"v5.1": {"qps": [(8, "7")]}}
    assert listed(text) == []


@pytest.mark.parametrize("minus", ["-", "\u2212", "\u2013", "－"])
def test_minus(minus: str) -> None:
    """Whatever stands for a minus is one."""
    rows = table(
        ["Threads", "v5.0 QPS", "v5.1 QPS", "QPS 提升（％）"], ["8", "10", "9", f"{minus}10.0"]
    )
    assert improvements(only(page(("Insert", rows)))) == ["-10.0"]


def test_improvement_without_percent_sign() -> None:
    """Where neither heading nor cell says percent, it may be a ratio, and is listed."""
    rows = table(["Threads", "v5.0 QPS", "v5.1 QPS", "QPS improvement"], ["8", "10", "11", "1.1"])
    text = page(("Insert", rows))
    assert improvements(only(text)) == [None]
    assert len(listed(text)) == 1


@pytest.mark.parametrize(
    ("cell", "threads"),
    [
        ("150", 150),
        ("64 * 4", 256),
        ("64 \\* 4", 256),
        ("64×4", 256),
        ("1,024", 1024),
        ("６４", 64),
    ],
)
def test_threads(cell: str, threads: int) -> None:
    """Threads may be printed as clients x threads."""
    found = only(page(("Insert", table(["线程数", "v5.0 QPS"], [cell, "7"]))))
    assert [row.threads for row in found.rows] == [threads]


@pytest.mark.parametrize(
    "cell", ["many", "0", "-8", "1.5", "8 - 16", "9" * 5000, "", "999 * 999 * 9"]
)
def test_no_threads(cell: str) -> None:
    """A row without a thread count is listed and has no figures."""
    rows = table(["Threads", "v5.0 QPS"], [cell, "7"], ["8", "9"])
    text = page(("Insert", rows))
    assert printed(only(text)) == {"v5.0": {"qps": [(8, "9")]}}
    assert len(listed(text)) == 1


@pytest.mark.parametrize("row", ["| 8 | 7 |", "| 8 | 7 | 9 | 5 |", "8 | 7"])
def test_ragged_row(row: str) -> None:
    """In a row of another width every figure may be in the wrong column: none is read."""
    text = page(
        ("Insert", table(["Threads", "v5.0 QPS", "v5.1 QPS"], ["4", "1", "2"]) + f"\n{row}")
    )
    assert [row.threads for row in only(text).rows] == [4]
    assert len(listed(text)) == 1


def test_sentence_right_below_a_table() -> None:
    """What has no bar is a sentence, though Markdown takes it for a row."""
    text = page(("Insert", PAIRS + "\nInsert on v5.1 is improved by 2.5%.\n![c](c.png)"))
    found = only(text)
    assert (len(found.rows), len(found.claims), found.charts) == (2, 1, ("c.png",))
    assert listed(text) == []
