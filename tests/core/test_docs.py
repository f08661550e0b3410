"""The page of the published plans is what the plans say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchlab import home
from benchlab.campaign import report_types
from benchlab.errors import SpecError
from tools.docs import published_plans

PROJECT = home.find().project


def test_every_difference_of_every_document_is_on_it() -> None:
    """Beside what is measured, a line for each thing that documents say."""
    page = published_plans.page(home.find())
    for path in report_types.published_files(home.find()):
        spec = report_types.load(path)
        assert spec.published is not None
        assert f"## {spec.published.document}\n" in page
        assert all(sentence in page for sentence in spec.published.sentences)
    assert "oltp_point_select, oltp_read_write: 50, 100, 200 threads; oltp_update_non_index" in page
    assert "HAProxy at port 3390, roundrobin, maxconn 4000, nbthread 64, retries 2, timeout" in page


def test_the_page_follows_the_plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed plan is on the next page; one that does not validate is named."""
    shutil.copytree(PROJECT / "configs", tmp_path / "configs")
    monkeypatch.setenv("BENCHLAB_PROJECT", str(tmp_path))
    plan = tmp_path / "configs/published/tpcc_v540_vs_v530.yaml"
    plan.write_text(plan.read_text().replace("retries: 2", "retries: 5"))
    assert "retries 5" in published_plans.page(home.find())

    plan.write_text("report: [")
    with pytest.raises(SpecError, match=r"tpcc_v540_vs_v530\.yaml"):
        published_plans.page(home.find())
