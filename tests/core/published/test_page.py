"""Published pages are read as they are printed; what is in doubt is listed, never guessed."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlab.errors import PublishedPageError
from benchlab.published.audit.audit import audit
from benchlab.published.page import MOST_BYTES
from benchlab.published.page import load as load_page
from benchlab.published.reading import tables as published_tables
from benchlab.published.reading import version_names, vocabulary, wording
from benchlab.published.reading.document import parse
from benchlab.published.reading.model import PublishedReport, Workload, from_json
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

SHARED = Path(__file__).parents[3].parent / "shared"
GOLDEN = Path(__file__).parents[2] / "golden" / "report"
Figures = dict[str, dict[str, list[tuple[int, str]]]]


def only(text: str) -> Workload:
    """The one workload of a page."""
    (workload,) = read(text, "page.md").workloads
    return workload


def printed(workload: Workload) -> Figures:
    """Its figures as texts with their threads, by version and metric."""
    found: Figures = {}
    for row in workload.rows:
        for version, metrics in row.sides.items():
            for metric, figure in metrics.items():
                column = found.setdefault(version, {}).setdefault(metric, [])
                column.append((row.threads, figure.text))
    return found


def improvements(workload: Workload) -> list[str | None]:
    """Of each row, as text."""
    return [row.improvement and row.improvement.text for row in workload.rows]


def listed(text: str) -> list[str]:
    """What was not understood, with the text of its line."""
    lines = re.split(r"\r\n|\r|\n", text)
    return [f"{each.what} @ {lines[each.line - 1]}" for each in read(text, "page.md").unread]


def refusal(text: str) -> str:
    """Why a page is refused."""
    with pytest.raises(PublishedPageError) as e:
        read(text, "page.md")
    return str(e.value)


# ---------------------------------------------------------------- shapes of tables


def test_pairs() -> None:
    """Of each version throughput and latency, and an improvement with its sign in the cell."""
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
    found, usual = (only(page(("Point Select", each))) for each in (turned, PAIRS))
    assert printed(found) == printed(usual)
    assert improvements(found) == improvements(usual)


@pytest.mark.parametrize("name", ["report", "fleet", "tpcc"])
def test_own_reports(name: str) -> None:
    """Benchlab's own reports are read, too, every cell of their tables."""
    report = load_page(GOLDEN / f"{name}.md")[0]
    assert report.unread == ()
    assert report.workloads
    for workload in report.workloads:
        assert workload.versions == report.versions
        assert workload.metric in ("tps", "tpmc")
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


# ---------------------------------------------------------------- cells


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
    """In a row of another width each figure may stand in a wrong column: none is read."""
    text = page(
        ("Insert", table(["Threads", "v5.0 QPS", "v5.1 QPS"], ["4", "1", "2"]) + f"\n{row}")
    )
    assert [each.threads for each in only(text).rows] == [4]
    assert len(listed(text)) == 1


def test_sentence_right_below_a_table() -> None:
    """What has no bar is a sentence, though Markdown takes it for a row."""
    text = page(("Insert", PAIRS + "\nInsert on v5.1 is improved by 2.5%.\n![c](c.png)"))
    found = only(text)
    assert (len(found.rows), len(found.claims), found.charts) == (2, 1, ("c.png",))
    assert listed(text) == []


# ---------------------------------------------------------------- doubt


@pytest.mark.parametrize(
    "headings",
    [
        ["Threads", "v5.0 QPS", "v5.0 QPS"],
        ["Threads", "v5.0 QPS", "5.0 QPS"],
        ["Threads", "QPS", "v5.1 QPS"],
        ["Threads", "QPS", "TPS"],
        ["Threads", "Threads", "v5.1 QPS"],
        ["Clients", "v5.0 QPS", "v5.1 QPS"],
        ["Threads", "v5.0 QPS", "v5.1 QPS", "v5.2 QPS"],
        ["Threads", "Version", "v5.1 QPS"],
        ["Threads", "v5.0 QPS", "Improvement", "QPS improvement"],
    ],
)
def test_table_in_doubt(headings: list[str]) -> None:
    """A table that can be read in two ways is listed with its line and columns, and not read."""
    text = page(("Insert", table(headings, ["8"] * len(headings))))
    assert read(text, "page.md").workloads == ()
    (what,) = listed(text)
    assert what.endswith(f"@ | {' | '.join(headings)} |")
    assert what.count(headings[1]) >= 2


