"""Sentences of a page rendered anew are computed from its figures."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

import pytest

from benchlab import language
from benchlab.plan.document_tables import Shape
from benchlab.published.audit.audit import audit
from benchlab.published.model import Printed, Row, Unread
from benchlab.published.rendering import bundle as published
from benchlab.published.rendering.page import Page
from benchlab.published.rendering.tables import percent
from tests.builders.published_page import read
from tests.builders.recorded_page import (
    COLUMNS,
    LANGUAGES,
    NEW,
    OLD,
    ROWS,
    figures,
    markdown,
    report,
    rows,
    side,
    workload,
)


def test_a_wrong_improvement_is_computed_anew() -> None:
    """From the figures beside it; what was printed is listed as a claim."""
    wrong = [replace(row, improvement=Printed("77.7")) for row in ROWS]
    text = markdown(report(workload(wrong)))
    assert [row[-1] for row in rows(text, "Threads")[1:]] == ["10.00%", "-5.00%"]
    assert text.count("77.7") == 2
    assert rows(text, "Line")[1:] == [
        ["31", "Point Select", "50", f"{OLD}, {NEW}", "77.7%", "+10.00%"],
        ["32", "Point Select", "100", f"{OLD}, {NEW}", "77.7%", "-5.00%"],
    ]


@pytest.mark.parametrize(
    ("code", "pct", "words"),
    [
        ("en", "112", f"the TPS of {NEW} is 12.00% higher than that of {OLD}"),
        ("en", "88", f"the TPS of {NEW} is 12.00% lower than that of {OLD}"),
        ("en", "100", f"the TPS of {NEW} is on a par with that of {OLD}"),
        ("zh", "112", f"{NEW} 的 TPS 相比 {OLD} 提升了 12.00%"),
        ("zh", "88", f"{NEW} 的 TPS 相比 {OLD} 下降了 12.00%"),
        ("zh", "100", f"{NEW} 的 TPS 与 {OLD} 持平"),
    ],
)
def test_the_direction_is_that_of_the_figures(code: str, pct: str, words: str) -> None:
    """In the summary, the overview and the results alike."""
    row = Row(8, {OLD: side(tps="100"), NEW: side(tps=pct)}, None, 1)
    assert markdown(report(workload([row])), code).count(words) == 3


def test_the_mean_is_that_of_the_rows_as_they_are_printed() -> None:
    """So a reader can recompute it: (33.33 + 33.33 + 33.34) / 3, not a third of a hundred."""
    pairs = (("3", "4"), ("30", "40"), ("2999.7", "3999.8"))
    found = workload(
        [Row(n, {OLD: side(tps=a), NEW: side(tps=b)}, None, 1) for n, (a, b) in enumerate(pairs, 1)]
    )
    section = Page(report(found), language.english()).sections[0]
    assert [percent(section.improvements[n]) for n in (1, 2, 3)] == ["33.33", "33.33", "33.34"]
    assert section.headline == Decimal("33.33")


def test_the_mean_is_the_one_that_an_audit_recomputes() -> None:
    """Also of a page that prints whole percentages: (10.00 + 5.55) / 2, not (10 + 6) / 2."""
    pairs = ((150, "1000", "1100", "10"), (300, "2000", "2111", "6"))
    found = report(
        workload(
            [Row(n, {OLD: side(tps=a), NEW: side(tps=b)}, Printed(p), 1) for n, a, b, p in pairs]
        )
    )
    shown = Page(found, language.english()).sections[0].headline
    exact = audit([found])[0].to_json()["workloads"][0]["headline_pct"]
    assert (str(shown), exact) == ("7.78", 7.775)


@pytest.mark.parametrize(
    ("title", "product"),
    [
        ("TiDB Cloud Sysbench report for TiDB v3.2.0", "TiDB Cloud"),
        ("tidb-cloud Sysbench report", "TiDB Cloud"),
        ("TiDB性能测试报告", "TiDB"),
        ("mariadb Sysbench report", "MariaDB"),
        ("MySQL Sysbench report", "MySQL"),
    ],
)
@pytest.mark.parametrize("code", LANGUAGES)
def test_a_page_is_about_the_product_of_its_title(title: str, product: str, code: str) -> None:
    """However it is written there; in title and subject."""
    found = replace(report(), title=title)
    page = Page(found, language.load(code))
    assert page.title.startswith(f"{product} Sysbench ")
    assert f"{product} {NEW}" in page.subject


@pytest.mark.parametrize("title", ["Sysbench report", "PostgreSQL Sysbench", "MySQL and MariaDB"])
@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("alone", [False, True])
def test_where_the_title_names_no_product_none_is_named(title: str, code: str, alone: bool) -> None:
    """Nothing is taken for granted; the sentences stand without it, and the page is read back."""
    results = workload(shape="single_version") if alone else workload()
    found = replace(report(results), title=title)
    page = Page(found, language.load(code))
    text = markdown(found, code)
    assert page.title.startswith("Sysbench ")
    assert not re.search("TiDB|MariaDB|MySQL|none| {2,}[A-Za-z]", page.title + page.subject)
    assert read(text, "again.md").versions == found.versions


def test_it_says_where_the_figures_are_from_and_that_they_have_no_interval() -> None:
    """Source, hash, one value each."""
    text = markdown(report())
    assert "Reproduced from page.md (SHA-256 0123456789abcdef" in text
    assert "no interval and no verdict can be computed" in text


def test_what_was_not_understood_is_listed() -> None:
    """With its line in the source."""
    found = replace(report(), unread=(Unread(77, "", "no-workload", {"name": "a | with <marks>"}),))
    text = markdown(found)
    assert "| 77 | a table of results below “a \\| with &lt;marks&gt;”, which" in text


def test_thread_counts_are_those_with_figures() -> None:
    """Workloads that differ in them are named with theirs."""
    one = workload(ROWS[:1], name="oltp_insert")
    text = markdown(report(workload(), one))
    assert "Client threads of oltp_point_select: 50, 100." in text
    assert "Client threads of oltp_insert: 50." in text


@pytest.mark.parametrize("shape", [s for s in COLUMNS if s != "single_version"])
@pytest.mark.parametrize("code", LANGUAGES)
def test_a_thread_count_without_figures_is_in_plan_and_tables_alike(
    shape: Shape, code: str
) -> None:
    """Missing of every version, and not left out of one of the two: an audit finds nothing."""
    gap = Row(200, {}, None, 33)
    found = report(workload([*ROWS, gap], shape=shape))
    text = markdown(found, code)
    assert "50, 100, 200" in text or "50、100、200" in text
    back = read(text, "again.md")
    assert figures(back) == figures(found)
    assert audit([back])[0].findings == ()


def test_a_table_without_any_figure_is_none() -> None:
    """There is no column to print and no chart to draw, nor are its threads told."""
    empty = replace(
        workload([Row(50, {}, None, 33)], name="oltp_insert"), versions=(), claims=(), charts=()
    )
    files = published.make(report(workload(), empty), language.english())
    assert "charts/oltp_insert.svg" not in files
    text = files["report.md"].decode()
    assert "prints no figures of Insert" in text
    assert "Client threads: 50, 100." in text


@pytest.mark.parametrize("code", LANGUAGES)
def test_figures_of_another_version_than_the_title_s_stay_its_own(code: str) -> None:
    """On a page about one version; an audit of the page that is made still tells them."""
    row = Row(50, {"v6.5.0": side(tps="100", p95_ms="9000")}, None, 31)
    other = replace(workload([row], shape="single_version"), versions=("v6.5.0",))
    found = report(other)
    text = markdown(found, code)
    assert "| v6.5.0 TPS | v6.5.0 95%" in text
    back = read(text, "again.md")
    assert figures(back) == figures(found)
    kinds = [[finding.kind for finding in audit([page])[0].findings] for page in (found, back)]
    assert kinds == [["version_mismatch"]] * 2


def test_an_improvement_that_the_figures_allow_is_not_listed_as_wrong() -> None:
    """The bounds are the audit's: 10.1 and 10.6 are rounded, and 5.2 % may be right."""
    row = Row(8, {OLD: side(tps="10.1"), NEW: side(tps="10.6")}, Printed("5.2"), 31)
    allowed = report(workload([row]))
    assert audit([allowed])[0].findings == ()
    assert Page(allowed, language.english()).claims is None
    wrong = report(workload([replace(row, improvement=Printed("6.2"))]))
    assert [finding.kind for finding in audit([wrong])[0].findings] == ["row_mismatch"]
    assert rows(markdown(wrong), "Line")[1][-2:] == ["6.2%", "+4.95%"]
