"""What a page is about, and why a file is refused as a page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchlab.errors import PublishedPageError
from benchlab.published.page import MOST_BYTES
from benchlab.published.page import load as load_page
from benchlab.published.reading import version_names, vocabulary
from benchlab.published.reading.document import parse
from benchlab.published.reading.model import from_json
from tests.builders.pages_read import only, printed
from tests.builders.published_page import (
    ALONE,
    METRICS,
    PAIRS,
    page,
    read,
)


def refusal(text: str) -> str:
    """Why a page is refused."""
    with pytest.raises(PublishedPageError) as e:
        read(text, "page.md")
    return str(e.value)


def test_versions_of_the_title() -> None:
    """The candidate is named first; without a "vs." the older one is the baseline."""
    for title, versions in {
        "TiDB v5.1.1 vs. v5.0.2": ("v5.0.2", "v5.1.1"),
        "TiDB v4.0 vs v5.0": ("v5.0", "v4.0"),
        "TiDB v5.1 对比v5.0的性能": ("v5.0", "v5.1"),
        "From v4.0 to v10.0": ("v4.0", "v10.0"),
        "v5.0.0 and v5.0.0-rc.1": ("v5.0.0-rc.1", "v5.0.0"),
        "Sysbench 1.0.20, TiDB v7.1.3": ("v7.1.3",),
        "MariaDB 10.11.5 vs. 10.2.11": ("10.2.11", "10.11.5"),
        "1.2.3 (slowed) vs. 1.2.3": ("1.2.3", "1.2.3"),
        "TiDB": (),
    }.items():
        assert version_names.of_title(title) == versions, title


def test_exact_versions() -> None:
    """Where a line names releases of the title's series, they are the exact versions."""
    line = "TiDB version: v5.1.0-rc.2 vs. v5.0.3"
    report = read(page(("Insert", PAIRS), overview=line), "page.md")
    assert (report.versions, report.exact_versions) == (("v5.0", "v5.1"), ("v5.0.3", "v5.1.0-rc.2"))
    for other in ("TiDB version: v5.1.2", "TiDB version: v5.1 vs. v5.0", "v5.1.0 and v5.0.3"):
        assert read(page(("Insert", PAIRS), overview=other), "page.md").exact_versions == ()


def test_versions_of_tables() -> None:
    """A title without a version leaves it to the tables."""
    report = read(page(("Insert", PAIRS), title="Sysbench on TiDB"), "page.md")
    assert (report.versions, report.baseline) == (("v5.0", "v5.1"), "v5.0")


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("`Point Select` test", "oltp_point_select"),
        ("Point-select", "oltp_point_select"),
        ("oltp_point_select", "oltp_point_select"),
        ("点查性能", "oltp_point_select"),
        ("Read-write performance", "oltp_read_write"),
        ("读写性能", "oltp_read_write"),
        ("Update Non-Index", "oltp_update_non_index"),
        ("`oltp_update_non_index`", "oltp_update_non_index"),
        ("更新非索引", "oltp_update_non_index"),
        ("非索引更新", "oltp_update_non_index"),
        ("Update index", "oltp_update_index"),
        ("索引更新", "oltp_update_index"),
        ("Insert", "oltp_insert"),
        ("插入性能", "oltp_insert"),
        ("Delete", "oltp_delete"),
        ("删除", "oltp_delete"),
        ("Select point", "oltp_point_select"),
        ("TPC-C performance", "tpcc"),
    ],
)
def test_workloads(heading: str, name: str) -> None:
    """A workload is known by its heading, however it is spelled."""
    assert only(page((heading, PAIRS))).name == name


@pytest.mark.parametrize("heading", ["Performance", "Point Select and Read Write", "Inserted rows"])
def test_no_workload(heading: str) -> None:
    """A heading that names none, or several, names none."""
    assert vocabulary.workload(heading) is None