def test_unknown_column() -> None:
    """A column that is not known is listed, and the others are read."""
    headings = ["Threads", "v5.0 QPS", "v5.1 QPS", "Mood", "v5.1 95% latency (s)"]
    text = page(("Insert", table(headings, ["8", "1", "2", "good", "3"])))
    assert printed(only(text)) == {"v5.0": {"qps": [(8, "1")]}, "v5.1": {"qps": [(8, "2")]}}
    assert [what.split(" @")[0] for what in listed(text)] == [
        "the column 'Mood'",
        "the column 'v5.1 95% latency (s)'",
    ]


def test_other_percentiles_are_not_p95() -> None:
    """Of several percentiles, the one of 95 % is taken."""
    names = ["99% latency (ms)", "avg latency (ms)", "p95 (ms)", "99.95% latency (ms)", "p50 (ms)"]
    text = page(("Insert", table(["Threads", "QPS", *names], list("8123456"))), versions=["v7.1"])
    assert printed(only(text)) == {"v7.1": {"qps": [(8, "1")], "p95_ms": [(8, "4")]}}
    assert listed(text) == []


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [("100", "101", None), ("100", "100", "100"), ("1.0", "1.00", "1.0")],
)
def test_same_threads_twice(first: str, second: str, kept: str | None) -> None:
    """Of two different figures for the same thing, neither is taken."""
    rows = table(["Threads", "v5.0 QPS", "v5.1 QPS"], ["8", first, "7"], ["8", second, "7"])
    text = page(("Insert", rows))
    (row,) = only(text).rows
    assert row.sides.get("v5.0", {}).get("qps") == (kept and published_tables.number(kept))
    assert row.sides["v5.1"]["qps"].text == "7"
    assert len(listed(text)) == (kept is None)


AGAIN = table(
    ["Threads", "v5.0 QPS", "v5.1 QPS", "Improvement"],
    ["8", "100", "150", "50%"],
    ["32", "1", "2", "-"],
)


def test_tables_of_other_settings_are_not_merged() -> None:
    """The first is taken; the second is listed, with the sentence below it."""
    between = "\n\nv5.1 is 2.5% faster than v5.0.\n\nOn six hosts:\n\n"
    text = page(("Insert", f"{PAIRS}{between}{AGAIN}\n\nv5.1 is 50% faster than v5.0."))
    found = only(text)
    assert [row.threads for row in found.rows] == [8, 16]
    assert improvements(found) == ["10.00", "-5.00"]
    assert [claim.text for claim in found.claims] == ["v5.1 is 2.5% faster than v5.0."]
    first, second = listed(text)
    assert first.startswith("a further table of results (Threads | v5.0 QPS")
    assert second.startswith("a sentence below a table that is not taken: v5.1 is 50% faster")
    assert [each.kind for each in audit([read(text, "page.md")])[0].findings] == []


@pytest.mark.parametrize(("threads", "merged"), [(("8", "16"), True), (("8", "32"), False)])
def test_a_table_of_another_metric_has_the_same_threads(
    threads: tuple[str, str], merged: bool
) -> None:
    """Throughput in one table and latency in another are of one run only then."""
    one = table(["Threads", "v5.0 QPS", "v5.1 QPS"], ["8", "5", "6"], ["16", "7", "8"])
    other = table(
        ["Threads", "v5.0 p95 (ms)", "v5.1 p95 (ms)"],
        [threads[0], "1", "2"],
        [threads[1], "3", "4"],
    )
    text = page(("Insert", f"{one}\n\n{other}"))
    assert ("p95_ms" in printed(only(text))["v5.0"]) is merged
    assert len(listed(text)) == (not merged)
    assert [row.threads for row in only(text).rows] == [8, 16]


