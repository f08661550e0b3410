"""Audits of published pages: what is wrong is found, and what is right is left alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlab.analysis.verdict.compare import compare
from benchlab.language import load
from benchlab.published.audit import check_figures, recompute
from benchlab.published.audit import text as audit_view
from benchlab.published.audit.audit import Audit, audit
from benchlab.published.audit.finding import KINDS, Finding
from benchlab.published.page import load as load_page
from benchlab.published.reading import stated as published_stated
from benchlab.published.reading.model import Block, Metric, PublishedReport, Row, Unread
from benchlab.published.reading.stated import Stated, stated
from benchlab.published.reading.version_names import in_sentence
from benchlab.report.formats import markdown
from benchlab.report.model import report as model
from tests.audited import (
    INDEX,
    MIXED,
    NEW,
    OLD,
    POINT,
    change,
    claim,
    command,
    headline_of,
    page,
    row,
    step,
    table,
    thread_list,
    workload,
)
from tests.builders import campaigns
from tests.builders.published_page import read
from tests.core.language.test_language import CASES, pages

SHARED = Path(__file__).parents[3].parent / "shared"
with_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"{SHARED} is not there")
FASTER = table((4, "1000", "1100"), (8, "2000", "2400"), (16, "3000", "3930"))  # 10, 20, 31 %
SLOWER = table((4, "1000", "957"), (8, "2500", "2394"))  # -4.3, -4.24 %


def found_in(*reports: PublishedReport) -> list[Finding]:
    """All findings of the last of them."""
    return list(audit(reports)[-1].findings)


def kinds(*reports: PublishedReport) -> list[str]:
    """Their kinds."""
    return [finding.kind for finding in found_in(*reports)]


# ---------------------------------------------------------------- rows and headlines


def test_a_row_that_does_not_recompute_is_told() -> None:
    """The finding has both numbers, and the line, section and threads."""
    rows = [*FASTER, row(32, {"tps": "4000"}, {"tps": "5000"}, "24.90", line=99)]
    assert found_in(page(workload(rows))) == [
        Finding(
            "row_mismatch",
            "line 99, Results of oltp_point_select, 32 threads",
            99,
            Decimal("24.90"),
            Decimal("25.000"),
        )
    ]


@pytest.mark.parametrize("printed", ["24.99", "25.01", "25", "25.0"])
def test_what_rounding_can_explain_is_no_finding(printed: str) -> None:
    """Throughput is rounded, too: 4000 and 5000 allow 24.97 to 25.03."""
    assert kinds(page(workload([row(32, {"tps": "4000"}, {"tps": "5000"}, printed)]))) == []


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        ("31", "it fits the last row (16 threads), 31.00, rounded"),
        ("10.0", "it fits the row (4 threads), 10.00, rounded"),
        ("20.3", None),
        ("20.33", None),
        ("20", None),
        ("20.4", "no other figure of the rows fits it"),
        ("5", "no other figure of the rows fits it"),
    ],
)
def test_a_headline_is_the_mean_of_the_rows(printed: str, why: str | None) -> None:
    """Fewer decimals are right; another number is told, with what it is instead."""
    found = found_in(page(workload(FASTER, claim(change(printed)))))
    assert [(each.kind, each.explanation) for each in found] == (
        [("headline_mismatch", why)] if why else []
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "Throughput improved by 50 percent.",
        "Throughput improved by 50 per cent.",
        "性能提升了５０％。",
        "性能提升了百分之五十。",
        "性能提升了百分之 50。",
    ],
)
def test_a_headline_is_found_however_its_percent_sign_is_written(sentence: str) -> None:
    """In words, in Chinese and in full width; a limit is none in any of them."""
    rows = "| 8 | 1000 | 1025 | 2.5% |"
    start = "# TiDB Sysbench -- v5.1 vs. v5.0\n\n## Test results\n\n### Point Select\n\n"
    head = "| Threads | v5.0 TPS | v5.1 TPS | TPS improvement |\n|---|---|---|---|\n"
    (found,) = found_in(read(f"{start}{sentence}\n\n{head}{rows}\n", "page.md"))
    assert (found.kind, found.published) == ("headline_mismatch", Decimal(50))
    limited = sentence.replace("by 50", "by at least 50").replace("提升了", "提升了至少")
    assert kinds(read(f"{start}{limited}\n\n{head}{rows}\n", "page.md")) == []


def test_a_truncated_headline_is_told() -> None:
    """4.27 % down is 4.3 with one digit, and 4.2 only when it is cut."""
    found = found_in(page(workload(SLOWER, claim(change("4.2", -1)))))
    assert [each.kind for each in found] == ["headline_mismatch"]
    assert "the mean, -4.27, truncated" in found[0].explanation
    assert kinds(page(workload(SLOWER, claim(change("4.3", -1))))) == []


def test_the_headline_of_an_overview_counts_where_the_section_has_none() -> None:
    """A section without a sentence takes the overview's number."""
    overview = claim(change("31", workload=POINT), place="overview")
    report = page(workload(FASTER), workload(SLOWER, name=INDEX), claims=[overview])
    assert kinds(report) == ["headline_mismatch"]
    assert audit([report])[0].to_json()["workloads"][0]["headline_pct_published"] == 31


