"""Sentences that state changes in percent are read in known forms, and no others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.published.document import Element
from benchlab.published.model import Claim, Unread
from benchlab.published.sentences import claims, sentences, stated_changes
from tests.builders.pages_read import listed, only
from tests.builders.published_page import PAIRS, page

POINT, MIXED = "oltp_point_select", "oltp_read_write"
INDEX, OTHER = "oltp_update_index", "oltp_update_non_index"


def changes(text: str, workload: str | None = None) -> list[tuple[str | None, int | None, str]]:
    """Workload, thread count and signed percentage of each."""
    return [(one.workload, one.threads, f"{one.value:+}") for one in stated_changes(text, workload)]


FORMS = {
    "Compared with v5.1.1, the Point Select performance of v5.2.0 is improved by 11.03%.": [
        (POINT, None, "+11.03")
    ],
    "Compared with v4.0, the read-write performance of TiDB v5.0 has increased by 9%.": [
        (MIXED, None, "+9")
    ],
    "Compared with v5.3.0, the Update Index performance is slightly reduced by 0.64%.": [
        (INDEX, None, "-0.64")
    ],
    "Point Select performance improved by 2.7%, Update Index by 81%, and Read Write by 9%.": [
        (POINT, None, "+2.7"),
        (INDEX, None, "+81"),
        (MIXED, None, "+9"),
    ],
    "TiDB v5.2.0 shows an 11.03% improvement in Point Select performance.": [
        (POINT, None, "+11.03")
    ],
    "TiDB 2.1 is better in the `Point Select` test, with a 50% increase in query performance.": [
        (POINT, None, "+50")
    ],
    "TiDB v5.2.0 TPC-C performance is 4.22% lower than v5.1.1.": [("tpcc", None, "-4.22")],
    "The improvement is consistent across different thread counts 2.80% (50 threads), 4.27% (100"
    " threads), and 2.11% (400 threads).": [
        (None, 50, "+2.80"),
        (None, 100, "+4.27"),
        (None, 400, "+2.11"),
    ],
    "v5.1 对比 v5.0，Update Non-index 性能下降了 2.7%。": [(OTHER, None, "-2.7")],
    "v2.1 比 v2.0 在 Point Select 查询性能上，提升了 50%。": [(POINT, None, "+50")],
    "v6.0 相比 v5.4 在 TPC-C 性能上有大幅提升，平均提升了 24.20%。": [("tpcc", None, "+24.20")],
    "Point Select、Update Index 和 Read Write 性能分别提升了 14%、17% 和 31%。": [
        (POINT, None, "+14"),
        (INDEX, None, "+17"),
        (MIXED, None, "+31"),
    ],
}


@pytest.mark.parametrize("text", FORMS)
def test_a_sentence_in_a_known_form(text: str) -> None:
    """Those of TiDB's documentation, in both languages."""
    assert changes(text) == FORMS[text]


@pytest.mark.parametrize(
    "text",
    [
        "TiDB v5.4.0 shows improved performance of 2.59% to 4.85% in write-heavy workloads.",
        "The performance of v5.4.0 is improved by 2.59% ~ 4.85% in the write-heavy workload.",
        "The Point Select performance is improved by up to 31%.",
        "The Point Select performance improved by at least 10%.",
        "The p95 latency of Point Select is reduced by 5%.",
        "The Point Select performance is not reduced by 5%.",
        "Bulk insert performance improved by 5%.",
        "The Point Select performance of v5.1 is improved by 5%, and its CPU usage is 90%.",
        "The Point Select performance of v5.1 is improved by 5% (95% interval 4% to 6%).",
        "批量插入性能提升了 5%。",
        "v5.4.0 的 tpmC 均有提升，最高达 26.97%。",
        "Point Select、Update Index 和 Read Write 性能分别提升了 14% 和 31%。",
    ],
)
def test_any_other_sentence_with_a_percentage_states_nothing(text: str) -> None:
    """It is listed with its line: a part of it alone is not taken."""
    assert changes(text) == []
    found = listed(page(("Point Select", f"{PAIRS}\n\n{text}")))
    assert [what.partition(" @")[0] for what in found] == ["sentence"]


@pytest.mark.parametrize(
    "text",
    ["Update Index on both versions is almost the same.", "The 95% latency is in the table."],
)
def test_a_sentence_without_a_change_in_percent_is_quoted(text: str) -> None:
    """It states nothing that figures could deny, and is no fault of the page."""
    body = f"{PAIRS}\n\n{text}"
    assert only(page(("Point Select", body))).claims == ()
    assert listed(page(("Point Select", body))) == []


def test_a_sentence_that_names_no_workload_is_about_its_section() -> None:
    """On a page about TPC-C that is the page."""
    text = "The performance of TiDB 3.0 has increased by 450% than that of TiDB 2.1."
    assert changes(text, "tpcc") == [("tpcc", None, "+450")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Compared with v5.0, the Insert performance of v5.1 is improved by 4%.", True),
        ("Compared with v5.1, the Insert performance of v5.0 is reduced by 4%.", False),
        ("v5.0 对比 v5.1，Insert 性能下降了 4%。", False),
        ("Compared with v4.0, the Insert performance of v5.1 is improved by 4%.", True),
    ],
)
def test_what_is_said_of_the_baseline_has_another_base(text: str, told: bool) -> None:
    """Its percentage is not that of the rows, so it is listed, and not compared with them."""
    found = only(page(("Insert", f"{PAIRS}\n\n{text}")))
    assert len(found.claims) == told


def test_versions_of_a_sentence() -> None:
    """As printed, each once; a thread count or a percentage is none."""
    text = "Compared with v5.0.2, the Insert performance of TiDB 5.1 is improved by 4.5%."
    found = only(page(("Insert", f"{PAIRS}\n\n{text}")))
    assert found.claims[0].versions == ("v5.0.2", "5.1")


def test_sentences_end_at_full_stops() -> None:
    """Before a space, Chinese or the end; not in a version or after "vs."."""
    text = 'Really?! v5.1.1 vs. v5.0 is new. (v5.0.) 好。好！"a..b" x.'
    assert list(sentences(text)) == [
        *("Really?!", "v5.1.1 vs. v5.0 is new.", "(v5.0.) 好。", "好！", '"a..b" x.'),
    ]


@given(
    st.text(
        st.sampled_from("5% vV.0 byimproved提升了，。、Insert performance性能 the"), max_size=80
    )
)
def test_any_text_is_answered(text: str) -> None:
    """Every percentage of it is in a claim, or the sentence is listed."""
    for one in claims(Element("text", 1, text), "section", ("v5.0", "v5.1"), POINT):
        assert isinstance(one, Claim | Unread)
        if isinstance(one, Claim):
            assert one.changes