@pytest.mark.parametrize("reverse", [False, True])
def test_the_metric_that_decides_does_not_depend_on_the_order_of_tables(reverse: bool) -> None:
    """Of TPC-C it is tpmC; improvements of another metric are listed."""
    tables = [
        table(
            ["Threads", f"v5.0 {name}", f"v5.1 {name}", f"{name} improvement (%)"],
            ["50", old, new, pct],
        )
        for name, old, new, pct in (("QPS", "100", "110", "10.00"), ("tpmC", "44", "55", "25.00"))
    ]
    text = page(("", "\n\n".join(tables[::-1] if reverse else tables)), kind="TPC-C")
    found = only(text)
    assert (found.metric, improvements(found)) == ("tpmc", ["25.00"])
    assert set(printed(found)["v5.0"]) == {"qps", "tpmc"}
    assert [each.partition(" @")[0] for each in listed(text)] == [
        "improvements of qps: tpmc decides"
    ]


def test_a_hotfix_is_one_version_in_title_and_sentence() -> None:
    """Both are read by one grammar, so that neither names another version than the other."""
    text = page(
        ("Insert", PAIRS.replace("v5.1", "v5.1.1-hotfix").replace("v5.0 ", "v5.1.1 ")
         + "\n\nv5.1.1-hotfix is 2.5% faster than v5.1.1."),
        versions=["v5.1.1-hotfix", "v5.1.1"],
    )  # fmt: skip
    report = read(text, "page.md")
    assert report.versions == ("v5.1.1", "v5.1.1-hotfix")
    assert report.workloads[0].claims[0].versions == ("v5.1.1-hotfix", "v5.1.1")
    assert audit([report])[0].findings == ()


def test_more_versions_than_two() -> None:
    """Nothing says which two of three versions are the ones that the title compares."""
    text = page(("Insert", VERSIONS + "\n| v4.0 | 8 | 900 | 9 |"))
    assert read(text, "page.md").workloads == ()
    assert len(listed(text)) == 1


def test_versions_other_than_the_titles() -> None:
    """A table's versions are kept as they stand there, the title notwithstanding."""
    found = only(page(("Insert", PAIRS), versions=["v6.1", "v6.0"]))
    assert (found.versions, set(printed(found))) == (("v5.0", "v5.1"), {"v5.0", "v5.1"})


def test_table_without_workload() -> None:
    """Figures of which no heading says what was measured are listed."""
    text = page(("A comparison", PAIRS))
    assert read(text, "page.md").workloads == ()
    assert "no heading says of what" in listed(text)[0]


def test_other_table_among_results() -> None:
    """A table among the results that has no metric is listed; one of the environment is not."""
    text = page(("Insert", PAIRS + "\n\n" + table(["Host", "CPU"], ["a", "7"])))
    text += "\n\n## Test environment\n\n" + table(["Service", "Count"], ["PD", "3"])
    (what,) = listed(text)
    assert what.endswith("@ | Host | CPU |")


def test_comment() -> None:
    """What stands in a comment is no result; a table of results there is listed."""
    text = page(
        ("Insert", f"<!--\n{PAIRS.replace('1600', '1700')}\n\nIt rose by 70%.\n-->\n\n{PAIRS}")
    )
    found = only(text)
    assert printed(found)["v5.0"]["qps"] == [(8, "1,000.5"), (16, "1600")]
    assert found.claims == ()
    (what,) = listed(text)
    assert "within a comment @ | Threads" in what


