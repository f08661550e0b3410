"""A page rendered anew: figures as printed, everything else computed from them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from decimal import Decimal
from typing import Literal

import pytest
import yaml
from markdown_it import MarkdownIt

from benchlab import language
from benchlab.published import rendering
from benchlab.published.audit.audit import audit
from benchlab.published.model import Claim, Printed, Row, StatedChange, Unread, from_json
from tests.builders.recorded_page import (
    LANGUAGES,
    NEW,
    OLD,
    ROWS,
    markdown,
    numbers,
    report,
    rows,
    side,
    workload,
)


def change(
    pct: str, direction: Literal[-1, 1], about: str | None = "oltp_point_select", threads: int = 0
) -> StatedChange:
    """A claimed change; of no threads is of all."""
    return StatedChange(about, threads or None, Printed(pct), direction)


# ---------------------------------------------------------------- formats


def test_every_format_is_there_and_the_same_data_give_the_same_bytes() -> None:
    """Text, data and figures."""
    files = rendering.make(report(), language.english())
    assert sorted(files) == ["figures.csv", "report.json", "report.md"]
    assert rendering.make(report(), language.english()) == files


def test_figures_csv_has_what_is_printed_and_leaves_missing_empty() -> None:
    """There is a row for each workload, thread count and version."""
    files = rendering.make(report(), language.english())
    found = list(csv.DictReader(io.StringIO(files["figures.csv"].decode())))
    assert len(found) == 4
    assert found[0] == {
        "workload": "oltp_point_select", "threads": "50", "version": OLD,
        "qps": "", "tps": "9,876.50", "tpmc": "", "qpm": "", "p95_ms": "9.1",
    }  # fmt: skip


def test_report_json_has_the_data_and_what_was_computed() -> None:
    """And the data come back from it."""
    document = json.loads(rendering.make(report(), language.english())["report.json"])
    assert from_json(document["report"]) == report()
    assert document["recomputed"] == [
        {
            "workload": "oltp_point_select",
            "metric": "tps",
            "rows": [
                {"threads": 50, "improvement_pct": 10.0},
                {"threads": 100, "improvement_pct": -5.0},
            ],
            "headline_pct": 2.5,
        }
    ]


def test_nothing_of_the_source_is_taken_for_markup() -> None:
    """Neither in the title nor in the front matter nor in what was not understood."""
    found = replace(report(), title='A "<b>" | *title*', source="<script>x</script>.md")
    found = replace(found, unread=(Unread(77, "", "no-workload", {"name": "a | <img src=y>"}),))
    text = markdown(found)
    front, body = text.split("\n---\n", 1)
    assert "<b>" not in front  # many a renderer takes it for a heading
    assert yaml.safe_load(front)["title"] == found.title
    html = MarkdownIt("commonmark").enable("table").render(body)
    assert [tag for tag in ("<b>", "<script", "<img", "<em>") if tag in html] == []
    assert "a | &lt;img src=y&gt;" in html


def test_every_language_has_the_same_figures() -> None:
    """Number by number; sentences may put them in another order."""
    found = report(workload(claims=[Claim("Better.", 7, "section", (), (change("9.9", 1),))]))
    assert numbers(markdown(found, "en")) == numbers(markdown(found, "zh"))


# ---------------------------------------------------------------- figures


def test_figures_are_as_printed_with_the_computed_improvement() -> None:
    """Version beside version, digit by digit."""
    assert rows(markdown(report()), "Threads") == [
        [
            "Threads", f"{OLD} TPS", f"{OLD} 95% latency (ms)", f"{NEW} TPS",
            f"{NEW} 95% latency (ms)", "TPS improvement",
        ],
        ["50", "9,876.50", "9.1", "10864.2", "8", "10.00%"],
        ["100", "12000", "17", "11,400", "18.50", "-5.00%"],
    ]  # fmt: skip


def test_a_page_about_one_version_has_no_improvement() -> None:
    """There is nothing to compare, and there is no outcome."""
    alone = [Row(50, {NEW: side(tps="9")}, None, 31)]
    text = markdown(report(workload(alone, versions=(NEW,)), versions=(NEW,)))
    assert rows(text, "Threads") == [["Threads", f"{NEW} TPS"], ["50", "9"]]
    assert "%" not in text


def test_a_missing_figure_stays_missing_and_there_is_no_mean() -> None:
    """Neither zero nor left out; the thread count is named."""
    gap = replace(ROWS[1], sides={OLD: side(tps="12000"), NEW: side(p95_ms="18.50")})
    text = markdown(report(workload([ROWS[0], gap])))
    assert rows(text, "Threads")[2] == ["100", "12000", "n/a", "n/a", "18.50", "n/a"]
    assert "no mean over all thread counts, for figures are missing at 100 threads" in text
    assert "2.50%" not in text


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("made", [(), (Row(50, {}, None, 33),)])
def test_a_workload_without_figures_says_so(made: tuple[Row, ...], code: str) -> None:
    """In place of a table."""
    text = markdown(report(workload(made)), code)
    assert {"en": "prints no figures of Point Select", "zh": "没有给出"}[code] in text


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
    """In the summary and the results alike."""
    row = Row(8, {OLD: side(tps="100"), NEW: side(tps=pct)}, None, 1)
    assert markdown(report(workload([row])), code).count(words) == 2


def test_the_mean_is_that_of_the_rows_as_they_are_printed() -> None:
    """So a reader can recompute it: (33.33 + 33.33 + 33.34) / 3, not a third of a hundred."""
    pairs = (("3", "4"), ("30", "40"), ("2999.7", "3999.8"))
    found = workload(
        [Row(n, {OLD: side(tps=a), NEW: side(tps=b)}, None, 1) for n, (a, b) in enumerate(pairs, 1)]
    )
    section = rendering.Section(found, language.english())
    assert [str(section.improvements[n]) for n in (1, 2, 3)] == ["33.33", "33.33", "33.34"]
    assert section.headline == Decimal("33.33")


def test_the_mean_is_the_one_that_an_audit_recomputes() -> None:
    """Also of a page that prints whole percentages: (10.00 + 5.55) / 2, not (10 + 6) / 2."""
    pairs = ((150, "1000", "1100", "10"), (300, "2000", "2111", "6"))
    found = workload(
        [Row(n, {OLD: side(tps=a), NEW: side(tps=b)}, Printed(p), 1) for n, a, b, p in pairs]
    )
    shown = rendering.Section(found, language.english()).headline
    exact = audit([report(found)])[0].to_json()["workloads"][0]["headline_pct"]
    assert (str(shown), exact) == ("7.78", 7.775)


def test_it_says_where_the_figures_are_from_and_that_they_have_no_interval() -> None:
    """Source, hash, one value each."""
    text = markdown(report())
    assert "Reproduced from page.md (SHA-256 0123456789abcdef" in text
    assert "allows no interval and no verdict" in text


# ---------------------------------------------------------------- claims


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


def test_an_improvement_that_the_figures_allow_is_not_listed_as_wrong() -> None:
    """The bounds are the audit's: 10.1 and 10.6 are rounded, and 5.2 % may be right."""
    row = Row(8, {OLD: side(tps="10.1"), NEW: side(tps="10.6")}, Printed("5.2"), 31)
    allowed = report(workload([row]))
    assert audit([allowed])[0].discrepancies == ()
    assert rendering.Page(allowed, language.english()).claims is None


