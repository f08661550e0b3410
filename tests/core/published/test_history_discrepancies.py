"""The discrepancies that a history counts are those of its workload, each once."""

from __future__ import annotations

from benchlab.cli.history_text import history_of
from benchlab.published.audit.audit import audit
from tests.builders.published_page import CHINESE, PAIRS, page, read

WRONG = ("10.00%", "12.00%")


def _discrepancies(*texts: str, workload: str = "oltp_insert") -> list[int]:
    pages = [read(text, f"{number}.md") for number, text in enumerate(texts)]
    return [change.discrepancies for change in history_of(workload, pages, []).published]


def test_findings_of_another_workload_or_of_the_whole_page_do_not_count() -> None:
    """The page has three: one row of each workload, and a sentence about another version."""
    text = page(
        ("Insert", PAIRS.replace(*WRONG)),
        ("Point Select", PAIRS.replace(*WRONG)),
        ("Update Index", PAIRS),
        overview="Compared with v4.0, the Point Select performance of v4.9 is improved by 2.5%.",
    )
    assert len(audit([read(text, "page.md")])[0].discrepancies) == 3
    for workload, count in {"insert": 1, "point_select": 1, "update_index": 0}.items():
        assert _discrepancies(text, workload=workload) == [count]


def test_a_page_in_two_languages_has_its_findings_once() -> None:
    """Translations repeat them."""
    chinese = page(("插入", ""), ("Insert", CHINESE.replace(*WRONG)), language="zh")
    english = page(("Insert", CHINESE.replace(*WRONG)))
    assert _discrepancies(english, chinese) == [1]