@pytest.mark.parametrize(
    "broken", [PAIRS.replace("|:-:|:-:|", "|", 1), PAIRS.replace("|:-:", "", 9)]
)
def test_broken_table(broken: str) -> None:
    """A table that Markdown does not take for one is listed, not dropped."""
    text = page(("Insert", broken), overview="Insert is improved by 3% with v5.1.")
    assert read(text, "page.md").workloads == ()
    assert len(listed(text)) == 1


def test_table_in_html() -> None:
    """A table in HTML is listed."""
    text = page(("Insert", PAIRS + "\n\n<table><tr><td>8</td></tr></table>"))
    assert len(only(text).rows) == 2
    assert "HTML" in listed(text)[0]


# ---------------------------------------------------------------- the page


def test_versions_of_the_title() -> None:
    """The candidate is named first; without a "vs." the older one is the baseline."""
    for title, versions in {
        "TiDB v5.1.1 vs. v5.0.2": ("v5.0.2", "v5.1.1"),
        "TiDB v4.0 vs v5.0": ("v5.0", "v4.0"),
        "TiDB v5.1 对比v5.0的性能": ("v5.0", "v5.1"),
        "From v4.0 to v10.0": ("v4.0", "v10.0"),
        "v5.0.0 and v5.0.0-rc.1": ("v5.0.0-rc.1", "v5.0.0"),
        "Sysbench 1.0.20, TiDB v7.1.3": ("v7.1.3",),
        "MariaDB 10.11.5 vs. 10.2.11": ("10.2.11", "10.11.5"),
        "1.2.3 (slowed) vs. 1.2.3": ("1.2.3", "1.2.3"),
        "TiDB": (),
    }.items():
        assert version_names.of_title(title) == versions, title


def test_exact_versions() -> None:
    """Where a line names releases of the title's series, they are the exact versions."""
    line = "TiDB version: v5.1.0-rc.2 vs. v5.0.3"
    report = read(page(("Insert", PAIRS), overview=line), "page.md")
    assert (report.versions, report.exact_versions) == (("v5.0", "v5.1"), ("v5.0.3", "v5.1.0-rc.2"))
    for other in ("TiDB version: v5.1.2", "TiDB version: v5.1 vs. v5.0", "v5.1.0 and v5.0.3"):
        assert read(page(("Insert", PAIRS), overview=other), "page.md").exact_versions == ()


def test_versions_of_tables() -> None:
    """A title without a version leaves it to the tables."""
    report = read(page(("Insert", PAIRS), title="Sysbench on TiDB"), "page.md")
    assert (report.versions, report.baseline) == (("v5.0", "v5.1"), "v5.0")


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("`Point Select` test", "oltp_point_select"),
        ("Point-select", "oltp_point_select"),
        ("oltp_point_select", "oltp_point_select"),
        ("点查性能", "oltp_point_select"),
        ("Read-write performance", "oltp_read_write"),
        ("读写性能", "oltp_read_write"),
        ("Update Non-Index", "oltp_update_non_index"),
        ("`oltp_update_non_index`", "oltp_update_non_index"),
        ("更新非索引", "oltp_update_non_index"),
        ("非索引更新", "oltp_update_non_index"),
        ("Update index", "oltp_update_index"),
        ("索引更新", "oltp_update_index"),
        ("Insert", "oltp_insert"),
        ("插入性能", "oltp_insert"),
        ("Delete", "oltp_delete"),
        ("删除", "oltp_delete"),
        ("Select point", "oltp_point_select"),
        ("TPC-C performance", "tpcc"),
    ],
)
def test_workloads(heading: str, name: str) -> None:
    """A workload is known by its heading, however it is spelled."""
    assert only(page((heading, PAIRS))).name == name


@pytest.mark.parametrize("heading", ["Performance", "Point Select and Read Write", "Inserted rows"])
def test_no_workload(heading: str) -> None:
    """A heading that names none, or several, names none."""
    assert vocabulary.workload(heading) is None


