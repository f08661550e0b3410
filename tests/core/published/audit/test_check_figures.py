"""Printed improvements and headlines: what does not recompute is found, what does is left alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.published import recompute
from benchlab.published.audit.audit import audit
from benchlab.published.audit.discrepancy import Discrepancy
from benchlab.published.model import PublishedReport, Row, Stated
from tests.audited import (
    INDEX,
    NEW,
    OLD,
    POINT,
    change,
    claim,
    headline_of,
    page,
    row,
    table,
    workload,
)
from tests.builders.discrepancies import FASTER, found_in, kinds

SLOWER = table((4, "1000", "957"), (8, "2500", "2394"))  # -4.3, -4.24 %


def test_a_row_that_does_not_recompute_is_found() -> None:
    """The discrepancy has both numbers, and the line, section and threads."""
    rows = [*FASTER, row(32, {"tps": "4000"}, {"tps": "5000"}, "24.90", line=99)]
    assert found_in(page(workload(rows))) == [
        Discrepancy(
            "row_mismatch",
            "line 99, Results of oltp_point_select, 32 threads",
            99,
            Decimal("24.90"),
            Decimal("25.000"),
            workload=POINT,
        )
    ]


@pytest.mark.parametrize("printed", ["24.99", "25.01", "25", "25.0"])
def test_what_rounding_can_explain_is_no_discrepancy(printed: str) -> None:
    """Throughput is rounded as well: 4000 and 5000 allow 24.97 to 25.03."""
    assert kinds(page(workload([row(32, {"tps": "4000"}, {"tps": "5000"}, printed)]))) == []


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        ("31", "it fits the row of 16 threads, 31.00"),
        ("10.0", "it fits the row of 4 threads, 10.00"),
        ("20.3", None),
        ("20.33", None),
        ("20", None),
        ("20.4", "no single row fits it"),
        ("5", "no single row fits it"),
    ],
)
def test_a_headline_is_the_mean_of_the_rows(printed: str, why: str | None) -> None:
    """Fewer decimals are right; another number is found, with what it is instead."""
    found = found_in(page(workload(FASTER, claim(change(printed)))))
    assert [(discrepancy.kind, discrepancy.explanation) for discrepancy in found] == (
        [("headline_mismatch", why)] if why else []
    )


def test_a_truncated_headline_is_found() -> None:
    """4.27 % down is 4.3 with one digit, and 4.2 only when it is cut."""
    found = found_in(page(workload(SLOWER, claim(change("4.2", -1)))))
    assert [discrepancy.kind for discrepancy in found] == ["headline_mismatch"]
    assert "the mean, -4.27, cut off" in found[0].explanation
    assert kinds(page(workload(SLOWER, claim(change("4.3", -1))))) == []


def test_the_headline_of_an_overview_counts_where_the_section_has_none() -> None:
    """A section without a sentence takes the overview's number."""
    overview = claim(change("31", workload=POINT), place="overview")
    report = page(workload(FASTER), workload(SLOWER, name=INDEX), claims=[overview])
    assert kinds(report) == ["headline_mismatch"]
    assert audit([report])[0].to_json()["workloads"][0]["headline_pct_published"] == 31


def test_a_chart_alone_gives_no_headline_to_compare() -> None:
    """What cannot be recomputed is null and not a discrepancy."""
    report = page(workload([], claim(change("99"))))
    assert kinds(report) == []
    assert audit([report])[0].to_json()["workloads"][0] == {
        "name": POINT,
        "metric": None,
        "rows": [],
        "headline_pct_published": 99,
        "headline_pct": None,
    }


@st.composite
def tables(draw: st.DrawFn) -> list[Row]:
    """A table as it would be printed: rounded figures, improvements from those not rounded."""
    figures = st.decimals("500", "500000", places=4)
    places = draw(st.sampled_from([0, 2]))
    rows = []
    for threads in draw(st.lists(st.integers(1, 2000), min_size=1, max_size=6, unique=True)):
        old, new = draw(figures), draw(figures)
        exact = (new - old) / old * 100
        shown = [str(recompute.rounded_to(figure, places)) for figure in (old, new)]
        percent = str(recompute.rounded_to(exact, 2))
        rows.append(row(threads, {"tps": shown[0]}, {"tps": shown[1]}, percent))
    return rows


