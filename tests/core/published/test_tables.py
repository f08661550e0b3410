"""Tables of results are read as they are printed, whole or not at all."""

from __future__ import annotations

import pytest

from benchlab.published import tables as published_tables
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


def test_pairs() -> None:
    """A table with throughput and latency of each version, and improvements with percent signs."""
    found = only(page(("Point Select test", PAIRS)))
    assert (found.metric, found.versions) == ("qps", ("v5.0", "v5.1"))
    assert printed(found) == {
        "v5.0": {"qps": [(8, "1,000.5"), (16, "1600")], "p95_ms": [(8, "8.10"), (16, "10.2")]},
        "v5.1": {"qps": [(8, "1,100.55"), (16, "1520")], "p95_ms": [(8, "7.30"), (16, "11")]},
    }
    assert improvements(found) == ["10.00", "-5.00"]


def test_metrics_then_latencies() -> None:
    """Throughput of both, then latency of both; the percent sign stands in the heading."""
    found = only(page(("Read Write test", METRICS)))
    assert found.metric == "tps"
    assert printed(found)["v5.1"] == {
        "tps": [(8, "55"), (16, "76")],
        "p95_ms": [(8, "150"), (16, "210")],
    }
    assert improvements(found) == ["10.00", "-5.00"]


def test_version_column() -> None:
    """A row is a version at a thread count; the baseline is the older one, not the first row's."""
    found = only(page(("Update Index test", VERSIONS)))
    assert found.versions == ("v5.0", "v5.1")
    assert printed(found)["v5.0"]["qps"] == [(8, "1000"), (16, "1600")]
    assert improvements(found) == [None, None]


@pytest.mark.parametrize("heading", ["5.1 Insert", "Insert", "Insert test"])
@pytest.mark.parametrize("above", ["", "Measured with v5.1, before v5.0:\n\n"])
def test_a_table_of_no_version_is_not_one_of_its_chapter_s_number(heading: str, above: str) -> None:
    """Nor of one that a sentence above it names among others."""
    text = page((heading, above + ALONE))
    assert [what.partition(" @")[0] for what in listed(text)] == ["no-version"]
    assert read(text, "page.md").workloads == ()


def test_single_version() -> None:
    """A page about one version needs no version beside its figures."""
    found = only(page(("Update non-index test", ALONE), versions=["v7.1.3"]))
    assert found.versions == ("v7.1.3",)
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
    """A workload may have a sentence and a chart alone; then it has no rows."""
    text = "The TPC-C performance of v5.1 is **improved by 3.5%**.\n\n![bars](/media/bars.png)"
    found = only(page(("", text), kind="TPC-C"))
    assert (found.metric, found.rows) == (None, ())
    assert [change.pct.text for c in found.claims for change in c.changes] == ["3.5"]


def test_chinese() -> None:
    """Chinese headings, of the page and of columns."""
    report = read(page(("点查 性能", CHINESE), language="zh"), "page.md")
    (found,) = report.workloads
    assert (report.language, report.id) == ("zh", "sysbench-v5.1-vs-v5.0-zh")
    assert found.name == "oltp_point_select"
    assert printed(found)["v5.1"]["p95_ms"] == [(8, "7.30"), (16, "11")]
    assert report.unread == ()


def test_columns_in_any_order() -> None:
    """A column is known by its heading, not by its place."""
    lines = [line.strip("|").split("|") for line in PAIRS.splitlines()]
    turned = "\n".join("|" + "|".join(cells[::-1]) + "|" for cells in lines)
    found, usual = (only(page(("Point Select", text))) for text in (turned, PAIRS))
    assert printed(found) == printed(usual)
    assert improvements(found) == improvements(usual)


def test_a_second_table_of_the_same_figures_is_listed() -> None:
    """The first is read; a further one, of another setting, has a line that names it."""
    again = table(["Threads", "v5.0 QPS", "v5.1 QPS"], ["8", "100", "150"], ["32", "1", "2"])
    text = page(("Insert", f"{PAIRS}\n\nOn six hosts:\n\n{again}"))
    assert [row.threads for row in only(text).rows] == [8, 16]
    assert [what.partition(" @")[0] for what in listed(text)] == ["further"]