def test_claims_by_place() -> None:
    """Sentences of summary, overview and sections are told apart."""
    text = page(
        ("Insert", PAIRS + "\n\nInsert on v5.1 is improved by 2.5%."),
        overview="Insert on v5.1 is improved by 2%.",
    ).replace("---\n\n#", "summary: Insert on v5.1 is improved by 3%.\n---\n\n#", 1)
    report = read(text, "page.md")
    assert [(c.place, c.line) for c in report.claims] == [("summary", 3), ("overview", 10)]
    assert [(c.place, c.line) for c in report.workloads[0].claims] == [("section", 21)]


def test_broken_front_matter() -> None:
    """Front matter that is no YAML is listed, and its title is read all the same."""
    report = read(page(("Insert", PAIRS), title="Sysbench: v5.1 vs. v5.0"), "page.md")
    assert report.title == "Sysbench: v5.1 vs. v5.0"
    assert [(each.line, "front matter" in each.what) for each in report.unread] == [(2, True)]


def test_mojibake() -> None:
    """A line that was decoded wrongly is mended; a good one is left alone."""
    text = page(("Insert", PAIRS)) + "\n\n## Test environment (EC2ï¼‰\n\n## 测试（好）\n\n## Café ½"
    document = parse(text)
    assert [e.text for e in document.headings][-3:] == [
        "Test environment (EC2）",
        "测试（好）",
        "Café ½",
    ]
    assert printed(only(text)) == printed(only(page(("Insert", PAIRS))))


def test_lines_and_figures_do_not_depend_on_line_ends() -> None:
    """CR LF, LF and a byte order mark make no difference."""
    text = page(("Insert", PAIRS), overview="Insert on v5.1 is improved by 2%.")
    one, other = (
        read(each, "p").workloads for each in (text, "\ufeff" + text.replace("\n", "\r\n"))
    )
    assert one == other


def test_json() -> None:
    """A report survives JSON, figures as printed."""
    report = read(page(("Insert", PAIRS), ("Read Write", METRICS)), "page.md")
    assert from_json(json.loads(json.dumps(report.to_json()))) == report


# ---------------------------------------------------------------- refusal


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("", 1, "empty"),
        (" \n\t\n", 1, "empty"),
        ("Some words without a title.", 1, "no title"),
        ("\n# How to bake", 2, "neither Sysbench nor TPC-C"),
        ("# Sysbench and TPC-C of v5.1", 1, "or of both"),
        ("# Sysbench on v5.1\n\nNo figures.", 1, "neither a table"),
        ("# Sysbench on v5.1 \ud800", 1, "no UTF-8"),
        ("# Sysbench\n\0", 2, "NUL"),
        ("# Sysbench\n" * (MOST_BYTES // 10), MOST_BYTES // 11 + 1, "longer than 1 MB"),
        (page(("Insert", PAIRS), versions=["v3.0", "v2.0", "v1.0"]), 2, "3 versions"),
        (page(("Insert", ALONE), title="Sysbench"), 2, "no versions"),
    ],
)
def test_refused(text: str, line: int, why: str) -> None:
    """A page that is none is refused with its line and what was found."""
    message = refusal(text)
    assert message.startswith(f"page.md, line {line}: ")
    assert why in message


