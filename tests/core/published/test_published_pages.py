"""Published pages are read as they are printed, where they are; their texts are not ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchlab.published.page import load as load_page
from benchlab.published.page import whole
from tests.builders.pages_read import improvements, printed

SHARED = Path(__file__).parents[3].parent / "shared"


NOT_HERE = pytest.mark.skipif(
    not SHARED.is_dir(),
    reason="without ../shared: that the pages' own Markdown, titles and headings are read; "
    "tests/golden/test_published_pages.py has their figures",
)


METRICS_OF = {"QPS_raw": "qps", "TPS_raw": "tps", "tpmC_raw": "tpmc", "p95_ms_raw": "p95_ms"}


def truth() -> list[dict[str, Any]]:
    """The pages' parsed tables."""
    if not SHARED.is_dir():
        return []
    found: list[dict[str, Any]] = json.loads((SHARED / "published" / "tables.json").read_text())
    return found


@NOT_HERE
@pytest.mark.parametrize("expected", truth(), ids=lambda page: page["source"])
def test_published_pages(expected: dict[str, Any]) -> None:
    """Every figure of the published pages is read as it is printed there."""
    report = load_page(SHARED / "published" / "pages" / expected["source"])[0]
    titled = expected["versions_title"]
    assert whole(report, report.source) is report
    assert (report.title, report.kind, report.language) == (
        expected["title"],
        expected["kind"],
        expected["language"],
    )
    assert report.versions == tuple(v for v in (titled["old"], titled["new"]) if v)
    assert report.exact_versions == tuple(reversed(expected.get("versions_exact") or ()))
    for workload, section in zip(report.workloads, expected["sections"], strict=True):
        assert workload.name.removeprefix("oltp_") == section["workload"]
        assert workload.heading == section["section"].split(" / ")[-1].replace("`", "")
        stated = [found for found in section["claims"] if "%" in json.dumps(found)]
        assert len(workload.claims) == len(stated)
        assert printed(workload) == {
            version: {
                METRICS_OF[name]: list(zip(side["threads"], cells, strict=True))
                for name, cells in side.items()
                if name in METRICS_OF
            }
            for version, side in section["series"].items()
        }
        raw = [printed["raw"].rstrip("%") for printed in section["published_improvement"]]
        assert [text for text in improvements(workload) if text] == raw
