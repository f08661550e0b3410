"""What is in doubt in tables and sentences is listed, never guessed."""

from __future__ import annotations

import pytest

from benchlab.published.audit.audit import audit
from benchlab.published.reading import tables as published_tables
from tests.builders.pages_read import improvements, listed, only, printed
from tests.builders.published_page import (
    PAIRS,
    VERSIONS,
    page,
    read,
    table,
)


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
    assert [finding.kind for finding in audit([read(text, "page.md")])[0].findings] == []


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
    assert [what.partition(" @")[0] for what in listed(text)] == [
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