def test_refused_file(tmp_path: Path) -> None:
    """A file that is none, is no UTF-8 or is too long is refused by its path."""
    for name, raw, where in (
        ("latin.md", "# A\n\nna\u00efve".encode("latin-1"), ", line 3: no UTF-8 text, byte 0xef"),
        ("long.md", "é\n".encode() * (MOST_BYTES // 3 + 1), ": longer than 1 MB"),
    ):
        path = tmp_path / name
        path.write_bytes(raw)
        with pytest.raises(PublishedPageError, match=re.escape(str(path))) as e:
            load_page(path)[0]
        assert where.split(": ", 1)[1] in str(e.value)
    for path in (tmp_path, tmp_path / "absent.md"):
        with pytest.raises(PublishedPageError, match="cannot be read"):
            load_page(path)[0]


# ---------------------------------------------------------------- wild input

PAGES = [
    page(("Point Select", PAIRS + "\n\nPoint Select on v5.1 is improved by 2.5%.")),
    page(("`Read Write` test", METRICS), ("Update Index", VERSIONS)),
    page(("点查", CHINESE), language="zh", overview="v5.1 对比 v5.0，点查性能提升了 2.5%。"),
    page(("", table(["Threads", "v5.0 tpmC", "v5.1 tpmC"], ["8", "7", "9"])), kind="TPC-C"),
    page(("Insert", f"{ALONE}\n\n<!--\n{ALONE}\n-->"), versions=["v7.1"]),
]
CELLS = [
    "",
    "|",
    "n/a",
    "１２",
    "64 * 4",
    "9" * 40,
    "1,2,3",
    "-0",
    "\u2212",
    "150²",
    "<b>7</b>",
    "%",
]
PIECES = [
    "|",
    "\\",
    "`",
    "```\n",
    "<!--",
    "-->",
    "---",
    "#",
    "*",
    "**",
    "&#49;",
    "\r",
    "\u2028",
    "> ",
]


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """A page with lines deleted, doubled, swapped or cut, cells replaced, characters put in."""
    lines = draw(st.sampled_from(PAGES)).split("\n")
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(len(lines) - 1, 0)))
        line = lines[at] if lines else ""
        spot = draw(st.integers(0, len(line)))
        piece = draw(
            st.one_of(st.sampled_from(PIECES), st.text(max_size=3), st.sampled_from("019"))
        )
        cells = line.split("|")
        cells[draw(st.integers(0, len(cells) - 1))] = draw(st.sampled_from(CELLS))
        other = draw(st.integers(0, max(len(lines) - 1, 0)))
        lines[at : at + 1] = draw(
            st.sampled_from(
                [
                    [],
                    [line, line],
                    [line, lines[other] if lines else ""],
                    [line[:spot]],
                    [line[:spot] + piece + line[spot:]],
                    ["|".join(cells)],
                ]
            )
        )
    return "\n".join(lines)


def plain_line(line: str) -> str:
    """A line of the page without markup, as far as it may stand within a number."""
    return wording.plain(re.sub(r"[*_`\\]", "", html.unescape(line)))


def check(report: PublishedReport, text: str) -> None:
    """Every figure stands in the page: those of a row of one table in its line."""
    lines = [plain_line(line) for line in re.split(r"\r\n|\r|\n", text)]
    for workload in report.workloads:
        for row in workload.rows:
            found = [f for side in row.sides.values() for f in side.values()]
            found += [row.improvement] if row.improvement else []
            for figure in found:
                assert figure.value.is_finite()
                pattern = re.compile(rf"(?<![0-9.]){re.escape(figure.text)}(?![0-9]|\.[0-9])")
                several = workload.shape in ("version_column", "table_per_version")
                where = lines if several or len(report.unread) else [lines[row.line - 1]]
                assert any(pattern.search(line) for line in where), (figure, where)
        assert len(workload.versions) <= 2
        assert {v for row in workload.rows for v in row.sides} <= set(workload.versions)
    for each in report.unread:
        assert 1 <= each.line <= len(lines)
    assert from_json(json.loads(json.dumps(report.to_json()))) == report


def answer(text: str) -> PublishedReport | str:
    """The report, or why there is none; any other error is the test's."""
    try:
        return read(text, "page.md")
    except PublishedPageError as e:
        return str(e)


def judge(text: str) -> None:
    """A page is answered with its own figures, or refused with a line."""
    found = answer(text)
    if isinstance(found, str):
        assert re.match(r"page\.md, line [0-9]+: ", found)
    else:
        check(found, text)