@pytest.mark.parametrize(
    "text",
    ["It improved by up to 31%.", "It improved by at least 10%.", "性能最高提升 31%。"],
)
def test_the_end_of_a_range_is_no_headline(text: str) -> None:
    """Who says "up to" gives no mean."""
    report = page(workload(FASTER, claim(change("31"), text=text)))
    assert kinds(report) == []
    assert audit([report])[0].to_json()["workloads"][0]["headline_pct_published"] is None


def test_a_range_of_two_numbers_is_no_headline() -> None:
    """Nor is "10% to 31%"."""
    assert kinds(page(workload(FASTER, claim(change("10"), change("31"))))) == []


def test_a_chart_alone_gives_no_headline_to_compare() -> None:
    """What cannot be recomputed is null and no finding."""
    report = page(workload([], claim(change("99"))))
    assert kinds(report) == []
    assert audit([report])[0].to_json()["workloads"][0] == {
        "name": POINT,
        "metric": None,
        "rows": [],
        "headline_pct_published": 99,
        "headline_pct": None,
    }


def test_a_workload_that_has_two_sections_is_not_guessed() -> None:
    """An overview that names it may mean either."""
    overview = claim(change("20.33", workload=POINT), place="overview")
    sections = [
        workload(rows, claim(change(pct, direction)))
        for rows, pct, direction in ((FASTER, "20.33", 1), (SLOWER, "4.27", -1))
    ]  # type: ignore[arg-type]
    assert kinds(page(*sections, claims=[overview])) == []


@st.composite
def tables(draw: st.DrawFn) -> list[Row]:
    """A table as it would be printed: rounded figures, improvements from those not rounded."""
    figures = st.decimals("500", "500000", places=4)
    places = draw(st.sampled_from([0, 2]))
    rows = []
    for threads in draw(st.lists(st.integers(1, 2000), min_size=1, max_size=6, unique=True)):
        old, new = draw(figures), draw(figures)
        exact = (new - old) / old * 100
        shown = [str(recompute.rounded_to(each, places)) for each in (old, new)]
        percent = str(recompute.rounded_to(exact, 2))
        rows.append(row(threads, {"tps": shown[0]}, {"tps": shown[1]}, percent))
    return rows


def sentence(rows: Sequence[Row], places: int) -> Any:
    """What a careful author writes about a table."""
    mean = recompute.rounded_to(headline_of(rows), places)
    return change(str(abs(mean)), 1 if mean > 0 else -1 if mean < 0 else 0)


@settings(deadline=None)
@given(tables(), tables())
def test_a_page_with_computed_figures_has_no_findings(one: list[Row], other: list[Row]) -> None:
    """Whatever was measured: rounded figures and the mean of the rows are never called wrong."""
    first, second = sentence(one, 2), sentence(other, 2)
    overview = claim(
        change(str(first.pct.text), first.direction, POINT),
        change(str(second.pct.text), second.direction, INDEX),
        place="summary",
    )
    report = page(
        workload(one, claim(first)), workload(other, claim(second), name=INDEX), claims=[overview]
    )
    assert found_in(report) == []


@settings(deadline=None)
@given(tables(), st.data(), st.sampled_from([1, -1]))
def test_one_changed_improvement_is_one_finding(
    rows: list[Row], data: st.DataObject, sign: int
) -> None:
    """One row beyond rounding gives one ``row_mismatch``, in its line, and nothing else."""
    at = data.draw(st.integers(0, len(rows) - 1))
    whole = workload(rows)
    bounds = recompute.improvement_bounds(rows[at], whole)
    assert bounds is not None
    end = bounds.high if sign > 0 else bounds.low
    wrong = recompute.rounded_to(end + sign * Decimal("0.02"), 2)
    sides = rows[at].sides
    changed = row(
        rows[at].threads,
        {"tps": sides[OLD]["tps"].text},
        {"tps": sides[NEW]["tps"].text},
        str(wrong),
        line=123,
    )
    report = page(workload([*rows[:at], changed, *rows[at + 1 :]], claim(sentence(rows, 2))))
    assert [(each.kind, each.line) for each in found_in(report)] == [("row_mismatch", 123)]


# ---------------------------------------------------------------- sentences


@pytest.mark.parametrize(("pct", "expected"), [("4.22", []), ("4.2", []), ("4.30", ["4.30"])])
def test_the_overview_repeats_the_section(pct: str, expected: list[str]) -> None:
    """Another number than the section's is told even where there is no table; fewer decimals
    are not.
    """
    overview = claim(change(pct, -1), place="overview", line=9)
    found = found_in(page(workload([], claim(change("4.22", -1))), claims=[overview]))
    assert [(each.kind, str(each.published)) for each in found] == [
        ("overview_mismatch", f"-{each}") for each in expected
    ]