def test_claims_are_listed_as_claims_beside_what_the_figures_give() -> None:
    """All of them, contradicting ones too; no sentence asserts one."""
    changes = (change("9.99", -1), change("8.88", 1, threads=50))
    claim = Claim("Lookups are worse.", 12, "section", ("v9.9.9",), changes)
    text = markdown(report(workload(claims=[claim])))
    assert rows(text, "Line")[1:] == [
        ["12", "Point Select", "all", "v9.9.9", "-9.99%", "+2.50%"],
        ["12", "Point Select", "50", "v9.9.9", "+8.88%", "+10.00%"],
    ]
    for once in ("v9.9.9", "9.99", "8.88"):
        assert text.count(once) == text[text.index("| Line |") :].count(once)
    assert "Lookups are worse" not in text


def test_a_claim_is_about_the_results_that_it_stands_beside() -> None:
    """One that names no workload; in the overview of a page with several it is about none."""
    claim = Claim("It is better.", 12, "section", (), (change("9.99", 1, None, 50),))
    before = Claim("It is better.", 3, "overview", (), (change("9.99", 1, None, 100),))
    found = report(workload(claims=[claim]), workload(name="oltp_insert"))
    assert rows(markdown(replace(found, claims=(before,))), "Line")[1:] == [
        ["3", "n/a", "100", "n/a", "+9.99%", "n/a"],
        ["12", "Point Select", "50", "n/a", "+9.99%", "+10.00%"],
    ]


def test_what_was_not_understood_is_listed() -> None:
    """With its line in the source."""
    text = markdown(replace(report(), unread=(Unread(77, "", "no-throughput"),)))
    assert "| 77 | a table without throughput" in text