@given(mangled())
@settings(max_examples=150, deadline=None)
def test_mangled_page(text: str) -> None:
    """A mangled page is answered or refused, and no figure is invented."""
    judge(text)


@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from(PIECES + CELLS)).map("".join)))
@settings(max_examples=100, deadline=None)
def test_random_text(noise: str) -> None:
    """So is any text, alone or below a title."""
    judge(noise)
    judge(f"# Sysbench v5.1 vs. v5.0\n\n## Test results\n\n### Insert\n\n{noise}")


@given(st.text(max_size=30))
@settings(max_examples=200, deadline=None)
def test_cells(cell: str) -> None:
    """A cell is a finite number whose digits it has, or none."""
    for figure in (
        published_tables.number(cell),
        published_tables.milliseconds(cell),
        published_tables.percentage(cell, in_heading=True),
    ):
        assert figure is None or (figure.value.is_finite() and figure.text in wording.plain(cell))
    threads = published_tables.thread_count(cell)
    assert threads is None or threads > 0


# ---------------------------------------------------------------- the published pages

NOT_HERE = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"the published pages are not here: no folder {SHARED.name}"
)
METRICS_OF = {"QPS_raw": "qps", "TPS_raw": "tps", "tpmC_raw": "tpmc", "p95_ms_raw": "p95_ms"}
SHAPES = {
    "version_column": {"version_column"},
    "side_by_side": {"pairs", "metrics_then_latencies"},
    "single_version": {"single_version"},
    "image_only": {None},
}


def truth() -> list[dict[str, Any]]:
    """The pages' parsed tables."""
    if not SHARED.is_dir():
        return []
    found: list[dict[str, Any]] = json.loads((SHARED / "published" / "tables.json").read_text())
    return found


@NOT_HERE
@pytest.mark.parametrize("expected", truth(), ids=lambda each: each["source"])
def test_published_pages(expected: dict[str, Any]) -> None:
    """Every figure of the published pages is read as it is printed there."""
    report = load_page(SHARED / "published" / "pages" / expected["source"])[0]
    titled = expected["versions_title"]
    assert (report.title, report.kind, report.language, report.unread) == (
        expected["title"],
        expected["kind"],
        expected["language"],
        (),
    )
    assert report.versions == tuple(v for v in (titled["old"], titled["new"]) if v)
    assert report.exact_versions == tuple(reversed(expected.get("versions_exact") or ()))
    for workload, section in zip(report.workloads, expected["sections"], strict=True):
        assert workload.name.removeprefix("oltp_") == section["workload"]
        assert workload.heading == section["section"].split(" / ")[-1].replace("`", "")
        assert workload.shape in SHAPES[section["shape"]]
        assert list(workload.charts) == section["images"]
        assert [list(workload.columns)] == (section["raw_headers"] or [[]])
        assert len(workload.claims) == len(section["claims"])
        assert printed(workload) == {
            version: {
                METRICS_OF[name]: list(zip(side["threads"], cells, strict=True))
                for name, cells in side.items()
                if name in METRICS_OF
            }
            for version, side in section["series"].items()
        }
        raw = [each["raw"].rstrip("%") for each in section["published_improvement"]]
        assert [text for text in improvements(workload) if text] == raw


@NOT_HERE
def test_seeds() -> None:
    """The five documents are read, with nothing left over."""
    reports = [load_page(path)[0] for path in sorted((SHARED / "seeds").glob("*.txt"))]
    assert [report.id for report in reports] == [
        "sysbench-v5.2.0-vs-v5.1.1-en",
        "cloud-sysbench-v7.1.3-en",
        "sysbench-v2.1-vs-v2.0-en",
        "tpcc-v5.4.0-vs-v5.3.0-en",
        "tpcc-v5.2.0-vs-v5.1.1-zh",
    ]
    assert [len(report.workloads) for report in reports] == [4, 5, 3, 1, 1]
    assert [report.unread for report in reports] == [()] * 5