def test_claims_by_place() -> None:
    """Sentences of summary, overview and sections are kept apart."""
    text = page(
        ("Insert", PAIRS + "\n\nInsert on v5.1 is improved by 2.5%."),
        overview="Insert on v5.1 is improved by 2%.",
    ).replace("---\n\n#", "summary: Insert on v5.1 is improved by 3%.\n---\n\n#", 1)
    report = read(text, "page.md")
    assert [(c.place, c.line) for c in report.claims] == [("summary", 3), ("overview", 10)]
    assert [(c.place, c.line) for c in report.workloads[0].claims] == [("section", 21)]


def test_broken_front_matter() -> None:
    """Front matter that is no YAML is listed, and its title is read all the same."""
    report = read(page(("Insert", PAIRS), title="Sysbench: v5.1 vs. v5.0"), "page.md")
    assert report.title == "Sysbench: v5.1 vs. v5.0"
    assert [(unread.line, "front matter" in unread.what) for unread in report.unread] == [(2, True)]


def test_mojibake() -> None:
    """A line that was decoded wrongly is repaired; a correct one is left alone."""
    text = page(("Insert", PAIRS)) + "\n\n## Test environment (EC2ï¼‰\n\n## 测试（好）\n\n## Café ½"
    document = parse(text)
    assert [e.text for e in document.headings][-3:] == [
        "Test environment (EC2）",
        "测试（好）",
        "Café ½",
    ]
    assert printed(only(text)) == printed(only(page(("Insert", PAIRS))))


def test_lines_and_figures_do_not_depend_on_line_ends() -> None:
    """CR LF, LF and a byte order mark make no difference."""
    text = page(("Insert", PAIRS), overview="Insert on v5.1 is improved by 2%.")
    one, other = (
        read(page_text, "p").workloads
        for page_text in (text, "\ufeff" + text.replace("\n", "\r\n"))
    )
    assert one == other


def test_json() -> None:
    """A report survives JSON, figures as printed."""
    report = read(page(("Insert", PAIRS), ("Read Write", METRICS)), "page.md")
    assert from_json(json.loads(json.dumps(report.to_json()))) == report


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("", 1, "empty"),
        (" \n\t\n", 1, "empty"),
        ("Some words without a title.", 1, "no title"),
        ("\n# How to bake", 2, "neither Sysbench nor TPC-C"),
        ("# Sysbench and TPC-C of v5.1", 1, "or of both"),
        ("# Sysbench on v5.1\n\nNo figures.", 1, "neither a table"),
        ("# Sysbench on v5.1 \ud800", 1, "no UTF-8"),
        ("# Sysbench\n\0", 2, "NUL"),
        ("# Sysbench\n" * (MOST_BYTES // 10), MOST_BYTES // 11 + 1, "longer than 250 KB"),
        (page(("Insert", PAIRS), versions=["v3.0", "v2.0", "v1.0"]), 2, "3 versions"),
        (page(("Insert", ALONE), title="Sysbench"), 2, "no versions"),
    ],
)
def test_refused(text: str, line: int, why: str) -> None:
    """A file that is not a page is refused with the line and what was found."""
    message = refusal(text)
    assert message.startswith(f"page.md, line {line}: ")
    assert why in message


def test_refused_file(tmp_path: Path) -> None:
    """A file that is missing, is not UTF-8 or is too long is refused by its path."""
    for name, raw, where in (
        ("latin.md", "# A\n\nna\u00efve".encode("latin-1"), ", line 3: no UTF-8 text, byte 0xef"),
        ("long.md", "é\n".encode() * (MOST_BYTES // 3 + 1), ": longer than 250 KB"),
    ):
        path = tmp_path / name
        path.write_bytes(raw)
        with pytest.raises(PublishedPageError, match=re.escape(str(path))) as e:
            load_page(path)[0]
        assert where.split(": ", 1)[1] in str(e.value)
    for path in (tmp_path, tmp_path / "absent.md"):
        with pytest.raises(PublishedPageError, match="cannot be read"):
            load_page(path)[0]