def test_a_number_in_another_section_is_found_where_it_stands() -> None:
    """The finding names the section of the sentence, not that of its workload."""
    aside = claim(change("31", workload=POINT), line=99)
    sections = (workload(FASTER, claim(change("20.33"))), workload(SLOWER, aside, name=INDEX))
    assert [(each.kind, each.where, each.explanation) for each in found_in(page(*sections))] == [
        (
            "overview_mismatch",
            "line 99, Results of oltp_update_index",
            "20.33 in line 90, Results of oltp_point_select",
        )
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Prepared statements improved performance by 40%.", []),
        ("v5.2.0 improves sorting in both versions by 40%.", []),
        ("各版本均提升 40%。", []),
        ("Performance improved by 40%.", ["overview_mismatch"]),
        ("Overall, the throughput is 40% higher.", ["overview_mismatch"]),
        ("总体性能提升了 40%。", ["overview_mismatch"]),
        ("Point Select improved by 40%.", ["overview_mismatch"]),
        ("v5.2.0 is 40% faster.", ["overview_mismatch"]),
    ],
)
def test_only_a_sentence_about_the_workload_competes(text: str, expected: list[str]) -> None:
    """One about something else is neither the headline nor held against it."""
    other = claim(change("40"), text=text, versions=in_sentence(text))
    whole = claim(change("20.33"))
    assert kinds(page(workload(FASTER, whole, other))) == expected
    # Where the wrong number stands first it is the headline.
    first = ["headline_mismatch", *expected] if expected else []
    assert kinds(page(workload(FASTER, other, whole))) == first


@pytest.mark.parametrize(
    "text", ["It is 31% faster (95% interval 30% to 32%).", "估计值 31%（置信区间见下）。"]
)
def test_an_estimate_with_its_interval_is_no_mean_of_the_rows(text: str) -> None:
    """It weighs them otherwise, so it is not held against their mean."""
    assert kinds(page(workload(FASTER, claim(change("31"), text=text)))) == []


def test_all_sentences_are_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many claims a page has: an audit does not begin anew for each of them."""
    calls: list[PublishedReport] = []

    def counted(report: PublishedReport) -> Iterator[Stated]:
        calls.append(report)
        return stated(report)

    monkeypatch.setattr(check_figures, "stated", counted)
    monkeypatch.setattr(published_stated, "stated", counted)
    claims = [claim(change("31"), line=line) for line in range(90, 290)]
    assert len(found_in(page(workload(FASTER, *claims)))) == 1
    assert len(calls) == 1


def test_a_wrong_headline_that_is_repeated_is_told_once() -> None:
    """The overview agrees with the section, and so has no fault of its own."""
    overview = claim(change("31", workload=POINT), place="summary")
    report = page(workload(FASTER, claim(change("31"))), claims=[overview])
    assert kinds(report) == ["headline_mismatch"]


@pytest.mark.parametrize(
    ("pct", "threads", "expected"),
    [("31", 16, []), ("31.0", 16, []), ("31", 8, ["overview_mismatch"]), ("31", 99, [])],
)
def test_a_number_at_one_thread_count_is_that_of_its_row(
    pct: str, threads: int, expected: list[str]
) -> None:
    """A thread count that the table does not have says nothing."""
    summary = claim(change(pct, threads=threads), place="summary")
    assert kinds(page(workload(FASTER), claims=[summary])) == expected


def test_a_summary_may_follow_the_table_where_a_row_is_wrong() -> None:
    """A wrong row that the summary repeats is one fault: the row's."""
    rows = [row(4, {"tps": "1000"}, {"tps": "1100"}, "12.00")]
    summary = claim(change("12", threads=4), place="summary")
    assert kinds(page(workload(rows), claims=[summary])) == ["row_mismatch"]


def test_an_improvement_of_which_only_the_word_is_wrong() -> None:
    """4.27 % less that is called an improvement is one finding: the direction."""
    report = page(workload(SLOWER, claim(change("4.27", 1))))
    assert [(each.kind, each.published, each.recomputed) for each in found_in(report)] == [
        ("direction_mismatch", "improved by 4.27 %", Decimal("-4.270"))
    ]


@pytest.mark.parametrize(
    ("direction", "expected"), [(-1, []), (0, []), (1, ["direction_mismatch"])]
)
def test_a_word_alone_is_held_against_the_mean(direction: Any, expected: list[str]) -> None:
    """A word without a number, and "almost the same"."""
    report = page(workload(SLOWER, claim(change(None, direction))))
    assert kinds(report) == expected


def test_a_sentence_about_the_baseline_is_not_compared() -> None:
    """That the old version improved against the new one is true of a regression."""
    text = f"Compared with {NEW}, the performance of {OLD} is improved by 4.44%."
    assert kinds(page(workload(SLOWER, claim(change("4.44"), text=text)))) == []


