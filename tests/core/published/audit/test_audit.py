"""Audits as JSON and as text; the findings of Benchlab's own reports and of published pages."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from benchlab.analysis.verdict.compare import compare
from benchlab.language import load
from benchlab.published.audit import text as audit_view
from benchlab.published.audit.audit import Audit, audit
from benchlab.published.audit.finding import KINDS
from benchlab.published.page import load as load_page
from benchlab.published.reading.model import PublishedReport, Unread
from benchlab.report.formats import markdown
from benchlab.report.model import report as model
from tests.audited import (
    NEW,
    OLD,
    POINT,
    change,
    claim,
    page,
    row,
    workload,
)
from tests.builders import campaigns
from tests.builders.findings import FASTER
from tests.builders.published_page import read
from tests.core.language.test_language import CASES, pages

SHARED = Path(__file__).parents[4].parent / "shared"


with_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"{SHARED} is not there")


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
    """It also lists what was not read."""
    report = page(workload(FASTER, claim(change("20.33"))))
    unread = PublishedReport(**{**vars(report), "unread": (Unread(12, "a table of colours"),)})
    text = audit_view.render(audit([report, unread]), 100, colour=False)
    assert text.count("no findings") == 2
    assert "not read, line 12: a table of colours" in text
    assert "2 pages, 0 findings, 2 without any" in text


def test_a_page_without_a_figure_is_not_called_clean() -> None:
    """For example in an unknown language, where nothing could be found wrong."""
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


OF_SENTENCES = set(KINDS[:6])


@pytest.mark.parametrize("code", ["en", "zh"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_own_reports_have_no_findings(name: str, code: str) -> None:
    """In neither language does a report say about a campaign what its tables do not."""
    report = read(pages(name, code)["report.md"], f"{name}.md")
    assert report.workloads
    found = [finding for finding in audit([report])[0].findings if finding.kind in OF_SENTENCES]
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
    assert [finding for finding in audited.findings if finding.kind in OF_SENTENCES] == []


def audit_of(path: Path) -> Audit:
    """The audit of one file."""
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
    """They have these findings and no others."""
    (path,) = (SHARED / "seeds").glob(f"{number}_*")
    assert Counter(finding.kind for finding in audit_of(path).findings) == SEEDS[number]


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
    assert Counter(finding.kind for finding in found) == expected
    assert all(finding.kind in KINDS and finding.where and finding.line for finding in found)


@with_shared
def test_a_row_is_possible_at_its_threads_in_all_published_pages() -> None:
    """Little's law holds for every published latency, and every row recomputes."""
    for path in sorted((SHARED / "published" / "pages").glob("*.md")):
        told = {finding.kind for finding in audit_of(path).findings}
        assert not told & {"implausible_latency", "row_mismatch"}


@with_shared
def test_published_pages_drift_between_reports() -> None:
    """v4.0 was measured twice, in four workloads, 2 to 12 % apart."""
    pages = sorted((SHARED / "published" / "pages").glob("en-*.md"))
    audits = audit([load_page(path)[0] for path in pages])
    drifts = {
        audit_.report.source: [
            finding.recomputed
            for finding in audit_.findings
            if finding.kind == "same_version_drift"
        ]
        for audit_ in audits
    }
    assert {source: found for source, found in drifts.items() if found} == {
        "en-sysbench-v5.0-vs-v4.0.md": [
            Decimal("4.77"), Decimal("5.71"), Decimal("2.06"), Decimal("11.90"),
        ]
    }  # fmt: skip
