"""Audits as JSON and as text."""

from __future__ import annotations

import json

from benchlab.cli import pages as audit_view
from benchlab.published.audit.audit import audit
from benchlab.published.model import PublishedReport, Unread
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
from tests.builders.discrepancies import FASTER


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
                        OLD: {"qps": None, "tps": 1000.5, "tpmc": None, "qpm": None, "p95_ms": 5.1},
                        NEW: {"qps": None, "tps": 1100, "tpmc": None, "qpm": None, "p95_ms": None},
                    },
                    "improvement_pct_published": None,
                    "improvement_pct": 9.945,
                }
            ],
            "headline_pct_published": 9.9,
            "headline_pct": 9.95,
        }
    ]
    assert {"report", "kind", "language", "versions", "discrepancies", "unread"} <= set(told)


def test_a_clean_page_says_so_in_words() -> None:
    """It also lists what was not read."""
    report = page(workload(FASTER, claim(change("20.33"))))
    unread = PublishedReport(
        **{**vars(report), "unread": (Unread(12, "Colours", "no-throughput"),)}
    )
    text = audit_view.render(audit([report, unread]), 100, colour=False)
    assert text.count("no discrepancies") == 2
    assert "not read, line 12, below 'Colours': a table without throughput" in text
    assert "2 pages, 0 discrepancies, 2 without any" in text


def test_a_page_without_a_figure_is_not_called_clean() -> None:
    """For example in an unknown language, where nothing could be found wrong."""
    report = PublishedReport(**{**vars(page(workload(FASTER))), "workloads": ()})
    text = audit_view.render(audit([report]), 100, colour=False)
    assert "0 workloads, 0 rows" in text
    assert "nothing could be recomputed" in text
    assert "no discrepancies" not in text


def test_findings_are_shown_with_their_figures() -> None:
    """Kind, place, both figures and why, whatever control characters a page has."""
    report = page(workload(FASTER, claim(change("31"))), source="a\x1b[31m.md")
    text = audit_view.render(audit([report]), 160, colour=False)
    for word in ("1 discrepancy", "headline_mismatch", "line 90", "31", "20.3", "16 threads"):
        assert word in text
    assert "\x1b" not in text