@pytest.mark.parametrize(
    ("named", "exact", "expected"),
    [
        (("v5.1.1", "v5.2.0"), (), []),
        (("5.2.0",), (), []),
        (("v5.2", "v5.1"), (), []),
        (("v5.0.2", "v5.1.0"), (), ["version_mismatch"]),
        (("v5.1.1", "v5.2.1"), (), ["version_mismatch"]),
        (("v5.0", "v5.1.1", "v5.2.0"), (), []),
        ((), (), []),
        (("v5.1.1", "v5.2.0"), ("v5.1.1-rc.2", "v5.2.0"), []),
    ],
)
def test_a_sentence_names_the_versions_of_the_page(
    named: tuple[str, ...], exact: tuple[str, ...], expected: list[str]
) -> None:
    """A series, a pre-release and a missing ``v`` are other names of the same version; a third
    version beside the page's two is context.
    """
    said = claim(change("20.33"), versions=named)
    assert kinds(page(workload(FASTER, said), exact=exact)) == expected


def test_each_sentence_with_another_version_is_told() -> None:
    """Two sentences are two findings, with their lines."""
    wrong = [claim(change("20.33"), versions=["v5.0.2"], line=line) for line in (88, 99)]
    report = page(workload(FASTER, wrong[0]), workload(FASTER, wrong[1], name=INDEX))
    assert [(each.kind, each.line) for each in found_in(report)] == [
        ("version_mismatch", 88),
        ("version_mismatch", 99),
    ]


def test_a_table_of_other_versions_is_told_once() -> None:
    """The sentence beside it follows the table; the table does not follow the title."""
    versions = ("v5.0.2", "v5.1.0")
    rows = [row(4, {"tps": "100"}, {"tps": "110"}, "10.00", versions=versions)]
    said = claim(change("10"), versions=versions)
    report = page(workload(rows, said, versions=versions))
    assert [(each.kind, each.where) for each in found_in(report)] == [
        ("version_mismatch", "line 80, table of Results of oltp_point_select")
    ]


# ---------------------------------------------------------------- threads and latency


def latencies(*rows: tuple[int, str, str]) -> list[Row]:
    """Rows of one version: threads, TPS, p95."""
    return [row(threads, {"tps": tps, "p95_ms": p95}) for threads, tps, p95 in rows]


QUICK = latencies((50, "35000", "1.93"), (100, "65000", "2.00"))


def test_a_plan_of_other_threads_is_told_with_the_list_that_is_possible() -> None:
    """100 threads at 35,000 TPS are 2.9 ms in the mean and cannot have a p95 of 1.93."""
    report = page(
        workload(QUICK, versions=("v1.0",)),
        versions=("v1.0",),
        thread_lists=(thread_list(100, 200),),
    )
    (found,) = found_in(report)
    assert (found.kind, found.published, found.recomputed) == (
        "thread_plan_mismatch",
        "planned 100, 200; in the table 50, 100",
        "50, 100",
    )
    assert found.explanation.startswith("Little's law allows 50, 100 threads and refuses 100, 200")


def test_little_may_allow_both_lists_or_be_silent() -> None:
    """Fewer threads than planned have a lower mean; without p95 nothing can be told."""
    for rows, start in ((QUICK, "Little's law does not refuse"), (FASTER[:2], "without TPS")):
        versions = (OLD, NEW) if rows is not QUICK else ("v1.0",)
        report = page(
            workload(rows, versions=versions),
            versions=versions,
            thread_lists=(thread_list(10, 20),),
        )
        (found,) = found_in(report)
        assert found.recomputed is None
        assert found.explanation.startswith(start)
        assert found.explanation.endswith("which of them was measured")


@pytest.mark.parametrize(
    ("planned", "start"),
    [
        ((10,), "Little's law does not refuse 50, 100: "),
        ((300, 400), "Little's law allows 50, 100"),
    ],
)
def test_a_list_is_taken_only_where_the_other_is_refused(
    planned: tuple[int, ...], start: str
) -> None:
    """A plan of another length cannot be held against the rows, so nothing is told."""
    report = page(
        workload(QUICK, versions=("v1.0",)),
        versions=("v1.0",),
        thread_lists=(thread_list(*planned),),
    )
    (found,) = found_in(report)
    assert found.recomputed == ("50, 100" if len(planned) == 2 else None)
    assert found.explanation.startswith(start)


@pytest.mark.parametrize(
    "lists",
    [
        (),
        (thread_list(16, 8, 4),),
        (thread_list(1, 2), thread_list(4, 8, 16)),
        (thread_list(1, 2), thread_list(4, 8, 16, workloads=[POINT])),
        (thread_list(1, 2, workloads=[INDEX]),),
        (thread_list(4),),
        (thread_list(4), thread_list(8), thread_list(16)),
    ],
)
def test_a_plan_that_fits_or_is_of_another_workload_is_no_finding(lists: Any) -> None:
    """The order does not matter, a workload's own list is stronger than that of all, and one count
    of the table alone says nothing of the others.
    """
    assert kinds(page(workload(FASTER), thread_lists=lists)) == []


