"""Which pages are one report: by their figures, not by their versions alone."""

from __future__ import annotations

from benchlab.cli.history_text import history_of
from benchlab.published.audit import check_drift
from benchlab.published.audit.audit import audit
from benchlab.published.model import PublishedReport
from tests.builders.published_page import read

POINT = "oltp_point_select"


def page(
    new: str = "v7.1.0",
    old: str = "v7.0.0",
    figures: tuple[str, str] = ("1,000", "1,100"),
    *,
    product: str = "TiDB",
    chinese: bool = False,
) -> PublishedReport:
    """A page with one row."""
    name, versus, results, threads = (
        ("性能对比测试报告", "对比", "测试结果", "线程数")
        if chinese
        else ("Performance Test Report", "vs.", "Test results", "Threads")
    )
    return read(
        f"# {product} Sysbench {name} -- {new} {versus} {old}\n\n## {results}\n\n"
        "### Point Select\n\n"
        f"| {threads} | {old} QPS | {new} QPS |\n|:--|:--|:--|\n"
        f"| 100 | {figures[0]} | {figures[1]} |\n",
        f"{product}-{new}-{figures[1]}{'-zh' * chinese}.md",
    )


def drifts(*pages: PublishedReport) -> list[tuple[str, str]]:
    """In which page a drift is found, and against which."""
    return [
        (
            audited.report.source,
            discrepancy.explanation.partition("against ")[2].partition(", mean")[0],
        )
        for audited in audit(pages)
        for discrepancy in audited.discrepancies
        if discrepancy.kind == "same_version_drift"
    ]


def test_a_page_and_its_translation_are_one_report() -> None:
    """However its numbers are written; a drift is found once, in the English page."""
    english, chinese = page(), page(figures=("1000", "1100.0"), chinese=True)
    results = english.workloads[0], chinese.workloads[0]
    assert check_drift.identity_of(english, results[0]) == check_drift.identity_of(
        chinese, results[1]
    )
    later = page("v7.2.0", "v7.1.0", ("2000", "2100"))
    assert drifts(chinese, english, later) == [(later.source, english.source)]
    (once,) = history_of(POINT, [english, chinese], []).published
    assert len(once.reports) == 2


def test_two_reports_of_the_same_versions_are_two() -> None:
    """A rerun with other figures is not dropped: both drift against a third, and apart."""
    first, rerun = page(), page(figures=("3,000", "3,300"))
    later = page("v7.2.0", "v7.1.0", ("2000", "2100"))
    assert {(later.source, first.source), (later.source, rerun.source)} <= set(
        drifts(first, rerun, later)
    )
    assert any({*pair} == {first.source, rerun.source} for pair in drifts(first, rerun))
    assert len(history_of(POINT, [first, rerun], []).published) == 2


def test_the_cloud_is_another_place_even_with_the_same_figures() -> None:
    """A page of TiDB Cloud is no translation of one of own hosts."""
    own, cloud = page(), page(product="TiDB Cloud")
    assert own.id != cloud.id
    assert check_drift.identity_of(own, own.workloads[0]) != check_drift.identity_of(
        cloud, cloud.workloads[0]
    )
    assert len(history_of(POINT, [own, cloud], []).published) == 2