def sentence(rows: Sequence[Row], places: int) -> Any:
    """What a careful author writes about a table."""
    mean = recompute.rounded_to(headline_of(rows), places)
    return change(str(abs(mean)), -1 if mean < 0 else 1)


@given(tables(), tables())
def test_a_page_with_computed_figures_has_no_discrepancies(
    one: list[Row], other: list[Row]
) -> None:
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


@given(tables(), st.data(), st.sampled_from([1, -1]))
def test_one_changed_improvement_is_one_discrepancy(
    rows: list[Row], data: st.DataObject, sign: int
) -> None:
    """One row beyond rounding gives one ``row_mismatch``, in its line, and nothing else."""
    at = data.draw(st.integers(0, len(rows) - 1))
    whole = workload(rows)
    bounds = recompute.improvement(rows[at], whole)
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
    assert [(discrepancy.kind, discrepancy.line) for discrepancy in found_in(report)] == [
        ("row_mismatch", 123)
    ]


@pytest.mark.parametrize(("pct", "expected"), [("4.22", []), ("4.2", []), ("4.30", ["4.30"])])
def test_the_overview_repeats_the_section(pct: str, expected: list[str]) -> None:
    """A number other than the section's is found even without a table; fewer decimals are
    allowed.
    """
    overview = claim(change(pct, -1, POINT), place="overview", line=9)
    found = found_in(page(workload([], claim(change("4.22", -1))), claims=[overview]))
    assert [(discrepancy.kind, str(discrepancy.published)) for discrepancy in found] == [
        ("overview_mismatch", f"-{pct}") for pct in expected
    ]


def test_a_number_in_another_section_is_found_where_it_stands() -> None:
    """The discrepancy names the section of the sentence, not that of its workload."""
    aside = claim(change("31", workload=POINT), line=99)
    sections = (workload(FASTER, claim(change("20.33"))), workload(SLOWER, aside, name=INDEX))
    assert [
        (discrepancy.kind, discrepancy.where, discrepancy.explanation)
        for discrepancy in found_in(page(*sections))
    ] == [
        (
            "overview_mismatch",
            "line 99, Results of oltp_update_index",
            "20.33 in line 90, Results of oltp_point_select",
        )
    ]


def test_all_sentences_are_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit reads the claims once, however many there are."""
    calls: list[PublishedReport] = []
    stated = PublishedReport.stated

    def counted(report: PublishedReport) -> Iterator[Stated]:
        calls.append(report)
        return stated(report)

    monkeypatch.setattr(PublishedReport, "stated", counted)
    claims = [claim(change("31"), line=line) for line in range(90, 290)]
    assert len(found_in(page(workload(FASTER, *claims)))) == 1
    assert len(calls) == 1


def test_a_wrong_headline_that_is_repeated_is_found_once() -> None:
    """The overview agrees with the section, so it has no fault of its own."""
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
    summary = claim(change(pct, 1, POINT, threads), place="summary")
    assert kinds(page(workload(FASTER), claims=[summary])) == expected


def test_a_summary_may_follow_the_table_where_a_row_is_wrong() -> None:
    """A wrong row that the summary repeats is one fault: the row's."""
    rows = [row(4, {"tps": "1000"}, {"tps": "1100"}, "12.00")]
    summary = claim(change("12", 1, POINT, 4), place="summary")
    assert kinds(page(workload(rows), claims=[summary])) == ["row_mismatch"]


def test_an_improvement_of_which_only_the_word_is_wrong() -> None:
    """4.27 % less that is called an improvement is one discrepancy: the direction."""
    report = page(workload(SLOWER, claim(change("4.27", 1))))
    assert [
        (discrepancy.kind, discrepancy.published, discrepancy.recomputed)
        for discrepancy in found_in(report)
    ] == [("direction_mismatch", "improved by 4.27 %", Decimal("-4.270"))]