@pytest.mark.parametrize(
    ("p95", "expected"),
    [("80.0", ["implausible_latency"]), ("0", ["implausible_latency"]), ("98.2", []), ("99", []),
     ("99.2", []), ("300", [])],
)  # fmt: skip
def test_a_p95_is_not_below_the_mean(p95: str, expected: list[str]) -> None:
    """100 threads at 1,000.0 TPS take 100 ms. A p95 of sysbench may be 0.9 % low, and rounded."""
    rows = latencies((100, "1000.0", p95))
    report = page(workload(rows, versions=("v1.0",)), versions=("v1.0",))
    assert kinds(report) == (expected if p95 != "98.2" else ["implausible_latency"])


def test_queries_of_a_transaction_count_together() -> None:
    """20,000 QPS of oltp_read_write are 1,000 transactions: 110 ms are plausible at 100 threads."""
    rows = [row(100, {"qps": "20000", "p95_ms": "110"})]
    report = page(workload(rows, name=MIXED, metric="qps", versions=("v1.0",)), versions=("v1.0",))
    assert kinds(report) == []


OWN = "sysbench {} --threads=100 {} run"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (OWN.format(MIXED, "--table-size=5"), True),
        (OWN.format(MIXED, "--point-selects=1"), False),
        (OWN.format(MIXED, "--range_selects=off"), False),
        (OWN.format("$testname", "--skip-trx=on"), False),
        ("sudo " + OWN.format(MIXED, "--skip_trx=on"), False),
        (OWN.format(POINT, "--point-selects=1"), True),
        (OWN.format(MIXED, "--skip-trx=on").replace(" run", " prepare"), True),
    ],
)
def test_queries_of_a_transaction_that_a_command_sets_are_not_known(text: str, told: bool) -> None:
    """20,000 QPS at 100 threads are 100 ms only where a transaction has its 20 queries."""
    rows = [row(100, {"qps": "20000", "p95_ms": "20"})]
    found = workload(rows, name=MIXED, metric="qps", versions=("v1.0",))
    report = page(found, versions=("v1.0",), commands=(command(text),))
    assert kinds(report) == ["implausible_latency"] * told


@pytest.mark.parametrize(("metric", "told"), [("qps", False), ("tps", True)])
def test_queries_that_a_file_sets_are_not_known(metric: Metric, told: bool) -> None:
    """Where transactions are printed it does not matter how many queries each has."""
    block = Block("Options", "", "mysql-host=h\nrange_selects = off\n", 20)
    rows = [row(100, {metric: "2000", "p95_ms": "2"})]
    found = workload(rows, name=MIXED, metric=metric, versions=("v1.0",))
    report = page(found, versions=("v1.0",), parameters=(block,))
    assert kinds(report) == ["implausible_latency"] * told


# ---------------------------------------------------------------- commands and tools

RUN = "sysbench oltp_point_select --threads=8 --mysql-host={} --mysql-port={} run --tables=16"
TPCC = "tiup bench tpcc run --db tpcc --warehouses 500 --threads {{{{thread}}}} {}"


