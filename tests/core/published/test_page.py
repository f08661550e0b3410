"""What a page is about, and why a file is refused as a page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchlab.errors import PublishedPageError
from benchlab.published.model import from_json
from benchlab.published.page import MOST_BYTES, whole
from benchlab.published.page import load as load_page
from tests.builders.pages_read import only
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


@pytest.mark.parametrize(
    ("title", "versions"),
    [
        ("TiDB Sysbench v5.1.1 vs. v5.0.2", ("v5.0.2", "v5.1.1")),
        ("TiDB Sysbench v5.1.4 对比 v6.0.0 DMR", ("v5.1.4", "v6.0.0")),
        ("MySQL 5.7.41 vs. 8.0.33, sysbench oltp_read_write", ("5.7.41", "8.0.33")),
        ("Sysbench v5.0.0 vs. v5.0.0-rc.1", ("v5.0.0-rc.1", "v5.0.0")),
        ("TiDB Sysbench report for TiDB v7.1.3", ("v7.1.3",)),
    ],
)
def test_the_older_version_is_the_baseline(title: str, versions: tuple[str, ...]) -> None:
    """Whichever the title names first: it says nothing of which was compared with which."""
    report = read(
        page(("Insert", "The Insert performance is improved by 2%."), title=title), "page.md"
    )
    assert report.versions == versions


@pytest.mark.parametrize(
    ("line", "exact"),
    [
        ("TiDB version: v5.1.0-rc.2 vs. v5.0.3", ("v5.0.3", "v5.1.0-rc.2")),
        ("TiDB 版本：v5.1.0-rc.2 vs. v5.0.3", ("v5.0.3", "v5.1.0-rc.2")),
        ("TiDB version: v5.1.2", ()),
        ("TiDB version: v5.1 vs. v5.0", ()),
        ("TiDB version: v6.1.2 vs. v5.0.1", ()),
        ("v5.1.0 vs. v5.0.3", ()),
    ],
)
def test_exact_versions(line: str, exact: tuple[str, ...]) -> None:
    """A line of the environment that compares releases of the title's series."""
    text = page(("Insert", PAIRS), overview=f"## Test environment\n\n{line}")
    assert read(text, "page.md").exact_versions == exact


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("`Point Select` test", "oltp_point_select"),
        ("5.1 Point-select", "oltp_point_select"),
        ("oltp_point_select", "oltp_point_select"),
        ("点查性能", "oltp_point_select"),
        ("Read-write performance", "oltp_read_write"),
        ("读写性能", "oltp_read_write"),
        ("Update Non-Index", "oltp_update_non_index"),
        ("更新非索引", "oltp_update_non_index"),
        ("Update index", "oltp_update_index"),
        ("Insert {#insert}", "oltp_insert"),
        ("插入 性能", "oltp_insert"),
        ("Delete", "oltp_delete"),
    ],
)
def test_a_heading_that_is_a_workload_s_name(heading: str, name: str) -> None:
    """With "performance" or "test", or a chapter's number, or without."""
    assert only(page((heading, PAIRS))).name == name


@pytest.mark.parametrize(
    "heading",
    [
        *("Performance", "Point Select and Read Write", "Inserted rows", "Bulk insert"),
        *("Read/write splitting", "批量插入", "Insert with TTL", "Point Select, second run"),
    ],
)
def test_a_heading_with_any_other_word_is_no_workload(heading: str) -> None:
    """Its table is listed with the heading, and not read as the workload that it resembles."""
    text = page((heading, PAIRS), ("Read Only", METRICS))
    report = read(text, "page.md")
    assert [workload.name for workload in report.workloads] == ["oltp_read_only"]
    assert [(one.id, one.heading) for one in report.unread] == [("no-workload", heading)]


def test_claims_by_place() -> None:
    """Sentences of summary, overview and sections are kept apart."""
    said = "Compared with v5.0, the Insert performance of v5.1 is improved by {}%."
    text = page(
        ("Insert", f"{PAIRS}\n\n{said.format(2.5)}"),
        overview=said.format(2),
    ).replace("---\n\n#", f"summary: {said.format(3)}\n---\n\n#", 1)
    report = read(text, "page.md")
    assert [(c.place, c.line) for c in report.claims] == [("summary", 3), ("overview", 10)]
    assert [(c.place, c.line) for c in report.workloads[0].claims] == [("section", 21)]


