"""A page rendered anew in every format."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest

from benchlab import language
from benchlab.plan.document_tables import Shape
from benchlab.published.model import Block, Fact, from_json
from benchlab.published.rendering import bundle as published
from tests.builders.recorded_page import (
    COLUMNS,
    NOTHING,
    OLD,
    RECORDED,
    markdown,
    numbers,
    report,
    workload,
)


def test_every_format_is_there_and_the_same_data_give_the_same_bytes() -> None:
    """There is a chart for each workload with figures, and none for others."""
    found = report(workload(), workload(shape=None, name="oltp_insert"))
    files = published.make(found, language.english())
    assert sorted(files) == [
        *("charts/oltp_point_select.svg", "figures.csv"),
        *("report.html", "report.json", "report.md"),
    ]
    assert published.make(found, language.english()) == files


def test_figures_csv_has_what_is_printed_and_leaves_missing_empty() -> None:
    """There is a row for each workload, thread count and version."""
    files = published.make(report(), language.english())
    found = list(csv.DictReader(io.StringIO(files["figures.csv"].decode())))
    assert len(found) == 4
    assert found[0] == {
        "workload": "oltp_point_select", "threads": "50", "version": OLD,
        "qps": "", "tps": "9,876.50", "tpmc": "", "qpm": "", "p95_ms": "9.1",
    }  # fmt: skip


def test_report_json_has_the_data_and_what_was_computed() -> None:
    """And the data come back from it."""
    document = json.loads(published.make(report(), language.english())["report.json"])
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


def test_html_stands_alone_and_takes_nothing_recorded_for_markup() -> None:
    """Charts are in it; nothing is fetched, nothing of the source is a tag."""
    block = Block("<script>x</script>", "yaml", "<img src=y>", 3)
    place = Fact("Test environment", "Place", "<b>Here</b> [a](b)", 4)
    found = report(setting=replace(NOTHING, parameters=(block,), facts=(place,)))
    text = published.make(found, language.load("zh"))["report.html"].decode()
    assert '<html lang="zh">' in text
    assert re.findall(r'(?:src|href)="(?!data:image/svg)', text) == []
    assert "<script" not in text
    assert "<img src=y" not in text
    assert "&lt;b&gt;Here&lt;/b&gt; [a](b)" in text


@pytest.mark.parametrize("shape", [*COLUMNS])
def test_every_language_has_the_same_figures(shape: Shape) -> None:
    """Number by number; sentences may put them in another order."""
    found = report(workload(shape=shape), setting=RECORDED)
    assert numbers(markdown(found, "en")) == numbers(markdown(found, "zh"))