@pytest.mark.parametrize(
    ("run", "balancers", "ports", "expected"),
    [
        (RUN.format("$aws_nlb_host", "$aws_nlb_port"), ["HAProxy"], [], True),
        (RUN.format("$aws_nlb_host", "$aws_nlb_port"), ["NLB"], [], False),
        (RUN.format("$aws_nlb_host", "$aws_nlb_port"), ["HAProxy", "NLB"], [], False),
        (RUN.format("$aws_nlb_host", "$aws_nlb_port"), [], [], False),
        (RUN.format("${HOST}", "${PORT}"), ["HAProxy"], [3390], False),
        (RUN.format("$haproxy_host", "3390"), ["HAProxy"], [3390], False),
        (RUN.format("$haproxy_host", "4000"), ["HAProxy"], [3390], True),
        (RUN.format("127.0.0.1", "4000"), ["NLB"], [], True),
        (RUN.format("127.0.0.1", "4000"), ["HAProxy"], [], False),
        (TPCC.format("-H 127.0.0.1 -P 4000"), ["HAProxy"], [3390], True),
        (TPCC.format("--host=127.0.0.1 --port=3390"), ["HAProxy"], [3390], False),
        (TPCC.format("-H10.0.0.1 -P3390"), ["HAProxy"], [3390], False),
        (TPCC.format("-H 10.0.0.1"), ["HAProxy"], [3390], True),
        (TPCC.format("-H 10.0.0.1").replace("run", "prepare"), ["HAProxy"], [3390], False),
        (TPCC.format("-H 10.0.0.1").replace("run", "check"), ["HAProxy"], [3390], False),
        (TPCC.format("-H 10.0.0.1").replace("run", "cleanup"), ["HAProxy"], [3390], False),
        (RUN.format("127.0.0.1", "4000").replace("run", "cleanup"), ["NLB"], [], False),
    ],
)
def test_commands_go_where_the_plan_says(
    run: str, balancers: list[str], ports: list[int], expected: bool
) -> None:
    """Another address or port than the load balancer's is told; a placeholder is neither."""
    report = page(
        workload(FASTER),
        commands=(command(run),),
        load_balancers=tuple(balancers),
        entry_ports=tuple(ports),
    )
    assert kinds(report) == ["entry_point_mismatch"] * expected


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (TPCC.format("--warehouse 5"), ["--warehouse"]),
        (TPCC.format("-p 4000"), ["-p 4000"]),
        (TPCC.format("--warehouse=5 -p4000"), ["--warehouse", "-p 4000"]),
        (TPCC.format("-p 4000 -P 3390"), []),
        (TPCC.format("-p secret -U root --time 300s > run.log 2>&1 --bogus"), []),
        (TPCC.format("-p -1"), []),
        (TPCC.format("--no-check"), ["--no-check"]),
        (TPCC.format("--no-check").replace("run", "prepare"), []),
        ("go-tpc tpcc --host ${HOST} --warehouses 5 run -D tpcc -T 9 -p ${PASSWORD}", []),
        ("go-tpc tpcc run --host <the host> --warehouses 5 -Z 3", ["-Z"]),
        ("go-tpc tpch run --sf 5", []),
        ("tpcc-mysql run --warehouse 5", []),
        (RUN.format("a", "1") + " --table_size=5 --db-driver=mysql", []),
        (RUN.format("a", "1") + " --table-count=5", ["--table-count"]),
        (RUN.format("a", "1") + " --warmup-time=5", ["--warmup-time"]),
        ("sysbench my_own.lua --table-count=5 run", []),
        ("sysbench $testname --table-count=5 run", ["--table-count"]),
        ("sysbench oltp_insert --password='a b run", ["--password"]),
    ],
)
def test_a_client_has_its_options_and_no_others(text: str, wrong: list[str]) -> None:
    """Unknown options and a password that is a port are told; what is not certain is not."""
    found = found_in(
        page(workload(FASTER), commands=(command(text),), software={"Sysbench": "1.0.20"})
    )
    assert [each.kind for each in found] == ["command_error"] * len(wrong)
    assert [each.published for each in found] == wrong


@pytest.mark.parametrize("version", ["1.1.0-ead2689", None])
def test_a_newer_sysbench_has_newer_options(version: str | None) -> None:
    """1.1 can warm up; which it is has to be known before a page is blamed."""
    text = RUN.format("a", "1") + " --warmup-time=5"
    software = {"Sysbench": version} if version else {}
    assert kinds(page(workload(FASTER), commands=(command(text),), software=software)) == []


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ([TPCC.format("")], ["tool_mismatch"]),
        ([], []),
        (["./benchmarksql/runBenchmark.sh props", TPCC.format("")], []),
    ],
)
def test_a_tool_that_no_command_uses_is_told(commands: list[str], expected: list[str]) -> None:
    """BenchmarkSQL beside ``tiup bench`` alone is a mistake; beside its own command it is not."""
    report = page(
        workload([], name="tpcc"),
        commands=tuple(command(each) for each in commands),
        steps=(step("Load the data with BenchmarkSQL."),),
    )
    assert kinds(report) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Use sysbench 1.0.20.", []), ("Use sysbench 1.1.0.", ["tool_mismatch"]), ("16 tables", [])],
)
def test_a_step_names_the_sysbench_of_the_software(text: str, expected: list[str]) -> None:
    """Two versions of the client on one page cannot both have measured."""
    software = {"Sysbench": "1.0.20"}
    assert kinds(page(workload(FASTER), steps=(step(text),), software=software)) == expected


# ---------------------------------------------------------------- several pages


def two_reports(later: str, **values: Any) -> list[PublishedReport]:
    """Two reports that share v5.1.1; ``later`` is its TPS in the second."""
    first = page(
        workload([row(4, {"tps": "900"}, {"tps": "1000"}, versions=("v5.0", OLD))],
                 versions=("v5.0", OLD)),
        versions=("v5.0", OLD), source="first.md",
    )  # fmt: skip
    rows = [row(4, {"tps": later}, {"tps": "1000"}), row(8, {"tps": "1"}, {"tps": "1"})]
    return [first, page(workload(rows), source="second.md", **values)]


@pytest.mark.parametrize(("later", "drift"), [("1050", "5"), ("900", "-10"), ("1015", None)])
def test_a_version_that_two_reports_measured_apart_is_told(later: str, drift: str | None) -> None:
    """Beyond 2 %, in the later report, over the threads that both have."""
    first, second = audit(two_reports(later))
    assert first.findings == ()
    assert [(each.kind, each.recomputed) for each in second.findings] == (
        [("same_version_drift", Decimal(drift))] if drift else []
    )


