"""Of pages as others write them nothing is read as something else, and no table vanishes.

What each says, and what is right, stands in ``published_pages_of_others.yaml``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlab.errors import PublishedPageError
from benchlab.published import recompute
from benchlab.published.audit.audit import audit
from tests.builders.pages_read import printed
from tests.builders.published_page import read

PAGES: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("published_pages_of_others.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("recorded", PAGES, ids=lambda recorded: recorded["what"])
def test_a_page_is_read_as_far_as_it_is_understood(recorded: dict[str, Any]) -> None:
    """Every figure with its version, workload and unit; every other table with its reason."""
    report = read(recorded["page"], "page.md")
    assert list(report.versions) == recorded["versions"]
    assert {
        workload.name: {
            version: [
                " ".join([str(threads), *(cells[metric] for metric in cells)])
                for threads, cells in rows_of(figures).items()
            ]
            for version, figures in printed(workload).items()
        }
        for workload in report.workloads
    } == recorded.get("figures", {})
    unread = [f"{one.id} below {one.heading}" for one in report.unread]
    assert unread == recorded.get("unread", [])
    assert audit([report])[0].discrepancies == ()
    if "mean" in recorded:
        (mean,) = map(recompute.headline, report.workloads)
        assert mean is not None
        assert f"{mean.exact:.2f}" == recorded["mean"]
    if "claims" in recorded:
        claims = [claim for workload in report.workloads for claim in workload.claims]
        assert [list(claim.versions) for claim in claims] == recorded["claims"]


def rows_of(figures: dict[Any, list[tuple[int, str]]]) -> dict[int, dict[Any, str]]:
    """The cells of each thread count, by metric."""
    rows: dict[int, dict[Any, str]] = {}
    for metric, cells in figures.items():
        for threads, cell in cells:
            rows.setdefault(threads, {})[metric] = cell
    return rows


@pytest.mark.parametrize(
    ("title", "heading", "said"),
    [
        (
            "Sysbench -- v6.1.0 vs. v6.0.0",
            "ポイントセレクト {#point-select}",
            "ポイント選択のパフォーマンスは2.1％わずかに低下します。",
        ),
        ("Sysbench 性能試験 v6.1.0 vs. v6.0.0", "試験結果", "v6.1.0の性能は2.1％向上しています。"),
        ("Sysbench v6.1.0 vs. v6.0.0", "결과", "성능이 2.1% 향상되었습니다."),
        ("Тест Sysbench v6.1.0 vs. v6.0.0", "Insert", "Производительность выросла на 2.1%."),
    ],
)
def test_a_page_in_another_language_is_refused(title: str, heading: str, said: str) -> None:
    """It is neither the Chinese page of these versions nor an English one without results."""
    table = "| Threads | v6.0.0 TPS | v6.1.0 TPS |\n|---|---|---|\n| 300 | 268934 | 265353 |"
    with pytest.raises(PublishedPageError, match=r"line 1: .* neither English nor Chinese"):
        read(f"# {title}\n\n## {heading}\n\n{table}\n\n{said}\n", "page.md")


def test_a_page_may_quote_a_name_in_another_script() -> None:
    """One word does not make it a page of another language."""
    said = "The Insert performance of v5.1 is improved by 2%. " + "It was measured again. " * 9
    report = read(f"# Sysbench v5.1 vs. v5.0\n\n{said}\n\nThanks to Иван.\n", "page.md")
    assert report.language == "en"


@pytest.mark.parametrize(
    "title", ["Sysbench 1.0.20 report", "5.2 Sysbench results", "Sysbench on CentOS 7.9"]
)
def test_a_number_in_a_title_is_no_version(title: str) -> None:
    """It is another program's, or a chapter's."""
    with pytest.raises(PublishedPageError, match=r"names no versions; .*written as v6\.5\.0"):
        read(f"# {title}\n\nThe Insert performance is improved by 2%.\n", "page.md")
