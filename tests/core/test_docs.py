"""The pages of the published plans and of faults are what plans and tests say."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from benchlab import home
from benchlab.campaign import report_types
from benchlab.errors import SpecError
from tools.docs import published_plans, reliability

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


def test_each_claim_of_the_page_on_security_has_a_test_that_exists() -> None:
    """By name, in the file that is linked; each row of promises has at least one."""
    page = (PROJECT / "docs" / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"\[`(\w+)`\]\(\.\./(tests/[\w/]+\.py)\)", page)
    assert len(named) > 30
    for name, file in named:
        assert re.search(rf"^def {name}\(", (PROJECT / file).read_text(), re.MULTILINE), name
    for table in re.findall(
        r"^\| promise \| test \|\n\|---\|---\|\n((?:\|.*\n)+)", page, re.MULTILINE
    ):
        for row in table.splitlines():
            assert "](../tests/" in row, row


def test_every_fault_that_was_tried_is_on_the_page() -> None:
    """Under its heading, with its test; and the page in `docs` is that page."""
    page = reliability.page(home.find())
    rows = [line for line in page.splitlines() if line.startswith("| ") and "](../tests/" in line]
    assert len(rows) >= 48
    assert f"{len(rows)} faults were tried" in page
    assert all(f"## {heading}\n" in page for heading in reliability.HEADINGS.values())
    assert (PROJECT / reliability.PLACE).read_text() == page


@pytest.mark.parametrize(
    "mark",
    ["'a', promise='b'", "promise='b', of='disks'", "'a', promise='b', of='elsewhere'"],
    ids=["no heading", "no fault", "another heading"],
)
def test_a_mark_that_is_no_row_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    """By file and test."""
    shutil.copytree(PROJECT / "configs", tmp_path / "configs")
    monkeypatch.setenv("BENCHLAB_PROJECT", str(tmp_path))
    (tmp_path / "tests").mkdir()
    text = f"@pytest.mark.fault({mark})\ndef test_it(): ...\n"
    (tmp_path / "tests" / "test_a.py").write_text(text)
    with pytest.raises(SpecError, match=r"tests/test_a\.py: test_it: its mark is not"):
        reliability.page(home.find())