def test_one_page_alone_has_no_drift() -> None:
    """There is nothing to compare it with."""
    assert kinds(two_reports("2000")[1]) == []


def test_the_cloud_is_another_place() -> None:
    """TiDB Cloud and own hosts are not compared, two pages of TiDB Cloud are."""
    own, other = two_reports("2000")
    cloud = replace(own, title=f"TiDB Cloud: {own.title}")
    assert kinds(cloud, other) == []
    assert kinds(cloud, replace(other, title=cloud.title)) == ["same_version_drift"]


def test_languages_of_one_report_are_not_compared() -> None:
    """A Chinese page beside the English one says the same again."""
    english = two_reports("1050")[1]
    chinese = two_reports("1050.0", language="zh")[1]
    assert kinds(english, chinese) == []
    both = audit([*two_reports("1050"), chinese])
    assert [len(each.findings) for each in both] == [0, 1, 0]


def test_more_exact_names_tell_versions_apart() -> None:
    """v5.1 of one page was v5.1.0, of the other v5.1.4."""
    first = page(
        workload([row(4, {"tps": "900"}, {"tps": "1000"}, versions=("v5.0", "v5.1"))],
                 versions=("v5.0", "v5.1")),
        versions=("v5.0", "v5.1"), exact=("v5.0.0", "v5.1.0"),
    )  # fmt: skip
    for exact, expected in (("v5.1.4", []), ("v5.1.0", ["same_version_drift"])):
        second = page(
            workload([row(4, {"tps": "2000"}, {"tps": "3000"}, versions=("v5.1", "v5.2"))],
                     versions=("v5.1", "v5.2")),
            versions=("v5.1", "v5.2"), exact=(exact, "v5.2.0"),
        )  # fmt: skip
        assert kinds(first, second) == expected


# ---------------------------------------------------------------- output


def test_the_json_has_numbers_and_nulls() -> None:
    """Figures are numbers, and what is missing is null."""
    rows = [row(4, {"tps": "1,000.5", "p95_ms": "5.10"}, {"tps": "1100"}), FASTER[1]]
    report = page(workload([rows[0]], claim(change("9.9"))), exact=(OLD, NEW))
    told = json.loads(json.dumps(audit([report])[0].to_json()))
    assert told["workloads"] == [
        {
            "name": POINT,
            "metric": "tps",
            "rows": [
                {
                    "threads": 4,
                    "sides": {
                        OLD: {"qps": None, "tps": 1000.5, "tpmc": None, "p95_ms": 5.1},
                        NEW: {"qps": None, "tps": 1100, "tpmc": None, "p95_ms": None},
                    },
                    "improvement_pct_published": None,
                    "improvement_pct": 9.945,
                }
            ],
            "headline_pct_published": 9.9,
            "headline_pct": 9.95,
        }
    ]
    assert {"report", "kind", "language", "versions", "findings", "unread"} <= set(told)


def test_a_clean_page_says_so_in_words() -> None:
    """And what was not read is listed beside."""
    report = page(workload(FASTER, claim(change("20.33"))))
    unread = PublishedReport(**{**vars(report), "unread": (Unread(12, "a table of colours"),)})
    text = audit_view.render(audit([report, unread]), 100, colour=False)
    assert text.count("no findings") == 2
    assert "not read, line 12: a table of colours" in text
    assert "2 pages, 0 findings, 2 without any" in text


def test_a_page_without_a_figure_is_not_called_clean() -> None:
    """As one in a language that is not known: nothing could be wrong in it."""
    report = PublishedReport(**{**vars(page(workload(FASTER))), "workloads": ()})
    text = audit_view.render(audit([report]), 100, colour=False)
    assert "0 workloads, 0 rows" in text
    assert "nothing could be recomputed" in text
    assert "no findings" not in text


def test_findings_are_shown_with_their_figures() -> None:
    """Kind, place, both figures and why, whatever control characters a page has."""
    report = page(workload(FASTER, claim(change("31"))), source="a\x1b[31m.md")
    text = audit_view.render(audit([report]), 160, colour=False)
    for word in ("1 finding", "headline_mismatch", "line 90", "31", "20.3", "the last row"):
        assert word in text
    assert "\x1b" not in text


# ---------------------------------------------------------------- Benchlab's own reports

OF_SENTENCES = set(KINDS[:6])