@pytest.mark.parametrize(
    ("headings", "why"),
    [
        (["Threads", "v5.0 QPS", "v5.0 QPS"], "twice"),
        (["Threads", "v5.0 QPS", "5.0 QPS"], "twice"),
        (["Threads", "Threads", "v5.1 QPS"], "twice"),
        (["Threads", "v5.0 QPS", "Improvement", "QPS improvement"], "twice"),
        (["Threads", "QPS", "v5.1 QPS"], "some-versions"),
        (["Threads", "Version", "v5.1 QPS"], "some-versions"),
        (["Threads", "v5.0 QPS", "v5.1 QPS", "v5.2 QPS"], "versions"),
        (["Threads", "QPS", "TPS"], "no-version"),
        (["Threads", "v5.0 95% latency (ms)", "v5.1 95% latency (ms)"], "no-throughput"),
        (["Clients", "v5.0 QPS", "v5.1 QPS"], "columns"),
        (["Version", "QPS"], "no-threads"),
        (["v5.0 QPS", "v5.1 QPS"], "no-threads"),
        (["Threads", "v5.0 QPS", "v5.1 QPS", "Mood"], "columns"),
        (["Threads", "v5.0 QPS (K)", "v5.1 QPS (K)"], "columns"),
        (["Threads", "v5.0 (K) QPS", "v5.1 (K) QPS"], "columns"),
        (["线程数", "v5.0 QPS（万）", "v5.1 QPS（万）"], "columns"),
        (["Threads", "v5.0 QPS", "v5.0 95% latency (s)"], "columns"),
        (["Threads", "v5.0 mean QPS", "v5.1 mean QPS"], "columns"),
    ],
)  # fmt: skip
def test_a_table_in_doubt_is_not_read(headings: list[str], why: str) -> None:
    """Nor any column of it; it is listed with its line and the reason."""
    text = page(("Insert", table(headings, ["8"] * len(headings))))
    assert read(text, "page.md").workloads == ()
    assert listed(text) == [f"{why} @ | {' | '.join(headings)} |"]


def test_other_percentiles_are_not_p95() -> None:
    """Of several percentiles, the one of 95 % is taken."""
    names = ["99% latency (ms)", "avg latency (ms)", "p95 (ms)", "99.95% latency (ms)", "p50 (ms)"]
    text = page(("Insert", table(["Threads", "QPS", *names], list("8123456"))), versions=["v7.1"])
    assert printed(only(text)) == {"v7.1": {"qps": [(8, "1")], "p95_ms": [(8, "4")]}}
    assert listed(text) == []


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("1,234.50", "1,234.50"),
        ("**1234**", "1234"),
        ("１，２３４．５", "1,234.5"),
        (" 7 ", "7"),
    ],
)
def test_numbers(cell: str, text: str) -> None:
    """A figure keeps digits, commas and trailing zeros; width and bold are not of it."""
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
    """With a cell that is no number the table is not understood; its line is named."""
    rows = table(["Threads", "v5.0 QPS", "v5.1 QPS"], ["4", "5", "6"], ["8", cell, "7"])
    text = page(("Insert", rows))
    assert read(text, "page.md").workloads == ()
    assert listed(text) == [f"cell @ | 8 | {cell} | 7 |"]


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
    """Where neither heading nor cell says percent, it may be a ratio: not understood."""
    rows = table(["Threads", "v5.0 QPS", "v5.1 QPS", "QPS improvement"], ["8", "10", "11", "1.1"])
    assert [what.partition(" @")[0] for what in listed(page(("Insert", rows)))] == ["cell"]


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
    """Nobody can say of which thread count a row without one is."""
    text = page(("Insert", table(["Threads", "v5.0 QPS"], [cell, "7"], ["8", "9"])))
    assert [what.partition(" @")[0] for what in listed(text)] == ["cell"]


@pytest.mark.parametrize("row", ["| 8 | 7 |", "| 8 | 7 | 9 | 5 |", "8 | 7"])
def test_ragged_row(row: str) -> None:
    """In a row of another width every figure may be in the wrong column."""
    text = page(
        ("Insert", table(["Threads", "v5.0 QPS", "v5.1 QPS"], ["4", "1", "2"]) + f"\n{row}")
    )
    assert listed(text) == [f"row @ {row}"]


@pytest.mark.parametrize("second", ["100", "101"])
def test_same_threads_twice(second: str) -> None:
    """Of two rows for the same thing, neither is taken."""
    rows = table(["Threads", "v5.0 QPS", "v5.1 QPS"], ["8", "100", "7"], ["8", second, "7"])
    assert listed(page(("Insert", rows))) == [f"threads-twice @ | 8 | {second} | 7 |"]


def test_sentence_right_below_a_table() -> None:
    """What has no bar is a sentence, though Markdown takes it for a row."""
    said = "The Insert performance of v5.1 is improved by 2.5%."
    text = page(("Insert", f"{PAIRS}\n{said}\n![c](c.png)"))
    found = only(text)
    assert (len(found.rows), len(found.claims)) == (2, 1)
    assert listed(text) == []


def test_a_hotfix_is_one_version_in_title_and_sentence() -> None:
    """Both are read by one grammar, so that neither names another version than the other."""
    old_and_new = PAIRS.replace("v5.1", "v5.1.1-hotfix").replace("v5.0 ", "v5.1.1 ")
    said = "Compared with v5.1.1, the Insert performance of v5.1.1-hotfix is improved by 2.5%."
    text = page(("Insert", f"{old_and_new}\n\n{said}"), versions=["v5.1.1-hotfix", "v5.1.1"])
    report = read(text, "page.md")
    assert report.versions == ("v5.1.1", "v5.1.1-hotfix")
    assert [claim.versions for claim in report.workloads[0].claims] == [("v5.1.1", "v5.1.1-hotfix")]


def test_a_figure_is_that_of_its_cell() -> None:
    """Units stand in the heading, or in each latency."""
    assert published_tables.milliseconds("7.30 ms") == published_tables.number("7.30")
    assert published_tables.milliseconds("7.30 s") is None
