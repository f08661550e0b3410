"""Every page is read or refused, and nothing is made up."""

from __future__ import annotations

import html
import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from benchlab.errors import PublishedPageError
from benchlab.published import tables as published_tables
from benchlab.published import words
from benchlab.published.model import PublishedReport, from_json
from tests.builders.published_page import (
    ALONE,
    CHINESE,
    METRICS,
    PAIRS,
    VERSIONS,
    page,
    read,
    table,
)

PAGES = [
    page(("Point Select", PAIRS + "\n\nPoint Select on v5.1 is improved by 2.5%.")),
    page(("`Read Write` test", METRICS), ("Update Index", VERSIONS)),
    page(("点查", CHINESE), language="zh", overview="v5.1 对比 v5.0，点查性能提升了 2.5%。"),
    page(("", table(["Threads", "v5.0 tpmC", "v5.1 tpmC"], ["8", "7", "9"])), kind="TPC-C"),
    page(("Insert", f"{ALONE}\n\n<!--\n{ALONE}\n-->"), versions=["v7.1"]),
]


CELLS = [
    "",
    "|",
    "n/a",
    "１２",
    "64 * 4",
    "9" * 40,
    "1,2,3",
    "-0",
    "\u2212",
    "150²",
    "<b>7</b>",
    "%",
]


PIECES = [
    "|",
    "\\",
    "`",
    "```\n",
    "<!--",
    "-->",
    "---",
    "#",
    "*",
    "**",
    "&#49;",
    "\r",
    "\u2028",
    "> ",
]


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """A page with lines deleted, doubled, swapped or cut, cells replaced, characters put in."""
    lines = draw(st.sampled_from(PAGES)).split("\n")
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(len(lines) - 1, 0)))
        line = lines[at] if lines else ""
        spot = draw(st.integers(0, len(line)))
        piece = draw(
            st.one_of(st.sampled_from(PIECES), st.text(max_size=3), st.sampled_from("019"))
        )
        cells = line.split("|")
        cells[draw(st.integers(0, len(cells) - 1))] = draw(st.sampled_from(CELLS))
        other = draw(st.integers(0, max(len(lines) - 1, 0)))
        lines[at : at + 1] = draw(
            st.sampled_from(
                [
                    [],
                    [line, line],
                    [line, lines[other] if lines else ""],
                    [line[:spot]],
                    [line[:spot] + piece + line[spot:]],
                    ["|".join(cells)],
                ]
            )
        )
    return "\n".join(lines)


def plain_line(line: str) -> str:
    """A line of the page without markup, as far as it may stand within a number."""
    return words.plain(re.sub(r"[*_`\\]", "", html.unescape(line)))


def check(report: PublishedReport, text: str) -> None:
    """Every figure stands in the page, in the line of its row."""
    lines = [plain_line(line) for line in re.split(r"\r\n|\r|\n", text)]
    for workload in report.workloads:
        for row in workload.rows:
            found = [(row.improvement, "")] if row.improvement else []
            found += [(f, version) for version, side in row.sides.items() for f in side.values()]
            for figure, version in found:
                assert figure.value.is_finite()
                pattern = re.compile(rf"(?<![0-9.]){re.escape(figure.text)}(?![0-9]|\.[0-9])")
                # A version may have a row of its own, which begins with it.
                rows = (line for line in lines if version and version in line)
                assert any(map(pattern.search, (lines[row.line - 1], *rows))), figure
        assert len(workload.versions) <= 2
        assert {v for row in workload.rows for v in row.sides} <= set(workload.versions)
    for unread in report.unread:
        assert 1 <= unread.line <= len(lines)
    assert from_json(json.loads(json.dumps(report.to_json()))) == report


def answer(text: str) -> PublishedReport | str:
    """The report, or why there is none; any other error is the test's."""
    try:
        return read(text, "page.md")
    except PublishedPageError as e:
        return str(e)


def judge(text: str) -> None:
    """A page is answered with its own figures, or refused with a line."""
    found = answer(text)
    if isinstance(found, str):
        assert re.match(r"page\.md, line [0-9]+: ", found)
    else:
        check(found, text)


@given(mangled())
@settings(max_examples=150)
def test_mangled_page(text: str) -> None:
    """A mangled page is answered or refused, and no figure is invented."""
    judge(text)


@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from(PIECES + CELLS)).map("".join)))
@settings(max_examples=100)
def test_random_text(noise: str) -> None:
    """So is any text, alone or below a title."""
    judge(noise)
    judge(f"# Sysbench v5.1 vs. v5.0\n\n## Test results\n\n### Insert\n\n{noise}")


@given(st.text(max_size=30))
@settings(max_examples=200)
def test_cells(cell: str) -> None:
    """A cell is a finite number whose digits it has, or none."""
    for figure in (
        published_tables.number(cell),
        published_tables.milliseconds(cell),
        published_tables.percentage(cell, in_heading=True),
    ):
        assert figure is None or (figure.value.is_finite() and figure.text in words.plain(cell))
    threads = published_tables.thread_count(cell)
    assert threads is None or threads > 0