@pytest.mark.parametrize("code", ["en", "zh"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_own_reports_have_no_findings(name: str, code: str) -> None:
    """Neither language says of a campaign what its tables do not."""
    report = read(pages(name, code)["report.md"], f"{name}.md")
    assert report.workloads
    found = [each for each in audit([report])[0].findings if each.kind in OF_SENTENCES]
    assert found == []


@pytest.mark.parametrize("code", ["en", "zh"])
@pytest.mark.parametrize("fields", [{}, {"sides": "same"}, {"slowdown_pct": 30}])
@pytest.mark.parametrize("at_4", [1.0, 1.4])
def test_own_reports_of_one_workload_have_no_findings(
    code: str, fields: dict[str, Any], at_4: float
) -> None:
    """There each sentence of the page is about it, and one thread count may move on its own."""
    made = campaigns.campaign(workloads=[POINT], rounds=4, **fields)
    even = campaigns.known_change({POINT: -0.1}, noise=0.01)
    results = campaigns.results_of(
        made.plan,
        lambda trial: (
            even(trial) * (at_4 if (trial.side, trial.threads) == ("candidate", 4) else 1)
        ),
    )
    made_report = model.build(made, compare(made.plan, results, 2.0), results, language=load(code))
    (audited,) = audit([read(markdown.render(made_report), "page.md")])
    assert len(audited.report.workloads) == 1
    assert [each for each in audited.findings if each.kind in OF_SENTENCES] == []


# ---------------------------------------------------------------- the published pages


def audit_of(path: Path) -> Audit:
    """Of one file."""
    return audit([load_page(path)[0]])[0]


SEEDS = {
    "000": {"version_mismatch": 2, "entry_point_mismatch": 1},
    "001": {"thread_plan_mismatch": 2},
    "002": {"headline_mismatch": 1},
    "003": {"tool_mismatch": 1, "entry_point_mismatch": 1},
    "004": {"overview_mismatch": 1, "command_error": 2},
}


@with_shared
@pytest.mark.parametrize("number", sorted(SEEDS))
def test_the_five_documents_have_their_findings(number: str) -> None:
    """And no others."""
    (path,) = (SHARED / "seeds").glob(f"{number}_*")
    assert Counter(each.kind for each in audit_of(path).findings) == SEEDS[number]


PAGES: dict[str, dict[str, int]] = {
    "cloud-sysbench-v7.1": {"thread_plan_mismatch": 2},
    "cloud-tpcc-v7.1": {},
    "sysbench-v2.1-vs-v2.0": {"headline_mismatch": 1},
    "sysbench-v4.0-vs-v3.0": {"headline_mismatch": 4},
    "sysbench-v5.0-vs-v4.0": {"headline_mismatch": 1},
    "sysbench-v5.1.0-vs-v5.0.2": {"entry_point_mismatch": 1},
    "sysbench-v5.2.0-vs-v5.1.1": {"entry_point_mismatch": 1},
    "sysbench-v5.4.0-vs-v5.3.0": {"entry_point_mismatch": 1},
    "tpcc-v3.0-vs-v2.1": {"headline_mismatch": 1},
    "tpcc-v5.2": {"command_error": 1},
    "tpcc-v5.4": {"entry_point_mismatch": 1},
    "tpcc-v6.0": {"entry_point_mismatch": 1, "command_error": 1},
}
# What only the English page has.
ENGLISH = {
    "sysbench-v5.2.0-vs-v5.1.1": {"version_mismatch": 2},
    "tpcc-v5.2": {"tool_mismatch": 1},
    "tpcc-v5.4": {"tool_mismatch": 1},
    "tpcc-v6.0": {"tool_mismatch": 1, "command_error": 1},
}


@with_shared
@pytest.mark.parametrize("name", sorted(PAGES))
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_published_pages_have_the_findings_that_were_checked(name: str, language: str) -> None:
    """Each was read by a person and found to be true."""
    found = audit_of(SHARED / "published" / "pages" / f"{language}-{name}.md").findings
    expected = Counter(PAGES[name]) + Counter(ENGLISH.get(name, {}) if language == "en" else {})
    assert Counter(each.kind for each in found) == expected
    assert all(each.kind in KINDS and each.where and each.line for each in found)


@with_shared
def test_a_row_is_possible_at_its_threads_in_all_published_pages() -> None:
    """Little's law holds for every published latency, and every row recomputes."""
    for path in sorted((SHARED / "published" / "pages").glob("*.md")):
        told = {each.kind for each in audit_of(path).findings}
        assert not told & {"implausible_latency", "row_mismatch"}


@with_shared
def test_published_pages_drift_between_reports() -> None:
    """v4.0 was measured twice, in four workloads, 2 to 12 % apart."""
    pages = sorted((SHARED / "published" / "pages").glob("en-*.md"))
    audits = audit([load_page(path)[0] for path in pages])
    drifts = {
        audit_.report.source: [
            each.recomputed for each in audit_.findings if each.kind == "same_version_drift"
        ]
        for audit_ in audits
    }
    assert {source: found for source, found in drifts.items() if found} == {
        "en-sysbench-v5.0-vs-v4.0.md": [
            Decimal("4.77"), Decimal("5.71"), Decimal("2.06"), Decimal("11.90"),
        ]
    }  # fmt: skip