def test_a_quoted_table_is_listed_and_not_read() -> None:
    """Results are those of the page itself; what is in a comment is not shown."""
    quoted = "\n".join(f"> {line}" for line in PAIRS.splitlines())
    report = read(page(("Insert", f"{quoted}\n\n<!--\n{PAIRS}\n-->")), "page.md")
    assert report.workloads == ()
    assert [one.id for one in report.unread] == ["quoted"]


def test_a_page_that_is_understood_whole_is_taken() -> None:
    """A sentence that is not understood does not make it less."""
    text = page(("Insert", f"{PAIRS}\n\nSome say it is up to 31% faster."))
    report = read(text, "page.md")
    assert [one.id for one in report.unread] == ["sentence"]
    assert whole(report, "page.md") is report


def test_a_page_with_a_table_that_is_not_understood_is_not_taken() -> None:
    """The refusal names file, line, heading, the strange word and what to do."""
    odd = PAIRS.replace("v5.1 QPS", "v5.1 QPS (K)")
    report = read(page(("Read Only", METRICS), ("Insert", odd)), "page.md")
    with pytest.raises(PublishedPageError) as error:
        whole(report, "docs/page.md")
    told = str(error.value)
    line = report.unread[0].line
    assert told.startswith("docs/page.md: not imported, as it is not understood whole")
    assert f"line {line}, below 'Insert': a table with the columns Threads" in told
    assert "“v5.1 QPS (K)” is not understood" in told
    assert "`benchlab audit` reads the rest" in told


@pytest.mark.parametrize(
    "text",
    [
        page(("Insert", PAIRS), ("Colours", "| Colour | Hue |\n|---|---|\n| red | 0 |")),
        page(("Insert", f"{PAIRS}\n\n<table><tr><td>QPS</td></tr></table>")),
        page(("Insert", PAIRS), overview="| Name | Mood |\n|---|---|\n| TiDB | v5.1 |"),
        page(("Insert", PAIRS), overview="| Item | Value |\n|---|---|\n| QPS | 258900 |"),
        page(("Insert", PAIRS), overview="Threads | QPS\n8 | 258900\n16 | 268900"),
        page(("Insert", f"{PAIRS}\n\n| Threads | QPS |\n|---|\n| 8 | 258900 |")),
        page(("Insert", f"{PAIRS}\n\n```\n| Threads | QPS |\n+---+---+\n| 8 | 258900 |\n```")),
        page(("Insert", PAIRS), overview="| Parameter | Value |\n|---|---|\n| a | 1 |"),
        page(("Insert", PAIRS), ("Provenance", "| Gate | QPS |\n|---|---|\n| a | 1 |")),
        page(("Insert", PAIRS), ("Result quality", METRICS)),
    ],
)
def test_no_table_vanishes(text: str) -> None:
    """Wherever it stands and whatever it is about, one that is not understood is listed."""
    report = read(text, "page.md")
    assert len(report.unread) == 1
    assert report.unread[0].is_table
    assert [workload.name for workload in report.workloads] == ["oltp_insert"]


def test_lines_and_figures_do_not_depend_on_line_ends() -> None:
    """CR LF, LF and a byte order mark make no difference."""
    text = page(("Insert", PAIRS), overview="The Insert performance of v5.1 is improved by 2%.")
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
        ("# Sysbench on v5.1 \ud800", 1, "not UTF-8"),
        ("# Sysbench\n\0", 2, "NUL"),
        ("# Sysbench\n" * (MOST_BYTES // 10), MOST_BYTES // 11 + 1, "longer than 250 KB"),
        (page(("Insert", PAIRS), versions=["v3.0", "v2.0", "v1.0"]), 2, "3 versions"),
        (page(("Insert", PAIRS), title="Sysbench from v5.0 to v5.1"), 2, "A vs. B"),
        (page(("Insert", ALONE), title="Sysbench"), 2, "no versions"),
        (page(("Insert", PAIRS), title="Sysbench: v5.1 vs. v5.0"), 2, "put text with a colon"),
        ("---\n\x1ftitle: a\n---\n", 2, "the front matter is not YAML"),
        ("---\ntitle: " + "[" * 20_000 + "\n---\n", 2, "the front matter is not YAML"),
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
        ("latin.md", "# A\n\nna\u00efve".encode("latin-1"), ", line 3: not UTF-8 text, byte 0xef"),
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
